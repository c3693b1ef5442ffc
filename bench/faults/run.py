"""Strike passes at every writing system call; write JSON and a table of it.

Run from the clone, as root: `.venv/bin/python -m bench.faults.run [--jobs N] [--kills | --every] [SCENARIO…]`. Each
point is struck by SIGKILL and by one of the errors that it can have, in turn; by each of them with `--every`. Passes
that owe a restart or a reload are killed at each of their calls, whether that writes or not, on so many booted hosts at
once; `--some N` tries about so many of those, and records nothing.
"""

import argparse
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.faults import restarts
from tests.proofs.every_scenario import NAMES, SCENARIOS
from tests.proofs.judging import Verdict, judge
from tests.proofs.layers import workers
from tests.proofs.owed_judging import OWED
from tests.proofs.points import KILL, Point, Strike, Trace, trace_pass
from tests.proofs.sampling import choose
from tests.proofs.stage import fast_folder, prepare

HERE = Path(__file__).resolve().parent
RAW = HERE / "results.json"
TABLE = HERE / "RESULTS.md"
# A scenario takes up to an hour.
_TOLD_EVERY = 50


def main() -> int:
    """Run all strikes; 1 when one of them found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", type=known, metavar="SCENARIO", default=list(NAMES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kills", action="store_true", help="only SIGKILL")
    parser.add_argument("--every", action="store_true", help="every error at every point")
    parser.add_argument("--some", type=int, default=0, metavar="N", help="of the scenarios of booted hosts")
    options = parser.parse_args()
    about = {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "command": " ".join(["python", "-m", "bench.faults.run", *sys.argv[1:]]),
    }
    found = False
    for name in options.scenarios:
        is_staged = name in SCENARIOS
        result = {**(run(name, options) if is_staged else restarts.run(name, options.jobs, options.some)), **about}
        if is_staged or not options.some:
            record(result)
        found = found or any(entry["wrong"] for entry in result["strikes"])
    return 1 if found else 0


def record(result: dict[str, Any]) -> None:
    """Put the result of one scenario in the place of its older one: scenarios may be run on several days."""
    results = {entry["scenario"]: entry for entry in json.loads(RAW.read_text())["scenarios"]} if RAW.exists() else {}
    results[result["scenario"]] = result
    whole = [results[name] for name in NAMES if name in results]
    RAW.write_text(as_text(whole))
    TABLE.write_text(as_table(whole))


def known(name: str) -> str:
    """Return the name of a scenario as it is; anything else is an error of the command line.

    argparse checks a list that is the default of positional arguments against `choices` as one value.
    """
    if name not in NAMES:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(NAMES)}")
    return name


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Strike at one scenario; return the raw result."""
    begun = time.monotonic()
    # Each strike, and what comes before, in processes of their own: roots of a Debian are mounted there.
    with fast_folder() as folder, workers(options.jobs) as pool:
        stage = pool.submit(prepare, folder, SCENARIOS[name]).result()
        trace = pool.submit(trace_pass, stage).result()
        strikes = list(strikes_of([*trace.points, *sample_of(trace.children, SCENARIOS[name].sampled)], options))
        print(f"{name}: {len(trace.points)} points, {len(strikes)} strikes", flush=True)
        verdicts: list[Verdict] = []
        for verdict in pool.map(partial(judge, stage, trace), strikes, chunksize=4):
            verdicts.append(verdict)
            if verdict.wrong:
                print(verdict, flush=True)
            if not len(verdicts) % _TOLD_EVERY:
                print(f"{name}: {len(verdicts)} of {len(strikes)} after {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{name}: {sum(bool(verdict.wrong) for verdict in verdicts)} with findings", flush=True)
    return as_json(name, trace, verdicts, time.monotonic() - begun)


def sample_of(points: Sequence[Point], count: int) -> Sequence[Point]:
    """Return as many points of programs, the same in every run, each call name among them; all of them for 0."""
    chosen = (strike.point for strike in choose(points, kill=True, count=count))
    return points if not count else sorted(chosen, key=lambda point: (point.program, point.number))


