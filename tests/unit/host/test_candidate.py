"""Candidates: what the checking program sees, what it cannot do, and what is left on the host (nothing)."""

import os
import time
from pathlib import Path

import pytest

from datum.host import candidate, namespaces
from datum.host.candidate import CandidateCheck, CheckOutcome, check_candidate
from datum.host.mounts import Mount, MountTable
from datum.provider.host import HostError
from tests.unit.host.in_child import NOBODY, in_child, names


def request(path: str | Path, script: str, **changes: object) -> CandidateCheck:
    values: dict[str, object] = {
        "root": "/",
        "path": str(path),
        "data": b"new\n",
        "mode": 0o640,
        "uid": 0,
        "gid": 0,
        "argv": ("/bin/sh", "-c", script, "sh", "{path}"),
        "timeout": 20.0,
        "exists": os.path.lexists(path),
    }
    return CandidateCheck(**{**values, **changes})  # type: ignore[arg-type] # by the tests' word


def said(path: str | Path, script: str, **changes: object) -> str:
    outcome = check_candidate(request(path, script, **changes))
    assert outcome.reason_unavailable == ""
    assert outcome.passed, outcome.output
    return outcome.output


@pytest.fixture
def existing(enclosing: None, tmp_path: Path) -> Path:
    path = tmp_path / "app.conf"
    path.write_text("old\n")
    path.chmod(0o600)
    return path


def test_a_replacement_is_seen_at_its_path_with_its_mode_and_owner(enclosing_root: None, existing: Path) -> None:
    facts = said(existing, 'cat "$1"; stat -c "%a %u %g" "$1"', uid=12, gid=34)
    assert facts == "new\n640 12 34"
    assert (existing.read_text(), existing.stat().st_mode & 0o777) == ("old\n", 0o600)


def test_a_new_file_is_seen_in_its_directory_beside_its_siblings(existing: Path) -> None:
    assert said(existing.with_name("b.conf"), 'ls "$(dirname "$1")"; cat "$1"') == "app.conf\nb.conf\nnew"
    assert names(existing.parent) == ["app.conf"]


def test_directories_that_a_new_file_needs_are_seen_too(enclosing: None, tmp_path: Path) -> None:
    assert said(tmp_path / "a/b/c.conf", 'cat "$1"') == "new"
    assert names(tmp_path) == []


def test_the_path_stands_wherever_an_argument_names_it(existing: Path) -> None:
    outcome = check_candidate(request(existing, "", argv=("echo", "-c={path}", "{path}{path}", "{other}")))
    assert outcome.output == f"-c={existing} {existing}{existing} {{other}}"


def test_exit_code_zero_and_only_that_passes(existing: Path) -> None:
    outcome = check_candidate(request(existing, "echo said; echo wrong >&2; exit 3"))
    assert not outcome.passed
    assert outcome.output.splitlines()[:2] == ["said", "wrong"]
    assert outcome.output.endswith("ended with exit code 3.")


def test_a_check_that_takes_too_long_fails(existing: Path) -> None:
    started = time.monotonic()
    outcome = check_candidate(request(existing, "echo begun; sleep 60", timeout=0.5))
    assert time.monotonic() - started < 5
    assert not outcome.passed
    assert outcome.output.startswith("begun\n")
    assert outcome.output.endswith("ran longer than 0.5 s and was killed.")


@pytest.mark.parametrize(("program", "why"), [("/no-such-check", "is not on this host"), ("/etc/passwd", "Permission")])
def test_a_check_that_cannot_be_run_says_nothing_of_the_file(existing: Path, program: str, why: str) -> None:
    with pytest.raises(HostError) as caught:
        check_candidate(request(existing, "", argv=(program, "{path}", "a b")))
    (found,) = caught.value.diagnostics
    assert found.code == "check-not-run"
    assert found.detail.startswith(
        f"The check of '{existing}' could not be run; the host is as it was. {program} {existing} 'a b' cannot be run: "
    )
    assert why in found.detail
    assert ("install" in found.hint) == (program == "/no-such-check")


def test_what_a_check_writes_is_bounded(existing: Path) -> None:
    output = said(existing, "head -c 100000 /dev/zero | tr '\\0' x; echo; echo end")
    assert (len(output), output[0], output[-4:]) == (candidate.OUTPUT_LIMIT + 1, "…", "\nend")


def test_a_candidate_of_more_than_64_mib_is_shown(existing: Path) -> None:
    assert (
        said(existing, 'wc -c < "$1"; tail -c 4 "$1"', data=b"\0" * (65 << 20) + b"end\n") == f"{(65 << 20) + 4}\nend"
    )


