"""Whatever goes wrong and wherever a pass is cut: nothing changes while what it names runs, and what ran runs again
when the pass is over; after a kill, when the next one is (ADR 0043).
"""

import errno
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from attrs import frozen
from hypothesis import event, given, settings
from hypothesis import strategies as st

from datum.model.identity import ResourceId
from datum.model.plan import Operation, Plan
from datum.model.result import Outcome
from datum.provider.host import HostError
from datum_providers.file.doing import apply_file
from tests.property.disturbing import CutError, Trouble
from tests.unit.fakes import declare, rid
from tests.unit.reconciler.bench import AtOnce, Batch
from tests.unit.reconciler.manager import Manager, Scene, scene

NAMES: Final = ("a", "b", "c", "d")
KINDS: Final = ("file", "scripted", "batch")
DAEMONS: Final = ("app", "web")
# What goes wrong with changes and stops; a start that fails leaves down what it was for, whatever a pass does.
METHODS: Final = (
    "stop", "mark", "restart", "reload", "write_file", "remove_file", "stage_write_file", "judge", "commit", "discard",
)  # fmt: skip


class Watched(Manager):
    """A manager that writes down among the calls of the host who runs from now on, and who does not."""

    def run(self, call: str, name: str, paths: tuple[str, ...] = ()) -> None:
        try:
            super().run(call, name, paths)
        finally:
            self._tell(name)

    def stop(self, name: str) -> None:
        try:
            super().stop(name)
        finally:
            self._tell(name)

    def _tell(self, name: str) -> None:
        self.host.world.calls.append(("is up" if self.units[name].active else "is down", name))


@frozen
class Entry:
    """One file: as it is, whether it shall be there with new content, and what it names."""

    kind: str
    before: str | None
    is_wanted: bool
    names: tuple[str, ...]
    listed_by: tuple[str, ...]


@frozen
class World:
    """What is declared and there before the first pass."""

    entries: tuple[Entry, ...]
    active: tuple[bool, ...]
    is_judged: bool

    def scene(self, *, off: str = "") -> Scene:
        resources: list[Any] = []
        for name, entry in zip(NAMES, self.entries, strict=False):
            about: dict[str, Any] = {"while_stopped": [f"daemon:{one}" for one in entry.names]}
            about |= {"content": "new\n"} if entry.is_wanted else {"absent": True}
            resources.append(declare(f"{entry.kind}:/etc/{name}", **about))
        for daemon in DAEMONS:
            listed = [
                f"{entry.kind}:/etc/{name}"
                for name, entry in zip(NAMES, self.entries, strict=False)
                if daemon in entry.listed_by
            ]
            resources.append(declare(f"daemon:{daemon}", restart_on=listed, running=daemon != off))
        guards = [str(one.id) for one in resources if one.id.type == "file"]
        if self.is_judged and guards:
            resources.append(declare("check:set", run=["/bin/check"], guards=guards))
        made = scene(
            *resources, units=DAEMONS, managed=Watched, providers={"scripted": AtOnce(apply_file), "batch": Batch()}
        )
        host = made.bench.host
        for name, entry in zip(NAMES, self.entries, strict=False):
            if entry.before is not None:
                host.add_file(f"/etc/{name}", entry.before.encode())
        host.add_check("/bin/check", lambda _argv, _data: "")
        made.start()
        for daemon, is_active in zip(DAEMONS, self.active, strict=True):
            made.unit(daemon).active = is_active
        host.world.calls.clear()
        return made

    def changed_while_up(self, made: Scene, up: set[str]) -> set[tuple[str, str]]:
        """Return the paths that changed while what they name ran, by the calls of the host."""
        named = {f"/etc/{name}": entry.names for name, entry in zip(NAMES, self.entries, strict=False)}
        running, found = set(up), set()
        for method, subject in made.bench.host.calls:
            if method == "is up":
                running.add(subject)
            elif method == "is down":
                running.discard(subject)
            elif method in {"write_file", "remove_file"}:
                found |= {(subject, one) for one in named.get(subject, ()) if one in running}
        return found

    @property
    def up(self) -> set[str]:
        return {name for name, is_active in zip(DAEMONS, self.active, strict=True) if is_active}


subsets = st.lists(st.sampled_from(DAEMONS), unique=True, max_size=2).map(tuple)
entries = st.builds(
    Entry,
    st.sampled_from(KINDS),
    st.sampled_from([None, "old\n", "old\n", "new\n"]),
    st.sampled_from([True, True, False]),
    st.sampled_from([("app",), ("web",), DAEMONS, ()]),
    subsets,
)
worlds = st.builds(
    World,
    st.lists(entries, min_size=1, max_size=4).map(tuple),
    st.tuples(*[st.sampled_from([True, True, True, False])] * len(DAEMONS)),
    st.booleans(),
)
errors = st.sampled_from([
    HostError("It went wrong."), HostError("There are no namespaces.", code="cannot-be-shown"), errno.ENOSPC,
])  # fmt: skip


