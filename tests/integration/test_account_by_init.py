"""`datum init` over https on a Debian without the account of the source: it is made, told, and used."""

import json
from collections.abc import Callable, Iterator

import pytest
from attrs import define

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.integration.test_account_on_host import SERVER, TESTS, TOKEN


@define
class Served:
    """A host that serves a fleet to itself."""

    host: Oneshot
    agent: AgentBind
    url: str

    def init(self, *words: str) -> str:
        """Enrol it, and return what was said."""
        anchor = self.host.run(["git", "-c", "safe.directory=*", "-C", "/srv/git/fleet", "rev-parse", "HEAD"]).stdout
        access = ("--token-file", "/etc/datum/token", "--ca-file", "/srv/authority/ca.pem")
        line = ("init", "--repo", self.url, "--host", "web1", *access, "--anchor", anchor.strip(), "--no-timer")
        return self.host.run([*self.agent.argv, *line, *words], env=self.agent.env).stdout

    def has_account(self, name: str = "datum-source") -> bool:
        return not self.host.run(["getent", "passwd", name], check=False).returncode


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
        yield Served(host, agent_bind, url)
    finally:
        server.kill()
        server.communicate()


def test_the_account_is_made_told_and_fetches_from_the_first_contact_on(served: Served) -> None:
    """Only once: the next init has nothing to tell."""
    assert not served.has_account()
    said = served.init()
    assert "made the account datum-source, under which servers are talked to" in said
    assert "made the account datum-resolve, under which revisions are read" in said
    assert served.has_account()
    assert served.has_account("datum-resolve")
    assert json.loads(served.init("--json"))["remarks"] == []
    served.host.run([*served.agent.argv, "apply"], env=served.agent.env)
    assert served.host.read("/etc/motd") == b"hello\n"


def test_with_no_account_none_is_made(served: Served) -> None:
    said = served.init("--no-account")
    assert "made the account" not in said
    assert not served.has_account("datum-resolve")
    assert not served.has_account()
