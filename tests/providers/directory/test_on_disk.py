"""The type on a real directory tree, through the real host room, below a root of its own."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from datum.model.observation import Observation, Present
from datum.model.plan import Operation, Step
from datum_providers.directory.desired import DesiredDirectory
from datum_providers.directory.provider import DirectoryProvider
from datum_providers.shared.accounts import Owners
from datum_providers.shared.exclusive import Neighbours
from tests.providers import on_disk

PROVIDER = DirectoryProvider()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return on_disk.make_root(tmp_path)


def see(host: LocalHost, desired: DesiredDirectory) -> Observation:
    return on_disk.see(PROVIDER, host, desired.path, desired)


def converge(root: Path, desired: DesiredDirectory) -> Step:
    return on_disk.converge(PROVIDER, root, desired.path, desired)


def names_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_directory_is_made(root: Path) -> None:
    assert converge(root, DesiredDirectory("/srv/app", "2750")).operation is Operation.CREATE
    status = (root / "srv/app").stat()
    assert (status.st_mode & 0o7777, status.st_uid) == (0o2750, os.geteuid())


def test_the_umask_takes_nothing_away(root: Path) -> None:
    old = os.umask(0o077)
    try:
        converge(root, DesiredDirectory("/srv/app"))
    finally:
        os.umask(old)
    assert (root / "srv/app").stat().st_mode & 0o7777 == 0o755


def test_a_file_gives_way(root: Path) -> None:
    (root / "srv/app").write_bytes(b"x")
    assert converge(root, DesiredDirectory("/srv/app")).operation is Operation.REPLACE
    assert names_below(root / "srv") == ["app"]


def test_a_link_to_a_directory_gives_way_and_the_directory_stays(root: Path) -> None:
    (root / "srv/real").mkdir()
    (root / "srv/real/x").write_bytes(b"x")
    (root / "srv/app").symlink_to("real")
    converge(root, DesiredDirectory("/srv/app"))
    assert names_below(root / "srv") == ["app", "real", "real/x"]
    assert not (root / "srv/app").is_symlink()


def test_a_leftover_goes(root: Path) -> None:
    (root / "srv/app").mkdir(mode=0o755)
    (root / "srv/.app.datum~.dpkg-tmp").write_bytes(b"half")
    converge(root, DesiredDirectory("/srv/app"))
    assert names_below(root / "srv") == ["app"]


def test_what_nobody_declares_is_cleared_away(root: Path) -> None:
    app = root / "srv/app"
    (app / "full").mkdir(parents=True)
    for name in ("full/x", "mine", "old", "kept.local", ".mine.datum~.dpkg-tmp"):
        (app / name).write_bytes(b"")
    (app / "void").mkdir()
    (app / "dangling").symlink_to("/nowhere")
    (app / "outside").symlink_to(root / "etc")
    os.mkfifo(app / "pipe")
    (app / os.fsdecode(b"\xff")).write_bytes(b"")
    converge(
        root,
        DesiredDirectory(
            "/srv/app",
            exclusive=True,
            keep=("*.local",),
            neighbours=Neighbours(frozenset({"/srv/app/mine"})),
        ),
    )
    assert names_below(app) == [".mine.datum~.dpkg-tmp", "full", "full/x", "kept.local", "mine"]
    assert (root / "etc/passwd").exists()


def test_at_every_level_a_directory_goes_with_all_in_it(root: Path) -> None:
    app = root / "srv/app"
    (app / "a/b").mkdir(parents=True)
    (app / "sub").mkdir()
    for name in ("a/b/c", "a/.x.datum~.dpkg-tmp", "sub/mine", "sub/old"):
        (app / name).write_bytes(b"")
    (app / "a/out").symlink_to(root / "etc")
    neighbours = Neighbours(frozenset({"/srv/app/sub/mine"}))
    converge(root, DesiredDirectory("/srv/app", exclusive=True, recurse=True, neighbours=neighbours))
    assert names_below(app) == ["sub", "sub/mine"]
    assert (root / "etc/passwd").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owners_below_change_and_links_are_not_followed(root: Path) -> None:
    app = root / "srv/app"
    (app / "d").mkdir(parents=True)
    (app / "d/x").write_bytes(b"")
    (app / "d/l").symlink_to(root / "etc/passwd")
    (app / "hard").hardlink_to(root / "etc/group")
    converge(root, DesiredDirectory("/srv/app", owners=Owners("1234", "1234"), recursive=("owner", "group")))
    owners = {name: (app / name).lstat().st_uid for name in names_below(app)}
    assert owners == {"d": 1234, "d/l": 1234, "d/x": 1234, "hard": 0}
    assert (root / "etc/passwd").stat().st_uid == 0


@pytest.mark.parametrize("recurse", [False, True])
def test_leftovers_beside_nothing_that_is_declared_go_with_what_nobody_declares(root: Path, recurse: bool) -> None:
    app = root / "srv/app"
    (app / ".was.datum~.dpkg-tmp/sub").mkdir(parents=True)
    (app / ".mine.datum~.dpkg-tmp").write_bytes(b"half")
    (app / ".gone.datum~.dpkg-tmp").write_bytes(b"half")
    (app / ".said.local.datum~.dpkg-tmp").write_bytes(b"half")
    (app / "stray").write_bytes(b"x")
    (app / ".stray.datum~.dpkg-tmp").symlink_to("x")
    neighbours = Neighbours(frozenset({"/srv/app/mine"}))
    wanted = DesiredDirectory("/srv/app", exclusive=True, recurse=recurse, keep=("*.local",), neighbours=neighbours)
    step = converge(root, wanted)
    assert [(change.name, change.before) for change in step.changes] == [
        ("./gone", "residue"),
        ("./stray", "regular"),
        ("./was", "residue"),
    ]
    assert step.takes == ("/srv/app/stray",)
    assert names_below(app) == [".mine.datum~.dpkg-tmp", ".said.local.datum~.dpkg-tmp"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_leftover_that_may_be_somebody_else_s_is_told(root: Path) -> None:
    """By its owner, by another name it has, or since it is neither a file nor a link; one of the owner's goes."""
    app = root / "srv/app"
    app.mkdir(mode=0o755)
    for name in ("strange", "linked", "owned"):
        (app / f".{name}.datum~.dpkg-tmp").write_bytes(b"half")
    os.chown(app / ".strange.datum~.dpkg-tmp", 1234, 1234)
    (root / "srv/other").hardlink_to(app / ".linked.datum~.dpkg-tmp")
    os.mkfifo(app / ".pipe.datum~.dpkg-tmp")
    (app / ".folder.datum~.dpkg-tmp").mkdir()
    os.chown(app / ".folder.datum~.dpkg-tmp", 1234, 1234)
    converge(root, DesiredDirectory("/srv/app", exclusive=True))
    told = [".folder.datum~.dpkg-tmp", ".linked.datum~.dpkg-tmp", ".pipe.datum~.dpkg-tmp", ".strange.datum~.dpkg-tmp"]
    assert names_below(app) == told
    with LocalHost(str(root)) as host:
        seen = see(host, DesiredDirectory("/srv/app", exclusive=True))
    assert isinstance(seen, Present)
    kept = seen.detail["kept"]
    assert isinstance(kept, Mapping)
    assert sorted(kept) == [f"./{name}" for name in told]
