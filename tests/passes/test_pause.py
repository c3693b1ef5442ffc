"""`datum pause` and `datum resume`: what passes do meanwhile, what is told, and that it ends (design 3.5, 4.4)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from datum.cli import effects
from datum.model.moment import format_moment, parse_moment
from tests.passes.looks import write_pause
from tests.passes.scene import REPORTS, STATE, Scene, clear_state, run
from tests.passes.test_absorbed_passes import wait_for_requests
from tests.passes.test_concurrency import SLOW, passes, wait_for

NOON = parse_moment("2026-11-29T12:00:00Z")
HOUR = 3600
OLD: dict[str, Any] = {"file:/etc/a": {"content": "a\n"}, "file:/etc/b": {"content": "b\n"}}
NEW: dict[str, Any] = {"file:/etc/a": {"content": "new\n"}, "file:/etc/b": {"content": "new\n"}}
PAUSE = ("pause", "--reason", "disk swap", "--for", "2h")


class Clock:
    """The clock of every command that this process runs."""

    def __init__(self) -> None:
        self.now = NOON

    def read(self) -> str:
        return format_moment(self.now)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(effects, "read_clock", made.read)
    monkeypatch.setenv("SUDO_USER", "alice")
    return made


def ready(scene: Scene) -> None:
    """Enrol, drift, and offer another revision."""
    scene.enrolled(OLD)
    scene.write("/etc/a", "drift\n")
    scene.commit(NEW)


def codes(scene: Scene) -> list[str]:
    return [found["code"] for found in scene.report["diagnostics"]]


# --- the whole host


def test_a_paused_host_is_planned_and_not_touched(scene: Scene) -> None:
    """Exit 0, outcome `planned`, as with `enforcement: observe`; report and command say who, why and until when."""
    ready(scene)
    assert scene.run(*PAUSE).code == 0
    assert "after the pause a pass would update it" in scene.run("status", "--resources").out
    before, pointer = scene.host(), scene.pointer
    ran = scene.apply()
    assert "update" in ran.out
    assert "alice paused the whole host at 2026-11-29T12:00:00Z until 2026-11-29T14:00:00Z: disk swap." in ran.err
    assert f"datum resume --root {scene.root} ends it" in ran.err
    assert (scene.host(), scene.pointer) == (before, pointer)
    told = scene.report
    assert (told["outcome"], told["exit_code"]) == ("planned", 0)
    assert told["pause"] == {
        "who": "alice", "reason": "disk swap", "only": [],
        "since": "2026-11-29T12:00:00Z", "until": "2026-11-29T14:00:00Z",
    }  # fmt: skip
    assert codes(scene) == ["paused"]


def test_the_host_is_changed_again_when_its_time_has_come(scene: Scene, clock: Clock) -> None:
    """Nobody has to remember it; passes of the day after say that it has ended."""
    ready(scene)
    scene.run(*PAUSE)
    clock.now += 2 * HOUR - 1
    scene.apply()
    assert scene.read("/etc/a") == "drift\n"
    clock.now += 1
    ran = scene.apply()
    assert scene.read("/etc/a") == "new\n"
    assert "A pause has ended by its time." in ran.err
    assert scene.report["pause"] is None
    clock.now += 24 * HOUR
    assert scene.apply().err == ""
    assert "was paused" in scene.run("status").out


def test_a_clock_that_was_set_back_ends_a_pause_and_says_so(scene: Scene, clock: Clock) -> None:
    """Else it would last for as long as the clock has to go."""
    ready(scene)
    scene.run(*PAUSE)
    clock.now -= 600
    scene.apply()
    assert scene.read("/etc/a") == "drift\n"
    clock.now -= 1
    ran = scene.apply()
    assert scene.read("/etc/a") == "new\n"
    assert "pause-clock" in ran.err


def test_resume_ends_it(scene: Scene) -> None:
    ready(scene)
    scene.run(*PAUSE)
    ran = scene.run("resume")
    assert (ran.code, ran.err) == (0, "")
    assert "web1 is not paused any more. alice paused the whole host at" in ran.out
    assert not (scene.root / STATE / "pause.yaml").exists()
    scene.apply()
    assert scene.read("/etc/a") == "new\n"
    again = scene.run("resume")
    assert again.code == 0
    assert "web1 was not paused." in again.out


def test_another_pause_takes_its_place_and_says_of_what(scene: Scene, clock: Clock) -> None:
    ready(scene)
    scene.run(*PAUSE)
    clock.now += HOUR
    ran = scene.run("pause", "--reason", "kernel", "--for", "30m", "--only", "file:/etc/a")
    assert "replaced    alice paused the whole host" in ran.out
    told = scene.run("pause", "--reason", "kernel", "--for", "30m", "--json").json
    assert told["replaced"]["only"] == ["file:/etc/a"]
    assert told["pause"]["until"] == "2026-11-29T13:30:00Z"


def test_an_operators_own_pass_obeys_it_too(scene: Scene) -> None:
    """Whatever it asks for: a revision, a plan."""
    ready(scene)
    planned = scene.run("plan", "--json").json["plan_id"]
    scene.run(*PAUSE)
    for options in (["--rev", scene.repository.head], ["--expect", planned], ["--offline"]):
        assert "datum resume" in scene.apply(*options).err
        assert scene.read("/etc/a") == "drift\n"


def test_a_pause_hides_nothing_of_the_source(scene: Scene) -> None:
    """A source that is gone is 69 and a refused revision 76, as with any plan."""
    ready(scene)
    scene.run(*PAUSE)
    scene.repository.git("checkout", "--quiet", "--orphan", "other")
    scene.repository.git("commit", "--quiet", "-m", "other")
    scene.repository.git("branch", "--quiet", "-f", "main")
    assert scene.run("apply").code == 76
    scene.repository.path.rename(scene.folder / "away")
    assert scene.run("apply").code == 69
    assert scene.read("/etc/a") == "drift\n"


def test_a_pass_that_waited_for_its_turn_obeys_a_pause_that_was_made_meanwhile(scene: Scene, odd_types: Path) -> None:
    """The pause and the clock are read when the pass begins, not when it was asked for."""
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start()
        wait_for(odd_types / "begun")
        made.start("--json", "--detailed-exitcode")
        wait_for_requests(scene, 2)
        scene.write("/etc/motd", "drift\n")
        # In another process: the passes read the real clock.
        ran = scene.spawn("pause", "--reason", "now", "--for", "1h", "--json")
        assert ran.json["running"]["pid"] == made.processes[0].pid
        (odd_types / "go").touch()
        _, second = made.finish()
    assert second.json["outcome"] == "planned"
    assert second.json["pause"]["reason"] == "now"


def test_it_is_a_persons_word_and_stays_when_all_else_is_lost(scene: Scene) -> None:
    """Design 1.5 b: neither reports nor caches count, and the pause does."""
    ready(scene)
    scene.run(*PAUSE)
    clear_state(scene)
    scene.apply()
    assert scene.read("/etc/a") == "drift\n"


def test_a_pass_neither_writes_nor_removes_it(scene: Scene, clock: Clock) -> None:
    ready(scene)
    scene.run(*PAUSE)
    path = scene.root / STATE / "pause.yaml"
    before = (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns)
    scene.apply()
    clock.now += 5 * HOUR
    scene.apply()
    assert (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) == before


# --- some resources


def test_what_is_named_is_held_and_the_rest_goes_on(scene: Scene) -> None:
    """Exit 1, outcome `held`, since something is left; where nothing is, the pass has converged."""
    ready(scene)
    assert scene.run(*PAUSE, "--only", "file:/etc/a").code == 0
    ran = scene.apply(code=1)
    assert (scene.read("/etc/a"), scene.read("/etc/b")) == ("drift\n", "new\n")
    assert scene.outcomes() == {"file:/etc/a": "held", "file:/etc/b": "applied"}
    assert "released by: datum resume, or 2026-11-29T14:00:00Z" in ran.out
    assert scene.report["outcome"] == "held"
    (entry,) = [one for one in scene.report["resources"] if one["id"] == "file:/etc/a"]
    assert entry["hold"]["reason"] == "pause"
    scene.write("/etc/a", "new\n")
    scene.apply()
    assert scene.report["outcome"] == "converged"
    assert scene.report["pause"]["only"] == ["file:/etc/a"]


def test_what_requires_it_waits_and_its_removal_too(scene: Scene) -> None:
    scene.enrolled({**OLD, "file:/etc/app.d/x": {"content": "x\n"}})
    scene.commit(
        {"file:/etc/a": {"content": "new\n"}, "file:/etc/b": {"content": "new\n", "requires": ["file:/etc/a"]}}
    )
    scene.run(*PAUSE, "--only", "file:/etc/a", "--only", "file:/etc/app.d/x")
    scene.apply(code=1)
    assert (scene.read("/etc/a"), scene.read("/etc/b"), scene.read("/etc/app.d/x")) == ("a\n", "b\n", "x\n")
    assert scene.outcomes() == {"file:/etc/a": "held", "file:/etc/b": "skipped", "file:/etc/app.d/x": "held"}
    assert len(scene.trail) == 2, "what is not removed is not forgotten"
    scene.run("resume")
    scene.apply()
    assert (scene.read("/etc/b"), scene.read("/etc/app.d/x"), len(scene.trail)) == ("new\n", None, 1)


def test_a_whole_type_can_be_named(scene: Scene) -> None:
    ready(scene)
    scene.run(*PAUSE, "--only", "file:*")
    scene.apply(code=1)
    assert set(scene.outcomes().values()) == {"held"}


def test_a_plan_shows_what_is_held_and_has_the_same_id(scene: Scene) -> None:
    ready(scene)
    free = scene.run("plan", "--json").json
    scene.run(*PAUSE, "--only", "file:/etc/a")
    plan = scene.run("plan", "--json").json
    assert plan["plan_id"] == free["plan_id"]
    assert [entry["outcome"] for entry in plan["resources"]] == ["held", None]
    assert "paused" in scene.run("plan").err
    scene.run("resume")
    scene.apply("--expect", plan["plan_id"])


def test_a_record_holds_the_pause_and_the_moment_and_gives_the_same_plan_at_any_time(
    scene: Scene, clock: Clock
) -> None:
    ready(scene)
    scene.run(*PAUSE, "--only", "file:/etc/a")
    record = scene.folder / "record"
    told = scene.run("plan", "--json", "--record", str(record))
    written = json.loads(record.read_bytes())
    assert (written["now"], written["pause"]["who"]) == ("2026-11-29T12:00:00Z", "alice")
    clock.now += 99 * HOUR
    again = run("plan", "--observed", str(record), "--fleet", scene.url, "--json")
    assert (again.code, again.out) == (0, told.out)
    written["now"] = "2026-11-29T14:00:00Z"
    record.write_text(json.dumps(written))
    later = run("plan", "--observed", str(record), "--fleet", scene.url, "--json")
    assert [entry["outcome"] for entry in later.json["resources"]] == [None, None]


@pytest.mark.parametrize(
    ("key", "value"),
    [("now", 5), ("now", "noon"), ("pause", []), ("pause", {}), ("pause", {"who": "a"})],
)
def test_a_record_with_another_shape_of_pause_is_refused(scene: Scene, key: str, value: object) -> None:
    ready(scene)
    record = scene.folder / "record"
    scene.run("plan", "--record", str(record))
    record.write_text(json.dumps({**json.loads(record.read_bytes()), key: value}))
    assert run("plan", "--observed", str(record), "--fleet", scene.url).code == 64


def test_what_nothing_declares_is_told_when_it_is_named_and_in_every_pass(scene: Scene) -> None:
    """A typing error must not leave open what somebody believes to be paused."""
    ready(scene)
    ran = scene.run(*PAUSE, "--only", "file:/etc/typo", "--only", "file:/etc/a")
    assert ran.code == 0
    assert "pause-names-nothing" in ran.err
    assert "declares file:/etc/typo." in ran.err
    scene.apply(code=1)
    assert codes(scene) == ["paused", "pause-names-nothing"]
    assert scene.run(*PAUSE, "--only", "file:/etc/a").err == ""


def test_a_type_that_there_is_none_of_is_told_whoever_wrote_it(scene: Scene) -> None:
    """The command refuses it; of a file status and passes say that it pauses nothing by that, and the rest holds."""
    ready(scene)
    ran = scene.run(*PAUSE, "--only", "bogus:*")
    assert (ran.code, (scene.root / STATE / "pause.yaml").exists()) == (64, False)
    assert "there is no resource type 'bogus'" in ran.err
    write_pause(scene, "bogus:*", "file:/etc/a")
    assert "bogus:*: nothing is paused by that. The types are" in scene.run("status").out
    assert json.loads(scene.run("status", "--json").out)["pause_warning"]["code"] == "pause-names-no-type"
    ran = scene.apply(code=1)
    assert "[pause-names-no-type]" in ran.err
    assert codes(scene) == ["paused", "pause-names-no-type"]
    assert (scene.read("/etc/a"), scene.read("/etc/b")) == ("drift\n", "new\n")
    assert "pause-names-no-type" in scene.run("report").out
    write_pause(scene, "file:/etc/a")
    assert "nothing is paused" not in scene.run("status").out
    assert json.loads(scene.run("status", "--json").out)["pause_warning"] is None


def test_what_a_pause_that_has_ended_names_is_nobodys_concern(scene: Scene, clock: Clock) -> None:
    ready(scene)
    write_pause(scene, "bogus:*")
    clock.now += 24 * HOUR
    assert json.loads(scene.run("status", "--json").out)["pause_warning"] is None
    scene.apply()
    assert codes(scene) == ["pause-over"]


def test_a_pause_that_would_hold_nothing_does_not_take_the_place_of_one_in_force(scene: Scene, clock: Clock) -> None:
    """A typing error must not end what keeps somebody's file from being changed; one that has ended keeps nothing."""
    ready(scene)
    scene.run(*PAUSE, "--only", "file:/etc/a")
    path = scene.root / STATE / "pause.yaml"
    before = path.read_bytes()
    ran = scene.run(*PAUSE, "--only", "file:/etc/typo", "--only", "service:*")
    assert ran.code == 64
    assert "bad-resource" in ran.err
    assert "alice paused file:/etc/a" in ran.err
    assert path.read_bytes() == before
    assert scene.run(*PAUSE, "--only", "file:/etc/typo", "--only", "file:/etc/b").code == 0
    clock.now += 3 * HOUR
    assert scene.run(*PAUSE, "--only", "file:/etc/typo").code == 0


