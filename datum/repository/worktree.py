"""Trees for authors: the files of a clone as they lie on disk, and any revision of a clone.

Effects: reads, by the git program for a large file of a revision. Nothing is written; a clone's filters, attributes and
hooks take no part.
"""

import contextlib
import hashlib
import io
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryError
from datum.model.revision import Revision
from datum.model.source import EntryKind, SourceTree, TreeEntry
from datum.repository.blob import OpenOutput, blob_stream
from datum.repository.limits import OBJECT_LIMIT, WHOLE_LIMIT, too_large
from datum.repository.tree import NOTHING, GitTree, read_file, refuse_lfs_pointer

WORKTREE: Final = "worktree"
"""Stands in the place of the ref in the revision of a working tree."""

_NO_COMMIT: Final = "0" * 40
_ADVICE: Final = "Run git fsck in the clone; a new clone has what is missing."
_OWNER_EXECUTES: Final = 0o100
_CHUNK: Final = 1 << 18


def working_tree(folder: Path) -> SourceTree:
    """Return the files of a folder as they are on disk: all but `.git`, whether tracked, ignored or neither.

    Its revision is the commit of HEAD under the ref `worktree`, or all zeros without a repository or a commit.

    Raises:
        RepositoryError: there is no such folder, or its repository cannot be read.
    """
    if not folder.is_dir():
        raise _unreadable(folder, "there is no such folder")
    return WorkingTree(folder, Revision(_head(folder) or _NO_COMMIT, ref=WORKTREE))


def clone_tree(folder: Path, rev: str, *, open_output: OpenOutput | None = None) -> SourceTree:
    """Return the files of a revision of a clone, named by commit id, abbreviated or not, tag or branch.

    Args:
        folder: the top folder of the clone.
        rev: the revision.
        open_output: the door for programs with large output; without it large files are read whole.

    Raises:
        RevisionNotFoundError: no commit, or several, have that name.
        RepositoryError: the folder is not the top of a clone, or an object is missing or damaged.
    """
    from datum.repository.objects import ObjectReader

    objects = ObjectReader(folder, advice=_ADVICE, open_output=open_output)
    revision = objects.resolve(rev)
    return GitTree(revision, objects.root_tree(revision.commit), objects)


class WorkingTree:
    """The files below a folder. Object ids are computed when an entry is asked for; folders have none."""

    def __init__(self, folder: Path, revision: Revision) -> None:
        self._folder = folder
        self._revision = revision
        # Folders are listed once, so that one command sees one set of names.
        self._folders: dict[str, LazyEntries] = {}
        # Where the bytes of an object id were seen.
        self._paths: dict[str, str] = {}
        self._links: dict[str, str] = {}

    @property
    def revision(self) -> Revision:
        """The commit that the files are based on, under the ref `worktree`."""
        return self._revision

    def entry(self, path: str) -> TreeEntry | None:
        """Return what stands at the path, None if nothing does; `""` is the root.

        Raises:
            RepositoryError: it cannot be read.
        """
        if not path:
            return TreeEntry(EntryKind.FOLDER, "")
        folder, _, name = path.rpartition("/")
        return self.entries(folder).get(name)

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Return the names of a folder; empty if there is no such folder.

        Raises:
            RepositoryError: it cannot be read.
        """
        known = self._folders.get(folder)
        if known is not None:
            return known
        # Step by step, not by recursion: a manifest may name a path of a thousand folders.
        where, found = "", self._listed("")
        for name in folder.split("/") if folder else ():
            if found.kind(name) is not EntryKind.FOLDER:
                return NOTHING
            where = f"{where}/{name}" if where else name
            found = self._listed(where)
        return found

    def _listed(self, folder: str) -> "LazyEntries":
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._list(folder)
        return known

    def _list(self, folder: str) -> "LazyEntries":
        place = self._folder / folder
        try:
            with os.scandir(place) as children:
                kinds = {child.name: _kind(child) for child in children if child.name != ".git"}
        except OSError as error:
            raise _unreadable(place, str(error.strerror)) from error
        return LazyEntries(self, folder, {name: kind for name, kind in sorted(kinds.items()) if kind is not None})

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FleetError: there is no file there, or a symlink, submodule, folder or LFS pointer.
            RepositoryError: it cannot be read.
        """
        return read_file(self, path, lambda _: self.bytes_at(path, EntryKind.FILE))

    def open_blob(self, blob: str) -> BinaryIO:
        """Return a stream over the bytes of an object that this tree names. A large one is not held in memory.

        The end of the stream is reached only where the bytes are those of the object: else reading it raises.

        Raises:
            FleetError: the object is an LFS pointer.
            RepositoryError: no file has these bytes now.
        """
        path = self._paths.get(blob)
        if path is None and blob in self._links:
            data = self.bytes_at(self._links[blob], EntryKind.SYMLINK)
            if _blob_id(data) == blob:
                return io.BytesIO(data)
        if path is None:
            raise _changed(self._folder, f"of object {blob}")
        place = self._folder / path
        with contextlib.ExitStack() as closing:
            source = closing.enter_context(_open(place))
            size = os.fstat(source.fileno()).st_size
            if size > WHOLE_LIMIT:
                closing.pop_all()
                return blob_stream(source, blob, size, lambda _: _changed(place, f"of object {blob}"))
            with _reading(place):
                data = source.read()
        if _blob_id(data) != blob:
            raise _changed(place, f"of object {blob}")
        refuse_lfs_pointer(data, lambda: path, self._revision)
        return io.BytesIO(data)

    def bytes_at(self, path: str, kind: EntryKind) -> bytes:
        """Return the bytes that git would store for a file or link.

        Raises:
            FleetError: there are more than `OBJECT_LIMIT`.
            RepositoryError: they cannot be read.
        """
        place = self._folder / path
        with _reading(place):
            size = place.lstat().st_size
            if size > OBJECT_LIMIT:
                raise too_large(str(place), size)
            return os.fsencode(place.readlink()) if kind is EntryKind.SYMLINK else place.read_bytes()

    def identify(self, path: str, kind: EntryKind) -> TreeEntry:
        """Return the entry of a path of this kind, reading its bytes where it has some."""
        if kind in {EntryKind.FOLDER, EntryKind.GITLINK}:
            return TreeEntry(kind, "")
        if kind is EntryKind.SYMLINK:
            blob = _blob_id(self.bytes_at(path, kind))
            self._links[blob] = path
            return TreeEntry(kind, blob)
        blob = self._file_id(self._folder / path)
        self._paths[blob] = path
        return TreeEntry(kind, blob)

    def _file_id(self, place: Path) -> str:
        with _reading(place), _open(place) as source:
            left = os.fstat(source.fileno()).st_size
            hasher = hashlib.sha1(b"blob %d\0" % left, usedforsecurity=False)
            while chunk := source.read(_CHUNK):
                left -= len(chunk)
                hasher.update(chunk)
        if left:
            raise _changed(place, "that it had when it was opened")
        return hasher.hexdigest()


