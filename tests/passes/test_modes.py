"""`enforcement`: the rows of design 3.5's table for `hold` and `observe`, and who says so in report and status."""

from typing import Any

import pytest

from tests.passes.scene import Scene
from tests.passes.test_enforcement import NEW, OLD, configure

MORE: dict[str, Any] = {**NEW, "file:/etc/b": {"content": "b\n"}}


def place(scene: Scene, said_by: str, mode: str) -> str:
    """Let the fleet or this host say a mode, offer another revision, and return the place of the word."""
    if said_by == "agent":
        configure(scene, f"enforcement: {mode}")
        scene.commit(NEW)
        lines = (scene.read("/etc/datum/agent.yaml") or "").splitlines()
        return f"{scene.at('/etc/datum/agent.yaml')}:{len(lines)}:14"
    scene.commit(NEW, host={"enforcement": mode})
    return "hosts/web1.yaml:2:17"


@pytest.mark.parametrize("said_by", ["fleet", "agent"])
@pytest.mark.parametrize(("mode", "code", "outcome"), [("hold", 1, "held"), ("observe", 0, "planned")])
def test_report_and_status_name_the_mode_and_where_it_is_said(
    scene: Scene, said_by: str, mode: str, code: int, outcome: str
) -> None:
    scene.enrolled(OLD)
    at = place(scene, said_by, mode)
    ran = scene.apply(code=code)
    assert f"enforcement {mode}, says {at}" in ran.out
    told = scene.report
    assert (told["enforcement"]["mode"], told["outcome"]) == (mode, outcome)
    location = told["enforcement"]["location"]
    assert f"{location['file']}:{location['line']}:{location['column']}" == at
    assert f"{mode}, says {at}" in scene.run("report").out
    shown = scene.run("status")
    assert f"enforcement {mode}, says {at}" in shown.out
    assert scene.run("status", "--json").json["newest"]["enforcement"] == told["enforcement"]


def test_status_names_what_this_host_says_before_any_pass_has_seen_it(scene: Scene) -> None:
    scene.enrolled(OLD)
    configure(scene, "enforcement: observe")
    assert "enforcement observe, says" in scene.run("status").out
    told = scene.run("status", "--json").json["enforcement"]
    assert (told["mode"], told["location"]["column"]) == ("observe", 14)


def test_where_nothing_is_said_the_mode_is_enforce_and_no_line_is_spent_on_it(scene: Scene) -> None:
    scene.enrolled(OLD)
    assert scene.report["enforcement"] == {"mode": "enforce", "location": None}
    assert "enforcement" not in scene.run("status").out
    assert "enforcement" not in scene.run("report").out


@pytest.mark.parametrize(
    ("fleet", "agent", "mode"),
    [
        ("enforce", "hold", "hold"),
        ("hold", "enforce", "hold"),
        ("hold", "observe", "observe"),
        ("observe", "hold", "observe"),
        ("enforce", "enforce", "enforce"),
    ],
)
def test_the_tighter_word_counts_whoever_says_it(scene: Scene, fleet: str, agent: str, mode: str) -> None:
    scene.enrolled(OLD)
    configure(scene, f"enforcement: {agent}")
    scene.commit(NEW, host={"enforcement": fleet})
    scene.apply(code={"enforce": 0, "hold": 1, "observe": 0}[mode])
    assert scene.report["enforcement"]["mode"] == mode


def test_the_place_is_that_of_the_layer_that_says_it(scene: Scene) -> None:
    scene.enrolled(OLD)
    scene.commit(NEW, enforcement="observe")
    scene.apply()
    assert scene.report["enforcement"]["location"]["file"] == "fleet.yaml"


def test_hold_moves_settled_and_converged_at_the_enforced_revision(scene: Scene) -> None:
    """The row `hold` of the table: accepted stays, S and C at what is enforced, exit 1."""
    old = scene.enrolled(OLD)
    scene.commit(MORE, host={"enforcement": "hold"})
    scene.write("/etc/a", "drift\n")
    scene.apply(code=1)
    assert (scene.pointer["accepted"], scene.pointer["converged"], scene.trail) == (old, old, [old])
    assert (scene.read("/etc/a"), scene.read("/etc/b")) == ("old\n", None)


def test_hold_keeps_nobody_from_naming_a_revision(scene: Scene) -> None:
    """`--rev` is an explicit act; `hold` withholds what the source offers."""
    scene.enrolled(OLD)
    head = scene.commit(NEW, host={"enforcement": "hold"})
    scene.apply(code=1)
    scene.apply("--rev", head)
    assert (scene.read("/etc/a"), scene.trail) == ("new\n", [head])


@pytest.mark.parametrize("options", [("--offline",), ()])
def test_observe_of_this_host_counts_without_the_source_too(scene: Scene, options: tuple[str, ...]) -> None:
    """Offline, or with a source that is gone (69): drift is planned and not repaired."""
    scene.enrolled(OLD)
    configure(scene, "enforcement: observe")
    scene.write("/etc/a", "drift\n")
    said = scene.run("status", "--resources").out
    assert "a pass would, were it not for 'enforcement: observe', update it" in said
    if not options:
        scene.repository.path.rename(scene.folder / "away")
    scene.apply(*options, code=0 if options else 69)
    assert (scene.read("/etc/a"), scene.report["outcome"]) == ("drift\n", "planned")


def test_a_named_revision_that_says_observe_is_only_planned(scene: Scene) -> None:
    scene.enrolled(OLD)
    head = scene.commit(NEW, host={"enforcement": "observe"})
    scene.apply()
    before = scene.pointer
    scene.apply("--rev", head)
    assert (scene.read("/etc/a"), scene.pointer, scene.report["outcome"]) == ("old\n", before, "planned")


def test_observe_before_the_first_pass_enforces_nothing(scene: Scene) -> None:
    scene.commit(OLD, host={"enforcement": "observe"})
    assert scene.init().code == 0
    before = scene.pointer
    scene.apply()
    assert (scene.read("/etc/a"), scene.pointer) == (None, before)


def test_a_pause_of_an_observed_host_changes_nothing_of_that(scene: Scene) -> None:
    scene.enrolled(OLD)
    configure(scene, "enforcement: observe")
    scene.commit(NEW)
    scene.run("pause", "--reason", "x", "--for", "1h", "--only", "file:/etc/a")
    scene.apply()
    assert (scene.report["outcome"], scene.report["exit_code"]) == ("planned", 0)
    (entry,) = scene.report["resources"]
    assert entry["outcome"] == "held"


def test_a_wrong_word_for_a_mode_is_an_error_with_its_place(scene: Scene) -> None:
    scene.enrolled(OLD)
    configure(scene, "enforcement: pause")
    ran = scene.run("apply")
    assert ran.code == 78
    assert "one of enforce, hold, observe is expected" in ran.err
