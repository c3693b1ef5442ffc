"""The type on a real directory tree, through the real host room, below a root of its own."""

import os
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from datum.model.observation import Observation
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
