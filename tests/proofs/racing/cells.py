"""Cells of a user who races: in each one resource, in each resource one writing operation, and what it is raced with.

All cells of one operation are alike. Beside what the operation needs, each holds what the user exchanges names with;
and below `/srv/vault`, which is root's, stands the same once more, so that whoever is led there does there what was to
be done in the cell.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import frozen

from datum.host.residue import residue_name
from tests.proofs.stage import WITHOUT_NAMESPACES

BASE: Final = "/srv/mallory"
VAULT: Final = "/srv/vault"
STICKY: Final = "/srv/sticky"
SECRET: Final = "this is root's secret"
PRIVATE: Final = "nobody but root reads this"
UID: Final = 1000
GID: Final = 1000
CREW: Final = 1001
TEMPORARY: Final = residue_name("x", BASE)
FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "files/tree/in": "new\n",
        "files/tree/new": "new\n",
        "files/tree/deep/in": "new\n",
        # What stands in a cell.
        "files/same/in": "old\n",
        "files/same/deep/in": "old\n",
        # A file where a directory stands.
        "files/other/deep": "new\n",
        "files/links/in": "new\n",
        "files/private/in": PRIVATE,
    }
)
LINKS: Final[Mapping[str, str]] = MappingProxyType({"files/links/new": "in", "files/links/deep/new": "in"})

Line = list[Any]
"""One entry for `lay_out`: path, kind, content or target, mode, uid, gid."""

_OWN: Final = {"owner": "mallory", "group": "mallory"}
_FILE: Final = {"content": "new\n", "mode": "0600", **_OWN}
_LOSES: Final = {"allow": ["data_loss"]}
_ACCEPTS: Final = "/bin/true"
_REFUSES: Final = "/bin/false"


@frozen
class Operation:
    """One way to write, and what has to stand there for it: a word of `_KINDS`."""

    type: str
    fields: Mapping[str, Any]
    stands: str = ""
    # The program that judges it before it is there, or after where there are no namespaces.
    check: str = ""
    # Whether a write was killed here before.
    has_leftover: bool = False
    # Whether something is mounted on what stands there, so that the user cannot rename it.
    is_mounted: bool = False
    # Whether its declaration is dropped: it is in sync before.
    is_dropped: bool = False
    # Of the groups that are judged by checks the one in which it is raced: the other refuses it, or does as without a
    # check; empty: in both.
    only: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether the user may race inside of what stands there, too."""
        return self.stands.startswith("directory")

    @property
    def is_refused(self) -> bool:
        """Whether nothing is to come of it."""
        return self.check == _REFUSES


