"""Programs of which nothing is left when they have ended, whatever they started, and which see few of the files.

Effects: processes, and mounts that end with them. Needs root with CAP_SYS_ADMIN. A session does not hold what makes one
of its own; a pid namespace does: with its first process the kernel kills all others, and that process counts as ended
only when they are gone. System V objects outlive every process but the namespace that they are of: it is another own
one. A mount namespace with a `View` goes with it.
"""

import ctypes
import os
import select
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from attrs import evolve

from datum.host import namespaces
from datum.host.apart import fork_apart
from datum.host.child import Ended, PreparationError, run_prepared
from datum.host.view import View
from datum.model.result import FailureCause
from datum.provider.host import Command, HostError

_PR_SET_PDEATHSIG: Final = 1
_EXIT_CODE: Final = 16
_MS_NOSUID: Final = 1 << 1
_MS_NODEV: Final = 1 << 2
_MS_NOEXEC: Final = 1 << 3
# Its own, empty, and bounded: what is kept there is memory of the host's.
_SCRATCH: Final = ("/tmp", "/var/tmp")  # noqa: S108 - shown to a program, never used by this one
_SCRATCH_OPTIONS: Final = "mode=1777,size=64m,nr_inodes=4k"
_HIDDEN_OPTIONS: Final = "mode=755,size=1m,nr_inodes=1k"
_APART: Final = "apart: "

_libc: Final = ctypes.CDLL(None, use_errno=True)


def run_enclosed(command: Command, prepare: Callable[[], None], view: View | None = None) -> Ended:
    """Run a program as `run_prepared` does; when this returns or raises, all that it started has ended.

    The program is not the first process of its namespace, which no signal of its own ends.

    Args:
        command: what to run.
        prepare: see `run_prepared`; it sees what the program does.
        view: what that is; None: all that this process sees.

    Raises:
        HostError: `program-not-enclosed`: there is no such namespace to be had, and nothing ran.
        OSError: see `run_prepared`.
        ValueError: see `run_prepared`.
    """
    reader, writer = os.pipe()
    try:
        ended = _run(command, partial(_watched, prepare, view, reader, writer))
        os.set_blocking(reader, False)
        told = b""
        with suppress(BlockingIOError):
            told = os.read(reader, _EXIT_CODE)
    finally:
        os.close(reader)
        os.close(writer)
    # An exit code has no place for a signal.
    return evolve(ended, exit_code=int(told)) if told and not ended.is_late else ended


def _run(command: Command, prepare: Callable[[], None]) -> Ended:
    try:
        return run_prepared(command, prepare, fork=_fork_apart)
    except PreparationError as error:
        if not error.reason.startswith(_APART):
            raise
        raise _not_enclosed(
            f"A program cannot be kept from what is of this host ({error.reason.removeprefix(_APART)}), and could "
            "write what its account may."
        ) from error


def _fork_apart() -> int:
    """Fork a child that is the first process of a new namespace; this process stays in its own."""
    try:
        return fork_apart()
    except OSError as error:
        raise _not_enclosed(
            f"No namespace of processes can be made ({error.strerror}), and what a program leaves behind could not be "
            "ended."
        ) from error


def _not_enclosed(detail: str) -> HostError:
    return HostError(
        detail,
        code="program-not-enclosed",
        summary="A program cannot be enclosed.",
        failure=FailureCause.IMPOSSIBLE,
        hint="let the agent have CAP_SYS_ADMIN and make mounts, or set `source.account` to root to talk to servers as "
        "root",
    )


def _watched(prepare: Callable[[], None], view: View | None, reader: int, writer: int) -> None:
    """In the child: return in a child of its own, prepared; this one waits, tells how that ended, and ends."""
    os.close(reader)
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    watch = select.poll()
    watch.register(writer, 0)
    if watch.poll(0):
        # The agent ended before that could tell.
        os._exit(1)
    try:
        namespaces.own_objects()
        if view is not None:
            _narrow(view)
    except OSError as error:
        raise OSError(error.errno, f"{_APART}{error.strerror}") from error
    program = os.fork()
    if not program:
        prepare()
        return
    os.closerange(0, writer)
    os.closerange(writer + 1, os.sysconf("SC_OPEN_MAX"))
    status = -1
    ended = 0
    while ended != program:
        # What lost its parent is this one's to reap.
        ended, status = os.waitpid(-1, 0)
    os.write(writer, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _narrow(view: View) -> None:
    """In the first process: leave it, and all that it starts, with the files that a view says.

    What stays to be seen is taken aside as a tree of mounts before what it lies in is hidden, and put back after that;
    what is to be written, before all becomes read-only.
    """
    namespaces.enter(is_offline=False, inside_uid=0)
    writable = [(path, namespaces.clone_tree(path)) for path in view.writable]
    namespaces.make_read_only()
    folders = {path for path in _spelt(view.hidden) if namespaces.is_directory(path)}
    hiding = (*folders, *_SCRATCH)
    shown = [
        (path, namespaces.clone_tree(path))
        for path in sorted(_spelt(view.readable), key=len)
        if Path(path).exists() and any(_is_within(path, folder) for folder in hiding)
    ]
    for folder in sorted(folders - set(_SCRATCH), key=len):
        _hide(folder, _HIDDEN_OPTIONS)
    for folder in _SCRATCH:
        _hide(folder, _SCRATCH_OPTIONS)
    for path, tree in (*shown, *writable):
        _put_back(tree, path)
    for path in _spelt(view.hidden) - _spelt(view.readable):
        if Path(path).is_file():
            namespaces.bind("/dev/null", path)
    namespaces.show_own_processes()
    os.chdir("/")


def _spelt(paths: Iterable[str]) -> frozenset[str]:
    """Return paths as they are said, and as they are where a link leads elsewhere."""
    return frozenset(name for path in paths for name in (path, os.path.realpath(path)))


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _hide(folder: str, options: str) -> None:
    # One that lies in a hidden one is gone by now.
    if namespaces.is_directory(folder):
        namespaces.mount("datum", folder, "tmpfs", flags=_MS_NOSUID | _MS_NODEV | _MS_NOEXEC, data=options)


def _put_back(tree: int, path: str) -> None:
    """Show a tree of mounts at its path, which is made where it was hidden."""
    if not os.path.lexists(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if Path(f"/proc/self/fd/{tree}").is_dir():
            Path(path).mkdir()
        else:
            Path(path).touch()
    namespaces.attach_tree(tree, path)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
