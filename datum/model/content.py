"""The bytes that a resource wants somewhere, named by the git object ids they have. Pure."""

import hashlib

from attrs import field, frozen

from datum.model.source import EntryKind


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """Return the object id git gives these bytes (gitformat-loose: hash of `blob <size>NUL<data>`)."""
    hasher = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    hasher.update(data)
    return hasher.hexdigest()


@frozen
class Content:
    """Bytes, either held here or named by a blob of the revision's tree.

    A file of the repository is compared with the id that the tree names, without reading the object.
    """

    # Object id in hexadecimal; its length tells the algorithm (40: sha1, 64: sha256).
    blob: str
    # The bytes, when they do not lie in the tree: inline text, a rendered template.
    inline: bytes | None = field(default=None, repr=False, eq=False)
    # Path in the repository they came from, for people.
    source: str = ""

    @classmethod
    def from_bytes(cls, data: bytes, *, source: str = "", algorithm: str = "sha1") -> "Content":
        """Hold these bytes."""
        return cls(blob_id(data, algorithm), inline=data, source=source)

    @property
    def algorithm(self) -> str:
        """`sha1` or `sha256`."""
        return "sha1" if len(self.blob) == 40 else "sha256"  # noqa: PLR2004


@frozen
class FolderEntry:
    """One name of a folder of the repository, however deep."""

    # Relative to the folder, `/` between names.
    path: str
    # FILE, EXECUTABLE or SYMLINK: folders are what paths imply, submodules are refused.
    kind: EntryKind
    # Object id in hexadecimal; of a link the id of its text.
    blob: str
    # Text of a link.
    link: str = ""


@frozen
class Folder:
    """A folder of the repository, as a type's field names it."""

    # Object id of its tree: equal for equal names, kinds and bytes.
    tree: str
    # Path in the repository, for people.
    source: str
    # Sorted by path.
    entries: tuple[FolderEntry, ...] = field(default=(), repr=False, eq=False)
