"""What a declaration of a check means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.shared.programs import parse_argv, parse_environment, parse_seconds

TIMEOUT: Final = 60.0
"""Seconds that a check may take when its declaration is silent."""

LONGEST: Final = 3600.0


@frozen
class DesiredCheck:
    """A program that judges candidates."""

    run: tuple[str, ...]
    # Sorted, each once.
    guards: tuple[ResourceId, ...]
    # Seconds.
    timeout: float = TIMEOUT
    environment: Mapping[str, str] = field(factory=dict)
    # Whether the program has a network.
    network: bool = False


def parse_check(attributes: Mapping[str, AttributeValue]) -> DesiredCheck:
    """Read the attributes of one check.

    Raises:
        DesiredError: nothing to run, nothing to guard, or a value that cannot be meant.
    """
    if not attributes:
        raise DesiredError(
            "",
            "a check is nothing on the host that could be absent.",
            hint="take its declaration out, or gate it with `when`",
            code="cannot-be-absent",
        )
    run = parse_argv("run", attributes.get("run"))
    if not run:
        raise DesiredError("run", "a check without a program judges nothing.", hint="run: [nginx, -t]")
    network = attributes.get("network")
    if network is not None and not isinstance(network, bool):
        raise DesiredError("network", "true or false is expected.")
    return DesiredCheck(
        run,
        _guards(attributes.get("guards")),
        parse_seconds("timeout", attributes.get("timeout"), default=TIMEOUT, greatest=LONGEST),
        parse_environment("environment", attributes.get("environment")),
        bool(network),
    )


def _guards(value: AttributeValue) -> tuple[ResourceId, ...]:
    """Read the ids; none are left where all of them were switched off."""
    if not isinstance(value, (list, tuple)):
        raise DesiredError(
            "guards", "no resource is named whose candidates the program judges.", hint="guards: [file:/etc/app.conf]"
        )
    found = set()
    for text in value:
        try:
            found.add(ResourceId.parse(str(text)))
        except ValueError as error:
            raise DesiredError("guards", f"{error}.") from error
    return tuple(sorted(found))