def strikes_of(points: Sequence[Point], options: argparse.Namespace) -> Iterator[Strike]:
    """Yield what happens at each point."""
    for number, point in enumerate(points):
        yield Strike(point, KILL)
        errors = [fault for fault in point.faults if fault != KILL]
        if errors and not options.kills:
            for fault in errors if options.every else [errors[number % len(errors)]]:
                yield Strike(point, fault)


def as_json(name: str, trace: Trace, verdicts: list[Verdict], seconds: float) -> dict[str, Any]:
    """Return the raw result of one scenario."""
    return {
        "scenario": name,
        "seconds": round(seconds),
        "points": len(trace.points),
        "children": len(trace.children),
        "strikes": [
            {
                "call": verdict.strike.point.name,
                "nth": verdict.strike.point.nth,
                "child": verdict.strike.point.is_child,
                "program": verdict.strike.point.program,
                "place": verdict.strike.point.likeness,
                "fault": verdict.strike.fault,
                "exit_code": verdict.code,
                "new_paths": verdict.done,
                "wrong": list(verdict.wrong),
            }
            for verdict in verdicts
        ],
    }


def as_text(results: Sequence[dict[str, Any]]) -> str:
    """Return the raw results as JSON, one strike a line."""
    scenarios = []
    for result in results:
        rows = ",\n".join(json.dumps(entry) for entry in result["strikes"])
        scenarios.append(json.dumps({**result, "strikes": []}).replace('"strikes": []', f'"strikes": [\n{rows}\n]'))
    return '{"scenarios": [\n' + ",\n".join(scenarios) + "\n]}\n"


def as_table(results: Sequence[dict[str, Any]]) -> str:
    """Return the page that is generated from the raw results."""
    lines = [
        "# Faults: passes struck at every writing system call",
        "",
        "Generated from `results.json`, which `python -m bench.faults.run` writes scenario by scenario.",
        "What a scenario does stands in `tests/proofs/*scenarios.py`, what must hold in `tests/proofs/judging.py`.",
        "",
        "A finding is a strike after which a path is neither old nor new, a set under a check is mixed or there before",
        "it was judged, the pointer is no version that a pass may write, a name is there that a reader of the folder",
        "takes, more failed than what was struck, the next pass does not converge or leaves something behind, one more",
        "has something to do or writes more than its report, or pwck, grpck or dpkg --audit complains after it, or a",
        "journal of dpkg is left. Of packages a seeded sample of the points of apt and dpkg is struck.",
    ]
    for result in results:
        lines += ["", *_section(result), *(restarts.section(result) if result["scenario"] in OWED else ())]
    return "\n".join([*lines, ""])


def _section(result: dict[str, Any]) -> list[str]:
    strikes = result["strikes"]
    faults = list(dict.fromkeys(entry["fault"] for entry in strikes))
    calls = sorted({entry["call"] for entry in strikes})
    count = Counter((entry["call"], entry["fault"]) for entry in strikes)
    bad = Counter(entry["fault"] for entry in strikes if entry["wrong"])
    return [
        f"## {result['scenario']}",
        "",
        f"{result['points']} points of the pass and {result['children']} of its programs were counted from a trace;",
        f"{len(set(map(_place, strikes)))} of them were struck. {len(strikes)} strikes took {result['seconds']} s,",
        f"by `{result['command']}`, Python {result['python']}, Linux {result['kernel']}.",
        "",
        f"| call | {' | '.join(faults)} |",
        f"| --- |{' ---: |' * len(faults)}",
        *(f"| {call} | {' | '.join(str(count[call, fault] or '') for fault in faults)} |" for call in calls),
        f"| all | {' | '.join(str(sum(entry['fault'] == fault for entry in strikes)) for fault in faults)} |",
        f"| findings | {' | '.join(str(bad[fault]) for fault in faults)} |",
        f"| exit codes | {' | '.join(_codes(strikes, fault) for fault in faults)} |",
    ]


def _place(strike: dict[str, Any]) -> tuple[Any, ...]:
    return strike["child"], strike["program"], strike["call"], strike["nth"]


def _codes(strikes: list[dict[str, Any]], fault: str) -> str:
    codes = Counter(entry["exit_code"] for entry in strikes if entry["fault"] == fault)
    return ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))


if __name__ == "__main__":
    sys.exit(main())
