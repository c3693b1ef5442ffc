"""First contact by a pinned anchor, and how lost state is told from a fresh host (design 3.5, ADR 0048)."""

import shlex
import shutil
from pathlib import Path

import pytest

from tests.passes.scene import HOST, OTHER_FLEET_ID, Ran, Scene, run

A = {"file:/etc/a": {"content": "a\n"}}
B = {"file:/etc/a": {"content": "b\n"}}
CONFIG = "/etc/datum/agent.yaml"


def configure(scene: Scene, anchor: str) -> None:
    """Write what cloud-init would."""
    scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\ntrust: {{policy: none, anchor: '{anchor}'}}\n")


def codes(ran: Ran) -> set[str]:
    """Return the codes on stderr."""
    return {part.partition("]")[0] for part in ran.err.split("[")[1:]}


def hint(ran: Ran) -> str:
    """Return the command in the hint."""
    return ran.err.partition("try: ")[2].rpartition("datum init ")[2].splitlines()[0]


def reports(scene: Scene) -> list[Path]:
    return sorted(scene.at("/var/log/datum/reports").glob("*.*.*.json"))


def forget(scene: Scene) -> None:
    """Lose the state directory."""
    shutil.rmtree(scene.at("/var/lib/datum"))


# --- by a pass


def test_a_pass_makes_first_contact_at_the_anchor(scene: Scene) -> None:
    configure(scene, scene.commit(A))
    scene.apply()
    assert scene.read("/etc/a") == "a\n"
    assert scene.pointer["enrolled"] == scene.pointer["accepted"]


def test_a_pass_makes_first_contact_at_a_descendant(scene: Scene) -> None:
    anchor = scene.commit(A)
    head = scene.commit(B)
    configure(scene, anchor)
    scene.apply()
    assert scene.read("/etc/a") == "b\n"
    assert scene.pointer["enrolled"] == head


def test_a_pass_refuses_what_does_not_descend_from_the_anchor(scene: Scene) -> None:
    """76, with what both commits say, and no trace: no pointer, no report."""
    scene.commit(A)
    configure(scene, "0" * 40)
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (76, {"not-anchored"})
    assert "'change' by Carl Committer" in ran.err
    assert f"{'0' * 40} (not in the repository)" in ran.err
    assert scene.read("/etc/a") is None
    assert not scene.pointer_path.exists()
    assert not reports(scene)


def test_a_plan_refuses_it_as_well(scene: Scene) -> None:
    scene.commit(A)
    configure(scene, "0" * 40)
    ran = scene.run("plan")
    assert (ran.code, codes(ran)) == (76, {"not-anchored"})


def test_an_older_commit_than_the_anchor_is_refused(scene: Scene) -> None:
    scene.commit(A)
    newer = scene.commit(B)
    scene.repository.git("reset", "--quiet", "--hard", "HEAD~1")
    configure(scene, newer)
    assert codes(scene.run("apply")) == {"not-anchored"}
    assert not scene.pointer_path.exists()


def test_what_replaces_the_branch_between_init_and_the_first_pass_is_refused(scene: Scene) -> None:
    """Init pins what it saw; the pass takes nothing that does not descend from it."""
    scene.commit(A)
    assert scene.init().code == 0
    scene.repository.git("checkout", "--quiet", "--orphan", "other")
    scene.commit(B)
    scene.repository.git("branch", "--force", "main", "other")
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (76, {"not-anchored"})
    assert scene.read("/etc/a") is None
    assert scene.pointer["accepted"] is None


def test_once_something_is_accepted_the_anchor_decides_nothing(scene: Scene) -> None:
    scene.enrolled(A)
    text = (scene.read(CONFIG) or "").replace(scene.repository.head, "0" * 40)
    scene.write(CONFIG, text)
    scene.commit(B)
    scene.apply()
    assert scene.read("/etc/a") == "b\n"


def test_an_unreachable_source_leaves_first_contact_to_the_next_pass(scene: Scene) -> None:
    """69; no report is written before there is a pointer, so the next pass takes it for no lost state."""
    configure(scene, scene.commit(A))
    away = scene.repository.path.rename(scene.folder / "away")
    assert scene.run("apply").code == 69
    assert not reports(scene)
    away.rename(scene.repository.path)
    scene.apply()


def test_offline_there_is_no_first_contact(scene: Scene) -> None:
    configure(scene, scene.commit(A))
    ran = scene.run("apply", "--offline")
    assert (ran.code, codes(ran)) == (78, {"not-enrolled"})


def test_a_mirror_without_a_pointer_is_a_killed_first_contact(scene: Scene) -> None:
    """What a kill between mirror and pointer leaves is no evidence of an enrolment."""
    anchor = scene.commit(A)
    assert scene.init().code == 0
    scene.pointer_path.unlink()
    configure(scene, anchor)
    scene.apply()
    assert scene.read("/etc/a") == "a\n"


def test_an_invalid_revision_is_reported_once_the_host_is_enrolled(scene: Scene) -> None:
    configure(scene, scene.commit({"nothing:x": {}}))
    assert scene.run("apply").code == 65
    assert (scene.pointer["accepted"], len(reports(scene))) == (None, 1)
    scene.commit(A)
    scene.apply()


# --- enrolled anew


