"""What an enclosed program sees of the files: little, and hardly any of it can it write."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from datum.host import namespaces
from datum.host.names import Account
from datum.host.program import run_program
from datum.host.view import View
from datum.provider.host import Command, CommandOutcome, HostError

NOBODY = Account("nobody", 65534, 65534, groups=(65534,))
ANY_END = frozenset(range(-64, 256))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such namespaces")


def run(script: str, view: View, *, account: Account | None = NOBODY) -> CommandOutcome:
    command = Command(("sh", "-c", script), 20, success=ANY_END)
    return run_program(command, account=account, is_enclosed=True, view=view)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that everybody may write, outside of what is hidden."""
    with tempfile.TemporaryDirectory(prefix="datum-view.", dir="/srv") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_nothing_is_written_but_what_is_said(folder: Path) -> None:
    (folder / "own").mkdir(mode=0o777)
    (folder / "own").chmod(0o777)
    outcome = run(
        f"echo x > {folder}/a; echo x > {folder}/own/b; cat {folder}/own/b", View(writable=(str(folder / "own"),))
    )
    assert outcome.stdout == b"x\n"
    assert b"Read-only file system" in outcome.stderr
    assert [str(path.relative_to(folder)) for path in folder.rglob("*")] == ["own", "own/b"]


def test_root_itself_could_not_write(folder: Path) -> None:
    """The mounts are read-only, whoever the program is."""
    outcome = run(f"echo x > {folder}/a; echo x > /etc/datum-view; echo x > /run/datum-view", View(), account=None)
    assert outcome.stderr.count(b"Read-only file system") == 3
    assert not list(folder.iterdir())


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp"])
def test_the_temporary_folders_are_its_own(place: str) -> None:
    """Empty at the start, small, and gone at the end."""
    with tempfile.NamedTemporaryFile(dir=place) as mine:
        Path(mine.name).chmod(0o644)
        outcome = run(f"ls -A {place}; echo x > {place}/datum-view && cat {place}/datum-view; cat {mine.name}", View())
    assert outcome.stdout == b"x\n"
    assert b"No such file" in outcome.stderr
    assert not Path(place, "datum-view").exists()
    full = run(f"head -c 100000000 /dev/zero > {place}/large", View())
    assert b"No space left" in full.stderr


def test_what_is_hidden_seems_to_be_empty(folder: Path) -> None:
    (folder / "state/deep").mkdir(parents=True)
    for path in (folder / "state/pointer", folder / "state/deep/kept", folder / "secret", folder / "shown"):
        path.write_text(f"{path.name}\n")
    view = View(
        hidden=tuple(str(folder / name) for name in ("state", "secret", "missing")),
        readable=(str(folder / "state/deep/kept"),),
    )
    outcome = run(f"cd {folder}; find state -type f; cat state/deep/kept secret shown; cat state/pointer", view)
    assert outcome.stdout == b"state/deep/kept\nkept\nshown\n"
    assert b"state/pointer: No such file" in outcome.stderr
    assert (folder / "secret").read_text() == "secret\n"


def test_a_hidden_folder_may_hold_one_that_is_written(folder: Path) -> None:
    """And one that is read: as a state directory does."""
    for name in ("state/quarantine", "state/mirror"):
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(0o777)
    (folder / "state/mirror/HEAD").write_text("x\n")
    view = View(
        writable=(str(folder / "state/quarantine"),),
        hidden=(str(folder / "state"),),
        readable=(str(folder / "state/mirror"),),
    )
    script = f"cd {folder}/state; cat mirror/HEAD; echo y > quarantine/new; echo y > mirror/new; echo y > new; ls"
    outcome = run(script, view)
    assert outcome.stdout == b"x\nmirror\nquarantine\n"
    assert sorted(path.name for path in (folder / "state").rglob("*")) == ["HEAD", "mirror", "new", "quarantine"]
    assert (folder / "state/quarantine/new").read_text() == "y\n"


def test_a_secret_that_is_needed_is_seen_where_it_lies(folder: Path) -> None:
    for name in ("mine", "other"):
        (folder / name).write_text(f"{name}\n")
    view = View(hidden=(str(folder / "mine"), str(folder / "other")), readable=(str(folder / "mine"),))
    assert run(f"cat {folder}/mine {folder}/other", view).stdout == b"mine\n"


def test_a_link_leads_to_nothing_that_is_hidden(folder: Path) -> None:
    """What is hidden is so by any name, and what is needed is there by both."""
    (folder / "real").mkdir()
    (folder / "real/key").write_text("key\n")
    (folder / "link").symlink_to("real")
    (folder / "real/other").write_text("other\n")
    view = View(hidden=(str(folder / "link"),), readable=(str(folder / "link/key"),))
    outcome = run(f"cat {folder}/link/key {folder}/real/key; cat {folder}/real/other", view)
    assert outcome.stdout == b"key\nkey\n"


def test_other_processes_are_not_to_be_seen() -> None:
    outcome = run("ls /proc | grep -c '^[0-9]*$'; cat /proc/1/cmdline", View())
    assert int(outcome.stdout.split()[0]) < 6


def test_devices_are_as_ever() -> None:
    outcome = run("echo x > /dev/null && head -c 3 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c", View())
    assert outcome.stdout.split() == [b"3", b"4"]


def test_nothing_is_left_of_it(folder: Path) -> None:
    """No mount of a program's is one of this process's."""
    before = Path("/proc/self/mountinfo").read_text()
    (folder / "x").mkdir()
    run("true", View(writable=(str(folder / "x"),), hidden=(str(folder),)))
    assert Path("/proc/self/mountinfo").read_text() == before
    (folder / "after").write_text("x")


def test_a_folder_to_write_that_is_missing_is_told(folder: Path) -> None:
    with pytest.raises(HostError) as caught:
        run("true", View(writable=(str(folder / "none"),)))
    assert caught.value.diagnostics[0].code == "program-not-enclosed"
    assert str(folder / "none") in caught.value.detail


@pytest.mark.parametrize("call", ["enter", "make_read_only", "mount", "clone_tree"])
def test_without_such_mounts_nothing_runs(folder: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """As where a policy of the system refuses one of them."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, f"{call}: Operation not permitted")

    monkeypatch.setattr(namespaces, call, refuse)
    (folder / "own").mkdir()
    (folder / "own").chmod(0o777)
    with pytest.raises(HostError) as caught:
        run(f"touch {folder}/own/ran", View(writable=(str(folder / "own"),), hidden=("/home",)))
    (found,) = caught.value.diagnostics
    assert found.code == "program-not-enclosed"
    assert f"{call}: Operation not permitted" in found.detail
    assert "source.account" in found.hint
    assert not list((folder / "own").iterdir())
