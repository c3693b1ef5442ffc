"""Time a pass with nothing to do where revisions are read by a process without powers, and where they are not.

Run from the clone, as root: `.venv/bin/python -m bench.authority [--sizes N,N] [--runs N] [--out DIR]`. Both are the
same command on the same throw-away Debian, in turn: `datum apply` of a host with N files. The second is told that it
does not concern the running system when it chooses who reads revisions, and nothing else. Taken is CPU time; what the
clock says is that of the machine's other work as well. `--page` writes the page anew from the samples that are there.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from attrs import evolve

from bench.machine import command, machine
from tests.git_repository import GitRepository
from tests.harness import image
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import bind_agent
from tests.harness.spec import Bind

HERE: Final = Path(__file__).resolve().parent
FLEET: Final = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
# What each runs in the place of `datum`, whose first argument is `apply`.
COMMANDS: Final = {
    "child": "import sys\nfrom datum.cli.main import main\nsys.exit(main())\n",
    "in-process": (
        "import sys\n"
        "import datum.agent.reading as opening\n"
        "own = opening.reading\n"
        "opening.reading = lambda ports, *, is_running_system: own(ports, is_running_system=False)\n"
        "from datum.cli.main import main\n"
        "sys.exit(main())\n"
    ),
}
# Runs in the host: passes in turn, and the CPU time of each (user and system, children included). Its arguments: runs,
# and the commands as JSON.
PASSES: Final = """
import json, os, subprocess, sys

commands = json.loads(sys.argv[2])
samples = {name: [] for name in commands}
for turn in range(int(sys.argv[1]) + 1):
    for name, script in commands.items():
        before = os.times()
        done = subprocess.run([sys.executable, "-c", script, "apply"], capture_output=True, text=True)
        after = os.times()
        if done.returncode or "nothing to do" not in done.stdout:
            sys.exit(f"{name}: {done.returncode}: {done.stdout}{done.stderr}")
        # The first turn fills the caches.
        if turn:
            user = after.children_user - before.children_user
            samples[name].append(user + after.children_system - before.children_system)
print(json.dumps(samples))
"""

# CPU seconds by who reads revisions.
Samples = Mapping[str, Sequence[float]]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    raw = options.out / "authority.json"
    samples: dict[str, Samples] = {}
    found: dict[str, Any] = {
        "machine": dict(machine()),
        "command": command("bench.authority"),
        "commands": {name: ["python3", "-c", script, "apply"] for name, script in COMMANDS.items()},
        "runs": options.runs,
        "cpu seconds": samples,
    }
    if options.page:
        found = json.loads(raw.read_text())
    else:
        image.find_or_build()
        for size in options.sizes.split(","):
            # Written after each: the last size takes longest.
            samples[size] = measure(int(size), options.runs)
            raw.write_text(json.dumps(found, indent=1) + "\n")
    (options.out.parent / "AUTHORITY.md").write_text("\n".join(section(found)) + "\n")


def measure(size: int, runs: int) -> Samples:
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
            argv = [agent.argv[0], "-c", PASSES, str(runs), json.dumps(COMMANDS)]
            found = host.run(argv, env=env, timeout=3600)
    samples: Samples = json.loads(found.stdout)
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


def section(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of AUTHORITY.md."""
    yield from (
        "# Who reads revisions",
        "",
        f"Generated by `{found['command']}`: a pass with nothing to do over N files and their",
        "directories on a throw-away Debian 12, where revisions are read by a process without powers, and by the agent",
        f"itself; medians of {found['runs']} passes in turn, CPU time of the agent and its children together. What",
        "counts are the pairs. Raw samples and both command lines are in `results/authority.json`.",
        "",
        "| files | CPU, child (s) | CPU, in-process (s) | CPU, of pairs |",
        "| --- | --- | --- | --- |",
    )
    samples: Mapping[str, Samples] = found["cpu seconds"]
    for size, of_size in samples.items():
        child, own = (of_size[way] for way in COMMANDS)
        ratio = median(one / other for one, other in zip(child, own, strict=True))
        yield f"| {int(size):,} | {median(child):.2f} | {median(own):.2f} | {100 * (ratio - 1):+.0f} % |"
    yield ""
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())


if __name__ == "__main__":
    main()
