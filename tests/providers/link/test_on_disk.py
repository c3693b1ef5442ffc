"""The type on a real directory tree, through the real host room, below a root of its own."""

import os
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from datum.model.content import Content
from datum.model.observation import Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum_providers.link.desired import DesiredLink
from datum_providers.link.provider import LinkProvider
from datum_providers.shared.accounts import Owners

PROVIDER = LinkProvider()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir(mode=0o755)
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n", encoding="utf-8")
    (tmp_path / "etc/group").write_text("root:x:0:\n", encoding="utf-8")
    (tmp_path / "srv").mkdir(mode=0o755)
    return tmp_path


def see(host: LocalHost, desired: DesiredLink) -> Observation:
    return PROVIDER.observe(host.reader(), {desired.path: desired})[desired.path]


def no_content(content: Content) -> None:
    raise AssertionError(content)


def converge(root: Path, desired: DesiredLink) -> Step:
    """Do what is to be done, and see that nothing is left."""
    host = LocalHost(str(root), open_content=no_content)  # type: ignore[arg-type]  # never answers
    try:
        before = see(host, desired)
        assert not isinstance(before, Unobservable), before
        step = PROVIDER.plan(desired, before)
        assert step is not None
        PROVIDER.apply(host.writer(), desired, step)
        after = see(host, desired)
        assert isinstance(after, Present)
        assert PROVIDER.plan(desired, after) is None
    finally:
        host.close()
    return step


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
