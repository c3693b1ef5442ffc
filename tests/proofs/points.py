"""Every writing system call of one pass, a strike at any of them, and what must hold afterwards (design 1.4, 4.7).

A point is the n-th call of one name that the datum process itself makes; programs that it runs are not struck. SIGKILL
keeps the call from happening; an error makes it fail without happening.
"""

import ast
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.harness.strace import WRITING, Call, parse
from tests.passes.scene import Ran, run, snapshot
from tests.proofs.readers import readers_that_take
from tests.proofs.stage import REPORTS, STATE, Stage, State, command, environment, is_own, paths

KILL: Final = "SIGKILL"
ERRORS: Final = ("ENOSPC", "EROFS")
SYNC_ERRORS: Final = ("EIO", "ENOSPC")
# Exit codes of design 5 that a pass may end with when a write fails.
HONEST_CODES: Final = frozenset({0, 1, 69, 71, 74})
# Stands for the exit code of a pass that does not end.
HUNG: Final = 255
_SYNCS: Final = frozenset({"fsync", "fdatasync", "sync", "syncfs"})
_OPENS: Final = ("open", "openat", "openat2", "creat")
_CREATES: Final = ("O_CREAT", "O_TMPFILE")
_POINTER_WRITE: Final = re.compile(r"\d+<[^>]*/\.pointer\.json\.[0-9a-f]+\.tmp>, (\".*\"), \d+")
_PART: Final = re.compile(r"\.(?P<name>.+)\.datum\.dpkg-tmp")
_STRUCK: Final = re.compile(r"(?:\d+ +)?(\w+)\((.*)\) += (?:\?|-1 \w+ .*\(INJECTED\))$")
_VARIABLE: Final = re.compile(r"[0-9a-f]{8,}|\d+")
_SECONDS: Final = 120


@frozen
class Point:
    """One writing call of the pass."""

    # In the order of the trace, from 0.
    number: int
    name: str
    nth: int
    # Arguments without what differs from run to run.
    likeness: str

    @property
    def faults(self) -> tuple[str, ...]:
        """What can happen here: a pipe knows neither full nor read-only disks."""
        if "<pipe:" in self.likeness:
            return (KILL,)
        return (KILL, *(SYNC_ERRORS if self.name in _SYNCS else ERRORS))


@frozen
class Trace:
    """What one clean pass does."""

    points: tuple[Point, ...]
    # Every content that the pointer ever has, the first being that before the pass.
    pointers: tuple[bytes, ...]

    @property
    def pointers_of_failed(self) -> tuple[bytes, ...]:
        """And where an action failed: S without C, when what failed is in no older revision (design 3.5)."""
        begun, ended = (json.loads(data) for data in self.pointers[-2:])
        settled = json.dumps({**ended, "converged": begun["converged"]}, indent=2)
        return (*self.pointers, settled.encode() + b"\n")


@frozen
class Verdict:
    """What one strike came to."""

    point: Point
    fault: str
    code: int
    # How many managed paths were at their new state right after.
    done: int
    # What does not hold; empty where all is well.
    wrong: tuple[str, ...]


def trace_pass(stage: Stage) -> Trace:
    """Run the pass once under a tracer, on a copy, and return what it wrote and when."""
    with stage.copy() as root:
        before = (root / STATE / "pointer.json").read_bytes()
        log = root.parent / "trace"
        names = ",".join(f"?{name}" for name in (*WRITING, *_OPENS))
        options = ["-f", "--seccomp-bpf", "-y", "-s", "65536", "-e", f"trace={names}"]
        done = _strace(root, log, options)
        assert done.returncode == 0, done.stderr
        calls = parse(log.read_text(errors="replace"))
        after = (root / STATE / "pointer.json").read_bytes()
    pointers = (before, *(_bytes(match[1]) for call in calls if (match := _POINTER_WRITE.match(call.arguments))))
    assert pointers[-1] == after, "the trace does not hold what the pointer came to"
    return Trace(tuple(_points(calls)), pointers)


