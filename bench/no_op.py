"""A pass with nothing to do, over N files as N resources and as one, against the floor and installed rivals."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import log
from pathlib import Path

from generate import generate
from timing import DATUM, ENVIRONMENT, HERE, Samples, enrol, middle, quiet


def measure(size: int, runs: int, kinds: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return samples by contender, and stage times of the last pass of each kind."""
    with tempfile.TemporaryDirectory(prefix="datum-bench-") as folder:
        place = Path(folder)
        generate(place, size)
        contenders = {
            "bare python": Samples([sys.executable, "-c", "pass"], place),
            "floor": Samples(
                [sys.executable, str(HERE / "floor.py"), str(place / "floor.json"), str(place / kinds[0])], place
            ),
        }
        for kind in kinds:
            command = enrol(place, kind, place / kind)
            quiet(command)
            contenders[f"datum apply, {kind}"] = Samples(command, place)
            command = [*DATUM, "plan", *command[len(DATUM) + 1 :]]
            contenders[f"datum plan, {kind}"] = Samples(command, place)
        if shutil.which("cf-agent") and "file" in kinds:
            contenders["cfengine"] = Samples(
                ["cf-agent", "--no-lock", "--file", str(place / "cfengine/bench.cf")], place
            )
        for samples in contenders.values():
            quiet(samples.command)
        before = [_state(place / kind / "srv") for kind in kinds]
        for _ in range(runs):
            for samples in contenders.values():
                samples.run()
        if [_state(place / kind / "srv") for kind in kinds] != before:
            sys.exit("bench: a pass with nothing to do changed something")
        found = {name: samples.to_json() for name, samples in contenders.items()}
        for kind in kinds:
            report = subprocess.check_output([*DATUM, "report", "--json", "--root", str(place / kind)], env=ENVIRONMENT)
            found[f"stages, {kind}"] = json.loads(report)["stages"]
        return found


def _state(folder: Path) -> list[tuple[str, int, int, int]]:
    """Return names, inodes, mtimes and ctimes of everything below a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        found.append((str(path), seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns))
    return found


def section(result: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of RESULTS.md."""
    samples: Mapping[int, Mapping[str, Mapping[str, object]]] = result["samples"]  # type: ignore[assignment]
    sizes = sorted(samples)
    names = [name for name in samples[sizes[0]] if not name.startswith("stages")]
    medians = {name: {size: middle(samples[size], name, "cpu") for size in sizes} for name in names}
    head = " | ".join(f"{size:,}" for size in sizes)
    yield from (
        "## A pass with nothing to do",
        "",
        f"CPU seconds by number of files, medians of {result['runs']} runs in turn; raw samples in",
        "`results/no-op.json`.",
        "",
        f"| CPU seconds | {head} |",
        "| --- |" + " --- |" * len(sizes),
        *(f"| {name} | " + " | ".join(f"{medians[name][size]:.2f}" for size in sizes) + " |" for name in names),
        "",
        f"| ratio | {head} |",
        "| --- |" + " --- |" * len(sizes),
    )
    passes = [name for name in names if name.startswith("datum apply")]
    for name in passes:
        for other in ("floor", "cfengine"):
            if other in medians:
                ratios = (medians[name][size] / medians[other][size] for size in sizes)
                yield f"| {name} / {other} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |"
    if len(sizes) > 1:
        low, high = sizes[-2:]
        for name in passes:
            growth = log(medians[name][high] / medians[name][low]) / log(high / low)
            yield from ("", f"{name}: from {low:,} to {high:,} files exponent {growth:.2f} (at most 1.05 is wanted).")
    kinds = [name.removeprefix("stages, ") for name in samples[sizes[-1]] if name.startswith("stages")]
    yield from ("", f"Where the time of the last pass over {sizes[-1]:,} files went (wall seconds):", "")
    yield f"| stage | {' | '.join(kinds)} |"
    yield "| --- |" + " --- |" * len(kinds)
    for stage in samples[sizes[-1]][f"stages, {kinds[0]}"]:
        seconds = (samples[sizes[-1]][f"stages, {kind}"].get(stage, 0.0) for kind in kinds)
        yield f"| {stage} | " + " | ".join(f"{value:.3f}" for value in seconds) + " |"
