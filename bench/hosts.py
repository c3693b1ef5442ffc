"""Time passes with nothing to do over packages, services and accounts of a booted Debian; write JSON and a table of it.

Run from the clone, as root: `.venv/bin/python -m bench.hosts [--runs N] [--out DIR]`. Beside each pass, what an
administrator's script costs that asks the host's own tools the same, in one call a tool where the tool allows that.
Whole processes, in turn; every timed pass is checked to have had nothing to do, and the programs that it starts are
counted by strace. And how long one process takes to observe the packages alone, from dpkg's own files, over and over.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

from attrs import evolve

from tests.harness import image
from tests.harness.booted import Booted
from tests.harness.plugin import bind_agent
from tests.harness.strace import Strace
from tests.proofs.on_host import FleetOnHost
from tests.proofs.sizes import Size

HERE: Final = Path(__file__).resolve().parent
SIZES: Final = (Size(10, 10, 10), Size(200, 100, 50))
# Prints the wall time of each observation of so many packages, in seconds. Its arguments: packages, runs.
READING: Final = """
import sys, time
from datum.host.local import LocalHost
from datum_providers.package.provider import PackageProvider
packages, runs = map(int, sys.argv[1:])
provider = PackageProvider()
desired = {f"p{number}": provider.parse(f"p{number}", {"version": "1.0-1"}) for number in range(packages)}
with LocalHost() as host:
    for _ in range(runs + 1):
        begun = time.perf_counter()
        seen = provider.observe(host.reader(), desired)
        print(time.perf_counter() - begun)
        assert not any(provider.plan(desired[name], seen[name]) for name in desired)
"""


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    image.find_or_build()
    about = {"python": platform.python_version(), "kernel": platform.release(), "runs": options.runs}
    result = {**about, "samples": [measure(size, options.runs) for size in SIZES]}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "hosts.json").write_text(json.dumps(result, indent=1) + "\n")
    (options.out.parent / "HOSTS.md").write_text("\n".join(section(result)) + "\n")


def measure(size: Size, runs: int) -> dict[str, Any]:
    """Return samples by contender, and the programs that a pass starts."""
    with tempfile.TemporaryDirectory(prefix="datum-bench-") as folder, ExitStack() as stack:
        agent = bind_agent()
        # as an installed agent: compiled once
        agent = evolve(agent, env={"PYTHONPATH": agent.env["PYTHONPATH"], "PYTHONPYCACHEPREFIX": "/var/cache/python"})
        fleet = FleetOnHost(Path(folder), agent)
        fleet.commit(size.resources(), fleet={"limits": {"changed": "none"}})
        machine = stack.enter_context(Booted(binds=(*agent.binds, fleet.bind)))
        machine.run(["sh", "-ec", size.make()])
        fleet.enrol(machine)
        fleet.datum(machine, "apply")

        def apply() -> None:
            if "nothing to do" not in fleet.datum(machine, "apply"):
                sys.exit("bench: a pass with nothing to do had something to do")

        contenders: Mapping[str, Callable[[], object]] = {
            "bare python": lambda: machine.run([fleet.argv[0], "-c", "pass"]),
            "the host's tools": lambda: machine.run(["sh", "-c", asking(size)]),
            "datum apply": apply,
        }
        samples: dict[str, dict[str, list[float]]] = {name: {"cpu": [], "wall": []} for name in contenders}
        for number in range(runs + 1):
            for name, run in contenders.items():
                cpu, wall = timed(run)
                # the first of each is there for the caches
                if number:
                    samples[name]["cpu"].append(cpu)
                    samples[name]["wall"].append(wall)
        reading = machine.run([fleet.argv[0], "-c", READING, str(size.packages), str(runs)], env=fleet.env).stdout
        calls = Strace(machine, fleet.env, timeout=180).trace([*fleet.argv, "apply"], ["execve", "execveat"])
    return {
        "packages": size.packages,
        "services": size.services,
        "accounts": size.accounts,
        "programs": sum(call.result == "0" for call in calls),
        # The first fills the caches.
        "reading packages": [float(seconds) for seconds in reading.split()[1:]],
        "contenders": samples,
    }


def asking(size: Size) -> str:
    """Return a script that asks the host's own tools what a pass observes."""
    packages = " ".join(f"p{number}" for number in range(size.packages))
    services = " ".join(f"s{number}" for number in range(size.services))
    accounts = " ".join(f"u{number}" for number in range(size.accounts))
    return "\n".join(
        [
            f"dpkg-query --show {packages}",
            f"systemctl is-active {services}",
            f"systemctl is-enabled {services}",
            f"getent passwd {accounts}",
            f"getent group {accounts}",
            f"for one in {accounts}; do id -Gn $one; done",
        ]
    )


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU time, children included, and the wall time of one run, in seconds."""
    before, begun = os.times(), time.monotonic()
    run()
    wall, after = time.monotonic() - begun, os.times()
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return user + system, wall


def section(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    samples: Sequence[Mapping[str, Any]] = result["samples"]
    names = list(samples[0]["contenders"])
    heads = [f"{one['packages']} packages, {one['services']} services, {one['accounts']} accounts" for one in samples]
    yield from (
        "# A pass with nothing to do, on a running Debian",
        "",
        f"Generated by `python -m bench.hosts`, Python {result['python']}, Linux {result['kernel']}; medians of",
        f"{result['runs']} runs in turn, raw samples in `results/hosts.json`. The host's tools are `dpkg-query`,",
        "`systemctl`, `getent` and `id`, asked for the same packages, units and accounts.",
        "",
        f"| CPU seconds | {' | '.join(heads)} |",
        f"| --- |{' ---: |' * len(samples)}",
    )
    for name in names:
        yield f"| {name} | {' | '.join(f'{_median(one, name):.3f}' for one in samples)} |"
    ratios = (_median(one, "datum apply") / _median(one, "the host's tools") for one in samples)
    yield f"| datum apply / the host's tools | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |"
    yield f"| programs that the pass starts, itself included | {' | '.join(str(one['programs']) for one in samples)} |"
    took = ", ".join(f"{1000 * median(one['reading packages']):.1f} ms for {one['packages']}" for one in samples)
    yield from ("", f"Observing packages alone, from dpkg's own files, takes {took}, by the clock.")


def _median(sample: Mapping[str, Any], name: str) -> float:
    return float(median(sample["contenders"][name]["cpu"]))


if __name__ == "__main__":
    main()
