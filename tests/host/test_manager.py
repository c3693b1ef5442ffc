"""The service manager of a booted host: what is asked, jobs and their results, and unit files."""

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python, write_unit

SLEEP = "ExecStart=/bin/sleep 1000"


def test_units_are_described_as_the_manager_has_them(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "t@.service", SLEEP, "ExecReload=/bin/true", "User=nobody")
    write_unit(booted, "once.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/bin/true", install=False)
    booted.run(["ln", "-s", "/etc/systemd/system/once.service", "/etc/systemd/system/other.service"])
    booted.run(["mkdir", "/etc/systemd/system/once.service.d"])
    booted.write("/etc/systemd/system/once.service.d/a.conf", "[Service]\nNice=1\n")
    booted.run(["systemctl", "daemon-reload"])
    booted.run(["systemctl", "start", "t@a.service", "once.service"])
    booted.write("/etc/systemd/system/once.service.d/a.conf", "[Service]\nNice=2\n")
    names = ["t@a.service", "other.service", "nope.service", "t@.service", "bad/name.service", "-.mount", "ssh"]
    answer = python(
        booted,
        agent_bind,
        f"""
        import attrs
        def plain(value):
            return sorted(value) if isinstance(value, frozenset) else value
        found = manager.units({names!r})
        answer = {{name: {{key: plain(value) for key, value in attrs.asdict(each).items()}}
            for name, each in found.items()}}
        """,
    )
    assert list(answer) == names
    running = answer["t@a.service"]
    assert len(running.pop("invocation")) == 32
    assert all(running.pop(name) > 1_500_000_000_000_000 for name in ("changed", "began", "up_since", "main_started"))
    assert running == {
        "name": "t@a.service",
        "names": ["t@a.service"],
        "load": "loaded",
        "load_error": "",
        "active": "active",
        "sub": "running",
        "file_state": "disabled",
        "fragment": "/etc/systemd/system/t@.service",
        "drop_ins": [],
        "needs_daemon_reload": False,
        "can_start": True,
        "can_reload": True,
        "marks": [],
        "kind": "simple",
        "remains": False,
        "result": "success",
        "restarts": 0,
        "user": "nobody",
        "triggered_by": [],
        "triggers": [],
        "job": "",
    }
    aliased = answer["other.service"]
    assert (aliased["name"], aliased["names"]) == ("once.service", ["once.service", "other.service"])
    assert (aliased["kind"], aliased["remains"], aliased["sub"]) == ("oneshot", True, "exited")
    assert aliased["drop_ins"] == ["/etc/systemd/system/once.service.d/a.conf"]
    assert aliased["needs_daemon_reload"] is True
    assert (answer["nope.service"]["load"], answer["nope.service"]["active"]) == ("not-found", "inactive")
    assert answer["t@.service"]["load"] == answer["bad/name.service"]["load"] == answer["ssh"]["load"] == "error"
    assert answer["t@.service"]["load_error"] == "Unit name t@.service is missing the instance name."
    assert (answer["-.mount"]["active"], answer["-.mount"]["kind"]) == ("active", "")


def test_instances_of_a_template_are_listed(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "t@.service", SLEEP)
    write_unit(booted, "tt@.service", SLEEP)
    booted.write("/etc/systemd/system/s.socket", "[Socket]\nListenStream=/run/s.sock\nService=t@one.service\n")
    booted.run(["systemctl", "daemon-reload"])
    booted.run(["systemctl", "start", "s.socket"])
    booted.run(["systemctl", "start", "t@two.service", "t@one.service", "tt@one.service"])
    answer = python(
        booted,
        agent_bind,
        """
        answer = [manager.instances(name) for name in ("t@.service", "t@.socket", "none@.service")]
        answer += [facts("s.socket").triggers, facts("t@one.service").triggered_by]
        """,
    )
    assert answer == [["t@one.service", "t@two.service"], [], [], ["t@one.service"], ["s.socket"]]


def test_a_unit_with_a_bad_setting_and_a_masked_one_say_so(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "bad.service", "Type=simple")
    booted.run(["systemctl", "mask", "gone.service"])
    answer = python(
        booted,
        agent_bind,
        """
        found = manager.units(["bad.service", "gone.service"])
        answer = {name: [each.load, each.load_error] for name, each in found.items()}
        answer["errors"] = [error_of(manager.start, name) for name in (*found, "nope.service", "t@.service")]
        """,
    )
    assert answer["bad.service"][0] == "bad-setting"
    assert "bad unit file setting" in answer["bad.service"][1]
    assert answer["gone.service"][0] == "masked"
    assert [error["code"] for error in answer["errors"]] == ["manager-refused"] * 4
    assert answer["errors"][1]["detail"] == (
        "The service manager refused to start gone.service: Unit gone.service is masked."
    )
    assert "Unit nope.service not found" in answer["errors"][2]["detail"]


