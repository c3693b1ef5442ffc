"""Strike one pass at every writing system call with every fault; write JSON and a table of it.

Run from the clone, as root for changes of owner: `.venv/bin/python -m bench.faults.run [--jobs N] [--kills]`.
"""

import argparse
import json
import multiprocessing
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tests.proofs.points import KILL, Point, Trace, Verdict, strike, trace_pass
from tests.proofs.stage import Stage, fast_folder, prepare

HERE = Path(__file__).resolve().parent
RAW = HERE / "results.json"
TABLE = HERE / "RESULTS.md"


def main() -> int:
    """Run all strikes; 1 when one of them found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kills", action="store_true", help="only SIGKILL")
    options = parser.parse_args()
    begun = time.monotonic()
    with fast_folder() as folder:
        stage = prepare(folder)
        trace = trace_pass(stage)
        strikes = [
            (point, fault) for point in trace.points for fault in point.faults if fault == KILL or not options.kills
        ]
        print(f"{len(trace.points)} points, {len(strikes)} strikes", flush=True)
        verdicts = strike_all(stage, trace, strikes, options.jobs)
    RAW.write_text(json.dumps(as_json(trace, verdicts, time.monotonic() - begun), indent=1) + "\n")
    TABLE.write_text(as_table(json.loads(RAW.read_text())))
    wrong = [verdict for verdict in verdicts if verdict.wrong]
    for verdict in wrong:
        print(verdict.fault, verdict.point.name, verdict.point.nth, verdict.point.likeness, *verdict.wrong, sep="\n  ")
    print(f"{len(verdicts)} strikes, {len(wrong)} with findings; {TABLE}")
    return 1 if wrong else 0


def strike_all(stage: Stage, trace: Trace, strikes: list[tuple[Point, str]], jobs: int) -> list[Verdict]:
    """Run the strikes in processes of their own, in order of the trace."""
    context = multiprocessing.get_context("spawn")
    points, faults = zip(*strikes, strict=True)
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        return list(pool.map(partial(strike, stage, trace), points, faults, chunksize=8))


def as_json(trace: Trace, verdicts: list[Verdict], seconds: float) -> dict[str, Any]:
    """Return the raw result."""
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "seconds": round(seconds),
        "command": " ".join(["python", "-m", "bench.faults.run", *sys.argv[1:]]),
        "points": len(trace.points),
        "strikes": [
            {
                "point": verdict.point.number,
                "call": verdict.point.name,
                "nth": verdict.point.nth,
                "place": verdict.point.likeness,
                "fault": verdict.fault,
                "exit_code": verdict.code,
                "new_paths": verdict.done,
                "wrong": list(verdict.wrong),
            }
            for verdict in verdicts
        ],
    }


def as_table(result: dict[str, Any]) -> str:
    """Return the page that is generated from the raw result."""
    strikes = result["strikes"]
    faults = list(dict.fromkeys(entry["fault"] for entry in strikes))
    calls = sorted({entry["call"] for entry in strikes})
    count = Counter((entry["call"], entry["fault"]) for entry in strikes)
    bad = Counter(entry["fault"] for entry in strikes if entry["wrong"])
    lines = [
        "# Faults: one pass struck at every writing system call",
        "",
        f"Generated from `results.json` by `{result['command']}`.",
        f"{result['points']} points were counted from a trace; {len(strikes)} strikes took {result['seconds']} s.",
        f"Python {result['python']}, Linux {result['kernel']}.",
        "",
        "A finding is a strike after which a managed path is neither old nor new, the pointer is no version that a",
        "pass may write, a name is there that a reader of the folder takes, the next pass does not converge or leaves",
        "something behind, or one more has something to do or writes more than its report.",
        "",
        f"| call | {' | '.join(faults)} |",
        f"| --- |{' ---: |' * len(faults)}",
        *(f"| {call} | {' | '.join(str(count[call, fault] or '') for fault in faults)} |" for call in calls),
        f"| all | {' | '.join(str(sum(entry['fault'] == fault for entry in strikes)) for fault in faults)} |",
        f"| findings | {' | '.join(str(bad[fault]) for fault in faults)} |",
        "",
        "Exit codes of the struck passes:",
        "",
        "| fault | exit codes |",
        "| --- | --- |",
        *(f"| {fault} | {_codes(strikes, fault)} |" for fault in faults),
        "",
    ]
    return "\n".join(lines)


def _codes(strikes: list[dict[str, Any]], fault: str) -> str:
    codes = Counter(entry["exit_code"] for entry in strikes if entry["fault"] == fault)
    return ", ".join(f"{code} ({count} times)" for code, count in sorted(codes.items()))


if __name__ == "__main__":
    sys.exit(main())
