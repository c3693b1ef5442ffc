"""The shadow tools: useradd(8), usermod(8), userdel(8), groupadd(8), chage(1), chpasswd(8). Changes the host.

They lock the account files (`/etc/.pwd.lock`, `/etc/passwd.lock`), and wait some fifteen seconds for a lock themselves.
"""

import re
import shlex
from typing import Final

from datum.model.result import FailureCause
from datum.provider.host import Command, FileFacts, HostError, HostReader, HostWriter

TIMEOUT: Final = 120.0
"""Seconds; what waits for five locks, one after the other, takes longer than one of them."""

_BUSY: Final = 8
_BUSY_TOOLS: Final = frozenset({"usermod", "userdel"})
_LOCKED: Final = re.compile(r"cannot lock (/\S+?)[;.]?(?:\s|$)")
_LINES: Final = 10


def run_tool(writer: HostWriter, *argv: str, stdin: bytes = b"") -> None:
    """Run one of them; no argument holds a secret.

    Raises:
        HostError: `accounts-locked` and `account-busy` (failure `busy`), `program-failed`; see `ProgramRunner`.
    """
    outcome = writer.run(Command(argv, TIMEOUT, stdin=stdin, success=frozenset(range(256))))
    if outcome.exit_code == 0:
        return
    words = outcome.stderr.decode("utf-8", "replace").strip() or outcome.stdout.decode("utf-8", "replace").strip()
    said = "\n".join(words.splitlines()[-_LINES:])
    locked = _LOCKED.search(words)
    if locked is not None:
        raise _is_locked(writer, argv, locked[1])
    if outcome.exit_code == _BUSY and argv[0] in _BUSY_TOOLS:
        raise HostError(
            f"{shlex.join(argv)} refuses: the account is in use. It wrote: {said}",
            code="account-busy",
            summary="An account is in use.",
            failure=FailureCause.BUSY,
            hint=f"`ps -u {argv[-1]}` shows who uses it; end that, then apply again",
        )
    raise HostError(
        f"{shlex.join(argv)} ended with exit code {outcome.exit_code}. It wrote: {said}",
        code="program-failed",
        summary="A program failed.",
        hint="run it by hand to see more; `pwck -r` and `grpck -r` tell what is wrong with the account files",
    )


def _is_locked(reader: HostReader, argv: tuple[str, ...], path: str) -> HostError:
    lock = f"{path}.lock"
    holder = _holder(reader, lock)
    if holder is None:
        lock, holder = "/etc/.pwd.lock", "another program"
    return HostError(
        f"{argv[0]} cannot lock {path}: {lock} is held by {holder}.",
        code="accounts-locked",
        summary="Somebody else changes the accounts.",
        failure=FailureCause.BUSY,
        hint="apply again when vipw, passwd or the like has ended",
    )


def _holder(reader: HostReader, lock: str) -> str | None:
    """Return who holds a lock file, in words; None where there is none."""
    try:
        if not isinstance(reader.examine(lock), FileFacts):
            return None
        number = reader.read_file(lock, limit=32).strip(b"\0\n ").decode("ascii", "replace")
    except HostError:
        return "another program"
    return f"process {number}" if number.isdigit() else "another program"
