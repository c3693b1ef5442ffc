"""Options of mounts: what they say, and whether a mount has them. Pure.

The kernel shows flags of a mount always, options of a file system where they are not its defaults, and none of those
that are for programs. So an option that is not shown counts as missing only where it would be shown.
"""

from collections.abc import Collection, Iterable
from typing import Final

from datum.provider.manager import MountEntry

DEFAULTS: Final = "defaults"
BIND: Final = frozenset({"bind", "rbind"})

# By the flag that the kernel shows, the words that say it is not set.
_NEGATIONS: Final = {
    "ro": ("rw",),
    "nosuid": ("suid",),
    "nodev": ("dev",),
    "noexec": ("exec",),
    "noatime": ("atime",),
    "nodiratime": ("diratime",),
    "nosymfollow": ("symfollow",),
    "sync": ("async",),
    "dirsync": (),
    "lazytime": ("nolazytime",),
    "mand": ("nomand",),
    "relatime": ("norelatime",),
}
_UNSET: Final = {word: flag for flag, words in _NEGATIONS.items() for word in words}
# Not shown: that neither of these is.
_STRICT: Final = "strictatime"
_NOT_STRICT: Final = frozenset({"relatime", "noatime"})
GENERIC: Final = frozenset({*_NEGATIONS, *_UNSET, _STRICT, "nostrictatime"})
"""Options that every file system has, and that a remount changes."""

# For mount(8), fstab and systemd alone.
_USERSPACE: Final = frozenset({
    "_netdev", "_rnetdev", "auto", "bind", "defaults", "fail", "group", "loop", "noauto", "nofail", "nogroup",
    "noowner", "nostrictatime", "nouser", "nousers", "owner", "quiet", "rbind", "silent", "sw", "user", "users",
})  # fmt: skip
_USERSPACE_KEYS: Final = frozenset({"comment", "helper", "loop", "offset", "pri", "sizelimit", "uhelper", "user"})
_USERSPACE_PREFIXES: Final = ("x-", "X-")
# They stand for flags in fstab.
_IMPLYING: Final = frozenset({"group", "owner", "user", "users"})
# Shown whenever they are set, by the file systems that have them.
_SHOWN: Final = frozenset({"discard", "usrquota", "grpquota", "prjquota"})

# Their helpers change options, and the server has its own word.
_NEGOTIATED: Final = frozenset({
    "9p", "afs", "ceph", "cifs", "davfs", "gfs2", "glusterfs", "lustre", "nfs", "nfs4", "ocfs2", "smb3", "virtiofs",
})  # fmt: skip
# Those of them that change flags of a mount.
_WITH_FLAGS: Final = frozenset({"cifs", "nfs", "nfs4", "smb3"})
# Flags that a program of FUSE takes for itself, so that the kernel has never heard of them: fuse2fs(1).
_TAKEN: Final = {"fuse.ext4": frozenset({"ro"})}
# What else than flags a remount changes.
_CHANGEABLE: Final = {
    "tmpfs": frozenset({"size", "nr_blocks", "nr_inodes"}),
    "ext4": frozenset({"barrier", "commit", "discard", "errors", "nobarrier", "nodiscard"}),
    "ext3": frozenset({"barrier", "commit", "discard", "errors", "nobarrier", "nodiscard"}),
    "ext2": frozenset({"errors"}),
    "xfs": frozenset({"discard", "nodiscard"}),
    "btrfs": frozenset({"commit", "compress", "discard", "nodiscard", "autodefrag", "noautodefrag"}),
}
_SIZES: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def is_bind(options: Iterable[str]) -> bool:
    """Whether options say that a directory of the host is shown at a second place."""
    return not BIND.isdisjoint(options)


def split(text: str) -> tuple[str, ...]:
    """Return the options of a field of fstab, without `defaults`; a comma between quotes parts nothing."""
    found, word, is_quoted = [], "", False
    for letter in text:
        is_quoted ^= letter == '"'
        if letter == "," and not is_quoted:
            found.append(word)
            word = ""
        else:
            word += letter
    return tuple(dict.fromkeys(one for one in (*found, word) if one not in {"", DEFAULTS}))


def is_negotiated(fstype: str) -> bool:
    """Whether a server or a program of its own has a say in the options of a file system."""
    return fstype in _NEGOTIATED or is_fuse(fstype)


def is_fuse(fstype: str) -> bool:
    """Whether a program answers for a file system: `fuse`, `fuseblk`, or either with a name of the program."""
    return fstype.partition(".")[0] in {"fuse", "fuseblk"}


def missing_options(wanted: Iterable[str], entry: MountEntry) -> tuple[str, ...]:
    """Return those of the wanted options that a mount has not, sorted."""
    options = [option for option in wanted if not _is_for_programs(option)]
    if is_bind(wanted) or is_negotiated(entry.kind):
        own = _TAKEN.get(entry.kind, frozenset())
        options = [option for option in options if option in GENERIC and option not in own]
    return tuple(sorted(option for option in options if not _has(entry, option)))


def can_remount(options: Collection[str], fstype: str) -> bool:
    """Whether a remount can give a file system options that it has not."""
    if is_negotiated(fstype) and fstype not in _WITH_FLAGS:
        return False
    changeable = _CHANGEABLE.get(fstype, frozenset())
    return all(option in GENERIC or option.partition("=")[0] in changeable for option in options)


def remount_options(options: Iterable[str], fstype: str) -> tuple[str, ...]:
    """Return what a remount is told to give a mount these options: what it cannot change is as it was."""
    words = tuple(options)
    changeable = _CHANGEABLE.get(fstype, frozenset()) if not is_bind(words) else frozenset()
    kept = (word for word in words if word in GENERIC | _IMPLYING or word.partition("=")[0] in changeable)
    return ("remount", *(("bind",) if is_bind(words) else ()), *kept)


def _is_for_programs(option: str) -> bool:
    key, equals, _ = option.partition("=")
    return option in _USERSPACE or option.startswith(_USERSPACE_PREFIXES) or (bool(equals) and key in _USERSPACE_KEYS)


def _has(entry: MountEntry, option: str) -> bool:
    shown = entry.options | entry.super_options
    if option == _STRICT:
        return _NOT_STRICT.isdisjoint(shown)
    if option in _UNSET:
        return _UNSET[option] not in shown
    if option in GENERIC or option in _SHOWN:
        return option in shown
    key, equals, value = option.partition("=")
    if equals:
        values = [one.partition("=")[2] for one in shown if one.partition("=")[0] == key]
        return not values or any(_same(value, one) for one in values)
    return _opposite(option) not in shown


def _opposite(option: str) -> str:
    return option.removeprefix("no") if option.startswith("no") else f"no{option}"


def _same(one: str, other: str) -> bool:
    if one == other or one.endswith("%"):
        # What a share of memory comes to, the kernel shows as a number.
        return True
    if one.isdigit() and other.isdigit():
        return one.lstrip("0") == other.lstrip("0")
    return _bytes_of(one) is not None and _bytes_of(one) == _bytes_of(other)


def _bytes_of(text: str) -> int | None:
    unit = _SIZES.get(text[-1:].lower(), 1)
    digits = text[:-1] if unit > 1 else text
    return int(digits) * unit if digits.isascii() and digits.isdigit() else None
