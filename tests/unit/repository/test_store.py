"""Bare repositories as folders."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from datum.repository import store


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """An empty store."""
    path = tmp_path / "mirror.git"
    store.create_store(path, alternate=None)
    return path


def test_git_takes_a_made_store_for_a_repository(made: Path) -> None:
    git = ["git", f"--git-dir={made}"]
    assert (
        subprocess.run([*git, "rev-parse", "--is-bare-repository"], capture_output=True, check=True).stdout == b"true\n"
    )
    assert subprocess.run([*git, "fsck"], capture_output=True, check=False).returncode == 0
    assert store.is_store(made)


def test_a_store_sees_the_objects_of_its_alternate(tmp_path: Path, made: Path) -> None:
    git = ["git", f"--git-dir={made}"]
    blob = subprocess.run([*git, "hash-object", "-w", "--stdin"], input=b"x", capture_output=True, check=True).stdout
    second = tmp_path / "quarantine"
    store.create_store(second, alternate=made)
    read = ["git", f"--git-dir={second}", "cat-file", "-p", blob.decode().strip()]
    assert subprocess.run(read, capture_output=True, check=True).stdout == b"x"


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
def test_half_a_repository_is_no_store(made: Path, missing: str) -> None:
    store.remove_store(made / missing)
    assert not store.is_store(made)


def test_anything_is_removed_and_links_are_not_followed(tmp_path: Path, made: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(made)
    file.write_text("x")
    for path in (link, file, tmp_path / "nothing"):
        store.remove_store(path)
    assert sorted(tmp_path.iterdir()) == [made]
    assert store.is_store(made)


PACK = f"pack/pack-{'1' * 40}"
LOOSE = f"aa/{'b' * 38}"


def filled(path: Path) -> Path:
    """A store with a pack and a loose object, as far as names go, and what is half-written."""
    store.create_store(path, alternate=None)
    for name in (f"{PACK}.idx", f"{PACK}.pack", f"{PACK}.rev", "pack/tmp_pack_x", LOOSE, "info/packs"):
        (path / "objects" / name).parent.mkdir(exist_ok=True)
        (path / "objects" / name).write_text(name)
    return path


def test_objects_are_moved_and_the_index_last(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    rename = Path.rename

    def watched(self: Path, target: Path) -> Path:
        order.append(self.name)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", watched)
    store.merge_store(filled(tmp_path / "quarantine"), made)
    assert order[-1] == f"pack-{'1' * 40}.idx"
    found = sorted(str(file.relative_to(made / "objects")) for file in (made / "objects").rglob("*") if file.is_file())
    assert found == [LOOSE, f"{PACK}.idx", f"{PACK}.pack", f"{PACK}.rev"]
    assert store.pack_count(made) == 1


def test_what_a_store_has_is_never_replaced(tmp_path: Path, made: Path) -> None:
    for kind in ("pack", "idx"):
        (made / f"objects/{PACK}.{kind}").write_text("ours")
    store.merge_store(filled(tmp_path / "quarantine"), made)
    assert {(made / f"objects/{PACK}.{kind}").read_text() for kind in ("pack", "idx")} == {"ours"}
    assert (made / f"objects/{PACK}.rev").exists()


def test_only_files_with_names_of_objects_are_moved(tmp_path: Path, made: Path) -> None:
    """A folder or a link in the place of one would stay, and `git repack` would fail for good."""
    source = filled(tmp_path / "quarantine")
    packs = source / "objects/pack"
    (packs / f"pack-{'2' * 40}.pack").mkdir()
    (packs / f"pack-{'3' * 40}.idx").symlink_to(tmp_path)
    (packs / "multi-pack-index").write_text("x")
    (source / f"objects/aa/{'c' * 38}").mkdir()
    (source / "objects/bb").symlink_to(source / "objects/aa")
    (source / "objects/dd").write_text("x")
    store.merge_store(source, made)
    found = {str(file.relative_to(made / "objects")) for file in (made / "objects").rglob("*")}
    assert found == {"info", "pack", "aa", LOOSE, f"{PACK}.idx", f"{PACK}.pack", f"{PACK}.rev"}


def test_a_store_is_its_owners_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        store.create_store(tmp_path / "new", alternate=None)
    finally:
        os.umask(umask)
    folders = [tmp_path / "new", *(path for path in (tmp_path / "new").rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


class KilledError(Exception):
    """Stands for SIGKILL."""


def test_a_merge_killed_at_any_step_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kills = 0
    for step in range(1, 40):
        folder = tmp_path / str(step)
        made = folder / "mirror.git"
        store.create_store(made, alternate=None)
        source = filled(folder / "quarantine")
        with monkeypatch.context() as patch:
            kill_at(patch, step)
            try:
                store.merge_store(source, made)
            except KilledError:
                kills += 1
                assert (made / f"objects/{PACK}.pack").exists() or not (made / f"objects/{PACK}.idx").exists()
        store.merge_store(source, made)
        assert (made / f"objects/{PACK}.idx").read_text() == f"{PACK}.idx"
        assert (made / f"objects/{LOOSE}").exists()
    assert 10 < kills < 39


def kill_at(patch: pytest.MonkeyPatch, step: int) -> None:
    """Die in place of the given call that changes or syncs something."""
    count = 0
    calls = ((Path, "rename"), (Path, "unlink"), (os, "fsync"), (os, "unlink"), (os, "rmdir"))
    for place, name in calls:
        real = getattr(place, name)

        def dying(*args: object, real: object = real, **kwargs: object) -> object:
            nonlocal count
            count += 1
            if count == step:
                raise KilledError
            return real(*args, **kwargs)  # type: ignore[operator]  # one wrapper for four functions

        patch.setattr(place, name, dying)


def test_a_replacement_killed_at_any_step_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {"old": 0, "new": 0}
    for step in range(1, 60):
        folder = tmp_path / str(step)
        made, aside = folder / "mirror.git", folder / "mirror.old"
        store.create_store(made, alternate=None)
        (made / "mark").write_text("old")
        source = filled(folder / "quarantine")
        (source / "mark").write_text("new")
        with monkeypatch.context() as patch:
            kill_at(patch, step)
            try:
                store.replace_store(source, made, aside=aside)
            except KilledError:
                seen["old"] += 1
            else:
                seen["new"] += 1
        store.restore_store(made, aside=aside)
        assert store.is_store(made)
        assert (made / "mark").read_text() in {"old", "new"}
        assert not aside.exists()
    assert seen["old"] > 10
    assert seen["new"] > 10


def test_a_replacement_stands_on_its_own(tmp_path: Path, made: Path) -> None:
    source = tmp_path / "quarantine"
    store.create_store(source, alternate=made)
    store.replace_store(source, made, aside=tmp_path / "mirror.old")
    assert not (made / "objects/info/alternates").exists()
    assert sorted(tmp_path.iterdir()) == [made]


def test_leftovers_are_swept_and_nothing_else(made: Path) -> None:
    store.keep_commits(made, ["a" * 40])
    # What git 2.39 makes on its way to what it writes, in a repository or beside its packs.
    stale = (
        *(f"{name}.lock" for name in ("shallow", "packed-refs", "config", "HEAD", "FETCH_HEAD", "index", "gc.pid")),
        *("refs/datum/x.lock", f"refs/datum/{'b' * 40}.lock"),
        *("objects/info/x.lock", "objects/info/commit-graph.lock", "objects/info/alternates.lock"),
        *(f"objects/pack/{name}" for name in ("tmp_pack_1", "tmp_idx_1", "tmp_rev_1", ".tmp-4711-pack-1.pack")),
        "objects/pack/multi-pack-index.lock",
    )
    before = sorted(made.rglob("*"))
    for name in stale:
        (made / name).write_text("")
    store.sweep_store(made)
    assert sorted(made.rglob("*")) == before


def test_sweeping_nothing_and_a_file_is_harmless(tmp_path: Path) -> None:
    store.sweep_store(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    store.sweep_store(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"


def test_refs_are_made_once_and_dropped(made: Path) -> None:
    store.keep_commits(made, ["a" * 40, "b" * 40])
    ref = made / "refs/datum" / ("a" * 40)
    assert ref.read_text() == "a" * 40 + "\n"
    before = ref.stat()
    store.keep_commits(made, ["a" * 40])
    assert ref.stat() == before
    (made / "refs/datum/foreign").write_text("x")
    assert store.kept_commits(made) == {"a" * 40, "b" * 40}
    store.release_commits(made, ["b" * 40, "c" * 40])
    assert store.kept_commits(made) == {"a" * 40}
    assert store.kept_commits(made / "nothing") == frozenset()
