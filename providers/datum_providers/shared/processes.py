"""Processes of a user, as usermod(8) counts them: by any of their user ids. Reads /proc only."""

import re
from typing import Final

from datum.model.result import FailureCause
from datum.provider.host import FileFacts, HostError, HostReader

SHOWN: Final = 5
"""Processes that a sentence names."""

_UIDS: Final = re.compile(rb"^Uid:\s+([\d\s]+)$", re.MULTILINE)
_LIMIT: Final = 4096
# The process that lasts as long as the host does.
_INIT: Final = 1


def require_idle(reader: HostReader, name: str, uid: int) -> None:
    """Refuse what must not be done to an account that is in use. Below another root nothing runs.

    Raises:
        HostError: `account-busy`, naming processes (failure `busy`; `impossible` where the host itself is one of them);
            or processes cannot be looked at.
    """
    pids = _pids_of(reader, uid)
    if not pids:
        return
    more = f" and {len(pids) - SHOWN} more" if len(pids) > SHOWN else ""
    numbers = ", ".join(str(pid) for pid in pids[:SHOWN]) + more
    raise HostError(
        f"{name} has running processes ({numbers}), and nothing here ends them. As long as it has, neither its uid nor "
        "its home can be changed, and it cannot be removed.",
        code="account-busy",
        summary="An account is in use.",
        failure=FailureCause.IMPOSSIBLE if _INIT in pids else FailureCause.BUSY,
        hint=f"`ps -u {name}` shows them; stop them, then apply again",
    )


def _pids_of(reader: HostReader, uid: int) -> list[int]:
    if not reader.is_running_system:
        return []
    pids = sorted(int(entry) for entry in reader.list_directory("/proc") if entry.isdigit())
    return [pid for pid in pids if uid in _uids_of(reader, pid)]


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
