"""The pointer's state machine, sentence by sentence of design 3.5."""

from typing import Any

import pytest
from attrs import evolve

from datum.errors import InternalError, SettingsError
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import Enforcement
from datum.model.outcome import Withheld
from datum.model.plan import Action, Label, Operation
from datum.model.pointer import Pointer, SettleInput, TrailEntry
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.model.revision import Revision, SourceStatus
from datum.state.transitions import (
    TRAIL_LIMIT,
    Candidate,
    RollbackCause,
    RollbackFacts,
    TargetChoice,
    TargetRule,
    acceptable,
    begin,
    choose_target,
    converge,
    may_roll_back,
    quarantine,
    rename,
    rewind,
    roll_back,
    settle,
    unseal,
)

HOST, OLD = HostName("web1"), HostName("old")
FLEET = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"


def revision(number: int) -> Revision:
    return Revision(f"{number:040x}")


A, B, C, D = (revision(number) for number in range(10, 14))


def entry(of: Revision, host: HostName = HOST) -> TrailEntry:
    return TrailEntry(of, host)


def enforcing(*trail: Revision, accepted: Revision | None = None, **fields: Any) -> Pointer:
    accepted = accepted or trail[-1]
    return Pointer(FLEET, HOST, accepted, accepted, tuple(map(entry, trail)), **fields)


def in_line(newer: Revision, older: Revision) -> bool:
    """A linear history: a larger number descends from a smaller one."""
    return newer.commit >= older.commit


def choose(pointer: Pointer | None, **given: Any) -> TargetChoice:
    offered = given.pop("offered", None)
    arguments: dict[str, Any] = {
        "requested": None,
        "source": SourceStatus.OK if offered else SourceStatus.UNREACHABLE,
        "offered": offered,
        "enforcement": Enforcement.ENFORCE,
    } | given
    return choose_target(pointer, HOST, **arguments)


# --- acceptable ---


def test_accepted_itself_and_its_descendants_are_acceptable_and_nothing_else() -> None:
    assert acceptable(B, C, in_line)
    assert not acceptable(B, A, in_line)
    assert acceptable(B, B, lambda _newer, _older: False)


def test_before_the_first_contact_there_is_no_floor() -> None:
    assert acceptable(None, A, lambda _newer, _older: False)


# --- choose_target ---


def test_rule_1_a_requested_revision_comes_before_the_source() -> None:
    choice = choose(enforcing(A), requested=Candidate(B, acceptable=True), offered=Candidate(C, acceptable=True))
    assert choice == TargetChoice(TargetRule.REQUESTED, entry(B), SourceStatus.OK)


def test_rule_1_is_not_stopped_by_hold() -> None:
    choice = choose(enforcing(A), requested=Candidate(B, acceptable=True), enforcement=Enforcement.HOLD)
    assert choice.target == entry(B)


@pytest.mark.parametrize(
    ("acceptable", "quarantined", "status"),
    [(False, (), SourceStatus.REFUSED), (True, (B,), SourceStatus.QUARANTINED), (False, (B,), SourceStatus.REFUSED)],
)
def test_a_requested_revision_that_may_not_be_leaves_the_enforced_one_not_the_sources(
    acceptable: bool, quarantined: tuple[Revision, ...], status: SourceStatus
) -> None:
    choice = choose(
        enforcing(A, quarantined=quarantined),
        requested=Candidate(B, acceptable=acceptable),
        offered=Candidate(C, acceptable=True),
    )
    assert choice == TargetChoice(TargetRule.ENFORCED, entry(A), status)


def test_the_enforced_revision_may_be_requested_though_it_is_below_the_floor() -> None:
    pointer = enforcing(B, A, accepted=B, quarantined=(B,))
    choice = choose(pointer, requested=Candidate(A, acceptable=False), source=SourceStatus.NOT_ASKED)
    assert choice == TargetChoice(TargetRule.REQUESTED, entry(A), SourceStatus.NOT_ASKED)


