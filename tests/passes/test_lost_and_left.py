"""What lost state, a leave and two commands at once leave of an enrolment (ADR 0048)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from datum.agent import enrol, leaving
from datum.state import lock
from tests.passes.scene import HOST, Ran, Scene
from tests.passes.test_first_contact import A, B, codes, configure, forget, reports

CONFIG = "/etc/datum/agent.yaml"
STATE = "/var/lib/datum"
RECORD = "/var/log/datum/reports/left.json"
C = {"file:/etc/a": {"content": "c\n"}}


def record(scene: Scene) -> Any:
    return json.loads(scene.read(RECORD) or "null")


def advanced(scene: Scene) -> tuple[str, str]:
    """Accept one revision after the anchor, lose the pointer, and let the branch go back."""
    anchor = scene.enrolled(A)
    head = scene.commit(B)
    scene.apply()
    scene.pointer_path.unlink()
    scene.repository.git("reset", "--quiet", "--hard", anchor)
    return anchor, head


# --- a folder that is not datum's


def foreign(scene: Scene) -> dict[str, Any]:
    for name in ("run/precious", "run/queue/precious", "pause.yaml", "quarantine/precious", "mirror.git/HEAD"):
        scene.write(f"/opt/app/{name}", "precious\n")
    scene.write("/opt/app/lock", "")
    return scene.everything()


def test_leaving_touches_no_folder_of_a_host_that_was_never_enrolled(scene: Scene) -> None:
    """Its names are those of datum's state, and nothing in it is of datum."""
    before = foreign(scene)
    ran = scene.run("leave", "--state-dir", "/opt/app", "--yes")
    assert (ran.code, ran.out) == (0, "This host is not enrolled; there is nothing to leave.\n")
    assert scene.everything() == before


def test_leaving_keeps_a_folder_that_only_the_configuration_calls_state(scene: Scene) -> None:
    scene.commit(A)
    foreign(scene)
    scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\nstate_dir: /opt/app\n")
    ran = scene.run("leave", "--yes")
    assert ran.code == 0
    assert f"stays    {scene.at('/opt/app')}, which is not datum's" in ran.out
    for name in ("run/precious", "run/queue/precious", "pause.yaml", "quarantine/precious", "mirror.git/HEAD"):
        assert scene.read(f"/opt/app/{name}") == "precious\n"
    assert scene.read("/opt/app/lock") == ""
    assert scene.read(CONFIG) is None


def test_what_others_put_among_the_turns_of_passes_stays_and_is_named(scene: Scene) -> None:
    scene.enrolled(A)
    scene.write(f"{STATE}/run/precious", "x")
    ran = scene.run("leave", "--yes")
    assert scene.read(f"{STATE}/run/precious") == "x"
    assert f"{scene.at(STATE)}/run/precious, which is not datum's" in ran.out
    assert [path.name for path in scene.at(STATE).iterdir()] == ["run"]


def test_all_that_goes_is_told_before_and_after(scene: Scene) -> None:
    scene.enrolled(A)
    shown = scene.run("leave").err
    assert f"removes  pointer.json, mirror.git, run, lock in {scene.at(STATE)}" in shown
    assert "datum.timer" not in shown
    removed = scene.run("leave", "--yes", "--json").json["removed"]
    names = ("pointer.json", "mirror.git", "run", "lock")
    assert {str(scene.at(STATE) / name) for name in names} | {str(scene.at(STATE))} <= set(removed)


def test_a_pause_that_goes_along_is_told(scene: Scene) -> None:
    scene.enrolled(A)
    assert scene.run("pause", "--reason", "disk swap", "--for", "1h").code == 0
    assert "the pause would go along: until" in scene.run("leave").err
    assert scene.run("leave", "--yes", "--json").json["pause"]["reason"] == "disk swap"


@pytest.mark.parametrize("place", ["/", "/etc", "//etc/", "/var/lib", "/usr/lib/x/..", "/proc/1", "/run"])
def test_a_folder_of_the_system_is_no_state_directory(scene: Scene, place: str) -> None:
    scene.commit(A)
    before = scene.everything()
    for words in (["init", "--repo", scene.url, "--host", HOST], ["leave", "--yes"]):
        ran = scene.run(*words, "--state-dir", place)
        assert (ran.code, codes(ran)) == (64, {"bad-state-dir"})
    assert scene.everything() == before
    scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\nstate_dir: {place}\n")
    assert scene.run("leave", "--yes").code == 78


