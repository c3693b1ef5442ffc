"""Time a pass with nothing to do where revisions are read by a process without powers, and where they are not.

Run from the clone, as root: `.venv/bin/python -m bench.authority [--sizes N,N] [--runs N] [--out DIR]`. Both are the
same command on the same throw-away Debian, in turn: `datum apply` of a host with N files. The second is told that it
does not concern the running system when it chooses who reads revisions, and nothing else.
"""

import argparse
import json
import platform
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Final

from attrs import evolve

from tests.git_repository import GitRepository
from tests.harness import image
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import bind_agent
from tests.harness.spec import Bind

HERE: Final = Path(__file__).resolve().parent
FLEET: Final = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
WAYS: Final = ("child", "in-process")
# Runs in the host: passes in turn, and what each took (user and system, children included).
PASSES: Final = """
import json, os, subprocess, sys, time

IN_PROCESS = (
    "import sys\\n"
    "import datum.agent.reading as opening\\n"
    "own = opening.reading\\n"
    "opening.reading = lambda ports, *, is_running_system: own(ports, is_running_system=False)\\n"
    "from datum.cli.main import main\\n"
    "sys.exit(main())\\n"
)
CHILD = "import sys\\nfrom datum.cli.main import main\\nsys.exit(main())\\n"
COMMANDS = {"child": CHILD, "in-process": IN_PROCESS}
samples = {name: [] for name in COMMANDS}
for turn in range(int(sys.argv[1]) + 1):
    for name, script in COMMANDS.items():
        before, begun = os.times(), time.monotonic()
        done = subprocess.run([sys.executable, "-c", script, "apply"], capture_output=True, text=True)
        wall, after = time.monotonic() - begun, os.times()
        if done.returncode or "nothing to do" not in done.stdout:
            sys.exit(f"{name}: {done.returncode}: {done.stdout}{done.stderr}")
        cpu = after.children_user - before.children_user + after.children_system - before.children_system
        # The first turn fills the caches.
        if turn:
            samples[name].append({"cpu": cpu, "wall": wall})
print(json.dumps(samples))
"""


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    image.find_or_build()
    about = {"kernel": platform.release(), "python": platform.python_version(), "runs": options.runs}
    options.out.mkdir(parents=True, exist_ok=True)
    samples: dict[str, Mapping[str, list[dict[str, float]]]] = {}
    for size in options.sizes.split(","):
        # Written after each: the last size takes longest.
        samples[size] = measure(int(size), options.runs)
        (options.out / "authority.json").write_text(json.dumps({**about, "samples": samples}, indent=1) + "\n")
        (options.out.parent / "AUTHORITY.md").write_text("\n".join(section(about, samples)) + "\n")


def measure(size: int, runs: int) -> Mapping[str, list[dict[str, float]]]:
    """Return the samples of a host with so many files, by who reads revisions."""
    # As an installed agent: compiled once.
    agent = bind_agent()
    env = {"PYTHONPATH": agent.env["PYTHONPATH"], "PYTHONPYCACHEPREFIX": "/var/cache/python"}
    agent = evolve(agent, env=env)
    with tempfile.TemporaryDirectory(prefix="datum-bench-") as folder:
        repository = GitRepository(Path(folder) / "fleet")
        repository.commit(dict(_files(size)))
        binds = (*agent.binds, Bind(str(repository.path), "/mnt/fleet", read_only=True))
        with Oneshot(binds=binds) as host:
            host.run(["git", "config", "--system", "--add", "safe.directory", "*"])
            init = ["init", "--repo", "/mnt/fleet", "--host", "web1", "--no-timer"]
            host.run([*agent.argv, *init], env=env, timeout=900)
            host.run([*agent.argv, "apply"], env=env, timeout=900)
            found = host.run([agent.argv[0], "-c", PASSES, str(runs)], env=env, timeout=3600)
    samples: Mapping[str, list[dict[str, float]]] = json.loads(found.stdout)
    return samples


def _files(size: int) -> Iterator[tuple[str, str]]:
    lines = ["resources:"]
    for number in range(size):
        folder, path = f"/srv/d{number // 50:04d}", f"d{number // 50:04d}/f{number:05d}.conf"
        if number % 50 == 0:
            lines += [f"  directory:{folder}: {{}}"]
        lines += [f"  file:/srv/{path}:", f"    source: files/{path}", '    owner: "0"', '    mode: "0644"']
        lines.append(f"    requires: [directory:{folder}]")
        yield f"files/{path}", f"# managed file {number} of {size}\n" * 25
    yield "fleet.yaml", f"datum: 1\nagent: '>=0.1'\nfleet: {FLEET}\nlayers: []\nlimits: {{changed: none}}\n"
    yield "hosts/web1.yaml", "\n".join(lines) + "\n"


def section(about: Mapping[str, object], samples: Mapping[str, Mapping[str, list[dict[str, float]]]]) -> Iterator[str]:
    """Yield the lines of AUTHORITY.md."""
    yield from (
        "# Who reads revisions",
        "",
        "Generated by `bench/authority.py`: a pass with nothing to do over N files and their directories on a",
        "throw-away Debian 12, where revisions are read by a process without powers, and by the agent itself; medians",
        f"of {about['runs']} passes in turn, CPU of the agent and its children together. Raw samples are in",
        "`results/authority.json`.",
        "",
        "| files | CPU, child (s) | CPU, in-process (s) | CPU, of pairs | wall, child (s) | wall, in-process (s) |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    for size, found in samples.items():
        child, own = (found[way] for way in WAYS)
        ratio = median(one["cpu"] / other["cpu"] for one, other in zip(child, own, strict=True))
        cpu, wall = ([f"{_middle(found[way], what):.2f}" for way in WAYS] for what in ("cpu", "wall"))
        yield f"| {int(size):,} | {' | '.join([*cpu, f'{100 * (ratio - 1):+.0f} %', *wall])} |"
    yield from ("", f"- python: {about['python']}", f"- kernel: {about['kernel']}")


def _middle(samples: list[dict[str, float]], what: str) -> float:
    return median(sample[what] for sample in samples)


if __name__ == "__main__":
    main()