def test_the_source_is_refused_when_it_goes_back_below_the_floor_even_to_what_is_enforced() -> None:
    pointer = enforcing(B, A, accepted=B, quarantined=(B,))
    choice = choose(pointer, offered=Candidate(A, acceptable=False))
    assert choice == TargetChoice(TargetRule.ENFORCED, entry(A), SourceStatus.REFUSED)


def test_rule_2_the_sources_revision() -> None:
    assert choose(enforcing(A), offered=Candidate(B, acceptable=True)) == TargetChoice(
        TargetRule.SOURCE, entry(B), SourceStatus.OK
    )
    assert choose(None, offered=Candidate(B, acceptable=True)).target == entry(B)


def test_observe_chooses_as_enforce_does() -> None:
    choice = choose(enforcing(A), offered=Candidate(B, acceptable=True), enforcement=Enforcement.OBSERVE)
    assert choice.target == entry(B)


@pytest.mark.parametrize(
    ("offered", "enforcement", "quarantined", "source", "withheld"),
    [
        (Candidate(B, acceptable=False), Enforcement.ENFORCE, (), SourceStatus.REFUSED, None),
        (Candidate(B, acceptable=False), Enforcement.HOLD, (), SourceStatus.REFUSED, None),
        (Candidate(B, acceptable=True), Enforcement.ENFORCE, (B,), SourceStatus.QUARANTINED, None),
        (Candidate(B, acceptable=True), Enforcement.HOLD, (), SourceStatus.OK, Withheld.HOLD),
        (Candidate(B, True, approved=False), Enforcement.ENFORCE, (), SourceStatus.OK, Withheld.NOT_APPROVED),
        (Candidate(B, True, approved=False), Enforcement.HOLD, (), SourceStatus.OK, Withheld.NOT_APPROVED),
    ],
)
def test_rule_3_a_source_that_is_not_followed_leaves_the_enforced_revision(
    offered: Candidate,
    enforcement: Enforcement,
    quarantined: tuple[Revision, ...],
    source: SourceStatus,
    withheld: Withheld | None,
) -> None:
    choice = choose(enforcing(A, quarantined=quarantined), offered=offered, enforcement=enforcement)
    assert choice == TargetChoice(TargetRule.ENFORCED, entry(A), source, withheld)


@pytest.mark.parametrize("status", [SourceStatus.UNREACHABLE, SourceStatus.GONE, SourceStatus.NOT_ASKED])
def test_rule_3_without_an_offer(status: SourceStatus) -> None:
    assert choose(enforcing(A, B), source=status) == TargetChoice(TargetRule.ENFORCED, entry(B), status)


def test_rule_3_takes_the_newest_that_is_not_quarantined_under_the_present_name() -> None:
    pointer = evolve(enforcing(A, B), trail=(entry(A, OLD), entry(B)), quarantined=(B,))
    assert choose(pointer).target == entry(A)


def test_hold_holds_nothing_back_when_the_source_is_what_is_enforced() -> None:
    choice = choose(enforcing(A), offered=Candidate(A, acceptable=True), enforcement=Enforcement.HOLD)
    assert choice == TargetChoice(TargetRule.SOURCE, entry(A), SourceStatus.OK)


def test_rule_4_nothing_is_enforced_or_all_of_it_is_quarantined() -> None:
    assert choose(None) == TargetChoice(TargetRule.NONE, None, SourceStatus.UNREACHABLE)
    assert choose(Pointer(FLEET, HOST)).target is None
    assert choose(enforcing(A, quarantined=(A,))).rule is TargetRule.NONE
    held = choose(None, offered=Candidate(A, acceptable=True), enforcement=Enforcement.HOLD)
    assert held == TargetChoice(TargetRule.NONE, None, SourceStatus.OK, Withheld.HOLD)


# --- W ---