def test_where_nothing_can_be_resolved_that_is_said(scene: Scene) -> None:
    scene.commit(OLD)
    assert scene.init().code == 0
    ran = scene.run(*PAUSE, "--only", "file:/etc/a")
    assert ran.code == 0
    assert "not checked" in ran.out


# --- the file


@pytest.mark.parametrize("text", ["", "who: alice\n", "until: tomorrow\n", "{", "only: []\n"])
def test_a_damaged_pause_ends_every_pass_and_leaves_the_host_alone(scene: Scene, text: str) -> None:
    """Exit 78 with the place: somebody wanted the host to be left alone, and what else is not known."""
    ready(scene)
    path = scene.root / STATE / "pause.yaml"
    path.write_text(text)
    before = scene.host()
    ran = scene.run("apply")
    assert (ran.code, scene.host()) == (78, before)
    assert f"{path}:" in ran.err
    assert "datum resume" in ran.err
    assert scene.run("plan").code == 78
    shown = scene.run("status")
    assert shown.code == 0
    assert "pause-damaged" in shown.out
    assert scene.run("status", "--json").json["pause_state"] == "damaged"
    assert "could not be read is gone" in scene.run("resume").out
    scene.apply()


def test_a_damaged_pause_is_replaced_by_another_one(scene: Scene) -> None:
    ready(scene)
    (scene.root / STATE / "pause.yaml").write_text("{")
    ran = scene.run(*PAUSE)
    assert (ran.code, "a pause that could not be read" in ran.out) == (0, True)
    scene.apply()


