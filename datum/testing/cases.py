"""One case of the conformance suite."""

from collections.abc import Callable, Mapping

from attrs import field, frozen

from datum.model.manifest import AttributeValue
from datum.model.plan import Operation
from datum.testing.host import FakeHost


def _leave(host: FakeHost) -> None:
    """Arrange nothing."""


@frozen
class ConformanceCase:
    """One declaration on one arranged host, and the operation that must follow."""

    # For messages.
    title: str
    # Name of the resource, in normal form.
    name: str
    attributes: Mapping[str, AttributeValue]
    # What `plan` answers; None when the host is as declared.
    operation: Operation | None
    arrange: Callable[[FakeHost], None] = field(default=_leave)
    # Whether the step can be done on this host, and nothing is left to do then.
    converges: bool = True
    # Whether the engine may delete what stands there afterwards.
    can_delete: bool = True
