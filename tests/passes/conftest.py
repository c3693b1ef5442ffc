"""Scenes, as root and as an ordinary user, and a second distribution with misbehaving resource types."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.passes.scene import NOBODY, Scene

_TYPES: Final = Path(__file__).with_name("odd_types.py")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a scene of the caller."""
    return Scene(tmp_path)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give an empty folder that every user can reach; pytest's own are the caller's alone."""
    folder = Path(tempfile.mkdtemp(prefix="datum-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def user_scene(open_folder: Path) -> Scene:
    """Give a scene of an ordinary user."""
    if os.geteuid() != 0:
        return Scene(open_folder)
    scene = Scene(open_folder, uid=NOBODY)
    done = subprocess.run(scene.command("--version"), check=False, capture_output=True, cwd="/")
    if done.returncode != 0:
        why = f"uid 65534 cannot run datum here: {done.stderr.decode()}"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)
    return scene


@pytest.fixture
def odd_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the types of `odd_types.py` for this process and those it starts; give the folder they talk through."""
    site = tmp_path / "site"
    info = site / "odd_types-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(_TYPES, site / "installed_odd_types.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-types\nVersion: 1.0\n")
    lines = [f"{name} = installed_odd_types:{name.title()}" for name in ("liar", "raiser", "silent", "slow")]
    (info / "entry_points.txt").write_text("\n".join(["[datum.providers]", *lines, ""]))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    talk = tmp_path / "talk"
    talk.mkdir()
    monkeypatch.setenv("ODD_TYPES", str(talk))
    return talk
