"""A service that is stopped while something else changes (ADR 0043)."""

import time
from typing import Any

import pytest

from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, FieldValue, NotApplicable, Present
from datum.model.plan import Change, Operation, Step
from datum.provider.host import HostError
from datum.provider.stopped import StoppedProvider, Stopping
from datum.testing.host import FakeHost
from datum_providers.service.desired import DesiredService
from datum_providers.service.look import RETRYING, STARTING, STOPPING, WORKING
from datum_providers.service.provider import ServiceProvider

PROVIDER = ServiceProvider()
STOP = Step(Operation.STOP, (Change("running", before=True, after=False),))
START = Step(Operation.UPDATE, (Change("running", before=False, after=True),))


def service(name: str = "app", /, **attributes: AttributeValue) -> DesiredService:
    return PROVIDER.parse(name, {"settle": 0, **attributes})


def do(host: FakeHost, *steps: Step) -> list[str]:
    for step in steps:
        PROVIDER.apply(host.writer(), service(running=True), step)
    return [entry.method for entry in host.journal]


def up(**about: Any) -> FakeHost:
    host = FakeHost()
    host.add_unit("app.service", active="active", file_state="enabled", **about)
    return host


@pytest.mark.parametrize(
    ("name", "attributes", "says"),
    [
        ("app", {"running": True}, Stopping(runs=True)),
        ("app", {"running": False}, Stopping(runs=False)),
        ("app", {"enabled": "masked"}, Stopping(runs=False)),
        ("app", {"enabled": True}, None),
        ("app", {"restart_on": ["file:/etc/a"]}, None),
        ("app", {}, None),
        ("app.socket", {"running": True}, Stopping(runs=True, starts_others=True)),
        ("app.timer", {"running": True}, Stopping(runs=True, starts_others=True)),
        ("app.path", {"running": True}, Stopping(runs=True, starts_others=True)),
        # No pass stops what it runs in: it cannot be declared to run.
        ("datum", {}, None),
    ],
)
def test_only_what_says_whether_it_runs_can_be_stopped(
    name: str, attributes: dict[str, AttributeValue], says: Stopping | None
) -> None:
    assert isinstance(PROVIDER, StoppedProvider)
    assert PROVIDER.stopping(service(name, **attributes)) == says


@pytest.mark.parametrize("running", [True, STARTING, RETRYING, STOPPING, WORKING])
def test_whatever_of_it_runs_or_is_about_to_is_stopped(running: FieldValue) -> None:
    step = PROVIDER.stop(service(running=True), Present({"running": running, "enabled": True}))
    assert step == Step(Operation.STOP, (Change("running", running, after=False),))  # type: ignore[arg-type]
    assert PROVIDER.hazards(service(), STOP) == {Hazard.OUTAGE}
    assert PROVIDER.hazards(service("ssh"), STOP) == {Hazard.OUTAGE, Hazard.ACCESS_LOSS}


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(
    ("active", "sub", "kind", "state"),
    [
        ("deactivating", "stop-sigterm", "simple", STOPPING),
        ("maintenance", "cleaning", "simple", STOPPING),
        ("something-new", "", "simple", STOPPING),
        ("activating", "start", "oneshot", WORKING),
    ],
)
def test_only_what_is_down_for_sure_is_not_stopped(
    active: str, sub: str, kind: str, state: FieldValue, *, running: bool
) -> None:
    host = FakeHost()
    host.add_unit("app.service", active=active, sub=sub, kind=kind)
    desired = service(running=running)
    observed = PROVIDER.observe(host.reader(), {"app": desired})["app"]
    assert isinstance(observed, Absent)
    step = PROVIDER.stop(desired, observed)
    assert step == Step(Operation.STOP, (Change("running", state, after=False),))  # type: ignore[arg-type]


def test_who_waits_for_the_end_of_something_takes_nobody_s_service() -> None:
    """But a way in may be about to come up again, and does not then."""
    wait = Step(Operation.STOP, (Change("running", STOPPING, after=False),))
    assert PROVIDER.hazards(service(running=False), wait) == frozenset()
    assert PROVIDER.hazards(service("ssh"), wait) == {Hazard.ACCESS_LOSS}
    work = Step(Operation.STOP, (Change("running", WORKING, after=False),))
    assert PROVIDER.hazards(service(running=False), work) == {Hazard.OUTAGE}


@pytest.mark.parametrize(
    "observed",
    [
        Present({"running": False, "enabled": True}),
        Present({"running": NotApplicable("no-manager"), "enabled": True}),
        Absent({"running": False, "unit_known": False}),
    ],
)
def test_what_does_not_run_is_not_stopped(observed: Present | Absent) -> None:
    assert PROVIDER.stop(service(running=True), observed) is None


def test_it_is_stopped_and_can_be_started_at_once() -> None:
    assert do(up(), STOP, START) == ["stop", "start"]


def test_what_ends_with_an_error_when_it_is_stopped_is_reset_so_that_it_can_be_started() -> None:
    """Else its start would wait for the time of that failure to pass."""
    host = up(changed=int(time.time() * 1e6))
    host.world.manager.units["app.service"].stopped_as = "failed"
    assert do(host, STOP, START) == ["stop", "reset_failed", "start"]


@pytest.mark.parametrize("starter", ["app.socket", "app.timer"])
def test_what_an_active_unit_may_start_at_any_time_is_not_stopped(starter: str) -> None:
    host = up(triggered_by=(starter,))
    host.add_unit(starter, active="active", triggers=("app.service",))
    with pytest.raises(HostError, match=rf"{starter} may start it at any time") as caught:
        do(host, STOP)
    assert caught.value.diagnostics[0].code == "unit-can-be-started"
    assert caught.value.diagnostics[0].hint.startswith(f"declare service:{starter} with running: true")
    assert not host.journal
    assert host.unit("app.service").active == "active"


def test_once_its_socket_is_stopped_it_is_stopped() -> None:
    host = up(triggered_by=("app.socket",))
    host.add_unit("app.socket", active="active", triggers=("app.service",))
    PROVIDER.apply(host.writer(), service("app.socket"), STOP)
    do(host, STOP)
    PROVIDER.apply(host.writer(), service("app.socket"), START)
    do(host, START)
    assert [(entry.method, entry.subject) for entry in host.journal] == [
        *(("stop", "app.socket"), ("stop", "app.service"), ("start", "app.socket"), ("start", "app.service")),
    ]
