"""Whatever goes wrong and wherever a pass is cut: no unit runs that read an older file than the disk has, and owes
nothing for it; and the next undisturbed pass leaves none that owes anything (design 4.1).
"""

import errno
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from datum.model.json import JsonValue
from datum.model.plan import Operation, Step
from datum.model.result import Outcome
from datum.provider.host import HostError, HostWriter
from datum_providers.file.desired import DesiredFile
from datum_providers.file.doing import apply_file
from tests.property.disturbing import CutError, Trouble
from tests.unit.fakes import declare
from tests.unit.reconciler.bench import AtOnce, Batch
from tests.unit.reconciler.manager import Scene, Wish, scene

NAMES: Final = ("a", "b", "c", "d")
KINDS: Final = ("file", "scripted", "batch", "unitfile")
DAEMONS: Final = ("app", "web")
METHODS: Final = (
    "*", "mark", "restart", "reload", "start", "daemon_reload", "units", "examine", "write_file", "remove_file",
    "stage_write_file", "judge", "commit", "discard",
)  # fmt: skip
SENT: Final = ("restart", "reload", "start")
_WEIGHT: Final[Mapping[JsonValue, int]] = {None: 0, "reload": 1, "restart": 2}


def _write(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
    apply_file(writer, desired, step)


@frozen
class Entry:
    """One listed file: as it is, and whether it shall be there with new content."""

    kind: str
    before: str | None
    is_wanted: bool


@frozen
class World:
    """What is declared and there before the first pass."""

    entries: tuple[Entry, ...]
    # By daemon: what each entry is to it, and whether it runs.
    lists: tuple[tuple[str, ...], ...]
    active: tuple[bool, ...]
    owes: tuple[str | None, ...]
    is_judged: bool

    def path(self, number: int) -> str:
        folder = "/etc/units" if self.entries[number].kind == "unitfile" else "/etc"
        return f"{folder}/{NAMES[number]}"

    def name(self, number: int) -> str:
        return f"{self.entries[number].kind}:{self.path(number)}"

    def scene(self) -> Scene:
        """Lay it out; every unit has read what is there."""
        resources: list[Any] = []
        for number, entry in enumerate(self.entries):
            resources.append(
                declare(self.name(number), content="new\n")
                if entry.is_wanted
                else declare(self.name(number), absent=True)
            )
        for daemon, lists in zip(DAEMONS, self.lists, strict=True):
            restart_on, reload_on = (
                [self.name(number) for number, word in enumerate(lists) if word == field]
                for field in ("restart_on", "reload_on")
            )
            resources.append(declare(f"daemon:{daemon}", restart_on=restart_on, reload_on=reload_on))
        guards = [self.name(number) for number, entry in enumerate(self.entries) if entry.kind == "file"]
        if self.is_judged and guards:
            resources.append(
                declare("check:set", run=["/bin/check", *(text.partition(":")[2] for text in guards)], guards=guards)
            )
        made = scene(*resources, units=DAEMONS, providers={"scripted": AtOnce(_write), "batch": Batch()})
        host = made.bench.host
        host.add_directory("/etc/units")
        host.add_check("/bin/check", lambda _argv, _data: "")
        for number, entry in enumerate(self.entries):
            if entry.before is not None:
                host.add_file(self.path(number), entry.before.encode())
        made.manager.load()
        made.start()
        for daemon, active, owes in zip(DAEMONS, self.active, self.owes, strict=True):
            made.unit(daemon).active = active
            made.unit(daemon).owes = owes if active else None
        return made


entries = st.builds(
    Entry, st.sampled_from(KINDS), st.sampled_from([None, "old\n", "new\n"]), st.just(value=True)
) | st.builds(Entry, st.just("file"), st.sampled_from([None, "old\n"]), st.just(value=False))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    found = draw(st.lists(entries, min_size=1, max_size=len(NAMES)))
    lists = st.tuples(*[st.sampled_from(["", "restart_on", "reload_on"])] * len(found))
    return World(
        tuple(found),
        draw(st.tuples(*[lists] * len(DAEMONS))),
        draw(st.tuples(*[st.sampled_from([True, True, True, False])] * len(DAEMONS))),
        draw(st.tuples(*[st.sampled_from([None, None, "reload", "restart"])] * len(DAEMONS))),
        draw(st.booleans()),
    )


errors = st.sampled_from([errno.EIO, errno.ENOSPC, errno.EROFS]) | st.builds(HostError, st.just("It will not."))
troubles = st.builds(
    Trouble, errors, st.sampled_from(METHODS), st.integers(0, 8), st.none() | st.integers(1, 3), st.booleans()
) | st.builds(
    Trouble,
    st.builds(HostError, st.just("It cannot be shown."), code=st.just("cannot-be-shown")),
    st.just("judge"), st.just(0), st.just(1), st.just(False),
)  # fmt: skip
# A call by its number, and whether its work is done: reading counts before only, since nothing is done by it.
cuts = st.tuples(st.integers(0, 90), st.just(value=False)) | st.tuples(st.integers(0, 12), st.just(value=True))


def disturbed(made: Scene, trouble: list[Trouble], cut: tuple[int, bool] | None, stop_after: int | None) -> None:
    """Run one pass in which these go wrong, and that is killed at a call."""
    planned = made.bench.plan()
    for one in trouble:
        one.befall(made.bench.host)
    if cut is not None:
        made.bench.host.fail(CutError(), skip=cut[0], times=1, after=cut[1])
    begun: list[int] = []
    with suppress(CutError):
        results = made.run(
            planned=planned,
            progress=lambda number, _action: begun.append(number),
            is_stopping=lambda: stop_after is not None and len(begun) >= stop_after,
        )
        assert [one.action for one in results] == list(planned.plan.actions)
    made.bench.host.heal()


def behind(made: Scene) -> list[str]:
    """Return every unit that runs, read something older than what is there, and owes too little for it."""
    found = []
    for origin, node in made.bench.plan().given.graph.nodes.items():
        wish = node.desired
        if not isinstance(wish, Wish) or not made.unit(origin.name).active:
            continue
        unit = made.unit(origin.name)
        found += [
            f"{origin} owes {unit.owes} for {listed}"
            for listed, due in wish.triggers.items()
            if unit.read.get(listed.name) != made.manager.bytes_at(listed.name) and _WEIGHT[unit.owes] < _WEIGHT[due]
        ]
    return found


passes = st.tuples(st.lists(troubles, max_size=2), st.none() | cuts, st.none() | st.integers(0, 8))


@settings(max_examples=300, deadline=None)
@given(worlds(), st.lists(passes, min_size=1, max_size=3))
def test_owed_is_never_lost(
    world: World, disturbances: list[tuple[list[Trouble], tuple[int, bool] | None, int | None]]
) -> None:
    """After each disturbed pass what is not read is owed; after an undisturbed one all is read, and nothing owed."""
    made = world.scene()
    assert behind(made) == []
    for trouble, cut, stop_after in disturbances:
        disturbed(made, trouble, cut, stop_after)
        assert behind(made) == []
    results = made.run()
    assert {one.outcome for one in results} <= {Outcome.APPLIED, Outcome.ALREADY}
    assert behind(made) == []
    assert [unit.owes for unit in made.manager.units.values()] == [None] * len(DAEMONS)
    assert made.is_converged()


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_one_pass_refreshes_each_unit_once(world: World) -> None:
    """However many changes it lists; a unit that lists none of them is not touched."""
    made = world.scene()
    planned = made.bench.plan()
    made.manager.calls.clear()
    made.run(planned=planned)
    marked = {str(service) for action in planned.plan.actions for service in action.marks}
    for daemon, active, owes in zip(DAEMONS, world.active, world.owes, strict=True):
        sent = [
            call for call in made.manager.calls if call.split()[0] in {"restart", "reload", "start"} and daemon in call
        ]
        is_due = not active or owes is not None or f"daemon:{daemon}" in marked
        assert len(sent) == int(is_due)
    assert not [one for one in made.bench.plan().plan.actions if one.operation is Operation.MARK]
