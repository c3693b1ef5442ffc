"""A program that judges candidates before the host gets them (design 4.2). Pure."""

from collections.abc import Mapping

from attrs import field, frozen

from datum.diagnostics import SourceLocation
from datum.model.identity import ResourceId


@frozen
class Check:
    """One check of one pass."""

    # The `check:` resource whose program this is; the candidate's own resource for `validate`.
    resource: ResourceId
    argv: tuple[str, ...]
    # Seconds.
    timeout: float
    environment: Mapping[str, str] = field(factory=dict)
    # Whether the program has a network.
    is_online: bool = False
    location: SourceLocation | None = field(default=None, eq=False)
