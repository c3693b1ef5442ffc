"""A shadow tool killed between two of its files leaves lines that are nobody's: the next pass sees and removes them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.strace import Strace
from tests.proofs.on_host import FleetOnHost

# In the order in which useradd and userdel write them.
FILES: Final = ("passwd", "shadow", "group", "gshadow", "subuid", "subgid")
RENAMES: Final = "rename,renameat,renameat2"
ABSENT: Final = {"absent": True, "allow": ["access_loss"]}
GONE: Final[dict[str, Any]] = {"user:gone": ABSENT, "group:gone": {"absent": True}, "group:other": {"absent": True}}


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Oneshot:
    return make_oneshot(binds=(fleet.bind,))


def sh(machine: Oneshot, script: str) -> str:
    return machine.run(["sh", "-c", script], check=False).stdout.strip()


def lines_of(machine: Oneshot, name: str) -> dict[str, int]:
    """Return how many lines of a name stand in each of the files, where there are any."""
    counts = {file: int(sh(machine, f"grep -c ^{name}: /etc/{file}")) for file in FILES}
    return {file: count for file, count in counts.items() if count}


def complaints(machine: Oneshot) -> str:
    return sh(machine, "pwck -r -q; grpck -r -q")


def kill_at(machine: Oneshot, fleet: FleetOnHost, file: str) -> None:
    """Run a pass, and kill the first program that gives this file its name."""
    strike = Strace(machine, fleet.env)
    done = strike.inject([*fleet.argv, "apply"], RENAMES, signal="KILL", path=f"/etc/{file}+")
    assert done.returncode == 1, done.stdout + done.stderr


def heal(machine: Oneshot, fleet: FleetOnHost) -> None:
    """Run the next pass, which ends with a look that finds nothing left to do."""
    assert "Converged" in fleet.datum(machine, "apply")
    assert complaints(machine) == ""


def struck(machine: Oneshot, fleet: FleetOnHost, files: tuple[str, ...], arrange: str) -> Iterator[str]:
    """Yield each file after a pass over what is arranged anew was killed at it."""
    for file in files:
        sh(machine, arrange)
        kill_at(machine, fleet, file)
        yield file


def test_what_a_killed_userdel_or_groupdel_left_is_removed(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit(GONE)
    fleet.enrol(machine)
    # A name whose signs mean something else in a pattern, as its end.
    sh(machine, "useradd gonee; useradd xgone")
    others = {name: lines_of(machine, name) for name in ("gonee", "xgone")}
    for file in struck(machine, fleet, FILES, "useradd gone"):
        assert lines_of(machine, "gone").keys() >= set(FILES[FILES.index(file) :])
        heal(machine, fleet)
        assert lines_of(machine, "gone") == {}
    for _ in struck(machine, fleet, ("group", "gshadow"), "groupadd other"):
        heal(machine, fleet)
        assert lines_of(machine, "other") == {}
    assert {name: lines_of(machine, name) for name in others} == others


@pytest.mark.parametrize("made", ["useradd gone", "useradd --system gone"])
def test_the_group_of_its_name_goes_after_a_kill_before_it_although_nothing_is_said_of_it(
    machine: Oneshot, fleet: FleetOnHost, made: str
) -> None:
    """An account of the system has no subordinate ids: behind its shadow only the group and its shadow are left."""
    fleet.commit({"user:gone": ABSENT})
    fleet.enrol(machine)
    for _ in struck(machine, fleet, ("shadow", "group"), made):
        heal(machine, fleet)
        assert lines_of(machine, "gone") == {}


def test_the_group_of_its_name_that_is_declared_outlives_each_kill(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"user:gone": ABSENT, "group:gone": {}})
    sh(machine, "groupadd --gid 4000 gone")
    fleet.enrol(machine)
    for _ in struck(machine, fleet, FILES, "useradd --gid gone --groups mail gone"):
        assert lines_of(machine, "gone")["group"] == 1
        heal(machine, fleet)
        assert lines_of(machine, "gone") == {"group": 1, "gshadow": 1}
        assert sh(machine, "grep -e '[:,]gone' -e ^gone: /etc/group") == "gone:x:4000:"


def test_what_removes_the_lines_may_be_killed_as_well(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit(GONE)
    fleet.enrol(machine)
    before = sh(machine, "stat -c '%n %a %U:%G' /etc/shadow /etc/gshadow /etc/subuid /etc/subgid")
    left = ("shadow", "gshadow", "subuid", "subgid")
    for file in struck(machine, fleet, left, "useradd gone; sed -i /^gone:/d /etc/passwd /etc/group"):
        assert file in lines_of(machine, "gone")
        heal(machine, fleet)
        assert lines_of(machine, "gone") == {}
    assert sh(machine, "stat -c '%n %a %U:%G' /etc/shadow /etc/gshadow /etc/subuid /etc/subgid") == before


def test_an_account_is_made_over_what_a_killed_userdel_left(machine: Oneshot, fleet: FleetOnHost) -> None:
    """It has one range of subordinate ids, and nothing of the password that stood there."""
    sh(machine, "useradd -p '$6$old$old' gone; sed -i /^gone:/d /etc/passwd /etc/group")
    fleet.commit({"user:gone": {}, "group:gone": {}})
    fleet.enrol(machine)
    heal(machine, fleet)
    assert lines_of(machine, "gone") == dict.fromkeys(FILES, 1)
    assert sh(machine, "grep ^gone: /etc/shadow").split(":")[1] == "!"


def test_an_account_whose_making_was_killed_is_made(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"user:made": {"password": "*", "max_days": 9}})
    fleet.enrol(machine)
    for _ in struck(machine, fleet, FILES, "userdel -r made"):
        heal(machine, fleet)
        assert lines_of(machine, "made") == dict.fromkeys(FILES, 1)
        assert sh(machine, "stat -c %U:%G /home/made /home/made/.bashrc").split() == ["made:made"] * 2


def test_an_account_that_came_back_keeps_its_lines(machine: Oneshot, fleet: FleetOnHost) -> None:
    """Somebody made it between the look and the lock."""
    sh(machine, "useradd gone; sed -i /^gone:/d /etc/passwd /etc/group")
    machine.run(["mv", "/usr/sbin/vipw", "/usr/sbin/vipw.real"])
    back = 'useradd gone 2>/dev/null\nexec /usr/sbin/vipw.real "$@"\n'
    machine.write("/usr/sbin/vipw", f"#!/bin/sh\n{back}", mode=0o755)
    fleet.commit({"user:gone": ABSENT})
    fleet.enrol(machine)
    assert "/etc/passwd has that name again" in fleet.datum(machine, "apply", code=1)
    assert lines_of(machine, "gone").keys() == set(FILES)
