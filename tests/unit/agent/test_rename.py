"""`datum init --rename OLD` (design 3.5 X): the pointer follows the name, the trail keeps what the old one declared."""

import json
from pathlib import Path

from datum.cli.main import main
from tests.git_repository import GitRepository

FLEET = "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: []\n"


def test_a_renamed_host_keeps_what_its_old_name_declared(tmp_path: Path) -> None:
    """What only the old name declared is removed by the first pass under the new one, not forgotten."""
    fleet = GitRepository(tmp_path / "fleet")
    fleet.commit(
        {
            "fleet.yaml": FLEET,
            "hosts/old1.yaml": 'resources:\n  file:/etc/app.d/old.conf: {content: "x\\n"}\n',
            "hosts/new1.yaml": 'resources:\n  file:/etc/app.d/new.conf: {content: "y\\n"}\n',
        }
    )
    root = tmp_path / "root"
    folder = root / "etc/app.d"
    folder.mkdir(parents=True)
    common = ["--root", str(root), "--repo", str(tmp_path / "fleet"), "--no-timer"]
    assert main(["init", "--host", "old1", *common]) == 0
    assert main(["apply", "--root", str(root)]) == 0

    assert main(["init", "--host", "new1", *common]) == 78
    assert main(["init", "--host", "new1", "--rename", "older", *common]) == 78
    assert main(["init", "--host", "new1", "--rename", "old1", *common]) == 0
    pointer = json.loads((root / "var/lib/datum/pointer.json").read_text())
    assert pointer["host"] == "new1"
    assert [entry["host"] for entry in pointer["trail"]] == ["old1"]

    assert main(["apply", "--root", str(root)]) == 0
    assert [path.name for path in folder.iterdir()] == ["new.conf"]
    assert "host: 'new1'" in (root / "etc/datum/agent.yaml").read_text()
