"""The type on a real directory tree, through the real host room, below a root of its own."""

import os
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from datum.model.observation import Observation
from datum.model.plan import Operation, Step
from datum_providers.link.desired import DesiredLink
from datum_providers.link.provider import LinkProvider
from datum_providers.shared.accounts import Owners
from tests.providers import on_disk

PROVIDER = LinkProvider()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return on_disk.make_root(tmp_path)


def see(host: LocalHost, desired: DesiredLink) -> Observation:
    return on_disk.see(PROVIDER, host, desired.path, desired)


def converge(root: Path, desired: DesiredLink) -> Step:
    return on_disk.converge(PROVIDER, root, desired.path, desired)


def names_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_link_is_made_and_may_dangle(root: Path) -> None:
    assert converge(root, DesiredLink("/srv/app", "/nowhere")).operation is Operation.CREATE
    assert str((root / "srv/app").readlink()) == "/nowhere"


def test_a_link_is_pointed_elsewhere_and_its_end_stays(root: Path) -> None:
    (root / "srv/old").mkdir()
    (root / "srv/app").symlink_to("old")
    assert converge(root, DesiredLink("/srv/app", "new")).operation is Operation.UPDATE
    assert str((root / "srv/app").readlink()) == "new"
    assert names_below(root / "srv") == ["app", "old"]


def test_a_directory_gives_way_with_what_was_seen_in_it(root: Path) -> None:
    (root / "srv/app/sub").mkdir(parents=True)
    (root / "srv/app/sub/x").write_bytes(b"x")
    (root / "srv/app/out").symlink_to(root / "etc")
    step = converge(root, DesiredLink("/srv/app", "app-2"))
    assert step.takes == ("/srv/app/out", "/srv/app/sub", "/srv/app/sub/x")
    assert names_below(root / "srv") == ["app"]
    assert (root / "etc/passwd").exists()


def test_a_file_and_a_leftover_give_way(root: Path) -> None:
    (root / "srv/app").write_bytes(b"x")
    (root / "srv/.app.datum~.dpkg-tmp").symlink_to("half")
    converge(root, DesiredLink("/srv/app", "x"))
    assert names_below(root / "srv") == ["app"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links away")
def test_the_link_itself_is_owned(root: Path) -> None:
    (root / "srv/app").symlink_to(root / "etc/passwd")
    converge(root, DesiredLink("/srv/app", str(root / "etc/passwd"), Owners("1234")))
    assert (root / "srv/app").lstat().st_uid == 1234
    assert (root / "etc/passwd").stat().st_uid == 0
    converge(root, DesiredLink("/srv/app", "elsewhere"))
    assert (root / "srv/app").lstat().st_uid == 1234
