"""What must hold of a host right after a pass was struck, and after the next two (design 1.4, 3.5, 4.2, 4.7)."""

import json
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.passes.scene import snapshot
from tests.proofs import accounts, dpkg_files, layers
from tests.proofs.points import Strike, Struck, Trace, run_struck, unnumbered
from tests.proofs.readers import readers_that_take
from tests.proofs.stage import ACCEPTS, REPORTS, STATE, Stage, State, apply, own_paths

# Exit codes of design 5 that a pass may end with when a write fails.
HONEST_CODES: Final = frozenset({0, 1, 69, 71, 74})
_FAILED: Final = frozenset({"failed", "busy", "unverified", "unobservable"})
_PART: Final = re.compile(r"\.?(?P<name>.+)\.datum~\.dpkg-tmp")

States = Mapping[str, State]


@frozen
class Verdict:
    """What one strike came to."""

    strike: Strike
    code: int
    # How many changing paths were at their new state right after.
    done: int
    # What does not hold; empty where all is well.
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        point = self.strike.point
        where = f"{point.name} {point.nth}{' of a child' if point.is_child else ''} ({point.likeness})"
        return "\n".join(f"{self.strike.fault} at {where}: {what}" for what in self.wrong)


def judge(stage: Stage, trace: Trace, strike: Strike) -> Verdict:
    """Strike a fresh copy of the prepared host at one point, and judge the host right after and two passes later."""
    with stage.copy() as root:
        struck = run_struck(stage, root, strike)
        states = State.read_all(root)
        wrong = [*_judge_strike(stage, strike, struck), *_judge_end(strike, struck), *judge_host(stage, root, states)]
        wrong += _judge_set(stage, trace, strike, struck, states)
        if not strike.ends_the_pass:
            wrong += _judge_rest(stage, root, strike, struck, states)
        wrong += _judge_pointer(root, trace.pointers if strike.ends_the_pass else trace.pointers_of_failed)
        is_unjudged = strike.ends_the_pass and strike.point.number < trace.judged and _news(stage, states)
        achieved = sum(states.get(path) == stage.new[path] for path in stage.changing)
        wrong += _judge_next(stage, trace, root, must_judge=bool(is_unjudged))
    return Verdict(strike, struck.code, achieved, tuple(wrong))


def _judge_strike(stage: Stage, strike: Strike, struck: Struck) -> Iterator[str]:
    """A strike elsewhere would prove something else."""
    if struck.likeness is not None and strike.point.name == "openat" and stage.scenario and stage.scenario.on_debian:
        # While a program runs, the agent looks at its own files by the clock, so its opens cannot be counted.
        return
    if struck.likeness is None:
        yield f"the pass never made call {strike.point.nth} of {strike.point.name}"
    elif not strike.point.is_child and _target(struck.likeness) != _target(strike.point.likeness):
        yield f"struck at {struck.likeness}, meant {strike.point.likeness}"


def _target(likeness: str) -> str:
    """Return what a likeness touches: data that is written is not shown by both traces, nor are addresses."""
    if likeness.startswith("child_stack"):
        return "a child"
    return likeness.partition(', "')[0] if re.match(r"N<", likeness) and ', "' in likeness else likeness


def _judge_end(strike: Strike, struck: Struck) -> Iterator[str]:
    if "Traceback" in struck.err or "Traceback" in struck.out:
        yield f"a traceback: {struck.err[-600:]}"
    if strike.ends_the_pass:
        if struck.code != -signal.SIGKILL:
            yield f"the killed pass ended with {struck.code}"
        return
    if struck.code not in HONEST_CODES:
        yield f"exit code {struck.code}: {struck.err[-300:]}"
    if struck.code and not (struck.err + struck.out).strip():
        yield f"exit code {struck.code} without a word"


