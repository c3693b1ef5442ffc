"""Replacing what stands at a place so that every reader, and every kill, finds the old or the new (design 4.7).

In two parts that may lie far apart: a candidate is prepared, then put. What of another kind gives way is exchanged with
the candidate, and removed when the new stands there; a kill in between leaves it under a leftover's name.
"""

import errno
import os
import stat
from collections.abc import Collection
from typing import BinaryIO, Final

from datum.host.candidates import (
    TEMPORARY_MODE,
    Attributes,
    Candidate,
    DirectoryCandidate,
    FileCandidate,
    LinkCandidate,
    Remark,
    create_named,
    despite_leftover,
    dress,
)
from datum.host.identity import acting_as
from datum.host.inplace import write_in_place
from datum.host.leftovers import path_beside, survey_beside
from datum.host.look import hash_open, kind_of
from datum.host.place import Place, in_the_way
from datum.host.renames import exchange, rename_new, rename_over
from datum.host.residue import residue_name
from datum.host.streams import fill
from datum.host.trees import Removal, changed_meanwhile, check_taken, identity_of
from datum.model.content import Content
from datum.provider.host import DirectoryWrite, FileKind, FileWrite, HostError, LinkWrite

_DEFAULT_MODE: Final = 0o644
_DIRECTORY_MODE: Final = 0o755
# What a file system says that has no unnamed files.
_NO_TMPFILE: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS, errno.ENOENT})


def wanted_attributes(place: Place, wanted: FileWrite) -> Attributes:
    """Return mode and owner: as declared, else as the regular file that is replaced, else 0644 and the caller."""
    existing = place.predecessor
    mode = stat.S_IMODE(existing.st_mode) if existing else _DEFAULT_MODE
    uid, gid = (existing.st_uid, existing.st_gid) if existing else place.caller
    return Attributes(
        mode=mode if wanted.mode is None else int(wanted.mode, 8),
        uid=uid if wanted.uid is None else wanted.uid,
        gid=gid if wanted.gid is None else wanted.gid,
    )


def prepare_candidate(
    place: Place, source: BinaryIO, content: Content, attributes: Attributes, remark: Remark
) -> FileCandidate:
    """Make a complete new file that nobody sees yet: filled, checked, owned, labelled and synced.

    Where directories on the way are still to come it is made in the nearest one that stands.

    Args:
        place: where it shall stand; need not stay open.
        source: the bytes, read to the end.
        content: what they are.
        attributes: mode and owner.
        remark: takes what the result has to tell.

    Raises:
        HostError: it could not be made, and nothing is left of it.
    """
    with place.failing("write"):
        candidate = _make(place, attributes, remark)
        try:
            fill(candidate.fd, source)
            _check_bytes(candidate.fd, place.path, content)
            dress(candidate.fd, place, attributes, remark)
            os.fsync(candidate.fd)
        except BaseException:
            candidate.discard()
            raise
    return candidate


def prepare_link(place: Place, wanted: LinkWrite) -> LinkCandidate:
    """Return a candidate for a symbolic link; nothing is made before it is put."""
    uid, gid = place.caller
    return LinkCandidate(Attributes(0o777, _or(wanted.uid, uid), _or(wanted.gid, gid)), wanted.target)


def prepare_directory(place: Place, wanted: DirectoryWrite) -> DirectoryCandidate:
    """Return a candidate for a directory; nothing is made before it is put."""
    uid, gid = place.caller
    mode = _DIRECTORY_MODE if wanted.mode is None else int(wanted.mode, 8)
    return DirectoryCandidate(Attributes(mode, _or(wanted.uid, uid), _or(wanted.gid, gid)))


def put(place: Place, candidate: Candidate, takes: Collection[str] | None, remark: Remark) -> None:
    """Give a candidate its place, durably; in place, and with a remark, where a file is a mount point.

    Args:
        place: where; of the moment, not that of the preparation.
        candidate: what; to be discarded afterwards all the same.
        takes: what of another kind stands there gives way, a directory with exactly these paths below it. None: it is
            refused.
        remark: takes what the result has to tell: `not_atomic`, `hard_links_broken: N`.

    Raises:
        HostError: what stood there still does. Only where more had arrived in a directory that gave way, after it had
            been looked at twice, or where the system refused to remove one of its names: then the new stands there,
            and the rest of the old directory beside it under a leftover's name.
    """
    with place.failing("write"):
        place.refuse_other_kind(candidate.kind, gives_way=takes is not None)
        if place.existing is None and candidate.kind is FileKind.DIRECTORY:
            rename_new(place, candidate.stand_beside(place))
            candidate.let_go()
        elif place.existing is not None and FileKind.DIRECTORY in {candidate.kind, kind_of(place.existing)}:
            _replace_other(place, candidate, takes or (), remark)
        else:
            _replace(place, candidate, takes, remark)
        place.sync_folder()


def swap_in(place: Place, candidate: Candidate, takes: Collection[str] | None) -> str:
    """Let a candidate take its place, and keep what stood there beside it.

    Returns:
        The name of what stood there, for `swap_back` or `drop_swapped`; empty where the file system cannot exchange
        names: nothing was changed then.

    Raises:
        OSError: it failed, and nothing was changed.
        HostError: likewise; `directory-not-empty`, `holds-mount`, `changed-meanwhile` say why.
    """
    _check_tree(place, place.name, takes)
    name = candidate.stand_beside(place)
    candidate.stamp()
    if not exchange(place, name):
        return ""
    candidate.let_go()
    try:
        # Once more, now that its path leads nobody there.
        _check_same(place, name)
        _check_tree(place, name, takes)
    except BaseException:
        swap_back(place, candidate, name)
        raise
    return name


