"""The installed command on a real Debian: who reads revisions there, and what the agent has of that itself."""

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.passes.scene import FLEET_ID

UNNAMED = 65529
FILES = {
    "fleet.yaml": json.dumps({"datum": 1, "agent": ">=0.1", "fleet": FLEET_ID, "layers": []}),
    "files/a": "a\n",
    "templates/t": "cpus {{ machine.cpus > 0 }}\n",
    "hosts/web1.yaml": json.dumps(
        {
            "resources": {
                "file:/etc/a": {"source": "files/a"},
                "file:/etc/b": {"content": "${machine.arch}\n", "mode": "0600"},
                "file:/etc/c": {"template": "templates/t", "requires": ["file:/etc/a"]},
            }
        }
    ),
}
# Runs in the host: a command of the agent in this process, and then what it has loaded.
LOADED = """
import json, sys
from datum.cli.main import main
code = main(sys.argv[1:])
wanted = {"yaml", "jinja2", "jsonschema", "pygit2", "_cffi_backend"}
names = sorted({name.partition(".")[0] for name in sys.modules} & wanted)
maps = [line.split()[-1] for line in open("/proc/self/maps") if "/" in line]
print("\\n" + json.dumps({"code": code, "modules": names, "maps": sorted(set(maps))}))
"""


