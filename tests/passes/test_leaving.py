"""`datum leave`: what goes, what stays, what is to be revoked (design 6, ADR 0048)."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from datum.agent import leaving
from datum.state.lock import PassLock, acquire
from tests.passes.scene import FLEET_ID, HOST, Ran, Scene
from tests.passes.terminal import Terminal
from tests.remotes.ssh import fingerprint, make_key

A = {"file:/etc/a": {"content": "a\n"}}
B = {"file:/etc/b": {"content": "b\n"}}
CONFIG = "/etc/datum/agent.yaml"
STATE = "/var/lib/datum"
RECORD = "/var/log/datum/reports/left.json"
ASKED = "Leave? [y/N]: "


def codes(ran: Ran) -> list[str]:
    return [item["code"] for item in ran.json["error"]["diagnostics"]]


def record(scene: Scene) -> Any:
    return json.loads(scene.read(RECORD) or "null")


def left(scene: Scene) -> bool:
    """Whether nothing of the enrolment is there."""
    return not any(os.path.lexists(scene.at(path)) for path in (CONFIG, STATE))


def test_state_and_configuration_go_and_everything_else_stays(scene: Scene) -> None:
    head = scene.enrolled(A)
    ran = scene.run("leave", "--yes")
    assert ran.code == 0, ran
    assert left(scene)
    assert scene.read("/etc/a") == "a\n"
    assert len(list(scene.at("/var/log/datum/reports").glob("*.*.*.json"))) == 1
    said = record(scene)
    assert (said["host"], said["fleet"], said["accepted"]) == (HOST, FLEET_ID, f"sha1:{head}")
    assert said["resources"] == ["file:/etc/a"]
    assert scene.at(RECORD).stat().st_mode & 0o777 == 0o640
    assert f"what was enforced here, 1 resource: listed in {scene.at(RECORD)}" in ran.out
    assert f"hosts/{HOST}.yaml in the fleet repository" in ran.out


def test_reports_can_be_read_after_the_host_left(scene: Scene) -> None:
    """They stay; without any, or with a configuration that is wrong, it ends with 78 as before."""
    scene.enrolled(A)
    newest = scene.report["id"]
    scene.run("leave", "--yes")
    ran = scene.run("report")
    assert (ran.code, ran.err) == (0, "")
    assert newest in ran.out
    assert scene.run("report", newest[:9], "--json").json["id"] == newest
    assert (scene.run("report", "1999").code, scene.run("status").code) == (64, 78)
    scene.write(CONFIG, "reports_dir: /srv/elsewhere\n")
    assert "not-configured" in scene.run("report").err
    shutil.copytree(scene.at("/var/log/datum/reports"), scene.at("/srv/elsewhere"))
    assert newest in scene.run("report").out
    scene.write(CONFIG, "reports_dri: /srv/elsewhere\n")
    ran = scene.run("report")
    assert (ran.code, "reports_dri" in ran.err) == (78, True)
    shutil.rmtree(scene.at("/var/log/datum/reports"))
    scene.at(CONFIG).unlink()
    ran = scene.run("report")
    assert (ran.code, "not-configured" in ran.err) == (78, True)


def test_what_older_revisions_of_the_trail_declared_is_listed_too(scene: Scene) -> None:
    """It may still be on the host."""
    scene.enrolled({"file:/etc/a": {"content": "a\n", "on_removal": "keep"}, "directory:/etc/x": {}})
    scene.commit({**B, "command:fails": {"run": ["false"], "creates": "/etc/none"}})
    scene.run("apply")
    trail = scene.pointer["trail"]
    scene.run("leave", "--yes")
    assert {"file:/etc/b"} <= set(record(scene)["resources"])
    assert len(record(scene)["trail"]) == len(trail)


def test_left_again_there_is_nothing_to_leave(scene: Scene) -> None:
    scene.enrolled(A)
    scene.run("leave", "--yes")
    before = scene.everything()
    ran = scene.run("leave", "--yes")
    assert (ran.code, ran.out) == (0, "This host is not enrolled; there is nothing to leave.\n")
    assert scene.run("leave", "--json").json["host"] is None
    assert scene.everything() == before


def test_after_leaving_a_pass_does_nothing_and_init_begins_anew(scene: Scene) -> None:
    scene.enrolled(A)
    scene.run("leave", "--yes")
    assert scene.run("apply").code == 78
    assert scene.init().code == 0
    assert scene.pointer["accepted"] is None


def test_without_an_answer_it_is_shown_and_refused(scene: Scene) -> None:
    """64, and no byte changes."""
    scene.enrolled(A)
    before = scene.everything()
    ran = scene.run("leave")
    assert ran.code == 64
    assert "would leave fleet" in ran.err
    assert "leave-not-confirmed" in ran.err
    assert codes(scene.run("leave", "--json")) == ["leave-not-confirmed"]
    assert scene.everything() == before


@pytest.mark.parametrize(("keys", "code"), [(b"\n", 64), (b"no\n", 64), (b"\x04", 64), (b"\x03", 130)])
def test_a_person_who_does_not_say_yes_keeps_everything(scene: Scene, keys: bytes, code: int) -> None:
    scene.enrolled(A)
    before = scene.everything()
    with Terminal(scene.command("leave", "--root", str(scene.root))) as terminal:
        assert "would leave fleet" in terminal.expect(ASKED)
        terminal.press(keys)
        assert terminal.end() == code
    assert scene.everything() == before


def test_a_person_who_says_yes_leaves(scene: Scene) -> None:
    scene.enrolled(A)
    with Terminal(scene.command("leave", "--root", str(scene.root))) as terminal:
        terminal.answer(ASKED, "y")
        assert terminal.end() == 0
        assert "has left fleet" in terminal.said
    assert left(scene)


def test_what_lets_this_host_in_is_named_with_its_server(scene: Scene) -> None:
    """A token and a deploy key by their files, the key by its fingerprint; the files stay."""
    head = scene.enrolled(A)
    scene.write("/etc/datum/token", "t0ken\n")
    make_key(scene.at("/etc/datum/ssh_key"))
    access: list[dict[str, str]] = [
        {"url": "https://git.example.org/fleet", "token_file": "/etc/datum/token"},
        {
            "url": "ssh://git@git.example.org/fleet",
            "key_file": "/etc/datum/ssh_key",
            "known_hosts_file": "/etc/datum/known_hosts",
        },
    ]
    scene.write(CONFIG, json.dumps({"host": HOST, "source": {"remotes": access}, "trust": {"anchor": head}}))
    known = fingerprint(scene.at("/etc/datum/ssh_key"))
    shown = scene.run("leave").err
    assert f"revoke   token at https://git.example.org/fleet; then remove {scene.at('/etc/datum/token')}" in shown
    assert f"revoke   deploy key {known} at ssh://git@git.example.org/fleet" in shown
    revoke = scene.run("leave", "--yes", "--json").json["revoke"]
    assert [(one["what"], one["fingerprint"]) for one in revoke] == [("token", None), ("deploy key", known)]
    assert scene.read("/etc/datum/token") == "t0ken\n"
    assert scene.at("/etc/datum/ssh_key").exists()


def test_what_is_not_datums_in_the_state_directory_stays_and_is_named(scene: Scene) -> None:
    scene.enrolled(A)
    scene.write(f"{STATE}/mine", "x")
    ran = scene.run("leave", "--yes")
    assert f"{scene.at(STATE)}/mine, which is not datum's" in ran.out
    assert [path.name for path in scene.at(STATE).iterdir()] == ["mine"]


def test_a_mirror_that_cannot_be_read_keeps_nobody(scene: Scene) -> None:
    """What stays is not known then, and said so."""
    scene.enrolled(A)
    shutil.rmtree(scene.at(f"{STATE}/mirror.git"))
    ran = scene.run("leave", "--yes")
    assert ran.code == 0
    assert "its revision cannot be read any more" in ran.out
    assert record(scene)["resources"] is None
    assert left(scene)


def test_a_configuration_that_says_no_repository_keeps_nobody(scene: Scene) -> None:
    scene.enrolled(A)
    scene.write(CONFIG, "ref: main\n")
    assert scene.run("leave", "--yes").code == 0
    assert left(scene)


def test_a_configuration_that_is_gone_keeps_nobody(scene: Scene) -> None:
    scene.enrolled(A)
    scene.at(CONFIG).unlink()
    assert scene.run("leave", "--yes").code == 0
    assert left(scene)


def test_a_damaged_pointer_is_left_to_a_person(scene: Scene) -> None:
    scene.enrolled(A)
    scene.pointer_path.write_text("{")
    before = scene.everything()
    assert scene.run("leave", "--yes").code == 74
    assert scene.everything() == before


def test_it_waits_for_the_pass_that_runs(scene: Scene) -> None:
    """With a limit it gives up with 75, and nothing is gone."""
    scene.enrolled(A)
    lock = acquire(scene.at(STATE), "a pass", wait=0)
    assert isinstance(lock, PassLock)
    with lock:
        ran = scene.spawn("leave", "--yes", "--wait", "0.2", "--json")
        assert (ran.code, codes(ran)) == (75, ["pass-in-progress"])
        assert scene.pointer_path.exists()
        assert scene.read(CONFIG) is not None
    assert scene.spawn("leave", "--yes").code == 0
    assert left(scene)


def test_a_pass_that_waited_meanwhile_finds_a_host_that_is_not_enrolled(scene: Scene) -> None:
    """It does not take what is left for first contact, although the configuration that it read pins an anchor."""
    scene.enrolled(A)
    scene.write("/etc/a", "drift\n")
    lock = acquire(scene.at(STATE), "a pass", wait=0)
    assert isinstance(lock, PassLock)
    ended: list[Ran] = []
    with lock:
        leaving = threading.Thread(target=lambda: ended.append(scene.spawn("leave", "--yes")))
        leaving.start()
        _until_queued(scene, 1)
        passing = threading.Thread(target=lambda: ended.append(scene.spawn("apply")))
        passing.start()
        _until_queued(scene, 2)
    leaving.join()
    passing.join()
    assert sorted(ran.code for ran in ended) == [0, 78], ended
    assert scene.read("/etc/a") == "drift\n"


def _until_queued(scene: Scene, count: int) -> None:
    """Wait until so many requests wait for the lock."""
    queue = scene.at(f"{STATE}/run/queue")
    for _ in range(2000):
        if len([path for path in queue.iterdir() if ".w." in path.name]) >= count:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"no {count} requests wait")


def test_what_cannot_be_removed_is_told_and_the_rest_is_for_the_next_leave(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.enrolled(A)
    real = leaving._remove_whole

    def refuse(path: Path) -> None:
        if path.name == "mirror.git":
            raise PermissionError(1, "Operation not permitted", str(path))
        real(path)

    monkeypatch.setattr(leaving, "_remove_whole", refuse)
    ran = scene.run("leave", "--yes", "--json")
    assert (ran.code, codes(ran)) == (74, ["leave-incomplete"])
    monkeypatch.setattr(leaving, "_remove_whole", real)
    assert scene.run("leave", "--yes").code == 0
    assert left(scene)
    assert record(scene)["resources"] == ["file:/etc/a"]
