"""Pass outcomes and exit codes: every row of the tables in design 3.5 and 5, in their order."""

from typing import Any

import pytest

from datum.model.outcome import PassEnd, PassFacts, Withheld, exit_code, pass_outcome
from datum.model.result import Outcome, PassOutcome
from datum.model.revision import SourceStatus

SETTLED = frozenset({Outcome.IN_SYNC, Outcome.APPLIED, Outcome.ALREADY, Outcome.ORPHAN})


def check(outcome: PassOutcome, code: int, **facts: Any) -> None:
    assert (pass_outcome(PassFacts(**facts)), exit_code(PassFacts(**facts))) == (outcome, code)


# --- the table of 3.5 ---


@pytest.mark.parametrize(
    ("facts", "outcome", "code"),
    [
        # Unreachable, refused, not approved; the pass at the enforced revision converges.
        ({"source": SourceStatus.UNREACHABLE}, PassOutcome.CONVERGED, 69),
        ({"source": SourceStatus.GONE}, PassOutcome.CONVERGED, 69),
        ({"source": SourceStatus.REFUSED}, PassOutcome.CONVERGED, 76),
        ({"withheld": Withheld.NOT_APPROVED}, PassOutcome.HELD, 1),
        # Source quarantined.
        ({"source": SourceStatus.QUARANTINED}, PassOutcome.ROLLED_BACK, 1),
        # Manifest invalid, host not in the fleet, observing ended, planning failed.
        ({"ended": PassEnd.INVALID}, PassOutcome.INVALID, 65),
        ({"ended": PassEnd.HOST_NOT_IN_FLEET}, PassOutcome.INVALID, 68),
        ({"ended": PassEnd.UNOBSERVED}, PassOutcome.UNOBSERVED, 71),
        ({"ended": PassEnd.PLANNING_FAILED}, PassOutcome.FAILED, 70),
        # plan, observe, paused.
        ({"planned_only": True, "changes": True, "closing_empty": False}, PassOutcome.PLANNED, 0),
        # hold.
        ({"withheld": Withheld.HOLD}, PassOutcome.HELD, 1),
        # converged.
        ({}, PassOutcome.CONVERGED, 0),
        ({"outcomes": SETTLED, "changes": True}, PassOutcome.CONVERGED, 0),
        ({"source": SourceStatus.NOT_ASKED}, PassOutcome.CONVERGED, 0),
        # failed, unverified, incomplete, busy, held.
        ({"outcomes": SETTLED | {Outcome.FAILED}}, PassOutcome.FAILED, 1),
        ({"outcomes": SETTLED | {Outcome.UNVERIFIED}}, PassOutcome.FAILED, 1),
        ({"check_red": True}, PassOutcome.FAILED, 1),
        ({"outcomes": SETTLED | {Outcome.UNOBSERVABLE}}, PassOutcome.INCOMPLETE, 1),
        ({"outcomes": SETTLED | {Outcome.BUSY}}, PassOutcome.INCOMPLETE, 1),
        ({"outcomes": SETTLED | {Outcome.HELD}}, PassOutcome.HELD, 1),
        ({"outcomes": SETTLED | {Outcome.SKIPPED}}, PassOutcome.INCOMPLETE, 1),
        ({"closing_empty": False}, PassOutcome.INCOMPLETE, 1),
        # Held by a window only.
        ({"waits": True, "closing_empty": False}, PassOutcome.WAITING, 3),
        ({"waits": True, "outcomes": SETTLED | {Outcome.SKIPPED}}, PassOutcome.WAITING, 3),
        # Rolled back.
        ({"rolled_back": True}, PassOutcome.ROLLED_BACK, 1),
        # --only.
        ({"only": True}, PassOutcome.PARTIAL, 0),
        ({"only": True, "outcomes": frozenset({Outcome.FAILED})}, PassOutcome.PARTIAL, 1),
        ({"only": True, "outcomes": frozenset({Outcome.HELD})}, PassOutcome.PARTIAL, 1),
        # Signal.
        ({"signal": 15}, PassOutcome.INTERRUPTED, 143),
        ({"signal": 2}, PassOutcome.INTERRUPTED, 130),
    ],
)
def test_rows_of_the_pointers_table(facts: dict[str, Any], outcome: PassOutcome, code: int) -> None:
    check(outcome, code, **facts)


@pytest.mark.parametrize(
    "source",
    [
        {"source": SourceStatus.UNREACHABLE},
        {"source": SourceStatus.REFUSED},
        {"source": SourceStatus.QUARANTINED},
        {"withheld": Withheld.NOT_APPROVED},
    ],
)
def test_a_failed_pass_at_the_enforced_revision_is_failed_whatever_the_source(source: dict[str, Any]) -> None:
    check(PassOutcome.FAILED, 1, outcomes=frozenset({Outcome.FAILED}), **source)