class Host:
    """A host that is enrolled at a repository of its own."""

    def __init__(self, machine: Oneshot, agent: AgentBind) -> None:
        self.machine = machine
        self.agent = agent

    def datum(self, *words: str, check: bool = True) -> str:
        return self.machine.run([*self.agent.argv, *words], env=self.agent.env, check=check).stdout

    def commit(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            self.machine.run(["mkdir", "-p", str(Path("/srv/fleet", name).parent)])
            self.machine.write(f"/srv/fleet/{name}", text)
        git = ["git", "-C", "/srv/fleet", "-c", "user.name=A", "-c", "user.email=a@example.org"]
        self.machine.run([*git, "init", "--quiet", "--initial-branch=main"])
        self.machine.run([*git, "add", "--all"])
        self.machine.run([*git, "commit", "--quiet", "--message", "change"])

    def loaded(self, *words: str) -> dict[str, Any]:
        argv = [self.agent.argv[0], "-c", LOADED, *words]
        said: dict[str, Any] = json.loads(self.machine.run(argv, env=self.agent.env).stdout.splitlines()[-1])
        return said


@pytest.fixture
def host(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> Host:
    machine = make_oneshot()
    found = Host(machine, agent_bind)
    found.commit(FILES)
    found.datum("init", "--repo", "/srv/fleet", "--host", "web1", "--no-timer")
    # Which enrolling makes; what counts is that it is done without it, too.
    machine.run(["userdel", "datum-resolve"])
    return found


def test_the_agent_has_nothing_loaded_that_reads_revisions(host: Host) -> None:
    """In a pass that changes the host, with late values and a template; in one without changes; when it only looks."""
    for words in (("plan",), ("apply", "--wait", "9"), ("apply",), ("orphans",)):
        found = host.loaded(*words)
        assert (words, found["code"], found["modules"]) == (words, 0, [])
        assert not [path for path in found["maps"] if re.search(r"yaml|pygit2|libgit2|jinja|markupsafe", path)]
    assert host.machine.read("/etc/a") == b"a\n"
    assert host.machine.read("/etc/c") == b"cpus true\n"


def test_another_process_has_it(host: Host) -> None:
    """So that the test before this one does not pass because nothing was read. Its account is one that nobody has."""
    argv = ["strace", "-f", "-o", "/srv/trace", "-e", "trace=setresuid,openat", *host.agent.argv, "apply"]
    host.machine.run(argv, env=host.agent.env)
    lines = host.machine.read("/srv/trace").decode().splitlines()
    agent, resolver = lines[0].split()[0], next(line.split()[0] for line in lines if f"setresuid({UNNAMED}," in line)
    packs = {line.split()[0] for line in lines if re.search(r'mirror\.git/objects/pack/[^"]*\.(pack|idx)"', line)}
    assert packs == {resolver}
    assert agent != resolver
    libraries = {line.split()[0] for line in lines if re.search(r"/(pygit2|yaml|jinja2)/[^/]*", line)}
    assert libraries == {resolver}


def test_the_account_is_used_where_there_is_one(host: Host) -> None:
    host.machine.run(["useradd", "--system", "--user-group", "--no-create-home", "datum-resolve"])
    uid = host.machine.run(["id", "-u", "datum-resolve"]).stdout.strip()
    argv = ["strace", "-f", "-o", "/srv/trace", "-e", "trace=setresuid", *host.agent.argv, "apply"]
    host.machine.run(argv, env=host.agent.env)
    assert f"setresuid({uid}, {uid}, {uid})" in host.machine.read("/srv/trace").decode()
    modes = host.machine.run(["stat", "-c", "%a %U %G", "/var/lib/datum", "/var/lib/datum/mirror.git"]).stdout
    assert modes.splitlines() == ["710 root datum-resolve", "750 root datum-resolve"]


def test_only_what_it_needs_is_shown_to_its_group(host: Host) -> None:
    host.datum("apply")
    shown = host.machine.run(["find", "/var/lib/datum", "/var/log/datum", "/etc/datum", "-gid", str(UNNAMED)]).stdout
    others = [path for path in shown.split() if not path.startswith("/var/lib/datum/mirror.git")]
    assert others == ["/var/lib/datum"]
    assert host.machine.run(["stat", "-c", "%a", "/var/lib/datum/pointer.json"]).stdout.strip() == "600"


def test_it_is_gone_with_a_killed_agent(host: Host) -> None:
    """SIGKILL of the agent in the middle of a pass: nothing of its account is left."""
    argv = ["strace", "-f", "-o", "/dev/null", "-e", "inject=fsync:signal=KILL", *host.agent.argv, "apply"]
    killed = host.machine.run(argv, env=host.agent.env, check=False)
    assert killed.returncode in {-signal.SIGKILL, 128 + signal.SIGKILL}
    script = f"grep -l '^Uid:.{UNNAMED}.' /proc/[0-9]*/status || true"
    until = time.monotonic() + 20
    while (left := host.machine.run(["sh", "-c", script]).stdout) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left
    assert "Converged" in host.datum("apply")


def test_a_revision_that_is_wrong_is_told_as_ever(host: Host) -> None:
    """By the same words and exit code, and the enforced one stays."""
    host.datum("apply")
    host.commit({"hosts/web1.yaml": "resources: {file:/etc/a: {mode: 99, no_field: 1}}\n"})
    done = host.machine.run([*host.agent.argv, "apply", "--json"], env=host.agent.env, check=False)
    report = json.loads(done.stdout)
    assert (done.returncode, report["outcome"]) == (65, "invalid")
    assert {found["code"] for found in report["diagnostics"]} >= {"unknown-field"}
    assert report["diagnostics"][0]["location"]["file"] == "hosts/web1.yaml"


def test_a_folder_that_shuts_it_out_is_told_with_the_cure(host: Host) -> None:
    host.machine.run(["chmod", "0700", "/var/lib"])
    done = host.machine.run([*host.agent.argv, "apply"], env=host.agent.env, check=False)
    assert done.returncode == 74
    assert "chmod o+x /var/lib" in done.stderr


def test_a_large_file_reaches_the_host(host: Host) -> None:
    """What is streamed goes through a pipe of its own."""
    host.machine.run(["sh", "-c", "head -c 20000000 /dev/urandom > /srv/fleet/files/large"])
    host.commit({"hosts/web1.yaml": json.dumps({"resources": {"file:/etc/large": {"source": "files/large"}}})})
    host.datum("apply")
    assert host.machine.read("/etc/large") == host.machine.read("/srv/fleet/files/large")


def test_without_rights_to_give_up_nothing_is_read(host: Host) -> None:
    """In a container that lacks CAP_SETUID: told, and never read as root instead."""
    argv = ["setpriv", "--bounding-set", "-setuid,-setgid", *host.agent.argv, "apply"]
    done = host.machine.run(argv, env=host.agent.env, check=False)
    assert done.returncode == 77
    assert "could not be started" in done.stderr


def test_without_namespaces_it_runs_with_all_the_rest_and_says_so(host: Host) -> None:
    argv = ["setpriv", "--bounding-set", "-sys_admin", *host.agent.argv, "apply", "--json"]
    report = json.loads(host.machine.run(argv, env=host.agent.env).stdout)
    assert report["outcome"] == "converged"
    assert [found["severity"] for found in report["diagnostics"] if found["code"] == "resolver-not-enclosed"] == [
        "note"
    ]
