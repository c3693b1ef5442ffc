"""Every outcome and exit code of design 5 that a pass can come to, reached through the command line."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import strace
from tests.passes.scene import DROP_IN, HOST, NOBODY, OTHER_FLEET_ID, REPORTS, STATE, Scene, argv, kill, run

MOTD = {"file:/etc/motd": {"content": "hello\n"}}
OTHER = {"file:/etc/motd": {"content": "other\n"}}
NO_ROOM = {"file:/etc/missing/deep": {"content": "x\n"}}


# --- 0, 2


@pytest.mark.parametrize("kind", ["scene", "user_scene"])
def test_a_pass_that_converges_ends_with_0_as_root_and_as_an_ordinary_user(
    kind: str, request: pytest.FixtureRequest
) -> None:
    scene: Scene = request.getfixturevalue(kind)
    scene.commit({"file:/etc/motd": {"content": "hello\n", "mode": "0640"}})
    assert scene.init().code == 0
    ran = scene.apply()
    assert "file:/etc/motd" in ran.out
    assert "hosts/web1.yaml:" in ran.out
    assert ran.err == ""
    assert scene.read("/etc/motd") == "hello\n"
    status = scene.at("/etc/motd").stat()
    assert (status.st_mode & 0o7777, status.st_uid) == (0o640, scene.caller.uid)
    assert (scene.report["outcome"], scene.report["exit_code"]) == ("converged", 0)
    assert str(scene.root) in ran.out.splitlines()[-1], "the last line says where the report is"


@pytest.mark.parametrize("kind", ["scene", "user_scene"])
def test_a_pass_with_nothing_to_do_says_so_in_one_line(kind: str, request: pytest.FixtureRequest) -> None:
    scene: Scene = request.getfixturevalue(kind)
    scene.enrolled(MOTD)
    ran = scene.apply()
    assert len(ran.out.splitlines()) == 1
    assert "nothing to do" in ran.out
    assert ran.err == ""


def test_detailed_exitcode_tells_changes_from_none(scene: Scene) -> None:
    scene.commit(MOTD)
    scene.init()
    assert scene.run("plan").code == 0
    assert scene.run("plan", "--detailed-exitcode").code == 2
    assert scene.apply("--detailed-exitcode", code=2).err == ""
    assert scene.run("plan", "--detailed-exitcode").code == 0
    scene.apply("--detailed-exitcode")


def test_a_plan_of_what_is_held_has_changes_and_one_of_what_is_impossible_has_none(scene: Scene) -> None:
    scene.commit({"file:/etc/motd": {"content": "x", "audit": True}})
    scene.init()
    assert scene.run("plan", "--detailed-exitcode").code == 2
    scene.commit(NO_ROOM)
    ran = scene.run("plan", "--detailed-exitcode")
    assert "impossible" in ran.out
    assert ran.code == 0
    scene.at("/etc").mkdir(exist_ok=True)
    scene.at("/etc/loop").symlink_to("loop")
    scene.commit({"file:/etc/loop/a": {"content": "x"}})
    ran = scene.run("plan", "--detailed-exitcode")
    assert "unobservable" in ran.out
    assert ran.code == 0


def test_what_is_left_wins_over_detailed_exitcode(scene: Scene) -> None:
    scene.commit({**MOTD, **NO_ROOM})
    scene.init()
    scene.apply("--detailed-exitcode", code=1)
    assert scene.read("/etc/motd") == "hello\n"


# --- 1


def test_a_file_without_its_directory_is_failed_and_names_what_is_missing(scene: Scene) -> None:
    scene.commit({**MOTD, **NO_ROOM})
    scene.init()
    ran = scene.apply(code=1)
    assert "/etc/missing" in ran.out
    assert scene.outcomes() == {"file:/etc/missing/deep": "failed", "file:/etc/motd": "applied"}
    assert scene.report["outcome"] == "failed"


def test_what_requires_a_failed_resource_is_skipped_and_the_rest_goes_on(scene: Scene) -> None:
    scene.commit(
        {
            **NO_ROOM,
            "file:/etc/a": {"content": "a\n", "requires": ["file:/etc/missing/deep"]},
            "file:/etc/b": {"content": "b\n", "requires": ["file:/etc/a"]},
            "file:/etc/c": {"content": "c\n", "after": ["file:/etc/missing/deep"]},
        }
    )
    scene.init()
    scene.apply(code=1)
    outcomes = scene.outcomes()
    assert (outcomes["file:/etc/a"], outcomes["file:/etc/b"]) == ("skipped", "skipped")
    assert outcomes["file:/etc/c"] == "applied"
    by = {entry["id"]: entry["blocked_by"] for entry in scene.report["resources"]}
    assert by["file:/etc/a"] == "file:/etc/missing/deep"


def test_a_link_in_the_way_is_held_until_its_loss_is_allowed(scene: Scene) -> None:
    scene.enrolled({})
    scene.at("/etc/motd").symlink_to("/nowhere")
    scene.commit(MOTD)
    before = scene.host()
    ran = scene.apply(code=1)
    assert "data_loss" in ran.out
    assert scene.outcomes() == {"file:/etc/motd": "held"}
    assert scene.report["outcome"] == "held"
    assert scene.host() == before
    scene.commit({"file:/etc/motd": {"content": "hello\n", "allow": ["data_loss"]}})
    scene.apply()
    assert not scene.at("/etc/motd").is_symlink()


def test_a_path_through_a_link_is_unobservable_and_the_pass_incomplete(scene: Scene) -> None:
    scene.at("/etc/way").symlink_to("app.d")
    scene.commit({**MOTD, "file:/etc/way/in": {"content": "x\n"}})
    scene.init()
    ran = scene.apply(code=1)
    assert "/etc/way" in ran.out
    assert scene.outcomes() == {"file:/etc/way/in": "unobservable", "file:/etc/motd": "applied"}
    assert scene.report["outcome"] == "incomplete"
    assert not scene.at("/etc/app.d/in").exists()


def test_a_provider_that_says_it_did_what_it_did_not_is_unverified(scene: Scene, odd_types: Path) -> None:
    scene.commit(
        {"liar:/etc/lie": {"content": "x\n"}, "file:/etc/on-it": {"content": "y\n", "requires": ["liar:/etc/lie"]}}
    )
    assert scene.init().code == 0
    ran = scene.apply(code=1)
    assert "unverified" in ran.out
    assert scene.outcomes() == {"liar:/etc/lie": "unverified", "file:/etc/on-it": "skipped"}
    assert scene.read("/etc/on-it") is None


def test_a_check_that_refuses_the_content_keeps_it_from_the_disk(scene: Scene) -> None:
    scene.enrolled({})
    scene.commit({"file:/etc/motd": {"content": "hello\n", "validate": ["/no-such-check", "{path}"]}})
    before = scene.host()
    ran = scene.apply(code=1)
    assert "/no-such-check" in ran.out
    assert scene.outcomes() == {"file:/etc/motd": "failed"}
    after = scene.host()
    # The candidate lay beside its place meanwhile, so the folder's times are others.
    assert after.pop("etc")[:4] == before.pop("etc")[:4]
    assert after == before


# --- 64


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["apply", "--colour"], "--colour"),
        (["aply"], "aply"),
        (["apply", "--rev"], "--rev"),
        (["apply", "--wait", "soon"], "--wait"),
        (["apply", "--wait", "-1"], "--wait"),
        (["apply", "--wait", "nan"], "--wait"),
        (["apply", "--wait", "inf"], "--wait"),
        (["leave", "--wait", "-1"], "--wait"),
        (["init", "--wait", "nan"], "--wait"),
        (["apply", "--allow", "removals", "--expect", "sha256:0"], "removals"),
        (["apply", "--allow", "removals=many", "--expect", "sha256:0"], "many"),
        (["apply", "--allow", "removals=-1", "--expect", "sha256:0"], "-1"),
        (["apply", "--allow", "dragons=3", "--expect", "sha256:0"], "dragons"),
        (["apply", "--allow", "removals=3"], "--expect"),
        (["apply", "extra"], "extra"),
        (["report", "--format", "papyrus"], "format"),
    ],
)
def test_a_command_line_that_means_nothing_ends_with_64_and_says_which_part(
    scene: Scene, arguments: list[str], named: str
) -> None:
    scene.enrolled(MOTD)
    scene.commit(OTHER)
    before = scene.everything()
    ran = scene.run(*arguments)
    assert (ran.code, ran.out) == (64, ""), ran
    assert named in ran.err
    assert scene.everything() == before


def test_trust_on_first_use_without_a_terminal_is_refused_with_the_way_out(scene: Scene) -> None:
    scene.commit(MOTD)
    before = scene.everything()
    ran = scene.run("init", "--repo", scene.url, "--host", HOST, "--trust-on-first-use")
    assert ran.code == 64
    assert "--anchor" in ran.err
    assert scene.everything() == before


# --- 65, 66, 68


def test_an_invalid_manifest_ends_with_65_at_its_place_and_the_host_untouched(scene: Scene) -> None:
    head = scene.enrolled(MOTD)
    scene.write("/etc/motd", "drift\n")
    scene.commit_files({f"hosts/{HOST}.yaml": "resources:\n  file:/etc/motd:\n    contents: x\n"})
    before = scene.host()
    ran = scene.apply(code=65)
    assert f"hosts/{HOST}.yaml:3:5" in ran.err
    assert "content" in ran.err
    assert scene.host() == before
    assert scene.pointer["accepted"] == head
    assert (scene.report["outcome"], scene.report["exit_code"]) == ("invalid", 65)


@pytest.mark.parametrize("rev", ["0123456789" * 4, "no-such-branch", "abcdef12"])
def test_a_revision_that_is_not_there_ends_with_66(scene: Scene, rev: str) -> None:
    scene.enrolled(MOTD)
    scene.write("/etc/motd", "drift\n")
    before = scene.host()
    for command in ("plan", "apply"):
        ran = scene.run(command, "--rev", rev)
        assert ran.code == 66, ran
        assert rev in ran.err
    assert scene.host() == before


def test_a_ref_that_is_not_there_ends_init_with_66(scene: Scene) -> None:
    scene.commit(MOTD)
    ran = scene.init("--ref", "nope")
    assert ran.code == 66
    assert "nope" in ran.err
    assert_not_enrolled(scene)


def test_a_host_that_left_the_fleet_ends_with_68_and_nothing_is_removed(scene: Scene) -> None:
    head = scene.enrolled({f"file:{DROP_IN}/a": {"content": "a\n"}})
    scene.repository.git("rm", "--quiet", f"hosts/{HOST}.yaml")
    scene.commit_files({"hosts/db1.yaml": "resources: {}\n"})
    before = scene.host()
    ran = scene.apply(code=68)
    assert HOST in ran.err
    assert scene.host() == before
    assert scene.trail == [head]
    assert scene.run("plan").code == 68


def test_a_host_that_is_not_in_the_fleet_cannot_enrol(scene: Scene) -> None:
    scene.commit(MOTD)
    ran = scene.run("init", "--repo", scene.url, "--host", "web2", "--no-timer")
    assert ran.code == 68
    assert "web2" in ran.err
    assert HOST in ran.err, "a suggestion"
    assert_not_enrolled(scene)


def assert_not_enrolled(scene: Scene) -> None:
    """Neither pointer nor configuration came to be; the mirror may have."""
    assert not scene.pointer_path.exists()
    assert not scene.at("/etc/datum/agent.yaml").exists()
    assert scene.run("apply").code == 78


# --- 69, 76


def test_without_the_source_the_pass_is_done_at_the_enforced_revision_and_ends_with_69(scene: Scene) -> None:
    head = scene.enrolled(MOTD)
    scene.write("/etc/motd", "drift\n")
    away = scene.repository.path.rename(scene.folder / "away")
    ran = scene.apply(code=69)
    assert scene.read("/etc/motd") == "hello\n"
    assert scene.report["source"]["status"] == "unreachable"
    assert scene.report["outcome"] == "converged"
    assert scene.url in ran.err + ran.out
    assert scene.pointer["accepted"] == head
    assert scene.apply(code=69).out
    away.rename(scene.repository.path)
    scene.apply()


def test_a_lost_ref_counts_as_a_source_that_cannot_be_had(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.write("/etc/motd", "drift\n")
    scene.repository.git("checkout", "--quiet", "-b", "elsewhere")
    scene.repository.git("branch", "-D", "main")
    ran = scene.apply(code=69)
    assert "main" in ran.out + ran.err
    assert scene.read("/etc/motd") == "hello\n"
    assert scene.report["source"]["status"] == "gone"


def test_without_the_source_what_fails_wins(scene: Scene) -> None:
    scene.commit({**MOTD, **NO_ROOM})
    scene.init()
    scene.apply(code=1)
    shutil.rmtree(scene.repository.path)
    scene.apply(code=1)
    assert scene.report["source"]["status"] == "unreachable"


def test_a_host_that_never_got_a_revision_has_nothing_to_go_by_without_its_source(scene: Scene) -> None:
    scene.commit(MOTD)
    scene.init()
    shutil.rmtree(scene.repository.path)
    before = scene.host()
    ran = scene.apply(code=69)
    assert scene.url in ran.err
    assert scene.host() == before
    assert scene.report["outcome"] == "not_obtained"


def test_offline_is_no_failure_of_the_source(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.commit(OTHER)
    scene.write("/etc/motd", "drift\n")
    scene.apply("--offline")
    assert scene.read("/etc/motd") == "hello\n"
    assert scene.report["source"]["status"] == "not_asked"


def test_a_rewritten_branch_is_refused_with_evidence_and_the_enforced_revision_repaired(scene: Scene) -> None:
    head = scene.enrolled(MOTD)
    scene.repository.git("commit", "--quiet", "--amend", "-m", "rewritten")
    rewritten = scene.commit(OTHER)
    scene.write("/etc/motd", "drift\n")
    ran = scene.apply(code=76)
    assert scene.read("/etc/motd") == "hello\n"
    assert head in ran.err + ran.out
    assert rewritten in ran.err + ran.out
    assert (scene.pointer["accepted"], scene.trail) == (head, [head])
    assert scene.report["source"]["status"] == "refused"
    scene.repository.git("reset", "--quiet", "--hard", head)
    scene.apply()


def test_a_branch_that_was_set_back_is_a_downgrade(scene: Scene) -> None:
    first = scene.enrolled(MOTD)
    second = scene.commit(OTHER)
    scene.apply()
    scene.repository.git("reset", "--quiet", "--hard", first)
    scene.apply(code=76)
    assert scene.read("/etc/motd") == "other\n"
    assert scene.pointer["accepted"] == second
    scene.apply("--rev", first, code=76)
    assert scene.read("/etc/motd") == "other\n"


@pytest.mark.parametrize(
    ("head", "named"),
    [({"fleet": OTHER_FLEET_ID}, OTHER_FLEET_ID), ({"agent": ">=99"}, ">=99")],
    ids=["another fleet", "another agent"],
)
def test_a_revision_that_is_not_meant_for_this_host_is_refused(scene: Scene, head: dict[str, Any], named: str) -> None:
    first = scene.enrolled(MOTD)
    scene.commit(OTHER, **head)
    scene.write("/etc/motd", "drift\n")
    ran = scene.apply(code=76)
    assert named in ran.err + ran.out
    assert scene.read("/etc/motd") == "hello\n"
    assert scene.pointer["accepted"] == first
    before = scene.everything()
    assert scene.run("plan").code == 76
    assert scene.everything() == before


def test_refused_at_first_contact_leaves_nothing_to_go_by(scene: Scene) -> None:
    scene.commit(MOTD)
    scene.init()
    scene.commit(OTHER, fleet=OTHER_FLEET_ID)
    before = scene.host()
    scene.apply(code=76)
    assert scene.host() == before
    assert scene.report["outcome"] == "refused"


# --- 70


@pytest.mark.parametrize("name", ["raiser", "silent"])
def test_a_provider_that_breaks_its_contract_ends_with_70_and_the_rest_is_done(
    scene: Scene, odd_types: Path, name: str
) -> None:
    scene.commit({**MOTD, f"{name}:/etc/x": {"content": "x\n"}})
    scene.init()
    ran = scene.apply(code=70)
    assert scene.read("/etc/motd") == "hello\n"
    assert scene.outcomes() == {"file:/etc/motd": "applied", f"{name}:/etc/x": "unobservable"}
    assert name in ran.out + ran.err
    assert "bug" in ran.out + ran.err


# --- 71


def test_another_machine_than_expected_ends_with_71_and_the_host_untouched(scene: Scene) -> None:
    scene.enrolled(MOTD)
    head = scene.commit(OTHER, host={"expect": {"machine_id": "0123456789abcdef0123456789abcdef"}})
    before = scene.host()
    pointer = scene.pointer_path.read_bytes()
    ran = scene.apply(code=71)
    assert "machine_id" in ran.err
    assert scene.host() == before
    assert scene.pointer_path.read_bytes() == pointer
    assert scene.report["outcome"] == "unobserved"
    scene.write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n")
    scene.apply()
    assert scene.pointer["accepted"] == head


def test_a_disk_that_cannot_be_read_ends_with_71_and_the_host_untouched(scene: Scene) -> None:
    scene.enrolled({**MOTD, "file:/etc/a": {"content": "a\n"}})
    scene.write("/etc/motd", "DRIFT\n")
    scene.write("/etc/a", "drift\n")
    before = scene.host()
    command = [*argv(), "apply", "--root", str(scene.root)]
    with working("/"):
        done = strace.inject(
            command, "read,pread64,readv,preadv", when="1+", error="EIO", path=str(scene.at("/etc/motd"))
        )
    assert done.returncode == 71, done.stderr
    assert "/etc/motd" in done.stderr
    assert scene.host() == before


# --- 74


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b'{"format": 99}', None])
def test_a_damaged_pointer_ends_with_74_and_is_never_taken_for_first_contact(
    scene: Scene, content: bytes | None
) -> None:
    scene.enrolled(MOTD)
    scene.commit(OTHER)
    if content is None:
        scene.pointer_path.unlink()
        scene.pointer_path.mkdir()
    else:
        scene.pointer_path.write_bytes(content)
    before = scene.host()
    for arguments in (["plan"], ["apply"], ["status"], ["orphans"]):
        ran = scene.run(*arguments)
        assert ran.code == 74, ran
        assert "pointer.json" in ran.err
    assert scene.init().code == 74
    assert scene.host() == before
    assert content is None or scene.pointer_path.read_bytes() == content


def test_a_state_directory_that_is_a_file_ends_with_74(scene: Scene) -> None:
    scene.enrolled(MOTD)
    shutil.rmtree(scene.root / STATE)
    (scene.root / STATE).write_bytes(b"")
    before = scene.host()
    ran = scene.apply(code=74)
    assert STATE in ran.err
    assert scene.host() == before


# --- 75


@contextlib.contextmanager
def slow_pass(scene: Scene, talk: Path) -> Iterator["object"]:
    """Have a pass of another process hold the lock, in the midst of its action."""
    process = scene.start("apply")
    try:
        deadline = time.monotonic() + 30
        while not (talk / "begun").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process
    finally:
        (talk / "go").touch()
        with contextlib.suppress(Exception):
            process.wait(30)
        kill(process)
        process.communicate()


def test_a_pass_that_does_not_get_its_turn_in_time_ends_with_75(scene: Scene, odd_types: Path) -> None:
    scene.commit({"slow:/etc/slow": {"content": "x\n"}})
    scene.init()
    with slow_pass(scene, odd_types):
        ran = scene.spawn("apply", "--wait", "0.2")
        assert ran.code == 75, ran
        assert ran.out == ""
        status = scene.spawn("status")
        assert status.code == 0
        assert "slow:/etc/slow" in status.out, "the running pass shows its action"
    assert scene.read("/etc/slow") == "x\n"


def pending(pid: int) -> bool:
    """Whether the kernel has a signal of a process that it has not handed over yet (proc_pid_status(5))."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return any(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_finishes_the_action_in_hand_and_ends_with_128_and_its_number(
    scene: Scene, odd_types: Path, number: signal.Signals
) -> None:
    scene.commit(
        {"slow:/etc/slow": {"content": "x\n"}, "file:/etc/z": {"content": "z\n", "requires": ["slow:/etc/slow"]}}
    )
    scene.init()
    process = scene.start("apply")
    with process:
        while not (odd_types / "begun").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        while pending(process.pid):
            time.sleep(0.01)
        (odd_types / "go").touch()
        _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number, err
    assert scene.read("/etc/slow") == "x\n"
    assert scene.read("/etc/z") is None
    assert (scene.report["outcome"], scene.report["exit_code"]) == ("interrupted", 128 + number)
    assert scene.outcomes()["slow:/etc/slow"] == "applied"
    assert scene.trail
    assert scene.pointer["converged"] is None
    ran = scene.apply()
    assert scene.read("/etc/z") == "z\n"
    assert "retry" in ran.out


