"""Lines of fstab, and options of mounts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.provider.manager import MountEntry
from datum_providers.mount.fstab import FstabEntry, entry_of, first_of, with_entry, without_point
from datum_providers.mount.options import can_remount, missing_options, split


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        (rb"LABEL=a\040b /srv/x\040y ext4 ro,defaults 1 2", FstabEntry("LABEL=a b", "/srv/x y", "ext4", ("ro",), 1, 2)),
        (b"\t/dev/x  /srv/  xfs", FstabEntry("/dev/x", "/srv", "xfs")),
        (b"/dev/x none swap sw 0 0", FstabEntry("/dev/x", "none", "swap", ("sw",))),
        (b"/dev/x /a ext4 ro 0 x", FstabEntry("/dev/x", "/a", "ext4", ("ro",))),
        (rb"/a\134b /c ext4", FstabEntry("/a\\b", "/c", "ext4")),
        (b"# /dev/x /srv ext4", None),
        (b"/dev/x /srv", None),
        (b"", None),
    ],
)
def test_lines_are_read_as_fstab_5_says(line: bytes, entry: FstabEntry | None) -> None:
    assert entry_of(line) == entry


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (b"/dev/old /a ext4 defaults 0 0", b"/dev/new /a ext4 ro 0 2"),
        (b"  /dev/old\t/a/   ext4\tdefaults  0 0  # note", b"  /dev/new\t/a/   ext4\tro  0 2  # note"),
        (b"/dev/old /a ext4", b"/dev/new /a ext4 ro 0 2"),
        (b"/dev/old /a ext3 ro", b"/dev/new /a ext4 ro 0 2"),
        (b"/dev/new /a ext4 ro 0 2 ", b"/dev/new /a ext4 ro 0 2 "),
    ],
)
def test_an_entry_is_changed_in_its_place(line: bytes, after: bytes) -> None:
    wanted = FstabEntry("/dev/new", "/a", "ext4", ("ro",), 0, 2)
    assert with_entry(b"x\n" + line + b"\ny", wanted) == b"x\n" + after + b"\ny"


def test_an_entry_is_added_after_a_last_line_without_an_end() -> None:
    entry = FstabEntry("/d", "/a b#", "ext4")
    assert with_entry(b"# x", entry) == b"# x\n/d /a\\040b\\043 ext4 defaults 0 0\n"
    assert with_entry(b"", entry) == b"/d /a\\040b\\043 ext4 defaults 0 0\n"


words = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=6
)
points = st.sampled_from(["/a", "/b c", "/d\\e"])
entries = st.builds(FstabEntry, words, points, words, st.just(("ro",)), st.integers(0, 9), st.integers(0, 9))
others = st.sampled_from([b"", b"# c", b"\xff junk", b"/dev/x  /other ext4 # z", b"UUID=1 none swap sw"])


@given(st.lists(others | entries.map(lambda entry: b" ".join(entry.fields()))), entries)
def test_all_other_lines_stay(lines: list[bytes], entry: FstabEntry) -> None:
    data = b"\n".join(lines)
    after = with_entry(data, entry)
    assert first_of(after, entry.point) == entry
    assert with_entry(after, entry) == after
    assert [line for line in without_point(after, entry.point).split(b"\n") if line] == [
        line for line in without_point(data, entry.point).split(b"\n") if line
    ]
    assert first_of(without_point(after, entry.point), entry.point) is None


def test_commas_between_quotes_part_nothing() -> None:
    assert split('context="a:b,c",ro,,defaults,ro') == ('context="a:b,c"', "ro")


def at(kind: str = "ext4", options: str = "rw,relatime", more: str = "rw") -> MountEntry:
    return MountEntry("/a", kind, "x", frozenset(options.split(",")), frozenset(more.split(",")))


@pytest.mark.parametrize(
    ("wanted", "entry", "missing"),
    [
        ("noexec,nosuid", at(options="rw,noexec"), ("nosuid",)),
        # For programs, and what the kernel adds.
        ("nofail,_netdev,noauto,user,x-systemd.automount,X-mount.mkdir,loop=/dev/loop1,comment=x", at(), ()),
        ("rw", at(options="ro"), ("rw",)),
        ("rw", at(more="ro"), ("rw",)),
        ("ro", at(options="ro"), ()),
        ("ro", at(), ("ro",)),
        ("exec,suid,dev", at(options="rw,noexec,nodev"), ("dev", "exec")),
        ("strictatime", at(), ("strictatime",)),
        ("strictatime", at(options="rw"), ()),
        ("atime", at(options="rw,noatime"), ("atime",)),
        ("sync", at(more="rw,sync"), ()),
        # Defaults are not shown; what is shown otherwise, or would be shown, is missing.
        ("acl,user_xattr,errors=remount-ro,barrier", at(), ()),
        ("barrier", at(more="rw,nobarrier"), ("barrier",)),
        ("noquota", at(more="rw,quota"), ("noquota",)),
        ("discard", at(), ("discard",)),
        ("discard", at(more="rw,discard"), ()),
        ("commit=5", at(more="rw,commit=30"), ("commit=5",)),
        # Sizes, modes and shares of memory have other spellings.
        ("size=1G,mode=0755", at("tmpfs", more="rw,size=1048576k,mode=755"), ()),
        ("size=2G", at("tmpfs", more="rw,size=1048576k"), ("size=2G",)),
        ("size=50%", at("tmpfs", more="rw,size=1048576k"), ()),
        # A server and a helper have a say in the options of theirs.
        ("vers=4,hard,noexec", at("nfs4", more="rw,vers=4.2"), ("noexec",)),
        ("allow_other,reconnect", at("fuse.sshfs"), ()),
        ("ro", at("fuse.sshfs"), ("ro",)),
        # fuse2fs writes nothing then, and the kernel is not told.
        ("ro,noexec,fakeroot", at("fuse.ext4"), ("noexec",)),
        ("bind,discard,ro", at(options="ro"), ()),
    ],
)
def test_wanted_options_are_looked_for_in_what_the_kernel_shows(
    wanted: str, entry: MountEntry, missing: tuple[str, ...]
) -> None:
    assert missing_options(wanted.split(","), entry) == missing


@pytest.mark.parametrize(
    ("options", "fstype", "can"),
    [
        (("noexec",), "ext4", True),
        (("commit=5",), "ext4", True),
        (("subvol=x",), "btrfs", False),
        (("uid=5",), "vfat", False),
        (("ro",), "vfat", True),
        (("ro",), "nfs", True),
        (("ro",), "fuse.x", False),
        (("ro",), "glusterfs", False),
    ],
)
def test_what_a_remount_can_change(options: tuple[str, ...], fstype: str, *, can: bool) -> None:
    assert can_remount(options, fstype) is can
