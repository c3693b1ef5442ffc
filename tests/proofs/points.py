"""Every writing system call of one pass, and a strike at any of them (design 1.4, 4.7); `judging` says what must hold.

A point is the n-th call of one name that the datum process itself makes, or any of its children. SIGKILL keeps the call
from happening; an error makes it fail without happening.
"""

import ast
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from tests.harness.strace import WRITING, Call, own_calls, parse, run_in_session
from tests.proofs import layers
from tests.proofs.stage import JUDGES, STATE, Stage, command, environment

KILL: Final = "SIGKILL"
_CHANGE: Final = ("ENOSPC", "EROFS")
_NAME: Final = ("ENOSPC", "EROFS", "EACCES", "EPERM", "EIO")
_LEAVE: Final = ("EROFS", "EACCES", "EPERM", "EIO")
_REFUSE: Final = ("EPERM", "EROFS", "EIO")
# What each call may fail with (its manual page), the ones that hosts do fail with.
ERRORS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("write", "pwrite64", "ftruncate", "fallocate", "copy_file_range"), ("ENOSPC", "EIO", "EINTR")),
    **dict.fromkeys(("openat", "open"), ("ENOSPC", "EROFS", "EACCES", "EMFILE", "ENOMEM", "EINTR")),
    **dict.fromkeys(("fsync", "fdatasync", "sync", "syncfs"), ("EIO", "ENOSPC", "EINTR")),
    **dict.fromkeys(("rename", "renameat", "renameat2", "link", "linkat"), _NAME),
    **dict.fromkeys(("symlink", "symlinkat", "mkdir", "mkdirat"), _NAME),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), _LEAVE),
    **dict.fromkeys(("chmod", "fchmod", "fchmodat"), _REFUSE),
    **dict.fromkeys(("chown", "fchown", "lchown", "fchownat"), _REFUSE),
    # What a file system never has is told by a remark, and the write goes on (ADR 0014); these fail it.
    **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr"), ("ENOSPC", "EDQUOT", "EROFS", "EIO")),
    **dict.fromkeys(("clone", "clone3", "fork", "vfork"), ("EAGAIN", "ENOMEM")),
    **dict.fromkeys(("unshare", "mount", "mount_setattr", "open_tree", "move_mount"), ("EPERM", "ENOMEM")),
}
# Stands for the exit code of a pass that does not end.
HUNG: Final = 255
_OPENS: Final = ("open", "openat", "openat2", "creat")
_CREATES: Final = ("O_CREAT", "O_TMPFILE")
_STARTS: Final = ("clone", "clone3", "fork", "vfork")
# What a program does that is to see candidates, between fork and exec; the datum process itself makes none of these.
_SHOWING: Final = ("unshare", "mount", "mount_setattr", "open_tree", "move_mount", "umount2", "pivot_root", "chroot")
_POINTER_WRITE: Final = re.compile(r"\d+<[^>]*/\.pointer\.json\.[0-9a-f]+\.tmp>, (\".*\"), \d+")
_STRUCK: Final = re.compile(r"(?:\d+ +)?(\w+)\((.*)\) += (?:\?|-1 \w+ .*\(INJECTED\))$")
_VARIABLE: Final = re.compile(r"[0-9a-f]{8,}|\d+")
_SECONDS: Final = 120
# Children are followed until they are other programs, so that the kernel stops the pass at the traced calls only.
_ALONE: Final = ("-f", "--seccomp-bpf", "-b", "execve")
# Arguments of a call that changes nothing on the host: it writes to whoever waits for the program.
_TELLS: Final = re.compile(r"[\dN]+<(pipe:|socket:|/memfd:|/dev/)")


@frozen
class Point:
    """One call of the pass."""

    # In the order of the trace, from 0; of a child, how many points of the pass itself come before.
    number: int
    name: str
    nth: int
    # Arguments without what differs from run to run.
    likeness: str
    is_child: bool = False
    # No child makes as many calls of this name before it is another program: children that are followed up to there,
    # which makes a strike faster, are not struck beside the pass.
    is_alone: bool = False
    # Of a program that changes accounts or units (`layers`): the how manieth of the pass it is, from 1.
    program: int = 0

    @property
    def faults(self) -> tuple[str, ...]:
        """What can happen here: a pipe knows neither full nor read-only disks."""
        if "<pipe:" in self.likeness:
            return (KILL,)
        return (KILL, *ERRORS.get(self.name, _CHANGE))


