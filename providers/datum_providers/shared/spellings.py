"""Paths that have two spellings on every host that has the links which distributions ship. Pure.

Source: the links of Debian's base-files and usrmerge, and of systemd's `tmpfiles.d/var.conf` and `legacy.conf`.
"""

from collections.abc import Mapping
from typing import Final

from datum.provider.paths import is_below

WELL_KNOWN_LINKS: Final[Mapping[str, str]] = {
    "/bin": "/usr/bin",
    "/lib": "/usr/lib",
    "/lib32": "/usr/lib32",
    "/lib64": "/usr/lib64",
    "/libx32": "/usr/libx32",
    "/sbin": "/usr/sbin",
    "/var/lock": "/run/lock",
    "/var/run": "/run",
}
"""Where the link stands, and the directory it leads to. The agent walks through them as if they were that directory."""


def spellings(path: str) -> tuple[str, ...]:
    """Return a normal path in every spelling it may have, as it is given first."""
    found = [path]
    for link, place in WELL_KNOWN_LINKS.items():
        for spelt, other in ((link, place), (place, link)):
            if is_below(path, spelt):
                found.append(other + path[len(spelt) :])
    return tuple(found)
