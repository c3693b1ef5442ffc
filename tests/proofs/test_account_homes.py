"""A new home is root's work in a place that may be somebody else's by then: nothing of it can be turned elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost

# Somebody else's things, which links that are planted in the home lead to.
VICTIMS: Final = """
mkdir -p /srv/victims/folder /etc/skel/.config/deep
echo skeleton > /etc/skel/.config/deep/own; ln -s /etc/skel/.bashrc /etc/skel/.again
for name in content rights other folder/own; do echo precious > /srv/victims/$name; done
chmod 0600 /srv/victims/* ; chmod 0700 /srv/victims/folder
"""
UNFINISHED: Final = "useradd -M -p '!unfinished-with-home' -d {home} deploy; mkdir {home}; chown deploy: {home}"
PLANTED: Final = """
cd /home/deploy
ln -s /srv/victims/content .bashrc
ln /srv/victims/rights .profile
ln /srv/victims/other other
ln -s /srv/victims/folder .config
chown -h deploy: .bashrc .config
"""
# Takes the home away, and puts a link in its place, and back, as fast as it can.
SWAPS: Final = """
cd /srv/people
while :; do mv deploy away; ln -s /srv/victims/folder deploy; rm deploy; mv away deploy; done
"""
LOOK: Final = "cd /srv/victims; find . -type f -exec cat {} +; find . -printf '%p %m %U:%G %y\\n' | sort"


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Oneshot:
    machine = make_oneshot(binds=(fleet.bind,))
    sh(machine, VICTIMS)
    return machine


def sh(machine: Oneshot, script: str) -> str:
    return machine.run(["sh", "-ec", script]).stdout


def test_what_is_planted_in_a_home_that_is_not_finished_leads_nowhere(machine: Oneshot, fleet: FleetOnHost) -> None:
    """Neither is anything written through a link, nor given away by a name that is another file's as well."""
    sh(machine, UNFINISHED.format(home="/home/deploy") + PLANTED)
    before = sh(machine, LOOK)
    fleet.commit({"user:deploy": {}})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert sh(machine, LOOK) == before
    shown = sh(machine, "cd /home/deploy; stat -c '%n %F %a %U' . .bashrc .profile .config .config/deep/own")
    assert shown.splitlines() == [
        ". directory 755 deploy",
        ".bashrc regular file 644 deploy",
        ".profile regular file 644 deploy",
        ".config directory 755 deploy",
        ".config/deep/own regular file 644 deploy",
    ]
    assert sh(machine, "cd /home/deploy; cmp .bashrc /etc/skel/.bashrc; cat .config/deep/own; readlink .again") == (
        "skeleton\n/home/deploy/.bashrc\n"
    )
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_who_can_replace_a_home_cannot_have_it_made_elsewhere(machine: Oneshot, fleet: FleetOnHost) -> None:
    """In a directory of carol's: she swaps it for a link all the while, and each pass names the directory."""
    home = "/srv/people/deploy"
    sh(machine, "useradd carol; mkdir /srv/people; " + UNFINISHED.format(home=home) + "; chown carol: /srv/people")
    before = sh(machine, LOOK)
    fleet.commit({"user:deploy": {"home": home}})
    fleet.enrol(machine)
    with machine.popen(["setpriv", "--reuid=carol", "--clear-groups", "sh", "-c", SWAPS]) as attack:
        try:
            for _ in range(5):
                assert "/srv/people" in fleet.datum(machine, "apply", code=1)
        finally:
            machine.run(["pkill", "-KILL", "-u", "carol"])
            attack.kill()
    assert sh(machine, LOOK) == before


def test_no_home_is_made_where_somebody_else_could_take_it_away(machine: Oneshot, fleet: FleetOnHost) -> None:
    """That would be useradd's work, which goes by paths."""
    sh(machine, "useradd carol; mkdir /srv/people; chown carol: /srv/people")
    fleet.commit({"user:deploy": {"home": "/srv/people/deploy"}, "user:other": {"create_home": False}})
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply", code=1)
    assert "'/srv/people', on the way to '/srv/people/deploy', " in said
    assert sh(machine, "cut -d: -f1 /etc/passwd | grep -v ^datum- | tail -2; ls /srv/people") == "carol\nother\n"


def test_the_directory_of_another_does_not_become_a_home(machine: Oneshot, fleet: FleetOnHost) -> None:
    """It stands where the home of an interrupted account was to be: it keeps its owner and what it holds."""
    sh(machine, UNFINISHED.format(home="/home/deploy") + "; useradd -M carol; chown -R carol: /home/deploy")
    sh(machine, "echo mine > /home/deploy/.profile; chown carol: /home/deploy/.profile")
    fleet.commit({"user:deploy": {}})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert sh(
        machine, "stat -c %U /home/deploy /home/deploy/.profile; cat /home/deploy/.profile; ls -A /home/deploy"
    ) == ("carol\ncarol\nmine\n.profile\n")
