"""Which mounts and file systems are looked at."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from datum.agent.doctor import disk
from datum.agent.doctor.finding import State
from datum.agent.doctor.given import Given


def given(root: Path) -> Given:
    """Return as much of a diagnosis as the disk needs; all folders lie on one file system."""
    state, reports = root / "state", root / "reports"
    for folder in (state, reports):
        folder.mkdir()
    found = SimpleNamespace(root=str(root), state_dir=state, reports_dir=reports, environment={"TMPDIR": str(root)})
    return cast("Given", found)


def test_a_folder_that_is_mounted_read_only_is_seen_beside_a_writable_one_of_the_same_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `mount --bind` and `mount -o remount,ro`: a matter of the mount, which statvfs(2) tells."""
    looked = given(tmp_path)
    real = os.statvfs

    def read_only_there(path: Any) -> os.statvfs_result:
        values = list(real(path))
        # f_flag is the ninth of the ten.
        values[8] = values[8] | os.ST_RDONLY if Path(path) == looked.state_dir else values[8] & ~os.ST_RDONLY
        return os.statvfs_result(values)

    monkeypatch.setattr(os, "statvfs", read_only_there)
    found = list(disk.look(looked))
    assert {one.of: one.state for one in found if one.check == "writable"} == {
        str(tmp_path): State.OK,
        str(looked.state_dir): State.FAULT,
    }
    assert [one.of for one in found if one.check == "free-space"] == [str(tmp_path)]
