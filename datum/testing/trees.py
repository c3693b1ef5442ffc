"""A `SourceTree` in memory, for tests of what reads a fleet repository. Pure."""

import io
from collections.abc import Mapping
from typing import BinaryIO, Final, TypeAlias

from attrs import field, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import FleetError, RepositoryError
from datum.model.content import blob_id
from datum.model.revision import Revision
from datum.model.source import EntryKind, TreeEntry

_LFS: Final = b"version https://git-lfs.github.com/spec/"


@frozen
class Executable:
    """A file with the executable bit."""

    data: bytes


@frozen
class Symlink:
    """A symbolic link, which nothing follows."""

    target: str


@frozen
class Gitlink:
    """A submodule."""

    commit: str = "1" * 40


TreeFile: TypeAlias = "bytes | str | Executable | Symlink | Gitlink"


def _revision() -> Revision:
    return Revision("0" * 40, ref="main")


@frozen
class MemoryTree:
    """The files of one revision, from a mapping of paths; folders follow from the paths."""

    files: Mapping[str, TreeFile]
    revision: Revision = field(factory=_revision)

    def entry(self, path: str) -> TreeEntry | None:
        """Return what stands at the path, None if nothing does."""
        found = self.files.get(path)
        if found is not None:
            return TreeEntry(*self._kind(found))
        if any(name.startswith(f"{path}/") for name in self.files):
            return TreeEntry(EntryKind.FOLDER, blob_id(path.encode()))
        return None

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Return the names of a folder; `""` is the root."""
        prefix = f"{folder}/" if folder else ""
        names = {name.removeprefix(prefix).partition("/")[0] for name in self.files if name.startswith(prefix)}
        found = {name: self.entry(prefix + name) for name in sorted(names)}
        return {name: entry for name, entry in found.items() if entry is not None}

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FleetError: there is no file there, or it is a symlink, submodule or LFS pointer.
        """
        found = self.files.get(path)
        if isinstance(found, (Symlink, Gitlink)) or found is None:
            entry = self.entry(path)
            raise _no_file(path, f"{path} is a {entry.kind}." if entry else f"There is no {path}.")
        data = _bytes(found)
        if data.startswith(_LFS):
            raise _no_file(path, f"{path} is a pointer of Git LFS.")
        return data

    def open_blob(self, blob: str) -> BinaryIO:
        """Return a stream over the bytes of an object of this tree.

        Raises:
            FleetError: the object is a pointer of Git LFS.
            RepositoryError: there is none.
        """
        for path, found in self.files.items():
            if not isinstance(found, Gitlink) and self._kind(found)[1] == blob:
                data = _bytes(found)
                if data.startswith(_LFS):
                    raise _no_file(path, f"{path} is a pointer of Git LFS.")
                return io.BytesIO(data)
        raise RepositoryError(Diagnostic(code="object-missing", summary="An object is missing.", detail=blob))

    def _kind(self, found: TreeFile) -> tuple[EntryKind, str]:
        algorithm = self.revision.algorithm
        match found:
            case Symlink():
                return EntryKind.SYMLINK, blob_id(_bytes(found), algorithm)
            case Gitlink(commit=commit):
                return EntryKind.GITLINK, commit
            case Executable(data=data):
                return EntryKind.EXECUTABLE, blob_id(data, algorithm)
            case _:
                return EntryKind.FILE, blob_id(_bytes(found), algorithm)


def _bytes(found: bytes | str | Executable | Symlink) -> bytes:
    if isinstance(found, Executable):
        return found.data
    if isinstance(found, Symlink):
        return found.target.encode(errors="surrogateescape")
    return found.encode() if isinstance(found, str) else found


def _no_file(path: str, detail: str) -> FleetError:
    return FleetError(
        Diagnostic(
            code="not-a-file",
            location=SourceLocation(path),
            summary="Something else stands where a file is wanted.",
            detail=detail,
        )
    )