def judge_host(stage: Stage, root: Path, states: States) -> Iterator[str]:
    """Old or new at every path, and nothing that a reader would take for a file of its own."""
    for path in stage.new:
        found = states.get(path)
        if path not in stage.loose and not stage.is_stepwise(path) and not _is_one_of(stage, path, found):
            yield f"/{path} is neither old nor new: {found}"
    for path in sorted(states.keys() - stage.new.keys()):
        if _leftover_of(path) not in stage.new and not stage.is_stepwise(path):
            yield f"/{path} is there and is neither managed nor a leftover's name"
        elif _PART.fullmatch(Path(path).name) and (takers := readers_that_take(path)):
            yield f"/{path} would be read by {', '.join(takers)}"
    for report in (root / REPORTS).glob("*.json"):
        if not isinstance(json.loads(report.read_bytes()), dict):
            yield f"{report.name} is not a whole report"


def _leftover_of(path: str) -> str:
    """Return the path whose leftover this is, or lies in; nothing if it is none."""
    names = path.split("/")
    for place, name in enumerate(names):
        if match := _PART.fullmatch(name):
            return "/".join((*names[:place], match["name"]))
    return ""


def _is_one_of(stage: Stage, path: str, found: State | None) -> bool:
    """Content changes come whole with their rights; rights alone change one by one, owner before mode."""
    old, new = stage.old[path], stage.new[path]
    if found in {old, new} or (stage.prefix and found == stage.judged.get(path, old)):
        return True
    if found is not None and found == stage.new.get(_leftover_of(path)):
        # What lay beside was swept, and the name taken again by the write that was struck.
        return True
    if found is None or old is None or new is None:
        return False
    if found.kind != new.kind or found.content != new.content or (old.kind, old.content) != (new.kind, new.content):
        return False
    # A change of owner clears what is set-id in the old mode, so the mode may also be the old one without it.
    modes = {old.mode, new.mode, old.mode & 0o777}
    return found.mode in modes and found.uid in {old.uid, new.uid} and found.gid in {old.gid, new.gid}


def _news(stage: Stage, states: States) -> frozenset[str]:
    """Return the guarded paths that are not as they were."""
    return frozenset(path for path in {*stage.guarded, *stage.judged} if states.get(path) != stage.old[path])


def _judge_set(stage: Stage, trace: Trace, strike: Strike, struck: Struck, states: States) -> Iterator[str]:
    """A set is old until its check has passed, then new; only a kill or an error among the renames leaves it mixed."""
    news, number = _news(stage, states), strike.point.number
    if not stage.prefix and number < trace.judged and strike.fault == "SIGKILL" and news:
        yield f"before it was judged, {sorted(news)} were there"
    if not stage.guarded or not news or news == stage.guarded:
        return
    missing = sorted(stage.guarded - news)
    if not strike.ends_the_pass:
        if struck.code != 1:
            yield f"exit code {struck.code}, and of the set {missing} are old, the others new"
    elif number >= trace.settled:
        yield f"after the set was put in place, {missing} were old"


def _judge_rest(stage: Stage, root: Path, strike: Strike, struck: Struck, states: States) -> Iterator[str]:
    """What failed is one resource, or one set; a pass that says all went well did everything, and told it."""
    found = _newest_report(root)
    if struck.code == 0:
        for path in sorted(stage.changing - stage.loose):
            if states.get(path) != stage.new[path]:
                yield f"exit code 0, and /{path} is not as wanted"
        if not found and "in short:" not in struck.err:
            yield f"exit code 0, and neither a report nor a word of it: {struck.err[-300:]}"
    if struck.code != 1 or "resources" not in found:
        return
    outcomes = {entry["id"]: entry["outcome"] for entry in found["resources"]}
    failed = sorted(name for name, outcome in outcomes.items() if outcome in _FAILED)
    others = [name for name in failed if "set.d" not in name and not name.startswith(("check:", "package:"))]
    if len(others) > 1 and not strike.point.is_child:
        yield f"one call failed, and with it {', '.join(others)}"
    # Where the new revision could not be had, what the old one declares may be held.
    if not failed and "held" not in outcomes.values():
        yield f"exit code 1, and no resource failed: {outcomes}"


