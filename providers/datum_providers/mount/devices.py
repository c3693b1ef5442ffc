"""Whether what is mounted is what was declared: names of devices, file systems, bind mounts. Reads the host."""

import posixpath
from collections.abc import Sequence
from typing import Final

from datum.provider.host import FileKind, HostReader, Missing
from datum.provider.manager import MountEntry
from datum.provider.paths import is_below, normal_path
from datum_providers.mount.desired import normal_source
from datum_providers.mount.options import is_fuse

_FOLDERS: Final = {
    "UUID": "/dev/disk/by-uuid",
    "LABEL": "/dev/disk/by-label",
    "PARTUUID": "/dev/disk/by-partuuid",
    "PARTLABEL": "/dev/disk/by-partlabel",
}
_HOPS: Final = 4
_LIMIT: Final = 4096
_AUTOMOUNT: Final = "autofs"
# File systems whose source is a word that means nothing.
_SOURCELESS: Final = frozenset({
    "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl",
    "hugetlbfs", "mqueue", "none", "overlay", "proc", "pstore", "ramfs", "securityfs", "sysfs", "tmpfs", "tracefs",
})  # fmt: skip
IN_MEMORY: Final = frozenset({"ramfs", "tmpfs"})
"""File systems that end with their mount."""


def topmost(entries: Sequence[MountEntry], point: str) -> MountEntry | None:
    """Return what is mounted last on a path; None where nothing is, or a later mount above hides it."""
    for entry in reversed(entries):
        if entry.point == point:
            return entry
        if is_below(point, entry.point):
            return None
    return None


def is_waiting(entry: MountEntry) -> bool:
    """Whether systemd mounts the file system when somebody looks (`x-systemd.automount`)."""
    return entry.kind == _AUTOMOUNT


def is_type(entry: MountEntry, fstype: str) -> bool:
    """Whether a mount has a declared type, under any of the names that the kernel gives it."""
    if fstype in {"auto", "none"} or entry.kind == fstype:
        return True
    if is_fuse(fstype) and is_fuse(entry.kind):
        # The program chooses its name: bindfs gives none, and fuse2fs is `fuse.ext4`.
        return True
    names = {f"fuse.{fstype}", *({"nfs", "nfs4"} if fstype in {"nfs", "nfs4"} else ())}
    return entry.kind in names or (entry.kind == "fuseblk" and fstype.startswith("ntfs"))


class Devices:
    """The devices of one host during one look; each name is resolved once."""

    def __init__(self, reader: HostReader, entries: Sequence[MountEntry]) -> None:
        """Begin with nothing known."""
        self._reader = reader
        self._entries = entries
        self._known: dict[str, str] = {}

    def same(self, one: str, other: str) -> bool:
        """Whether two sources are one device, or the same words.

        Raises:
            HostError: it cannot be looked at.
        """
        return normal_source(one) == normal_source(other) or self._real(one) == self._real(other)

    def shows(self, entry: MountEntry, source: str, *, is_bind: bool) -> bool:
        """Whether a mount shows what a source names.

        Raises:
            HostError: it cannot be looked at.
        """
        if is_bind:
            return self._is_bound(entry, source)
        if entry.kind in _SOURCELESS or (is_fuse(entry.kind) and entry.source in _words_of(entry.kind)):
            return True
        if is_fuse(entry.kind):
            # `PROGRAM#SOURCE`, as fstab has it for the bare type `fuse`.
            source = source.partition("#")[2] or source
        backing = self._backing(entry.source) if source.startswith("/") and not source.startswith("/dev/") else None
        return backing == source if backing is not None else self.same(entry.source, source)

    def _is_bound(self, entry: MountEntry, source: str) -> bool:
        """Whether it shows the directory of a path: device and directory of the mount on which that lies."""
        covering = [one for one in self._entries if is_below(source, one.point) and one is not entry]
        if not covering:
            return True
        holder = covering[-1]
        below = source[len(holder.point) :] if holder.point != "/" else source
        return (entry.device, entry.root) == (holder.device, _joined(holder.root, below))

    def _real(self, source: str) -> str:
        if source not in self._known:
            self._known[source] = self._resolved(source)
        return self._known[source]

    def _resolved(self, source: str) -> str:
        """Return the path of the device itself, at the end of links; another source as it is."""
        tag, equals, value = normal_source(source).partition("=")
        path = f"{_FOLDERS[tag]}/{_udev_name(value)}" if equals and tag in _FOLDERS else normal_source(source)
        if not path.startswith("/dev/"):
            return path
        for _ in range(_HOPS):
            facts = self._reader.examine(path)
            if isinstance(facts, Missing) or facts.kind is not FileKind.SYMLINK:
                return path
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), facts.link))
        return path

    def _backing(self, device: str) -> str | None:
        """Return the file behind a loop device; None for another device."""
        name = device.removeprefix("/dev/")
        if not name.startswith("loop") or name == device:
            return None
        path = f"/sys/devices/virtual/block/{name}/loop/backing_file"
        if isinstance(self._reader.examine(path), Missing):
            return None
        return self._reader.read_file(path, limit=_LIMIT).decode("utf-8", "surrogateescape").rstrip("\n")


def _words_of(kind: str) -> frozenset[str]:
    """Return what the kernel shows as source where a program of FUSE gave none (mount.fuse3(8))."""
    return frozenset({kind, kind.partition(".")[2], "fuse", "/dev/fuse"})


def _udev_name(value: str) -> str:
    r"""Return a label as udev names its link: what is not plain as `\x20`."""
    plain = set("#+-.:=@_/")
    letters = (
        letter if letter.isalnum() or letter in plain - {"/"} else "".join(rf"\x{byte:02x}" for byte in letter.encode())
        for letter in value
    )
    return "".join(letters)


def _joined(root: str, below: str) -> str:
    try:
        return normal_path(f"{root}/{below}")
    except ValueError:
        return root
