"""Asking the source, and judging what it offers (design 3.2, 3.3)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from datum.agent.anchor import is_anchored
from datum.agent.resolver import descent
from datum.agent.resolver.own import OwnManifests
from datum.agent.source import is_behind
from datum.diagnostics import Diagnostic
from datum.errors import RepositoryError, RevisionRefusedError
from datum.model.fleet import FleetHeader
from datum.model.revision import Revision
from datum.model.source import SourceTree
from datum.repository.mirror import Mirror
from datum.repository.objects import ObjectReader
from tests.passes.scene import OTHER_FLEET_ID, Scene

A = {"file:/etc/a": {"content": "a\n"}}
B = {"file:/etc/a": {"content": "b\n"}}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a host that has converged at a first revision."""
    made = Scene(tmp_path)
    made.enrolled(A)
    return made


def codes(report: Any) -> list[str]:
    return [item["code"] for item in report["source"]["diagnostics"]]


def refused(scene: Scene, *options: str) -> Any:
    ran = scene.run("apply", "--json", *options)
    assert ran.code == 76, ran
    assert ran.json["source"]["status"] == "refused"
    assert ran.json["outcome"] == "converged"
    return ran.json


def test_acceptable_revision_is_enforced(scene: Scene) -> None:
    """It descends from the accepted one."""
    head = scene.commit(B)
    scene.apply()
    assert scene.read("/etc/a") == "b\n"
    assert scene.pointer["accepted"] == head


def test_revision_of_another_fleet_is_refused(scene: Scene) -> None:
    """The evidence names both fleets, and what stays enforced."""
    enforced = scene.trail[-1]
    scene.commit(B, fleet=OTHER_FLEET_ID)
    report = refused(scene)
    assert codes(report) == ["foreign-fleet"]
    detail = report["source"]["diagnostics"][0]["detail"]
    assert OTHER_FLEET_ID in detail
    assert f"Still enforced: {enforced[:12]}." in detail
    assert scene.read("/etc/a") == "a\n"


def test_revision_for_another_agent_is_refused(scene: Scene) -> None:
    """With the version that it asks for and the one this is."""
    scene.commit(B, agent=">=99")
    report = refused(scene)
    assert codes(report) == ["agent-out-of-range"]
    assert ">=99" in report["source"]["diagnostics"][0]["detail"]


def test_rewritten_branch_is_refused_with_both_commits(scene: Scene) -> None:
    """Who made which, when; and a way on."""
    scene.repository.git("checkout", "--quiet", "--orphan", "other")
    scene.commit(B)
    scene.repository.git("branch", "--force", "main", "other")
    report = refused(scene)
    assert codes(report) == ["not-a-descendant"]
    (found,) = report["source"]["diagnostics"]
    assert found["detail"].count("Carl Committer") == 2
    assert found["hint"]


def test_everything_that_is_wrong_with_a_header_is_evidence(scene: Scene) -> None:
    """Not only the first."""
    scene.commit(B, fleet=OTHER_FLEET_ID, agent=">=99")
    assert codes(refused(scene)) == ["foreign-fleet", "agent-out-of-range"]


@pytest.mark.parametrize("header", ["fleet: [", f"fleet: {OTHER_FLEET_ID}\nversion: 1\nagent: '>=99'\n"])
def test_no_file_is_read_of_what_does_not_descend(scene: Scene, monkeypatch: pytest.MonkeyPatch, header: str) -> None:
    """Its writer has had no say here: a header that is broken would make it an invalid revision (65)."""
    scene.repository.git("checkout", "--quiet", "--orphan", "other")
    head = scene.repository.commit({"fleet.yaml": header})
    scene.repository.git("branch", "--force", "main", "other")
    read: list[str] = []
    header_of = OwnManifests.header

    def watched(self: OwnManifests, tree: SourceTree) -> FleetHeader:
        read.append(tree.revision.commit)
        return header_of(self, tree)

    monkeypatch.setattr(OwnManifests, "header", watched)
    assert codes(refused(scene)) == ["not-a-descendant"]
    assert head not in read


