"""`plan` changes nothing, a second pass has nothing to do, and a recorded plan is the same bytes anywhere."""

import json
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.git_repository import GitRepository
from tests.passes.scene import DROP_IN, HOST, REPORTS, STATE, Resources, Scene, run, snapshot

FIRST = {
    "file:/etc/motd": {"content": "hello ${host.name}\n", "mode": "0640"},
    f"file:{DROP_IN}/a": {"content": "a\n"},
    f"file:{DROP_IN}/late": {"content": "${machine.arch}\n"},
    "file:/srv/kept": {"content": "kept\n"},
}
SECOND: Resources = {
    "file:/etc/motd": {"content": "hello again\n", "mode": "0600", "validate": ["/bin/true", "{path}"]},
    "file:/srv/new": {"content": "n\n", "after": ["file:/etc/motd"]},
    "file:/srv/impossible/x": {"content": "x\n"},
}


def ready(scene: Scene) -> None:
    """Enrol at the first revision, drift, and offer the second."""
    scene.enrolled(FIRST)
    scene.write(f"{DROP_IN}/late", "drift\n")
    scene.at("/etc/motd").chmod(0o644)
    scene.commit(SECOND)


@pytest.mark.parametrize("options", [(), ("--json",), ("--offline",), ("--detailed-exitcode",), ("--untrusted",)])
def test_plan_leaves_no_trace(scene: Scene, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    ready(scene)
    throw_away = scene.folder / "tmp"
    throw_away.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(throw_away))
    monkeypatch.setenv("TMPDIR", str(throw_away))
    before, repository = snapshot(scene.root), snapshot(scene.repository.path)
    ran = scene.run("plan", *options)
    assert ran.code in {0, 2}, ran
    assert "file:" in ran.out
    assert snapshot(scene.root) == before
    assert snapshot(scene.repository.path) == repository
    assert list(throw_away.iterdir()) == []


def test_plan_before_the_first_pass_leaves_no_trace(scene: Scene) -> None:
    scene.commit(FIRST)
    assert scene.init().code == 0
    scene.commit(SECOND)
    before = scene.everything()
    assert scene.run("plan").code == 0
    assert scene.everything() == before


def test_plan_of_a_refused_revision_needs_untrusted_and_leaves_no_trace_either(scene: Scene) -> None:
    head = scene.enrolled(FIRST)
    scene.repository.git("commit", "--quiet", "--amend", "-m", "rewritten")
    rewritten = scene.commit(SECOND)
    before = scene.everything()
    assert scene.run("plan").code == 76
    ran = scene.run("plan", "--untrusted", "--json")
    assert ran.code == 0, ran
    assert rewritten in ran.json["revision"]
    named = scene.run("plan", "--untrusted", "--rev", rewritten, "--json")
    assert (named.code, named.json["plan_id"]) == (0, ran.json["plan_id"])
    assert scene.everything() == before
    assert scene.pointer["accepted"] == head


def test_plan_of_an_ordinary_user_leaves_no_trace(user_scene: Scene) -> None:
    ready(user_scene)
    before = user_scene.everything()
    assert user_scene.run("plan").code == 0
    assert user_scene.everything() == before


@pytest.mark.parametrize("command", ["status", "report", "orphans"])
def test_commands_that_only_look_leave_no_trace(scene: Scene, command: str) -> None:
    ready(scene)
    before = scene.everything()
    assert scene.run(command).code == 0
    assert scene.everything() == before


def test_a_second_pass_writes_nothing_but_its_report(scene: Scene) -> None:
    scene.enrolled(FIRST)
    scene.apply()
    reports = scene.root / REPORTS
    housekeeping = (REPORTS, f"{STATE}/run", f"{STATE}/lock")
    known = set(reports.iterdir())
    before = snapshot(scene.root, housekeeping)
    ran = scene.apply("--json")
    assert snapshot(scene.root, housekeeping) == before, "pointer, mirror and host"
    assert len(set(reports.iterdir()) - known) <= 1
    assert ran.json["resources"] == []
    assert ran.json["plan_id"]


def test_a_pass_with_nothing_to_do_keeps_every_inode_of_the_state_directory_but_its_lock(scene: Scene) -> None:
    scene.enrolled(FIRST)
    pointer = scene.pointer_path.stat()
    scene.apply()
    after = scene.pointer_path.stat()
    assert (after.st_ino, after.st_ctime_ns) == (pointer.st_ino, pointer.st_ctime_ns)