def test_a_job_is_waited_for_and_its_result_told(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "slow.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/bin/sleep 0.3")
    write_unit(booted, "bad.service", "ExecStart=/bin/false", "Type=oneshot")
    write_unit(booted, "late.service", "ExecStart=/bin/sleep 1000", "Type=oneshot", "TimeoutStartSec=200ms")
    write_unit(booted, "plain.service", SLEEP)
    write_unit(booted, "rich.service", SLEEP, "ExecReload=/bin/sh -c 'exit 3'")
    booted.write(
        "/etc/systemd/system/needs.service", f"[Unit]\nRequires=bad.service\nAfter=bad.service\n[Service]\n{SLEEP}\n"
    )
    booted.run(["systemctl", "daemon-reload"])
    answer = python(
        booted,
        agent_bind,
        """
        manager.start("slow.service")
        answer = {"slow": facts("slow.service").active}
        for name in ("bad", "late", "needs"):
            answer[name] = error_of(manager.start, f"{name}.service")
        manager.reset_failed("bad.service")
        answer["forgotten"] = facts("bad.service").active
        answer["inactive"] = error_of(manager.reload, "rich.service")
        manager.start("plain.service")
        manager.start("rich.service")
        first = facts("plain.service").invocation
        answer["cannot"] = error_of(manager.reload, "plain.service")
        answer["broken"] = error_of(manager.reload, "rich.service")
        manager.restart("plain.service")
        answer["again"] = facts("plain.service").invocation != first
        manager.stop("plain.service")
        answer["stopped"] = facts("plain.service").active
        """,
    )
    assert (answer["slow"], answer["again"], answer["stopped"]) == ("active", True, "inactive")
    assert answer["forgotten"] == "inactive"
    assert answer["bad"]["code"] == answer["late"]["code"] == answer["needs"]["code"] == "job-failed"
    assert answer["bad"]["detail"] == (
        "The job to start bad.service ended 'failed': the unit failed (result of the unit: exit-code)."
    )
    assert "'timeout'" in answer["late"]["detail"] or "result of the unit: timeout" in answer["late"]["detail"]
    assert "ended 'dependency': a unit that it requires failed" in answer["needs"]["detail"]
    assert answer["cannot"]["code"] == "manager-refused"
    assert "not applicable" in answer["cannot"]["detail"]
    assert "ended 'failed'" in answer["broken"]["detail"]
    assert "ended 'invalid'" in answer["inactive"]["detail"]


def test_a_job_that_another_one_replaces_is_canceled(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "slow.service", "Type=oneshot", "ExecStart=/bin/sleep 1000")
    answer = python(
        booted,
        agent_bind,
        """
        import threading
        def stop():
            while facts("slow.service").active != "activating":
                time.sleep(0.02)
            assert facts("slow.service").job == "start"
            writer.manager().stop("slow.service")
        thread = threading.Thread(target=stop)
        thread.start()
        answer = error_of(manager.start, "slow.service")
        thread.join()
        """,
    )
    assert answer["code"] == "job-failed"
    assert "ended 'canceled': another job took its place" in answer["detail"]


@pytest.mark.parametrize("again", ["reexec", "reload"])
def test_a_manager_that_begins_anew_meanwhile_is_waited_for(booted: Booted, agent_bind: AgentBind, again: str) -> None:
    write_unit(booted, "slow.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/bin/sleep 1.5")
    write_unit(booted, "bad.service", "Type=oneshot", "ExecStart=/bin/sh -c 'sleep 1.5; exit 1'")
    answer = python(
        booted,
        agent_bind,
        f"""
        import subprocess, threading
        def disturb():
            while facts("slow.service").job != "start" or facts("bad.service").job != "start":
                time.sleep(0.02)
            subprocess.run(["systemctl", "daemon-{again}"], check=True)
        errors = []
        def bad():
            errors.append(error_of(writer.manager().start, "bad.service"))
        threads = [threading.Thread(target=each) for each in (disturb, bad)]
        for thread in threads:
            thread.start()
        error = error_of(manager.start, "slow.service")
        for thread in threads:
            thread.join()
        answer = [error, facts("slow.service").active, errors[0] and errors[0]["code"]]
        """,
    )
    assert answer == [None, "active", "job-failed"]