def test_what_is_too_far_from_the_accepted_revision_is_refused_and_drift_is_repaired(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended the pass as an invalid revision; and the command of the hint leads there."""
    asked = ObjectReader.is_descendant

    def proved(self: ObjectReader, commit: str, ancestor: str) -> bool:
        found = asked(self, commit, ancestor)
        return found and descent.prove_descent(commit, ancestor, self.read) is not None

    monkeypatch.setattr(ObjectReader, "is_descendant", proved)
    monkeypatch.setattr(descent, "COMMIT_LIMIT", 1)
    middle, head = scene.commit(B), scene.commit({"file:/etc/a": {"content": "c\n"}})
    scene.write("/etc/a", "drift\n")
    report = refused(scene)
    assert codes(report) == ["descent-too-long"]
    (found,) = report["source"]["diagnostics"]
    assert "Still enforced: " in found["detail"]
    assert found["hint"].endswith("datum apply --rev COMMIT")
    assert scene.read("/etc/a") == "a\n"
    # The branch is still too far away then, which is told; afterwards it is not.
    assert (scene.run("apply", "--rev", middle).code, scene.read("/etc/a")) == (76, "b\n")
    assert scene.run("apply").code == 0
    assert (scene.read("/etc/a"), scene.pointer["accepted"]) == ("c\n", head)


class FarMirror(Mirror):
    """One that cannot show what it was asked for."""

    def __init__(self, error: RepositoryError) -> None:
        self.error = error

    def is_descendant(self, revision: Revision, ancestor: Revision) -> bool:
        raise self.error


def test_what_is_too_far_for_a_proof_has_the_cure_of_who_asked() -> None:
    """A copy that lags far behind is passed over; a host that accepted nothing cannot follow a commit between both."""
    found = Diagnostic(code="descent-too-long", summary="s", detail="d", hint="datum apply --rev COMMIT")
    one, other = Revision("1" * 40), Revision("2" * 40)
    assert is_behind(FarMirror(RevisionRefusedError(found)), one, other)
    assert not is_behind(FarMirror(RepositoryError(found)), one, other)
    with pytest.raises(RevisionRefusedError) as caught:
        is_anchored(FarMirror(RevisionRefusedError(found)), one, other)
    assert "--anchor" in caught.value.diagnostics[0].hint


def test_unreachable_source_keeps_the_enforced_revision(scene: Scene) -> None:
    """Drift is repaired meanwhile; 69 says what else is."""
    scene.write("/etc/a", "drift\n")
    scene.repository.path.rename(scene.folder / "moved")
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (69, "unreachable")
    assert scene.read("/etc/a") == "a\n"


def test_vanished_ref_keeps_the_enforced_revision(scene: Scene) -> None:
    """It is gone, and that is said."""
    scene.repository.git("branch", "--move", "main", "trunk")
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (69, "gone")
    assert ran.json["target"] is not None


def test_offline_does_not_ask(scene: Scene) -> None:
    """The enforced revision, whatever the source has."""
    scene.commit(B)
    ran = scene.run("apply", "--offline", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (0, "not_asked")
    assert scene.read("/etc/a") == "a\n"


@pytest.mark.parametrize("options", [("--rev", "0" * 40), ("--rev", "nowhere"), ("--rev", "nowhere", "--offline")])
def test_a_revision_that_cannot_be_had_ends_the_pass(scene: Scene, options: Sequence[str]) -> None:
    """66: a person named it. The host stays where it is, and the branch is well."""
    ran = scene.run("apply", "--json", *options)
    assert ran.code == 66, ran
    (found,) = ran.json["diagnostics"]
    assert found["detail"].endswith(f"The host stays at {scene.pointer['accepted'].rpartition(':')[2][:12]}.")
    assert found["hint"].startswith("correct --rev, or leave it out to follow main")
    assert ("without --offline" in found["hint"]) == ("--offline" in options)
    assert scene.read("/etc/a") == "a\n"


def test_a_named_revision_that_is_known_is_not_asked_for(scene: Scene) -> None:
    """The mirror has it."""
    ran = scene.run("apply", "--rev", scene.trail[-1], "--json")
    assert (ran.code, ran.json["source"]["status"]) == (0, "not_asked")


def test_a_named_revision_that_is_new_is_fetched(scene: Scene) -> None:
    """By its id, from what the source offers."""
    middle = scene.commit(B)
    scene.commit(A)
    ran = scene.run("apply", "--rev", middle, "--json")
    assert ran.code == 0, ran
    assert scene.read("/etc/a") == "b\n"


@pytest.mark.parametrize("gone", ["moved", "branch"])
def test_a_named_revision_and_a_source_that_fails(scene: Scene, gone: str) -> None:
    """66: what was named is not here, and cannot be fetched."""
    if gone == "moved":
        scene.repository.path.rename(scene.folder / "moved")
    else:
        scene.repository.git("branch", "--move", "main", "trunk")
    assert scene.run("apply", "--rev", "1" * 40).code == 66


def test_untrusted_plan_of_a_refused_revision(scene: Scene) -> None:
    """`plan --untrusted` shows what it would do; without the option the plan is that of the enforced one."""
    scene.commit(B, fleet=OTHER_FLEET_ID)
    assert scene.run("plan", "--json").json["resources"] == []
    shown = scene.run("plan", "--untrusted", "--json")
    assert [entry["id"] for entry in shown.json["resources"]] == ["file:/etc/a"]
    assert shown.code == 0
    said = scene.run("plan", "--untrusted").err
    assert "warning[foreign-fleet]" in said
    assert "error[" not in said


def test_first_contact_with_a_refused_revision_enforces_nothing(tmp_path: Path) -> None:
    """There is nothing to fall back to, and the evidence says so."""
    made = Scene(tmp_path)
    made.commit(A)
    assert made.init().code == 0
    made.commit(A, fleet=OTHER_FLEET_ID)
    ran = made.run("apply", "--json")
    assert (ran.code, ran.json["outcome"]) == (76, "refused")
    assert "Nothing is enforced." in ran.json["diagnostics"][0]["detail"]
    assert made.read("/etc/a") is None


def test_a_named_branch_is_kept_like_the_followed_one(scene: Scene) -> None:
    """Its objects were dropped with the quarantine, and the next pass without the source had nothing to enforce."""
    scene.repository.git("checkout", "--quiet", "-b", "other")
    scene.commit(B)
    assert scene.run("apply", "--rev", "other").code == 0
    scene.write("/etc/a", "drift\n")
    assert scene.run("apply", "--offline").code == 0
    assert scene.read("/etc/a") == "b\n"