# --- lost state


@pytest.mark.parametrize("has_anchor", [True, False])
def test_no_command_advises_to_give_up_the_floor(scene: Scene, *, has_anchor: bool) -> None:
    anchor, head = advanced(scene)
    if not has_anchor:
        scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\n")
    before = scene.everything()
    for words in (["apply"], ["pause", "--reason", "x", "--for", "1h"], ["orphans"]):
        ran = scene.run(*words)
        assert (ran.code, codes(ran)) == (74, {"state-lost"}), words
        assert f"--anchor {head}" in ran.err
    for words in (["status", "--json"], ["doctor", "--json"]):
        shown = scene.run(*words).out
        assert f"--anchor {head}" in shown, words
        assert f"--anchor {anchor}" not in shown, words
        assert f"--host {HOST} --root" not in shown, words
    ran = scene.init()
    assert (ran.code, codes(ran)) == (74, {"state-lost"})
    assert scene.everything() == before


def test_lost_state_is_told_whatever_the_record_of_an_earlier_leave_says_of_its_time(scene: Scene) -> None:
    scene.enrolled(A)
    scene.run("leave", "--yes")
    assert scene.init().code == 0
    scene.apply()
    scene.pointer_path.unlink()
    later = reports(scene)[-1].stat().st_mtime_ns + 3600 * 10**9
    os.utime(scene.at(RECORD), ns=(later, later))
    assert codes(scene.run("apply")) == {"state-lost"}


def test_a_damaged_record_covers_no_report(scene: Scene) -> None:
    head = scene.enrolled(A)
    scene.run("leave", "--yes")
    scene.write(RECORD, '{"reports": 5}')
    configure(scene, head)
    assert codes(scene.run("apply")) == {"state-lost"}


def test_a_damaged_newest_report_leaves_the_word_to_those_before_it(scene: Scene) -> None:
    _, head = advanced(scene)
    reports(scene)[-1].with_name("29990101T000000Z-1.converged.quiet.json").write_text("{")
    ran = scene.run("apply")
    assert f"It had accepted sha1:{head} once, and may have accepted more since" in ran.err
    assert f"--anchor {head}" in ran.err


# --- left.json


def test_the_record_of_an_earlier_leave_is_kept_in_the_next(scene: Scene) -> None:
    scene.enrolled(A)
    scene.run("leave", "--yes")
    assert scene.init().code == 0
    scene.run("leave", "--yes")
    found = record(scene)
    assert (found["resources"], found["is_complete"]) == ([], True)
    assert [one["resources"] for one in found["earlier"]] == [["file:/etc/a"]]


