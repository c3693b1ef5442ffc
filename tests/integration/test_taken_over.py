"""A git that was taken over, on a real Debian: what it can reach from where foreign servers are talked to."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import frozen

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.integration.test_account_on_host import SERVER, TOKEN

TESTS = Path(__file__).parents[1]
OTHER = "t0ken-of-another-remote"
# Found before git by the agent's programs, and by nobody else: tries what it can, tells of it, and then is git.
PLACE = "/usr/local/bin/git"
HEAD = ("/usr/bin/git", "-c", "safe.directory=*", "-C", "/srv/git/fleet", "rev-parse", "HEAD")
SYSTEM = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
TAKEN_OVER = """#!/bin/sh
{
  for path in /tmp/evil /var/tmp/evil /dev/shm/evil /run/evil /etc/evil /srv/open/evil /var/lib/datum/evil \
      /var/lib/datum/pointer.json /var/lib/datum/mirror.git/evil /var/lib/datum/mirror.git/HEAD; do
    echo evil 2>/dev/null > $path && echo "wrote $path"
  done
  for path in /srv/other-token /srv/key /etc/datum/token /var/lib/datum/pointer.json /home/ann/letter \
      /root/.ssh/letter; do
    test -s $path && cat $path 2>/dev/null && echo "read $path"
  done
  for path in /home/* /root/* /root/.ssh/* /var/lib/datum/* /var/log/datum/reports/*; do
    test -e $path && echo "saw $path"
  done
  grep -l signal[.]pause /proc/[0-9]*/cmdline | sed "s/^/saw /"
} > /tmp/told 2>/dev/null
cat /tmp/told >&2
exec /usr/bin/git "$@"
"""


@frozen
class Scene:
    """A host whose git was taken over, after first contact with a server of its own."""

    host: Oneshot
    bind: AgentBind
    env: dict[str, str]

    def apply(self) -> dict[str, object]:
        done = self.host.run([*self.bind.argv, "apply", "--json"], env=self.bind.env, check=False)
        report = dict(json.loads(done.stdout))
        assert "source" in report, report
        return report

    def commit(self, text: str) -> None:
        script = (
            "import json; from pathlib import Path; from tests.git_repository import GitRepository;"
            "repository = GitRepository(Path('/srv/git/fleet'));"
            f"repository.commit({{'hosts/web1.yaml': json.dumps({{'resources': {{'file:/etc/motd': "
            f"{{'content': {text!r}}}}}}})}})"
        )
        self.host.run(["/usr/bin/python3", "-c", script], env={**self.env, **SYSTEM})


@pytest.fixture
def scene(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> Iterator[Scene]:
    host = make_oneshot(binds=(Bind(str(TESTS), "/opt/agent/more/tests"),))
    env = {**agent_bind.env, "PYTHONPATH": f"{agent_bind.env['PYTHONPATH']}:/opt/agent/more"}
    host.run(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "datum-source"])
    host.run(["useradd", "--create-home", "ann"])
    host.run(["mkdir", "-p", "/root/.ssh"])
    for path, text in (
        ("/home/ann/letter", "x"),
        ("/root/.ssh/letter", "x"),
        ("/srv/other-token", OTHER),
        ("/srv/key", "k"),
    ):
        host.write(path, text)
        # The group of the account may read it: only that it is hidden keeps it.
        host.run(["chgrp", "datum-source", path])
        host.run(["chmod", "640", path])
    host.run(["mkdir", "--mode=1777", "/srv/open"])
    server = host.popen(["/usr/bin/python3", "-c", SERVER], env={**env, **SYSTEM})
    try:
        assert server.stdout is not None
        url = server.stdout.readline().decode().strip()
        host.run(["mkdir", "/etc/datum"])
        host.write("/etc/datum/token", TOKEN, mode=0o600)
        access = {"url": url, "ca_file": "/srv/authority/ca.pem", "token_file": "/etc/datum/token"}
        others = [
            {"url": "https://other.example/fleet", "token_file": "/srv/other-token"},
            {"url": "ssh://git@other.example/fleet", "key_file": "/srv/key", "known_hosts_file": "/etc/hosts"},
        ]
        anchor = host.run(HEAD).stdout.strip()
        said = {"host": "web1", "source": {"remotes": [access, *others]}, "trust": {"anchor": anchor}}
        host.write("/etc/datum/agent.yaml", json.dumps(said))
        host.run([*agent_bind.argv, "init", "--repo", url, "--host", "web1", "--no-timer"], env=agent_bind.env)
        host.run([*agent_bind.argv, "apply"], env=agent_bind.env)
        host.write(PLACE, TAKEN_OVER, mode=0o755)
        yield Scene(host, agent_bind, env)
    finally:
        server.kill()
        server.communicate()


def test_a_git_that_was_taken_over_reaches_nothing(scene: Scene) -> None:
    """It changes no file of the host but those of its fetch, reads no secret of another remote, and sees no process."""
    before = {
        path: scene.host.run(["cat", path]).stdout
        for path in ("/var/lib/datum/pointer.json", "/var/lib/datum/mirror.git/HEAD")
    }
    scene.commit("second\n")
    # Its quarantine lies in a temporary folder, which is not the one that its programs see.
    plan = scene.host.run([*scene.bind.argv, "plan", "--json"], env=scene.bind.env)
    assert scene.host.run(HEAD).stdout.strip() in plan.stdout
    report = scene.apply()
    assert report["source"]["status"] == "ok"  # type: ignore[index]
    assert scene.host.read("/etc/motd") == b"second\n"
    evil = scene.host.run(["find", "/", "-xdev", "-name", "evil"]).stdout
    assert not evil
    assert before["/var/lib/datum/mirror.git/HEAD"] == scene.host.run(["cat", "/var/lib/datum/mirror.git/HEAD"]).stdout


def test_what_it_tells_is_nothing(scene: Scene) -> None:
    """Its words come back as those of a program that failed."""
    scene.host.write(PLACE, TAKEN_OVER.replace('exec /usr/bin/git "$@"', "exit 1"), mode=0o755)
    report = scene.apply()
    words = json.dumps(report["source"])
    assert "wrote /tmp/evil" in words, "what it did is heard of, so this test would hear of more"
    assert words.count("wrote ") == 2 * words.count("wrote /tmp/evil"), words
    assert "wrote /var/tmp/evil" in words
    for name in ("read ", "saw ", OTHER, TOKEN):
        assert name not in words, words