def _newest_report(root: Path) -> dict[str, Any]:
    names = sorted((root / REPORTS).glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    # The first is of the pass that prepared the host.
    found = json.loads(names[-1].read_bytes()) if len(names) > 1 else {}
    assert isinstance(found, dict)
    return found


def _judge_pointer(root: Path, versions: Iterable[bytes]) -> Iterator[str]:
    pointer = root / STATE / "pointer.json"
    found = pointer.read_bytes() if pointer.exists() else b""
    if found not in versions:
        yield f"the pointer is no version that the pass may write: {found.decode(errors='replace')}"


def _judge_next(stage: Stage, trace: Trace, root: Path, *, must_judge: bool) -> Iterator[str]:
    """The next pass converges and sweeps; the one after it has nothing to do and writes nothing but its report."""
    ran = apply(root, stage.prefix)
    if ran.code != stage.code:
        yield f"the next pass ended with {ran.code}: {(ran.err or ran.out)[-300:]}"
    if must_judge and not _newest_report(root).get("checks"):
        yield "the next pass left what stood there unjudged"
    if stage.code:
        yield from _judge_refused(stage, trace, root)
        return
    yield from _judge_pointer(root, trace.pointers[-1:])
    yield from _judge_all(stage, root, stage.new)
    if layers.is_layered(root):
        said = (*accounts.complaints(root), *dpkg_files.complaints(root))
        yield from (f"after the next pass, {what}" for what in said)
    yield from _judge_quiet(stage, root)


def _judge_refused(stage: Stage, trace: Trace, root: Path) -> Iterator[str]:
    """A set that is refused stays as it was, or unjudged beside its leftovers; once it passes, it comes whole."""
    yield from _judge_pointer(root, trace.pointers[-1:])
    yield from judge_host(stage, root, before := State.read_all(root))
    if _newest_report(root).get("outcome") == "converged":
        yield "the next pass says that all is well, though its set is refused"
    ran = apply(root, stage.prefix)
    if ran.code != stage.code or State.read_all(root) != before:
        yield f"one more pass ended with {ran.code}, and changed something though its set was refused again"
    (root / ACCEPTS).touch()
    ran = apply(root, stage.prefix)
    if ran.code:
        yield f"the pass whose set passes ended with {ran.code}: {(ran.err or ran.out)[-300:]}"
    (root / ACCEPTS).unlink()
    yield from _judge_all(stage, root, {**stage.new, **stage.judged})


def _judge_all(stage: Stage, root: Path, wanted: Mapping[str, State | None]) -> Iterator[str]:
    """Everything is as wanted, and there is nothing else."""
    yield from unfinished(wanted, State.read_all(root))
    expected = {_unnumbered(path) for path in stage.own}
    for path in sorted(own_paths(root)):
        if _unnumbered(path) not in expected:
            yield f"the next pass left /{path} behind, among what is datum's own"


def unfinished(wanted: Mapping[str, State | None], states: States) -> Iterator[str]:
    """Say what is not as wanted, and what is there besides."""
    for path, new in wanted.items():
        if states.get(path) != new:
            yield f"the next pass left /{path} as {_told(states.get(path), new)}"
    for path in sorted(states.keys() - wanted.keys()):
        yield f"the next pass left /{path} behind"


def _told(found: State | None, wanted: State | None) -> str:
    """Say what stands there; of two texts, the lines that only one of them has."""
    if found is None or wanted is None or found.content == wanted.content:
        return f"{found}, not {wanted}"
    are, were = (set(state.content.splitlines()) for state in (found, wanted))
    return f"{sorted(are - were)}, not {sorted(were - are)}"


def _judge_quiet(stage: Stage, root: Path) -> Iterator[str]:
    without = (f"{STATE}/run", f"{STATE}/lock", REPORTS)
    written = root.parent / "upper" if layers.is_layered(root) else root
    before = snapshot(written, without)
    ran = apply(root, stage.prefix)
    if ran.code != 0 or len(ran.out.splitlines()) != 1 or "nothing to do" not in ran.out:
        yield f"one more pass has something to do: {ran.code} {ran.out[-300:]}{ran.err[-300:]}"
    after = snapshot(written, without)
    if after != before:
        changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        yield f"one more pass wrote {', '.join(changed)}"


def _unnumbered(path: str) -> str:
    """Return a path of datum's own without ids: of reports, objects and turns."""
    if path.startswith(REPORTS):
        return path if "/." in path else f"{REPORTS}/report"
    return unnumbered(path)