def test_a_rewritten_branch_is_followed_once_the_host_is_enrolled_anew(scene: Scene) -> None:
    """The third way out of 76 (docs/operations.md, "Refused"), with all that stands in its way: reports, an anchor."""
    old = scene.enrolled({**A, "file:/etc/old": {"content": "old\n", "on_removal": "delete"}})
    scene.repository.git("checkout", "--quiet", "--orphan", "other")
    new = scene.commit(B)
    scene.repository.git("branch", "--force", "main", "other")
    scene.repository.git("checkout", "--quiet", "main")
    scene.apply(code=76)
    assert (scene.read("/etc/a"), scene.read("/etc/old")) == ("a\n", "old\n")
    assert f"anchor: '{old}'" in (scene.read(CONFIG) or "")
    ran = scene.run("init", "--anchor", new)
    assert (ran.code, codes(ran)) == (78, {"configured-otherwise"}), "not as long as the pointer is there"

    scene.pointer_path.rename(scene.folder / "pointer.json")
    assert codes(scene.run("apply")) == {"state-lost"}
    ran = scene.run("init", "--anchor", new)
    assert ran.code == 0, ran
    assert f"anchor: '{new}'" in (scene.read(CONFIG) or "")
    scene.apply()
    assert scene.read("/etc/a") == "b\n"
    assert (scene.pointer["enrolled"], scene.trail, scene.report["outcome"]) == (new, [new], "converged")
    assert scene.read("/etc/old") == "old\n", "what only older revisions declared stays"
    # From here on that one is the floor.
    newer = scene.commit(A)
    scene.apply()
    assert scene.pointer["accepted"] == newer
    scene.repository.git("branch", "--force", "other", old)
    scene.repository.git("checkout", "--quiet", "other")
    scene.repository.git("branch", "--force", "main", "other")
    scene.apply(code=76)
    assert scene.pointer["accepted"] == newer


# --- lost state


def test_lost_state_is_told_by_reports_and_ends_with_74(scene: Scene) -> None:
    head = scene.enrolled(A)
    scene.write("/etc/a", "drift\n")
    forget(scene)
    before = scene.everything()
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (74, {"state-lost"})
    assert str(reports(scene)[-1]) in ran.err
    assert f"It had accepted sha1:{head}." in ran.err
    assert scene.everything() == before


def test_the_way_back_of_lost_state_is_in_the_hint(scene: Scene) -> None:
    """The line enrols again from what had been accepted, and the next pass goes on."""
    scene.enrolled(A)
    head = scene.commit(B)
    scene.apply()
    forget(scene)
    line = hint(scene.run("apply"))
    words = shlex.split(line)
    assert words[words.index("--anchor") + 1] == head
    ran = run("init", *words)
    assert ran.code == 0, ran
    assert f"anchor: '{head}'" in (scene.read(CONFIG) or "")
    scene.apply()


def test_after_lost_state_the_old_floor_is_kept_by_the_anchor_of_the_hint(scene: Scene) -> None:
    """Who sets the branch back meanwhile gains nothing."""
    scene.enrolled(A)
    scene.commit(B)
    scene.apply()
    forget(scene)
    line = hint(scene.run("apply"))
    scene.repository.git("reset", "--quiet", "--hard", "HEAD~1")
    ran = run("init", *shlex.split(line))
    assert (ran.code, codes(ran)) == (76, {"not-anchored"})
    assert not scene.pointer_path.exists()


def test_without_an_anchor_a_missing_pointer_is_no_enrolment(scene: Scene) -> None:
    scene.commit(A)
    scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\n")
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (78, {"not-enrolled"})


def test_reports_that_cannot_be_read_still_tell_of_lost_state(scene: Scene) -> None:
    scene.enrolled(A)
    for path in reports(scene):
        path.write_text("{")
    forget(scene)
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (74, {"state-lost"})
    assert "--anchor COMMIT" in ran.err
    assert scene.repository.head not in ran.err


def test_an_image_without_state_and_reports_is_a_new_host(scene: Scene) -> None:
    scene.enrolled(A)
    forget(scene)
    shutil.rmtree(scene.at("/var/log/datum"))
    scene.apply()
    assert scene.read("/etc/a") == "a\n"


def test_reports_from_before_a_leave_are_of_another_enrolment(scene: Scene) -> None:
    head = scene.enrolled(A)
    assert scene.run("leave", "--yes").code == 0
    configure(scene, head)
    scene.apply()
    forget(scene)
    assert codes(scene.run("apply")) == {"state-lost"}


# --- what is no anchor


@pytest.mark.parametrize("anchor", ["main", "8ef80f1451", "'" + "g" * 40 + "'", "5", "[a]", "'" + "A" * 40 + "'"])
def test_what_is_no_whole_commit_id_is_no_anchor(scene: Scene, anchor: str) -> None:
    scene.commit(A)
    scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\ntrust:\n  anchor: {anchor}\n")
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (78, {"bad-config"})
    assert "trust.anchor" in ran.err


def test_an_anchor_of_digits_wants_quotes(scene: Scene) -> None:
    """Without them YAML makes a number of it."""
    scene.commit(A)
    scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\ntrust:\n  anchor: {'1' * 40}\n")
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (78, {"bad-config"})


def test_an_anchor_of_another_fleet_is_no_way_in(scene: Scene) -> None:
    """A host that is enrolled in a fleet stays there, whatever is pinned."""
    scene.enrolled(A)
    head = scene.commit(A, fleet=OTHER_FLEET_ID)
    configure(scene, head)
    ran = scene.run("apply")
    assert "foreign-fleet" in codes(ran)