_UPDATED: Final = {"source": "files/tree", **_OWN, "exclusive": True}

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        "file-create": Operation("file", _FILE),
        "file-seed": Operation("file", {**_FILE, "seed": True}),
        "file-update": Operation("file", _FILE, "file"),
        "file-attributes": Operation("file", {**_FILE, "content": "old\n"}, "file"),
        "file-validate": Operation("file", {**_FILE, "validate": ["/bin/true", "{path}"]}, "file"),
        "file-in-place": Operation("file", _FILE, "file", is_mounted=True),
        "file-over-link": Operation("file", {**_FILE, **_LOSES}, "link"),
        "file-over-pipe": Operation("file", {**_FILE, **_LOSES}, "pipe"),
        "file-over-directory": Operation("file", {**_FILE, **_LOSES}, "directory"),
        "file-remove": Operation("file", {"absent": True}, "file"),
        "file-dropped": Operation("file", {"content": "old\n", "on_removal": "delete"}, "file", is_dropped=True),
        "file-leftover": Operation("file", {"content": "old\n"}, "file", has_leftover=True),
        "file-leftover-of-none": Operation("file", {"absent": True}, has_leftover=True),
        "directory-create": Operation("directory", {"mode": "0750", **_OWN}),
        "directory-attributes": Operation("directory", {"mode": "0750", **_OWN}, "directory"),
        "directory-exclusive": Operation("directory", {**_OWN, "exclusive": True, "recurse": True}, "directory"),
        "directory-one-level": Operation("directory", {**_OWN, "exclusive": True}, "directory"),
        "directory-recursive": Operation("directory", {**_OWN, "recursive": ["owner", "group"]}, "directory"),
        "directory-over-file": Operation("directory", {"mode": "0750", **_OWN, **_LOSES}, "file"),
        "directory-over-link": Operation("directory", {"mode": "0750", **_OWN, **_LOSES}, "link"),
        "directory-remove": Operation("directory", {"absent": True, **_LOSES}, "directory"),
        "directory-leftover": Operation("directory", {}, "directory", has_leftover=True),
        "link-create": Operation("link", {"target": "new", **_OWN}),
        "link-repoint": Operation("link", {"target": "new", **_OWN}, "link"),
        "link-attributes": Operation("link", {"target": "old", **_OWN}, "link"),
        "link-over-file": Operation("link", {"target": "new", **_OWN, **_LOSES}, "file"),
        "link-over-directory": Operation("link", {"target": "new", **_OWN, **_LOSES}, "directory"),
        "link-remove": Operation("link", {"absent": True}, "link"),
        "link-leftover": Operation("link", {"target": "old"}, "link", has_leftover=True),
        "tree-create": Operation("tree", {"source": "files/tree", **_OWN}),
        "tree-update": Operation("tree", _UPDATED, "directory"),
        "tree-links": Operation("tree", {"source": "files/links", **_OWN, "links": "keep"}, "directory"),
        "tree-attributes": Operation("tree", {"source": "files/same", **_OWN, "mode": "0640"}, "directory"),
        "tree-over-directory": Operation("tree", {"source": "files/other", **_OWN, **_LOSES}, "directory"),
        "tree-remove": Operation("tree", {"absent": True, **_LOSES}, "directory"),
        "tree-leftover": Operation("tree", {"source": "files/same"}, "directory", has_leftover=True),
        "command": Operation("command", {"run": ["touch", "x"], "user": "mallory"}),
        "check-create": Operation("file", _FILE, check=_ACCEPTS, only="written"),
        "check-file": Operation("file", _FILE, "file", _ACCEPTS),
        "check-attributes": Operation("file", {**_FILE, "content": "old\n"}, "file", _ACCEPTS),
        "check-link": Operation("link", {"target": "new", **_OWN}, "link", _ACCEPTS),
        "check-remove": Operation("directory", {"absent": True, **_LOSES}, "directory", _ACCEPTS, only="check"),
        "check-remove-file": Operation("file", {"absent": True}, "file", _ACCEPTS, only="written"),
        "check-tree": Operation("tree", _UPDATED, "directory", _ACCEPTS),
        "check-leftover": Operation("file", {"content": "old\n"}, "file", _ACCEPTS, has_leftover=True),
        "check-refuses-create": Operation("file", _FILE, check=_REFUSES, only="written"),
        "check-refuses-file": Operation("file", _FILE, "file", _REFUSES),
        "check-refuses-attributes": Operation("file", {**_FILE, "content": "old\n"}, "file", _REFUSES, only="written"),
        "check-refuses-link": Operation("link", {"target": "new", **_OWN}, "link", _REFUSES),
        "check-refuses-remove": Operation("file", {"absent": True}, "file", _REFUSES, only="written"),
    }
)


@frozen
class Group:
    """Operations that are raced in one pass."""

    operations: tuple[str, ...]
    # Classes and methods by which they write.
    reaches: frozenset[str]
    # Put before the command.
    prefix: tuple[str, ...] = ()

    @property
    def windows(self) -> int:
        """How many there are at most, of one race of one operation; a tree makes the same calls for each of its files.

        What is judged by a check is written by what writes without one, and costs more.
        """
        return 3 if self.operations[0].startswith("check") else 6

    @property
    def is_written(self) -> bool:
        """Whether what a check judges has to be there before."""
        return bool(self.prefix)


def _group(*types: str, reaches: tuple[str, ...], prefix: tuple[str, ...] = ()) -> Group:
    other = "check" if prefix else "written"
    of_types = (name for name in OPERATIONS if name.partition("-")[0] in types)
    names = tuple(name for name in of_types if OPERATIONS[name].only != other)
    return Group(names, frozenset(reaches), prefix)