@frozen
class Trace:
    """What one clean pass does."""

    points: tuple[Point, ...]
    # Of the programs that judge the set, before they become programs; and of those that change accounts and units.
    children: tuple[Point, ...]
    # Every content that the pointer ever has, the first being that before the pass.
    pointers: tuple[bytes, ...]
    # How many points of the pass come before the check of its set begins, and up to the last that touches the set.
    judged: int
    settled: int

    @property
    def pointers_of_failed(self) -> tuple[bytes, ...]:
        """And where an action failed: S without C, when what failed is in no older revision (design 3.5)."""
        begun, ended = (json.loads(data) for data in self.pointers[-2:])
        settled = json.dumps({**ended, "converged": begun["converged"]}, indent=2)
        return (*self.pointers, settled.encode() + b"\n")


@frozen
class Strike:
    """A point, and what happens there."""

    point: Point
    fault: str

    @property
    def ends_the_pass(self) -> bool:
        """Whether the pass itself is killed."""
        return self.fault == KILL and not self.point.is_child


@frozen
class Struck:
    """What a struck pass came to."""

    code: int
    out: str
    err: str
    # The likeness of the call that was struck; None where none was.
    likeness: str | None


def trace_pass(stage: Stage) -> Trace:
    """Run the pass once under a tracer, on a copy, and return what it wrote and when."""
    with stage.copy() as root:
        before = (root / STATE / "pointer.json").read_bytes()
        log = root.parent / "trace"
        names = ",".join(f"?{name}" for name in (*WRITING, *_OPENS, *_STARTS, *_SHOWING, "execve"))
        options = ["-f", "--seccomp-bpf", "-y", "-s", "65536", "-e", f"trace={names}"]
        done = _strace(stage, root, log, options)
        assert done.returncode == stage.code, done.stderr
        calls = parse(log.read_text(errors="replace"))
        after = (root / STATE / "pointer.json").read_bytes()
    pointers = (before, *(_bytes(match[1]) for call in calls if (match := _POINTER_WRITE.match(call.arguments))))
    assert pointers[-1] == after, "the trace does not hold what the pointer came to"
    numbered = _numbered(calls)
    most = _most_of_children(calls)
    points = [
        evolve(point, is_alone=not stage.prefix and point.nth > most[point.name])
        for point, _ in numbered
        if not point.is_child and point.name != "execve"
    ]
    judges = [(point, pid) for point, pid in numbered if point.name == "execve" and JUDGES in point.likeness]
    pids = {pid for _, pid in judges}
    children = [point for point, pid in numbered if pid in pids and point.name in _SHOWING]
    judged = judges[0][0].number if judges else 0
    of_set = [point.number for point in points if "set-" in point.likeness]
    children += _trace_programs(stage) if stage.scenario and stage.scenario.on_debian else ()
    return Trace(tuple(points), tuple(children), pointers, judged, max(of_set, default=-1) + 1)


def _most_of_children(calls: Sequence[Call]) -> Counter[str]:
    """Return by name how many calls one child of the pass makes, at most, before it is another program."""
    programs = {call.pid for call in own_calls(calls)}
    most: Counter[str] = Counter()
    for call in calls:
        if call.name == "execve":
            programs.add(call.pid)
        elif call.pid not in programs:
            most[call.name] = max(most[call.name], call.nth)
    return most


