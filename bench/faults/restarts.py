"""Kill passes at every call between the mark of a service and the end of its refresh, on booted hosts."""

import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.harness import image
from tests.harness.plugin import bind_agent
from tests.harness.strace import Call
from tests.proofs.owed_host import owed_host
from tests.proofs.owed_judging import Verdict, judge, prepare
from tests.proofs.owed_strikes import Scene
from tests.proofs.points import KILL, unnumbered


def run(name: str, jobs: int, some: int) -> dict[str, Any]:
    """Strike at one scene, on so many hosts at once, at so many of its points; 0: at all. Return the raw result."""
    begun = time.monotonic()
    image.find_or_build()
    with tempfile.TemporaryDirectory(prefix="datum-faults-") as folder, ExitStack() as stack:
        hosts = [stack.enter_context(owed_host(bind_agent(), _made(Path(folder, str(job))))) for job in range(jobs)]
        scenes: SimpleQueue[Scene] = SimpleQueue()
        for host in hosts:
            scenes.put(prepare(host, name))
        first = scenes.get()
        points = first.points
        scenes.put(first)
        print(f"{name}: {len(points.calls)} points, by phase {[len(phase) for phase in points.phases]}", flush=True)

        def strike(call: Call) -> Verdict:
            scene = scenes.get()
            try:
                verdict = judge(scene, name, call)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                # One host that cannot be judged is a finding, and the run goes on.
                verdict = Verdict(call, is_struck=True, after="not known", wrong=(str(error),))
            finally:
                scenes.put(scene)
            if verdict.wrong:
                print(verdict, flush=True)
            return verdict

        chosen = points.calls[:: max(1, len(points.calls) // some)] if some else points.calls
        with ThreadPoolExecutor(jobs) as pool:
            verdicts = list(pool.map(strike, chosen))
    print(f"{name}: {sum(bool(verdict.wrong) for verdict in verdicts)} with findings", flush=True)
    return as_json(name, [len(phase) for phase in points.phases], verdicts, time.monotonic() - begun)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def as_json(name: str, phases: Sequence[int], verdicts: Sequence[Verdict], seconds: float) -> dict[str, Any]:
    """Return the raw result; passes that did not come to their call are counted, and are no strikes."""
    return {
        "scenario": name,
        "seconds": round(seconds),
        "points": sum(phases),
        "phases": list(phases),
        "missed": sum(not verdict.is_struck for verdict in verdicts),
        "children": 0,
        "strikes": [
            {
                "call": verdict.call.name,
                "nth": verdict.call.nth,
                "child": False,
                "program": 0,
                "place": unnumbered(verdict.call.arguments[:160]),
                "fault": KILL,
                "exit_code": -9,
                "after": verdict.after,
                "wrong": list(verdict.wrong),
            }
            for verdict in verdicts
            if verdict.is_struck or verdict.wrong
        ],
    }


def section(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the page says of these besides: how far the struck passes came."""
    marked, written, refreshed = result["phases"]
    count = Counter(strike["after"] for strike in result["strikes"])
    yield from (
        "",
        f"{marked} of the points lie between mark and write, {written} up to the refresh, {refreshed} in it;",
        f"{result['missed']} passes did not come to their call. How far the killed ones came:",
        "",
        "| on the disk, owed, done | passes |",
        "| --- | ---: |",
        *(f"| {after} | {number} |" for after, number in count.most_common()),
    )
