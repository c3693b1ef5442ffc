"""Services on a booted Debian, against its own systemd; and on a root without one."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from attrs import evolve

from tests.harness.booted import Booted
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.providers.provider_on_host import OnHost

WANTS: Final = "/etc/systemd/system/multi-user.target.wants"
INSTALL: Final = "[Install]\nWantedBy=multi-user.target\n"
SLEEP: Final = f"[Service]\nExecStart=/bin/sleep infinity\n{INSTALL}"


@pytest.fixture
def host(booted: Booted, agent_bind: AgentBind) -> OnHost:
    return OnHost(booted, agent_bind)


def properties(host: OnHost, name: str) -> tuple[str, str]:
    found = host.property(name, "ActiveState", "UnitFileState")
    return found["ActiveState"], found["UnitFileState"]


def test_a_service_is_enabled_started_stopped_and_disabled(host: OnHost) -> None:
    host.unit("app.service", SLEEP)
    found = host.converge("service:app", running=True, enabled=True, settle=0.3)
    assert found["step"][:2] == ["create", [["enabled", False, True], ["running", False, True]]]
    assert properties(host, "app.service") == ("active", "enabled")
    assert host.do("service:app", running=True, enabled=True)["step"] is None
    host.sh("systemctl stop app.service")
    assert host.converge("service:app", running=True, settle=0)["step"][:2] == ["update", [["running", False, True]]]
    found = host.converge("service:app", running=False, enabled=False)
    assert properties(host, "app.service") == ("inactive", "disabled")
    assert "absent" in found["after"]


def test_what_is_deleted_neither_runs_nor_is_enabled(host: OnHost) -> None:
    host.unit("app.service", SLEEP)
    host.sh("systemctl enable --now app.service")
    assert "absent" in host.do("service:app", "delete")["after"]
    assert properties(host, "app.service") == ("inactive", "disabled")


def test_masks_leave_no_links_behind_and_are_lifted_before_anything_is_enabled(host: OnHost) -> None:
    """A mask after links of enablement leaves them orphaned (BundleWrap 5.1)."""
    host.converge("service:cron", running=False, enabled="masked")
    assert properties(host, "cron.service") == ("inactive", "masked")
    assert "cron" not in host.sh(f"ls {WANTS}")
    found = host.converge("service:cron", running=True, enabled=True, settle=0.2)
    assert found["step"][1] == [["enabled", "masked", True], ["running", False, True]]
    assert properties(host, "cron.service") == ("active", "enabled")
    host.converge("service:cron", enabled="masked")
    host.converge("service:cron", enabled=False)
    assert properties(host, "cron.service") == ("active", "disabled")


def test_what_is_enabled_until_the_next_boot_is_enabled_for_good(host: OnHost) -> None:
    host.unit("app.service", SLEEP)
    host.sh("systemctl enable --runtime app.service")
    found = host.converge("service:app", enabled=True)
    assert found["step"][1] == [["enabled", "enabled-runtime", True]]
    assert properties(host, "app.service")[1] == "enabled"


def test_wishes_that_cannot_hold_are_refused_with_the_reason(host: OnHost) -> None:
    host.machine.write(
        "/etc/init.d/old", "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: old\n### END INIT INFO\n", mode=0o755
    )
    host.unit("also.service", "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nAlso=app.service\n")
    host.unit("once.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
    host.sh("systemd-run --unit=made sleep infinity; systemctl mask --runtime cron.service")

    def why(origin: str, **attributes: Any) -> str:
        found = host.do(origin, **attributes)
        assert found["step"] is not None, found
        return " ".join(found["step"][2])

    assert "no [Install] section" in why("service:systemd-journald", enabled=True)
    assert "Also=" in why("service:also", enabled=True)
    assert "/etc/init.d" in why("service:old", enabled=True)
    assert "/etc/init.d" in why("service:old", running=True, enabled=False)
    assert "gone at the next boot" in why("service:made", enabled=True)
    assert "unmask --runtime" in why("service:cron", enabled=True)
    assert "command with a guard" in why("service:once", running=True)
    assert "would stand" in why("service:also", enabled="masked")
    assert "There is no unit nothing.service." in why("service:nothing", running=True)


def test_an_alias_has_the_identity_of_its_unit(host: OnHost) -> None:
    for name in ("getty@tty9", "autovt@tty9"):
        found = host.do(f"service:{name}", "look", running=True, enabled=True)["before"]
        assert "absent" in found
    host.sh("systemctl enable getty@tty9.service")
    both = [host.do(f"service:{name}", "look", running=True)["before"] for name in ("getty@tty9", "autovt@tty9")]
    assert [each["identity"] for each in both] == ["getty@tty9.service"] * 2
    assert both[1]["present"]["alias_of"] == "getty@tty9.service"
    found = host.do("service:autovt@tty9", enabled=False)
    assert "Declare service:getty@tty9." in found["step"][2][0]


def test_a_start_that_fails_is_told_with_the_journal_and_not_repeated_at_once(host: OnHost) -> None:
    host.unit(
        "app.service", "[Service]\nExecStartPre=/bin/sh -c 'echo no such database; exit 3'\nExecStart=/bin/true\n"
    )
    code, _, detail = host.do("service:app", running=True)["failed"]
    assert code == "job-failed"
    assert "no such database" in detail
    code, failure, detail = host.do("service:app", running=True)["failed"]
    assert (code, failure) == ("unit-backs-off", "busy")
    assert "(exit-code)" in detail
    assert "no such database" in detail


def test_a_service_that_does_not_stay_up_is_no_success(host: OnHost) -> None:
    """A simple service is active as soon as it was forked."""
    host.unit("ends.service", "[Service]\nExecStart=/bin/sh -c 'echo farewell; sleep 0.3; exit 7'\n")
    code, _, detail = host.do("service:ends", running=True, settle=2)["failed"]
    assert code == "unit-not-up"
    assert "it is failed (failed), with the result exit-code" in detail
    assert "farewell" in detail
    again = "[Service]\nExecStart=/bin/sleep 0.3\nRestart=always\nRestartSec=100ms\n"
    host.unit("again.service", again + "[Unit]\nStartLimitIntervalSec=0\n")
    code, _, detail = host.do("service:again", running=True, settle=1.45)["failed"]
    assert code == "unit-not-up"
    assert "started again" in detail or "auto-restart" in detail or "activating" in detail


AGAIN: Final = 'until [ "$(systemctl show -p SubState --value app.service)" = auto-restart ]; do sleep 0.02; done'


def test_a_unit_that_starts_again_and_again_does_not_run(host: OnHost) -> None:
    host.unit("app.service", "[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=1h\n")
    host.sh(f"systemctl start app.service; {AGAIN}")
    assert host.property("app.service", "SubState")["SubState"] == "auto-restart"
    assert host.do("service:app", "look", running=True)["before"]["present"]["running"] == "starting-again"


def test_what_is_about_to_be_started_again_is_stopped_where_it_shall_not_run(host: OnHost) -> None:
    host.unit("app.service", "[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=1h\n")
    host.sh(f"systemctl start app.service; {AGAIN}")
    host.converge("service:app", running=False)
    assert host.property("app.service", "ActiveState")["ActiveState"] == "inactive"


def test_what_hit_its_start_limit_is_let_go_and_tried_once(host: OnHost) -> None:
    """The limit would refuse the start itself, for good (systemd 10529)."""
    limit = "[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=1h\n"
    host.unit("app.service", f"{limit}[Service]\nExecStart=/bin/sh -c '[ -e /run/well ] && exec sleep infinity'\n")
    host.sh("for i in 1 2 3 4; do systemctl start app.service; sleep 0.1; done")
    assert "repeated too quickly" in host.sh("systemctl start app.service; journalctl -u app.service -o cat")
    assert host.do("service:app", running=True)["failed"][:2] == ["unit-backs-off", "busy"]
    host.sh("touch /run/well")
    evolve(host, later=60).converge("service:app", running=True, settle=0.5)
    assert host.property("app.service", "ActiveState")["ActiveState"] == "active"


def test_marks_survive_the_manager_and_end_with_a_restart(host: OnHost) -> None:
    host.unit("app.service", f"{SLEEP}[Service]\nExecReload=/bin/true\n")
    host.sh("systemctl start app.service")
    before = host.property("app.service", "InvocationID")
    assert host.do("service:app", "mark restart", running=True)["after"]["present"]["owes"] == "restart"
    host.sh("systemctl daemon-reload; systemctl daemon-reexec; systemctl reload app.service")
    assert host.do("service:app", "look", running=True)["before"]["present"]["owes"] == "restart"
    found = host.do("service:app", "refresh", running=True, settle=0.2)
    assert found["step"][0] == "restart"
    assert found["after"]["present"]["owes"] is None
    assert host.property("app.service", "InvocationID") != before
    assert host.do("service:app", "refresh", running=True)["step"] is None


def test_a_reload_clears_both_marks_and_one_that_fails_none(host: OnHost) -> None:
    host.unit(
        "app.service", f"{SLEEP}[Service]\nExecReload=/bin/sh -c '[ ! -e /run/broken ] || {{ echo bad; exit 1; }}'\n"
    )
    host.sh("systemctl start app.service; touch /run/broken")
    before = host.property("app.service", "InvocationID")
    assert host.do("service:app", "mark reload", running=True)["after"]["present"]["owes"] == "reload"
    found = host.do("service:app", "refresh", running=True, settle=0)
    assert found["step"][0] == "reload"
    assert found["failed"][0] == "job-failed"
    assert found["after"]["present"]["owes"] == "reload"
    host.sh("rm /run/broken")
    assert host.do("service:app", "refresh", running=True, settle=0)["after"]["present"]["owes"] is None
    assert host.property("app.service", "InvocationID") == before


def test_what_cannot_reload_is_restarted(host: OnHost) -> None:
    host.unit("app.service", SLEEP)
    host.sh("systemctl start app.service")
    host.do("service:app", "mark reload", running=True)
    found = host.do("service:app", "refresh", running=True, settle=0)
    assert found["step"][0] == "restart"
    assert found["after"]["present"]["owes"] is None


def test_what_does_not_run_cannot_be_marked_and_owes_nothing(host: OnHost) -> None:
    host.unit("app.service", SLEEP)
    host.sh("systemctl enable app.service")
    assert host.do("service:app", "mark restart", running=True)["after"]["present"]["owes"] is None


def test_a_socket_is_started_although_its_service_runs(host: OnHost) -> None:
    host.unit("app.socket", "[Socket]\nListenStream=/run/app.sock\n[Install]\nWantedBy=sockets.target\n")
    host.unit("app.service", "[Service]\nExecStart=/bin/sleep infinity\n")
    host.sh("systemctl start app.service")
    assert host.machine.run(["systemctl", "start", "app.socket"], check=False).returncode != 0
    host.sh("systemctl reset-failed app.socket")
    found = host.converge("service:app.socket", running=True, enabled=True)
    assert found["remarks"] == ["app.service was restarted with its socket, which cannot be taken while it runs"]
    assert host.sh("systemctl is-active app.socket app.service") == "active\nactive"
    found = host.converge("service:app", running=False)
    assert found["remarks"] == ["app.socket can still start it"]


def test_a_socket_that_cannot_be_restarted_leaves_its_service_running(host: OnHost) -> None:
    """Its service has another name, and is declared by nobody."""
    host.unit("app.socket", "[Socket]\nListenStream=/run/app.sock\nService=back.service\n")
    host.unit("back.service", "[Service]\nExecStart=/bin/sleep infinity\n")
    host.sh("systemctl start app.socket back.service && mkdir /etc/systemd/system/app.socket.d")
    host.machine.write("/etc/systemd/system/app.socket.d/a.conf", "[Socket]\nExecStartPre=/bin/false\n")
    host.sh("systemctl daemon-reload")
    assert host.do("service:app.socket", "mark restart", running=True)["after"]["present"]["owes"] == "restart"
    found = host.do("service:app.socket", "refresh", running=True)
    assert found["failed"][0] == "job-failed"
    assert found["remarks"] == ["back.service was restarted with its socket, which cannot be taken while it runs"]
    assert host.sh("systemctl is-active back.service") == "active"


def test_timers_are_units_like_others(host: OnHost) -> None:
    host.unit("app.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
    host.unit("app.timer", "[Timer]\nOnCalendar=yearly\n[Install]\nWantedBy=timers.target\n")
    host.converge("service:app.timer", running=True, enabled=True)
    assert host.sh("systemctl is-active app.timer; systemctl is-enabled app.timer") == "active\nenabled"


def test_a_oneshot_that_remains_runs(host: OnHost) -> None:
    host.unit("app.service", f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n{INSTALL}")
    host.converge("service:app", running=True)
    assert host.property("app.service", "SubState")["SubState"] == "exited"


def test_a_unit_file_that_changed_is_loaded_before_the_start(host: OnHost) -> None:
    host.unit("app.service", "[Service]\nExecStart=/bin/false\n")
    host.sh("systemctl show app.service > /dev/null")
    host.machine.write("/etc/systemd/system/app.service", SLEEP)
    host.converge("service:app", running=True, settle=0.2)
    assert host.property("app.service", "NeedDaemonReload")["NeedDaemonReload"] == "no"


@pytest.fixture
def still(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> OnHost:
    return OnHost(make_oneshot(), agent_bind)


def test_without_a_manager_links_are_made_and_what_runs_is_not_applicable(still: OnHost) -> None:
    still.machine.write("/etc/systemd/system/app.service", SLEEP)
    found = still.converge("service:app", running=True, enabled=True)
    assert found["after"]["present"] == {"running": {"na": "no-manager"}, "enabled": True, "owes": {"na": "no-manager"}}
    assert still.sh("systemctl --root=/ is-enabled app.service") == "enabled"
    still.converge("service:app", enabled=False)
    assert still.sh("systemctl --root=/ is-enabled app.service") == "disabled"
    still.converge("service:cron", running=False, enabled="masked")
    assert still.sh(f"readlink /etc/systemd/system/cron.service; ls {WANTS} | grep cron") == "/dev/null"
    still.converge("service:cron", running=True, enabled=True)
    assert still.sh("systemctl --root=/ is-enabled cron.service") == "enabled"


def test_below_another_root_nothing_of_this_one_changes(still: OnHost) -> None:
    still.machine.write("/etc/systemd/system/app.service", SLEEP)
    still.sh("mkdir -p /mnt/root/usr && cp -a /bin /lib /lib64 /sbin /mnt/root/ && mount --rbind /usr /mnt/root/usr")
    still.sh("mkdir -p /mnt/root/etc/systemd/system && cp /etc/passwd /etc/group /mnt/root/etc/")
    still.machine.write("/mnt/root/etc/systemd/system/other.service", SLEEP)
    below = OnHost(still.machine, still.agent, "/mnt/root")
    below.converge("service:other", running=True, enabled=True)
    assert still.sh("ls -l /mnt/root/etc/systemd/system/multi-user.target.wants").endswith(
        "/etc/systemd/system/other.service"
    )
    assert "other" not in still.sh(f"ls {WANTS}")
    assert below.do("service:app", "look", enabled=True)["before"] == {
        "absent": {"unit_known": False, "running": {"na": "no-manager"}, "owes": {"na": "no-manager"}}
    }


def test_what_lies_on_the_disk_is_read_as_systemctl_reads_it(still: OnHost) -> None:
    """Every unit file of a Debian; a template's own state is that of its default instance, which is a unit."""
    script = """
import subprocess
from datum.host.local import LocalHost
from datum_providers.shared.unit_files import UnitFiles
from datum_providers.shared.units import UnitName
argv = ["systemctl", "--root=/", "list-unit-files", "--no-legend", "--no-pager", "--full"]
lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
files = UnitFiles(LocalHost("/").reader())
for line in lines:
    name, state = line.split()[:2]
    found = files.state(UnitName(name))
    print(name, state, found, "same" if found == state or UnitName(name).is_template else "other")
"""
    done = still.machine.run([still.agent.argv[0], "-c", script], env=still.agent.env)
    lines = done.stdout.splitlines()
    assert len(lines) >= 150
    assert {line.split()[1] for line in lines} >= {"static", "enabled", "disabled", "masked", "alias", "indirect"}
    assert [line for line in lines if line.endswith("other")] == []
