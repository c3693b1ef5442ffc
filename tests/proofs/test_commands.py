"""Commands on a real host: what guards may do, as whom and where programs run, and what counts as done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Oneshot:
    return make_oneshot(binds=(fleet.bind,))


def shell(text: str) -> list[str]:
    return ["sh", "-c", text]


def test_a_guard_cannot_write_anywhere(machine: Oneshot, fleet: FleetOnHost) -> None:
    """Its program runs with every file system read-only; what it tries to write is its own failure."""
    fleet.commit(
        {
            "command:it": {
                "run": shell("echo ran >> /var/log/ran; touch /var/lib/done"),
                "unless": shell("echo guard > /etc/guard; echo guard > /var/guard; test -e /var/lib/done"),
            }
        }
    )
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.read("/var/log/ran") == b"ran\n"
    assert not {"/etc/guard", "/var/guard"} & set(machine.changes())
    assert "nothing to do" in fleet.datum(machine, "apply")
    assert machine.read("/var/log/ran") == b"ran\n"


def test_programs_run_as_their_user_in_their_place_with_what_they_are_given(
    machine: Oneshot, fleet: FleetOnHost
) -> None:
    fleet.commit(
        {
            "directory:/srv/games": {"owner": "games"},
            "command:it": {
                "run": shell('{ id -un; id -Gn; pwd; echo "$A $LC_ALL"; cat; env | grep -c ^GIT || :; } > out'),
                "creates": "/srv/games/out",
                "user": "games",
                "directory": "/srv/games",
                "environment": {"A": "one"},
                "stdin": "from stdin\n",
                "requires": ["directory:/srv/games"],
            },
        }
    )
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.read("/srv/games/out").decode().splitlines() == [
        "games",
        "games",
        "/srv/games",
        "one C.UTF-8",
        "from stdin",
        "0",
    ]


def test_what_a_program_makes_can_be_built_on_in_the_same_pass(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit(
        {
            "command:account": {
                "run": ["useradd", "--system", "--create-home", "--home-dir", "/srv/app", "app"],
                "unless": ["id", "app"],
                "provides": ["user:app", "group:app", "path:/srv/app"],
            },
            "file:/srv/app/token": {
                "content": "t\n",
                "owner": "app",
                "group": "app",
                "mode": "0600",
                "requires": ["command:account"],
            },
            "command:late": {
                "run": ["touch", "/srv/app/late"],
                "unless": ["test", "-e", "/srv/app/late"],
                "user": "app",
                "requires": ["file:/srv/app/token"],
            },
        }
    )
    fleet.enrol(machine)
    assert "3 to create" in fleet.datum(machine, "plan")
    fleet.datum(machine, "apply")
    assert machine.run(["stat", "--format=%U %G %a", "/srv/app/token"]).stdout.strip() == "app app 600"
    assert machine.run(["stat", "--format=%U", "/srv/app/late"]).stdout.strip() == "app"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_a_changed_input_runs_it_again_and_nothing_else_does(machine: Oneshot, fleet: FleetOnHost) -> None:
    def declare(text: str) -> None:
        fleet.commit(
            {
                "file:/etc/app.conf": {"content": text},
                "command:build": {
                    "run": shell("echo run >> /var/log/runs; tr a-z A-Z < /etc/app.conf > /var/lib/built"),
                    "inputs": ["/etc/app.conf"],
                    "outputs": ["/var/lib/built"],
                },
            }
        )

    declare("one\n")
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.read("/var/lib/built") == b"ONE\n"
    machine.run(["chmod", "0600", "/etc/app.conf"])
    assert "nothing to do" in fleet.datum(machine, "apply")
    declare("two\n")
    fleet.datum(machine, "apply")
    assert machine.read("/var/lib/built") == b"TWO\n"
    assert machine.read("/var/log/runs") == b"run\nrun\n"


def test_a_run_that_does_not_satisfy_its_guard_is_not_believed(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"command:it": {"run": ["true"], "creates": "/srv/never"}})
    fleet.enrol(machine)
    assert "unverified" in fleet.datum(machine, "apply", code=1)


def test_what_runs_too_long_is_killed_with_all_that_it_started(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"command:it": {"run": shell("sleep 98765 & echo started; wait"), "creates": "/srv/x", "timeout": 1}})
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply", code=1)
    assert "longer than 1 s" in said
    assert "started" in said
    assert not machine.run(["pgrep", "-f", "sleep 98765"], check=False).stdout.strip()