def test_it_is_written_for_everybody_to_read_and_by_a_person_to_understand(scene: Scene) -> None:
    ready(scene)
    scene.run(*PAUSE, "--only", "file:/etc/b", "--only", "file:/etc/a")
    path = scene.root / STATE / "pause.yaml"
    assert path.stat().st_mode & 0o7777 == 0o644
    assert path.read_text() == (
        "# Written by datum pause; datum resume ends it.\n"
        'who: "alice"\n'
        'reason: "disk swap"\n'
        'since: "2026-11-29T12:00:00Z"\n'
        'until: "2026-11-29T14:00:00Z"\n'
        'only: ["file:/etc/a", "file:/etc/b"]\n'
    )


# --- what can be asked


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--for", "2h"], "Missing option '--reason'"),
        (["--reason", "x"], "Missing option '--for'"),
        (["--reason", "", "--for", "2h"], "bad-reason"),
        (["--reason", " \n", "--for", "2h"], "bad-reason"),
        (["--reason", "x" * 501, "--for", "2h"], "bad-reason"),
        (["--reason", "a\x1b[2J", "--for", "2h"], "bad-reason"),
        (["--reason", "x", "--for", "2weeks"], "bad-duration"),
        (["--reason", "x", "--for", "31d"], "bad-duration"),
        (["--reason", "x", "--for", "2h", "--only", "nginx"], "bad-resource"),
        (["--reason", "x", "--for", "2h", "--only", "nothing:a"], "bad-resource"),
        (["--reason", "x", "--for", "2h", "--only", "file:/etc/a*"], "bad-resource"),
    ],
)
def test_what_cannot_be_asked_is_64_and_pauses_nothing(scene: Scene, options: list[str], code: str) -> None:
    ready(scene)
    ran = scene.run("pause", *options)
    assert ran.code == 64
    assert code in ran.err
    assert not (scene.root / STATE / "pause.yaml").exists()


