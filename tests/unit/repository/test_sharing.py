"""One group may read a store, and nobody else."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest
from attrs import evolve

from datum.errors import StateError
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.repository.account import SourceAccount, hand_over
from datum.repository.mirror import Mirror
from datum.repository.reading import Objects
from datum.repository.sharing import borrowed, share_store
from datum.repository.store import create_store

GROUP = 65529
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other groups")


def made(tmp_path: Path) -> Path:
    """Return a state directory with a mirror and a quarantine that builds upon it."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    create_store(state / "mirror.git", alternate=None)
    create_store(state / "quarantine", alternate=state / "mirror.git")
    pack = state / "mirror.git/objects/pack/pack-x.pack"
    pack.write_bytes(b"PACK")
    pack.chmod(0o400)
    (state / "pointer.json").write_text("{}")
    (state / "pointer.json").chmod(0o600)
    return state


def modes(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_gid, stat.S_IMODE(path.lstat().st_mode))
        for path in (folder, *folder.rglob("*"))
    }


def test_the_group_reads_the_store_and_what_it_builds_upon(tmp_path: Path) -> None:
    state = made(tmp_path)
    share_store(state / "quarantine", GROUP)
    found = modes(state)
    assert found["."] == (GROUP, 0o710)
    assert found["pointer.json"] == (0, 0o600)
    assert found["mirror.git/objects/pack/pack-x.pack"] == (GROUP, 0o440)
    for name, (gid, mode) in found.items():
        if name.startswith(("mirror.git", "quarantine")):
            assert gid == GROUP, name
            assert mode & 0o050 == (0o050 if (state / name).is_dir() else 0o040), name
            assert not mode & 0o022, name


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    state = made(tmp_path)
    share_store(state / "mirror.git", GROUP)
    assert {mode & 0o007 for name, (_, mode) in modes(state / "mirror.git").items() if (state / name).is_dir()} <= {0}


def test_sharing_again_changes_nothing(tmp_path: Path) -> None:
    state = made(tmp_path)
    share_store(state / "quarantine", GROUP)
    before = {path: path.lstat().st_ctime_ns for path in state.rglob("*")}
    share_store(state / "quarantine", GROUP)
    assert {path: path.lstat().st_ctime_ns for path in state.rglob("*")} == before


def test_a_state_directory_that_everybody_may_pass_stays_as_it_is(tmp_path: Path) -> None:
    state = made(tmp_path)
    state.chmod(0o701)
    share_store(state / "mirror.git", GROUP)
    assert modes(state)["."] == (0, 0o701)


def test_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    share_store(tmp_path / "nothing", GROUP)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_above_that_shuts_it_out_is_named(tmp_path: Path) -> None:
    state = made(tmp_path)
    tmp_path.chmod(0o700)
    with pytest.raises(StateError) as caught:
        share_store(state / "mirror.git", GROUP)
    found = caught.value.diagnostics[0]
    assert found.code == "resolver-shut-out"
    assert found.hint.startswith(f"chmod o+x {tmp_path}")


def test_links_are_not_followed(tmp_path: Path) -> None:
    state = made(tmp_path)
    (tmp_path / "outside").write_text("x")
    (tmp_path / "outside").chmod(0o600)
    (state / "mirror.git/link").symlink_to(tmp_path / "outside")
    share_store(state / "mirror.git", GROUP)
    outside = (tmp_path / "outside").stat()
    assert (outside.st_gid, stat.S_IMODE(outside.st_mode)) == (0, 0o600)


def test_what_a_pass_renames_meanwhile_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`plan` shares a store that a pass fills: a name that it has read may be gone when its turn comes."""
    state = made(tmp_path)
    packs = state / "mirror.git/objects/pack"
    walk = os.walk

    def watched(top: Path, **options: Any) -> Iterator[tuple[str, list[str], list[str]]]:
        for folder, folders, names in walk(top, **options):
            gone = ["tmp_pack_x"] if Path(folder) == packs else []
            yield folder, folders, gone + names
        yield str(packs / "gone"), [], ["x"]

    monkeypatch.setattr(os, "walk", watched)
    share_store(state / "mirror.git", GROUP)
    assert modes(state)["mirror.git/objects/pack/pack-x.pack"] == (GROUP, 0o440)


def test_what_is_handed_over_may_go_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = made(tmp_path)
    walk = os.walk

    def watched(top: Path, *, topdown: bool = True, **_: Any) -> Iterator[tuple[str, list[str], list[str]]]:
        for folder, folders, names in walk(top, topdown=topdown):
            yield folder, folders, (["gone"] if topdown else []) + names

    monkeypatch.setattr(os, "walk", watched)
    hand_over(state / "quarantine", state / "mirror.git", SourceAccount(65534, GROUP, run_program))
    assert modes(state)["mirror.git/objects/pack/pack-x.pack"] == (GROUP, 0o440)
    assert (state / "quarantine").stat().st_uid == 65534


def test_what_the_group_reads_already_is_read_where_it_lies(tmp_path: Path) -> None:
    state = made(tmp_path)
    share_store(state / "mirror.git", GROUP)
    place = tmp_path / "place"
    place.mkdir()
    assert borrowed(state / "mirror.git", place, GROUP) == state / "mirror.git"
    assert not list(place.iterdir())


def test_what_it_may_not_read_is_read_in_a_copy_and_keeps_its_rights(tmp_path: Path) -> None:
    """Whether a file of it is shut, the folder above, or all are another group's: as `--root` or a new account left."""
    state = made(tmp_path)
    (state / "mirror.git/link").symlink_to(state / "pointer.json")
    pack = Path("objects/pack/pack-x.pack")

    def borrow(name: str) -> Path:
        before = {path: path.lstat().st_ctime_ns for path in (state, *state.rglob("*"))}
        (tmp_path / name).mkdir()
        copy = borrowed(state / "mirror.git", tmp_path / name, GROUP)
        share_store(copy, GROUP)
        assert {path: path.lstat().st_ctime_ns for path in (state, *state.rglob("*"))} == before
        assert copy == tmp_path / name / "mirror.git"
        assert (copy / pack).read_bytes() == b"PACK"
        return copy

    copy = borrow("never")
    names = {str(path.relative_to(state / "mirror.git")) for path in (state / "mirror.git").rglob("*")}
    assert {str(path.relative_to(copy)) for path in copy.rglob("*")} == names - {"link"}
    share_store(state / "mirror.git", GROUP + 1)
    borrow("other")
    share_store(state / "mirror.git", GROUP)
    (state / "mirror.git" / pack).chmod(0o400)
    borrow("new")
    share_store(state / "mirror.git", GROUP)
    state.chmod(0o700)
    borrow("above")


