"""Replacing a regular file so that every reader, and every kill, finds the old bytes or the new ones (design 4.7).

A candidate is an unnamed file, complete and synced before it gets a name; the name is a leftover's until the rename.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO, Final

from attrs import define, frozen

from datum.host.attributes import keep_capabilities, keep_extended, own, read_extended
from datum.host.identity import acting_as
from datum.host.look import hash_open, read_up_to
from datum.host.place import Place
from datum.host.residue import check_leftover, residue_name
from datum.model.content import Content
from datum.provider.host import FileWrite, HostError

_CHUNK: Final = 1 << 20
_DEFAULT_MODE: Final = 0o644
_TEMPORARY_MODE: Final = 0o600
# What a file system says that has no unnamed files.
_NO_TMPFILE: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS, errno.ENOENT})
_NO_EXCHANGE: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBUSY})
_RENAME_EXCHANGE: Final = 2

Remark = Callable[[str], None]


@frozen
class Attributes:
    """What a new file shall have."""

    mode: int
    uid: int
    gid: int


@define
class Candidate:
    """A complete new file that nobody sees yet."""

    fd: int
    # Its name beside the place, or of what it was exchanged with; empty while there is none.
    name: str = ""


def wanted_attributes(existing: os.stat_result | None, caller: tuple[int, int], wanted: FileWrite) -> Attributes:
    """Return mode and owner: as declared, else as the regular file that is replaced, else 0644 and the caller."""
    mode = stat.S_IMODE(existing.st_mode) if existing else _DEFAULT_MODE
    uid, gid = (existing.st_uid, existing.st_gid) if existing else caller
    return Attributes(
        mode=mode if wanted.mode is None else int(wanted.mode, 8),
        uid=uid if wanted.uid is None else wanted.uid,
        gid=gid if wanted.gid is None else wanted.gid,
    )


def replace_file(place: Place, source: BinaryIO, content: Content, attributes: Attributes, remark: Remark) -> None:
    """Put new bytes at a place, atomically; in place, and with a remark, where it is a mount point.

    Args:
        place: where.
        source: the bytes, read to the end.
        content: what they are, checked before they get a name.
        attributes: mode and owner.
        remark: takes what the result has to tell.

    Raises:
        HostError: nothing was changed.
    """
    place.refuse_directory("write")
    with staged(place, source, content, attributes, remark) as candidate, place.failing("write"):
        try:
            put(place, candidate)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            _discard(place, candidate)
            _write_in_place(place, candidate, attributes)
            remark("not_atomic")


@contextlib.contextmanager
def staged(
    place: Place, source: BinaryIO, content: Content, attributes: Attributes, remark: Remark
) -> Iterator[Candidate]:
    """Make a candidate; what of it has a name at the end of the block is unlinked.

    Raises:
        HostError: it could not be made, and nothing is left of it.
    """
    with place.failing("write"):
        candidate = _make(place)
        try:
            _fill(candidate.fd, source)
            _check_bytes(candidate.fd, place.path, content)
            _dress(candidate.fd, place, attributes, remark)
            os.fsync(candidate.fd)
            yield candidate
        finally:
            _discard(place, candidate)
            os.close(candidate.fd)


def put(place: Place, candidate: Candidate) -> None:
    """Give the candidate its place.

    Raises:
        OSError: the rename failed; the candidate still has its other name.
        HostError: its other name is taken by something that is no leftover.
    """
    give_name(place, candidate)
    with acting_as(place.actor):
        os.rename(candidate.name, place.name, src_dir_fd=place.folder.fd, dst_dir_fd=place.folder.fd)
    candidate.name = ""
    place.sync_folder()


def give_name(place: Place, candidate: Candidate) -> None:
    """Link an unnamed candidate beside its place.

    Raises:
        OSError: it cannot be linked.
        HostError: the name is taken by something that is no leftover.
    """
    if candidate.name:
        return
    name = residue_name(place.name, is_sticky=place.folder.is_sticky)

    def link() -> None:
        # Without src_dir_fd Python calls link(2), which does not follow the handle.
        os.link(
            f"/proc/self/fd/{candidate.fd}",
            name,
            src_dir_fd=place.folder.fd,
            dst_dir_fd=place.folder.fd,
            follow_symlinks=True,
        )

    _despite_leftover(place, name, link)
    candidate.name = name


def exchange(place: Place, candidate: Candidate) -> bool:
    """Let candidate and place change names in one step; False where the file system cannot.

    Raises:
        OSError: it failed for another reason.
    """
    import ctypes

    folder = place.folder.fd
    libc = ctypes.CDLL(None, use_errno=True)
    with acting_as(place.actor):
        failed = libc.renameat2(
            folder, os.fsencode(candidate.name), folder, os.fsencode(place.name), ctypes.c_uint(_RENAME_EXCHANGE)
        )
    if failed:
        code = ctypes.get_errno()
        if code in _NO_EXCHANGE:
            return False
        raise OSError(code, os.strerror(code))
    return True


def remove_leftover(place: Place, name: str, owners: Collection[int]) -> None:
    """Unlink a leftover beside a place.

    Raises:
        OSError: it cannot be unlinked.
        HostError: it is no leftover.
    """
    check_leftover(place.folder, name, owners)
    with acting_as(place.actor):
        os.unlink(name, dir_fd=place.folder.fd)


def _make(place: Place) -> Candidate:
    """Open an unnamed file in the folder, or where the file system has none, a named one that only we can read."""
    flags = os.O_RDWR | os.O_CLOEXEC
    if os.access("/proc/self/fd", os.X_OK):
        try:
            with acting_as(place.actor):
                return Candidate(os.open(".", flags | os.O_TMPFILE, _TEMPORARY_MODE, dir_fd=place.folder.fd))
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
    name = residue_name(place.name, is_sticky=place.folder.is_sticky)
    made: list[int] = []

    def create() -> None:
        how = flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        made.append(os.open(name, how, _TEMPORARY_MODE, dir_fd=place.folder.fd))

    _despite_leftover(place, name, create)
    return Candidate(made[0], name)


def _despite_leftover(place: Place, name: str, make: Callable[[], None]) -> None:
    """Make a name; if a leftover has it, unlink that and try once more."""
    try:
        with acting_as(place.actor):
            make()
    except FileExistsError:
        remove_leftover(place, name, place.trusted)
        with acting_as(place.actor):
            make()


def _discard(place: Place, candidate: Candidate) -> None:
    """Unlink what has the candidate's name, if anything has."""
    if not candidate.name:
        return
    with contextlib.suppress(OSError), acting_as(place.actor):
        os.unlink(candidate.name, dir_fd=place.folder.fd)
    candidate.name = ""


