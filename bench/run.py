"""Times a pass with nothing to do against the floor and what rivals are installed, and writes RESULTS.md.

Whole processes, in turn, CPU time (user + system) of the process and its children, medians of one run, and ratios of
these. Wall time is never compared. Every timed pass is checked to have changed nothing.

Usage: run.py [--sizes 100,1000,10000] [--runs 5] [--out DIR]
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path

from generate import generate

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": os.environ.get("HOME", "/")}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    samples = {size: measure(size, options.runs) for size in sizes}
    result = {"machine": machine(), "runs": options.runs, "samples": samples}
    options.out.mkdir(exist_ok=True)
    (options.out / "no-op.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    (options.out.parent / "RESULTS.md").write_text(table(result))


def machine() -> Mapping[str, str]:
    """Return what the figures depend on."""
    model = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "cpu": f"{len(model)} x {model[0] if model else platform.machine()}",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "cfengine": version(["cf-agent", "--version"]),
    }


def version(command: Sequence[str]) -> str:
    """Return what a program says of itself, or that it is not installed."""
    if shutil.which(command[0]) is None:
        return "not installed"
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().splitlines()[0]


def measure(size: int, runs: int) -> dict[str, dict[str, object]]:
    """Return CPU samples by contender and stage times of the last pass."""
    with tempfile.TemporaryDirectory(prefix="datum-bench-") as folder:
        place = Path(folder)
        generate(place, size)
        datum = [sys.executable, "-m", "datum"]
        root = str(place / "root")
        quiet([*datum, "init", "--repo", str(place / "fleet"), "--host", "bench", "--no-timer", "--root", root])
        first = cpu([*datum, "apply", "--root", root])
        contenders = {
            "bare python": [sys.executable, "-c", "pass"],
            "floor": [sys.executable, str(HERE / "floor.py"), str(place / "floor.json")],
            "datum apply": [*datum, "apply", "--root", root],
            "datum plan": [*datum, "plan", "--root", root],
        }
        if shutil.which("cf-agent"):
            contenders["cfengine"] = ["cf-agent", "--no-lock", "--file", str(place / "cfengine/bench.cf")]
        for command in contenders.values():
            quiet(command)
        before = state(place / "root/srv")
        samples: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(runs):
            for name, command in contenders.items():
                samples[name].append(cpu(command))
        if state(place / "root/srv") != before:
            sys.exit("bench: a pass with nothing to do changed something")
        report = json.loads(subprocess.check_output([*datum, "report", "--json", "--root", root], env=ENVIRONMENT))
        found: dict[str, dict[str, object]] = {
            name: {
                "command": " ".join(contenders[name])
                .replace(folder, "PLACE")
                .replace(sys.executable, "python")
                .replace(str(HERE), "bench"),
                "cpu": values,
            }
            for name, values in samples.items()
        }
        found["datum first apply"] = {"command": "the same, nothing there yet", "cpu": [first]}
        found["stages"] = report["stages"]
        return found


def anywhere(command: Sequence[str], folder: str) -> str:
    """Return a command line without the places of this machine."""
    return " ".join(command).replace(folder, "PLACE").replace(sys.executable, "python").replace(str(HERE), "bench")


def quiet(command: Sequence[str]) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cpu(command: Sequence[str]) -> float:
    """Return user and system seconds of a command and its children."""
    before = os.times()
    quiet(command)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def state(folder: Path) -> list[tuple[str, int, int, int]]:
    """Return names, inodes, mtimes and ctimes of everything below a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        found.append((str(path), seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns))
    return found


def table(result: Mapping[str, object]) -> str:
    """Return RESULTS.md."""
    samples: dict[int, dict[str, dict[str, list[float]]]] = result["samples"]  # type: ignore[assignment]
    sizes = sorted(samples)
    names = [name for name in samples[sizes[0]] if name != "stages"]
    medians = {name: {size: statistics.median(samples[size][name]["cpu"]) for size in sizes} for name in names}
    head = " | ".join(f"{size:,}" for size in sizes)
    lines = [
        "# A pass with nothing to do",
        "",
        "Generated by `bench/run.py`; raw samples in `bench/results/no-op.json`. CPU seconds (user + system) of the",
        f"whole process and its children, medians of {result['runs']} runs in turn, by number of files.",
        "",
        *(f"- {key}: {value}" for key, value in result["machine"].items()),  # type: ignore[attr-defined]
        "",
        f"| CPU seconds | {head} |",
        "| --- |" + " --- |" * len(sizes),
        *(f"| {name} | " + " | ".join(f"{medians[name][size]:.2f}" for size in sizes) + " |" for name in names),
        "",
        f"| ratio | {head} |",
        "| --- |" + " --- |" * len(sizes),
    ]
    for other in ("floor", "cfengine"):
        if other in medians:
            ratios = (medians["datum apply"][size] / medians[other][size] for size in sizes)
            lines.append(f"| datum apply / {other} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")
    if len(sizes) > 1:
        low, high = sizes[-2:]
        growth = log(medians["datum apply"][high] / medians["datum apply"][low]) / log(high / low)
        lines += ["", f"Growth from {low:,} to {high:,} files: exponent {growth:.2f} (at most 1.05 is wanted)."]
    lines += [
        "",
        f"Where the time of the last pass over {sizes[-1]:,} files went (wall seconds):",
        "",
        "| stage | s |",
        "| --- | --- |",
    ]
    stages: dict[str, float] = samples[sizes[-1]]["stages"]  # type: ignore[assignment]
    lines += [f"| {name} | {seconds:.3f} |" for name, seconds in stages.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