def swap_back(place: Place, candidate: Candidate, name: str) -> None:
    """Undo `swap_in`: what stood at the place stands there again, and the candidate beside it until it is discarded.

    Raises:
        HostError: that failed: what stood there is left under the name beside the place.
    """
    with place.failing(f"put back what is now '{name}' beside"):
        if not exchange(place, name):
            raise OSError(errno.EOPNOTSUPP, "")
        candidate.has_name(place, name)
        place.sync_folder()


def drop_swapped(place: Place, name: str, takes: Collection[str] | None) -> None:
    """Remove what `swap_in` left beside a place.

    Raises:
        OSError: it could not be removed.
        HostError: likewise; the rest of it is left under this name.
    """
    _remove(place, name, takes)
    place.sync_folder()


def remove_directory(place: Place, takes: Collection[str]) -> None:
    """Remove the directory at a place, if there is one, and exactly these paths below it.

    Raises:
        OSError: it could not be removed.
        HostError: likewise; see `check_taken` and `Removal`.
    """
    if place.directory is not None:
        _remove(place, place.name, takes)
        place.sync_folder()


def _replace(place: Place, candidate: Candidate, takes: Collection[str] | None, remark: Remark) -> None:
    name = candidate.stand_beside(place)
    now = place.now()
    if now is not None and takes is None and kind_of(now) is not candidate.kind:
        raise in_the_way(place.path, "write", kind_of(now))
    candidate.stamp()
    try:
        rename_over(place, name)
        candidate.let_go()
    except OSError as error:
        if error.errno != errno.EBUSY or not isinstance(candidate, FileCandidate):
            raise
        candidate.discard_name()
        write_in_place(place, candidate.fd, candidate.attributes)
        remark("not_atomic")
        return
    if place.regular is not None and place.regular.st_nlink > 1:
        remark(f"hard_links_broken: {place.regular.st_nlink - 1}")


def _replace_other(place: Place, candidate: Candidate, takes: Collection[str], remark: Remark) -> None:
    """Replace a directory by something else, or something else by a directory."""
    name = swap_in(place, candidate, takes)
    if name:
        place.sync_folder()
        drop_swapped(place, name, takes)
        return
    beside = candidate.stand_beside(place)
    _remove(place, place.name, takes)
    rename_new(place, beside)
    candidate.let_go()
    remark("not_atomic")


def _check_same(place: Place, name: str) -> None:
    status = os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False)
    if place.existing is None or identity_of(status) != identity_of(place.existing):
        raise changed_meanwhile(place.path)


def _check_tree(place: Place, name: str, takes: Collection[str] | None) -> None:
    if place.directory is not None and (tree := survey_beside(place, name)) is not None:
        check_taken(tree, place.path, takes)


def _remove(place: Place, name: str, takes: Collection[str] | None) -> None:
    """Remove what has this name in a place's folder and was the place's."""
    if place.directory is None:
        with acting_as(place.actor):
            os.unlink(name, dir_fd=place.folder.fd)
        return
    where = path_beside(place, name)
    tree = survey_beside(place, name)
    if tree is not None:
        check_taken(tree, place.path, takes)
        Removal(tree, where, is_root=not place.caller[0]).remove(place.folder.fd, name, place.actor)
    elif os.access(name, os.F_OK, dir_fd=place.folder.fd, follow_symlinks=False):
        raise changed_meanwhile(where)


def _make(place: Place, attributes: Attributes, remark: Remark) -> FileCandidate:
    """Open an unnamed file in the folder, or where the file system has none, a named one that only we can read."""
    if os.access("/proc/self/fd", os.X_OK):
        try:
            with acting_as(place.actor):
                flags = os.O_RDWR | os.O_CLOEXEC | os.O_TMPFILE
                fd = os.open(".", flags, TEMPORARY_MODE, dir_fd=place.folder.fd)
                return FileCandidate(attributes, fd, remark)
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
    # In another folder than its own the name would be nobody's leftover, so it is random and goes at once.
    is_elsewhere = bool(place.trail.coming)
    name = residue_name(place.name, place.folder.path, is_random=place.folder.is_sticky or is_elsewhere)
    made: list[int] = []
    despite_leftover(place, name, lambda: made.append(create_named(place, name)))
    candidate = FileCandidate(attributes, made[0], remark, is_linkable=False)
    candidate.has_name(place, name)
    if is_elsewhere:
        candidate.discard_name()
    return candidate


def _check_bytes(fd: int, path: str, content: Content) -> None:
    found = hash_open(fd, content.algorithm)
    if found is None or found.blob != content.blob:
        raise HostError(
            f"Cannot write '{path}': the bytes{' of ' + content.source if content.source else ''} are not those of "
            f"object {content.blob}.",
            code="content-mismatch",
            hint="the mirror of the repository is damaged; remove it, and the next pass fetches it anew",
        )


def _or(wanted: int | None, otherwise: int) -> int:
    return otherwise if wanted is None else wanted
