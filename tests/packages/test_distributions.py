"""The sdist and the wheel: complete, equal from wherever they are built, and well described."""

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from attrs import frozen
from packaging.metadata import Metadata

from scripts.debian.distributions import Distributions, build, version_of
from tests.architecture.tracked import ROOT, tracked_files
from tests.packages.building import EPOCH, copy_tree

DAYS = 86_400


@frozen
class Twice:
    """The tree, and two builds of it in other places, by other rights and at other times."""

    tree: Path
    first: Distributions
    second: Distributions


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    folder = tmp_path_factory.mktemp("distributions")
    tree = copy_tree(folder / "tree")
    first = build(tree, folder / "a", epoch=EPOCH)
    other = copy_tree(folder / "elsewhere/of another length")
    for path in other.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (EPOCH + DAYS, EPOCH + DAYS))
    return Twice(tree, first, build(other, folder / "b", epoch=EPOCH))


def test_two_builds_are_equal_byte_for_byte(twice: Twice) -> None:
    assert twice.first.sdist.name == twice.second.sdist.name
    assert twice.first.sdist.read_bytes() == twice.second.sdist.read_bytes()
    assert twice.first.wheel.name == twice.second.wheel.name
    assert twice.first.wheel.read_bytes() == twice.second.wheel.read_bytes()


def test_another_date_gives_other_bytes(twice: Twice, tmp_path: Path) -> None:
    later = build(twice.tree, tmp_path / "c", epoch=EPOCH + DAYS)
    assert later.sdist.read_bytes() != twice.first.sdist.read_bytes()


def test_the_sdist_holds_every_file_of_the_tree(twice: Twice) -> None:
    top = twice.first.sdist.name.removesuffix(".tar.gz")
    with tarfile.open(twice.first.sdist) as archive:
        listed = {member.name.removeprefix(f"{top}/") for member in archive if not member.isdir()}
    # .gitattributes and the like say nothing to whoever builds or tests.
    tree = {str(path.relative_to(ROOT)) for path in tracked_files() if path.name != ".gitattributes"}
    assert listed == tree | {"PKG-INFO"}


def test_the_wheel_of_the_tree_equals_that_of_the_sdist(twice: Twice, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-qq", "--no-deps"]
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "PIP_CONSTRAINT": str(twice.tree / "constraints.txt")}
    subprocess.run([*pip, "-w", str(tmp_path), str(twice.tree)], env=env, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert contents(wheel) == contents(twice.first.wheel)


def test_the_wheel_holds_both_packages_with_their_data(twice: Twice) -> None:
    listed = contents(twice.first.wheel)
    tree = {
        str(path.relative_to(ROOT)).removeprefix("providers/")
        for path in tracked_files()
        if path.is_relative_to(ROOT / "datum") or path.is_relative_to(ROOT / "providers/datum_providers")
    }
    assert {name for name in listed if ".dist-info/" not in name} == tree


def test_what_is_run_by_git_is_executable(twice: Twice) -> None:
    with zipfile.ZipFile(twice.first.wheel) as archive:
        mode = archive.getinfo("datum/repository/git-remote-datum").external_attr >> 16
    assert mode & 0o111 == 0o111


def test_the_metadata_is_what_an_index_takes(twice: Twice) -> None:
    with zipfile.ZipFile(twice.first.wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        data = archive.read(name)
    said = Metadata.from_email(data, validate=True)
    assert said.name == "datum-agent"
    assert str(said.version) == version_of(ROOT)
    assert said.license_expression == "Apache-2.0"
    assert said.description_content_type == "text/markdown"
    assert said.description == (ROOT / "README.md").read_text()
    assert not Parser().parsestr(data.decode()).defects


def test_every_file_of_the_wheel_is_in_its_record(twice: Twice) -> None:
    with zipfile.ZipFile(twice.first.wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith("/RECORD")]
        recorded = [line.rsplit(",", 2)[0] for line in archive.read(name).decode().splitlines()]
        assert sorted(recorded) == sorted(archive.namelist())


def contents(wheel: Path) -> dict[str, str]:
    """Return the hash of each file."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
