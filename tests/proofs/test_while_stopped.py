"""What changes while a service is stopped (ADR 0043), on a booted Debian: what ran then, and what runs afterwards.

The unit notes what it reads when it has stopped and before it starts: a change between both was made while nothing ran.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.plugin import AgentBind
from tests.proofs.owed_host import CONF, MORE, UNIT_FILE, OwedHost, owed_host, unit_text

AROUND: Final[dict[str, Any]] = {"while_stopped": ["service:app"]}
STOPS: Final = f"ExecStopPost=/bin/sh -c 'echo stop \"$(cat {CONF})\" >> /run/app.log'\n"
REACHED: Final = "/run/app.reached"
# Says that it was begun, and gives whoever waits for that the time to act.
SLOW: Final = ["/bin/sh", "-c", f": > {REACHED}; sleep 3; : > /srv/app-made"]


@pytest.fixture(scope="module")
def shared(host_image: Path, agent_bind: AgentBind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwedHost]:
    with owed_host(agent_bind, tmp_path_factory.mktemp("stopped")) as host:
        yield host


@pytest.fixture
def host(shared: OwedHost) -> OwedHost:
    return shared.fresh()


def app(text: str = "one", /, *, unit: str = "", **about: Any) -> dict[str, dict[str, Any]]:
    """Return what declares the service, and a file that changes while it is stopped."""
    return {
        f"file:{CONF}": {"content": f"{text}\n", **AROUND},
        "unit:app.service": {"content": unit or unit_text(more=STOPS), "on_change": "nothing"},
        "service:app": {"running": True, "settle": 0.1, **about},
    }


def is_up(host: OwedHost) -> bool:
    return host.sh("systemctl is-active app") == "active"


def test_a_file_changes_while_the_service_does_not_run(host: OwedHost) -> None:
    host.begin(app())
    done = host.apply(app("two"))
    assert done.operations == [("service:app", "stop"), (f"file:{CONF}", "update"), ("service:app", "update")]
    assert done.entry(f"file:{CONF}")["while_stopped"] == ["service:app"]
    assert host.log() == ["stop one", "start two"]
    host.quiet()


def test_a_first_pass_stops_nothing(host: OwedHost) -> None:
    host.declare(app())
    host.apply()
    assert host.log() == ["start one"]
    host.quiet()


def test_many_resources_are_one_stop_and_one_start(host: OwedHost) -> None:
    more = {f"file:{MORE}": {"content": "x\n", **AROUND}, "directory:/etc/app.d": {**AROUND}}
    host.begin({**app(), **more})
    host.sh(f"chmod 0600 {MORE}; rmdir /etc/app.d")
    done = host.apply({**app("two"), f"file:{MORE}": {"content": "y\n", **AROUND}, "directory:/etc/app.d": {**AROUND}})
    assert [operation for name, operation in done.operations if name == "service:app"] == ["stop", "update"]
    assert done.operations[0] == ("service:app", "stop")
    assert done.operations[-1] == ("service:app", "update")
    assert host.log() == ["stop one", "start two"]
    host.quiet()


def test_what_is_dropped_goes_while_what_it_named_is_stopped(host: OwedHost) -> None:
    dropped = {"file:/etc/app.d/x.conf": {"content": "x\n", **AROUND}}
    host.begin({**app(), "directory:/etc/app.d": {}, **dropped})
    done = host.apply({**app(), "directory:/etc/app.d": {}})
    assert done.operations == [
        *(("service:app", "stop"), ("file:/etc/app.d/x.conf", "delete"), ("service:app", "update")),
    ]
    assert host.log() == ["stop one", "start one"]
    host.quiet()


def test_a_change_that_fails_leaves_the_service_running(host: OwedHost) -> None:
    """Although the service requires what failed."""
    command = {"command:make": {"run": ["false"], "creates": "/srv/app-made", **AROUND}}
    host.begin(app())
    done = host.apply({**app(requires=["command:make"]), **command}, code=1)
    assert done.entry("command:make")["outcome"] == "failed"
    assert host.log() == ["stop one", "start one"]
    assert is_up(host)
    again = host.apply(code=1)
    assert again.told["outcome"] == "failed"
    assert is_up(host)


def test_what_a_check_refuses_stops_nothing(host: OwedHost) -> None:
    host.begin(app())
    bad = app("bad")
    bad[f"file:{CONF}"]["validate"] = ["/bin/sh", "-c", '! grep -q bad "$1"', "sh", "{path}"]
    done = host.apply(bad, code=1)
    assert done.entry("service:app", "stop")["outcome"] == "skipped"
    assert host.log() == []


def struck(host: OwedHost, signal: str) -> str:
    """Make a pass and send its process a signal once it changes something; return how it ended."""
    fleet = host.fleet
    words = " ".join(f"'{word}'" for word in [*fleet.argv, "apply"])
    script = (
        f"rm -f {REACHED}; {words} >/dev/null 2>&1 & pid=$!; "
        f"while ! [ -e {REACHED} ]; do sleep 0.05; done; kill -{signal} $pid; wait $pid; echo $?"
    )
    return host.machine.run(["sh", "-c", script], env=fleet.env, check=False, timeout=120).stdout.strip()


def slow() -> dict[str, Any]:
    return {**app(), "command:make": {"run": SLOW, "creates": "/srv/app-made", **AROUND}}


def test_a_pass_that_is_killed_in_between_leaves_it_to_the_next_one(host: OwedHost) -> None:
    host.begin(app())
    host.declare(slow())
    assert struck(host, "KILL") == "137"
    assert not is_up(host)
    assert host.log() == ["stop one"]
    host.apply()
    assert host.log() == ["start one"]
    assert is_up(host)
    host.quiet()


def test_a_pass_that_is_told_to_end_in_between_starts_it_first(host: OwedHost) -> None:
    host.begin(app())
    host.declare({**slow(), f"file:{MORE}": {"content": "x\n", "requires": ["command:make"]}})
    assert struck(host, "TERM") == "143"
    assert is_up(host)
    assert host.log() == ["stop one", "start one"]
    host.apply()
    assert host.log() == []


def test_a_service_that_ends_with_an_error_is_started_at_once(host: OwedHost) -> None:
    """Of its failure nothing waits."""
    unit = unit_text(more=STOPS).replace(
        "ExecStart=/bin/sleep infinity", "ExecStart=/bin/sh -c 'trap \"exit 3\" TERM; sleep infinity & wait'"
    )
    host.begin(app(unit=unit))
    host.apply(app("two", unit=unit))
    assert host.log() == ["stop one", "start two"]
    host.quiet()


GO: Final = "/run/app.go"
WAITS: Final = f"/bin/sh -c 'while ! [ -e {GO} ]; do sleep 0.05; done'"


def test_what_is_on_its_way_down_is_waited_for(host: OwedHost) -> None:
    """It is no service any more, and its processes still run."""
    unit = unit_text(more=f"{STOPS}ExecStop={WAITS}\nTimeoutStopSec=30\n")
    host.begin(app(unit=unit))
    host.sh("systemctl stop --no-block app; until systemctl is-active app | grep -q deactivating; do sleep 0.05; done")
    host.declare(app("two", unit=unit))
    assert host.plan().operations == [("service:app", "stop"), (f"file:{CONF}", "update"), ("service:app", "create")]
    fleet = host.fleet
    datum = " ".join(f"'{word}'" for word in fleet.argv)
    script = (
        f"{datum} apply >/dev/null 2>&1 & pid=$!; "
        f"until {datum} status | grep -q 'stop service:app' || ! kill -0 $pid; do sleep 0.05; done; "
        f"cat {CONF}; : > {GO}; wait $pid; echo $?"
    )
    ran = host.machine.run(["sh", "-c", script], env=fleet.env, check=False, timeout=120)
    assert ran.stdout.split() == ["one", "0"], ran
    assert host.log() == ["stop one", "start two"]
    assert is_up(host)
    host.quiet()


def test_what_does_its_work_keeps_the_change_waiting(host: OwedHost) -> None:
    """It shall not run by itself; a stop would take its work away."""
    unit = f"[Service]\nType=oneshot\nExecStart={WAITS}\n"
    host.begin(app(unit=unit, running=False, allow=["outage"]))
    host.sh("systemctl start --no-block app; until systemctl is-active app | grep -q activating; do sleep 0.05; done")
    done = host.apply(app("two", unit=unit, running=False), code=1)
    assert (done.applied, done.entry(f"file:{CONF}")["outcome"]) == ([], "skipped")
    assert host.sh(f"cat {CONF}; systemctl is-active app") == "one\nactivating"
    host.sh(f": > {GO}; while systemctl is-active app | grep -q activating; do sleep 0.05; done")
    assert host.apply().applied == [(f"file:{CONF}", "update")]


SOCKET: Final = "[Socket]\nListenStream=/run/app.sock\n[Install]\nWantedBy=sockets.target\n"


def with_socket(text: str, *named: str) -> dict[str, Any]:
    resources = app(text)
    resources[f"file:{CONF}"]["while_stopped"] = [*named, "service:app"]
    resources["unit:app.socket"] = {"content": SOCKET, "on_change": "nothing"}
    resources["service:app.socket"] = {"running": True}
    return resources


def test_what_a_socket_could_start_is_stopped_with_it_or_not_at_all(host: OwedHost) -> None:
    host.begin(with_socket("one", "service:app.socket"))
    done = host.apply(with_socket("two"), code=1)
    stop = done.entry("service:app", "stop")
    assert (stop["outcome"], stop["diagnostics"][0]["code"]) == ("failed", "unit-can-be-started")
    assert done.entry(f"file:{CONF}")["blocked_by"] == "service:app"
    assert (host.log(), host.sh(f"cat {CONF}")) == ([], "one")
    done = host.apply(with_socket("two", "service:app.socket"))
    assert done.operations == [
        *(("service:app.socket", "stop"), ("service:app", "stop"), (f"file:{CONF}", "update")),
        *(("service:app.socket", "update"), ("service:app", "update")),
    ]
    assert host.log() == ["stop one", "start two"]
    assert host.sh("systemctl is-active app.socket app") == "active\nactive"
    host.quiet()


def test_what_systemd_stops_along_is_started_again_where_it_is_named(host: OwedHost) -> None:
    other = "[Unit]\nRequires=app.service\nAfter=app.service\n[Service]\nExecStart=/bin/sleep infinity\n"

    def declared(text: str) -> dict[str, Any]:
        resources = app(text)
        resources[f"file:{CONF}"]["while_stopped"] = ["service:app", "service:other"]
        return {
            **resources,
            "unit:other.service": {"content": other, "on_change": "nothing"},
            "service:other": {"running": True, "settle": 0.1, "requires": ["service:app"]},
        }

    host.begin(declared("one"))
    done = host.apply(declared("two"))
    assert done.operations == [
        *(("service:other", "stop"), ("service:app", "stop"), (f"file:{CONF}", "update")),
        *(("service:app", "update"), ("service:other", "update")),
    ]
    assert host.log() == ["stop one", "start two"]
    host.quiet()


def test_an_account_changes_its_uid_while_nothing_of_it_runs(host: OwedHost) -> None:
    """By itself that is `busy`: usermod refuses it, and nothing kills what runs."""
    unit = "[Service]\nUser=app-deploy\nExecStart=/bin/sleep infinity\n"
    try:

        def declared(uid: int, **about: Any) -> dict[str, Any]:
            return {
                "user:app-deploy": {"uid": uid, "home": "/nonexistent", "allow": ["access_loss", "data_loss"], **about},
                **app(unit=unit),
            }

        host.begin(declared(4301))
        busy = host.apply(declared(4302), code=1)
        assert busy.entry("user:app-deploy")["outcome"] == "busy"
        host.apply(declared(4302, **AROUND))
        assert host.sh("id -u app-deploy; ps -o uid= -C sleep | sort -u | tr -d ' '").split() == ["4302", "4302"]
        host.quiet()
    finally:
        host.sh(f"systemctl stop app; rm -f {UNIT_FILE}; systemctl daemon-reload; userdel app-deploy")
