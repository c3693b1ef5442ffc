"""Processes of a user, as usermod(8) counts them: by any of their user ids. Reads /proc only."""

import re
from typing import Final

from datum.provider.host import FileFacts, HostError, HostReader

SHOWN: Final = 5
"""Processes that a sentence names."""

_UIDS: Final = re.compile(rb"^Uid:\s+([\d\s]+)$", re.MULTILINE)
_LIMIT: Final = 4096


def use_of(reader: HostReader, name: str, uid: int) -> str:
    """Return how an account is in use, a full sentence; empty when it is not.

    Below another root nothing runs.

    Raises:
        HostError: processes cannot be looked at.
    """
    if not reader.is_running_system:
        return ""
    pids = sorted(int(entry) for entry in reader.list_directory("/proc") if entry.isdigit())
    found = [pid for pid in pids if uid in _uids_of(reader, pid)]
    if not found:
        return ""
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    numbers = ", ".join(str(pid) for pid in found[:SHOWN]) + more
    return f"{name} has running processes ({numbers}), and nothing here ends them."


def _uids_of(reader: HostReader, pid: int) -> frozenset[int]:
    """Return real, effective, saved and file system uid; none of a process that has ended."""
    path = f"/proc/{pid}/status"
    try:
        if not isinstance(reader.examine(path), FileFacts):
            return frozenset()
        found = _UIDS.search(reader.read_file(path, limit=_LIMIT))
    except HostError:
        if isinstance(reader.examine(f"/proc/{pid}"), FileFacts):
            raise
        # It ended between two looks.
        return frozenset()
    return frozenset(int(number) for number in found[1].split()) if found else frozenset()
