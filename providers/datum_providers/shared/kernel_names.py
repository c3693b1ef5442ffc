"""Names of the keys of the running kernel, in slash form: `net/ipv4/conf/eth0.100/forwarding`. Pure."""

import re
from typing import Final

from datum.provider.contract import DesiredError

KERNEL_KEY: Final = "kernel_key"
"""Space of the keys of the running kernel, in slash form."""

_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*")
_PROC: Final = "/proc/sys/"


def slash_form(name: str) -> str:
    """Return the slash form of a key, by the rule of sysctl.d(5): the first separator decides.

    Where that is a slash, dots are dots. Where it is a dot, dots and slashes change places, as
    `net.ipv4.conf.eth0/100.forwarding` for the interface `eth0.100`.
    """
    first = next((letter for letter in name if letter in "./"), "/")
    return name if first == "/" else name.translate(str.maketrans("./", "/."))


def normal_key(name: str) -> str:
    """Return the slash form of a key.

    Raises:
        DesiredError: no name of a key.
    """
    if name.startswith(_PROC) and len(name) > len(_PROC):
        raise DesiredError(
            "",
            "a key is named by its place below /proc/sys.",
            hint=f"Write sysctl:{name.removeprefix(_PROC)}",
            code="bad-resource-name",
        )
    key = slash_form(name)
    parts = key.split("/")
    if len(parts) < 2 or not all(map(_PART.fullmatch, parts)):  # noqa: PLR2004 - a directory and a file in it
        raise DesiredError(
            "",
            f"'{name}' is no name of one kernel key: parts of letters, digits and _ . : @ + - between slashes.",
            hint="Write sysctl:net/ipv4/ip_forward",
            code="bad-resource-name",
        )
    return key
