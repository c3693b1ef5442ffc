"""Keys of ssh on a real Debian: whose the files are, what stays in them, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost

KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIvVRUcBvbXkHdYbbhGJ9aHWkqqg5rA1cD1Zy3E9mO9q"
OTHER: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHr0m8zJ5cXvO1uZ3mJd7fZbYx2r7gqC0hXJcE0aQ2sT"
FILE: Final = "/home/deploy/.ssh/authorized_keys"
FROM: Final = 'from="10.0.0.0/8,!10.0.0.1"'


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Oneshot:
    return make_oneshot(binds=(fleet.bind,))


def fingerprint(machine: Machine, key: str) -> str:
    return machine.run(["ssh-keygen", "-lf", "-"], input=f"{key}\n").stdout.split()[1]


def with_file(machine: Machine, data: bytes) -> None:
    machine.run(["useradd", "-m", "deploy"])
    machine.run(["install", "-d", "-o", "deploy", "-g", "deploy", "-m", "0700", "/home/deploy/.ssh"])
    machine.run(["install", "-o", "deploy", "-g", "deploy", "-m", "0600", "/dev/null", FILE])
    machine.run(["tee", FILE], input=data)


def key(**fields: Any) -> dict[str, Any]:
    return {"authorized_key:deploy/laptop": {"key": KEY, **fields}}


def test_a_key_of_a_user_who_is_made_in_the_same_pass(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit(
        {
            "user:deploy": {"home": "/srv/deploy"},
            "authorized_key:deploy/laptop": {"key": f"{KEY} me@laptop", "options": [FROM, "no-pty"]},
            "authorized_key:deploy/other": {"key": OTHER, "comment": "ünd more"},
        }
    )
    fleet.enrol(machine)
    assert "3 to create" in fleet.datum(machine, "plan")
    fleet.datum(machine, "apply")
    path = "/srv/deploy/.ssh/authorized_keys"
    assert machine.read(path).decode() == f"{FROM},no-pty {KEY} me@laptop\n{OTHER} ünd more\n"
    shown = machine.run(["stat", "-c", "%U:%G %a", "/srv/deploy/.ssh", path]).stdout.split()
    assert shown == ["deploy:deploy", "700", "deploy:deploy", "600"]
    assert len(machine.run(["ssh-keygen", "-lf", path]).stdout.splitlines()) == 2
    assert "nothing to do" in fleet.datum(machine, "apply")


ODD: Final = (
    b"# a comment\r\n"
    b"\n"
    b"  " + OTHER.encode() + b' spaced out\r\nno key at all\ncommand="echo \\"a b\\", c",no-pty ' + OTHER.encode()
)


def test_every_other_line_stays_byte_for_byte(machine: Oneshot, fleet: FleetOnHost) -> None:
    """The last line has no end, others end as on Windows, one is no line at all, two hold one key."""
    with_file(machine, ODD)
    fleet.commit(key(comment="laptop"))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    line = f"{KEY} laptop\n".encode()
    assert machine.read(FILE) == ODD + b"\n" + line
    fleet.commit(key(comment="laptop", options=["no-pty"]))
    fleet.datum(machine, "apply")
    assert machine.read(FILE) == ODD + b"\nno-pty " + line
    fleet.commit({"user:deploy": {}})
    fleet.datum(machine, "apply")
    assert machine.read(FILE) == ODD + b"\n"
    assert machine.run(["stat", "-c", "%U %a", FILE]).stdout.split() == ["deploy", "600"]


def test_the_first_line_of_a_key_is_the_one_that_counts(machine: Oneshot, fleet: FleetOnHost) -> None:
    """The same key twice, from elsewhere with other rights: sshd takes the first that fits."""
    second = f'from="192.0.2.1",command="backup" {KEY} second\n'
    with_file(machine, f"{FROM} {KEY} first\r\n{second}".encode())
    fleet.commit(key(options=[FROM]))
    fleet.enrol(machine)
    assert "nothing to do" in fleet.datum(machine, "apply")
    fleet.commit(key(options=[FROM, "no-pty"]))
    fleet.datum(machine, "apply")
    assert machine.read(FILE).decode() == f"{FROM},no-pty {KEY} first\r\n{second}"


def test_the_last_key_goes_only_where_that_is_allowed(machine: Oneshot, fleet: FleetOnHost) -> None:
    with_file(machine, f"# mine\n{KEY} laptop\n".encode())
    fleet.commit(key())
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    fleet.commit({"user:deploy": {}})
    said = fleet.datum(machine, "apply", code=1)
    assert KEY.encode() in machine.read(FILE)
    # The label says nothing of the key any more; what is told is what allows its removal.
    name = f"authorized_key:deploy/{fingerprint(machine, KEY)}"
    assert f"declare {name} with 'absent: true' and 'allow: [access_loss]'" in " ".join(said.split())
    fleet.commit({"user:deploy": {}, name: {"absent": True, "allow": ["access_loss"]}})
    # What the label stands for in the trail is judged before that, and held once more.
    fleet.datum(machine, "apply", code=1)
    assert machine.read(FILE) == b"# mine\n"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_a_link_on_the_way_is_not_followed(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["useradd", "-m", "deploy"])
    machine.run(["sh", "-c", "mkdir -m 0700 /root/.ssh; ln -s /root/.ssh /home/deploy/.ssh"])
    fleet.commit(key())
    fleet.enrol(machine)
    assert "symbolic link" in fleet.datum(machine, "apply", code=1)
    assert not machine.run(["ls", "-A", "/root/.ssh"]).stdout


def test_a_link_in_the_place_of_the_file_is_not_followed(machine: Oneshot, fleet: FleetOnHost) -> None:
    with_file(machine, b"")
    machine.run(["ln", "-sf", "/etc/shadow", FILE])
    fleet.commit(key())
    fleet.enrol(machine)
    before = machine.read("/etc/shadow")
    assert "and no regular file" in fleet.datum(machine, "apply", code=1)
    assert machine.read("/etc/shadow") == before


def test_rights_that_strict_modes_refuses_are_taken(machine: Oneshot, fleet: FleetOnHost) -> None:
    with_file(machine, f"{KEY}\n".encode())
    machine.run(["chmod", "0666", FILE])
    fleet.commit(key())
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.run(["stat", "-c", "%U %a", FILE]).stdout.split() == ["deploy", "644"]
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_where_sshd_looks_is_where_keys_are_written(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["sh", "-c", "useradd -m deploy; mkdir -p /etc/ssh/sshd_config.d /etc/ssh/keys"])
    machine.write("/etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\nAuthorizedKeysFile .ssh/other\n")
    machine.write("/etc/ssh/sshd_config.d/keys.conf", "authorizedkeysfile /etc/ssh/keys/%u .ssh/authorized_keys\n")
    fleet.commit(key())
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.read("/etc/ssh/keys/deploy").decode() == f"{KEY}\n"
    assert machine.run(["stat", "-c", "%U %a", "/etc/ssh/keys/deploy"]).stdout.split() == ["root", "644"]
    assert not machine.run(["sh", "-c", "ls -d /home/deploy/.ssh"], check=False).stdout


def test_a_key_that_was_found_is_adopted_by_its_fingerprint(machine: Oneshot, fleet: FleetOnHost) -> None:
    with_file(machine, f"{FROM} {KEY} found here\n".encode())
    fleet.commit({"user:deploy": {}})
    fleet.enrol(machine)
    said = fleet.datum(machine, "adopt", f"authorized_key:deploy/{fingerprint(machine, KEY)}", "user:deploy")
    assert KEY in said
    assert "found here" in said
    assert 'home: "/home/deploy"' in said


def test_a_file_that_is_declared_as_a_whole_has_no_other_keys(machine: Oneshot, fleet: FleetOnHost) -> None:
    whole = {f"file:{FILE}": {"content": "# none\n", "allow": ["access_loss"], "owner": "deploy"}}
    folder = {"directory:/home/deploy/.ssh": {"owner": "deploy", "allow": ["access_loss"]}}
    fleet.commit({"user:deploy": {}, **folder, **whole, **key()})
    fleet.enrol(machine)
    assert f"file:{FILE} declares the whole file" in fleet.datum(machine, "apply", code=1)


def test_another_label_is_the_same_key(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"user:deploy": {}, **key(comment="a")})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    fleet.commit({"user:deploy": {}, "authorized_key:deploy/macbook": {"key": KEY, "comment": "a"}})
    fleet.datum(machine, "apply")
    assert machine.read(FILE).decode() == f"{KEY} a\n"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_an_exclusive_directory_leaves_the_file_of_keys_alone(machine: Oneshot, fleet: FleetOnHost) -> None:
    with_file(machine, b"")
    machine.run(["touch", "/home/deploy/.ssh/stray"])
    folder = {"directory:/home/deploy/.ssh": {"exclusive": True, "owner": "deploy", "allow": ["access_loss"]}}
    fleet.commit({"user:deploy": {}, **folder, **key()})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.run(["ls", "-A", "/home/deploy/.ssh"]).stdout.split() == ["authorized_keys"]
    assert machine.read(FILE).decode() == f"{KEY}\n"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_dropping_the_old_key_and_declaring_a_new_one_never_leaves_none(machine: Oneshot, fleet: FleetOnHost) -> None:
    with_file(machine, f"{KEY} laptop\n".encode())
    fleet.commit(key())
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    fleet.commit({"authorized_key:deploy/new": {"key": OTHER}})
    fleet.datum(machine, "apply", code=1)
    assert machine.read(FILE).decode() == f"{KEY} laptop\n{OTHER}\n"
    fleet.datum(machine, "apply")
    assert machine.read(FILE).decode() == f"{OTHER}\n"