def test_w_at_first_contact_enrols() -> None:
    written = begin(None, entry(A), descends=False, fleet=FLEET)
    assert written.pointer == Pointer(FLEET, HOST, enrolled=A, accepted=A, trail=(entry(A),))
    assert written.dropped == ()
    enrolled = begin(Pointer(FLEET, HOST), entry(A), descends=False, fleet="ignored")
    assert enrolled.pointer == written.pointer


def test_w_moves_the_floor_to_a_descendant_only() -> None:
    assert begin(enforcing(A), entry(B), descends=True, fleet=FLEET).pointer.accepted == B
    back = begin(enforcing(B, A, accepted=B), entry(A), descends=False, fleet=FLEET).pointer
    assert (back.accepted, back.enrolled) == (B, B)


def test_w_of_the_enforced_revision_changes_nothing() -> None:
    pointer = enforcing(A, B, converged=A, previous=A)
    assert begin(pointer, entry(B), descends=True, fleet=FLEET).pointer == pointer


@pytest.mark.parametrize(
    ("fields", "previous"),
    [
        ({"converged": A}, A),
        ({"converged": A, "quarantined": (A,)}, B),
        ({"converged": C}, B),
        ({"converged": C, "quarantined": (B,)}, None),
        ({"quarantined": (B,), "previous": A}, None),
        ({}, B),
    ],
)
def test_w_sets_where_a_rollback_goes(fields: dict[str, Any], previous: Revision | None) -> None:
    written = begin(enforcing(A, B, **fields), entry(C), descends=True, fleet=FLEET).pointer
    assert written.previous == previous
    assert written.trail == (entry(A), entry(B), entry(C))


def test_w_moves_a_revision_of_the_trail_to_its_end() -> None:
    written = begin(enforcing(A, B), entry(A), descends=False, fleet=FLEET).pointer
    assert written.trail == (entry(B), entry(A))


def test_w_of_the_enforced_revision_under_a_new_name_keeps_both_entries_and_the_way_back() -> None:
    pointer = evolve(enforcing(B, previous=A, converged=B), trail=(entry(B, OLD),))
    written = begin(pointer, entry(B), descends=True, fleet=FLEET).pointer
    assert written.trail == (entry(B, OLD), entry(B))
    assert written.previous == A


def test_w_refuses_a_quarantined_target() -> None:
    with pytest.raises(InternalError):
        begin(enforcing(A, quarantined=(B,)), entry(B), descends=True, fleet=FLEET)


def test_w_below_a_root_seals_and_on_the_running_system_unseals() -> None:
    sealed = begin(enforcing(A, converged=A), entry(B), descends=True, fleet=FLEET, sealed=True).pointer
    assert sealed.sealed
    assert sealed.previous == sealed.converged == A
    opened = begin(evolve(sealed, host=OLD), entry(B), descends=True, fleet=FLEET).pointer
    assert not opened.sealed
    assert (opened.host, opened.converged, opened.previous) == (HOST, None, None)
    assert (opened.accepted, opened.trail) == (sealed.accepted, sealed.trail)


def test_the_trail_is_bounded_and_says_what_fell_out() -> None:
    full = enforcing(*(revision(number) for number in range(100, 100 + TRAIL_LIMIT)))
    again = begin(full, entry(revision(100)), descends=False, fleet=FLEET)
    assert (len(again.pointer.trail), again.dropped) == (TRAIL_LIMIT, ())
    more = begin(full, entry(A), descends=False, fleet=FLEET)
    assert len(more.pointer.trail) == TRAIL_LIMIT
    assert more.dropped == (entry(revision(100)),)
    assert more.pointer.trail[-1] == entry(A)


# --- S and C ---


@pytest.mark.parametrize("missing", ["orphans_settled", "differences_verified", "trail_resolved", None])
def test_s_drops_older_entries_when_all_three_conditions_hold(missing: str | None) -> None:
    conditions = {"orphans_settled": True, "differences_verified": True, "trail_resolved": True}
    if missing:
        conditions[missing] = False
    after = settle(enforcing(A, B), entry(B), SettleInput(**conditions))
    assert after.trail == ((entry(A), entry(B)) if missing else (entry(B),))