def _fill(fd: int, source: BinaryIO) -> None:
    while chunk := source.read(_CHUNK):
        _write_all(fd, chunk)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _check_bytes(fd: int, path: str, content: Content) -> None:
    found = hash_open(fd, content.algorithm)
    if found is None or found.blob != content.blob:
        raise HostError(
            f"Cannot write '{path}': the bytes{' of ' + content.source if content.source else ''} are not those of "
            f"object {content.blob}.",
            code="content-mismatch",
            hint="the mirror of the repository is damaged; remove it, and the next pass fetches it anew",
        )


def _dress(fd: int, place: Place, attributes: Attributes, remark: Remark) -> None:
    """Set the attributes of the replaced file, then owner, mode and capabilities: each may clear what follows."""
    kept = _extended_of(place)
    if kept is not None:
        # Before the mode: it is the mode that says what the list's mask is.
        keep_extended(fd, kept, remark)
    _own_and_mode(fd, place, attributes)
    keep_capabilities(fd, kept or {}, remark)


def _own_and_mode(fd: int, place: Place, attributes: Attributes) -> None:
    if "owner" not in place.without:
        own(fd, place.path, attributes.uid, attributes.gid)
    if "mode" not in place.without:
        os.fchmod(fd, attributes.mode)


def _extended_of(place: Place) -> "dict[str, bytes] | None":
    """Return the extended attributes of the regular file at the place, None if there is none."""
    if place.regular is None:
        return None
    try:
        fd = os.open(place.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder.fd)
    except FileNotFoundError:
        return None
    try:
        return dict(read_extended(fd)) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    finally:
        os.close(fd)


def _write_in_place(place: Place, candidate: Candidate, attributes: Attributes) -> None:
    """Copy the candidate over the bytes of a file that cannot be renamed over; on failure the old bytes come back."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    with acting_as(place.actor):
        fd = os.open(place.name, flags, dir_fd=place.folder.fd)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise HostError(
                f"Cannot write '{place.path}': something else than a file is mounted there.", code="not-a-file"
            )
        kept = read_extended(fd)
        old = read_up_to(fd, os.fstat(fd).st_size)
        try:
            _overwrite(fd, read_up_to(candidate.fd, os.fstat(candidate.fd).st_size))
            _own_and_mode(fd, place, attributes)
        except BaseException:
            with contextlib.suppress(OSError):
                _overwrite(fd, old)
            raise
        keep_capabilities(fd, kept, lambda _: None)
    finally:
        os.close(fd)


def _overwrite(fd: int, data: bytes) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    _write_all(fd, data)
    os.ftruncate(fd, len(data))
    os.fsync(fd)