def _points(calls: list[Call]) -> Iterator[Point]:
    own = calls[0].pid
    writing = [call for call in calls if call.pid == own and _is_writing(call)]
    for number, call in enumerate(writing):
        yield Point(number, call.name, call.nth, _like(call.arguments))


def _is_writing(call: Call) -> bool:
    return call.name not in _OPENS or any(flag in call.arguments for flag in _CREATES)


def _like(arguments: str) -> str:
    """Return the first argument, and a path that follows, without numbers and folder of this run."""
    text = re.sub(r"/[^\"<>]*/root/", "/", arguments.partition(', "{')[0])
    return _VARIABLE.sub("N", text)[:160]


def _bytes(literal: str) -> bytes:
    """Return what strace quotes as a C string."""
    value = ast.literal_eval(f"b{literal}")
    assert isinstance(value, bytes)
    return value


def strike(stage: Stage, trace: Trace, point: Point, fault: str) -> Verdict:
    """Strike a fresh copy of the prepared host at one point, and judge the host right after and two passes later."""
    with stage.copy() as root:
        log = root.parent / "trace"
        action = "signal=KILL" if fault == KILL else f"error={fault}"
        inject = f"inject={point.name}:{action}:when={point.nth}"
        # Children are not followed: each would be struck at its own n-th call.
        done = _strace(root, log, ["-y", "-s", "256", "-e", f"trace={point.name}", "-e", inject])
        struck = _struck(log)
        wrong = [*_judge_strike(point, struck), *_judge_end(done, fault), *_judge_host(stage, root)]
        if fault != KILL and done.returncode == 0:
            wrong += _judge_success(stage, root, done.stderr)
        versions = trace.pointers if fault == KILL else trace.pointers_of_failed
        wrong += _judge_pointer(root, versions)
        achieved = sum(State.read(root / path) == state for path, state in stage.new.items())
        wrong += _judge_next(stage, trace, root)
    return Verdict(point, fault, done.returncode, achieved, tuple(wrong))


