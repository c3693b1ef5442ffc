"""Which installed package owns a path, from dpkg's own files: the lists, the diversions, the status and its journal.

Parsing is pure; `PackageIndex.read` reaches the host only through the two functions it is given.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import frozen

from datum.model.observation import Cause
from datum.provider.host import HostError

_DATABASE: Final = "/var/lib/dpkg"
_FIELD: Final = re.compile(rb"^(Package|Architecture|Status): *(.*)$", re.MULTILINE)
# Third word of `Status:` for what has nothing but configuration on the disk, or not even that.
_GONE: Final = frozenset({b"not-installed", b"config-files"})


@frozen
class Diversion:
    """Files of other packages at `path` lie at `moved_to` instead."""

    path: bytes
    moved_to: bytes
    # Package whose own files stay at `path`; `:` for the administrator's diversions.
    by: bytes


@frozen
class PackageIndex:
    """Owners by path."""

    _owners: Mapping[bytes, str]

    @classmethod
    def read(
        cls, list_directory: Callable[[str], Iterable[str]], read_file: Callable[[str], bytes | None]
    ) -> "PackageIndex":
        """Read dpkg's database of one root; a root without one has no packages.

        Args:
            list_directory: returns the names in a directory, none if it is missing.
            read_file: returns a file's bytes, None if there is no such file.

        Raises:
            HostError: the database is there and cannot be read; cause `database` unless the system said better.
        """
        try:
            journal = [name for name in list_directory(f"{_DATABASE}/updates") if name.isdecimal()]
            states = [read_file(f"{_DATABASE}/{name}") for name in ("status", *(f"updates/{n}" for n in journal))]
            installed = parse_installed(b"\n\n".join(state or b"" for state in states))
            diversions = parse_diversions(read_file(f"{_DATABASE}/diversions") or b"")
            lists: list[tuple[str, bytes]] = []
            for name in list_directory(f"{_DATABASE}/info"):
                package, dot, ending = name.rpartition(".")
                if dot and ending == "list" and package.encode("utf-8", "surrogateescape") in installed:
                    lists.append((package, read_file(f"{_DATABASE}/info/{name}") or b""))
        except HostError as error:
            if error.cause.is_sickness or error.cause is Cause.DENIED:
                raise
            raise HostError(
                f"The package database cannot be read. {error.detail}", code="packages-unreadable", cause=Cause.DATABASE
            ) from error
        return cls(owners_of(lists, diversions))

    def package_of(self, spellings: Iterable[str]) -> str | None:
        """Return the package that owns a path, given in every spelling that dpkg may have listed."""
        keys = (spelling.encode("utf-8", "surrogateescape") for spelling in spellings)
        return next((self._owners[key] for key in keys if key in self._owners), None)


def parse_installed(data: bytes) -> frozenset[bytes]:
    """Return names, and names with architecture (`libc6:amd64`), of what a status file says has files on the disk.

    A later stanza of a package replaces an earlier one, as dpkg applies its journal. A package in the middle of being
    unpacked or configured counts: its files are there.
    """
    gone: dict[tuple[bytes, bytes], bool] = {}
    for stanza in data.split(b"\n\n"):
        fields = dict(_FIELD.findall(stanza))
        if b"Package" in fields:
            state = fields.get(b"Status", b"").split()
            key = fields[b"Package"].strip(), fields.get(b"Architecture", b"").strip()
            gone[key] = not state or state[-1] in _GONE
    there = [key for key, is_gone in gone.items() if not is_gone]
    return frozenset(name for name, _ in there) | frozenset(b"%s:%s" % key for key in there)


def parse_diversions(data: bytes) -> tuple[Diversion, ...]:
    """Return the diversions: three lines each (dpkg-divert(1))."""
    lines = data.split(b"\n")
    return tuple(
        Diversion(path, moved_to, by) for path, moved_to, by in zip(lines[::3], lines[1::3], lines[2::3], strict=False)
    )


def owners_of(lists: Iterable[tuple[str, bytes]], diversions: Iterable[Diversion]) -> Mapping[bytes, str]:
    """Return the owner of every listed path; of a directory of several packages the first by name.

    Args:
        lists: by package, with or without architecture, the bytes of its list: one path a line.
        diversions: where files of other packages went.
    """
    owners: dict[bytes, str] = {}
    diverted = tuple(diversions)
    for package, data in sorted(lists, reverse=True):
        name = package.partition(":")[0]
        listed = dict.fromkeys(data.split(b"\n"), name)
        for diversion in diverted:
            if diversion.by != name.encode("utf-8", "surrogateescape") and diversion.path in listed:
                del listed[diversion.path]
                listed[diversion.moved_to] = name
        owners.update(listed)
    owners.pop(b"", None)
    return owners