def test_c_names_the_target() -> None:
    assert converge(enforcing(A, B), entry(B)).converged == B


def test_s_c_and_q_are_for_the_enforced_revision_only() -> None:
    pointer = enforcing(A, B, previous=A)
    for write in (
        lambda: converge(pointer, entry(A)),
        lambda: settle(pointer, entry(A), SettleInput(True, True, True)),
        lambda: roll_back(pointer, entry(A)),
        lambda: converge(Pointer(FLEET, HOST), entry(A)),
    ):
        with pytest.raises(InternalError):
            write()


# --- Q ---

GUARDED = enforcing(A, B, previous=A, converged=A)


def result(outcome: Outcome, label: Label, cause: FailureCause | None = None) -> ActionResult:
    action = Action(ResourceId("file", "/etc/motd"), "file 1", Operation.UPDATE, (), label=label)
    return ActionResult(action, outcome, cause=cause)


def failing(**facts: Any) -> RollbackFacts:
    return RollbackFacts(**({"wanted": True, "check_turned_red": True} | facts))


@pytest.mark.parametrize("facts", [{"wanted": False}, {"only": True}, {"is_rollback": True}])
def test_q_is_never_done_unasked_nor_partially_nor_twice(facts: dict[str, Any]) -> None:
    assert may_roll_back(GUARDED, entry(B), failing()) is RollbackCause.REQUIRED_CHECK
    assert may_roll_back(GUARDED, entry(B), failing(**facts)) is None


@pytest.mark.parametrize(
    "fields", [{"converged": B}, {"previous": None}, {"previous": B}, {"quarantined": (A,)}], ids=str
)
def test_q_needs_an_unproven_target_and_a_way_back(fields: dict[str, Any]) -> None:
    assert may_roll_back(evolve(GUARDED, **fields), entry(B), failing()) is None


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        ({}, None),
        ({"check_turned_red": True, "check_red": True}, RollbackCause.REQUIRED_CHECK),
        ({"check_red": True}, None),
        ({"check_red": True, "is_repetition": True}, RollbackCause.REQUIRED_CHECK),
        ({"is_repetition": True}, None),
        ({"candidate_check_failed": True}, RollbackCause.CANDIDATE_CHECK),
        ({"lifeline_unconfirmed": True}, RollbackCause.LIFELINE),
    ],
)
def test_q_causes(facts: dict[str, Any], cause: RollbackCause | None) -> None:
    assert may_roll_back(GUARDED, entry(B), RollbackFacts(wanted=True, **facts)) is cause


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("label", Label)
@pytest.mark.parametrize("cause", [None, *FailureCause])
def test_q_for_an_action_that_the_revision_is_to_blame_for(
    outcome: Outcome, label: Label, cause: FailureCause | None
) -> None:
    blamed = (
        outcome in {Outcome.FAILED, Outcome.UNVERIFIED}
        and label in {Label.INTENT, Label.RETRY}
        and cause not in {FailureCause.BUSY, FailureCause.NETWORK, FailureCause.NO_SPACE, FailureCause.UNOBSERVABLE}
    )
    facts = RollbackFacts(wanted=True, results=(result(Outcome.APPLIED, label), result(outcome, label, cause)))
    assert may_roll_back(GUARDED, entry(B), facts) is (RollbackCause.FAILED_ACTION if blamed else None)


def test_no_revision_is_to_blame_for_a_mark() -> None:
    """The manager did not take it; the refresh that a check refuses is another thing."""
    failed = result(Outcome.FAILED, Label.INTENT)
    for operation, blamed in ((Operation.MARK, False), (Operation.REFRESH_RESTART, True)):
        facts = RollbackFacts(wanted=True, results=(evolve(failed, action=evolve(failed.action, operation=operation)),))
        assert (may_roll_back(GUARDED, entry(B), facts) is not None) is blamed


