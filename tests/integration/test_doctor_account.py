"""`datum doctor` on a real Debian that has the account: what it asks, it asks as that account, and says so."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.integration.test_account_on_host import SERVER, TOKEN

TESTS: Final = Path(__file__).parents[1]
USERADD: Final = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "datum-source"]


@frozen
class Served:
    """A host that serves the fleet to itself over TLS, and follows it there."""

    host: Oneshot
    agent: AgentBind
    url: str

    def diagnose(self, *before: str) -> Mapping[str, Mapping[str, Any]]:
        done = self.host.run([*before, *self.agent.argv, "doctor", "--json"], env=self.agent.env, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert TOKEN not in done.stdout
        return {each["check"]: each for each in json.loads(done.stdout)["checks"] if each["group"] == "source"}


@pytest.fixture
def served(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> Iterator[Served]:
    host = make_oneshot(binds=(Bind(str(TESTS), "/opt/agent/more/tests"),))
    env = {**agent_bind.env, "PYTHONPATH": f"{agent_bind.env['PYTHONPATH']}:/opt/agent/more"}
    server = host.popen(["/usr/bin/python3", "-c", SERVER], env=env)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().decode().strip()
        host.run(["mkdir", "/etc/datum"])
        host.write("/etc/datum/token", TOKEN, mode=0o600)
        access = {"url": url, "ca_file": "/srv/authority/ca.pem", "token_file": "/etc/datum/token"}
        host.write("/etc/datum/agent.yaml", json.dumps({"host": "web1", "source": {"remotes": [access]}}))
        yield Served(host, agent_bind, url)
    finally:
        server.kill()
        server.communicate()


def test_what_is_asked_is_asked_as_the_account(served: Served) -> None:
    """Before the first contact: nothing is kept here yet, and the way can be tried."""
    served.host.run(USERADD)
    trace = ("strace", "-f", "-o", "/srv/trace", "-e", "trace=setresuid,execve", "-s", "300")
    found = served.diagnose(*trace)
    assert {name: each["state"] for name, each in found.items() if each["state"] != "ok"} == {
        "remote-certificate": "warning"
    }, "it is valid for a day"
    assert found["source-account"]["facts"] == {"name": "datum-source", "is_there": True}
    assert found["remote-certificate"]["facts"]["issuer"] == "Authority of the tests"
    assert found["remote-connection"]["facts"]["peer"] == "127.0.0.1"
    uid = served.host.run(["id", "-u", "datum-source"]).stdout.strip()
    lines = served.host.read("/srv/trace").decode().splitlines()
    became = {line.split()[0] for line in lines if f"setresuid({uid}, {uid}, {uid})" in line}
    for program in ("hops.py", "--no-new-privs"):
        talks = {line.split()[0] for line in lines if "execve(" in line and program in line and '"strace"' not in line}
        assert talks, program
        assert talks <= became, program
    assert not any(TOKEN in line for line in lines)


def test_without_the_account_servers_are_talked_to_as_root(served: Served) -> None:
    found = served.diagnose()
    assert found["source-account"]["state"] == "warning"
    assert "as root" in found["source-account"]["found"]
    assert found["source-account"]["cure"].startswith("useradd")
    assert found["remote-revision"]["state"] == "ok"


def test_an_account_that_cannot_be_enclosed_is_a_fault(served: Served) -> None:
    """A container without CAP_SYS_ADMIN: nothing is talked to, as in a pass, and the cure is said."""
    served.host.run(USERADD)
    found = served.diagnose("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    assert (found["source-account"]["state"], found["source-account"]["codes"]) == ("fault", ["program-not-enclosed"])
    assert "CAP_SYS_ADMIN" in found["source-account"]["cure"]
    assert found["remote-answer"]["codes"] == ["program-not-enclosed"]
    assert found["remote-login"]["state"] == "not_checked"


def test_an_account_that_is_shut_out_is_a_fault_that_names_the_folder(served: Served) -> None:
    served.host.run(USERADD)
    served.host.run(["chmod", "0700", "/opt/agent"])
    found = served.diagnose()
    assert found["source-account"]["codes"] == ["source-account-shut-out"]
    assert "/opt/agent" in found["source-account"]["found"]


def test_an_account_that_is_named_and_missing_is_a_fault(served: Served) -> None:
    said = json.loads(served.host.read("/etc/datum/agent.yaml"))
    said["source"]["account"] = "nobody-here"
    served.host.write("/etc/datum/agent.yaml", json.dumps(said))
    found = served.diagnose()
    assert (found["source-account"]["state"], found["source-account"]["codes"]) == ("fault", ["source-account-missing"])
    assert {each["state"] for name, each in found.items() if name.startswith("remote-")} == {"not_checked"}