def test_a_host_that_is_not_enrolled_has_nothing_to_pause(scene: Scene) -> None:
    scene.commit(OLD)
    config = scene.at("/etc/datum/agent.yaml")
    config.parent.mkdir()
    config.write_text(f"repo: {scene.url}\nhost: web1\n")
    for words in (PAUSE, ("resume",)):
        ran = scene.run(*words)
        assert ran.code == 78
        assert "not-enrolled" in ran.err


def test_a_pointer_that_cannot_be_used_keeps_nobody_from_pausing(scene: Scene) -> None:
    ready(scene)
    scene.pointer_path.write_text("{")
    made = scene.run(*PAUSE)
    assert (made.code, "warning[pointer-damaged]" in made.err) == (0, True)
    assert scene.run("apply").code == 74
    assert scene.run("resume").code == 0


def test_where_every_pass_is_refused_pause_and_resume_say_so(scene: Scene) -> None:
    ready(scene)
    config = scene.at("/etc/datum/agent.yaml")
    config.write_text(config.read_text().replace("web1", "web2"))
    for words in (PAUSE, ("resume",)):
        ran = scene.run(*words)
        assert ran.code == 0
        assert "warning[pointer-of-another-host]" in ran.err
        assert "Next:" not in ran.out
    for words in (PAUSE, ("resume",)):
        told = scene.run(*words, "--json").json["diagnostics"]
        assert [found["code"] for found in told] == ["pointer-of-another-host"]