def _strace(root: Path, log: Path, options: Iterable[str]) -> "subprocess.CompletedProcess[str]":
    argv = ["strace", "-qq", "-o", str(log), *options, "--", *command(root, "apply")]
    with subprocess.Popen(
        argv,
        env=environment(root.parent),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return subprocess.CompletedProcess(argv, HUNG, "", f"it did not end within {_SECONDS} seconds")
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def _struck(log: Path) -> str | None:
    """Return the likeness of the call that was struck; None where none was."""
    for line in reversed(log.read_text(errors="replace").splitlines()):
        match = _STRUCK.fullmatch(line)
        if match is not None:
            return _like(match[2])
    return None


def _judge_strike(point: Point, struck: str | None) -> Iterator[str]:
    """A strike elsewhere would prove something else."""
    if struck is None:
        yield f"the pass never made call {point.nth} of {point.name}"
    elif _target(struck) != _target(point.likeness):
        yield f"struck at {struck}, meant {point.likeness}"


def _target(likeness: str) -> str:
    """Return what a likeness touches: data that is written is not shown by both traces."""
    return likeness.partition(', "')[0] if re.match(r"N<", likeness) and ', "' in likeness else likeness


def _judge_end(done: "subprocess.CompletedProcess[str]", fault: str) -> Iterator[str]:
    if "Traceback" in done.stderr or "Traceback" in done.stdout:
        yield f"a traceback: {done.stderr[-300:]}"
    if fault == KILL:
        if done.returncode != -signal.SIGKILL:
            yield f"the killed pass ended with {done.returncode}"
        return
    if done.returncode not in HONEST_CODES:
        yield f"exit code {done.returncode}: {done.stderr[-300:]}"
    if done.returncode and not (done.stderr + done.stdout).strip():
        yield f"exit code {done.returncode} without a word"


def _judge_success(stage: Stage, root: Path, words: str) -> Iterator[str]:
    """A pass that says all went well did everything, and told it: in a report, or in short on stderr (design 1.5)."""
    for path, new in stage.new.items():
        if State.read(root / path) != new:
            yield f"exit code 0, and /{path} is not as wanted"
    if not any((root / REPORTS).glob("*.json")) and "in short:" not in words:
        yield f"exit code 0, and neither a report nor a word of it: {words[-300:]}"


def _judge_pointer(root: Path, versions: Iterable[bytes]) -> Iterator[str]:
    pointer = root / STATE / "pointer.json"
    found = pointer.read_bytes() if pointer.exists() else b""
    if found not in versions:
        yield f"the pointer is no version that the pass may write: {found.decode(errors='replace')}"


def _judge_host(stage: Stage, root: Path) -> Iterator[str]:
    """Old or new at every path, and nothing that a reader would take for a file of its own."""
    for path, new in stage.new.items():
        found = State.read(root / path)
        if not _is_old_or_new(found, stage.old[path], new):
            yield f"/{path} is neither old nor new: {found}"
    for path in sorted(paths(root) - set(stage.new) - stage.others):
        folder, _, name = path.rpartition("/")
        part = _PART.fullmatch(name)
        if not is_own(path) and (part is None or f"{folder}/{part['name']}" not in stage.new):
            yield f"/{path} is there and is neither managed nor a leftover's name"
        if not is_own(path) and (takers := readers_that_take(path)):
            yield f"/{path} would be read by {', '.join(takers)}"
    for report in (root / REPORTS).glob("*.json"):
        if not isinstance(json.loads(report.read_bytes()), dict):
            yield f"{report.name} is not a whole report"


def _is_old_or_new(found: State | None, old: State | None, new: State | None) -> bool:
    """Content changes come whole with their rights; rights alone change one by one, owner before mode."""
    if found in {old, new}:
        return True
    if found is None or old is None or new is None or old.content != new.content or found.content != new.content:
        return False
    # A change of owner clears what is set-id in the old mode, so the mode may also be the old one without it.
    modes = {old.mode, new.mode, old.mode & 0o777}
    return found.mode in modes and found.uid in {old.uid, new.uid} and found.gid in {old.gid, new.gid}


def _judge_next(stage: Stage, trace: Trace, root: Path) -> Iterator[str]:
    """The next pass converges and sweeps; the one after it has nothing to do and writes nothing but its report."""
    ran = run("apply", "--root", str(root))
    if ran.code != 0:
        yield f"the next pass ended with {ran.code}: {(ran.err or ran.out)[-300:]}"
    for path, new in stage.new.items():
        if State.read(root / path) != new:
            yield f"the next pass left /{path} as {State.read(root / path)}"
    yield from _judge_pointer(root, trace.pointers[-1:])
    yield from _judge_residue(stage, root)
    yield from _judge_quiet(root)


def _judge_residue(stage: Stage, root: Path) -> Iterator[str]:
    expected = {_unnumbered(path) for path in stage.own}
    for path in sorted(paths(root) - set(stage.new) - stage.others):
        if not is_own(path):
            yield f"the next pass left /{path} behind"
        elif _unnumbered(path) not in expected:
            yield f"the next pass left /{path} behind, among what is datum's own"


def _judge_quiet(root: Path) -> Iterator[str]:
    without = (f"{STATE}/run", f"{STATE}/lock", REPORTS)
    before = snapshot(root, without)
    ran: Ran = run("apply", "--root", str(root))
    if ran.code != 0 or len(ran.out.splitlines()) != 1 or "nothing to do" not in ran.out:
        yield f"one more pass has something to do: {ran.code} {ran.out[-300:]}{ran.err[-300:]}"
    after = snapshot(root, without)
    if after != before:
        changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        yield f"one more pass wrote {', '.join(changed)}"


def _unnumbered(path: str) -> str:
    """Return a path of datum's own without ids: of reports, objects and turns."""
    if path.startswith(REPORTS):
        return path if "/." in path else f"{REPORTS}/report"
    return _VARIABLE.sub("N", path)
