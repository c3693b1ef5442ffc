"""Unit files and drop-ins on a booted Debian, judged by its systemd-analyze and loaded by its systemd."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.harness.booted import Booted
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.providers.provider_on_host import OnHost

SYSTEM: Final = "/etc/systemd/system"
SLEEP: Final = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


@pytest.fixture
def host(booted: Booted, agent_bind: AgentBind) -> OnHost:
    return OnHost(booted, agent_bind)


@pytest.fixture
def still(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> OnHost:
    return OnHost(make_oneshot(), agent_bind)


def nice(host: OnHost) -> str:
    return host.property("app.service", "Nice")["Nice"]


def test_unit_file_and_drop_in_are_written_and_loaded(host: OnHost) -> None:
    host.converge("unit:app.service", content=SLEEP)
    host.converge("unit:app.service/nice", content="[Service]\nNice=5\n")
    assert nice(host) == "5"
    host.sh("systemctl start app.service")
    found = host.converge("unit:app.service/nice", content="[Service]\nNice=6\n")
    assert found["after"]["present"]["loaded"] == "current"
    assert nice(host) == "6"
    assert host.sh(f"stat -c '%a %U %G' {SYSTEM}/app.service {SYSTEM}/app.service.d/nice.conf") == "\n".join(
        ["644 root root"] * 2
    )
    assert host.do("unit:app.service", content=SLEEP)["step"] is None


def test_what_somebody_else_wrote_is_loaded_once(host: OnHost) -> None:
    """The bytes are as wanted, and still the manager runs by others (puppet-systemd 234)."""
    host.converge("unit:app.service", content=SLEEP)
    host.converge("unit:app.service/nice", content="[Service]\nNice=5\n")
    # What does not run is read from the disk whenever somebody asks.
    host.sh("systemctl start app.service")
    host.sh(f"printf '[Service]\\nNice=7\\n' > {SYSTEM}/app.service.d/nice.conf")
    found = host.converge("unit:app.service/nice", content="[Service]\nNice=7\n")
    assert found["step"][1] == [["loaded", "stale", "current"]]
    assert nice(host) == "7"


def test_a_unit_that_is_wrong_does_not_reach_the_disk(host: OnHost) -> None:
    wrong = {
        "[Servic\nExecStart=/bin/true\n": "Invalid section header",
        "[Service]\nExecStart=/no/where\n": "not executable",
        "[Service]\nExecStart=/bin/true\nType=bogus\n": "bogus",
        "[Service]\nExecStart=/bin/true\nExceStop=/bin/true\n": "ExceStop",
    }
    for content, words in wrong.items():
        code, cause, detail = host.do("unit:app.service", content=content)["failed"]
        assert (code, cause) == ("check-failed", "check")
        assert words in detail
    assert host.sh(f"ls -A {SYSTEM} | grep app") == ""


def test_a_drop_in_that_spoils_its_unit_does_not_reach_the_disk(host: OnHost) -> None:
    host.converge("unit:cron.service/own", content="[Service]\nNice=5\n")
    wrong = {
        "[Servic\nNice=6\n": "Invalid section header",
        "[Service]\nNice=high\n": "high",
        "[Service]\nExecStart=\nExecStart=/no/where\n": "not executable",
    }
    for content, words in wrong.items():
        code, _, detail = host.do("unit:cron.service/own", content=content)["failed"]
        assert code == "check-failed"
        assert words in detail
    assert host.sh(f"cat {SYSTEM}/cron.service.d/own.conf") == "[Service]\nNice=5"


def test_warnings_of_the_package_are_no_fault_of_a_drop_in(host: OnHost) -> None:
    host.machine.write("/usr/lib/systemd/system/odd.service", f"[Unit]\nNewerThanThis=yes\n{SLEEP}")
    host.converge("unit:odd.service/own", content="[Service]\nNice=5\n")


def test_a_drop_in_may_come_before_its_unit(host: OnHost) -> None:
    found = host.converge("unit:later.service/own", content="[Service]\nNice=5\n")
    assert found["remarks"] == ["not_verified: later.service is not there yet"]


def test_templates_and_their_drop_ins_are_judged(host: OnHost) -> None:
    host.converge("unit:app@.service", content="[Service]\nExecStart=/bin/echo %i\n")
    host.converge("unit:app@.service/own", content="[Service]\nNice=5\n")
    assert host.do("unit:app@.service/own", content="[Service]\nNice=high\n")["failed"][0] == "check-failed"
    assert host.property("app@one.service", "Nice")["Nice"] == "5"


def test_what_runs_from_a_file_is_stopped_and_disabled_before_the_file_goes(host: OnHost) -> None:
    host.unit("app.service", SLEEP)
    host.sh("systemctl enable --now app.service")
    assert "absent" in host.do("unit:app.service", "delete", content=SLEEP)["after"]
    assert host.property("app.service", "LoadState", "ActiveState") == {
        "LoadState": "not-found",
        "ActiveState": "inactive",
    }
    assert host.sh(f"find {SYSTEM} -name 'app*'") == ""


def test_instances_are_disabled_before_their_template_goes(host: OnHost) -> None:
    host.unit("app@.service", SLEEP)
    host.sh("systemctl enable app@one.service app@two.service")
    host.do("unit:app@.service", "delete", content=SLEEP)
    assert host.sh(f"find {SYSTEM} -name 'app*'") == ""


def test_instances_that_run_are_stopped_before_their_template_goes(host: OnHost) -> None:
    """A backslash of a name is one in the manager's patterns, too."""
    for name in ("app@.service", r"a\x2db@.service", r"a\x2dbc@.service"):
        host.unit(name, SLEEP)
    host.sh(r"systemctl start app@one 'app@t\x2dwo' 'a\x2db@one' 'a\x2dbc@one'")
    host.do("unit:app@.service", "delete", content=SLEEP)
    host.do(r"unit:a\x2db@.service", "delete", content=SLEEP)
    left = host.sh("systemctl list-units --plain --no-legend --state=running 'a*@*' | cut -d' ' -f1")
    assert left == r"a\x2dbc@one.service"


