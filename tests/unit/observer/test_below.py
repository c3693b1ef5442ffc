"""What would go along with a removal, and what is mounted there: looked at only where something may be removed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from datum.model.graph import Target
from datum.model.manifest import Resource
from datum.model.observation import Cause, Observation, Present, Unobservable
from datum.observer.below import with_holds
from datum.observer.observe import Look, observe_one, observe_state
from datum.provider.host import Below, HostError, HostReader
from datum.testing.host import FakeHost
from datum.testing.reader import FakeReader
from tests.unit.fakes import Want, declare, rid
from tests.unit.observer.support import SOUND, answering, look, nodes_of

GONE = declare("folder:/d", absent=True)


class Ground(FakeReader):
    """A reader that answers what lies below from a table, and remembers what it was asked."""

    def __init__(self, found: Mapping[str, Below | HostError]) -> None:
        host = FakeHost()
        super().__init__(host.world, machine=look().machine, caller=(0, 0), is_running_system=True)
        self._found = found
        self.asked: list[str] = []

    def below(self, path: str, *, limit: int) -> Below:
        self.asked.append(path)
        found = self._found.get(path, Below())
        if isinstance(found, HostError):
            raise found
        return found


def seen(resource: Resource, reader: HostReader, **others: Any) -> Observation:
    nodes = nodes_of([resource])
    made = look(reader=reader, **others)
    (state,) = observe_state(nodes, made).observations.values()
    assert observe_one(resource.id, nodes[resource.id], made) == state
    return state


def test_of_what_is_to_be_absent_it_is_known_what_would_go_along_and_what_is_mounted() -> None:
    found = seen(GONE, Ground({"/d": Below(("/d/a", "/d/m"), ("/d/m",))}))
    assert isinstance(found, Present)
    assert (found.fields, found.holds, found.mounts) == (SOUND.fields, ("/d/a", "/d/m"), ("/d/m",))


def test_what_is_wanted_is_not_listed_but_an_orphan_is() -> None:
    reader = Ground({"/d": Below(("/d/a",))})
    wanted = seen(declare("folder:/d"), reader)
    assert isinstance(wanted, Present)
    assert (wanted.holds, reader.asked) == ((), [])
    orphan = seen(declare("folder:/d"), reader, is_removal=True)
    assert isinstance(orphan, Present)
    assert orphan.holds == ("/d/a",)


def test_what_is_not_there_and_what_has_no_room_is_not_listed() -> None:
    reader = Ground({})
    absent = Unobservable(Cause.DENIED, "It may not be read.")
    seen(GONE, reader, folder=answering({"/d": absent}))
    seen(declare("leaf:/d", absent=True), reader)
    assert reader.asked == []


def test_what_cannot_be_listed_cannot_be_looked_at() -> None:
    error = HostError("It holds too much.", code="too-many-entries", discounted=True)
    found = seen(GONE, Ground({"/d": error}))
    assert found == error.unobservable()


def test_listing_has_the_deadline_of_the_type() -> None:
    begun: list[float] = []

    @contextmanager
    def deadline(seconds: float) -> Iterator[None]:
        begun.append(seconds)
        yield

    made: Look = look(reader=Ground({}), deadline=deadline)
    nodes = nodes_of([GONE, declare("folder:/e", absent=True)])
    observe_state(nodes, made)
    assert begun == [2.0, 1.0, 1.0]


def test_only_the_uppermost_directories_are_listed_and_what_is_declared_does_not_go_along() -> None:
    targets = (
        *(Target("path", path) for path in ("/t", "/t/d", "/t-u", "/t/d/e")),
        *(Target("path", path, leaf=True) for path in ("/t/f", "/x")),
        Target("path", "/s", shared=True),
        Target("user", "/t"),
    )
    reader = Ground({"/t": Below(("/t/d", "/t/d/e", "/t/f", "/t/g"), ("/t",)), "/t-u": Below(("/t-u/z",))})
    found = with_holds(targets, Present({}, holds=("/own",), mounts=("/m",)), reader)
    assert reader.asked == ["/t", "/t-u"]
    assert (found.holds, found.mounts) == (("/own", "/t-u/z", "/t/g"), ("/m", "/t"))


def test_holds_that_are_no_tuple_are_a_breach() -> None:
    def answer(_reader: HostReader, desired: Mapping[str, Want]) -> Any:
        return dict.fromkeys(desired, Present({}, holds=["/d/a"]))  # type: ignore[arg-type]  # the point

    state = observe_state(nodes_of([declare("leaf:/d")]), look(leaf=answer))
    found = state.observations[rid("leaf:/d")]
    assert isinstance(found, Unobservable)
    assert found.cause is Cause.BREACH
