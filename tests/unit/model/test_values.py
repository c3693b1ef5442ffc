"""The small helpers of graph, plan, pointer, manifest, observation and result."""

import pytest

from datum.model.graph import DependencyKind, Target, may_share
from datum.model.identity import HostName
from datum.model.manifest import Enforcement
from datum.model.observation import Cause
from datum.model.plan import Operation, Plan, Verdict, VerdictKind
from datum.model.pointer import Pointer, SettleInput, TrailEntry
from datum.model.result import Outcome
from tests.unit.fakes import HOST, TARGET, declare, graph_of, manifest, nodes_of, plan_of, revision, rid

# --- graph ---


def test_a_target_is_what_it_names() -> None:
    assert str(Target("path", "/etc/motd")) == "path /etc/motd"
    assert Target("path", "/a", shared=True, leaf=True) == Target("path", "/a")
    assert Target("path", "/a") != Target("unit", "/a")
    assert len({Target("path", "/a"), Target("path", "/a", shared=True)}) == 1


def test_what_a_resource_requires_is_followed_to_its_end_and_not_round() -> None:
    graph = graph_of(
        declare("fake:a", requires=["fake:b", "fake:c"]),
        declare("fake:b", requires=["fake:d"]),
        declare("fake:c", requires=["fake:d"], after=["fake:e"]),
        declare("fake:d"),
        declare("fake:e"),
    )
    assert graph.required_by(rid("fake:a")) == {rid("fake:b"), rid("fake:c"), rid("fake:d")}
    assert graph.required_by(rid("fake:e")) == frozenset()
    assert graph.required_by(rid("fake:unknown")) == frozenset()


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("entry:/f#a", "entry:/f#b", True),
        ("entry:/f#a", "twin:/f#b", False),
        ("entry:/f#a", "leaf:/f", False),
        ("leaf:/f", "leaf:/f", False),
    ],
)
def test_only_edits_of_one_type_share_a_target(one: str, other: str, shared: bool) -> None:
    first, second = (nodes_of(declare(text))[rid(text)] for text in (one, other))
    assert may_share(first, second, Target("path", "/f")) is shared


def test_the_words_of_edges_are_systemds() -> None:
    assert [str(kind) for kind in DependencyKind] == ["requires", "after"]


# --- plan ---


def test_operations_are_ranked_as_the_design_says() -> None:
    words = ["mark", "create", "update", "reload", "restart", "stop", "replace", "delete"]
    assert [Operation(word).rank for word in words] == [1, 2, 2, 3, 4, 4, 5, 6]
    assert len(words) == len(Operation)


def test_replace_and_delete_remove() -> None:
    assert {operation for operation in Operation if operation.removes} == {Operation.REPLACE, Operation.DELETE}


def test_a_plan_is_empty_when_nothing_is_to_be_done_and_nothing_stands_in_the_way() -> None:
    def plan_with(*kinds: VerdictKind) -> Plan:
        return Plan(TARGET, HOST, "", (), {rid(f"fake:{kind}"): Verdict(kind) for kind in kinds})

    assert plan_with().is_empty
    assert plan_with(VerdictKind.IN_SYNC).is_empty
    for kind in set(VerdictKind) - {VerdictKind.IN_SYNC}:
        assert not plan_with(VerdictKind.IN_SYNC, kind).is_empty
    assert not plan_of(declare("fake:a")).is_empty


# --- pointer ---

ENTRIES = tuple(TrailEntry(revision(number), HostName("web1")) for number in (1, 2))


def test_the_last_of_the_trail_is_enforced() -> None:
    assert Pointer("id", HOST).enforced is None
    assert Pointer("id", HOST, trail=ENTRIES).enforced == ENTRIES[1]


def test_a_quarantined_revision_is_known_by_its_commit() -> None:
    pointer = Pointer("id", HOST, quarantined=(revision(3),))
    assert pointer.is_quarantined(revision(3))
    assert not pointer.is_quarantined(revision(4))


@pytest.mark.parametrize("missing", [None, "orphans_settled", "differences_verified", "trail_resolved"])
def test_a_trail_settles_when_nothing_of_it_is_left(missing: str | None) -> None:
    names = ("orphans_settled", "differences_verified", "trail_resolved")
    assert SettleInput(**{name: name != missing for name in names}).settles is (missing is None)


# --- manifest, observation, result ---


def test_enforcement_is_ordered_from_loose_to_tight() -> None:
    assert [one.tightness for one in (Enforcement.ENFORCE, Enforcement.HOLD, Enforcement.OBSERVE)] == [0, 1, 2]


def test_the_resources_of_a_manifest_are_found_by_id() -> None:
    found = manifest(declare("fake:a"), declare("fake:b")).by_id
    assert found == {rid("fake:a"): declare("fake:a"), rid("fake:b"): declare("fake:b")}
    with pytest.raises(TypeError):
        found[rid("fake:c")] = declare("fake:c")  # type: ignore[index]  # what the test is about


def test_only_what_says_that_the_host_is_sick_is_sickness() -> None:
    sick = {cause for cause in Cause if cause.is_sickness}
    assert sick == {
        Cause.IO,
        Cause.READ_ONLY,
        Cause.NO_MEMORY,
        Cause.TOO_MANY_FILES,
        Cause.DATABASE,
        Cause.IDENTITY,
        Cause.MASS,
    }


def test_an_outcome_either_settles_or_spreads_or_is_an_orphan() -> None:
    settled = {outcome for outcome in Outcome if outcome.is_settled}
    spreading = {outcome for outcome in Outcome if outcome.spreads}
    assert settled == {Outcome.IN_SYNC, Outcome.APPLIED, Outcome.ALREADY}
    assert Outcome.UNVERIFIED in spreading, "`unverified` spreads as `failed` does (design 5)"
    assert set(Outcome) - settled - spreading == {Outcome.ORPHAN}
    assert not settled & spreading
