"""Mount tables: what a look-up reaches, below which root, and on what kind of file system."""

from pathlib import Path

import pytest

from datum.host import mounts, namespaces
from datum.host.mounts import MountTable, mount_entries
from datum.provider.host import HostError
from datum.provider.manager import MountEntry
from tests.unit.host.in_child import in_child


def table(text: str, root: str = "/") -> MountTable:
    return MountTable.parse(text.encode(), root)


PLAIN = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
23 22 0:21 / /proc rw - proc proc rw
24 22 0:30 / /srv/data rw shared:5 master:3 - nfs4 server:/export rw,addr=10.0.0.1
25 22 0:31 / /home/u/.gvfs rw - fuse.gvfsd-fuse gvfsd-fuse rw
26 22 254:2 / /boot/efi rw - vfat /dev/vda2 rw
27 24 0:32 / /srv/data/scratch rw - tmpfs tmpfs rw
28 22 0:33 / /sys/fs/fuse/connections rw - fusectl fusectl rw
"""


def test_a_path_lies_on_the_deepest_mount_above_it() -> None:
    seen = table(PLAIN)
    found = {path: seen.holding(path) for path in ("/", "/etc/motd", "/proc", "/boot/efi/EFI/x", "/procfs")}
    assert {path: mount.file_system for path, mount in found.items() if mount} == {
        "/": "ext4",
        "/etc/motd": "ext4",
        "/proc": "proc",
        "/boot/efi/EFI/x": "vfat",
        "/procfs": "ext4",
    }


def test_only_the_mount_point_itself_is_one() -> None:
    seen = table(PLAIN)
    assert [seen.is_mount_point(path) for path in ("/", "/proc", "/proc/1", "/boot")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("path", "slow"),
    [
        ("/srv/data", "/srv/data"),
        ("/srv/data/a/b", "/srv/data"),
        # a local mount whose way leads over the server
        ("/srv/data/scratch/x", "/srv/data"),
        ("/home/u/.gvfs/x", "/home/u/.gvfs"),
        ("/sys/fs/fuse/connections/1", None),
        ("/srv/database", None),
        ("/etc", None),
    ],
)
def test_what_asks_a_server_or_a_users_program_is_slow(path: str, slow: str | None) -> None:
    seen = table(PLAIN)
    assert (seen.slow_mount(path), seen.is_slow(path)) == (slow, slow is not None)


@pytest.mark.parametrize(
    "kind",
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "fuse",
        "fuseblk",
        "fuse.sshfs",
        "9p",
        "ceph",
        "glusterfs",
        "fuse.glusterfs",
        "afs",
        "sshfs",
        "autofs",
    ],
)
def test_every_kind_of_network_and_fuse_is_slow(kind: str) -> None:
    seen = table(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /m rw - {kind} x rw\n")
    assert seen.network_or_fuse == ("/m",)


def test_the_nearest_of_nested_slow_mounts_is_named() -> None:
    seen = table("1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / /m rw - autofs x rw\n3 2 0:8 / /m/n rw - nfs s:/ rw\n")
    assert [seen.slow_mount(path) for path in ("/m/x", "/m/n/x")] == ["/m", "/m/n"]


def test_file_systems_without_owners_are_known() -> None:
    seen = table(PLAIN)
    assert seen.without("/boot/efi/x") == {"owner", "group", "mode"}
    assert seen.without("/etc/motd") == frozenset()


def test_octal_escapes_are_read() -> None:
    seen = table("1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / /a\\040b\\011c\\134d\\012e rw - tmpfs so\\040me rw\n")
    mount = seen.mounts["/a b\tc\\d\ne"]
    assert (mount.path, mount.source, mount.device) == ("/a b\tc\\d\ne", "so me", "0:9")


def test_a_name_that_is_no_text_survives() -> None:
    seen = MountTable.parse(b"1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / /\xff rw - tmpfs t rw\n", "/")
    assert seen.is_mount_point("/\udcff")


def test_of_stacked_mounts_the_topmost_counts() -> None:
    seen = table("1 0 8:1 / / rw - ext4 a rw\n3 2 0:8 / /m rw - nfs s:/ rw\n2 1 0:9 / /m rw - tmpfs t rw\n")
    mount = seen.holding("/m/x")
    assert mount is not None
    assert mount.file_system == "nfs"


def test_a_root_mounted_over_a_root_counts() -> None:
    seen = table("1 1 0:2 / / rw - rootfs rootfs rw\n2 1 8:1 / / rw - ext4 a rw\n3 1 0:5 / /old rw - nfs s:/ rw\n")
    assert {path: mount.file_system for path, mount in seen.mounts.items()} == {"/": "ext4"}


def test_a_mount_hidden_by_one_above_it_is_not_reached() -> None:
    seen = table("1 0 8:1 / / rw - ext4 a rw\n2 1 0:8 / /m/n rw - nfs s:/ rw\n3 1 0:9 / /m rw - tmpfs t rw\n")
    assert (seen.is_slow("/m/n/x"), sorted(seen.mounts)) == (False, ["/", "/m"])


def test_paths_are_seen_below_the_root() -> None:
    seen = table(
        "1 0 8:1 / / rw - ext4 a rw\n2 1 0:8 / /r/oot/boot rw - vfat b rw\n3 1 0:9 / /r/ootx rw - nfs t rw\n", "/r/oot"
    )
    assert sorted(seen.mounts) == ["/boot"]
    assert seen.without("/boot/x")
    assert not seen.is_slow("/etc")
    assert not seen.is_mount_point("/")
    holding = seen.holding("/etc/motd")
    assert holding is not None
    assert (holding.file_system, holding.path) == ("ext4", "/")


def test_a_root_that_is_a_mount_point_is_seen_as_one() -> None:
    seen = table("1 0 8:1 / / rw - ext4 a rw\n2 1 0:8 / /mnt rw - xfs b rw\n", "/mnt")
    assert {path: mount.file_system for path, mount in seen.mounts.items()} == {"/": "xfs"}


def test_below_a_root_on_a_server_everything_is_slow() -> None:
    seen = table("1 0 8:1 / / rw - ext4 a rw\n2 1 0:8 / /net rw - nfs s:/ rw\n", "/net/image")
    assert seen.slow_mount("/etc/motd") == "/"


def test_a_process_whose_root_is_no_mount_point_gets_an_answer() -> None:
    """In a plain chroot mountinfo lists no mount at /."""
    seen = table("5 1 0:21 / /proc rw - proc proc rw\n")
    assert seen.holding("/etc") is None
    assert not seen.is_slow("/etc")
    assert seen.without("/etc") == frozenset()


def test_the_outermost_mounts_below_a_folder_are_listed() -> None:
    seen = table(PLAIN)
    assert seen.below("/srv") == ("/srv/data",)
    assert seen.below("/srv/data") == ("/srv/data/scratch",)
    assert seen.below("/etc") == ()


def test_without_proc_the_table_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mounts, "MOUNTINFO", str(tmp_path / "gone"))
    with pytest.raises(HostError, match=r"table of mounts .*gone cannot be read: No such file or directory"):
        MountTable.read("/")


def test_a_mount_of_this_kernel_is_seen_below_a_root_given_by_a_link(enclosing: None, tmp_path: Path) -> None:
    (tmp_path / "root" / "da ta").mkdir(parents=True)
    (tmp_path / "link").symlink_to("root")

    def look() -> list[str]:
        namespaces.enter(is_offline=False, inside_uid=0)
        namespaces.mount("none", str(tmp_path / "root" / "da ta"), "tmpfs")
        return sorted(MountTable.read(str(tmp_path / "link")).mounts)

    assert in_child(look) == ["/da ta"]
    assert MountTable.read(str(tmp_path / "root")).mounts == {}


def test_a_table_is_parsed_again_only_when_it_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [PLAIN.encode()] * 2 + [PLAIN.encode().replace(b"/srv/data", b"/srv/else")] * 2
    monkeypatch.setattr(mounts, "read_mountinfo", lambda: tables.pop(0))
    reader = mounts.MountReader("/")
    first, again, moved, last = (reader.read() for _ in range(4))
    assert again is first
    assert (first.below("/srv"), moved.below("/srv")) == (("/srv/data",), ("/srv/else",))
    assert last is moved


def test_every_mount_is_an_entry_with_its_options_and_escapes_resolved() -> None:
    data = (
        b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
        b"30 22 0:25 /data /srv/a\\040b rw,nosuid - nfs4 server:/x\\011y rw,vers=4.2\n"
        b"31 30 0:26 / /srv/a\\040b ro - tmpfs  \n"
    )
    assert mount_entries(data) == (
        MountEntry(
            "/",
            "ext4",
            "/dev/sda1",
            options=frozenset({"rw", "relatime"}),
            super_options=frozenset({"rw", "errors=remount-ro"}),
        ),
        MountEntry(
            "/srv/a b",
            "nfs4",
            "server:/x\ty",
            options=frozenset({"rw", "nosuid"}),
            super_options=frozenset({"rw", "vers=4.2"}),
            root="/data",
        ),
        MountEntry("/srv/a b", "tmpfs", "", options=frozenset({"ro"})),
    )
    assert [entry.device for entry in mount_entries(data)] == ["8:1", "0:25", "0:26"]