def _ways(of: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{of}.{name}" for name in names)


_STAGES: Final = _ways("StagingWriter", "write_file", "write_link", "set_attributes", "remove_residue")
GROUPS: Final[Mapping[str, Group]] = MappingProxyType(
    {
        "file": _group(
            "file",
            reaches=(
                *_ways("LocalWriter", "write_file", "set_attributes", "remove_file", "remove_residue"),
                "StagingWriter.write_file",
                "Put.commit",
            ),
        ),
        "directory": _group(
            "directory",
            reaches=_ways(
                "LocalWriter", "make_directory", "set_attributes", "remove_file", "remove_directory", "remove_residue"
            ),
        ),
        "link": _group(
            "link",
            "command",
            reaches=_ways("LocalWriter", "write_link", "set_attributes", "remove_file", "remove_residue", "run"),
        ),
        "tree": _group(
            "tree",
            reaches=_ways(
                "LocalWriter",
                *("write_file", "write_link", "make_directory", "set_attributes", "remove_directory", "remove_residue"),
            ),
        ),
        "check": _group(
            "check",
            reaches=(
                *_STAGES,
                "StagingWriter.remove_directory",
                *_ways("Put", "commit", "discard"),
                *(f"{of}.commit" for of in ("AttributesChange", "Removal", "ResidueRemoval")),
            ),
        ),
        "written": _group(
            "check",
            reaches=(
                *_STAGES,
                "StagingWriter.remove_file",
                *_ways("Put", "keep", "restore", "drop"),
                *_ways("AttributesChange", "keep", "restore", "drop"),
                *_ways("Removal", "keep", "restore", "drop"),
                "ResidueRemoval.drop",
            ),
            prefix=WITHOUT_NAMESPACES,
        ),
    }
)

# Names below a cell that the user exchanges.
RACES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "above-for-link": ("top", "to-top"),
        "parent-for-link": ("top/dir", "to-dir"),
        "parent-for-directory": ("top/dir", "other"),
        "target-for-hard-link": ("top/dir/x", "hard"),
        "target-for-link": ("top/dir/x", "to-x"),
        "target-for-pipe": ("top/dir/x", "pipe"),
        "target-for-directory": ("top/dir/x", "other"),
        "new-for-hard-link": (f"top/dir/{TEMPORARY}", "hard"),
        "new-for-link": (f"top/dir/{TEMPORARY}", "to-x"),
        "new-for-pipe": (f"top/dir/{TEMPORARY}", "pipe"),
        "new-for-directory": (f"top/dir/{TEMPORARY}", "other"),
        "inner-for-hard-link": ("top/dir/x/in", "hard"),
        "inner-for-link": ("top/dir/x/deep", "to-deep"),
        "inner-for-directory": ("top/dir/x/deep", "other"),
    }
)


def races_of(operation: Operation) -> list[str]:
    """Return the names of the races that concern an operation."""
    missing = {"inner": not operation.is_folder, "target": operation.is_mounted}
    return [name for name in RACES if not missing.get(name.partition("-")[0])]


def _directory(path: str, uid: int, gid: int, text: str) -> Iterator[Line]:
    yield [path, "directory", "", 0o755, uid, gid]
    yield [f"{path}/in", "file", text, 0o600, uid, gid]
    yield [f"{path}/deep", "directory", "", 0o755, uid, gid]
    yield [f"{path}/deep/in", "file", text, 0o600, uid, gid]


def _link(path: str, uid: int, gid: int, text: str) -> Iterator[Line]:
    yield [path, "link", "old", 0, uid, gid]


def _file(path: str, uid: int, gid: int, text: str) -> Iterator[Line]:
    yield [path, "file", text, 0o640, uid, gid]


def _pipe(path: str, uid: int, gid: int, text: str) -> Iterator[Line]:
    yield [path, "fifo", "", 0o640, uid, gid]


_KINDS: Final[Mapping[str, Callable[[str, int, int, str], Iterator[Line]]]] = {
    "directory": _directory,
    "link": _link,
    "file": _file,
    "pipe": _pipe,
}


