"""Count requests and bytes of polls that find nothing new, over https and ssh; write JSON and a table of it.

Run from the clone, as root: `.venv/bin/python -m bench.polls [--runs N] [--out DIR]`. Servers are git's http-backend
behind TLS, once served by Python and once by nginx, and sshd of a throw-away Debian; bytes are counted by a proxy that
tunnels, and by ssh itself. CPU time is that of both sides together, since the server's programs are children, too.
`--page` writes the page anew from the samples that are there.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.machine import command, machine
from datum.host.program import run_program
from datum.repository.packets import refs_request
from datum.repository.remote import Remote, full_names
from datum.repository.transport import ask_remote, route_to
from tests.git_repository import GitRepository
from tests.harness import image
from tests.harness.oneshot import Oneshot
from tests.harness.spec import Bind
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer
from tests.remotes.nginx import NginxServer
from tests.remotes.proxy import Proxy
from tests.remotes.ssh import SshServer, make_key

HERE: Final = Path(__file__).resolve().parent
REFS: Final = (1, 10_000)
_SSH_BYTES: Final = re.compile(rb"Transferred: sent (\d+), received (\d+) bytes")

_COUNTED: Final = ("requests", "http", "wire")
# Seconds after which nothing of a conversation comes any more.
_QUIET: Final = 0.2

# What it is of, and of each run: requests, bytes of HTTP and of the wire, CPU seconds. One number is a mean of runs.
Sample = dict[str, Any]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    raw = options.out / "polls.json"
    if options.page:
        found = json.loads(raw.read_text())
    else:
        ssh = subprocess.run(["ssh", "-V"], capture_output=True, check=True, text=True).stderr.strip()
        found = {
            "machine": {**machine(), "git": _output("git", "--version"), "ssh": ssh},
            "command": command("bench.polls"),
            "runs": options.runs,
            "samples": [sample for refs in REFS for sample in measure(refs, options.runs)],
        }
        raw.write_text(json.dumps(found, indent=1) + "\n")
    (options.out.parent / "POLLS.md").write_text("\n".join(section(found)) + "\n")


def measure(refs: int, runs: int) -> Iterator[Sample]:
    """Yield the samples of a repository with so many branches beside the one that is asked for."""
    with tempfile.TemporaryDirectory(prefix="datum-bench-") as name:
        folder = Path(name)
        # nginx serves it as another user.
        folder.chmod(0o755)
        repository = GitRepository(folder / "srv/fleet")
        head = repository.commit({"fleet.yaml": "one\n"})
        lines = "".join(f"{head} refs/heads/b{number:05}\n" for number in range(refs))
        packed = "# pack-refs with: peeled fully-peeled sorted \n"
        (repository.path / ".git/packed-refs").write_text(packed + lines)
        yield from _over_https(folder, refs, runs)
        yield from _over_nginx(folder, refs, runs)
        yield from _over_ssh(folder, refs, runs)


def _over_https(folder: Path, refs: int, runs: int) -> Iterator[Sample]:
    authority = Authority(folder / "authority")
    with HttpsServer(folder / "srv", authority.issue("localhost")) as server, Proxy() as proxy:
        remote = Remote(server.url(), ca_file=str(authority.path), proxy=proxy.url)
        environment = {**route_to(remote).environment, "GIT_ALLOW_PROTOCOL": "https"}
        argv = ["git", "ls-remote", remote.url, "refs/heads/main"]

        def ls_remote() -> None:
            subprocess.run(argv, env=environment, check=True, capture_output=True)

        polls: dict[str, Callable[[], object]] = {
            "datum, https": lambda: ask_remote(run_program, remote, "main", timeout=60),
            "git ls-remote, https": ls_remote,
        }
        for name, poll in polls.items():
            sample: Sample = {"name": name, "refs": refs, "requests": [], "http": [], "wire": [], "cpu": []}
            # The first one is not counted: it reads files that later ones find in memory.
            for number in range(runs + 1):
                server.requests.clear()
                server.moved = proxy.moved = 0
                cpu = _cpu(poll)
                wire = _settled(proxy)
                if number:
                    sample["requests"].append(len(server.requests))
                    sample["http"].append(server.moved)
                    sample["wire"].append(wire)
                    sample["cpu"].append(cpu)
            yield sample


def _over_nginx(folder: Path, refs: int, runs: int) -> Iterator[Sample]:
    authority = Authority(folder / "authority of nginx")
    with NginxServer(folder / "srv", authority.issue("localhost")) as server, Proxy() as proxy:
        remote = Remote(server.url(), ca_file=str(authority.path), proxy=proxy.url)
        wire = []
        for _ in range(runs):
            proxy.moved = 0
            ask_remote(run_program, remote, "main", timeout=60)
            wire.append(_settled(proxy))
        served = server.served()
        # In the order of the polls, each of which asks as often.
        each = len(served) // runs
        polls = [served[start : start + each] for start in range(0, len(served), each)]
        yield {
            "name": "datum, https by nginx",
            "refs": refs,
            "requests": [len(poll) for poll in polls],
            "http": [sum(one.received + one.sent for one in poll) for poll in polls],
            "wire": wire,
        }


def _settled(proxy: Proxy) -> int:
    """Return how many bytes went through a proxy, once the end of a conversation has come through as well."""
    moved = -1
    while moved != proxy.moved:
        moved = proxy.moved
        time.sleep(_QUIET)
    return moved


def _over_ssh(folder: Path, refs: int, runs: int) -> Iterator[Sample]:
    make_key(folder / "host_key")
    public = make_key(folder / "key")
    bind = Bind(str(folder / "srv"), "/srv")
    with (
        Oneshot(suite=image.TRIXIE, binds=(bind,)) as host,
        SshServer(host, folder / "host_key", public) as server,
    ):
        (folder / "known_hosts").write_text(server.line())
        remote = Remote(server.url(), key_file=str(folder / "key"), known_hosts_file=str(folder / "known_hosts"))
        route = route_to(remote)
        request = refs_request(full_names("main")) + route.farewell
        environment = {"PATH": os.environ["PATH"], **route.environment, "GIT_PROTOCOL": "version=2"}
        for name, config in (("datum, ssh", "AcceptEnv GIT_PROTOCOL\n"), ("datum, ssh without AcceptEnv", "")):
            server.config = config
            server.configure()
            counted = []
            for _ in range(runs):
                done = subprocess.run(route.ask, input=request, env=environment, capture_output=True, check=False)
                found = _SSH_BYTES.search(done.stderr)
                assert found, done.stderr
                counted.append(int(found[1]) + int(found[2]))
            yield {"name": name, "refs": refs, "wire": counted}


def _cpu(run: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout.strip()


def section(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table."""
    about: Mapping[str, str] = found["machine"]
    samples: list[Sample] = found["samples"]
    yield "# Polls that find nothing new"
    yield ""
    yield f"Generated by `{found['command']}`; raw samples in `results/polls.json`. Medians of {found['runs']} runs."
    yield ""
    yield "Bytes are those of both directions: *HTTP* heads and bodies, *wire* all, TLS or ssh included. CPU time is"
    yield "that of the programs of both sides; over ssh and of nginx it is not taken."
    if any(_is_mean(sample[key]) for sample in samples for key in _COUNTED if key in sample):
        yield ""
        yield "Of requests and bytes that run kept one number for all runs, a mean, and over ssh a median."
    yield ""
    yield "| one branch is asked for | other refs | requests | HTTP bytes | wire bytes | CPU ms |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for sample in sorted(samples, key=lambda one: (one["name"], one["refs"])):
        counted = [f"{_middle(sample[key]):,.0f}" if key in sample else "" for key in _COUNTED]
        cpu = f"{1000 * median(sample['cpu']):.0f}" if "cpu" in sample else ""
        yield f"| {sample['name']} | {sample['refs']:,} | {' | '.join(counted)} | {cpu} |"
    yield ""
    yield from (f"- {name}: {value}" for name, value in about.items())


def _is_mean(value: object) -> bool:
    return not isinstance(value, list)


def _middle(value: Any) -> float:
    return float(value if _is_mean(value) else median(value))


if __name__ == "__main__":
    main()