def test_q_quarantines_the_target_and_makes_previous_the_newest() -> None:
    written = roll_back(GUARDED, entry(B)).pointer
    assert written == evolve(GUARDED, quarantined=(B,), trail=(entry(B), entry(A)))
    assert choose(written, offered=Candidate(B, acceptable=True)) == TargetChoice(
        TargetRule.ENFORCED, entry(A), SourceStatus.QUARANTINED
    )


def test_q_to_a_revision_that_had_left_the_trail() -> None:
    settled = evolve(GUARDED, trail=(entry(B),))
    assert roll_back(settled, entry(B)).pointer.trail == (entry(B), entry(A))


@pytest.mark.parametrize("fields", [{"previous": None}, {"previous": B}, {"quarantined": (A,)}], ids=str)
def test_q_without_a_way_back_is_a_bug(fields: dict[str, Any]) -> None:
    with pytest.raises(InternalError):
        roll_back(evolve(GUARDED, **fields), entry(B))


# --- commands ---


def test_quarantine_of_the_enforced_revision_is_q() -> None:
    assert quarantine(GUARDED, B) == roll_back(GUARDED, entry(B))


def test_quarantine_of_another_revision_or_without_a_way_back_is_the_mark_alone() -> None:
    assert quarantine(GUARDED, C).pointer == evolve(GUARDED, quarantined=(C,))
    assert quarantine(enforcing(A), A).pointer == enforcing(A, quarantined=(A,))
    assert quarantine(Pointer(FLEET, HOST), A).pointer == Pointer(FLEET, HOST, quarantined=(A,))
    assert quarantine(evolve(GUARDED, quarantined=(C,)), C).pointer.quarantined == (C,)


def test_x_is_the_way_back_and_quarantines_what_is_newer() -> None:
    written = rewind(enforcing(A, B, C), B, in_line).pointer
    assert written.accepted == B
    assert written.enrolled == C
    assert written.quarantined == (C,)
    assert written.trail == (entry(A), entry(C), entry(B))
    assert choose(written, offered=Candidate(C, acceptable=True)).target == entry(B)


def test_x_to_a_rewritten_branch_quarantines_the_whole_trail() -> None:
    written = rewind(enforcing(A, B), D, lambda _newer, _older: False).pointer
    assert (written.accepted, written.quarantined) == (D, (A, B))
    assert written.trail == (entry(A), entry(B), entry(D))


def test_x_takes_the_revision_out_of_quarantine() -> None:
    written = rewind(enforcing(B, A, accepted=B, quarantined=(B,)), B, in_line).pointer
    assert written.quarantined == ()
    assert choose(written).target == entry(B)


def test_x_on_a_fresh_pointer_enrols() -> None:
    written = rewind(Pointer(FLEET, HOST), A, in_line).pointer
    assert (written.enrolled, written.accepted, written.trail) == (A, A, (entry(A),))


def test_rename_keeps_the_names_of_the_trail() -> None:
    renamed = rename(enforcing(A), HOST, HostName("web2"))
    assert renamed.host == HostName("web2")
    assert renamed.trail == (entry(A),)


def test_rename_from_another_name_is_refused() -> None:
    with pytest.raises(SettingsError) as caught:
        rename(enforcing(A), OLD, HostName("web2"))
    assert "--rename web1" in caught.value.diagnostics[0].hint


def test_unseal_keeps_what_may_be_on_the_host_and_forgets_what_was_proven() -> None:
    sealed = enforcing(A, B, converged=B, previous=A, quarantined=(C,), sealed=True)
    opened = unseal(sealed, OLD)
    assert opened == evolve(sealed, sealed=False, host=OLD, converged=None, previous=None)
    assert unseal(opened, HOST) is opened