# --- 77


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_on_the_running_system_only_root_may(user_scene: Scene, command: str) -> None:
    assert user_scene.caller.uid != 0
    user_scene.commit(MOTD)
    before = user_scene.everything()
    state = user_scene.folder / "state"
    options = ["--repo", user_scene.url, "--host", HOST, "--state-dir", str(state)]
    done = subprocess.run(
        user_scene.command(command, *options), check=False, capture_output=True, text=True, cwd="/", timeout=30
    )
    assert (done.returncode, done.stdout) == (77, ""), done
    assert "root" in done.stderr
    assert not state.exists()
    assert user_scene.everything() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can shut an ordinary user out")
@pytest.mark.parametrize("command", ["status", "report"])
def test_who_may_not_look_is_told_that_rights_are_missing(user_scene: Scene, command: str) -> None:
    user_scene.enrolled(MOTD)
    for name in (STATE, REPORTS):
        (user_scene.root / name).chmod(0o710)
        os.chown(user_scene.root / name, 0, 0)
    done = subprocess.run(
        user_scene.command(command, "--root", str(user_scene.root)),
        check=False, capture_output=True, text=True, cwd="/", timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (77, ""), done
    assert "root" in done.stderr


# --- 78


def test_a_host_that_is_not_enrolled_ends_with_78_and_names_init(scene: Scene) -> None:
    scene.commit(MOTD)
    before = scene.everything()
    for command in ("plan", "apply"):
        ran = scene.run(command)
        assert ran.code == 78, ran
        assert "init" in ran.err
    assert scene.everything() == before


def test_a_missing_pointer_is_first_contact_which_needs_init_or_an_anchor(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.write("/etc/datum/agent.yaml", f"repo: {scene.url}\nhost: {HOST}\n")
    scene.pointer_path.unlink()
    # With the reports of an enrolment it would be lost state.
    shutil.rmtree(scene.at("/var/log/datum/reports"))
    before = scene.host()
    ran = scene.apply(code=78)
    assert "init" in ran.err
    assert scene.host() == before


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("trust: {policy: head}\n", "policy"),
        ("trust: {policy: none}\ncolour: red\n", "colour"),
        ("trust: [\n", "agent.yaml:"),
        ("- a\n", "agent.yaml"),
        ("repo: 3\n", "repo"),
    ],
)
def test_a_configuration_that_cannot_be_meant_ends_with_78(scene: Scene, text: str, named: str) -> None:
    scene.enrolled(MOTD)
    scene.commit(OTHER)
    scene.at("/etc/datum/agent.yaml").write_text(
        f"repo: '{scene.url}'\nhost: {HOST}\n{text}" if "repo" not in text else text
    )
    before = scene.everything()
    for command in ("plan", "apply"):
        ran = scene.run(command)
        assert ran.code == 78, ran
        assert named in ran.err
    assert scene.everything() == before


