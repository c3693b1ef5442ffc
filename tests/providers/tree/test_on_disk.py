"""The type on a real directory tree, through the real host room, below a root of its own."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from datum.host.local import LocalHost
from datum.model.content import blob_id
from datum.model.manifest import AttributeValue
from datum.model.observation import Observation, Present, Unobservable
from datum.model.plan import Operation, Step, sweeps
from datum.planner.decide import deletion
from datum_providers.tree.desired import DesiredTree
from datum_providers.tree.provider import TreeProvider
from tests.providers.tree.cases import folder_of, texts_of

PROVIDER = TreeProvider()
FILES = {
    "bin/run": {"executable": "#!/bin/sh\n"},
    "etc/deep/er/app.conf": "a = 1\n",
    "current": {"link": "etc/deep"},
    "broken": {"link": "/nowhere/at/all"},
    "readme": "hello\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir(mode=0o755)
    (tmp_path / "opt").mkdir(mode=0o755)
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n", encoding="utf-8")
    (tmp_path / "etc/group").write_text("root:x:0:\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def host(root: Path) -> Iterator[LocalHost]:
    blobs = {blob_id(text.encode()): text.encode() for text in texts_of(FILES)}
    with LocalHost(str(root), open_content=lambda content: io.BytesIO(blobs[content.blob])) as opened:
        yield opened


def tree(**attributes: AttributeValue) -> DesiredTree:
    return PROVIDER.parse("/opt/app", {"source": folder_of(FILES), "links": "keep", **attributes})


def see(host: LocalHost, desired: DesiredTree) -> Observation:
    return PROVIDER.observe(host.reader(), {desired.path: desired})[desired.path]


def converge(host: LocalHost, desired: DesiredTree) -> Step:
    """Do what is to be done, and see that nothing is left."""
    before = see(host, desired)
    assert not isinstance(before, Unobservable), before
    step = PROVIDER.plan(desired, before)
    assert step is not None
    PROVIDER.apply(host.writer(), desired, step)
    after = see(host, desired)
    assert isinstance(after, Present)
    assert PROVIDER.plan(desired, after) is None
    return step


def test_a_tree_is_made_as_it_is_in_the_repository(root: Path, host: LocalHost) -> None:
    assert converge(host, tree()).operation is Operation.CREATE
    app = root / "opt/app"
    assert (app / "bin/run").stat().st_mode & 0o7777 == 0o755
    assert (app / "etc/deep/er/app.conf").read_bytes() == b"a = 1\n"
    assert (app / "etc/deep/er/app.conf").stat().st_mode & 0o7777 == 0o644
    assert (app / "current").readlink() == Path("etc/deep")
    assert (app / "broken").readlink() == Path("/nowhere/at/all")


def test_what_differs_is_written_and_nothing_else(root: Path, host: LocalHost) -> None:
    converge(host, tree())
    app = root / "opt/app"
    before = {path: path.lstat().st_ino for path in app.rglob("*")}
    (app / "readme").write_text("drift\n", encoding="utf-8")
    (app / "etc").chmod(0o700)
    (app / "current").unlink()
    (app / "current").symlink_to("elsewhere")
    step = converge(host, tree())
    assert [change.name for change in step.changes] == ["./etc", "./current", "./readme"]
    changed = {path.name for path, inode in before.items() if path.lstat().st_ino != inode}
    assert changed == {"readme", "current"}


def test_an_exclusive_tree_clears_away_and_keeps(root: Path, host: LocalHost) -> None:
    converge(host, tree())
    app = root / "opt/app"
    (app / "old/deep").mkdir(parents=True)
    (app / "old/deep/x").write_text("x", encoding="utf-8")
    (app / "etc/old-link").symlink_to("/")
    (app / "cache").mkdir()
    (app / "cache/x").write_text("x", encoding="utf-8")
    step = converge(host, tree(exclusive=True, keep=["cache"]))
    assert step.takes == ("/opt/app/etc/old-link", "/opt/app/old", "/opt/app/old/deep", "/opt/app/old/deep/x")
    assert not (app / "old").exists()
    assert (app / "cache/x").exists()


def test_every_kind_gives_way_to_every_other(root: Path, host: LocalHost) -> None:
    app = root / "opt/app"
    app.mkdir(mode=0o755)
    (app / "readme").mkdir()
    (app / "readme/x").write_text("x", encoding="utf-8")
    (app / "bin").write_text("x", encoding="utf-8")
    (app / "etc").symlink_to("/tmp")
    os.mkfifo(app / "current")
    step = converge(host, tree())
    assert step.operation is Operation.REPLACE
    assert step.takes == ("/opt/app/readme/x",)
    assert (app / "readme").read_bytes() == b"hello\n"
    assert (app / "etc").is_dir()
    assert not (app / "etc").is_symlink()


def test_bytes_of_names_are_kept(root: Path) -> None:
    files = {"caf\udce9/\udcff": "x", "ä": "x"}
    desired = PROVIDER.parse("/opt/app", {"source": folder_of(files), "exclusive": True})
    with LocalHost(str(root), open_content=lambda _: io.BytesIO(b"x")) as host:
        converge(host, desired)
    assert {os.fsencode(path.name) for path in (root / "opt/app").iterdir()} == {b"caf\xe9", "ä".encode()}
    assert [os.fsencode(path.name) for path in (root / "opt/app/caf\udce9").iterdir()] == [b"\xff"]


def test_a_tree_is_removed_with_what_the_plan_named(root: Path, host: LocalHost) -> None:
    converge(host, tree())
    (root / "opt/app/other").write_text("x", encoding="utf-8")
    seen = see(host, tree())
    assert isinstance(seen, Present)
    writer = host.writer()
    PROVIDER.apply(writer, tree(), evolve(deletion(seen), takes=("/opt/app/other",)))
    assert not (root / "opt/app").exists()


def test_an_interrupted_step_is_finished_by_the_next(root: Path, host: LocalHost) -> None:
    """A write that ended in the middle leaves some paths and a leftover; the next step has what is left to do."""
    converge(host, tree())
    app = root / "opt/app"
    (app / "readme").unlink()
    (app / ".readme.datum~.dpkg-tmp").write_text("hel", encoding="utf-8")
    (app / "bin/.run.datum~.dpkg-tmp").write_text("", encoding="utf-8")
    step = converge(host, tree())
    assert [change.name for change in step.changes] == ["./bin/run", "./readme"]
    assert not list(root.rglob("*.dpkg-tmp"))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("stands", ["x residue", "residue x", "residue", "x y", "x y z", "x", ""])
@pytest.mark.parametrize("wanted", ["x residue", "residue x", "residue", "x"])
def test_texts_of_links_are_told_from_each_other_and_from_leftovers(
    root: Path, wanted: str, stands: str, left: bool
) -> None:
    """Whatever a link says: what stands there, what is left beside it, and what is to be done are known apart."""
    app = root / "opt/app"
    app.mkdir(mode=0o755)
    if stands:
        (app / "l").symlink_to(stands)
    if left:
        (app / ".l.datum~.dpkg-tmp").write_text("half", encoding="utf-8")
    for owned in ({}, {"owner": os.geteuid(), "group": os.getegid()}):
        desired = PROVIDER.parse("/opt/app", {"source": folder_of({"l": {"link": wanted}}), "links": "keep", **owned})
        with LocalHost(str(root)) as host:
            seen = see(host, desired)
            assert isinstance(seen, Present)
            step = PROVIDER.plan(desired, seen)
            if step is None:
                assert (stands, left) == (wanted, False)
                continue
            assert sweeps(step.changes) is (stands == wanted and left)
            converge(host, desired)
        assert {path.name: str(path.readlink()) for path in app.iterdir()} == {"l": wanted}
        stands, left = wanted, False


def test_leftovers_of_what_an_exclusive_tree_does_not_have_go_at_every_level(root: Path, host: LocalHost) -> None:
    """Also in a folder of others that stays, and beside what goes, but none where something is kept or declared."""
    wanted = evolve(tree(exclusive=True, keep=["kept"]), neighbours=frozenset({"/opt/app/others/mine"}))
    converge(host, wanted)
    app = root / "opt/app"
    (app / "others").mkdir()
    for name in ("others/mine", "stray", "others/.mine.datum~.dpkg-tmp", ".kept.datum~.dpkg-tmp"):
        (app / name).write_text("x", encoding="utf-8")
    for name in (".gone.datum~.dpkg-tmp", "bin/.old.datum~.dpkg-tmp", "others/.x.datum~.dpkg-tmp"):
        (app / name).write_text("half", encoding="utf-8")
    (app / ".stray.datum~.dpkg-tmp").symlink_to("x")
    long = ".0123456789abcdef.datum~.dpkg-tmp"
    (app / long).mkdir()
    (app / long / "x").write_text("x", encoding="utf-8")
    step = converge(host, wanted)
    assert {change.name: (change.before, change.after) for change in step.changes} == {
        "./0123456789abcdef": ("residue", None),
        "./bin/old": ("residue", None),
        "./gone": ("residue", None),
        "./others/x": ("residue", None),
        "./stray": ("regular", None),
    }
    assert step.takes == ("/opt/app/stray",)
    left = sorted(str(path.relative_to(app)) for path in app.rglob("*.dpkg-tmp"))
    assert left == [".kept.datum~.dpkg-tmp", "others/.mine.datum~.dpkg-tmp"]


def test_a_leftover_in_a_directory_that_gives_way_goes_with_that(root: Path, host: LocalHost) -> None:
    app = root / "opt/app"
    (app / "readme/sub").mkdir(parents=True)
    (app / "readme/sub/.x.datum~.dpkg-tmp").write_text("half", encoding="utf-8")
    step = converge(host, tree(exclusive=True))
    assert not [change for change in step.changes if change.before == "residue"]
    assert (app / "readme").read_text() == "hello\n"
