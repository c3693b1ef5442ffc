"""What belongs to the agent itself is no target."""

import os
from pathlib import Path

import pytest

from datum.provider.host import HostError
from tests.unit.host.files import bind, changes, file_of, names, needs_root, private_mounts, refused, writing
from tests.unit.host.in_child import in_child

STATE = "/var/lib/datum"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "var/lib/datum/mirror").mkdir(parents=True)
    (root / "var/lib/datum/pointer.json").write_text("{}")
    (root / "etc/datum").mkdir(parents=True)
    (root / "etc/datum/agent.yaml").write_text("a")
    return root


def refuse_all(root: Path, path: str, protected: tuple[str, ...] = (STATE, "/etc/datum/agent.yaml")) -> None:
    """No change of this path is made, and what is protected stays as it was."""
    with writing(root, protected=protected) as writer:
        for change in changes(
            lambda: writer.write_file(path, file_of(b"evil", mode="0666")),
            lambda: writer.set_attributes(path, mode="0666"),
            lambda: writer.remove_file(path),
            lambda: writer.remove_residue(path),
        ):
            with refused("protected-path") as found:
                change()
            assert path in found[0].detail
    assert (root / "var/lib/datum/pointer.json").read_text() == "{}"
    assert (root / "etc/datum/agent.yaml").read_text() == "a"
    assert names(root / "etc/datum") == ["agent.yaml"]


@pytest.mark.parametrize(
    "path", [STATE, f"{STATE}/pointer.json", f"{STATE}/new", f"{STATE}/mirror/x", "/etc/datum/agent.yaml"]
)
@pytest.mark.parametrize("spelled", ["below", "machine"])
def test_protected_path_and_all_below_are_refused(root: Path, path: str, spelled: str) -> None:
    protected = (STATE, "/etc/datum/agent.yaml")
    refuse_all(root, path, protected if spelled == "below" else tuple(f"{root}{place}" for place in protected))


def test_parent_may_change_its_mode_and_is_not_removed(root: Path) -> None:
    with writing(root, protected=(STATE,)) as writer:
        writer.set_attributes("/var/lib", mode="0711")
        for change in changes(lambda: writer.remove_file("/var/lib"), lambda: writer.write_file("/var", file_of(b"x"))):
            with refused("protected-path"):
                change()
        writer.write_file("/var/lib/datum-other", file_of(b"x"))
        writer.write_file("/etc/datum/other", file_of(b"x"))


def test_parent_that_is_a_link_is_not_removed(root: Path) -> None:
    (root / "var/lib").rename(root / "srv")
    (root / "var/lib").symlink_to("../srv")
    with writing(root, protected=(f"{root}{STATE}",)) as writer:
        with refused("protected-path"):
            writer.remove_file("/var/lib")
        with refused("protected-path"):
            writer.write_file("/srv/datum/pointer.json", file_of(b"evil"))
        with refused("symlink-in-path"):
            writer.write_file("/var/lib/other", file_of(b"evil"))


def test_well_known_link_does_not_lead_around(root: Path) -> None:
    (root / "run/datum").mkdir(parents=True)
    (root / "var/run").symlink_to("/run")
    for protected, path in (("/run/datum", "/var/run/datum/x"), ("/var/run/datum", "/run/datum/x")):
        refuse_all(root, path, (protected,))


def test_hard_link_into_the_state_is_refused(root: Path) -> None:
    os.link(root / "var/lib/datum/pointer.json", root / "etc/alias")
    (root / "etc/a").touch()
    os.link(root / "etc/a", root / "etc/b")
    with writing(root, protected=(STATE,)) as writer:
        with refused("protected-path"):
            writer.set_attributes("/etc/alias", mode="0666")
        with refused("protected-path"):
            writer.write_file("/etc/alias", file_of(b"evil"))
        writer.set_attributes("/etc/b", mode="0600")


def test_hard_link_to_a_protected_file_is_refused(root: Path) -> None:
    os.link(root / "etc/datum/agent.yaml", root / "etc/alias")
    with writing(root, protected=("/etc/datum/agent.yaml",)) as writer, refused("protected-path"):
        writer.set_attributes("/etc/alias", mode="0666")


@needs_root
@pytest.mark.parametrize(
    ("source", "target", "path"),
    [
        ("var/lib/datum", "mnt", "/mnt/pointer.json"),
        ("var/lib/datum", "mnt", "/mnt"),
        ("var/lib", "mnt", "/mnt/datum/pointer.json"),
        ("var/lib/datum/mirror", "mnt", "/mnt/x"),
        ("var/lib/datum/mirror", "mnt", "/mnt"),
        ("var/lib/datum/pointer.json", "file", "/file"),
    ],
)
def test_bind_mount_does_not_lead_around(root: Path, source: str, target: str, path: str) -> None:
    def work() -> None:
        private_mounts()
        (root / "mnt").mkdir()
        (root / "file").touch()
        bind(root / source, root / target)
        refuse_all(root, path)

    in_child(work)


@needs_root
def test_other_mounts_are_written(root: Path) -> None:
    def work() -> None:
        private_mounts()
        (root / "mnt").mkdir()
        bind(root / "etc", root / "mnt")
        with writing(root, protected=(STATE,)) as writer:
            writer.write_file("/mnt/x", file_of(b"x"))

    in_child(work)
    assert (root / "etc/x").read_bytes() == b"x"


def test_protected_path_that_does_not_exist_yet_is_protected(root: Path) -> None:
    with writing(root, protected=("/etc/datum/trust",)) as writer, pytest.raises(HostError, match="itself"):
        writer.write_file("/etc/datum/trust", file_of(b"x"))