def test_a_check_can_write_only_what_is_thrown_away(enclosing_root: None) -> None:
    script = """
    for place in /etc /usr /root /dev/shm; do echo x 2>/dev/null > $place/datum-test && echo "wrote $place"; done
    for place in /run /tmp /var /var/lib; do echo x > $place/datum-test; cat $place/datum-test; done
    """
    # sh tells its own refusals on a stderr that 2> does not reach
    output = said("/etc/hostname", script, data=b"")
    assert [line for line in output.splitlines() if "cannot create" not in line] == ["x"] * 4
    left = [place for place in ("/etc", "/run", "/tmp", "/var", "/var/lib") if Path(place, "datum-test").exists()]
    assert left == []


@pytest.mark.parametrize("folder", ["/run", "/tmp", "/var/lib", "/dev/shm", "/etc", "/"])
def test_a_candidate_shows_below_every_kind_of_place(enclosing_root: None, folder: str) -> None:
    path = f"{folder.rstrip('/')}/datum-test.conf"
    assert (
        said(path, 'cat "$1"; test -e /etc/hostname; test -r /proc/self/stat; echo > /dev/null; echo seen')
        == "new\nseen"
    )
    assert not Path(path).exists()


def test_what_is_mounted_below_the_directory_of_a_new_file_is_seen(enclosing_root: None) -> None:
    assert (
        said(
            "/dev/datum-test",
            "echo > /dev/null; test -d /dev/shm; test -e /dev/pts/ptmx; mountpoint -q /dev/shm; echo ok",
        )
        == "ok"
    )


def test_mounts_of_their_own_below_a_scratch_directory(enclosing: None, tmp_path: Path) -> None:
    """A submount of /var, /run or /tmp vanishes from an overlay unless it is shown again; /var/tmp can be written."""

    def check() -> list[str]:
        namespaces.enter(is_offline=False, inside_uid=0)
        for path in ("/var/tmp", str(tmp_path)):
            namespaces.mount("none", path, "tmpfs")
            Path(path, "below").write_text("below")
        script = f"""
        cat /var/tmp/below {tmp_path}/below; echo x > /var/tmp/y && cat /var/tmp/y
        touch {tmp_path}/z || echo refused; cat "$1"
        """
        new = said(tmp_path / "a.conf", script)
        old = said("/etc/hostname", script)
        return [new, old, *names("/var/tmp"), *names(tmp_path)]

    new, old, *left = in_child(check)
    assert new == "belowbelowx\nnew"
    assert [line for line in old.splitlines() if "cannot touch" not in line] == ["belowbelowx", "refused", "new"]
    assert left == ["below", "below"]


def test_there_is_no_network_but_addresses_of_the_host_can_be_bound(existing: Path) -> None:
    script = """
    cat /proc/net/route | wc -l
    python3 -c 'import socket
    for address in ("127.0.0.1", "192.0.2.77"): socket.socket().bind((address, 8080))'
    """
    script = script.replace("\n    ", "\n")
    assert said(existing, script) == "1"


def test_nothing_is_left_on_the_host(existing: Path) -> None:
    before = (
        Path("/proc/self/mountinfo").read_text(),
        names("/proc/driver"),
        names("/proc/self/fd"),
    )
    pid = said(existing, "sleep 60 & echo $!")
    said(existing.with_name("new"), "true")
    check_candidate(request(existing, "exit 1"))
    after = (
        Path("/proc/self/mountinfo").read_text(),
        names("/proc/driver"),
        names("/proc/self/fd"),
    )
    assert after == before
    for _attempt in range(100):
        if not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text():
            break
        time.sleep(0.02)
    else:
        pytest.fail("a process of the check lives on")


def test_below_another_root_the_check_sees_only_that(enclosing: None, shell_root: Path) -> None:
    (shell_root / "etc/app.conf").write_text("old\n")
    script = (
        'cat "$1" /etc/app.conf; echo x > /dev/null; cat /proc/self/comm; echo y > /tmp/y; cat /tmp/y; echo z > /etc/z'
    )
    new = check_candidate(request("/etc/new/b.conf", script, root=str(shell_root), exists=False))
    assert new.output.splitlines()[:4] == ["new", "old", "cat", "y"]
    replaced = said("/etc/app.conf", 'cat "$1"', root=str(shell_root), exists=True)
    top = said("/top.conf", 'cat "$1" /etc/app.conf', root=str(shell_root), exists=False)
    assert (replaced, top) == ("new", "new\nold")
    assert names(shell_root / "etc") == ["app.conf"]
    assert names(shell_root / "tmp") == names(shell_root / "dev") == []


def test_a_link_in_a_root_does_not_lead_the_candidate_out_of_it(enclosing: None, shell_root: Path) -> None:
    """Resolved outside of the root, the check would have passed without seeing the candidate."""
    (shell_root / "etc/app.conf").write_text("old\n")
    (shell_root / "conf").symlink_to("/etc")
    assert said("/conf/app.conf", 'cat "$1" /etc/app.conf', root=str(shell_root), exists=True) == "new\nnew"