def _trace_programs(stage: Stage) -> Iterator[Point]:
    """Yield the calls with which the programs of one clean pass change the host, in the order of the programs."""
    names = ",".join(f"?{name}" for name in (*WRITING, *_OPENS))
    with stage.copy() as root:
        logs = _strike_programs(root, "all", f"-y -s 256 -e trace={names}")
        done = run_in_session(command(root, "apply"), environment(root.parent), _SECONDS, cwd="/")
        assert done.returncode == stage.code, done.stdout + done.stderr
        for program in range(1, int((logs / "count").read_text()) + 1):
            # Children are not followed, since some are such programs themselves; so there are no process ids.
            lines = (logs / str(program)).read_text(errors="replace").splitlines()
            for point, _ in _numbered(parse("\n".join(f"1 {line}" for line in lines))):
                if not _TELLS.match(point.likeness):
                    yield evolve(point, is_child=True, program=program)


def _strike_programs(root: Path, program: str, options: str) -> Path:
    """Have one program of the next pass, or all, run under a tracer; return where its log will be."""
    folder = root / layers.STRIKES
    folder.mkdir()
    (folder / "count").write_text("0\n")
    (folder / "strike").write_text(f"{program} {options}\n")
    return folder


def _numbered(calls: Sequence[Call]) -> list[tuple[Point, int]]:
    """Return the points of the pass, and those of its children, each with its process."""
    number, found = 0, []
    own = {call.pid for call in own_calls(calls)}
    for call in calls:
        is_child = call.pid not in own
        if call.name in _OPENS and not any(flag in call.arguments for flag in _CREATES):
            continue
        likeness = call.arguments if call.name == "execve" else _like(call.arguments)
        found.append((Point(number, call.name, call.nth, likeness, is_child), call.pid))
        number += not is_child and call.name != "execve"
    return found


def _like(arguments: str) -> str:
    """Return the first argument, and a path that follows, without numbers and folder of this run."""
    text = re.sub(r"/[^\"<>]*/root/", "/", arguments.partition(', "{')[0])
    return _VARIABLE.sub("N", text)[:160]


def _bytes(literal: str) -> bytes:
    """Return what strace quotes as a C string."""
    value = ast.literal_eval(f"b{literal}")
    assert isinstance(value, bytes)
    return value


def run_struck(stage: Stage, root: Path, strike: Strike) -> Struck:
    """Run the pass on a copy of the prepared host, struck at one point."""
    log = root.parent / "trace"
    action = "signal=KILL" if strike.fault == KILL else f"error={strike.fault}"
    inject = f"inject={strike.point.name}:{action}:when={strike.point.nth}"
    if strike.point.program:
        return _strike_program(stage, root, strike, f"-y -s 256 -e trace={strike.point.name} -e {inject}")
    # Children that are followed are struck at their own n-th call.
    follow = ["-f"] if strike.point.is_child else _ALONE if strike.point.is_alone else []
    done = _strace(stage, root, log, [*follow, "-y", "-s", "256", "-e", f"trace={strike.point.name}", "-e", inject])
    return Struck(done.returncode, done.stdout, done.stderr, _find_struck(log))


def _strike_program(stage: Stage, root: Path, strike: Strike, options: str) -> Struck:
    folder = _strike_programs(root, str(strike.point.program), options)
    done = _run([*stage.prefix, *command(root, "apply")], root)
    log = folder / str(strike.point.program)
    likeness = _find_struck(log) if log.exists() else None
    shutil.rmtree(folder)
    return Struck(done.returncode, done.stdout, done.stderr, likeness)


def _strace(stage: Stage, root: Path, log: Path, options: Iterable[str]) -> "subprocess.CompletedProcess[str]":
    return _run(["strace", "-qq", "-o", str(log), *options, "--", *stage.prefix, *command(root, "apply")], root)


def _run(argv: Sequence[str], root: Path) -> "subprocess.CompletedProcess[str]":
    try:
        return run_in_session(argv, environment(root.parent), _SECONDS, cwd="/")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(list(argv), HUNG, "", f"it did not end within {_SECONDS} seconds")


def _find_struck(log: Path) -> str | None:
    for line in reversed(log.read_text(errors="replace").splitlines()):
        match = _STRUCK.fullmatch(line)
        if match is not None:
            return _like(match[2])
    return None


def unnumbered(path: str) -> str:
    """Return a path without the ids that differ from run to run."""
    return _VARIABLE.sub("N", path)
