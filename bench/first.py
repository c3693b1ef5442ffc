"""A first convergence, N files as N resources and as one, against a plain loop on the same file system.

The loop writes, syncs and renames each file and syncs its directory, one after the other, which is what Datum promises
of each. It is there twice: in Python, and in C where there is a compiler. Every run gets an empty root, after a `sync`.
The roots of the runs before stay to the end: ext4 gives out no inode that was freed within the last minutes, and passes
over all of these for each new file (`recently_deleted` in fs/ext4/ialloc.c).
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from generate import generate, make_root
from timing import HERE, Samples, check, enrol, file_system, middle, quiet

GOAL = 3.0


def measure(size: int, runs: int, kinds: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return samples by contender."""
    with tempfile.TemporaryDirectory(prefix="datum-bench-") as folder:
        place = Path(folder)
        generate(place, size)
        root = place / "root"
        contenders = _contenders(place, root, kinds)
        samples = {}
        for number in range(runs):
            for name, prepare in contenders.items():
                command = prepare()
                samples.setdefault(name, Samples(command, place))
                os.sync()
                samples[name].run()
                check(place, root)
                root.rename(place / f"{name}, {number}")
        found = {name: one.to_json() for name, one in samples.items()}
        return {**found, "file system": {"kind": file_system(place)}}


def _contenders(place: Path, root: Path, kinds: Sequence[str]) -> dict[str, Callable[[], Sequence[str]]]:
    """Return what prepares an empty root and gives the command line to be timed."""

    def loop(*command: str) -> Callable[[], Sequence[str]]:
        def prepare() -> Sequence[str]:
            make_root(root, place)
            return [*command, str(root)]

        return prepare

    def datum(kind: str) -> Callable[[], Sequence[str]]:
        return lambda: enrol(place, kind, root)

    found = {"plain loop": loop(sys.executable, str(HERE / "plain.py"), str(place / "plain.json"))}
    compiler = shutil.which("cc")
    if compiler:
        quiet([compiler, "-O2", "-o", str(place / "plain"), str(HERE / "plain.c")])
        found["plain loop in C"] = loop(str(place / "plain"), str(place / "plain.txt"))
    return {**found, **{f"datum apply, {kind}": datum(kind) for kind in kinds}}


def section(result: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of RESULTS.md."""
    samples: Mapping[int, Mapping[str, Mapping[str, object]]] = result["samples"]  # type: ignore[assignment]
    for number, size in enumerate(sorted(samples)):
        if number:
            yield ""
        names = [name for name in samples[size] if name != "file system"]
        yield from (
            f"## A first convergence of {size:,} files",
            "",
            f"Medians of {result['runs']} runs in turn on {samples[size]['file system']['kind']}; raw samples in",
            f"`results/first.json`. At most {GOAL:g} times the plain loop's wall time is wanted.",
            "",
            "| | wall seconds | CPU seconds | wall / plain loop | CPU / plain loop |",
            "| --- | --- | --- | --- | --- |",
        )
        for name in names:
            wall, cpu = (middle(samples[size], name, what) for what in ("wall", "cpu"))
            base = [middle(samples[size], "plain loop", what) for what in ("wall", "cpu")]
            yield f"| {name} | {wall:.2f} | {cpu:.2f} | {wall / base[0]:.2f} | {cpu / base[1]:.2f} |"
