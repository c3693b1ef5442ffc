"""The packages of this tree, and a running Debian that can install them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.booted import Booted
from tests.packages.building import Built, find_or_build, repacked
from tests.packages.packaged import PackagedHost, make_host


@pytest.fixture(scope="session")
def built() -> Built:
    """Give the packages of this tree."""
    return find_or_build()


@pytest.fixture(scope="session")
def debs(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with packages of several versions: `old.deb` of this tree, and `new.deb`, a later one."""
    folder = tmp_path_factory.mktemp("debs")
    folder.parent.chmod(0o755)
    shutil.copy(built.deb, folder / "old.deb")
    repacked(built.deb, folder, "99.1").rename(folder / "new.deb")
    return folder


@pytest.fixture
def host(make_booted: Callable[..., Booted], debs: Path, tmp_path: Path) -> PackagedHost:
    """Give a running Debian without any agent, which sees the packages and a fleet."""
    return make_host(make_booted, debs, tmp_path)


@pytest.fixture
def installed(host: PackagedHost) -> PackagedHost:
    """Give one that has the package of this tree, and is enrolled."""
    host.dpkg("-i", "old.deb")
    host.enrol()
    return host
