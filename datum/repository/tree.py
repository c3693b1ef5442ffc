"""The files of one commit, as a `SourceTree`; and why a path of a tree cannot be read as a file."""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import BinaryIO, Final, Protocol, TypeAlias

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import FleetError, RepositoryError
from datum.model.revision import Revision
from datum.model.source import EntryKind, TreeEntry

NOTHING: Final[Mapping[str, TreeEntry]] = MappingProxyType({})

# One line of a tree object: mode, name, twenty bytes of SHA-1.
_LINE: Final = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_KINDS: Final[Mapping[bytes, EntryKind]] = {
    b"40000": EntryKind.FOLDER,
    b"100644": EntryKind.FILE,
    b"100664": EntryKind.FILE,
    b"100755": EntryKind.EXECUTABLE,
    b"120000": EntryKind.SYMLINK,
    b"160000": EntryKind.GITLINK,
}
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_LFS_POINTER_LIMIT: Final = 1024


class ObjectSource(Protocol):
    """What a tree reads by; stays valid while its store is moved or packed again."""

    def read(self, object_id: str) -> bytes:
        """Return the bytes of an object, or raise `RepositoryError`."""
        ...

    def content(self, object_id: str) -> bytes | BinaryIO:
        """Return the bytes of a file, or a stream over them where they are many, or raise `RepositoryError`."""
        ...


class GitTree:
    """The tree of one commit. Folders are read when first asked for, and kept; paths as in `SourceTree`.

    Names that are not UTF-8 hold surrogates (`surrogateescape`), as everywhere in Python.
    """

    def __init__(self, revision: Revision, root: str, objects: ObjectSource) -> None:
        self._revision = revision
        self._root = TreeEntry(EntryKind.FOLDER, root)
        self._objects = objects
        self._folders: dict[str, Mapping[str, TreeEntry]] = {}

    @property
    def revision(self) -> Revision:
        """The revision whose tree this is."""
        return self._revision

    def entry(self, path: str) -> TreeEntry | None:
        """Return what stands at the path, None if nothing does; `""` is the root."""
        if not path:
            return self._root
        folder, _, name = path.rpartition("/")
        return self.entries(folder).get(name)

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Return the names of a folder; empty if there is no such folder.

        Raises:
            RepositoryError: a tree object is missing or damaged.
        """
        known = self._folders.get(folder)
        if known is not None:
            return known
        # Step by step, not by recursion: a manifest may name a path of a thousand folders.
        entry, where, found = self._root, "", self._folder_at("", self._root)
        for name in folder.split("/") if folder else ():
            below = found.get(name)
            if below is None or below.kind is not EntryKind.FOLDER:
                return NOTHING
            entry, where = below, f"{where}/{name}" if where else name
            found = self._folder_at(where, entry)
        return found

    def files(self) -> Iterator[str]:
        """Yield the object id of every file and link; each folder is read once, under however many paths it stands.

        A few kilobytes of trees can say 10^9 paths.

        Raises:
            RepositoryError: a tree object is missing or damaged.
        """
        seen, waiting = {self._root.blob}, [self._root.blob]
        while waiting:
            for entry in self._read_folder(waiting.pop()).values():
                if entry.kind is not EntryKind.FOLDER:
                    if entry.kind is not EntryKind.GITLINK:
                        yield entry.blob
                elif entry.blob not in seen:
                    seen.add(entry.blob)
                    waiting.append(entry.blob)

    def _folder_at(self, path: str, entry: TreeEntry) -> Mapping[str, TreeEntry]:
        known = self._folders.get(path)
        if known is None:
            known = self._folders[path] = self._read_folder(entry.blob)
        return known

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FleetError: there is no file there, or a symlink, submodule, folder or LFS pointer.
            RepositoryError: the object is missing or damaged.
        """
        return read_file(self, path, self._objects.read)

    def open_blob(self, blob: str) -> BinaryIO:
        """Return a stream over the bytes of an object that this tree names. A large one is not held in memory.

        The end of the stream is reached only where the bytes are those of the object: else reading it raises.

        Raises:
            FleetError: the object is an LFS pointer.
            RepositoryError: the object is missing or damaged.
        """
        found = self._objects.content(blob)
        if not isinstance(found, bytes):
            return found
        refuse_lfs_pointer(found, lambda: self._path_of(blob), self._revision)
        return io.BytesIO(found)

    def _path_of(self, blob: str) -> str:
        """Return a path read so far that names the object, for messages."""
        for folder, entries in self._folders.items():
            for name, entry in entries.items():
                if entry.blob == blob:
                    return f"{folder}/{name}".lstrip("/")
        return blob

    def _read_folder(self, tree: str) -> Mapping[str, TreeEntry]:
        try:
            return MappingProxyType(
                {
                    name.decode(errors="surrogateescape"): TreeEntry(_KINDS[mode], object_id.hex())
                    for mode, name, object_id in _LINE.findall(self._objects.read(tree))
                }
            )
        except KeyError as error:
            raise RepositoryError(
                Diagnostic(
                    code="object-damaged",
                    summary="A git object cannot be read.",
                    detail=f"Tree {tree} of {self._revision} has an entry of the unknown mode {error}.",
                    hint="Run git fsck --strict in the repository that it came from.",
                )
            ) from error


class _Tree(Protocol):
    @property
    def revision(self) -> Revision: ...
    def entry(self, path: str) -> TreeEntry | None: ...


# Code, what stands at the path, what to do.
_Refusal: TypeAlias = tuple[str, str, str]

_COMMIT_A_COPY: Final = "Commit the file itself there: only bytes that stand in the revision reach a host."
_NOTHING_THERE: Final[_Refusal] = ("path-missing", "nothing", "Commit the file, or correct the path.")
_LFS: Final[_Refusal] = ("path-is-lfs-pointer", "a Git LFS pointer", _COMMIT_A_COPY)
_REFUSALS: Final[Mapping[EntryKind, _Refusal]] = {
    EntryKind.FOLDER: ("path-is-folder", "a folder", "Name a file in it."),
    EntryKind.SYMLINK: ("path-is-symlink", "a symbolic link", _COMMIT_A_COPY),
    EntryKind.GITLINK: ("path-is-submodule", "a submodule", _COMMIT_A_COPY),
}


def read_file(tree: _Tree, path: str, read: Callable[[str], bytes]) -> bytes:
    """Return the bytes of the file at a path of a tree; `read` gets the object id.

    Raises:
        FleetError: no file stands there, or one that stands for another (symlink, submodule, LFS pointer).
    """
    entry = tree.entry(path)
    if entry is None:
        raise _refuse(path, _NOTHING_THERE, tree.revision)
    if entry.kind in _REFUSALS:
        raise _refuse(path, _REFUSALS[entry.kind], tree.revision)
    data = read(entry.blob)
    refuse_lfs_pointer(data, lambda: path, tree.revision)
    return data


def refuse_lfs_pointer(data: bytes, path: Callable[[], str], revision: Revision) -> None:
    """Let pass what is not the stand-in of a file that git-lfs keeps elsewhere.

    Raises:
        FleetError: these bytes are one.
    """
    if len(data) < _LFS_POINTER_LIMIT and data.startswith(_LFS_POINTER):
        raise _refuse(path(), _LFS, revision)


def _refuse(path: str, refusal: _Refusal, revision: Revision) -> FleetError:
    code, what, hint = refusal
    return FleetError(
        Diagnostic(
            location=SourceLocation(path),
            code=code,
            summary="There is no file at this path of the repository.",
            detail=f"'{path}' is {what} in revision {revision}.",
            hint=hint,
        )
    )