def test_a_deadline_ends_the_wait_and_not_the_job(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "slow.service", "Type=oneshot", "ExecStart=/bin/sleep 1000")
    answer = python(
        booted,
        agent_bind,
        """
        from datum.host.deadline import Deadline
        def start():
            with Deadline(0.5):
                manager.start("slow.service")
        error = error_of(start)
        answer = [error["code"], error["failure"], facts("slow.service").active]
        """,
    )
    assert answer == ["job-unfinished", "deadline", "activating"]


def test_unit_files_are_enabled_disabled_masked_and_unmasked(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "a.service", SLEEP)
    booted.run(["mkdir", "-p", "/usr/local/lib/systemd/system"])
    booted.write(
        "/usr/local/lib/systemd/system/b.service", f"[Service]\n{SLEEP}\n[Install]\nWantedBy=multi-user.target\n"
    )
    link = "/etc/systemd/system/multi-user.target.wants/a.service"
    answer = python(
        booted,
        agent_bind,
        f"""
        import os
        def state(name):
            manager.daemon_reload()
            return facts(name).file_state
        manager.enable(["a.service"])
        answer = [state("a.service"), os.path.lexists("{link}")]
        manager.disable(["a.service"])
        answer += [state("a.service"), os.path.lexists("{link}")]
        answer.append(error_of(manager.mask, ["a.service"])["detail"])
        manager.mask(["b.service"])
        answer += [state("b.service"), facts("b.service").load, error_of(manager.enable, ["b.service"])["code"]]
        manager.unmask(["b.service"])
        answer += [state("b.service"), error_of(manager.enable, ["nope.service"])["code"]]
        """,
    )
    assert answer[:4] == ["enabled", True, "disabled", False]
    assert "/etc/systemd/system/a.service already exists" in answer[4]
    assert answer[5:] == ["masked", "masked", "manager-refused", "disabled", "manager-refused"]


def test_the_journal_of_a_unit_is_read(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "talk.service", "Type=oneshot", "ExecStart=/bin/sh -c 'echo one; echo two; echo three'")
    answer = python(
        booted,
        agent_bind,
        """
        manager.start("talk.service")
        end = time.monotonic() + 10
        # What the unit wrote and what systemd says of it come to the journal by two ways, in any order.
        while not {"three", "Finished"} <= set((said := manager.journal("talk.service", lines=20)).split()):
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        answer = [said, manager.journal("talk.service", lines=3), manager.journal("nope.service", lines=3)]
        """,
    )
    assert "one" in answer[0].split()
    assert answer[0].index(" one\n") < answer[0].index(" two\n") < answer[0].index(" three")
    assert answer[1].splitlines() == answer[0].splitlines()[-3:]
    assert answer[2] == ""


def test_there_is_no_manager_below_another_root(booted: Booted, agent_bind: AgentBind) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        other = LocalHost("/srv")
        answer = [other.reader().manager(), other.writer().manager(), other.reader().mount_entries(),
            other.reader().kernel_value("/proc/sys/kernel/ostype"),
            error_of(other.writer().set_kernel_value, "/proc/sys/kernel/domainname", b"x")["failure"],
            reader.manager() is not None, type(host.staging().manager()).__name__]
        """,
    )
    assert answer == [None, None, [], None, "impossible", True, "RefusingManager"]


def test_a_manager_that_hears_on_neither_socket_is_a_sickness_of_the_host(
    booted: Booted, agent_bind: AgentBind
) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        from datum.host import dbus, manager as asking
        dbus.PRIVATE_SOCKET = dbus.SYSTEM_BUS = "/run/nothing"
        asking.PATIENCE = 0.2
        answer = error_of(manager.units, ["a.service"])
        """,
    )
    assert (answer["code"], answer["cause"]) == ("manager-unreachable", "database")
    assert "/run/nothing: No such file or directory" in answer["detail"]


def test_an_ordinary_user_asks_over_the_system_bus(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "a.service", SLEEP)
    answer = python(
        booted,
        agent_bind,
        """
        import os
        os.setegid(65534); os.seteuid(65534)
        answer = [facts("a.service").load, error_of(manager.start, "a.service")]
        """,
    )
    assert answer[0] == "loaded"
    assert answer[1]["code"] == "manager-refused"


def test_root_uses_the_system_bus_where_systemd_has_no_socket_of_its_own(booted: Booted, agent_bind: AgentBind) -> None:
    write_unit(booted, "a.service", SLEEP)
    answer = python(
        booted,
        agent_bind,
        """
        from datum.host import dbus
        dbus.PRIVATE_SOCKET = "/run/nothing"
        manager.start("a.service")
        manager.mark("a.service", {"needs-restart"})
        first = facts("a.service")
        manager.restart("a.service")
        answer = [first.active, sorted(first.marks), sorted(facts("a.service").marks)]
        """,
    )
    assert answer == ["active", ["needs-restart"], []]
