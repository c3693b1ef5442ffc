"""Making the account of the source on a real Debian: its tools, its locks, and what is said of it after that."""

import json
from collections.abc import Callable
from importlib.resources import files

import pytest
from attrs import frozen

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind

# Makes it, and prints whether it did, or why not; then what there is to say of it.
SCRIPT = """
import json, sys
from datum.agent.accounts import make_source_account, source_account_facts
from datum.agent.settings import Options, read_settings
from datum.errors import DatumError
from datum.host.program import run_program

try:
    made = make_source_account(run_program)
except DatumError as error:
    made = [error.diagnostics[0].code, error.diagnostics[0].detail, error.diagnostics[0].hint]
facts = source_account_facts(read_settings(Options(repo="https://localhost/x", host="web1")))
json.dump([made, facts.name, facts.is_there, [item.code for item in facts.findings]], sys.stdout)
"""


@frozen
class Host:
    """A host, and the script in it."""

    host: Oneshot
    bind: AgentBind

    def make(self) -> list[object]:
        done = self.host.run(["/usr/bin/python3", "-c", SCRIPT], env=self.bind.env, timeout=120)
        return list(json.loads(done.stdout))


@pytest.fixture
def scene(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> Host:
    return Host(make_oneshot(), agent_bind)


def test_it_is_made_once_and_can_be_used(scene: Host) -> None:
    """Its programs can be enclosed, and reach what they need."""
    assert scene.make() == [True, "datum-source", True, []]
    line = scene.host.run(["getent", "passwd", "datum-source"]).stdout.strip().split(":")
    assert line[5:] == ["/nonexistent", "/usr/sbin/nologin"]
    assert 100 <= int(line[2]) < 1000
    assert scene.host.run(["id", "-G", "datum-source"]).stdout.split() == [line[3]]
    before = set(scene.host.changes())
    assert scene.make() == [False, "datum-source", True, []]
    assert set(scene.host.changes()) == before


def test_one_made_by_sysusers_is_as_good(scene: Host) -> None:
    """As the package of a distribution has it made."""
    scene.host.write("/usr/lib/sysusers.d/datum.conf", files("datum").joinpath("units/sysusers.conf").read_text())
    scene.host.run(["systemd-sysusers", "/usr/lib/sysusers.d/datum.conf"])
    assert scene.make() == [False, "datum-source", True, []]


def test_a_lock_that_is_held_is_told_and_a_stale_one_is_none(scene: Host) -> None:
    """The lock of a process that is gone is taken over; nothing is left half made."""
    scene.host.write("/etc/passwd.lock", "1\0")
    made, _, is_there, _ = scene.make()
    assert isinstance(made, list)
    assert made[0] == "source-account-not-made"
    assert "cannot lock /etc/passwd" in made[1]
    assert "has ended" in made[2]
    assert not is_there
    scene.host.write("/etc/passwd.lock", "4000000\0")
    assert scene.make()[0] is True


def test_files_that_are_read_only_are_told(scene: Host) -> None:
    scene.host.set_read_only("/etc")
    made, *_ = scene.make()
    assert isinstance(made, list)
    assert made[0] == "source-account-not-made"
    scene.host.set_writable("/etc")
    assert scene.make()[0] is True


def test_one_that_can_be_logged_into_is_refused_and_told(scene: Host) -> None:
    scene.host.run(["useradd", "--create-home", "--shell", "/bin/bash", "datum-source"])
    before = set(scene.host.changes())
    made, _, is_there, findings = scene.make()
    assert isinstance(made, list)
    assert made[0] == "source-account-unfit"
    assert "/bin/bash" in made[1]
    assert (is_there, findings) == (True, ["source-account-unfit"])
    assert set(scene.host.changes()) == before
