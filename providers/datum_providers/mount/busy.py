"""What keeps a file system from being unmounted, as far as it is cheap to see. Reads /proc."""

from collections.abc import Iterator
from typing import Final

from datum.provider.host import FileFacts, HostError, HostReader
from datum.provider.paths import is_below

SHOWN: Final = 5
"""Processes that a sentence names."""

_LINKS: Final = ("cwd", "root", "exe")
_LIMIT: Final = 64


def users_of(reader: HostReader, point: str) -> str:
    """Return what uses a mount, as a sentence; empty where nothing is seen that does."""
    try:
        mounts = sorted({entry.point for entry in reader.mount_entries() if _is_inside(entry.point, point)})
        if mounts:
            return f"Something is mounted below it: {', '.join(mounts[:SHOWN])}."
        found = list(_processes(reader, point))
    except HostError:
        return ""
    return f"It is in use by {', '.join(found)}." if found else ""


def _processes(reader: HostReader, point: str) -> Iterator[str]:
    count = 0
    for pid in sorted(int(name) for name in reader.list_directory("/proc") if name.isdigit()):
        if count < SHOWN and any(is_below(path, point) for path in _paths(reader, pid)):
            count += 1
            yield f"{_name(reader, pid)} ({pid})"


def _paths(reader: HostReader, pid: int) -> Iterator[str]:
    """Yield where a process stands, and what it has open; nothing of one that has ended, or may not be looked at."""
    try:
        names = (*_LINKS, *(f"fd/{name}" for name in reader.list_directory(f"/proc/{pid}/fd")))
    except HostError:
        names = _LINKS
    for name in names:
        try:
            facts = reader.examine(f"/proc/{pid}/{name}")
        except HostError:
            continue
        if isinstance(facts, FileFacts) and facts.link.startswith("/"):
            yield facts.link


def _name(reader: HostReader, pid: int) -> str:
    try:
        return reader.read_file(f"/proc/{pid}/comm", limit=_LIMIT).decode("utf-8", "replace").strip()
    except HostError:
        return "a process"


def _is_inside(path: str, point: str) -> bool:
    return path != point and is_below(path, point)