def test_with_a_drop_in_goes_what_it_said_and_its_directory(host: OnHost) -> None:
    host.unit("app.service", SLEEP)
    host.converge("unit:app.service/nice", content="[Service]\nNice=5\n")
    host.do("unit:app.service/nice", "delete")
    assert nice(host) == "0"
    assert host.machine.run(["test", "-e", f"{SYSTEM}/app.service.d"], check=False).returncode == 1


def test_a_removal_that_nobody_told_the_manager_is_told(host: OnHost) -> None:
    """As a kill between the two leaves it."""
    host.unit("app.service", SLEEP)
    host.sh(f"systemctl enable --now app.service; rm {SYSTEM}/app.service")
    found = host.do("unit:app.service", "delete")
    assert found["before"]["present"] == {"kind": "gone", "loaded": "stale"}
    assert "absent" in found["after"]
    assert host.sh("systemctl is-active app.service; ls /etc/systemd/system/multi-user.target.wants").startswith(
        "inactive"
    )
    assert host.sh(f"find {SYSTEM} -name 'app*'") == ""


def test_a_mask_gives_way_to_the_unit_file(host: OnHost) -> None:
    host.sh("systemctl mask app.service")
    found = host.converge("unit:app.service", content=SLEEP)
    assert found["step"][0] == "replace"
    assert host.property("app.service", "LoadState")["LoadState"] == "loaded"


def test_a_socket_is_judged_with_the_service_that_it_starts(host: OnHost) -> None:
    socket = "[Socket]\nListenStream=/run/app.sock\n"
    assert "app.service" in host.do("unit:app.socket", content=socket)["failed"][2]
    host.converge("unit:app.service", content=SLEEP)
    host.converge("unit:app.socket", content=socket)


def test_without_a_manager_units_are_judged_and_nobody_is_told(still: OnHost) -> None:
    found = still.converge("unit:app.service", content=SLEEP)
    assert found["after"]["present"]["loaded"] == {"na": "no-manager"}
    assert still.do("unit:app.service", content="[Servic\n")["failed"][0] == "check-failed"
    still.sh("systemctl --root=/ enable app.service")
    still.do("unit:app.service", "delete")
    assert still.sh(f"find {SYSTEM} -name 'app*'") == ""