def test_an_ordinary_user_checks_below_a_root_of_its_own(enclosing_nobody: None, nobody_shell_root: Path) -> None:
    (nobody_shell_root / "etc/app.conf").write_text("old\n")

    def check() -> list[str]:
        options = {"root": str(nobody_shell_root), "uid": NOBODY, "gid": 4711}
        script = 'cat "$1"; echo x > /dev/null; test -O "$1" && echo own; echo z > /tmp/z; cat /tmp/z'
        return [
            said("/etc/app.conf", script, exists=True, **options),
            said("/etc/b/c.conf", script, exists=False, **options),
        ]

    assert in_child(check, uid=NOBODY) == ["new\nown\nz"] * 2
    assert names(nobody_shell_root / "etc") == ["app.conf"]


def test_an_ordinary_user_is_told_where_a_candidate_cannot_be_shown(enclosing_nobody: None) -> None:
    """The kernel shows no directory without the mounts below it to a namespace that did not make these mounts."""
    outcome = in_child(lambda: check_candidate(request("/datum-test", "true")), uid=NOBODY)
    assert outcome == CheckOutcome(False, "", "mount / on 0/lower: Invalid argument")


def test_where_namespaces_are_refused_the_reason_names_the_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(1, "unshare NEWNS, NEWNET: Operation not permitted")

    monkeypatch.setattr(namespaces, "enclose", refuse)
    outcome = check_candidate(request(tmp_path / "x", "true"))
    assert outcome == CheckOutcome(
        passed=False, output="", reason_unavailable="unshare NEWNS, NEWNET: Operation not permitted"
    )


def reason(wanted: CandidateCheck) -> str:
    outcome = check_candidate(wanted)
    assert (outcome.passed, outcome.output) == (False, "")
    return outcome.reason_unavailable


def test_what_cannot_be_shown_is_said(enclosing: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    assert reason(request(tmp_path / "file/x", "true")) == f"{tmp_path}/file: Not a directory"
    assert reason(request(tmp_path / "folder", "true")).startswith(f"mount candidate on {tmp_path}/folder: ")
    assert (
        reason(request(tmp_path / "gone", "true", exists=True))
        == f"mount candidate on {tmp_path}/gone: No such file or directory"
    )
    assert (
        reason(request(tmp_path / "x", "true", root=str(tmp_path / "gone")))
        == f"{tmp_path}/gone: No such file or directory"
    )


def test_a_link_where_the_file_should_stand_is_not_followed_unseen(enclosing: None, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to("real")
    assert reason(request(tmp_path / "link", "true")) == f"the candidate does not show at {tmp_path}/link"


def test_a_full_disk_for_candidates_is_said(enclosing: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = namespaces.mount

    def small(source: str, target: str, file_system: str, **options: object) -> None:
        if target == namespaces.WORKSPACE:
            options["data"] = "size=64k"
        real(source, target, file_system, **options)  # type: ignore[arg-type] # as given

    monkeypatch.setattr(namespaces, "mount", small)
    assert reason(request(tmp_path / "x", "true", data=b"x" * 100_000)) == "No space left on device"


def test_the_steps_in_the_child(enclosing: None, tmp_path: Path) -> None:
    """The same steps as above without an exec behind them, so that they are measured."""
    (tmp_path / "old").write_text("old")

    def show(name: str) -> tuple[bytes, str]:
        wanted = request(tmp_path / name, "true")
        candidate._show(wanted)
        return Path(wanted.path).read_bytes(), str(Path.cwd())

    assert in_child(lambda: show("old")) == (b"new\n", "/")
    assert in_child(lambda: show("a/new")) == (b"new\n", "/")
    with pytest.raises(NotADirectoryError):
        in_child(lambda: show("old/x"))
    (tmp_path / "link").symlink_to("old")
    with pytest.raises(OSError, match="does not show"):
        in_child(lambda: show("link"))


def test_a_folder_on_the_file_system_of_an_outer_overlay_needs_none() -> None:
    table = MountTable({path: Mount(path, "ext4", "a", "8:1") for path in ("/", "/var/lib", "/run")}, None, ())
    wanted = {"/var", "/var/log/app", "/var/lib/app", "/run", "/variable"}
    assert candidate._uncovered(wanted, table) == ["/run", "/var", "/var/lib/app", "/variable"]
    assert candidate._uncovered({"/", "/var", "/run", "/etc"}, table) == ["/", "/run"]
    assert candidate._uncovered({"/", "/var"}, MountTable({}, None, ())) == ["/"]
