"""Services and units in whole passes on a booted Debian: what is restarted, when, how often, and what never is."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.archive import Archive, Deb
from tests.proofs.enrolled import Enrolled, fleet_and_machine
from tests.proofs.on_host import FleetOnHost, others_changed, reports

CONF: Final = "/etc/app.conf"
SYSTEM: Final = "/etc/systemd/system"
INSTALL: Final = "[Install]\nWantedBy=multi-user.target\n"
# Notes every start and every reload, with the configuration that it read.
UNIT: Final = f"""\
[Service]
ExecStart=/bin/sh -c 'echo "start $(cat {CONF})" >> /run/app.log; exec sleep infinity'
ExecReload=/bin/sh -c '[ ! -e /run/broken ] && echo "reload $(cat {CONF})" >> /run/app.log'
{INSTALL}"""


@frozen
class Host(Enrolled[Booted]):
    """It, and what its services say and did."""

    def apply(self, resources: Mapping[str, dict[str, Any]], *words: str, code: int = 0) -> str:
        """Declare, and apply."""
        self.fleet.commit(resources, fleet={"limits": {"changed": "none"}})
        return self.fleet.datum(self.machine, "apply", *words, code=code)

    def report(self) -> dict[str, Any]:
        return reports(self.machine)[-1]

    def log(self) -> list[str]:
        """Return what the unit did since this was asked for last."""
        return self.sh("cat /run/app.log; : > /run/app.log").splitlines()

    def invocation(self, name: str = "app") -> str:
        return self.sh(f"systemctl show -p InvocationID --value {name}")


@pytest.fixture
def host(make_booted: Callable[..., Booted], agent_bind: AgentBind, tmp_path: Path) -> Host:
    return Host(*fleet_and_machine(make_booted, agent_bind, tmp_path))


def app(text: str = "one", /, **about: Any) -> dict[str, dict[str, Any]]:
    return {
        f"file:{CONF}": {"content": f"{text}\n"},
        "unit:app.service": {"content": UNIT},
        "service:app": {"running": True, "enabled": True, "settle": 0.2, "restart_on": [f"file:{CONF}"], **about},
    }


def test_unit_configuration_and_service_are_one_plan_and_one_pass(host: Host) -> None:
    """On a machine that has none of them; nothing else on the disk is changed."""
    host.fleet.commit(app())
    plan = json.loads(host.fleet.datum(host.machine, "plan", "--json"))
    planned = {entry["id"] for entry in plan["resources"] if entry.get("operation")}
    before = host.machine.changes()
    host.fleet.datum(host.machine, "apply")
    applied = {entry["id"] for entry in host.report()["resources"] if entry["outcome"] == "applied"}
    assert applied == {f"file:{CONF}", "unit:app.service", "service:app"}
    assert planned == applied
    declared = [CONF, f"{SYSTEM}/app.service", f"{SYSTEM}/multi-user.target.wants/app.service"]
    others = others_changed(host.machine, before, declared)
    assert not [path for path in others if not path.startswith(("/var/log/journal", "/var/lib/systemd", "/var/tmp"))]
    assert host.log() == ["start one"]
    host.again()
    assert host.sh("systemctl is-enabled app") == "enabled"


def test_a_changed_file_restarts_once_and_other_changes_never(host: Host) -> None:
    def declared(text: str, **about: Any) -> dict[str, dict[str, Any]]:
        return {**app(text, **about), f"file:{CONF}": {"content": f"{text}\n", "mode": "0644"}}

    host.apply(declared("one"))
    host.log()
    more = {"file:/etc/app.more": {"content": "x\n"}, "unit:app.service/nice": {"content": "[Service]\nNice=3\n"}}
    both = [f"file:{CONF}", "file:/etc/app.more"]
    host.apply({**declared("two", restart_on=both), **more})
    assert host.log() == ["start two"]
    host.again()
    # Rights, times and other names of a file are none of its bytes.
    before = host.invocation()
    host.sh(f"chmod 0600 {CONF}; touch {CONF}; ln {CONF} /etc/app.copy; setfacl -m u:games:r {CONF}; cp -a {CONF} /tmp")
    host.fleet.datum(host.machine, "apply")
    assert host.sh(f"stat -c %a {CONF}") == "644"
    assert (host.log(), host.invocation()) == ([], before)


def test_adopting_a_host_restarts_nothing(host: Host) -> None:
    host.machine.write(CONF, "one\n")
    host.machine.write(f"{SYSTEM}/app.service", UNIT)
    host.sh("systemctl daemon-reload; systemctl enable --now app")
    before = host.invocation()
    said = host.apply(app())
    assert "nothing to do" in said
    assert host.invocation() == before


def test_a_restart_beats_a_reload_and_a_reload_alone_reloads(host: Host) -> None:
    more = {"file:/etc/app.more": {"content": "x\n"}}
    lists = {"restart_on": ["file:/etc/app.more"], "reload_on": [f"file:{CONF}"]}
    host.apply({**app(**lists), **more})
    host.log()
    host.apply({**app("two", **lists), **more})
    assert host.log() == ["reload two"]
    host.apply({**app("three", **lists), "file:/etc/app.more": {"content": "y\n"}})
    assert host.log() == ["start three"]
    host.again()


def test_a_reload_that_failed_stays_owed(host: Host) -> None:
    host.apply(app(restart_on=[], reload_on=[f"file:{CONF}"]))
    host.log()
    host.sh("touch /run/broken")
    host.apply(app("two", restart_on=[], reload_on=[f"file:{CONF}"]), code=1)
    host.fleet.datum(host.machine, "apply", code=1)
    host.sh("systemctl daemon-reexec; rm /run/broken")
    before = host.invocation()
    host.fleet.datum(host.machine, "apply")
    assert host.log() == ["reload two"]
    assert host.invocation() == before
    host.again()


def test_what_is_still_being_started_and_has_read_the_old_file_is_restarted(host: Host) -> None:
    """It is neither inactive, so that it would read the new one, nor active yet."""
    ready = "while [ ! -e /run/go ]; do sleep 0.1; done; systemd-notify --ready; exec sleep infinity"
    start = f"ExecStart=/bin/sh -c 'echo \"start $(cat {CONF})\" >> /run/app.log; {ready}'"
    unit = {"unit:app.service": {"content": f"[Service]\nType=notify\nNotifyAccess=all\n{start}\n{INSTALL}"}}
    host.sh("touch /run/go")
    host.apply({**app(), **unit})
    host.sh("rm /run/go; systemctl stop app; : > /run/app.log; systemctl start --no-block app")
    host.sh("while ! grep -q one /run/app.log; do sleep 0.1; done; : > /run/app.log")
    host.fleet.commit({**app("two"), **unit}, fleet={"limits": {"changed": "none"}})
    with host.machine.popen([*host.fleet.argv, "apply"], env=host.fleet.env) as running:
        host.sh(f"while [ $(cat {CONF}) != two ]; do sleep 0.1; done; sleep 0.5; touch /run/go")
        running.communicate(timeout=120)
    assert running.returncode == 0
    assert host.log() == ["start two"]
    host.again()


def test_what_requires_the_service_comes_after_its_restart(host: Host) -> None:
    seen = {
        "run": ["sh", "-c", "tail -n 1 /run/app.log > /run/seen"],
        "inputs": [CONF],
        "outputs": ["/run/seen"],
        "requires": ["service:app"],
    }
    host.apply(app())
    host.apply({**app("two"), "command:see": seen})
    assert host.sh("cat /run/seen") == "start two"


def test_own_unit_files_restart_their_service_unless_they_say_otherwise(host: Host) -> None:
    def nice(value: int, **about: Any) -> dict[str, dict[str, Any]]:
        return {"unit:app.service/nice": {"content": f"[Service]\nNice={value}\n", **about}}

    host.apply({**app(), **nice(1)})
    host.log()
    host.apply({**app(), **nice(2)})
    assert host.log() == ["start one"]
    host.apply({**app(), **nice(3, on_change="reload")})
    assert host.log() == ["reload one"]
    host.apply({**app(), **nice(4, on_change="nothing")})
    assert host.log() == []
    assert host.sh("systemctl show -p Nice --value app") == "4"
    host.apply({**app(), **nice(5)})
    host.log()
    host.apply(app())
    assert host.log() == ["start one"]
    assert host.sh(f"ls {SYSTEM} | grep app") == "app.service"
    host.again()


def test_a_file_that_is_dropped_or_removed_restarts_what_listed_it(host: Host) -> None:
    more = {"file:/etc/app.d/x.conf": {"content": "x\n"}, "directory:/etc/app.d": {"mode": "0755"}}
    listed = [f"file:{CONF}", "file:/etc/app.d/x.conf"]
    host.apply({**app(restart_on=listed), **more})
    host.log()
    host.apply({**app(), "directory:/etc/app.d": {"mode": "0755"}})
    assert host.sh("ls /etc/app.d") == ""
    assert host.log() == ["start one"]
    host.again()


def test_what_shall_not_run_is_neither_marked_nor_restarted(host: Host) -> None:
    host.machine.write("/usr/lib/systemd/system/app.service", UNIT)
    listed = {"restart_on": [f"file:{CONF}"], "allow": ["outage"]}
    off: list[dict[str, Any]] = [{"running": False}, {"running": False, "enabled": "masked"}, {"enabled": "masked"}]
    for number, about in enumerate(off):
        host.apply({f"file:{CONF}": {"content": f"{number}\n"}, "service:app": {**listed, **about}})
        host.fleet.commit({f"file:{CONF}": {"content": f"{number} more\n"}, "service:app": {**listed, **about}})
        said = host.fleet.datum(host.machine, "plan")
        assert "mark" not in said
        assert "restart service" not in said
    assert host.log() == []


def test_a_check_that_refuses_keeps_file_and_service_as_they_are(host: Host) -> None:
    check = {"check:app": {"run": ["sh", "-c", f"! grep -q bad {CONF}"], "guards": [f"file:{CONF}"]}}
    host.apply({**app(), **check})
    host.log()
    before = host.invocation()
    host.apply({**app("bad"), **check}, code=1)
    assert host.sh(f"cat {CONF}") == "one"
    assert (host.invocation(), host.log()) == (before, [])


def test_a_service_that_does_not_stay_up_fails_the_pass_with_its_journal(host: Host) -> None:
    unit = {"unit:app.service": {"content": "[Service]\nExecStart=/bin/sh -c 'echo no database; sleep 0.2; exit 3'\n"}}
    said = host.apply({**unit, "service:app": {"running": True, "settle": 2}}, code=1)
    assert "does not stay up" in said
    assert "no database" in said
    said = host.fleet.datum(host.machine, "apply", code={1, 3})
    assert "is not started again before" in said
    outcomes = {entry["id"]: entry["outcome"] for entry in host.report()["resources"]}
    assert outcomes["service:app"] == "busy"


def test_a_unit_that_is_dropped_is_stopped_and_disabled(host: Host) -> None:
    host.apply({**app(), "file:/etc/other": {"content": ""}})
    host.apply({"file:/etc/other": {"content": ""}, f"file:{CONF}": {"content": "one\n"}})
    assert host.sh("systemctl is-active app") == "inactive"
    assert host.sh(f"find {SYSTEM} -name 'app*'") == ""
    assert host.sh("systemctl show -p LoadState --value app") == "not-found"
    host.again()


def test_a_service_that_is_absent_is_stopped_before_its_unit_goes(host: Host) -> None:
    host.apply(app())
    gone: dict[str, dict[str, Any]] = {
        "unit:app.service": {"absent": True},
        "service:app": {"absent": True, "allow": ["outage"]},
    }
    host.apply({f"file:{CONF}": {"content": "one\n"}, **gone})
    order = [entry["id"] for entry in host.report()["resources"] if entry["outcome"] == "applied"]
    assert sorted(order) == ["service:app", "unit:app.service"]
    assert host.sh(f"systemctl is-active app; find {SYSTEM} -name 'app*'") == "inactive"
    host.again()


def test_a_stop_needs_to_be_allowed(host: Host) -> None:
    host.apply(app())
    said = host.apply(app(running=False), code=1)
    assert "allow: [outage]" in said
    assert host.sh("systemctl is-active app") == "active"
    host.apply(app(running=False, allow=["outage"]))
    assert host.sh("systemctl is-active app") == "inactive"


def test_two_names_of_one_unit_are_acted_on_by_neither(host: Host) -> None:
    host.sh("systemctl enable getty@tty9")
    names = [f"service:{name}@tty9" for name in ("getty", "autovt")]
    said = host.apply({name: {"enabled": False, "running": True} for name in names}, code=1)
    assert "are one thing on this host" in said
    found = {entry["id"]: (entry["outcome"], entry["operation"]) for entry in host.report()["resources"]}
    assert found == dict.fromkeys(names, ("unobservable", ""))
    assert host.sh("systemctl is-enabled getty@tty9; systemctl is-active getty@tty9") == "enabled\ninactive"


def test_what_is_there_is_adopted(host: Host) -> None:
    host.machine.write(f"{SYSTEM}/app.service", UNIT)
    host.sh(f"mkdir {SYSTEM}/app.service.d")
    host.machine.write(f"{SYSTEM}/app.service.d/own.conf", "[Service]\nNice=3\n")
    host.sh("systemctl daemon-reload; systemctl enable app")
    names = ["service:cron", "service:app", "service:systemd-journald", "unit:app.service", "unit:app.service/own"]
    said = json.loads(host.fleet.datum(host.machine, "adopt", "--json", *names))
    found = said.get("resources", said)
    assert found["service:cron"] == {"running": True, "enabled": True}
    assert found["service:app"] == {"running": False, "enabled": True}
    assert found["service:systemd-journald"] == {"running": True}
    assert found["unit:app.service"] == {"content": UNIT}
    host.apply({name: dict(about) for name, about in found.items()})
    host.again()


def test_a_wish_that_cannot_hold_is_told_in_the_plan(host: Host) -> None:
    host.fleet.commit({"service:systemd-journald": {"enabled": True}, "file:/etc/x": {"content": ""}})
    assert "no [Install] section" in host.fleet.datum(host.machine, "plan")
    said = host.fleet.datum(host.machine, "apply", code=1)
    assert "no [Install] section" in said
    assert host.sh("cat /etc/x; echo done") == "done"


def test_without_a_manager_a_pass_enables_and_starts_nothing(
    make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, tmp_path: Path
) -> None:
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit(app())
    machine = make_oneshot(binds=(fleet.bind,))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.run(["systemctl", "--root=/", "is-enabled", "app"], check=False).stdout == "enabled\n"
    assert "nothing to do" in fleet.datum(machine, "apply")
    fleet.commit(app("two"))
    fleet.datum(machine, "apply")
    assert "nothing to do" in fleet.datum(machine, "apply")


DAEMON: Final = Deb(
    "app",
    control={
        "postinst": "#!/bin/sh\nset -e\nsystemctl daemon-reload\nsystemctl enable app\nsystemctl restart app\n",
        "prerm": "#!/bin/sh\nset -e\nsystemctl stop app || :\n",
    },
    files={"/usr/lib/systemd/system/app.service": UNIT},
)


@pytest.fixture
def packaged(host: Host) -> Host:
    archive = Archive(host.machine)
    archive.publish(DAEMON)
    host.sh("apt-get update; mkdir -p /etc/app.d")
    return host


def test_package_drop_in_configuration_and_service_are_one_plan(packaged: Host) -> None:
    """The unit comes with the package, which starts it: what is known only then is planned as known after it."""
    declared = app()
    declared["unit:app.service/nice"] = {"content": "[Service]\nNice=3\n"}
    del declared["unit:app.service"]
    declared["package:app"] = {}
    packaged.fleet.commit(declared, fleet={"limits": {"changed": "none"}})
    plan = packaged.fleet.datum(packaged.machine, "plan")
    assert "known after package:app" in plan
    packaged.fleet.datum(packaged.machine, "apply")
    assert packaged.sh("systemctl is-active app; systemctl is-enabled app") == "active\nenabled"
    assert packaged.sh("systemctl show -p Nice --value app") == "3"
    assert packaged.log()[-1] == "start one"
    packaged.again()


def test_what_a_package_starts_and_shall_not_run_is_stopped_in_the_same_pass(packaged: Host) -> None:
    about = {"running": False, "enabled": False, "allow": ["outage"], "requires": ["package:app"]}
    packaged.apply({"package:app": {}, "service:app": about})
    assert packaged.sh("systemctl is-active app; systemctl is-enabled app") == "inactive\ndisabled"
    packaged.again()


def test_a_service_whose_unit_nothing_brings_is_impossible(host: Host) -> None:
    said = host.apply({"service:nothing": {"running": True}, "file:/etc/x": {"content": ""}}, code=1)
    assert "There is no unit nothing.service." in said
    assert host.sh("ls /etc/x") == "/etc/x"
