"""What is nothing on the host is not looked at once it is no longer declared."""

from datum.model.observation import Absent, Present, Unobservable
from datum.observer.observe import observe_state
from datum.provider.contract import Removal
from tests.unit.fakes import declare, odd, raising, rid
from tests.unit.observer.support import SOUND, look, nodes_of


def test_an_orphan_of_which_nothing_can_be_left_is_absent_without_a_look() -> None:
    nodes = nodes_of([declare("odd:a")])
    providers = odd(removal=lambda _: Removal.NOTHING, observe=raising)
    state = observe_state(nodes, look(is_removal=True, providers=providers))
    assert (state.observations, state.breaches) == ({rid("odd:a"): Absent()}, {})
    assert isinstance(observe_state(nodes, look(providers=providers)).observations[rid("odd:a")], Unobservable)


def test_other_orphans_are_looked_at_and_a_type_that_raises_is_asked() -> None:
    nodes = nodes_of([declare("odd:a")])
    for removal in (lambda _: Removal.NEVER, raising):
        providers = odd(removal=removal, observe=lambda _, desired: dict.fromkeys(desired, SOUND))
        state = observe_state(nodes, look(is_removal=True, providers=providers))
        assert isinstance(state.observations[rid("odd:a")], Present)
