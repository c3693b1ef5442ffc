"""What a pass does before its first action: a shutdown waits, and what may be replaced is read."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from attrs import evolve

from datum.agent import preload
from datum.agent.acting import guarded
from datum.agent.ports import Ports
from datum.cli.effects import make_ports
from datum.diagnostics import SourceLocation
from datum.model.graph import Node, ResourceGraph, Target
from datum.model.manifest import Resource
from datum.model.plan import Operation
from tests.unit.fakes import rid
from tests.unit.report.samples import action, plan

OWN = f"{sys.prefix}/lib/some.py"


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Give the types for which everything was loaded, each time that it was."""
    found: list[list[str]] = []
    monkeypatch.setattr(
        preload, "load_rest", lambda providers, **_: found.append([provider.type_name for provider in providers])
    )
    return found


def enter(text: str, ports: Ports, *, operation: Operation = Operation.CREATE, is_running: bool = True) -> None:
    """Act on one resource."""
    origin = rid(text)
    node = Node(
        Resource(origin, {}, SourceLocation("hosts/web1.yaml", 1, 1)),
        None,
        (Target("path", origin.name),) if origin.name.startswith("/") else (),
    )
    graph = ResourceGraph({origin: node}, (), (origin,))
    with guarded(plan(action(text, operation)), graph, ports, is_running_system=is_running):
        pass


@pytest.mark.parametrize("text", ["package:datum-agent", "command:pip", "user:app", "service:cron", f"file:{OWN}"])
def test_everything_is_loaded_before_what_could_replace_the_agent(text: str, loaded: list[list[str]]) -> None:
    """Whatever may run programs, and writes that reach what this process is read from."""
    enter(text, make_ports())
    assert loaded == [[text.partition(":")[0]]]


@pytest.mark.parametrize("text", ["file:/srv/etc/app.conf", "directory:/srv/app", "link:/srv/etc/link"])
def test_writing_elsewhere_loads_nothing(text: str, loaded: list[list[str]]) -> None:
    enter(text, make_ports())
    assert loaded == []


def test_below_another_root_nothing_of_this_process_is_replaced(loaded: list[list[str]]) -> None:
    enter("package:datum-agent", make_ports(), is_running=False)
    assert loaded == []


def test_a_shutdown_waits_while_there_are_actions(loaded: list[list[str]]) -> None:
    held: list[str] = []

    @contextmanager
    def delaying() -> Iterator[None]:
        held.append("held")
        yield
        held.append("over")

    ports = evolve(make_ports(), delaying=delaying)
    with guarded(plan(), ResourceGraph({}, (), ()), ports, is_running_system=True):
        assert held == []
    enter("file:/srv/etc/app.conf", ports)
    assert held == ["held", "over"]
    assert loaded == []
