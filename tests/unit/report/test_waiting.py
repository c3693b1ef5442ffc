"""What a plan knows to be skipped before anything is done."""

import pytest
from attrs import evolve

from datum.model.plan import OWES, Action, Change, Hold, HoldReason, Operation, Verdict, VerdictKind
from datum.report.waiting import waits
from tests.unit.fakes import rid
from tests.unit.report.samples import action, plan

WEB, A, B = rid("service:web"), rid("file:/a"), rid("file:/b")
HOLD = Hold(HoldReason.PROTECT, "It is protected.")
RESTART = Operation.REFRESH_RESTART


def mark() -> Action:
    return action("service:web", Operation.MARK, Change(OWES, None, str(RESTART)))


def change(text: str, hold: Hold | None = None) -> Action:
    return action(text, Operation.UPDATE, marks={WEB: RESTART}, hold=hold)


def refresh() -> Action:
    return action("service:web", RESTART, Change(OWES, str(RESTART), None), requires=frozenset({A, B}))


def test_where_all_can_be_done_nothing_waits() -> None:
    assert waits(plan(mark(), change("file:/a"), refresh())) == {}


@pytest.mark.parametrize("kind", [VerdictKind.IMPOSSIBLE, VerdictKind.UNOBSERVABLE])
def test_a_refresh_waits_for_what_gets_no_action_and_is_not_in_sync(kind: VerdictKind) -> None:
    made = plan(mark(), change("file:/a"), refresh(), verdicts={"file:/b": Verdict(kind)})
    assert waits(made) == {2: B}


def test_it_names_the_first_of_a_chain_of_skipped_ones() -> None:
    skipped = Verdict(VerdictKind.SKIPPED, blocked_by=rid("file:/c"))
    made = plan(mark(), change("file:/a"), refresh(), verdicts={"file:/b": skipped})
    assert waits(made) == {2: rid("file:/c")}


def test_what_is_in_sync_keeps_nothing_waiting() -> None:
    assert waits(plan(mark(), change("file:/a"), refresh(), verdicts={"file:/b": Verdict(VerdictKind.IN_SYNC)})) == {}


def test_a_mark_is_not_set_for_a_change_that_is_held() -> None:
    assert waits(plan(mark(), change("file:/a", HOLD), refresh())) == {0: A, 2: A}


def test_a_mark_is_set_as_long_as_one_change_of_a_transaction_is_done() -> None:
    changes = (change(text, hold) for text, hold in (("file:/a", HOLD), ("file:/b", None)))
    assert 0 not in waits(plan(mark(), *(evolve(one, transaction="apt/x") for one in changes)))