def test_a_copy_is_of_one_moment_although_a_pass_repacks_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old packs were gone and the new one was not seen: the plan then said that the mirror is damaged."""
    state, place, walk = made(tmp_path), tmp_path / "place", os.walk
    packs, walks = state / "mirror.git/objects/pack", 0

    def repacked(top: Path, **options: Any) -> Iterator[tuple[str, list[str], list[str]]]:
        nonlocal walks
        walks += 1
        found = list(walk(top, **options))
        if walks == 1:
            (packs / "pack-y.pack").write_bytes(b"PACK")
            (packs / "pack-x.pack").unlink()
        yield from found

    place.mkdir()
    # The folder above is shut for the group: rights are not walked for, and the copy is.
    with monkeypatch.context() as patched:
        patched.setattr(os, "walk", repacked)
        copy = borrowed(state / "mirror.git", place, GROUP)
    assert [path.name for path in (copy / "objects/pack").iterdir()] == ["pack-y.pack"]
    assert (modes(copy).keys(), walks) == (modes(state / "mirror.git").keys(), 2)


def test_what_cannot_be_copied_names_the_folder_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the mirror, which is only read."""

    def full(source: Path, *_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source))

    state, place = made(tmp_path), tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(StateError) as caught:
        borrowed(state / "mirror.git", place, GROUP)
    (found,) = caught.value.diagnostics
    assert (found.code, "TMPDIR" in found.hint) == ("no-temporary-folder", True)
    assert f"into {place}: No space left" in found.detail


class Opened:
    """Notes from which repository it is to read."""

    readers = GROUP

    def __init__(self) -> None:
        self.path = Path()

    def use(self, path: Path) -> None:
        self.path = path

    def close(self) -> None: ...

    def kind(self, _object_id: str) -> str | None:
        return None


def test_a_mirror_that_leaves_no_trace_is_read_in_a_copy_where_it_is_not_shared(tmp_path: Path) -> None:
    """Whether those who read revisions may not read it, or the account of the source."""
    state, opened = made(tmp_path), Opened()

    def place_of(name: str, account: SourceAccount | None) -> Path:
        place = tmp_path / name
        place.mkdir()

        def opener(path: Path) -> Objects:
            opened.path = path
            return cast(Objects, opened)

        with Mirror.open(state, run_program, temporary=place, account=account, open_objects=opener) as mirror:
            assert not mirror.has(Revision("1" * 40))
            assert opened.path == (place if list(place.iterdir()) else state) / "mirror.git"
            return opened.path.parent

    account = SourceAccount(65534, 65534, run_program)
    before = modes(state)
    assert place_of("one", None) == tmp_path / "one"
    assert place_of("two", account) == tmp_path / "two"
    assert modes(state) == before
    share_store(state / "mirror.git", GROUP)
    assert place_of("three", None) == state
    assert place_of("four", account) == tmp_path / "four"
    assert place_of("five", evolve(account, readers=GROUP)) == state


def test_a_folder_that_lets_the_group_of_the_readers_pass_lets_the_account(tmp_path: Path) -> None:
    """It has that group beside its own; what the mirror was shared for before stays as it is."""
    state = made(tmp_path)
    share_store(state / "mirror.git", GROUP)
    before = {path: path.lstat().st_ctime_ns for path in (state, *(state / "mirror.git").rglob("*"))}
    hand_over(state / "quarantine", state / "mirror.git", SourceAccount(65534, 65534, run_program, readers=GROUP))
    assert {path: path.lstat().st_ctime_ns for path in before} == before
    assert modes(state)["."] == (GROUP, 0o710)