# --- records


def test_a_recorded_plan_is_the_same_bytes_anywhere(scene: Scene) -> None:
    ready(scene)
    record = scene.folder / "record"
    before = scene.everything()
    told = scene.run("plan", "--json", "--record", str(record))
    assert told.code == 0, told
    assert scene.everything() == before, "the record lies outside of the root"
    again = scene.folder / "again"
    scene.run("plan", "--record", str(again))
    assert json.loads(again.read_bytes())["plan"] == json.loads(record.read_bytes())["plan"]

    clone = scene.folder / "clone elsewhere"
    subprocess.run(["git", "clone", "--quiet", scene.url, str(clone)], check=True, capture_output=True)
    ran = run("plan", "--observed", str(record), "--fleet", str(clone), "--json")
    assert ran.code == 0, ran
    assert ran.out == told.out


def test_a_replayed_plan_is_recorded_again_or_the_option_refused(scene: Scene) -> None:
    ready(scene)
    record, replayed = scene.folder / "record", scene.folder / "replayed"
    scene.run("plan", "--record", str(record))
    ran = run("plan", "--observed", str(record), "--fleet", scene.url, "--record", str(replayed))
    assert ran.code == 64 or replayed.read_bytes() == record.read_bytes()


def test_a_replayed_plan_keeps_the_detailed_exitcode(scene: Scene) -> None:
    ready(scene)
    record = scene.folder / "record"
    scene.run("plan", "--record", str(record))
    assert run("plan", "--observed", str(record), "--fleet", scene.url, "--detailed-exitcode").code == 2


def test_replaying_reads_nothing_of_the_host(scene: Scene) -> None:
    ready(scene)
    record = scene.folder / "record"
    told = scene.run("plan", "--json", "--record", str(record))
    scene.apply(code=1)
    ran = run("plan", "--observed", str(record), "--fleet", scene.url, "--json")
    assert (ran.code, ran.out) == (0, told.out), ran.err


def test_replaying_needs_no_uncommitted_file_of_the_clone(scene: Scene) -> None:
    ready(scene)
    record = scene.folder / "record"
    told = scene.run("plan", "--json", "--record", str(record))
    (scene.repository.path / f"hosts/{HOST}.yaml").write_text("resources: {}\n")
    ran = run("plan", "--observed", str(record), "--fleet", scene.url, "--json")
    assert (ran.code, ran.out) == (0, told.out), ran.err


def test_replaying_in_a_clone_without_the_revision_says_so(scene: Scene, tmp_path: Path) -> None:
    ready(scene)
    record = scene.folder / "record"
    scene.run("plan", "--record", str(record))
    other = GitRepository(tmp_path / "other")
    other.commit({"fleet.yaml": "datum: 1\n"})
    ran = run("plan", "--observed", str(record), "--fleet", str(other.path))
    assert ran.code == 66, ran
    assert scene.repository.head in ran.err


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b'{"format": 99}', b"\xff"])
def test_a_record_that_is_none_is_said_so(scene: Scene, content: bytes) -> None:
    scene.commit(FIRST)
    record = scene.folder / "record"
    record.write_bytes(content)
    ran = run("plan", "--observed", str(record), "--fleet", scene.url)
    assert ran.code in {64, 65}, ran
    assert str(record) in ran.err


def test_a_record_that_was_tampered_with_gives_another_plan_id(scene: Scene) -> None:
    ready(scene)
    record = scene.folder / "record"
    told = scene.run("plan", "--json", "--record", str(record)).json["plan_id"]
    text = record.read_text()
    assert '"0644"' in text
    record.write_text(text.replace('"0644"', '"0666"'))
    ran = run("plan", "--observed", str(record), "--fleet", scene.url, "--json")
    assert ran.code != 0 or ran.json["plan_id"] != told


def test_the_plan_id_says_what_is_done_and_nothing_else(scene: Scene) -> None:
    ready(scene)
    first = scene.run("plan", "--json").json["plan_id"]
    scene.write("/etc/beside", "not declared\n")
    assert scene.run("plan", "--json").json["plan_id"] == first
    scene.at("/etc/motd").chmod(0o604)
    assert scene.run("plan", "--json").json["plan_id"] != first
