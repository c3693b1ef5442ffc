"""What a declaration of the host's names means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError

NAME: Final = "host"
HOSTNAME: Final = "/etc/hostname"
MACHINE_INFO: Final = "/etc/machine-info"
KEY: Final = "kernel/hostname"
"""The key of the kernel that is the running name."""

# HOST_NAME_MAX of Linux; hostname(7) and hostname(5) say what a name is made of.
_LONGEST: Final = 64
_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_DELETE: Final = 0x7F


@frozen
class DesiredHostname:
    """What is None is not enforced."""

    static: str | None = None
    # Empty: there is none.
    pretty: str | None = None


def normal_name(name: str) -> str:
    """Return the one name of this type.

    Raises:
        DesiredError: another one.
    """
    if name != NAME:
        raise DesiredError(
            "",
            f"a host has one hostname, so its resource has one name, and that is no '{name}'.",
            hint=f"Write hostname:{NAME}, and the name as static",
            code="bad-resource-name",
        )
    return name


def parse_hostname(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredHostname:
    """Read the attributes.

    Raises:
        DesiredError: a name that no host can have.
    """
    normal_name(name)
    return DesiredHostname(_static(attributes.get("static")), _pretty(attributes.get("pretty")))


def _static(value: AttributeValue) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _LONGEST or not all(map(_LABEL.fullmatch, value.split("."))):
        raise DesiredError(
            "static",
            f"'{value}' is no name of a host: labels of letters, digits and dashes between dots, at most {_LONGEST} "
            "characters in all.",
            hint="static: web1; a name with other letters can be pretty",
        )
    return value


def _pretty(value: AttributeValue) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or any(ord(letter) < ord(" ") or ord(letter) == _DELETE for letter in value):
        raise DesiredError("pretty", "a pretty name is one line of text.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DesiredError("pretty", "the text holds half of a surrogate pair, which has no bytes in UTF-8.") from error
    return value
