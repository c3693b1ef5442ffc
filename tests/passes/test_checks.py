"""Whole passes with checks: the set is on the host as the check saw it, or not at all (design 4.2)."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.passes.scene import Scene, install

CHECK: Final = "check:pair"
ONE, OTHER = "file:/etc/one", "file:/etc/other"


@pytest.fixture
def judged(scene: Scene) -> Scene:
    """Give a host on which a check can run, with the set in place."""
    install(scene, "/bin/sh")
    scene.enrolled(pair("1", "1"))
    return scene


def pair(one: str, other: str, **more: Any) -> Mapping[str, Mapping[str, Any]]:
    """Declare two files that make sense with the same content only, and what requires one of them."""
    script = 'read a < /etc/one; read b < /etc/other; echo "one says $a, other $b"; [ "$a" = "$b" ]'
    return {
        CHECK: {"run": ["/bin/sh", "-c", script], "guards": [ONE, OTHER]},
        ONE: {"content": f"{one}\n", **more},
        OTHER: {"content": f"{other}\n"},
        "file:/etc/after": {"content": f"{one}\n", "requires": [OTHER]},
        "file:/etc/alone": {"content": f"{other}\n"},
    }


def said(scene: Scene) -> dict[str, str]:
    return {check["id"]: check["outcome"] for check in scene.report["checks"]}


def test_a_set_that_passes_is_put_in_place(judged: Scene) -> None:
    judged.commit(pair("2", "2"))
    judged.apply()
    assert (judged.read("/etc/one"), judged.read("/etc/other")) == ("2\n", "2\n")
    assert said(judged) == {CHECK: "passed"}
    (check,) = judged.report["checks"]
    assert check["candidates"] == [ONE, OTHER]


def test_a_set_that_is_refused_leaves_the_host_as_it_was(judged: Scene) -> None:
    """What requires it is skipped, the rest is done; what the check said is told once; the next revision goes on."""
    judged.commit(pair("2", "3"))
    ran = judged.apply(code=1)
    assert (judged.read("/etc/one"), judged.read("/etc/other")) == ("1\n", "1\n")
    assert judged.outcomes() == {
        ONE: "failed", OTHER: "failed", "file:/etc/after": "skipped", "file:/etc/alone": "applied", CHECK: "failed",
    }  # fmt: skip
    assert said(judged) == {CHECK: "refused"}
    assert ran.out.count("one says 2, other 3") == 1
    assert f"? refused {CHECK}  {ONE}, {OTHER}\n" in ran.out
    entries = {entry["id"]: entry for entry in judged.report["resources"]}
    assert (entries[ONE]["refused_by"], entries[OTHER]["refused_by"]) == (CHECK, CHECK)
    assert entries["file:/etc/after"]["blocked_by"] == OTHER
    assert len(judged.trail) == 2
    judged.commit(pair("3", "3"))
    judged.apply()
    assert (judged.read("/etc/one"), judged.read("/etc/other"), len(judged.trail)) == ("3\n", "3\n", 1)


def test_half_of_a_set_is_judged_with_what_is_there(judged: Scene) -> None:
    """Only what has something to do is a candidate."""
    judged.commit(pair("2", "1"))
    judged.apply(code=1)
    assert judged.read("/etc/one") == "1\n"
    judged.commit(pair("1", "1", mode="0600"))
    judged.apply()
    (check,) = judged.report["checks"]
    assert (check["candidates"], check["outcome"]) == ([ONE], "passed")


def test_one_member_that_is_held_holds_up_the_set(judged: Scene) -> None:
    """A directory with something in it stands where a file is wanted: all or nothing."""
    judged.at("/etc/other").unlink()
    judged.write("/etc/other/precious", "x\n")
    judged.commit(pair("2", "2"))
    ran = judged.apply(code=1)
    assert judged.outcomes()[ONE] == "skipped"
    assert judged.outcomes()[OTHER] == "held"
    assert judged.read("/etc/one") == "1\n"
    assert judged.read("/etc/other/precious") == "x\n"
    assert said(judged) == {CHECK: "not_run"}
    assert "would be lost: the directory that stands there and 1 path below it" in ran.out


def test_a_pass_with_nothing_to_do_judges_nothing(judged: Scene) -> None:
    """The program is gone, and nobody misses it."""
    judged.at("/bin/sh").unlink()
    assert "nothing to do" in judged.apply().out
    judged.commit(pair("2", "2"))
    judged.apply(code=1)
    assert said(judged) == {CHECK: "not_run"}
    assert judged.read("/etc/one") == "1\n"


def test_drift_of_one_member_is_judged_too(judged: Scene) -> None:
    judged.write("/etc/one", "drifted\n")
    judged.apply()
    assert (judged.read("/etc/one"), said(judged)) == ("1\n", {CHECK: "passed"})


def test_a_plan_names_the_checks_and_runs_none(judged: Scene) -> None:
    judged.commit(pair("2", "3"))
    before = judged.everything()
    plan = judged.run("plan", "--json").json
    assert plan["checks"] == [{"id": CHECK, "outcome": None, "candidates": [ONE, OTHER]}]
    assert f"? checks  {CHECK}  {ONE}, {OTHER}\n" in judged.run("plan").out
    assert judged.everything() == before


def test_a_directory_and_a_file_in_it_are_one_set(judged: Scene) -> None:
    """The file's folder is a candidate itself."""
    script = 'read a < /etc/new/x && [ "$a" = good ]'
    wanted: dict[str, Mapping[str, Any]] = {
        "check:new": {"run": ["/bin/sh", "-c", script], "guards": ["directory:/etc/new", "file:/etc/new/x"]},
        "directory:/etc/new": {"mode": "0750"},
        "file:/etc/new/x": {"content": "bad\n"},
    }
    judged.commit(wanted)
    judged.apply(code=1)
    assert not judged.at("/etc/new").exists()
    judged.commit({**wanted, "file:/etc/new/x": {"content": "good\n"}})
    judged.apply()
    assert judged.read("/etc/new/x") == "good\n"
