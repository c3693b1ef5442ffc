"""The installed command on a real Debian that has the account: a pass over https from the first contact on."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.passes.scene import FLEET_ID
from tests.proofs.on_host import disk

TESTS = Path(__file__).parents[1]
TOKEN = "t0ken-of-the-tests"
# Runs in the host: serves the fleet until it is killed.
SERVER = f"""
import json, signal
from pathlib import Path
from tests.git_repository import GitRepository
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer

files = {{
    "fleet.yaml": json.dumps({{"datum": 1, "agent": ">=0.1", "fleet": "{FLEET_ID}", "layers": []}}),
    "hosts/web1.yaml": json.dumps({{"resources": {{"file:/etc/motd": {{"content": "hello\\n"}}}}}}),
}}
GitRepository(Path("/srv/git/fleet")).commit(files)
authority = Authority(Path("/srv/authority"))
with HttpsServer(Path("/srv/git"), authority.issue("localhost"), credentials="git:{TOKEN}") as server:
    print(server.url(), flush=True)
    signal.pause()
"""
COMMITTED = """
git config --global safe.directory '*'; cd /srv/git/fleet
git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m more; git rev-parse HEAD > /srv/head
"""
TRIES = 5
KEPT = ("/var/lib/datum", "/var/lib/datum/mirror.git")
# As a pass over the network, one over a path, and one below `--root` leave the rights of the state.
RIGHTS = (
    "true",
    "chgrp datum-resolve /var/lib/datum; chmod 710 /var/lib/datum",
    "chgrp -R root /var/lib/datum; chmod -R g= /var/lib/datum; chmod 700 /var/lib/datum",
)


def plans_leave_no_trace(host: Oneshot, agent: AgentBind) -> None:
    """A plan that fetches a new commit as the account changes no owner, mode or time on the disk."""
    host.run(["sh", "-c", COMMITTED])
    head = host.read("/srv/head").decode().strip()
    for rights in RIGHTS:
        host.run(["sh", "-c", rights])
        before = disk(host, but={"/tmp"})  # a folder comes and goes in it
        planned = json.loads(host.run([*agent.argv, "plan", "--json"], env=agent.env).stdout)
        assert planned["revision"].endswith(head), "it was fetched"
        if rights == RIGHTS[0]:
            host.run([*agent.argv, "plan", "--offline"], env=agent.env)
        assert disk(host, but={"/tmp"}) == before, rights  # as above


def no_core_tells_the_token(host: Oneshot, agent: AgentBind) -> None:
    """A pass that has read it is ended by SIGQUIT, where another process that knows it leaves a core."""
    known = "import os, sys; token = sys.stdin.read(); os.abort()"
    host.run(["mkdir", "-p", "/srv/cores/control", "/srv/cores/pass"])

    def trace_of(place: str, command: str) -> str:
        traced = f"printf %s {TOKEN} | strace -f -qq -o /srv/{place} {command}"
        host.run(["sh", "-c", f"ulimit -c unlimited; cd /srv/cores/{place}; {traced}"], env=agent.env, check=False)
        return host.read(f"/srv/{place}").decode()

    # Said by the kernel of each that ends, wherever it lets cores fall.
    assert "killed by SIGABRT (core dumped)" in trace_of("control", f"-e trace=none /usr/bin/python3 -c '{known}'")
    struck = ""
    for _ in range(TRIES):
        # The ref to what was fetched gets its name; where a slow server was given up, nothing was.
        ref = f"/var/lib/datum/mirror.git/refs/datum/{host.read('/srv/head').decode().strip()}.lock"
        point = f"-P {ref} -e trace=rename -e inject=rename:signal=QUIT:when=1"
        struck = trace_of("pass", f"{point} {shlex.join(agent.argv)} apply")
        if "killed by SIGQUIT" in struck:
            break
        host.run(["sh", "-c", COMMITTED])
    assert "killed by SIGQUIT" in struck
    assert "core dumped" not in struck
    assert not host.run(["ls", "/srv/cores/pass"]).stdout


def test_the_account_fetches_and_root_keeps(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> None:
    """What ran under which user is seen by a tracer; what is kept is root's, and only its group may read it."""
    host = make_oneshot(binds=(Bind(str(TESTS), "/opt/agent/more/tests"),))
    env = {**agent_bind.env, "PYTHONPATH": f"{agent_bind.env['PYTHONPATH']}:/opt/agent/more"}
    host.run(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "datum-source"])
    server = host.popen(["/usr/bin/python3", "-c", SERVER], env=env)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().decode().strip()
        host.run(["mkdir", "/etc/datum"])
        host.write("/etc/datum/token", TOKEN, mode=0o600)
        access = {"url": url, "ca_file": "/srv/authority/ca.pem", "token_file": "/etc/datum/token"}
        anchor = host.run(["git", "-c", "safe.directory=*", "-C", "/srv/git/fleet", "rev-parse", "HEAD"]).stdout.strip()
        said = {"host": "web1", "source": {"remotes": [access]}, "trust": {"anchor": anchor}}
        host.write("/etc/datum/agent.yaml", json.dumps(said))
        datum = [*agent_bind.argv]
        host.run([*datum, "init", "--repo", url, "--host", "web1", "--no-timer"], env=agent_bind.env)
        traced = [
            "strace",
            "-f",
            "-o",
            "/srv/trace",
            "-e",
            "trace=setresuid,execve",
            "-s",
            "300",
            *datum,
            "apply",
            "--json",
        ]
        report = json.loads(host.run(traced, env=agent_bind.env).stdout)
        modes = host.run(["stat", "-c", "%a %U %G", *KEPT]).stdout.splitlines()
        plans_leave_no_trace(host, agent_bind)
        no_core_tells_the_token(host, agent_bind)
    finally:
        server.kill()
        server.communicate()
    assert (report["source"]["status"], report["source"]["remote"]) == ("ok", url)
    assert host.read("/etc/motd") == b"hello\n"
    uid = host.run(["id", "-u", "datum-source"]).stdout.strip()
    trace = host.read("/srv/trace").decode()
    assert f"setresuid({uid}, {uid}, {uid})" in trace
    assert TOKEN not in trace
    mine = host.run(["find", "/var/lib/datum", "-user", "datum-source", "-o", "-perm", "/022"]).stdout
    assert not mine
    assert modes[0] == "701 root root"
    # The group of what reads revisions; the account has it beside its own while it fetches.
    assert modes[1] == "750 root datum-resolve"