def test_a_rollback_that_fails_is_failed() -> None:
    check(PassOutcome.FAILED, 1, rolled_back=True, outcomes=frozenset({Outcome.FAILED}))


def test_removals_held_for_something_unobservable_make_the_pass_incomplete() -> None:
    check(PassOutcome.INCOMPLETE, 1, outcomes=frozenset({Outcome.UNOBSERVABLE, Outcome.HELD}))


def test_what_is_skipped_for_a_held_resource_leaves_the_pass_held() -> None:
    check(PassOutcome.HELD, 1, outcomes=frozenset({Outcome.HELD, Outcome.SKIPPED}), closing_empty=False)


@pytest.mark.parametrize(
    ("source", "withheld", "outcome", "code"),
    [
        (SourceStatus.UNREACHABLE, None, PassOutcome.NOT_OBTAINED, 69),
        (SourceStatus.NOT_ASKED, None, PassOutcome.NOT_OBTAINED, 69),
        (SourceStatus.GONE, None, PassOutcome.NOT_OBTAINED, 66),
        (SourceStatus.REFUSED, None, PassOutcome.REFUSED, 76),
        (SourceStatus.QUARANTINED, None, PassOutcome.NOT_OBTAINED, 1),
        (SourceStatus.OK, Withheld.HOLD, PassOutcome.NOT_OBTAINED, 1),
    ],
)
def test_without_a_target_the_source_says_why(
    source: SourceStatus, withheld: Withheld | None, outcome: PassOutcome, code: int
) -> None:
    check(outcome, code, ended=PassEnd.NO_TARGET, source=source, withheld=withheld)


# --- the table of 5 ---

ROWS: tuple[tuple[dict[str, Any], int], ...] = (
    ({"signal": 9}, 137),
    ({"bug": True}, 70),
    ({"outcomes": frozenset({Outcome.FAILED})}, 1),
    ({"waits": True}, 3),
    ({"ended": PassEnd.INVALID}, 65),
    ({"source": SourceStatus.REFUSED}, 76),
    ({"detailed": True, "changes": True}, 2),
    ({}, 0),
)


@pytest.mark.parametrize("first", range(len(ROWS)))
def test_the_first_row_that_holds_gives_the_exit_code(first: int) -> None:
    facts: dict[str, Any] = {}
    for row, _ in reversed(ROWS[first:]):
        facts |= row
    assert exit_code(PassFacts(**facts)) == ROWS[first][1]


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (PassEnd.USAGE, 64),
        (PassEnd.INVALID, 65),
        (PassEnd.NO_SUCH_REVISION, 66),
        (PassEnd.HOST_NOT_IN_FLEET, 68),
        (PassEnd.PLANNING_FAILED, 70),
        (PassEnd.UNOBSERVED, 71),
        (PassEnd.STATE, 74),
        (PassEnd.LOCKED, 75),
        (PassEnd.NOT_ALLOWED, 77),
        (PassEnd.CONFIGURATION, 78),
    ],
)
def test_a_pass_that_ended_early_says_why_even_when_the_source_is_out_of_reach(ended: PassEnd, code: int) -> None:
    assert exit_code(PassFacts(ended=ended)) == code
    assert exit_code(PassFacts(ended=ended, source=SourceStatus.UNREACHABLE)) == code


def test_every_end_has_an_outcome_and_a_code() -> None:
    for ended in PassEnd:
        assert isinstance(pass_outcome(PassFacts(ended=ended)), PassOutcome)
        assert exit_code(PassFacts(ended=ended)) > 0


def test_changes_are_told_by_the_exit_code_on_request_only() -> None:
    assert exit_code(PassFacts(changes=True)) == 0
    assert exit_code(PassFacts(detailed=True)) == 0
    assert exit_code(PassFacts(changes=True, detailed=True)) == 2
    assert exit_code(PassFacts(changes=True, detailed=True, planned_only=True)) == 2


@pytest.mark.parametrize(
    "facts",
    [
        {"outcomes": frozenset(Outcome)},
        {"withheld": Withheld.HOLD},
        {"waits": True},
        {"source": SourceStatus.QUARANTINED},
    ],
)
def test_a_plan_that_was_made_is_a_success_whatever_it_holds(facts: dict[str, Any]) -> None:
    check(PassOutcome.PLANNED, 0, planned_only=True, **facts)


def test_a_plan_of_the_enforced_revision_says_that_the_source_gave_nothing() -> None:
    check(PassOutcome.PLANNED, 69, planned_only=True, source=SourceStatus.UNREACHABLE)
    check(PassOutcome.PLANNED, 76, planned_only=True, source=SourceStatus.REFUSED)


def test_a_bug_is_told_whatever_the_pass_came_to() -> None:
    check(PassOutcome.INCOMPLETE, 70, bug=True, outcomes=frozenset({Outcome.UNOBSERVABLE}))
    check(PassOutcome.PLANNED, 70, bug=True, planned_only=True)