troubles = st.builds(
    Trouble,
    errors,
    st.sampled_from(METHODS),
    st.integers(0, 2),
    st.sampled_from([1, None]),
    st.booleans(),
)


kills = st.tuples(
    st.sampled_from(("stop", "write_file", "remove_file", "commit", "start")), st.integers(0, 2), st.booleans()
) | st.tuples(st.just("*"), st.integers(0, 60), st.just(value=False))


def own_starts(plan: Plan) -> Mapping[ResourceId, int]:
    return {one.resource: number for number, one in enumerate(plan.actions) if one.starts_again}


@settings(max_examples=150, deadline=None)
@given(worlds)
def test_in_a_plan_every_change_stands_between_the_one_stop_and_the_one_start(world: World) -> None:
    made = world.scene()
    plan = made.bench.plan().plan
    stops = [number for number, one in enumerate(plan.actions) if one.operation is Operation.STOP]
    assert len({plan.actions[number].resource for number in stops}) == len(stops)
    place = {plan.actions[number].resource: number for number in stops}
    starts = own_starts(plan)
    assert starts.keys() == place.keys()
    event(f"stops: {len(stops)}")
    needed = set()
    for number, action in enumerate(plan.actions):
        for service in action.while_stopped & {rid(f"daemon:{name}") for name in world.up}:
            needed.add(service)
            assert place[service] < number < starts[service]
            assert service not in action.marks
    assert needed == place.keys(), "nothing is stopped for nothing"
    assert world.scene().bench.plan().plan == plan


@settings(max_examples=200, deadline=None)
@given(worlds, st.lists(troubles, max_size=3), st.none() | st.integers(0, 40))
def test_what_ran_runs_again_whatever_fails_and_whenever_a_signal_comes(
    world: World, wrong: list[Trouble], signal: int | None
) -> None:
    made = world.scene()
    planned = made.bench.plan()
    host = made.bench.host
    host.world.calls.clear()
    for trouble in wrong:
        trouble.befall(host)
    results = made.run(planned=planned, is_stopping=_after(made, signal))
    assert [one.action for one in results] == list(planned.plan.actions)
    assert world.changed_while_up(made, world.up) == set()
    # Only the checks of what it lists keep a start from being made, as they do with any.
    starts = [one for one in results if one.action.starts_again and one.action.guards]
    refused = {one.action.resource.name for one in starts if one.outcome is Outcome.FAILED}
    assert all(made.unit(name).active for name in world.up - refused)
    stopped = [one for one in results if one.action.operation is Operation.STOP and one.outcome is Outcome.APPLIED]
    event(f"stopped: {len(stopped)}")
    for name in DAEMONS:
        # What failed to be stopped may be down all the same, and is started once more.
        assert sum(call == f"start {name}" for call in made.manager.calls) <= 1


@settings(max_examples=150, deadline=None)
@given(worlds, st.lists(troubles.filter(lambda one: one.method != "stop"), max_size=3))
def test_what_shall_not_run_does_not_when_a_pass_is_over_whatever_fails(world: World, wrong: list[Trouble]) -> None:
    made = world.scene(off="web")
    planned = made.bench.plan()
    made.bench.host.world.calls.clear()
    for trouble in wrong:
        trouble.befall(made.bench.host)
    made.run(planned=planned)
    assert world.changed_while_up(made, world.up) == set()
    assert not made.unit("web").active
    event(f"stopped: {'stop web' in made.manager.calls}")


def _after(made: Scene, calls: int | None) -> Callable[[], bool]:
    return lambda: calls is not None and len(made.bench.host.calls) > calls


@settings(max_examples=150, deadline=None)
@given(worlds, kills)
def test_what_a_killed_pass_left_down_the_next_one_starts(world: World, kill: tuple[str, int, bool]) -> None:
    made = world.scene()
    planned = made.bench.plan()
    host = made.bench.host
    host.world.calls.clear()
    method, skip, after = kill
    host.fail(CutError(), method=method, skip=skip, after=after)
    with suppress(CutError):
        made.run(planned=planned)
    assert world.changed_while_up(made, world.up) == set()
    host.heal()
    up = {name for name in DAEMONS if made.unit(name).active}
    event(f"left down: {len(world.up - up)}")
    host.world.calls.clear()
    results = made.run()
    assert world.changed_while_up(made, up) == set()
    assert {one.outcome for one in results} <= {Outcome.APPLIED, Outcome.ALREADY}
    assert all(made.unit(name).active for name in DAEMONS)
    for name, entry in zip(NAMES, world.entries, strict=False):
        for daemon in entry.listed_by:
            assert made.unit(daemon).read.get(f"/etc/{name}") == made.manager.bytes_at(f"/etc/{name}")
    assert made.is_converged()
