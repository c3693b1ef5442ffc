"""What is mounted where, as this process sees it below the root of the pass.

Only what a path look-up would reach is listed: of mounts stacked on one path the top-most, and none that another
mount hides.
"""

import os
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Self

from attrs import frozen

from datum.provider.host import HostError
from datum.provider.manager import MountEntry
from datum.provider.paths import is_below, parents

MOUNTINFO: Final = "/proc/self/mountinfo"
# Bytes asked for in one read; the kernel gives a page or so.
_AT_ONCE: Final = 1 << 16

# A server, or a program of some user, answers for these: a look may hang for ever.
_NETWORK: Final = frozenset({
    "9p", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs",
    "nfs", "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "sshfs",
})  # fmt: skip
# They have no place for an owner or a mode of their own; the mount options say what is shown.
_WITHOUT_OWNERS: Final = frozenset({"exfat", "msdos", "ntfs", "vfat"})
_NO_FIELDS: Final[frozenset[str]] = frozenset()
_OWNER_FIELDS: Final = frozenset({"owner", "group", "mode"})
_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")


@frozen
class Mount:
    """One mounted file system."""

    # Absolute, as seen below the root of the pass; for the mount that holds the root itself `/`.
    path: str
    file_system: str
    # The device or server, as the one who mounted it spelled it.
    source: str
    # `major:minor`; major 0 says that no block device is behind it.
    device: str

    @property
    def is_network_or_fuse(self) -> bool:
        """Whether a server or a user's program answers for it."""
        return self.file_system in _NETWORK or self.file_system.split(".")[0] in {"fuse", "fuseblk"}


@frozen
class _Entry:
    """One line of mountinfo."""

    id: int
    parent: int
    path: str
    mount: Mount


@frozen
class MountTable:
    """The mounts below a root, by path."""

    mounts: Mapping[str, Mount]
    # The mount that holds the root; its path need not be a mount point. None where nothing says it.
    base: Mount | None
    # Mount points whose file system is of the network or FUSE; `/` if the root itself lies on one.
    network_or_fuse: tuple[str, ...]

    @classmethod
    def read(cls, root: str) -> Self:
        """Read the table of this process.

        Raises:
            HostError: there is no readable /proc.
        """
        return cls.parse(read_mountinfo(), os.path.realpath(root))

    @classmethod
    def parse(cls, data: bytes, root: str) -> Self:
        """Take the bytes of a mountinfo file (proc(5)) and a root without symbolic links in its path."""
        reachable = _reachable([_entry(line) for line in data.splitlines() if line])
        mounts: dict[str, Mount] = {}
        base: Mount | None = None
        holder = ""
        for path, mount in reachable.items():
            if is_below(path, root):
                seen = path if root == "/" else path[len(root) :] or "/"
                mounts[seen] = Mount(seen, mount.file_system, mount.source, mount.device)
            if is_below(root, path) and len(path) > len(holder):
                base, holder = Mount("/", mount.file_system, mount.source, mount.device), path
        slow = {path for path, mount in mounts.items() if mount.is_network_or_fuse}
        if base is not None and base.is_network_or_fuse:
            slow.add("/")
        return cls(MappingProxyType(mounts), base, tuple(sorted(slow)))

    def holding(self, path: str) -> Mount | None:
        """Return the mount on which a path lies."""
        for folder in (path, *parents(path)):
            found = self.mounts.get(folder)
            if found is not None:
                return found
        return self.base

    def is_mount_point(self, path: str) -> bool:
        """Whether something is mounted on this very path."""
        return path in self.mounts

    def slow_mount(self, path: str) -> str | None:
        """Return the deepest mount point of the network or FUSE on the way to a path, itself included."""
        return next((slow for slow in reversed(self.network_or_fuse) if is_below(path, slow)), None)

    def is_slow(self, path: str) -> bool:
        """Whether a look at the path asks a network or FUSE file system, on the way to it included."""
        return self.slow_mount(path) is not None

    def without(self, path: str) -> frozenset[str]:
        """Return the fields that the file system of a path cannot hold."""
        mount = self.holding(path)
        return _OWNER_FIELDS if mount is not None and mount.file_system in _WITHOUT_OWNERS else _NO_FIELDS

    def below(self, folder: str) -> tuple[str, ...]:
        """Return the mount points strictly below a folder that no other one of these holds, sorted."""
        found: list[str] = []
        for path in sorted(self.mounts):
            if path != folder and is_below(path, folder) and not any(is_below(path, seen) for seen in found):
                found.append(path)
        return tuple(found)