def test_who_is_not_root_pauses_no_running_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    config = tmp_path / "agent.yaml"
    config.write_text("repo: /srv/fleet\nhost: web1\n")
    for words in (PAUSE, ("resume",)):
        ran = run(*words, "--config", str(config), "--state-dir", str(tmp_path))
        assert ran.code == 77
        assert "not-root" in ran.err


def test_an_ordinary_user_pauses_what_is_his(user_scene: Scene) -> None:
    user_scene.enrolled(OLD)
    assert user_scene.run(*PAUSE).code == 0
    user_scene.write("/etc/a", "drift\n")
    user_scene.apply()
    assert user_scene.read("/etc/a") == "drift\n"
    assert user_scene.run("resume").code == 0


def test_a_full_disk_is_told_and_the_pause_that_was_there_stays(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(scene)
    scene.run(*PAUSE)

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refuse)
        ran = scene.run("pause", "--reason", "other", "--for", "1h")
    assert ran.code == 74
    assert "pause-unwritable" in ran.err
    assert scene.run("status", "--json").json["pause"]["reason"] == "disk swap"


# --- what is shown


def test_status_names_the_pause_whether_or_not_a_pass_has_seen_it(scene: Scene, clock: Clock) -> None:
    ready(scene)
    scene.run(*PAUSE, "--only", "file:/etc/a")
    shown = scene.run("status").out
    assert "paused      until 2026-11-29T14:00:00Z by alice (file:/etc/a): disk swap" in shown
    assert "datum resume" in shown
    told = scene.run("status", "--json").json
    assert (told["pause"]["who"], told["pause_state"]) == ("alice", "in_force")
    clock.now += 3 * HOUR
    assert scene.run("status", "--json").json["pause_state"] == "over"
    clock.now -= 30 * HOUR
    assert scene.run("status", "--json").json["pause_state"] == "clock_behind"
    assert "the clock is before its begin" in scene.run("status").out
    scene.run("resume")
    told = scene.run("status", "--json").json
    assert (told["pause"], told["pause_state"]) == (None, None)


def test_pause_and_resume_say_as_json_what_they_did(scene: Scene) -> None:
    ready(scene)
    told = scene.run(*PAUSE, "--json").json
    assert told == {
        "schema_version": 1,
        "host": "web1",
        "pause": {
            "who": "alice", "reason": "disk swap", "only": [],
            "since": "2026-11-29T12:00:00Z", "until": "2026-11-29T14:00:00Z",
        },
        "replaced": None,
        "is_replaced_damaged": False,
        "running": None,
        "diagnostics": [],
    }  # fmt: skip
    told = scene.run("resume", "--json").json
    assert (told["state"], told["ended"]["reason"], told["was_damaged"]) == ("in_force", "disk swap", False)
    told = scene.run("resume", "--json").json
    assert (told["state"], told["ended"]) == (None, None)


def test_reports_of_a_paused_host_are_told_apart(scene: Scene) -> None:
    ready(scene)
    scene.run(*PAUSE)
    scene.apply()
    kinds = {tuple(path.name.split(".")[1:3]) for path in (scene.root / REPORTS).iterdir()}
    assert ("planned", "loud") in kinds, "kept as long as those of passes that changed something"