def test_a_remote_that_nothing_protects_is_refused(scene: Scene) -> None:
    scene.commit(MOTD)
    before = scene.everything()
    ran = scene.run("init", "--repo", "git://example.org/fleet.git", "--host", HOST, "--no-timer")
    assert ran.code == 78
    assert "nothing protects it" in ran.err
    assert scene.everything() == before


def test_another_host_name_than_the_pointers_ends_with_78_and_names_rename(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.commit_files({"hosts/web2.yaml": json.dumps({"resources": OTHER})})
    before = scene.host()
    ran = scene.apply("--host", "web2", code=78)
    assert f"init --rename {HOST}" in ran.err
    assert scene.host() == before
    told = scene.run("status", "--host", "web2")
    assert (told.code, "pointer-of-another-host" in told.out) == (0, True)
    problem = scene.run("status", "--host", "web2", "--json").json["pointer_problem"]
    assert problem["code"] == "pointer-of-another-host"
    assert scene.run("status", "--json").json["pointer_problem"] is None


# --- plans that are expected


def test_apply_refuses_another_plan_than_the_expected_one(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.commit(OTHER)
    plan = scene.run("plan", "--json").json["plan_id"]
    scene.write("/etc/motd", "someone was here\n")
    before = scene.host()
    pointer = scene.pointer_path.read_bytes()
    ran = scene.run("apply", "--expect", plan)
    assert ran.code not in {0, 2, 70}, ran
    assert plan in ran.err + ran.out
    assert scene.host() == before
    assert scene.pointer_path.read_bytes() == pointer
    scene.apply("--expect", scene.run("plan", "--json").json["plan_id"])
    assert scene.read("/etc/motd") == "other\n"


# --- the repository of someone else


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_root_follows_a_repository_of_an_ordinary_user(open_folder: Path) -> None:
    scene = Scene(open_folder)
    scene.commit(MOTD)
    for path in [scene.repository.path, *scene.repository.path.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    assert scene.init().code == 0
    scene.apply()
    assert scene.read("/etc/motd") == "hello\n"


# --- reports and status


def test_status_and_report_never_fail_for_what_a_pass_came_to(scene: Scene) -> None:
    scene.commit({**MOTD, **NO_ROOM})
    scene.init()
    scene.apply(code=1)
    assert scene.run("status").code == 0
    ran = scene.run("report")
    assert ran.code == 0
    assert "file:/etc/missing/deep" in ran.out
    first = scene.report["id"]
    scene.apply(code=1)
    assert scene.run("report", first, "--json").json["id"] == first


def test_a_newest_report_that_is_damaged_is_no_missing_one(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.apply()
    newest = max((scene.root / REPORTS).glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    newest.write_text("{")
    told = scene.run("status")
    assert told.code == 0
    assert "report-damaged" in told.out
    assert "no report yet" not in told.out
    assert scene.run("status", "--json").json["newest_problem"]["code"] == "report-damaged"
    assert scene.run("report").code == 74


def test_where_nothing_is_enforced_nothing_is_left_over(scene: Scene) -> None:
    """78, with a diagnostic: the source was not asked, so it is not its fault."""
    scene.commit(MOTD)
    scene.init()
    for words in (("orphans",), ("status", "--resources")):
        ran = scene.run(*words)
        assert ran.code == 78
        assert "nothing-enforced" in ran.out + ran.err
        assert scene.run(*words, "--json").code == 78


def test_a_report_that_is_not_there_is_said_so(scene: Scene) -> None:
    scene.enrolled(MOTD)
    ran = scene.run("report", "19990101T000000Z-1")
    assert ran.code not in {0, 70}
    assert "19990101T000000Z-1" in ran.err


def test_json_keeps_stdout_one_document(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.commit({**OTHER, **NO_ROOM})
    ran = scene.apply("--json", code=1)
    assert ran.json["outcome"] == "failed"
    assert ran.json["exit_code"] == 1
    refused = scene.run("apply", "--json", "--rev", "0" * 40)
    assert refused.code == 66
    assert "0" * 40 in refused.out + refused.err


def test_version_and_help_need_nothing() -> None:
    assert run("--version").code == 0
    assert "apply" in run("--help").out


@contextlib.contextmanager
def working(folder: str) -> Iterator[None]:
    """Work in a folder."""
    with contextlib.chdir(folder):
        yield
