"""What a declaration of the host's time zone means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError

NAME: Final = "host"
LOCALTIME: Final = "/etc/localtime"
TIMEZONE: Final = "/etc/timezone"
ZONEINFO: Final = "/usr/share/zoneinfo"

_LONGEST: Final = 255
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*")


@frozen
class DesiredTimezone:
    """What is None is not enforced."""

    # As the tz database names it: `Europe/Berlin`.
    zone: str | None = None


def link_to(zone: str) -> str:
    """Return the text of the link that makes a zone the host's, as localtime(5) wants it."""
    return f"..{ZONEINFO}/{zone}"


def normal_name(name: str) -> str:
    """Return the one name of this type.

    Raises:
        DesiredError: another one.
    """
    if name != NAME:
        raise DesiredError(
            "",
            f"a host has one time zone, so its resource has one name, and that is no '{name}'.",
            hint=f"Write timezone:{NAME}, and the zone as zone",
            code="bad-resource-name",
        )
    return name


def parse_timezone(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredTimezone:
    """Read the attributes. Whether there is such a zone is for the host to say.

    Raises:
        DesiredError: no name of a zone.
    """
    normal_name(name)
    zone = attributes.get("zone")
    if zone is None:
        return DesiredTimezone()
    if not isinstance(zone, str) or len(zone) > _LONGEST or not all(map(_PART.fullmatch, zone.split("/"))):
        hint = "zone: Europe/Berlin"
        if isinstance(zone, str) and zone.startswith(f"{ZONEINFO}/"):
            hint = f"zone: {zone.removeprefix(f'{ZONEINFO}/')}"
        raise DesiredError("zone", f"'{zone}' is no name of a time zone, as the tz database has them.", hint=hint)
    return DesiredTimezone(zone)
