"""The files of one revision, as the pure rooms see them."""

import enum
from collections.abc import Mapping
from typing import BinaryIO, Protocol

from attrs import frozen

from datum.model.revision import Revision


class EntryKind(enum.StrEnum):
    """What a path of the tree is."""

    FILE = "file"
    EXECUTABLE = "executable"
    FOLDER = "folder"
    SYMLINK = "symlink"
    # A submodule: a commit of another repository.
    GITLINK = "gitlink"


@frozen
class TreeEntry:
    """One name of one folder."""

    kind: EntryKind
    # Object id in hexadecimal.
    blob: str


class SourceTree(Protocol):
    """The tree of one revision. Paths are relative, `/` between names, no `.` and `..`.

    Reading goes through a reader that knows this one revision only; equal revisions give equal bytes.
    """

    @property
    def revision(self) -> Revision:
        """The revision whose tree this is."""
        ...

    def entry(self, path: str) -> TreeEntry | None:
        """Return what stands at the path, None if nothing does. Links in the tree are not followed."""
        ...

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Return the names of a folder; empty if there is no such folder. `""` is the root."""
        ...

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FleetError: there is no file there; a symlink, submodule or LFS pointer is named for what it is.
        """
        ...

    def open_blob(self, blob: str) -> BinaryIO:
        """Return a stream over the bytes of an object that this tree names.

        Raises:
            RepositoryError: the object is missing or damaged.
        """
        ...
