"""The installed command on a real Debian that has the account: a pass over https from the first contact on."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.passes.scene import FLEET_ID

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
    modes = host.run(["stat", "-c", "%a %U %G", "/var/lib/datum", "/var/lib/datum/mirror.git"]).stdout.splitlines()
    assert modes[0] == "701 root root"
    # The group of what reads revisions; the account has it beside its own while it fetches.
    assert modes[1] == "750 root datum-resolve"
