"""Show a file to a program at its path before the host sees it (design 4.2). Effects: a child in namespaces of its own.

Nothing of it is visible outside of that child, and all of it ends with that child, however it ends. It keeps a check
from changing the host by the way; it is no security boundary, since a check that runs as root may undo it.
"""

import contextlib
import errno
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.host import namespaces
from datum.host.child import Ended, PreparationError, run_prepared
from datum.host.mounts import MountTable
from datum.host.program import check_not_run, how_it_ended, not_started, quoted
from datum.provider.host import Command
from datum.provider.paths import is_below, parents

OUTPUT_LIMIT: Final = 16 * 1024
"""Characters kept of what a check wrote."""

# Programs may write there while they check; it is thrown away.
_SCRATCH: Final = ("/run", "/tmp", "/var")  # noqa: S108 - shown to a program, never used by this one
# Likewise where these are file systems of their own; other mounts below stay read-only.
_SCRATCH_MOUNTS: Final = ("/run/lock", "/var/cache", "/var/lib", "/var/log", "/var/tmp")  # noqa: S108 - as above
_CANDIDATE: Final = "candidate"


@frozen(kw_only=True)
class CandidateCheck:
    """One file, and the program that judges it."""

    # The root of the pass.
    root: str
    # Absolute and normal, below the root.
    path: str
    data: bytes
    # Permission bits.
    mode: int
    uid: int
    gid: int
    # `{path}` in an argument stands for the path.
    argv: tuple[str, ...]
    # Seconds.
    timeout: float
    # Whether a regular file stands at the path now.
    exists: bool


@frozen
class CheckOutcome:
    """What the program said."""

    # Exit code 0, and only that.
    passed: bool
    # For people, bounded: what the program wrote, and how it ended if it did not pass.
    output: str
    # Set when the candidate could not be shown here, with the call that was refused: write, check, restore instead.
    reason_unavailable: str = ""


def check_candidate(request: CandidateCheck) -> CheckOutcome:
    """Run a program that sees the candidate at its path, and nothing else changed.

    It has no network and sees every file system read-only, but for throw-away copies of /run, /tmp and /var, and of the
    directory that a new file goes to. An ordinary user stands as root there, and owns the candidate.

    Raises:
        HostError: the program could not be started.
    """
    argv = tuple(part.replace("{path}", request.path) for part in request.argv)
    command = Command(argv, request.timeout)
    try:
        ended = run_prepared(command, partial(_show, request), is_root=True, kill_rest=True)
    except PreparationError as error:
        return CheckOutcome(passed=False, output="", reason_unavailable=error.reason)
    except (OSError, ValueError) as error:
        raise check_not_run(request.path, not_started(command, error)) from error
    return CheckOutcome(passed=ended.exit_code == 0 and not ended.is_late, output=_output(command, ended))


def _output(command: Command, ended: Ended) -> str:
    parts = [part.decode("utf-8", "replace").strip() for part in (ended.stdout, ended.stderr)]
    if ended.is_late:
        parts.append(f"{quoted(command.argv)} ran longer than {command.timeout:g} s and was killed.")
    elif ended.exit_code:
        parts.append(f"{quoted(command.argv)} {how_it_ended(ended.exit_code)}.")
    text = "\n".join(part for part in parts if part)
    return text if len(text) <= OUTPUT_LIMIT else f"…{text[-OUTPUT_LIMIT:]}"


def _show(request: CandidateCheck) -> None:
    """In the child: make the candidate stand at its path."""
    table = namespaces.enclose(request.root, is_offline=True)
    _write(request)
    wanted = {folder for folder in _SCRATCH if namespaces.is_directory(folder)}
    wanted.update(folder for folder in _SCRATCH_MOUNTS if table.is_mount_point(folder))
    if not request.exists:
        wanted.add(_nearest_directory(request.path))
    for number, folder in enumerate(_uncovered(wanted, table)):
        namespaces.throw_away(folder, str(number), table.below(folder))
    if not request.exists:
        Path(request.path).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        os.close(os.open(request.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    namespaces.bind(_CANDIDATE, request.path)
    if not os.path.samestat(os.lstat(request.path), os.lstat(_CANDIDATE)):
        # a pass of the check would say nothing about the candidate
        raise OSError(0, f"the candidate does not show at {request.path}")
    os.chdir("/")


def _write(request: CandidateCheck) -> None:
    descriptor = os.open(_CANDIDATE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        rest = memoryview(request.data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        # inside a user namespace only the own ids can be given, and they are given already
        with contextlib.suppress(OSError):
            os.fchown(descriptor, request.uid, request.gid)
        os.fchmod(descriptor, request.mode)
    finally:
        os.close(descriptor)


def _nearest_directory(path: str) -> str:
    """Return the deepest directory above a path that exists.

    Raises:
        NotADirectoryError: something else stands there.
    """
    folder = next(folder for folder in parents(path) if os.path.lexists(folder))
    if not namespaces.is_directory(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    return folder


def _uncovered(folders: Iterable[str], table: MountTable) -> list[str]:
    """Return the folders, outer ones first, without those that an overlay over another one covers.

    An overlay covers the rest of its own file system; what is mounted below it is shown as it was.
    """
    found: list[str] = []
    for folder in sorted(folders):
        holding = table.holding(folder)
        own = holding.path if holding is not None else "/"
        if not any(is_below(folder, outer) and (own == outer or is_below(outer, own)) for outer in found):
            found.append(folder)
    return found