class MountReader:
    """The table of this process below one root, parsed only where the kernel shows another one than the last time.

    It is read each time all the same: a poll of mountinfo tells of mounts, and not that a folder above one got another
    name.
    """

    def __init__(self, root: str) -> None:
        self._root: Final = root
        self._data = b""
        self._table: MountTable | None = None

    def read(self) -> MountTable:
        """Return the table as it is now.

        Raises:
            HostError: there is no readable /proc.
        """
        data = read_mountinfo()
        if self._table is None or data != self._data:
            self._data, self._table = data, MountTable.parse(data, os.path.realpath(self._root))
        return self._table


def read_mountinfo() -> bytes:
    """Return the table of this process as the kernel writes it.

    Raises:
        HostError: there is no readable /proc.
    """
    try:
        # By plain calls: a table is read for every action.
        descriptor = os.open(MOUNTINFO, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = []
            while part := os.read(descriptor, _AT_ONCE):
                parts.append(part)
            return b"".join(parts)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise HostError(
            f"The table of mounts {MOUNTINFO} cannot be read: {error.strerror}.",
            code="mounts-unreadable",
            hint="mount -t proc proc /proc",
        ) from error


def mount_entries(data: bytes) -> tuple[MountEntry, ...]:
    """Return every mount of the bytes of a mountinfo file (proc_pid_mountinfo(5)), hidden ones too.

    They stand in the kernel's order: a mount after the one that it is mounted on, and those on one path in the order in
    which they were mounted.
    """
    return tuple(_mount_entry(line) for line in data.splitlines() if line)


def _mount_entry(line: bytes) -> MountEntry:
    front, _, back = line.partition(b" - ")
    _number, _parent, device, root, point, options = front.split(b" ")[:6]
    kind, source, super_options = [*back.split(b" "), b"", b""][:3]
    return MountEntry(
        _text(point),
        _text(kind),
        _text(source),
        options=_options(options),
        super_options=_options(super_options),
        root=_text(root),
        device=device.decode(),
    )


def _options(field: bytes) -> frozenset[str]:
    return frozenset(_text(option) for option in field.split(b",") if option)


def _entry(line: bytes) -> _Entry:
    """Read one line: `id parent major:minor root path options [tags...] - type source options`."""
    front, _, back = line.partition(b" - ")
    number, parent, device, _root, path = front.split(b" ")[:5]
    file_system, source = [*back.split(b" "), b""][:2]
    seen = _text(path)
    return _Entry(int(number), int(parent), seen, Mount(seen, _text(file_system), _text(source), device.decode()))


def _text(field: bytes) -> str:
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), field))


def _reachable(entries: Sequence[_Entry]) -> Mapping[str, Mount]:
    """Return what a path look-up reaches, by path, walking from the mounts whose parent is not listed."""
    children: dict[int, list[_Entry]] = {}
    known = {entry.id for entry in entries}
    for entry in entries:
        # the first mount of the kernel is its own parent
        parent = entry.parent if entry.parent in known and entry.parent != entry.id else 0
        children.setdefault(parent, []).append(entry)
    found: dict[str, Mount] = {}
    waiting = children.get(0, [])[::-1]
    while waiting:
        entry = _topmost(waiting.pop(), children)
        found[entry.path] = entry.mount
        below = children.get(entry.id, [])
        paths = {child.path for child in below}
        # a sibling that is mounted above a mount point hides it
        waiting.extend(child for child in below if paths.isdisjoint(parents(child.path)))
    return found


def _topmost(entry: _Entry, children: Mapping[int, Sequence[_Entry]]) -> _Entry:
    while True:
        above = [child for child in children.get(entry.id, ()) if child.path == entry.path]
        if not above:
            return entry
        entry = above[-1]