@pytest.mark.parametrize("last", ["pointer.json", "mirror.git", "agent.yaml"])
def test_a_leave_after_a_killed_one_tells_what_that_one_would_have(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """What is to be revoked, too, although the configuration that named it may be gone."""
    head = scene.enrolled(A)
    access = [{"url": scene.url}, {"url": "https://git.example.org/fleet", "token_file": "/etc/datum/token"}]
    scene.write(CONFIG, json.dumps({"host": HOST, "source": {"remotes": access}, "trust": {"anchor": head}}))

    def die_after(real: Any) -> Any:
        def act(path: Path) -> None:
            real(path)
            if path.name == last:
                raise KeyboardInterrupt

        return act

    with monkeypatch.context() as patch:
        for name in ("_remove_whole", "remove_configuration"):
            patch.setattr(leaving, name, die_after(getattr(leaving, name)))
        assert scene.run("leave", "--yes").code == 130
    ran = scene.run("leave", "--yes")
    assert ran.code == 0
    assert f"{HOST} has left fleet" in ran.out
    assert "what was enforced here, 1 resource" in ran.out
    assert "revoke   token at https://git.example.org/fleet" in ran.out
    assert f"hosts/{HOST}.yaml in the fleet repository" in ran.out
    assert not scene.at(STATE).exists()
    assert record(scene)["is_complete"] is True


# --- two at once


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Let something happen while `init` waits for the lock."""
    real = lock.acquire
    acts = [act]

    def acquire(*about: Any, **how: Any) -> Any:
        if acts:
            acts.pop()()
        return real(*about, **how)

    monkeypatch.setattr(enrol, "acquire", acquire)


def test_a_leave_while_init_waits_leaves_no_pointer_without_a_configuration(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as if init had begun after it."""
    scene.enrolled(A)
    meanwhile(monkeypatch, lambda: scene.run("leave", "--yes"))
    ran = scene.init()
    assert ran.code == 0
    assert "is enrolled in fleet" in ran.out
    assert f"anchor: '{scene.repository.head}'" in (scene.read(CONFIG) or "")
    assert scene.pointer["accepted"] is None


@pytest.mark.parametrize(("other", "code"), [([], 0), (["--ref", "refs/heads/main"], 78)])
def test_an_init_while_another_waits_is_judged_as_one_before_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, other: list[str], code: int
) -> None:
    scene.commit(A)
    first: list[Ran] = []
    meanwhile(monkeypatch, lambda: first.append(scene.init(*other)))
    ran = scene.init("--ref", "main")
    assert (first[0].code, ran.code) == (0, code)
    assert codes(ran) == ({"configured-otherwise"} if code else set())


def test_no_timer_is_begun_on_a_host_that_left_meanwhile(scene: Scene) -> None:
    from datum.agent.settings import Options, read_settings
    from datum.errors import StateError

    scene.enrolled(A)
    settings = read_settings(Options(root=str(scene.root)))
    scene.run("leave", "--yes")
    with pytest.raises(StateError) as caught, enrol.still_enrolled(settings, wait=0):
        pytest.fail("it is not enrolled")
    assert caught.value.diagnostics[0].code == "init-raced"
    assert not scene.at(STATE).exists()


# --- what init says


@pytest.mark.parametrize("text", ["", "\n", "# mine\n"])
def test_a_configuration_that_says_nothing_is_written(scene: Scene, text: str) -> None:
    scene.commit(A)
    scene.write(CONFIG, text)
    assert scene.init().code == 0
    written = scene.read(CONFIG) or ""
    assert written.startswith(text.strip())
    assert f"anchor: '{scene.repository.head}'" in written
    scene.apply()


def test_a_host_on_which_passes_ran_is_not_told_that_nothing_was_applied_yet(scene: Scene) -> None:
    scene.enrolled(A)
    ran = scene.init()
    assert "Nothing was applied just now." in ran.out
    assert "applied." not in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--enforcement", "hold"], "nothing of enforcement, so enforce"),
        (["--ref", "topic"], "ref main"),
    ],
)
def test_only_another_host_name_is_answered_with_a_rename(scene: Scene, words: list[str], says: str) -> None:
    scene.enrolled(A)
    ran = scene.init(*words)
    assert codes(ran) == {"configured-otherwise"}
    assert f"says {says}." in ran.err
    assert "--rename" not in ran.err
    ran = scene.run("init", "--repo", scene.url, "--host", "web2")
    assert f"--rename {HOST}" in ran.err


def test_options_that_have_nothing_to_do_are_refused(scene: Scene) -> None:
    scene.commit(A)
    for words, code in ((["--make-key"], "access-unused"), (["--rename", "other"], "rename-unused")):
        ran = scene.init(*words)
        assert (ran.code, codes(ran)) == (64, {code})
    assert scene.read(CONFIG) is None


def test_a_rename_that_is_done_already_is_told(scene: Scene) -> None:
    scene.enrolled(A)
    ran = scene.init("--rename", "other")
    assert ran.code == 0
    assert f"nothing was renamed: the pointer is of {HOST} already" in ran.out


def test_forgetting_all_makes_a_new_host(scene: Scene) -> None:
    """The guard against lost state does not outlive the reports."""
    scene.enrolled(A)
    forget(scene)
    for path in reports(scene):
        path.unlink()
    assert scene.init().code == 0
