"""The shadow tools: useradd(8), usermod(8), userdel(8), groupadd(8), chage(1), chpasswd(8). Changes the host.

They lock the account files (`/etc/.pwd.lock`, `/etc/passwd.lock`), and wait some fifteen seconds for a lock themselves.
Source of what their words mean: commonio.c of shadow 4.13. That a lock is held is said of `/etc/passwd.lock`; why it
cannot be made, too, before they say that they cannot lock; of `/etc/.pwd.lock` they say neither.
"""

import re
import shlex
from typing import Final

from attrs import evolve

from datum.model.result import FailureCause
from datum.provider.host import Command, FileFacts, HostError, HostReader, HostWriter
from datum_providers.shared.account_files import PASSWD

TIMEOUT: Final = 120.0
"""Seconds; what waits for five locks, one after the other, takes longer than one of them."""

_BUSY: Final = 8
_BUSY_TOOLS: Final = frozenset({"usermod", "userdel"})
_LOCKED: Final = re.compile(r"cannot lock (/\S+?)[;.]?(?:\s|$)|Couldn't lock file")
# The file that becomes the lock, or the lock.
_OF_LOCK: Final = re.compile(r"/etc/\w+\.(?:\d+|lock)\b")
_HELD: Final = re.compile(r"already used by PID|existing lock file")
_FIRST_LOCK: Final = "/etc/.pwd.lock"
# Opens it as lckpwdf(3) does, which lets nobody else read it.
_OPEN: Final = Command(("sh", "-c", f"umask 077; : >> {_FIRST_LOCK}"), timeout=10.0, success=frozenset(range(256)))
_CAUSES: Final = {
    "No space left on device": FailureCause.NO_SPACE,
    "Disk quota exceeded": FailureCause.NO_SPACE,
    "Read-only file system": FailureCause.READ_ONLY,
}
_LINES: Final = 10


def run_tool(writer: HostWriter, *argv: str, stdin: bytes = b"") -> None:
    """Run one of them; no argument holds a secret.

    Raises:
        HostError: `accounts-locked` and `account-busy` (failure `busy`), `accounts-unwritable`, `program-failed`; see
            `ProgramRunner`.
    """
    run_command(writer, Command(argv, TIMEOUT, stdin=stdin))


def run_command(writer: HostWriter, command: Command) -> None:
    """Run one of them as it is said.

    Raises:
        HostError: as `run_tool`.
    """
    argv, outcome = command.argv, writer.run(evolve(command, success=frozenset(range(256))))
    if outcome.exit_code == 0:
        return
    words = outcome.stderr.decode("utf-8", "replace").strip() or outcome.stdout.decode("utf-8", "replace").strip()
    said = "\n".join(words.splitlines()[-_LINES:])
    locked = _LOCKED.search(words)
    if locked is not None:
        raise _not_locked(writer, argv, locked[1] or PASSWD, words)
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


def _not_locked(writer: HostWriter, argv: tuple[str, ...], path: str, words: str) -> HostError:
    """Return why the files cannot be locked: it cannot be done here, or somebody else holds the lock."""
    if _HELD.search(words):
        return _is_locked(writer, argv, path)
    said = "\n".join(line for line in words.splitlines() if _OF_LOCK.search(line))
    said = said or writer.run(_OPEN).stderr.decode("utf-8", "replace").strip()
    if not said:
        return _is_locked(writer, argv, path)
    return HostError(
        f"{argv[0]} cannot lock {path}, since the lock cannot be made. What it says: {said}",
        code="accounts-unwritable",
        summary="The account files cannot be written.",
        failure=next((cause for text, cause in _CAUSES.items() if text in said), FailureCause.OTHER),
        hint="`df /etc` and `findmnt -T /etc` show whether there is space, and whether it may be written",
    )


def _is_locked(reader: HostReader, argv: tuple[str, ...], path: str) -> HostError:
    lock = f"{path}.lock"
    holder = _holder(reader, lock)
    if holder is None:
        lock, holder = _FIRST_LOCK, "another program"
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
