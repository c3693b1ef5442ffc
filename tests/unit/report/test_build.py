"""From plan and results to what a report tells."""

import pytest
from attrs import evolve

from datum.model.check import Check
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.plan import Change, Hold, HoldReason, Label, Operation, Orphan, OrphanState, Step, Verdict, VerdictKind
from datum.model.result import ActionResult, Outcome
from datum.model.secret import HIDDEN
from datum.report.build import (
    DIFF_LINES,
    LINE_LENGTH,
    count_outcomes,
    is_left,
    left_over,
    report_change,
    report_resources,
    unified_diff,
)
from tests.unit.fakes import TARGET, at, rid
from tests.unit.report.samples import action, change, plan

IN_SYNC = Verdict(VerdictKind.IN_SYNC)
STEP = Step(Operation.CREATE, (change("mode", None, "0600"),))


def diff(before: str | None, after: str | None, *, old: JsonValue = "blob:1") -> str:
    return unified_diff(Change("content", old, "blob:2", before_text=before, after_text=after))


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"),
        ("a", "b", "@@ -1 +1 @@\n-a\n\\ no newline at the end\n+b\n\\ no newline at the end\n"),
        ("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ no newline at the end\n"),
        ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
        ("a\n", "a\n", ""),
        ("a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"),
    ],
)
def test_diff_of_two_texts(before: str, after: str, wanted: str) -> None:
    """As diff -u without its header; a missing newline at the end is said."""
    assert diff(before, after) == wanted