class LazyEntries(Mapping[str, TreeEntry]):
    """The names of a folder, sorted; an entry is computed when it is looked up."""

    def __init__(self, tree: WorkingTree, folder: str, kinds: Mapping[str, EntryKind]) -> None:
        self._tree = tree
        self._prefix = f"{folder}/" if folder else ""
        self._kinds = kinds
        self._known: dict[str, TreeEntry] = {}

    def kind(self, name: str) -> EntryKind | None:
        """Return what a name is without reading it; None if it is not there."""
        return self._kinds.get(name)

    def __getitem__(self, name: str) -> TreeEntry:
        if name not in self._known:
            self._known[name] = self._tree.identify(self._prefix + name, self._kinds[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


def _kind(child: os.DirEntry[str]) -> EntryKind | None:
    """Return what git would make of a directory entry; None for what it does not know, as sockets."""
    if child.is_symlink():
        return EntryKind.SYMLINK
    if child.is_dir():
        return EntryKind.GITLINK if os.path.lexists(f"{child.path}/.git") else EntryKind.FOLDER
    if not child.is_file():
        return None
    return EntryKind.EXECUTABLE if stat.S_IMODE(child.stat().st_mode) & _OWNER_EXECUTES else EntryKind.FILE


def _blob_id(data: bytes) -> str:
    # The id that git gives these bytes; no protection rests on it.
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _head(folder: Path) -> str | None:
    if not os.path.lexists(folder / ".git"):
        return None
    from datum.repository.objects import ObjectReader

    return ObjectReader(folder, advice=_ADVICE).head()


def _open(place: Path) -> io.BufferedReader:
    with _reading(place):
        # What is replaced by a FIFO meanwhile must not hang a command.
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    return io.BufferedReader(io.FileIO(descriptor), _CHUNK)


@contextlib.contextmanager
def _reading(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unreadable(place, str(error.strerror)) from error


def _changed(place: Path, what: str) -> RepositoryError:
    return RepositoryError(
        Diagnostic(
            code="worktree-changed",
            summary="The working tree changed.",
            detail=f"{place} no longer has the bytes {what}.",
            hint="Run the command again when nothing edits the files.",
        )
    )


def _unreadable(place: Path, reason: str) -> RepositoryError:
    return RepositoryError(
        Diagnostic(
            code="worktree-unreadable",
            summary="The working tree cannot be read.",
            detail=f"{place}: {reason}.",
            hint="Name the folder of the fleet repository, and run as a user that may read it.",
        )
    )
