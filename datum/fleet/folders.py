"""A folder of the repository as a whole: names, kinds and object ids, however deep. Pure."""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import define, field

from datum.model.content import Folder, FolderEntry
from datum.model.source import EntryKind, SourceTree, TreeEntry
from datum.provider.paths import PATH_MAX

# Names in one folder, counted as often as they stand there: a few kilobytes of trees can say 10^9 paths.
ENTRY_LIMIT: Final = 100_000

# gitformat-tree: mode, space, name, NUL, object id.
_MODES: Final = MappingProxyType(
    {
        EntryKind.FILE: b"100644",
        EntryKind.EXECUTABLE: b"100755",
        EntryKind.SYMLINK: b"120000",
        EntryKind.FOLDER: b"40000",
    }
)
_NO_NAMES: Final = frozenset({"", ".", ".."})


class FolderRefusedError(Exception):
    """Something in the folder cannot be taken to a host; or there is nothing in it."""

    def __init__(self, code: str, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint


def read_folder(tree: SourceTree, path: str) -> Folder:
    """Return a folder of the tree by its path; no file of it is read, links are.

    The id of the folder is computed from its entries as git does, so that a working tree and its commit give the same.

    Raises:
        FolderRefusedError: a submodule, a link without a usable text, a name that is none, too many names, or none.
        RepositoryError: the tree cannot be read.
        FleetError: the text of a link is no text of a link.
    """
    walk = _Walk(tree, path)
    walk.run()
    found = walk.tree_id()
    if found is None:
        raise FolderRefusedError("source-missing", f"{path} holds no file, and git keeps no empty folders.")
    return Folder(found, path, tuple(sorted(walk.entries, key=lambda entry: entry.path)))


@define
class _Walk:
    tree: SourceTree
    root: str
    entries: list[FolderEntry] = field(factory=list)
    # Every folder by its path below the root, a folder before those in it.
    folders: dict[str, Mapping[str, TreeEntry]] = field(factory=dict)

    def run(self) -> None:
        """Visit every name; step by step, not by recursion."""
        waiting, count = [""], 0
        while waiting:
            below = waiting.pop()
            found = self.folders[below] = self.tree.entries(f"{self.root}/{below}" if below else self.root)
            count += len(found)
            if count > ENTRY_LIMIT:
                detail = f"{self.root} holds more than {ENTRY_LIMIT:,} names."
                raise FolderRefusedError("folder-too-large", detail, "Name smaller folders.")
            prefix = f"{below}/" if below else ""
            for name, entry in found.items():
                path = prefix + name
                if entry.kind is EntryKind.FOLDER:
                    self._check(name, path)
                    waiting.append(path)
                else:
                    self._add(name, path, entry)

    def _add(self, name: str, path: str, entry: TreeEntry) -> None:
        self._check(name, path)
        if entry.kind is EntryKind.GITLINK:
            detail = f"{self.root}/{path} is a submodule, and submodules are not fetched."
            raise FolderRefusedError("not-a-file", detail, "Commit its files themselves.")
        link = self._link(path, entry.blob) if entry.kind is EntryKind.SYMLINK else ""
        self.entries.append(FolderEntry(path, entry.kind, entry.blob, link))

    def _check(self, name: str, path: str) -> None:
        if name in _NO_NAMES or "/" in name:
            detail = f"{self.root} holds the name {name!r}, which no file can have."
            raise FolderRefusedError("bad-path", detail, "Run git fsck --strict in the repository.")
        if len(path) > PATH_MAX:
            raise FolderRefusedError("folder-too-large", f"A path in {self.root} is longer than {PATH_MAX} bytes.")

    def _link(self, path: str, blob: str) -> str:
        with self.tree.open_blob(blob) as stream:
            data = stream.read(PATH_MAX + 1)
        if not data or len(data) > PATH_MAX or b"\0" in data:
            detail = f"{self.root}/{path} is a link whose text no link can have: 1 to {PATH_MAX} bytes without a NUL."
            raise FolderRefusedError("bad-link", detail, "Commit it anew, or remove it.")
        return data.decode(errors="surrogateescape")

    def tree_id(self) -> str | None:
        """Return the object id of the tree; folders without a file in them take no part."""
        algorithm = self.tree.revision.algorithm
        known: dict[str, str | None] = {}
        for below in reversed(self.folders):
            prefix = f"{below}/" if below else ""
            lines: list[tuple[bytes, bytes]] = []
            for name, entry in self.folders[below].items():
                is_folder = entry.kind is EntryKind.FOLDER
                blob = known[prefix + name] if is_folder else entry.blob
                if blob is not None:
                    raw = name.encode(errors="surrogateescape")
                    line = b"%s %s\0%s" % (_MODES[entry.kind], raw, bytes.fromhex(blob))
                    lines.append((raw + b"/" if is_folder else raw, line))
            known[below] = _hash(b"".join(line for _, line in sorted(lines)), algorithm) if lines else None
        return known[""]


def _hash(data: bytes, algorithm: str) -> str:
    hasher = hashlib.new(algorithm, b"tree %d\0" % len(data), usedforsecurity=False)
    hasher.update(data)
    return hasher.hexdigest()