def lay_out_vault() -> Iterator[Line]:
    """What root has: for each operation what the cell has, and private."""
    yield [VAULT, "directory", "", 0o755, 0, 0]
    for name, operation in OPERATIONS.items():
        yield [f"{VAULT}/{name}", "directory", "", 0o755, 0, 0]
        yield [f"{VAULT}/{name}/dir", "directory", "", 0o755, 0, 0]
        yield [f"{VAULT}/{name}/secret", "file", SECRET, 0o600, 0, 0]
        if operation.stands:
            yield from _KINDS[operation.stands](f"{VAULT}/{name}/dir/x", 0, 0, SECRET)
        if operation.has_leftover:
            yield from _file(f"{VAULT}/{name}/dir/{TEMPORARY}", 0, 0, SECRET)


def lay_out_cell(cell: str, name: str) -> Iterator[Line]:
    """What the user has in one cell."""
    home, vault = f"{BASE}/{cell}", f"{VAULT}/{name}"
    for folder in (home, f"{home}/top", f"{home}/top/dir", f"{home}/other"):
        yield [folder, "directory", "", 0o755, UID, GID]
    yield [f"{home}/other/mine", "file", "mine\n", 0o644, UID, GID]
    yield [f"{home}/pipe", "fifo", "", 0o666, UID, GID]
    yield [f"{home}/hard", "hard", f"{vault}/secret", 0, 0, 0]
    for link, target in (("to-top", ""), ("to-dir", "/dir"), ("to-x", "/dir/x"), ("to-deep", "/dir/x/deep")):
        yield [f"{home}/{link}", "link", vault + target, 0, UID, GID]
    operation = OPERATIONS[name]
    if operation.stands:
        # of a group that the user may give files to, too, so that there is an owner to change
        yield from _KINDS[operation.stands](f"{home}/top/dir/x", UID, CREW, "old\n")
    if operation.has_leftover:
        yield from _file(f"{home}/top/dir/{TEMPORARY}", UID, GID, "half of someth")
    if operation.is_mounted:
        yield from _file(f"{home}/mounted", UID, CREW, "old\n")
        yield [f"{home}/top/dir/x", "mount", f"{home}/mounted", 0, 0, 0]


def declare(cell: str, name: str) -> dict[str, Mapping[str, Any]]:
    """Return the resources of one cell."""
    operation = OPERATIONS[name]
    folder = f"{BASE}/{cell}/top/dir"
    if operation.type == "command":
        return {f"command:{cell}": {**operation.fields, "directory": folder, "creates": f"{folder}/x"}}
    target = f"{operation.type}:{folder}/x"
    found: dict[str, Mapping[str, Any]] = {target: operation.fields}
    if operation.check:
        found[f"check:{cell}"] = {"run": [operation.check], "guards": [target]}
    return found


HERS: Final = ("file", "pipe", "folder", "link")
"""What the user has in a cell where everybody makes names; root's resource has the name `x` there."""

STICKY_OPERATIONS: Final = ("directory", "file", "link", "tree")
"""What root makes in such a cell."""


def lay_out_sticky_cell(cell: str) -> Iterator[Line]:
    """What stands in a cell where everybody makes names. The user gives what is in it an access control list after."""
    home = f"{STICKY}/{cell}"
    yield [home, "directory", "", 0o1777, 0, 0]
    yield [f"{home}/file", "file", "hers\n", 0o4777, UID, GID]
    yield [f"{home}/pipe", "fifo", "", 0o666, UID, GID]
    yield [f"{home}/folder", "directory", "", 0o777, UID, GID]
    yield [f"{home}/link", "link", f"{VAULT}/file-create/secret", 0, UID, GID]


def declare_sticky(cell: str, operation: str) -> dict[str, Mapping[str, Any]]:
    """Return the resources of one such cell: all root's, and nothing left undeclared."""
    path, owned = f"{STICKY}/{cell}/x", {"owner": "root", "group": "root"}
    private = {"content": PRIVATE, "mode": "0640", **owned}
    if operation == "directory":
        return {f"directory:{path}": {"mode": "0755", **owned}, f"file:{path}/in": private}
    if operation == "tree":
        return {f"tree:{path}": {"source": "files/private", "mode": "0640", **owned}}
    if operation == "link":
        return {f"link:{path}": {"target": "new", **owned}}
    return {f"file:{path}": private}
