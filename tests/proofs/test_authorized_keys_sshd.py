"""sshd itself says who comes in, and with which rights: real logins on a booted Debian that has its server."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost

# Debian's own configuration, but for what it does to those who fail often from one address, as these tests do.
CONFIG: Final = "PerSourcePenalties no\nMaxAuthTries 20\n"
QUIET: Final = (
    *("-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR"),
    *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
)
HOME: Final = "/home/deploy"
FOLDER: Final = f"{HOME}/.ssh"
FILE: Final = f"{FOLDER}/authorized_keys"
USER: Final[Mapping[str, Any]] = {"user:deploy": {"create_home": True}}


@frozen
class Host:
    """A running Debian with sshd, and the fleet that says whose keys it takes."""

    machine: Booted
    fleet: FleetOnHost

    def sh(self, script: str) -> str:
        return self.machine.run(["sh", "-ec", script]).stdout.strip()

    def key(self, label: str, *options: str, **fields: Any) -> dict[str, Any]:
        """Declare a key that is made where there is none of that label."""
        self.sh(f"[ -e /srv/{label} ] || ssh-keygen -q -t ed25519 -N '' -C {label} -f /srv/{label}")
        about: dict[str, Any] = {"key": self.public(label), **({"options": list(options)} if options else {}), **fields}
        return {f"authorized_key:deploy/{label}": about}

    def public(self, label: str) -> str:
        return self.machine.read(f"/srv/{label}.pub").decode().strip()

    def apply(self, resources: Mapping[str, Any], code: int = 0) -> str:
        self.fleet.commit(resources)
        return self.fleet.datum(self.machine, "apply", code=code)

    def again(self) -> None:
        assert "nothing to do" in self.fleet.datum(self.machine, "apply")

    def ssh(self, label: str, *command: str, options: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
        way = [*QUIET, *options, "-i", f"/srv/{label}", "deploy@127.0.0.1"]
        return self.machine.run(["ssh", *way, *command], check=False)

    def login(self, label: str, command: str = "id -un") -> str:
        """Return what a command says that is sent by ssh; `refused` where sshd takes not that key."""
        done = self.ssh(label, command)
        if done.returncode == 255:
            assert "Permission denied (publickey" in done.stderr, done
            return "refused"
        return done.stdout.strip()

    def configure(self, text: str) -> None:
        self.machine.write("/etc/ssh/sshd_config.d/tests.conf", CONFIG + text)
        self.machine.run(["systemctl", "restart", "ssh"])


@pytest.fixture
def host(make_trixie_booted: Callable[..., Booted], trixie_agent: AgentBind, tmp_path: Path) -> Host:
    fleet = FleetOnHost(tmp_path, trixie_agent)
    fleet.commit(USER)
    machine = make_trixie_booted(binds=(fleet.bind,))
    fleet.enrol(machine)
    host = Host(machine, fleet)
    host.configure("")
    return host


def test_a_key_lets_in_from_the_pass_that_places_it_to_the_one_that_removes_it(host: Host) -> None:
    laptop, other = host.key("laptop"), host.key("other")
    host.apply(USER)
    assert host.login("laptop") == "refused"
    host.apply({**USER, **laptop, **other})
    assert (host.login("laptop"), host.login("other")) == ("deploy", "deploy")
    host.again()
    host.apply({**USER, **other})
    assert (host.login("laptop"), host.login("other")) == ("refused", "deploy")
    fingerprint = host.sh("ssh-keygen -lf /srv/other.pub | cut -d ' ' -f 2")
    # The one of the label, which is dropped, is held: it was the last when the pass began.
    host.apply({**USER, f"authorized_key:deploy/{fingerprint}": {"absent": True, "allow": ["access_loss"]}}, code=1)
    assert host.login("other") == "refused"
    host.again()


def test_options_are_honoured_as_they_are_declared(host: Host) -> None:
    """Every key is taken by the same server, so what differs is what its options say."""
    host.apply(
        {
            **USER,
            **host.key("plain"),
            **host.key("forced", 'command="echo forced: $SSH_ORIGINAL_COMMAND, \\"q q\\""', "no-pty"),
            **host.key("here", 'from="10.0.0.0/8,127.0.0.0/8"'),
            **host.key("elsewhere", 'from="10.0.0.0/8,!127.0.0.1"'),
            **host.key("restricted", "restrict"),
            **host.key("loosened", "restrict", "pty"),
            **host.key("tightened", "pty", "restrict"),
            **host.key("expired", 'expiry-time="20200101"'),
        }
    )
    said = {label: host.login(label) for label in ("plain", "forced", "here", "elsewhere", "restricted", "expired")}
    assert said == {
        "plain": "deploy",
        "forced": "forced: id -un, q q",
        "here": "deploy",
        "elsewhere": "refused",
        "restricted": "deploy",
        "expired": "refused",
    }
    has_terminal = {
        label: host.ssh(label, "tty", options=("-tt",)).stdout.startswith("/dev/pts/") for label in TERMINAL
    }
    assert has_terminal == TERMINAL
    through = ("-W", "127.0.0.1:22")
    assert host.ssh("plain", options=through).stdout.startswith("SSH-2.0-")
    assert host.ssh("restricted", options=through).stderr.strip() == "stdio forwarding failed"
    host.again()


TERMINAL: Final = {"plain": True, "forced": False, "restricted": False, "loosened": True, "tightened": False}


def test_options_that_are_changed_count_for_the_next_login(host: Host) -> None:
    host.apply({**USER, **host.key("laptop")})
    assert host.login("laptop") == "deploy"
    host.apply({**USER, **host.key("laptop", 'command="echo only"')})
    assert host.login("laptop") == "only"
    host.sh(f"sed -i s/^command=.*ssh-ed25519/ssh-ed25519/ {FILE}")
    assert host.login("laptop") == "deploy"
    host.fleet.datum(host.machine, "apply")
    assert host.login("laptop") == "only"


def test_the_lines_of_one_key_are_tried_in_their_order_and_go_together(host: Host) -> None:
    """Only the first is compared, and a later one that fits lets in."""
    laptop, other = host.key("laptop", 'from="192.0.2.1"'), host.key("other")
    host.apply({**USER, **other})
    key = host.public("laptop")
    lines = f'from="192.0.2.1" {key}\ncommand="echo second" {key}\n'
    host.machine.run(["tee", "-a", FILE], input=lines)
    assert "nothing to do" not in host.apply({**USER, **other, **laptop, "file:/etc/more": {"content": ""}})
    assert host.login("laptop") == "second"
    host.apply({**USER, **other})
    assert host.login("laptop") == "refused"
    assert host.login("other") == "deploy"


REPAIRED: Final = (
    f"chmod 0666 {FILE}",
    f"chmod 0777 {FOLDER}",
    f"chgrp games {FOLDER} {FILE}; chmod 0770 {FOLDER}; chmod 0620 {FILE}",
)
TOLD: Final = {
    f"chmod 0757 {HOME}": (HOME, f"chmod 0755 {HOME}"),
    f"chgrp games {HOME}; chmod 0775 {HOME}": (HOME, f"chmod 0755 {HOME}"),
    f"chgrp deploy {HOME}; chmod 0775 {HOME}; gpasswd -a mail deploy": (HOME, "gpasswd -d mail deploy"),
    f"chown games {FILE}": (FILE, f"chown deploy {FILE}"),
    f"chown games {FOLDER}": (FOLDER, f"chown deploy {FOLDER}"),
}


def test_what_strict_modes_refuses_is_repaired_or_told(host: Host) -> None:
    declared = {**USER, **host.key("laptop")}
    host.apply(declared)
    for spoil in REPAIRED:
        host.sh(spoil)
        assert host.login("laptop") == "refused", spoil
        host.fleet.datum(host.machine, "apply")
        assert host.login("laptop") == "deploy", spoil
        host.again()
    for spoil, (path, correct) in TOLD.items():
        host.sh(spoil)
        assert host.login("laptop") == "refused", spoil
        said = host.fleet.datum(host.machine, "apply", code=1)
        assert f"sshd takes no key of deploy: '{path}'" in said
        host.sh(correct)
        assert host.login("laptop") == "deploy", correct
        host.again()


def test_a_home_that_strict_modes_refuses_is_corrected_by_who_declares_it(host: Host) -> None:
    home = {f"directory:{HOME}": {"owner": "deploy", "group": "deploy", "mode": "0750", "allow": ["access_loss"]}}
    declared = {**USER, **home, **host.key("laptop")}
    host.apply(declared)
    assert host.login("laptop") == "deploy"
    host.sh(f"chmod 0777 {HOME} {FOLDER}")
    assert host.login("laptop") == "refused"
    host.fleet.datum(host.machine, "apply")
    assert host.login("laptop") == "deploy"
    host.again()


def test_keys_stand_where_this_very_sshd_looks(host: Host) -> None:
    """A group is no name of a user: there sshd is asked."""
    host.configure(
        "AuthorizedKeysFile /etc/ssh/keys/%u\nMatch User deploy Group special\nAuthorizedKeysFile .ssh/special\n"
    )
    host.sh("mkdir /etc/ssh/keys; groupadd special")
    host.apply({**USER, **host.key("laptop")})
    assert host.sh("ls /etc/ssh/keys") == "deploy"
    assert host.login("laptop") == "deploy"
    host.sh("gpasswd -a deploy special")
    assert host.login("laptop") == "refused"
    host.apply({**USER, **host.key("laptop")})
    assert host.sh(f"ls {FOLDER}") == "special"
    assert host.login("laptop") == "deploy"
    host.again()


def test_where_sshd_is_not_strict_nothing_is_told(host: Host) -> None:
    host.configure("StrictModes no\n")
    host.apply({**USER, **host.key("laptop")})
    host.sh(f"chmod 0777 {HOME}")
    assert host.login("laptop") == "deploy"
    host.again()


def test_a_group_of_the_user_alone_is_nobody_else(host: Host) -> None:
    """So has Debian's sshd it, and a home that its group may write is no drift."""
    host.apply({**USER, **host.key("laptop")})
    host.sh(f"chmod 0775 {HOME}")
    assert host.login("laptop") == "deploy"
    host.again()


def test_a_lock_keeps_no_key_out_and_an_end_does(host: Host) -> None:
    """As the page of users has it: three ways to keep somebody out, each of something else."""
    laptop = host.key("laptop")

    def declared(**about: Any) -> dict[str, Any]:
        return {"user:deploy": {**USER["user:deploy"], **about}, **laptop}

    host.apply(declared(locked=True))
    assert host.login("laptop") == "deploy"
    host.apply(declared(locked=True, shell="/usr/sbin/nologin"))
    assert "not available" in host.login("laptop")
    host.apply(declared(locked=True, shell="/bin/sh", expires="1970-01-01"))
    done = host.ssh("laptop", "id", "-un")
    assert (done.returncode, done.stdout) == (255, "")
    assert "account deploy has expired" in host.sh("journalctl --no-pager --output=cat --since=-5min")
    host.apply(declared(locked=True, expires="2099-12-31"))
    assert host.login("laptop") == "deploy"
