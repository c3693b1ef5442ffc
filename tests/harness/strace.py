"""Counting the system calls of a command, and ending or failing it at an exact one.

strace counts the calls of each process and thread on its own, by name. ``Call.nth`` is that count,
so ``inject(argv, call.name, when=call.nth)`` strikes where ``trace`` saw the call, provided that
the command runs alike each time; where several processes reach the same count, each is struck.
"""

import os
import re
import signal as signals
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.harness.machine import Machine

# With these a process changes what outlives it; for killing a command at each of its writes.
WRITING: Final = (  # noqa: SIM905 - one name a line is hard to read
    "write pwrite64 writev pwritev pwritev2 sendfile copy_file_range ftruncate truncate fallocate "
    "rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat mkdir mkdirat rmdir "
    "mknod mknodat chmod fchmod fchmodat chown fchown lchown fchownat utimensat setxattr lsetxattr "
    "fsetxattr removexattr lremovexattr fremovexattr fsync fdatasync sync syncfs"
).split()

_LOG_IN_HOST: Final = "/dev/shm/strace.log"  # not on the host's disk: changes() stays clean
_CALL: Final = re.compile(r"(\d+) +(\w+)\((.*)\) += (.+)")
_BEGUN: Final = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>")
_RESUMED: Final = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (.+)")


@frozen
class Call:
    """One system call, in the order in which they ended."""

    pid: int
    name: str
    arguments: str  # as strace writes them, with the path behind each descriptor
    result: str  # as strace writes it; "?" where the process was killed in the call
    nth: int  # how many calls of this name the process has made, this one included


@frozen
class Strace:
    """How to run the commands under test: here, or in a host; with which environment."""

    machine: Machine | None = None
    env: Mapping[str, str] | None = None  # None: this process's own, or the host's clean one
    timeout: float = 60.0  # in seconds

    def trace(self, argv: Sequence[str], syscalls: Sequence[str]) -> list[Call]:
        """Run a command to its good end; return its calls of these names, and its children's.

        Raises:
            AssertionError: the command failed.
        """
        done, log = self._run(argv, ["-y", "-s", "256", "-e", f"trace={_known(syscalls)}"])
        if done.returncode:
            raise AssertionError(f"{list(argv)} ended with {done.returncode}\n{done.stderr}")
        return parse(log)

    def inject(
        self,
        argv: Sequence[str],
        syscall: str,
        *,
        when: int | str = 1,
        signal: str | None = None,
        error: str | None = None,
        path: str | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command and strike at its ``when``-th call of a system call.

        Args:
            argv: the command.
            syscall: the name, or several with commas, each counted on its own.
            when: the count, or strace's ``2+`` (from the second on), ``2..4``, ``1+3``.
            signal: send this one (``KILL``) at the start of the call; KILL keeps it from happening.
            error: let the call fail with this one (``ENOSPC``) without happening.
            path: count and strike only calls that touch this path.

        Raises:
            AssertionError: the fault was never reached; a test that relies on it proves nothing.
        """
        assert signal or error, "say which fault to inject"
        fault = "".join([f":error={error}" if error else "", f":signal={signal}" if signal else ""])
        options = ["-e", f"trace={syscall}", "-e", f"inject={syscall}{fault}:when={when}"]
        done, log = self._run(argv, [*options, *(["-P", path] if path else [])])
        struck = ("(INJECTED)", f"--- SIG{signal} ", f"killed by SIG{signal} ")
        if not any(mark in log for mark in struck):
            raise AssertionError(f"{list(argv)} never made call {when} of {syscall}:\n{log}")
        return done

    def _run(self, argv: Sequence[str], options: Sequence[str]) -> tuple["subprocess.CompletedProcess[str]", str]:
        if self.machine is not None:
            command = ["strace", "-f", "-qq", "-o", _LOG_IN_HOST, *options, "--", *argv]
            timed = {"env": self.env, "timeout": self.timeout, "check": False}
            done = self.machine.run(command, **timed)  # type: ignore[arg-type]
            return done, self.machine.read(_LOG_IN_HOST).decode(errors="replace")
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            command = ["strace", "-f", "-qq", "-o", str(log), *options, "--", *argv]
            done = run_in_session(command, self.env, self.timeout)
            return done, log.read_text(errors="replace")


def trace(argv: Sequence[str], syscalls: Sequence[str]) -> list[Call]:
    """Trace a command on this machine; see ``Strace.trace``. Only for what keeps to a folder."""
    return Strace().trace(argv, syscalls)


def inject(
    argv: Sequence[str],
    syscall: str,
    *,
    when: int | str = 1,
    signal: str | None = None,
    error: str | None = None,
    path: str | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Strike a command on this machine; see ``Strace.inject``. Only for what keeps to a folder."""
    return Strace().inject(argv, syscall, when=when, signal=signal, error=error, path=path)


def own_calls(calls: Sequence[Call]) -> list[Call]:
    """Return the calls that the traced command makes itself: its process is there before all others, and so the lowest.

    It need not be the first to make one of the calls that are traced.
    """
    first = min((call.pid for call in calls), default=0)
    return [call for call in calls if call.pid == first]


def parse(log: str) -> list[Call]:
    """Return the calls of a log written with ``strace -f -o``; two halves of one become one."""
    calls: list[Call] = []
    begun: dict[str, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.splitlines():
        if match := _BEGUN.fullmatch(line):
            begun[match[1]] = match[3]
            continue
        resumed = _RESUMED.fullmatch(line)
        match = resumed or _CALL.fullmatch(line)
        if match is None:
            continue  # a signal or an exit
        pid, name, arguments, result = match.groups()
        if resumed:
            arguments = begun.pop(pid, "") + arguments
        counts[pid, name] += 1
        calls.append(Call(int(pid), name, arguments, result, counts[pid, name]))
    return calls


def run_in_session(
    command: Sequence[str], env: Mapping[str, str] | None, timeout: float, *, cwd: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a session of its own, which is killed as a whole when time is up.

    Raises:
        subprocess.TimeoutExpired: time was up.
    """
    with subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            os.killpg(process.pid, signals.SIGKILL)
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def _known(syscalls: Sequence[str]) -> str:
    """Name calls for strace; "?" lets it pass over those that this architecture lacks."""
    return ",".join(name if name.startswith("%") else f"?{name}" for name in syscalls)
