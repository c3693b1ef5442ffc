"""Whether the lists of what archives offer are older than what says which archives there are. Reads the host.

Nothing is remembered between passes: apt touches a directory of its own whenever it fetches the lists, and a source
that was added, changed or removed leaves a later time in its place.
"""

from collections.abc import Iterable
from typing import Final

from datum.provider.host import Command, FileFacts, FileKind, HostReader

_FETCHED: Final = "/var/lib/apt/lists/partial"
_LISTS: Final = "/var/lib/apt/lists"
_SOURCES: Final = ("/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/keyrings")
_ARCHITECTURES: Final = "/var/lib/dpkg/arch"
_INDEX: Final = "_Packages"
_TIMEOUT: Final = 10.0


def are_stale(reader: HostReader) -> bool:
    """Whether the lists are missing, or older than a source, a key or the list of architectures.

    Raises:
        HostError: they cannot be looked at.
    """
    fetched = _modified(reader, _FETCHED)
    if not fetched or not any(_INDEX in name for name in _names(reader, _LISTS)):
        return True
    return any(_modified(reader, path) > fetched for path in (*_sources(reader), _ARCHITECTURES))


def are_fresh(reader: HostReader) -> bool:
    """Whether they were fetched within the last minute: fetching them again would bring nothing new.

    Raises:
        HostError: the time of that cannot be had.
    """
    argv = ("/usr/bin/find", _FETCHED, "-maxdepth", "0", "-mmin", "-1")
    return bool(reader.query(Command(argv, _TIMEOUT, success=frozenset({0, 1}))).stdout.strip())


def _sources(reader: HostReader) -> Iterable[str]:
    for path in _SOURCES:
        yield path
        facts = reader.examine(path)
        if isinstance(facts, FileFacts) and facts.kind is FileKind.DIRECTORY:
            yield from (f"{path}/{name}" for name in reader.list_directory(path))


def _names(reader: HostReader, path: str) -> tuple[str, ...]:
    return reader.list_directory(path) if isinstance(reader.examine(path), FileFacts) else ()


def _modified(reader: HostReader, path: str) -> int:
    facts = reader.examine(path)
    return facts.modified if isinstance(facts, FileFacts) else 0
