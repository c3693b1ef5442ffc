"""Programs that must not end in the middle, in a booted host: whoever dies, they go on (ADR 0036)."""

import time
from collections.abc import Callable
from typing import Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python, write_unit

# Writes to both streams before and after it waits, as dpkg would, and leaves a file when it reached its end.
SLOW: Final = (
    "echo begun; touch /srv/begun; while ! test -e /srv/go; do sleep 0.05; done;"
    "echo middle; echo middle >&2; echo done > /srv/done"
)
AGENT: Final = f"""
from datum.host.local import LocalHost
from datum.provider.host import Command
LocalHost().writer().run(Command(("sh", "-c", {SLOW!r}), timeout=60, scope="datum-apt"))
"""
SCOPES: Final = "systemctl list-units --all --plain --no-legend 'datum-apt-*.scope'"


def wait_for(host: Booted, path: str) -> None:
    end = time.monotonic() + 20
    while host.run(["test", "-e", path], check=False).returncode:
        assert time.monotonic() < end, f"{path} does not come"
        time.sleep(0.05)


def start_agent(host: Booted, agent: AgentBind) -> None:
    """Start an agent as a service, and wait until its program has begun."""
    host.write("/srv/agent.py", AGENT)
    environment = " ".join(f"{key}={value}" for key, value in agent.env.items())
    write_unit(host, "agent.service", "ExecStart=/usr/bin/python3 /srv/agent.py", f"Environment={environment}")
    host.run(["systemctl", "start", "agent.service"])
    wait_for(host, "/srv/begun")


def kill(host: Booted) -> None:
    host.run(["systemctl", "kill", "--signal=KILL", "agent.service"])


def stop(host: Booted) -> None:
    host.run(["systemctl", "stop", "agent.service"])


@pytest.mark.parametrize("end", [kill, stop])
def test_it_goes_on_when_the_agent_ends_and_the_next_pass_waits(
    booted: Booted, agent_bind: AgentBind, end: Callable[[Booted], None]
) -> None:
    start_agent(booted, agent_bind)
    end(booted)
    assert booted.run(["systemctl", "is-active", "agent.service"], check=False).returncode
    answer = python(
        booted,
        agent_bind,
        """
        import os
        command = Command(("true",), timeout=5, scope="datum-apt")
        answer = [reader.await_scope("datum-apt", 0.3), error_of(writer.run, command)["code"],
            reader.await_scope("datum-other", 0), os.path.exists("/srv/done")]
        open("/srv/go", "w").close()
        answer += [reader.await_scope("datum-apt", 30), os.path.exists("/srv/done"), writer.run(command).exit_code]
        """,
    )
    assert answer == [False, "scope-in-use", True, False, True, True, 0]
    assert booted.run(["sh", "-c", SCOPES]).stdout == ""


def test_it_has_a_scope_and_a_session_of_its_own_and_its_output_is_returned(
    booted: Booted, agent_bind: AgentBind
) -> None:
    script = (
        "grep ^0:: /proc/self/cgroup; ps -o sid= -p $$; echo $$; cat; echo oops >&2; readlink /proc/$$/fd/1; exit 3"
    )
    answer = python(
        booted,
        agent_bind,
        f"""
        command = Command(("sh", "-c", {script!r}), timeout=60, scope="datum-apt", stdin=b"given\\n",
            success=frozenset({{3}}), environment={{"A": "1"}})
        outcome = writer.run(command)
        answer = [outcome.exit_code, outcome.stdout.decode().splitlines(), outcome.stderr.decode(), writer.remarks]
        """,
    )
    code, lines, stderr, remarks = answer
    assert (code, stderr, remarks) == (3, "oops\n", [])
    cgroup, session, pid, given, stdout = lines
    assert cgroup.startswith("0::/system.slice/datum-apt-")
    assert cgroup.endswith(".scope")
    assert session.strip() == pid
    assert given == "given"
    assert "memfd" in stdout


def test_neither_its_timeout_nor_a_deadline_ends_it(booted: Booted, agent_bind: AgentBind) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        from datum.host.deadline import Deadline
        command = Command(("sh", "-c", "sleep 1; echo whole"), timeout=0.2, scope="datum-apt")
        def run():
            with Deadline(0.4):
                outcome = writer.run(command)
                answer.append(outcome.stdout.decode())
                time.sleep(20)
        answer = []
        answer.append(error_of(run)["code"])
        answer.append(writer.remarks)
        """,
    )
    assert answer == ["whole\n", "deadline-passed", ["ran_past_timeout: sh"]]


def test_a_daemon_that_it_leaves_behind_is_in_nobodys_way(booted: Booted, agent_bind: AgentBind) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        leave = "setsid sleep 1000 > /dev/null 2>&1 < /dev/null &"
        first = writer.run(Command(("sh", "-c", leave), timeout=60, scope="datum-apt"))
        waited = reader.await_scope("datum-apt", 0)
        answer = [first.exit_code, waited, writer.run(Command(("true",), timeout=60, scope="datum-apt")).exit_code]
        """,
    )
    assert answer == [0, True, 0]
    assert len(booted.run(["sh", "-c", SCOPES]).stdout.splitlines()) == 1


def test_what_cannot_be_run_says_so_and_leaves_no_scope(booted: Booted, agent_bind: AgentBind) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        errors = [
            error_of(writer.run, Command(("no-such-program",), timeout=60, scope="datum-apt")),
            error_of(writer.run, Command(("true",), timeout=60, scope="datum-apt", directory="/nowhere")),
            error_of(writer.run, Command(("true",), timeout=60, scope="a b")),
            error_of(writer.run, Command(("sh", "-c", "echo why >&2; exit 2"), timeout=60, scope="datum-apt")),
        ]
        answer = [[error["code"], error["detail"]] for error in errors]
        """,
    )
    assert [code for code, _ in answer] == ["program-missing", "program-refused", "program-refused", "program-failed"]
    assert "It wrote: why" in answer[3][1]
    assert booted.run(["sh", "-c", SCOPES]).stdout == ""


def test_without_an_answer_of_the_manager_it_does_not_run(booted: Booted, agent_bind: AgentBind) -> None:
    answer = python(
        booted,
        agent_bind,
        """
        import os
        from datum.host import dbus, manager as asking
        dbus.PRIVATE_SOCKET = dbus.SYSTEM_BUS = "/run/nothing"
        asking.PATIENCE = 0.2
        answer = [error_of(writer.run, Command(("touch", "/tmp/ran"), timeout=60, scope="datum-apt"))["code"],
            error_of(reader.await_scope, "datum-apt", 1)["cause"], os.path.exists("/tmp/ran")]
        """,
    )
    assert answer == ["manager-unreachable", "database", False]


def test_a_shutdown_waits_for_it(booted: Booted, agent_bind: AgentBind) -> None:
    start_agent(booted, agent_bind)
    # goes on when the host is about to stop, and not before
    write_unit(booted, "last.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStop=/bin/touch /srv/go")
    booted.run(["systemctl", "start", "last.service"])
    booted.power_off()
    booted.start()
    assert booted.read("/srv/done") == b"done\n"