@pytest.mark.parametrize("odd", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_newlines_end_lines(odd: str) -> None:
    """A form feed or lone carriage return is part of its line, and no line lacks a newline for it."""
    assert diff(f"a{odd}b\n", f"a{odd}c\n") == f"@@ -1 +1 @@\n-a{odd}b\n+a{odd}c\n"


def numbered(*odd: int, until: int = 100) -> list[str]:
    return [f"{number} odd" if number in odd else f"{number}" for number in range(1, until + 1)]


@pytest.mark.parametrize(
    ("odd", "wanted"),
    [
        ((50,), ["@@ -47,7 +47,7 @@", " 47", " 48", " 49", "-50", "+50 odd", " 51", " 52", " 53"]),
        ((1,), ["@@ -1,4 +1,4 @@", "-1", "+1 odd", " 2", " 3", " 4"]),
        (
            (10, 90),
            [
                *("@@ -7,7 +7,7 @@", " 7", " 8", " 9", "-10", "+10 odd", " 11", " 12", " 13"),
                *("@@ -87,7 +87,7 @@", " 87", " 88", " 89", "-90", "+90 odd", " 91", " 92", " 93"),
            ],
        ),
    ],
)
def test_of_what_does_not_change_three_lines_are_shown_on_each_side(odd: tuple[int, ...], wanted: list[str]) -> None:
    before, after = ("\n".join([*lines, ""]) for lines in (numbered(), numbered(*odd)))
    assert diff(before, after).splitlines() == wanted


def test_new_file_is_all_added() -> None:
    """Nothing was there before."""
    assert diff(None, "a\nb\n", old=None) == "@@ -0,0 +1,2 @@\n+a\n+b\n"


def test_no_diff_where_one_side_is_no_text() -> None:
    """Binary, too large, or not at hand."""
    assert diff("a\n", None) == ""
    assert diff(None, "a\n") == ""
    assert diff(None, None, old=None) == ""


def test_long_lines_are_no_text() -> None:
    """On either side; the longest that is shown is exactly as long as the limit, its newline included."""
    fits = "x" * (LINE_LENGTH - 1) + "\n"
    assert diff("a\n", fits)
    assert diff("a\n", "x" + fits) == ""
    assert diff("x" + fits, "a\n") == ""


def test_diff_is_bounded() -> None:
    """What follows is counted."""
    lines = diff("", "".join(f"{n}\n" for n in range(DIFF_LINES * 2))).splitlines()
    assert len(lines) == DIFF_LINES + 1
    assert lines[-1] == f"… {DIFF_LINES + 1} more lines"
    assert len(diff("", "".join(f"{n}\n" for n in range(DIFF_LINES - 1))).splitlines()) == DIFF_LINES


def test_secret_is_hidden_with_its_diff() -> None:
    """Neither value nor text of either side comes through."""
    shown = report_change(
        Change("password", "hunter1", "hunter2", sensitive=True, before_text="hunter1\n", after_text="hunter2\n")
    )
    assert (shown.before, shown.after, shown.diff) == (HIDDEN, HIDDEN, "")


def test_private_change_says_so() -> None:
    """Whoever keeps the report takes its diff out."""
    assert report_change(Change("content", 1, 2, is_private=True)).is_private
    assert not report_change(Change("content", 1, 2)).is_private


def test_planned_actions_have_no_outcome() -> None:
    """`datum plan`: only what is held has one."""
    hold = Hold(HoldReason.AUDIT, "It is audited.", "drop audit")
    made = plan(
        action("file:/a", label=Label.DRIFT, hazards=frozenset({Hazard.OUTAGE, Hazard.DATA_LOSS})),
        action("file:/b", hold=hold),
    )
    first, second = report_resources(made, ())
    assert (first.outcome, first.operation, first.label) == (None, "update", "drift")
    assert first.hazards == ("data_loss", "outage")
    assert first.location == at(1)
    assert (second.outcome, second.hold) == (Outcome.HELD, hold)


def test_what_a_held_action_will_have_skipped_says_so_in_the_plan() -> None:
    """However far it stands from the held one, and where it is a candidate of one set with it."""
    hold = Hold(HoldReason.LIMIT, "Too much.", "allow it")
    judge = Check(rid("check:n"), ("judge",), 1.0)
    made = evolve(
        plan(
            action("file:/a", hold=hold),
            action("file:/b", requires=frozenset({rid("file:/a")})),
            action("file:/c", requires=frozenset({rid("file:/b")})),
            action("file:/d", hold=hold, transaction="check/n"),
            action("file:/e", transaction="check/n"),
            action("file:/f"),
        ),
        checks={"check/n": (judge,)},
    )
    told = {str(one.id): (one.outcome, one.blocked_by, one.detail) for one in report_resources(made, ())}
    assert told["file:/b"][:2] == told["file:/c"][:2] == (Outcome.SKIPPED, rid("file:/a"))
    assert told["file:/e"][:2] == (Outcome.SKIPPED, rid("file:/d"))
    assert "all or nothing" in told["file:/e"][2]
    assert told["file:/f"][:2] == (None, None)


def test_results_stand_at_their_actions() -> None:
    """Outcome, blame, remarks and duration are those of the result."""
    made = plan(action("file:/a"), action("file:/b"))
    results = (
        ActionResult(made.actions[0], Outcome.APPLIED, remarks=("not_atomic",), duration=0.5),
        ActionResult(made.actions[1], Outcome.SKIPPED, blocked_by=rid("file:/a")),
    )
    first, second = report_resources(made, results)
    assert (first.outcome, first.remarks, first.duration) == (Outcome.APPLIED, ("not_atomic",), 0.5)
    assert (second.outcome, second.blocked_by) == (Outcome.SKIPPED, rid("file:/a"))


def test_a_hold_stands_there_whenever_it_was_decided() -> None:
    """Planned, or found when the turn of the action came."""
    planned = Hold(HoldReason.AUDIT, "It is audited.", "drop audit")
    found = Hold(HoldReason.CHANGED_UNDER_US, "It changed.")
    made = plan(action("file:/a", hold=planned), action("file:/b"), action("file:/c", hold=planned))
    held = [
        ActionResult(one, Outcome.HELD, hold=hold) for one, hold in zip(made.actions, (planned, found), strict=False)
    ]
    skipped = ActionResult(made.actions[2], Outcome.SKIPPED, blocked_by=rid("file:/a"))
    assert [one.hold for one in report_resources(made, (*held, skipped))] == [planned, found, planned]


def test_deletion_of_an_orphan_names_who_declared_it() -> None:
    """It has no place in the target."""
    (shown,) = report_resources(plan(action("file:/a", Operation.DELETE, orphan_of=TARGET)), ())
    assert shown.detail == f"no longer declared; last by {TARGET.short}"


def test_verdicts_follow_sorted_and_in_sync_is_left_out() -> None:
    """Each with the outcome it comes to, and the step that would be taken."""
    made = plan(
        verdicts={
            "file:/z": Verdict(VerdictKind.UNOBSERVABLE, detail="Denied.", location=at(9)),
            "file:/s": Verdict(VerdictKind.SKIPPED, rid("file:/z"), step=STEP),
            "file:/i": Verdict(VerdictKind.IMPOSSIBLE, step=STEP),
            "file:/ok": IN_SYNC,
        }
    )
    shown = report_resources(made, ())
    assert [(str(one.id), one.outcome, one.operation) for one in shown] == [
        ("file:/i", Outcome.FAILED, "create"),
        ("file:/s", Outcome.SKIPPED, "create"),
        ("file:/z", Outcome.UNOBSERVABLE, ""),
    ]
    assert [one.field for one in shown[1].changes] == ["mode"]
    assert (shown[1].blocked_by, shown[2].detail, shown[2].location) == (rid("file:/z"), "Denied.", at(9))


def orphan(state: OrphanState) -> Orphan:
    return Orphan(rid(f"file:/{state}"), state, "modified", "It was changed.")


def test_counts_are_of_verdicts_results_and_kept_orphans() -> None:
    """Every resource once, and what stays on the host; sorted, so that equal passes give equal reports."""
    made = plan(
        action("file:/a"),
        action("file:/b"),
        verdicts={"file:/ok": IN_SYNC, "file:/ok2": IN_SYNC, "file:/i": Verdict(VerdictKind.IMPOSSIBLE)},
        orphans=tuple(orphan(state) for state in OrphanState),
    )
    results = (ActionResult(made.actions[0], Outcome.APPLIED), ActionResult(made.actions[1], Outcome.FAILED))
    counts = count_outcomes(made, results)
    assert counts == {Outcome.APPLIED: 1, Outcome.FAILED: 2, Outcome.IN_SYNC: 2, Outcome.ORPHAN: 2}
    assert list(counts) == sorted(counts)
    assert count_outcomes(plan(), ()) == {}


@pytest.mark.parametrize(
    ("state", "stays"),
    [
        (OrphanState.REMOVE, False),
        (OrphanState.ABSENT, False),
        (OrphanState.KEPT, True),
        (OrphanState.UNSETTLED, True),
    ],
)
def test_orphans_that_stay(state: OrphanState, stays: bool) -> None:
    """Kept and unsettled ones."""
    assert is_left(orphan(state)) is stays


def results_of(**outcomes: Outcome) -> tuple[ActionResult, ...]:
    return tuple(ActionResult(action(f"file:/{name}"), outcome) for name, outcome in outcomes.items())


def test_left_over_names_what_ran_after_its_own_action() -> None:
    """Whatever became of that: a failed action may have changed something too. What did nothing is no suspect."""
    results = results_of(
        a=Outcome.APPLIED,
        b=Outcome.APPLIED,
        c=Outcome.ALREADY,
        d=Outcome.FAILED,
        e=Outcome.SKIPPED,
        f=Outcome.HELD,
        g=Outcome.UNVERIFIED,
        h=Outcome.BUSY,
    )
    closing = plan(action("file:/b", Operation.UPDATE, change("mode"), change("owner")))
    (found,) = left_over(plan(), closing, results)
    assert (found.resource, found.fields) == (rid("file:/b"), ("mode", "owner"))
    assert found.suspects == (rid("file:/d"), rid("file:/g"), rid("file:/h"))


def test_left_over_without_an_own_action_suspects_everything_that_ran() -> None:
    """It was in sync when the pass began."""
    (found,) = left_over(
        plan(verdicts={"file:/z": IN_SYNC}), plan(action("file:/z")), results_of(a=Outcome.APPLIED, b=Outcome.ALREADY)
    )
    assert found.suspects == (rid("file:/a"),)


@pytest.mark.parametrize("outcome", [one for one in Outcome if one.spreads])
def test_what_is_known_to_be_unsettled_is_not_left_over(outcome: Outcome) -> None:
    """The report says so already."""
    assert left_over(plan(), plan(action("file:/a")), results_of(a=outcome)) == ()
    verdicts = {"file:/a": Verdict(VerdictKind.UNOBSERVABLE)}
    assert left_over(plan(verdicts=verdicts), plan(verdicts=verdicts), ()) == ()
    assert left_over(plan(verdicts=verdicts), plan(action("file:/a")), ()) == ()


def test_verdicts_of_the_closing_plan_are_left_over() -> None:
    """What became unobservable, or is skipped for it; with the fields that would change where they are known."""
    closing = plan(
        verdicts={
            "file:/u": Verdict(VerdictKind.UNOBSERVABLE),
            "file:/s": Verdict(VerdictKind.SKIPPED, rid("file:/u"), step=STEP),
            "file:/ok": IN_SYNC,
        }
    )
    found = left_over(plan(), closing, results_of(a=Outcome.APPLIED))
    assert [(str(item.resource), item.fields) for item in found] == [("file:/s", ("mode",)), ("file:/u", ())]
    assert all(item.suspects == (rid("file:/a"),) for item in found)


def test_converged_leaves_nothing_over() -> None:
    """An empty closing plan."""
    assert left_over(plan(), plan(verdicts={"file:/a": IN_SYNC}), results_of(a=Outcome.APPLIED)) == ()


def test_after_what_an_action_is_known_is_reported() -> None:
    makers = (rid("file:/a"), rid("file:/b"))
    (found,) = report_resources(plan(action("command:c", known_after=makers)), ())
    assert found.known_after == makers
