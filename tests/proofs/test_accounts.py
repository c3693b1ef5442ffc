"""Accounts on a real Debian, made, changed and removed by its own shadow tools."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.accounts_on_host import line_of, outcomes, user
from tests.proofs.on_host import PLACE, FleetOnHost

HASH: Final = "$6$saltsalt$" + "a" * 86
OTHER_HASH: Final = "$y$j9T$saltsalt$" + "b" * 43
THIRD_HASH: Final = "$y$j9T$saltsalt$" + "c" * 43
_LOG: Final = "/var/log/usermod"
_SPY: Final = f'#!/bin/sh\necho "$@" >> {_LOG}\nexec /usr/sbin/usermod.real "$@"\n'


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Oneshot:
    return make_oneshot(binds=(fleet.bind,))


def test_accounts_that_need_each_other_are_made_in_one_pass(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit(
        {
            "group:web": {"gid": 4000},
            "group:ops": {"members": ["carol"]},
            "user:carol": {"expires": "never", "home": "/srv/people/far/carol", "max_days": -1, "min_days": -1},
            "user:deploy": {
                "uid": 4001,
                "group": "web",
                "groups": ["mail", "team"],
                "comment": "Dëploy, the 1st",
                "home": "/srv/deploy",
                "shell": "/bin/bash",
                "password": HASH,
                "locked": True,
                "expires": "2031-12-31",
                "min_days": 1,
                "max_days": 90,
                "warn_days": 5,
                "inactive_days": 10,
            },
            "user:App.svc": {"system": True, "locked": False},
            "group:team": {"system": True},
            "file:/srv/deploy/token": {"content": "t\n", "owner": "deploy", "group": 4000, "requires": ["user:deploy"]},
        }
    )
    fleet.enrol(machine)
    assert "7 to create" in fleet.datum(machine, "plan")
    fleet.datum(machine, "apply")
    assert line_of(machine, "/etc/passwd", "deploy") == "deploy:x:4001:4000:Dëploy, the 1st:/srv/deploy:/bin/bash"
    name, field, _, *days = line_of(machine, "/etc/shadow", "deploy").split(":")
    assert (name, field, days) == ("deploy", f"!{HASH}", ["1", "90", "5", "10", "22644", ""])
    assert line_of(machine, "/etc/group", "mail").endswith(":deploy")
    assert line_of(machine, "/etc/group", "ops").endswith(":carol")
    assert line_of(machine, "/etc/gshadow", "ops").endswith(":carol")
    assert line_of(machine, "/etc/shadow", "App.svc").split(":")[1] == "*"
    assert int(line_of(machine, "/etc/group", "team").split(":")[2]) < 1000
    shown = machine.run(["stat", "-c", "%U:%G %a", "/srv/deploy", "/srv/people/far/carol", "/srv/deploy/token"]).stdout
    assert shown.split() == ["deploy:web", "755", "carol:carol", "755", "deploy:web", "644"]
    assert line_of(machine, "/etc/shadow", "carol").split(":")[3:5] == ["", ""]
    assert not machine.run(["sh", "-c", "ls -d /home/App.svc"], check=False).stdout
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_numbers_that_are_given_are_taken_by_nobody_else(machine: Oneshot, fleet: FleetOnHost) -> None:
    """The tools choose the number after the greatest; the account without a number stands first by its name."""
    machine.run(["useradd", "-u", "4001", "there"])
    fleet.commit({"user:a": {}, "user:z": {"uid": 4002}, "group:b": {}, "group:y": {"gid": 4003}})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert line_of(machine, "/etc/passwd", "z").split(":")[2] == "4002"
    assert line_of(machine, "/etc/group", "y").split(":")[2] == "4003"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_who_is_in_a_group_is_exact_down_to_nobody(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["sh", "-c", "groupadd ops; gpasswd -M games,mail ops"])
    fleet.commit({"group:ops": {"members": ["games", "news"]}})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert line_of(machine, "/etc/group", "ops").endswith(":games,news")
    fleet.commit({"group:ops": {"members": []}})
    fleet.datum(machine, "apply")
    assert line_of(machine, "/etc/group", "ops").endswith(":")
    assert line_of(machine, "/etc/gshadow", "ops").endswith(":")
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_a_home_comes_from_the_skeleton_unless_it_is_not_wanted(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"user:a": {}, "user:b": {"create_home": False}, "user:c": {"system": True, "create_home": True}})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.run(["sh", "-c", "cd /home; echo *; test -f a/.bashrc"]).stdout.split() == ["a", "c"]


def test_one_call_of_usermod_makes_all_changes_and_swaps_groups(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["sh", "-c", "groupadd a; groupadd b; useradd -m -g a -G b,mail deploy; usermod -p '!!' deploy"])
    machine.run(["mv", "/usr/sbin/usermod", "/usr/sbin/usermod.real"])
    machine.write("/usr/sbin/usermod", _SPY, mode=0o755)
    wanted = {"group": "b", "groups": ["a"], "groups_mode": "exact", "comment": "x y", "shell": "/bin/sh"}
    fleet.commit(user(**wanted, expires="2031-12-31", uid=5000))
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply")
    assert machine.read(_LOG).count(b"\n") == 1
    assert machine.run(["id", "-Gn", "deploy"]).stdout.split() == ["b", "a"]
    assert line_of(machine, "/etc/group", "mail").endswith(":")
    assert machine.run(["stat", "-c", "%u", "/home/deploy"]).stdout == "5000\n"
    assert "find / -xdev -uid 1000" in said
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_groups_that_are_not_declared_are_kept_by_default(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["useradd", "-G", "sudo", "deploy"])
    fleet.commit(user(groups=["mail"]))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert set(machine.run(["id", "-Gn", "deploy"]).stdout.split()) == {"deploy", "mail", "sudo"}
    fleet.commit(user(groups=["mail"], groups_mode="exact"))
    assert "access_loss" in fleet.datum(machine, "apply", code=1)
    assert "sudo" in machine.run(["id", "-Gn", "deploy"]).stdout
    fleet.commit(user(groups=["mail"], groups_mode="exact", allow=["access_loss"]))
    fleet.datum(machine, "apply")
    assert set(machine.run(["id", "-Gn", "deploy"]).stdout.split()) == {"deploy", "mail"}


# The field before, what is declared, the field after.
LOCKS: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("!", {"locked": False}, "*"),
    ("*", {"locked": True}, "!*"),
    ("!!", {"locked": True}, "!!"),
    (f"!{HASH}", {"locked": False}, HASH),
    (f"!!{HASH}", {"locked": False}, HASH),
    (HASH, {"locked": True}, f"!{HASH}"),
    (f"!{HASH}", {"password": OTHER_HASH}, f"!{OTHER_HASH}"),
    (HASH, {"password": f"!{OTHER_HASH}"}, f"!{OTHER_HASH}"),
    (HASH, {"password": "*"}, "*"),
    ("!", {"password": HASH}, HASH),
    ("!", {"password": HASH, "locked": True}, f"!{HASH}"),
    ("!", {"password": HASH, "locked": False}, HASH),
    ("", {"locked": True}, "!"),
    ("", {"password": HASH}, HASH),
)


def test_lock_and_password_are_two_things(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["sh", "-c", f"for i in $(seq 0 {len(LOCKS) - 1}); do useradd lock$i; done"])
    shadow = machine.read("/etc/shadow").decode()
    for number, (before, _, _) in enumerate(LOCKS):
        shadow = shadow.replace(f"lock{number}:!:", f"lock{number}:{before}:")
    machine.write("/etc/shadow", shadow, mode=0o640)
    fleet.commit({f"user:lock{number}": declared for number, (_, declared, _) in enumerate(LOCKS)})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    found = [line_of(machine, "/etc/shadow", f"lock{number}").split(":")[1] for number in range(len(LOCKS))]
    assert found == [after for _, _, after in LOCKS]
    assert "nothing to do" in fleet.datum(machine, "apply")


def traces_of(*secrets: str) -> Iterator[str]:
    """Yield what would give a hash away: itself, written otherwise, or any digest of it that takes no key."""
    for secret in secrets:
        for text in (secret, f"!{secret}", f"{secret}\n", secret.rpartition("$")[2]):
            data = text.encode()
            digests = [hashlib.new(name, data).digest() for name in ("md5", "sha1", "sha256", "sha512", "blake2b")]
            for each in (data, *digests):
                yield each.hex()
                yield base64.b64encode(each).decode().rstrip("=")
                yield base64.urlsafe_b64encode(each).decode().rstrip("=")
            yield text.strip()


def test_a_hash_stands_in_no_argument_and_in_nothing_that_is_written(machine: Oneshot, fleet: FleetOnHost) -> None:
    """Neither the plan, its record, the report, nor the argv of any program shows it, or what is made from it."""
    machine.run(["sh", "-c", "for name in changed kept broken; do useradd $name; done"])
    machine.run(["chpasswd", "-e"], input=f"changed:{THIRD_HASH}\nkept:{OTHER_HASH}\n")
    shadow = machine.read("/etc/shadow").decode()
    machine.write("/etc/shadow", re.sub(r"broken:!:\d+", f"broken:!:{THIRD_HASH}", shadow), mode=0o640)
    made = {**user(password=HASH), "user:changed": {"password": HASH, "locked": True}}
    fleet.commit({**made, "user:kept": {"password": OTHER_HASH}, "user:broken": {"password": OTHER_HASH}})
    fleet.enrol(machine)
    said = fleet.datum(machine, "plan", "--record", "/srv/record")
    said += fleet.datum(machine, "plan", "--json")
    said += fleet.datum(machine, "plan", "--observed", "/srv/record", "--fleet", PLACE)
    strace = ["strace", "-f", "-qq", "-e", "trace=execve", "-s", "9999", "-o", "/srv/trace"]
    traced = machine.run([*strace, *fleet.argv, "apply"], env=fleet.env, check=False)
    written = machine.run(["sh", "-c", "cat /var/log/datum/reports/* /srv/trace /srv/record"]).stdout
    written += machine.run(["sh", "-c", "grep -r '' /var/lib/datum --exclude-dir=*.git --exclude-dir=objects"]).stdout
    assert "chpasswd" in written
    assert "has something else" in written
    found = [line_of(machine, "/etc/shadow", name).split(":")[1] for name in ("deploy", "changed", "kept")]
    assert found == [HASH, f"!{HASH}", OTHER_HASH]
    said += fleet.datum(machine, "report") + fleet.datum(machine, "adopt", "user:changed")
    shown = said + traced.stdout + traced.stderr + written
    assert not [text for text in traces_of(HASH, OTHER_HASH, THIRD_HASH) if text in shown]


def test_a_plan_with_a_password_is_made_again_from_its_record(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["sh", "-c", "useradd deploy; useradd kept"])
    machine.run(["chpasswd", "-e"], input=f"deploy:{OTHER_HASH}\nkept:{HASH}\n")
    fleet.commit({**user(password=HASH), "user:kept": {"password": HASH}})
    fleet.enrol(machine)
    planned = fleet.datum(machine, "plan", "--json", "--record", "/srv/record")
    assert outcomes(planned) == {"user:deploy": None}
    assert fleet.datum(machine, "plan", "--observed", "/srv/record", "--fleet", PLACE, "--json") == planned


def test_an_account_that_anybody_can_enter_is_an_error(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["useradd", "deploy"])
    machine.write("/etc/shadow", machine.read("/etc/shadow").decode().replace("deploy:!:", "deploy::"), mode=0o640)
    fleet.commit(user(shell="/bin/sh"))
    fleet.enrol(machine)
    assert "has an empty password" in fleet.datum(machine, "apply", code=1)


def test_an_account_in_use_is_told_and_nothing_is_killed(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["useradd", "-m", "deploy"])
    with machine.popen(["setpriv", "--reuid", "deploy", "--clear-groups", "sleep", "1000"]) as process:
        try:
            pid = machine.run(["sh", "-c", "until pgrep -u deploy sleep; do :; done"]).stdout.split()[0]
            for change in ({"uid": 4001}, {"home": "/srv/deploy"}):
                fleet.commit({**user(**change), "user:other": {}})
                fleet.enrol(machine) if change.get("uid") else None
                said = fleet.datum(machine, "apply", code=1)
                assert f"has running processes ({pid})" in said
                assert line_of(machine, "/etc/passwd", "deploy") == "deploy:x:1000:1000::/home/deploy:/bin/sh"
            fleet.commit({"user:deploy": {"absent": True, "allow": ["access_loss"]}})
            assert f"has running processes ({pid})" in fleet.datum(machine, "apply", code=1)
            fleet.commit(user(shell="/bin/bash", comment="still here"))
            fleet.datum(machine, "apply")
            assert line_of(machine, "/etc/passwd", "deploy").endswith(":still here:/home/deploy:/bin/bash")
            assert machine.run(["pgrep", "-u", "deploy", "sleep"]).stdout.split() == [pid]
        finally:
            machine.run(["pkill", "-u", "deploy"], check=False)
            process.kill()
    assert line_of(machine, "/etc/passwd", "other")


def test_a_number_that_is_somebody_elses_is_refused(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"user:deploy": {"uid": 33}, "group:web": {"gid": 8}, "user:fine": {}})
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply", code=1)
    assert "The uid 33 is that of www-data on this host." in said
    assert "The gid 8 is that of mail on this host." in said
    assert [line_of(machine, "/etc/passwd", name) for name in ("deploy", "web")] == ["", ""]
    assert line_of(machine, "/etc/passwd", "fine")


def test_removing_an_account_keeps_its_home_and_takes_its_group(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["sh", "-c", "useradd -m deploy; groupadd web; useradd -g web www; touch /home/deploy/a"])
    absent = {"absent": True, "allow": ["access_loss"]}
    fleet.commit({"user:deploy": absent, "group:deploy": {"absent": True}, "group:web": {"absent": True}})
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply", code=1)
    assert "web is still the primary group of www." in said
    assert not line_of(machine, "/etc/passwd", "deploy")
    assert not line_of(machine, "/etc/group", "deploy")
    assert line_of(machine, "/etc/group", "web")
    assert machine.run(["ls", "/home/deploy"]).stdout == "a\n"


@pytest.mark.parametrize("members", ["", "www"])
def test_removing_an_account_leaves_the_group_of_its_name_that_is_declared(
    machine: Oneshot, fleet: FleetOnHost, members: str
) -> None:
    """Number and members stay, and so does what lies in the home: nothing of it changes hands."""
    machine.run(["sh", "-c", "useradd www; useradd -m deploy; gpasswd -a deploy mail; touch /home/deploy/a"])
    machine.run(["gpasswd", "--members", members, "deploy"])
    files = ("/etc/group", "/etc/gshadow")
    before = [line_of(machine, file, "deploy") for file in files]
    home = machine.run(["stat", "-c", "%u:%g %a", "/home/deploy", "/home/deploy/a"]).stdout
    fleet.commit({"user:deploy": {"absent": True, "allow": ["access_loss"]}, "group:deploy": {}})
    fleet.enrol(machine)
    assert "Converged" in fleet.datum(machine, "apply")
    assert not line_of(machine, "/etc/passwd", "deploy")
    assert [line_of(machine, file, "deploy") for file in files] == before
    assert machine.run(["stat", "-c", "%u:%g %a", "/home/deploy", "/home/deploy/a"]).stdout == home
    assert "nothing to do" in fleet.datum(machine, "apply")
    assert not machine.run(["sh", "-c", "grep -w deploy /etc/group | grep -v ^deploy:"], check=False).stdout


def test_root_and_accounts_of_the_system_are_never_removed(machine: Oneshot, fleet: FleetOnHost) -> None:
    absent = {"absent": True, "allow": ["access_loss", "data_loss"]}
    fleet.commit({"user:root": absent, "user:www-data": absent, "user:nobody": absent, "group:sudo": absent})
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply", "--json", code=1)
    assert set(outcomes(said).values()) == {"failed"}
    for name in ("root", "www-data", "nobody"):
        assert line_of(machine, "/etc/passwd", name)
    assert line_of(machine, "/etc/group", "sudo")


def test_accounts_stay_when_their_declaration_is_dropped(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit({"user:deploy": {"on_removal": "delete"}, "group:web": {}, "user:other": {}})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    fleet.commit({"user:other": {}})
    fleet.datum(machine, "apply")
    assert line_of(machine, "/etc/passwd", "deploy")
    assert line_of(machine, "/etc/group", "web")


def test_a_broken_line_concerns_its_own_account_and_an_empty_file_the_host(
    machine: Oneshot, fleet: FleetOnHost
) -> None:
    whole = machine.read("/etc/passwd").decode()
    machine.write("/etc/passwd", f"{whole}deploy:x:1000\nwide:x:1:1::/:/bin/sh\nwide:x:2:2::/:/bin/sh\n")
    fleet.commit({"user:deploy": {}, "user:wide": {}, "user:fine": {}})
    fleet.enrol(machine)
    said = outcomes(fleet.datum(machine, "apply", "--json", code=1))
    assert said == {"user:deploy": "unobservable", "user:wide": "unobservable", "user:fine": "applied"}
    machine.write("/etc/passwd", "")
    assert "/etc/passwd is empty." in fleet.datum(machine, "apply", code=71)


def test_below_another_root_the_tools_of_that_root_run(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.run(["sh", "-c", "mkdir -p /mnt/layer /mnt/image; mount -t tmpfs tmpfs /mnt/layer"])
    machine.run(["sh", "-c", "mkdir /mnt/layer/up /mnt/layer/work"])
    options = "lowerdir=/,upperdir=/mnt/layer/up,workdir=/mnt/layer/work"
    machine.run(["mount", "-t", "overlay", "overlay", "-o", options, "/mnt/image"])
    fleet.commit({"group:web": {}, **user(group="web", password=HASH, max_days=30)})
    fleet.datum(machine, "init", "--repo", "/srv/fleet", "--host", "web1", "--no-timer", "--root", "/mnt/image")
    fleet.datum(machine, "apply", "--root", "/mnt/image")
    assert not line_of(machine, "/etc/passwd", "deploy")
    assert line_of(machine, "/mnt/image/etc/passwd", "deploy")
    assert line_of(machine, "/mnt/image/etc/shadow", "deploy").split(":")[1] == HASH
    assert "nothing to do" in fleet.datum(machine, "apply", "--root", "/mnt/image")


def test_a_service_keeps_its_account_from_moving_on_a_booted_host(
    make_booted: Callable[..., Booted], fleet: FleetOnHost
) -> None:
    machine = make_booted(binds=(fleet.bind,))
    fleet.commit({"user:svc": {"system": True}})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    machine.run(["systemd-run", "--uid=svc", "--unit=busy", "sleep", "1000"])
    fleet.commit({"user:svc": {"system": True, "uid": 4001}})
    assert "svc has running processes" in fleet.datum(machine, "apply", code=1)
    stopped = {"service:busy": {"running": False, "allow": ["outage"]}}
    fleet.commit({"user:svc": {"system": True, "uid": 4001, "after": ["service:busy"]}, **stopped})
    fleet.datum(machine, "apply")
    assert line_of(machine, "/etc/passwd", "svc").split(":")[2] == "4001"
