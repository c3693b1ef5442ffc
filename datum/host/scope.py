"""Programs that must not end in the middle, as dpkg. Effects: child processes, transient scopes.

Neither a deadline nor the end of this process ends them (ADR 0036). Where there is a service manager they run in a
scope of their own, since a stop of the agent's unit kills what is in the unit; what they write goes to files in memory,
since a pipe breaks with its reader.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from datum.host.booted import is_booted
from datum.host.child import OUTPUT_LIMIT, Child, Ended, has_ended_by, raise_refusal, start_with_files
from datum.host.deadline import no_deadline
from datum.host.jobs import DONE, job_failed, scope_in_use
from datum.host.names import Account
from datum.host.program import becoming, judge
from datum.host.unit_names import name_fault
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, HostError

LEAVING: Final = 300.0
"""Seconds for which a process that was told to end still waits for its program."""

_TAIL: Final = 2048
_STATUS: Final = 4096
# Seconds between two looks at a scope.
_PAUSE: Final = 0.1
# Seconds between two looks at what else there is to hear while a program runs.
_LOOK: Final = 1.0
# Microseconds that a shutdown waits for the program to end.
_SHUTDOWN: Final = 15 * 60 * 1_000_000
_SOON: Final = 1_000_000
_ASIDE: Final = "datum-given-up"


@frozen
class _How:
    """How a program is run."""

    # In the child, before the program.
    prepare: Callable[[], None]
    # Whether a service manager makes the scope; else it is a child in a session of its own.
    has_manager: bool
    # Whether it will stand as root, for its HOME.
    is_root: bool
    # Called once when it has run for `timeout` seconds.
    late: Callable[[], None] | None
    # Whether this process was told to end.
    is_stopping: Callable[[], bool]


def run_scoped(
    command: Command,
    *,
    root: str = "/",
    account: Account | None = None,
    late: Callable[[], None] | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
) -> CommandOutcome:
    """Run a program to its end, however long it takes.

    A process that is told to end waits for `LEAVING` seconds more and then leaves the program to its scope, which is
    where the next pass finds it: what the program does may wait for this very process to end, as a restart of its unit.

    Args:
        command: what to run, with the name of its scope.
        root: see `run_program`; below another root than that of the running system there is no scope.
        account: see `run_program`.
        late: called once when it has run for `timeout` seconds.
        is_stopping: whether this process was told to end.

    Raises:
        HostError: `scope-in-use`; `program-left`: it still runs, and is not waited for; no scope could be made, and it
            did not run; or see `run_program`.
    """
    is_image = root != "/"
    prepare = partial(os.chdir, command.directory)
    if is_image:
        from datum.host import namespaces

        prepare = partial(namespaces.change_root, root, command.directory)
    how = _How(
        becoming(account, prepare),
        has_manager=not is_image and is_booted(),
        is_root=is_image,
        late=late,
        is_stopping=is_stopping,
    )
    return judge(command, account, lambda complete: _run(complete, how))


def _run(command: Command, how: _How) -> Ended:
    if name_fault(f"{command.scope}-1.scope"):
        raise ValueError(f"'{command.scope}' is no name of a scope")
    if how.has_manager and _living(command.scope):
        raise scope_in_use(command.scope)
    files = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("stdin", "stdout", "stderr")]
    try:
        stdin, stdout, stderr = files
        _fill(stdin, command.stdin)
        with no_deadline():
            child = _start(command, how, (stdin, stdout, stderr))
            if not _wait(child, command.timeout, how):
                raise _left(command)
            exit_code = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        return _ended(exit_code, stdout, stderr)
    finally:
        for descriptor in files:
            os.close(descriptor)


def await_scope(
    name: str,
    seconds: float,
    tell: Callable[[str], None] | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
) -> bool:
    """Wait until no program runs in a scope of this name, at most so long; return whether that is so.

    What a program left behind in its scope, as a daemon that it started, is not waited for.

    Args:
        name: of scopes that `run_scoped` makes.
        seconds: how long.
        tell: called with the unit of each scope that is waited for, before that.
        is_stopping: whether this process was told to end: then it waits no longer.

    Raises:
        HostError: `manager-unreachable`.
    """
    end = time.monotonic() + seconds
    told: set[str] = set()
    while living := _living(name):
        for unit in living:
            if tell is not None and unit not in told:
                tell(unit)
        told.update(living)
        left = end - time.monotonic()
        if left <= 0 or is_stopping():
            return False
        time.sleep(min(_PAUSE, left))
    return True


def _start(command: Command, how: _How, files: tuple[int, int, int]) -> Child:
    """Fork, have the child moved to its scope, and let it go on to the program."""
    ready, go = os.pipe()

    def wait_and_prepare() -> None:
        # its own copy would keep the wait from ending with the parent
        os.close(go)
        if not os.read(ready, 1):
            raise InterruptedError(0, "the agent ended before the scope was there")
        how.prepare()

    try:
        child = start_with_files(command, wait_and_prepare, files, is_root=how.is_root)
    except BaseException:
        os.close(ready)
        os.close(go)
        raise
    os.close(ready)
    try:
        if how.has_manager:
            _make_scope(command.scope, child.pid, f"{command.argv[0]} run by datum, not to be ended in the middle")
        os.write(go, b"!")
    except BaseException:
        # it has not run yet: told nothing, it ends
        os.close(go)
        child.close_all()
        os.waitpid(child.pid, 0)
        raise
    os.close(go)
    refused = os.read(child.status, _STATUS)
    child.close_all()
    if refused:
        os.waitpid(child.pid, 0)
        raise_refusal(refused)
    return child


def set_aside(pid: int) -> None:
    """Move a process that nothing ends to a scope of its own, where it keeps no unit from ending.

    systemd waits for what it has killed as long as for what it has told to end, and the unit of the agent has no limit
    for that. Where the service manager does not do it, the process stays where it is.
    """
    if is_booted():
        with suppress(HostError), no_deadline():
            _make_scope(_ASIDE, pid, "a reader of a file system that hangs, given up", stop=_SOON)


def _make_scope(name: str, pid: int, description: str, *, stop: int = _SHUTDOWN) -> None:
    """Have the manager move a process to a scope of its own.

    Args:
        name: of the scope, without what makes it unique.
        pid: the process.
        description: of the scope.
        stop: microseconds that a shutdown waits for it.

    Raises:
        HostError: it did not.
    """
    from datum.host.manager_jobs import run_job, to_manager

    # A name of its own: what an earlier program left behind keeps that program's scope.
    unit = f"{name}-{pid}-{os.urandom(4).hex()}.scope"
    properties: list[tuple[str, tuple[str, Any]]] = [
        ("Description", ("s", description)),
        ("PIDs", ("au", [pid])),
        ("CollectMode", ("s", "inactive-or-failed")),
        # A shutdown sends this first, which does nothing, and waits.
        ("KillSignal", ("i", int(signal.SIGCONT))),
        ("TimeoutStopUSec", ("t", stop)),
    ]
    call = to_manager("StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", properties, [])
    result = run_job("start", unit, call)
    if result != DONE:
        raise job_failed("start", unit, result)


def _living(name: str) -> list[str]:
    """Return the scopes of this name in which the program itself still runs."""
    from datum.host.dbus import Refusal
    from datum.host.jobs import manager_refused
    from datum.host.manager import converse
    from datum.host.manager_jobs import to_manager

    call = to_manager("ListUnitsByPatterns", "asas", [], [f"{name}-*.scope"])
    answer = converse(lambda conversation: conversation.ask([call])[0])
    if isinstance(answer, Refusal):
        raise manager_refused("list its scopes", answer.text)
    return [unit for unit, *_rest in answer[0] if _runs(name, unit)]


def _runs(name: str, unit: str) -> bool:
    """Whether the process after which a scope of this name is called is alive in it."""
    pid, _, token = unit.removeprefix(f"{name}-").removesuffix(".scope").partition("-")
    if not (pid.isdecimal() and token.isalnum()):
        return False
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and any(line.endswith(f"/{unit}") for line in groups.splitlines())


def _wait(child: Child, timeout: float, how: _How) -> bool:
    """Wait for the end of a program, and tell when it has taken longer than `timeout`; return whether it has ended.

    Without a service manager nothing would keep it alive, or find it again, so it is waited for.
    """
    begun = time.monotonic()
    leave: float | None = None
    late = how.late
    while not has_ended_by(child.pid, min(time.monotonic() + _LOOK, begun + timeout if late else float("inf"))):
        now = time.monotonic()
        if late is not None and begun + timeout <= now:
            late()
            late = None
        if leave is None and how.has_manager and how.is_stopping():
            leave = now + LEAVING
        if leave is not None and now >= leave:
            return False
    return True


def _left(command: Command) -> HostError:
    return HostError(
        f"{command.argv[0]} still runs in {command.scope}-*.scope. This pass was told to stop {LEAVING:g} s ago, and "
        "waits no longer.",
        code="program-left",
        summary="A program that must not end in the middle was left to itself.",
        hint=f"the next pass waits for it; see `systemctl status '{command.scope}-*.scope'`",
        failure=FailureCause.BUSY,
    )


def _fill(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)


def _ended(exit_code: int, stdout: int, stderr: int) -> Ended:
    sizes = [os.fstat(descriptor).st_size for descriptor in (stdout, stderr)]
    heads = [os.pread(descriptor, OUTPUT_LIMIT, 0) for descriptor in (stdout, stderr)]
    tails = [
        os.pread(descriptor, _TAIL, max(size - _TAIL, 0))
        for descriptor, size in zip((stdout, stderr), sizes, strict=True)
    ]
    is_cut = max(sizes) > OUTPUT_LIMIT
    return Ended(exit_code, heads[0], heads[1], tails[0], tails[1], is_cut, is_late=False)
