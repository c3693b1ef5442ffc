"""Disks: room, what is mounted read-only, files without a name, private mounts for checks.

Effects: asks file systems; opens one file without a name in the state directory; runs `true` in private namespaces.
"""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.agent.doctor.finding import Facts, Finding, fault, not_checked, ok, warning
from datum.agent.doctor.given import Given
from datum.agent.doctor.shelter import is_refusal, without_rights
from datum.provider.host import Command

NAMES: Final = ("free-space", "writable")

_MIB: Final = 1 << 20
# Bytes and inodes: with less a fetch or a report does not fit; with less than the others that is near.
_FEWEST_BYTES: Final = 32 * _MIB
_FEW_BYTES: Final = 512 * _MIB
_FEWEST_INODES: Final = 256
_FEW_INODES: Final = 4096
_NO_TMPFILE: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS})
_TRUE_SECONDS: Final = 10.0


@frozen
class Space:
    """One file system, asked at a folder."""

    folder: str
    free_bytes: int
    all_bytes: int
    free_inodes: int
    # 0: it does not count them, as btrfs.
    all_inodes: int
    is_read_only: bool

    @property
    def facts(self) -> Facts:
        """The numbers."""
        return {
            "folder": self.folder,
            "free_bytes": self.free_bytes,
            "all_bytes": self.all_bytes,
            "free_inodes": self.free_inodes,
            "all_inodes": self.all_inodes,
        }


def look(given: Given) -> Iterator[Finding]:
    """Ask each file system that a pass writes; one that holds several of the folders is asked once.

    Whether it can be written is a matter of the mount, and of one file system there may be several.
    """
    spaces = list(_spaces(given))
    by_system = dict(reversed(spaces))
    yield from (judge_space(space) for device, space in spaces if by_system[device] is space)
    yield from (judge_writable(space) for _, space in spaces)


def _spaces(given: Given) -> Iterator[tuple[int, Space]]:
    """Yield each file system with its device; once more where another mount of it is read-only, or is not."""
    seen: set[tuple[int, bool]] = set()
    below = Path(given.root)
    temporary = given.environment.get("TMPDIR") or "/tmp"  # noqa: S108 - looked at only
    for path in (below, given.state_dir, given.reports_dir, below / "boot", Path(temporary)):
        folder = _standing(path)
        device, space = folder.stat().st_dev, read_space(folder)
        if (device, space.is_read_only) not in seen:
            seen.add((device, space.is_read_only))
            yield device, space


def _standing(path: Path) -> Path:
    """Return the path, or the deepest folder above it that there is."""
    for folder in (path, *path.parents):
        try:
            if folder.is_dir():
                return folder
        except PermissionError:
            continue
    return Path("/")


def read_space(folder: Path) -> Space:
    """Ask a file system; what is kept for root alone counts as full."""
    found = os.statvfs(folder)
    return Space(
        str(folder),
        found.f_bavail * found.f_frsize,
        found.f_blocks * found.f_frsize,
        found.f_favail,
        found.f_files,
        bool(found.f_flag & os.ST_RDONLY),
    )


def judge_space(space: Space) -> Finding:
    """Say whether there is room, in bytes and in inodes."""
    room = f"{size(space.free_bytes)} of {size(space.all_bytes)} are free at {space.folder}"
    counts = space.all_inodes > 0
    if counts:
        room += f", and {space.free_inodes} of {space.all_inodes} inodes"
    if space.free_bytes < _FEWEST_BYTES or (counts and space.free_inodes < _FEWEST_INODES):
        return fault(
            "free-space", f"{room}: it is full.", f"make room: {_what_is_big(space)}", space.facts, of=space.folder
        )
    if space.free_bytes < _FEW_BYTES or (counts and space.free_inodes < _FEW_INODES):
        return warning("free-space", f"{room}.", f"make room: {_what_is_big(space)}", space.facts, of=space.folder)
    return ok("free-space", f"{room}.", space.facts, of=space.folder)


def _what_is_big(space: Space) -> str:
    inodes = "--inodes " if space.all_inodes and space.free_inodes < _FEW_INODES else ""
    return f"du -x {inodes}-d2 {space.folder} | sort -n | tail"


def judge_writable(space: Space) -> Finding:
    """Say whether anything can be written."""
    if space.is_read_only:
        return fault(
            "writable",
            f"{space.folder} is mounted read-only.",
            f"journalctl -k says why, if the kernel did it; then mount -o remount,rw {space.folder}",
            of=space.folder,
        )
    return ok("writable", f"{space.folder} is mounted writable.", of=space.folder)


def size(count: int) -> str:
    """Return bytes as people read them."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:  # noqa: PLR2004  # of each the next has so many
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def look_at_unnamed(given: Given) -> Iterator[Finding]:
    """Open a file without a name where the state is, and close it: nothing is left of it at any moment."""
    folder = given.state_dir
    if _standing(folder) != folder:
        yield not_checked("unnamed-files", f"{folder} does not exist.")
        return
    try:
        os.close(os.open(folder, os.O_RDWR | os.O_CLOEXEC | os.O_TMPFILE, 0o600))
    except OSError as error:
        if is_refusal(error) and not given.is_root:
            yield without_rights("unnamed-files", what=str(folder))
            return
        yield judge_unnamed(str(folder), error.errno or 0, error.strerror or str(error))
        return
    yield judge_unnamed(str(folder), 0, "")


def judge_unnamed(folder: str, number: int, words: str) -> Finding:
    """Say whether files can be made without a name; where they cannot they get one that leftovers are known by."""
    if not number:
        return ok("unnamed-files", f"{folder} takes files without a name.")
    if number in _NO_TMPFILE:
        return warning(
            "unnamed-files",
            f"The file system of {folder} takes no files without a name ({words}): a pass that is killed while it "
            "writes leaves a file behind, which the next one clears.",
            "put it on a file system that does, as ext4, xfs, btrfs or tmpfs; or leave it so",
        )
    return not_checked("unnamed-files", f"A file without a name in {folder}: {words}.")


def look_at_private_mounts(given: Given) -> Iterator[Finding]:
    """Run `true` as a check is run, with nothing to show to it."""
    # ctypes is not for those who do not need it
    from datum.host.showing import run_shown

    if not any(Path(given.root, folder, "true").exists() for folder in ("bin", "usr/bin")):
        yield not_checked("private-mounts", f"There is no program below {given.root} to try it with.")
        return
    if not given.has_rights:
        # What an ordinary user gets says nothing of what a pass gets.
        yield without_rights("private-mounts")
        return
    command = Command(("true",), timeout=_TRUE_SECONDS)
    yield judge_private_mounts(run_shown(given.root, command, ()).reason_unavailable)


def judge_private_mounts(reason: str) -> Finding:
    """Say whether checks see candidates before the host does."""
    if not reason:
        return ok("private-mounts", "A check gets mounts of its own, throw-away overlays and an empty network.")
    return warning(
        "private-mounts",
        f"A check cannot get mounts of its own ({reason}): candidates are written, checked, and put back where the "
        "check refuses them.",
        "allow it: CAP_SYS_ADMIN in a container, overlay in the kernel (modprobe overlay), Linux 5.12 or later",
    )
