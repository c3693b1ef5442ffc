"""The one door through which programs are run. Effects: child processes.

Promised for every program: an argument list and never a shell string, an environment of its own, nothing inherited but
the user, an own session, a deadline after which the program and what it started are killed, bounded output, and exit
codes that count as success stated by the caller. One fork and one exec, whatever is asked for.
"""

import logging
import os
import shlex
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from attrs import evolve

from datum.host.child import Ended, PreparationError, run_prepared
from datum.host.failures import host_error
from datum.host.names import Account
from datum.host.view import View
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, HostError

_log: Final = logging.getLogger(__name__)
_TAIL_LINES: Final = 5
_REFUSED: Final = "A program cannot be run."


def run_program(
    command: Command,
    *,
    root: str = "/",
    read_only: bool = False,
    account: Account | None = None,
    is_enclosed: bool = False,
    view: View | None = None,
) -> CommandOutcome:
    """Run a program to its end.

    Args:
        command: what to run; `directory` is below the root.
        root: the program's root directory. An ordinary user enters it in a user namespace, where the own ids stand as
            root's.
        read_only: the program sees every file system read-only, and throw-away copies of /tmp and /var/tmp. Services
            that it talks to can still change things. Where the system has no such namespaces it runs without.
        account: who `command.user` is; None if that is empty. It gets that user's HOME, USER and LOGNAME, and the
            directory is entered before the rights are dropped.
        is_enclosed: nothing that it started is left when it has ended; not with another root, nor `read_only`.
        view: what it sees of the files; enclosed programs only. None: all.

    Raises:
        HostError: root or directory cannot be entered; this process may not act as that user; it could not be started
            or enclosed, ran too long, or ended with an exit code that is no success.
    """
    if is_enclosed:
        # ctypes costs milliseconds that a plain program need not pay
        from datum.host.enclosed import run_enclosed

        enter = becoming(account, partial(os.chdir, command.directory))
        return judge(command, account, lambda complete: run_enclosed(complete, enter, view))
    return judge(command, account, lambda complete: _run(complete, root, account, read_only=read_only))


def judge(command: Command, account: Account | None, run: Callable[[Command], Ended]) -> CommandOutcome:
    """Have a program run, and return what it answered.

    Args:
        command: what to run.
        account: see `run_program`.
        run: runs the command, complete with that user's environment. What it says is late was killed.

    Raises:
        HostError: see `run_program`.
    """
    line = quoted(command.argv)
    _log.debug("run %s", line)
    if account is not None:
        _check_may_become(account)
        identity = {"HOME": account.home, "USER": account.name, "LOGNAME": account.name}
        command = evolve(command, environment={**identity, **command.environment})
    who = f" as {account.name}" if account is not None else ""
    try:
        ended = run(command)
    except (OSError, ValueError) as error:
        raise not_started(command, error) from error
    if ended.is_late:
        raise HostError(
            f"{line} ran longer than {command.timeout:g} s and was killed.{last_lines(ended)}",
            code="program-deadline",
            summary="A program ran too long.",
            hint=f"run it by hand{who} to see what it waits for; where the declaration has a `timeout`, raise it",
            cause=Cause.DEADLINE,
            failure=FailureCause.DEADLINE,
        )
    if ended.exit_code not in command.success:
        raise HostError(
            f"{line} {how_it_ended(ended.exit_code)}.{last_lines(ended)}",
            code="program-failed",
            summary="A program failed.",
            hint=f"run it by hand{who} to see more",
        )
    return CommandOutcome(ended.exit_code, ended.stdout, ended.stderr, ended.is_cut)


def _run(command: Command, root: str, account: Account | None, *, read_only: bool) -> Ended:
    enter = becoming(account, partial(os.chdir, command.directory))
    if root == "/" and not read_only:
        return run_prepared(command, enter)
    # ctypes costs milliseconds that a plain program need not pay
    from datum.host import namespaces

    if read_only:
        try:
            prepare = becoming(account, partial(namespaces.only_read, root, command.directory))
            return run_prepared(command, prepare, is_root=root != "/", kill_rest=True)
        except PreparationError as error:
            _log.debug("%s runs without read-only namespaces: %s", command.argv[0], error.reason)
    if root == "/":
        return run_prepared(command, enter, kill_rest=True)
    prepare = becoming(account, partial(namespaces.change_root, root, command.directory))
    return run_prepared(command, prepare, is_root=True, kill_rest=read_only)


def becoming(account: Account | None, prepare: Callable[[], None]) -> Callable[[], None]:
    """Return what prepares a child, and drops all rights but those of an account if there is one."""
    return prepare if account is None else partial(_prepare_and_become, prepare, account)


def _prepare_and_become(prepare: Callable[[], None], account: Account) -> None:
    """In the child: prepare, then drop all rights but this user's; who is that user already stays as it is."""
    caller = os.geteuid()
    prepare()
    if caller:
        return
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)


def _check_may_become(account: Account) -> None:
    if os.geteuid() in {0, account.uid}:
        return
    raise HostError(
        f"No program can run as '{account.name}': only root runs programs as others.",
        code="program-refused",
        summary=_REFUSED,
        failure=FailureCause.IMPOSSIBLE,
        hint="run datum as root",
    )


def quoted(argv: Sequence[str]) -> str:
    """Return a command line as a sentence holds it: in quotes, unless it has some of its own."""
    line = shlex.join(argv)
    return line if "'" in line else f"'{line}'"


def not_started(command: Command, error: OSError | ValueError) -> HostError:
    """Return the failure of a program that did not run."""
    line = quoted(command.argv)
    if isinstance(error, FileNotFoundError):
        return HostError(
            f"{line} cannot be run: {command.argv[0]} is not on this host, or the interpreter that it names.",
            code="program-missing",
            summary="A program is not there.",
            hint=f"install what brings {command.argv[0].rpartition('/')[2]}, or correct the path",
        )
    if not isinstance(error, OSError):
        return HostError(f"{line} cannot be run: {error}.", code="program-refused", summary=_REFUSED)
    found = host_error(error, "run", command.argv[0])
    return HostError(
        f"{line} cannot be run: {error.strerror}.",
        code="program-refused",
        summary=_REFUSED,
        cause=found.cause,
        failure=found.failure,
        hint="run datum as root, or allow user namespaces" if "NEWUSER" in str(error.strerror) else "",
    )


def how_it_ended(exit_code: int) -> str:
    """Return the words for an exit code."""
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by signal {-exit_code}"


def last_lines(ended: Ended) -> str:
    """Return the last lines a program wrote to stderr, else to stdout, after a space; empty if it wrote nothing."""
    for data in (ended.stderr_tail, ended.stdout_tail):
        lines = [line.rstrip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            return " It wrote: " + "\n".join(lines[-_TAIL_LINES:])
    return ""
