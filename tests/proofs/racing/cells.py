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
        "files/private/in": PRIVATE,
    }
)

Line = list[Any]
"""One entry for `lay_out`: path, kind, content or target, mode, uid, gid."""

_OWN: Final = {"owner": "mallory", "group": "mallory"}
_FILE: Final = {"content": "new\n", "mode": "0600", **_OWN}
_LOSES: Final = {"allow": ["data_loss"]}


@frozen
class Operation:
    """One way to write, and what has to stand there for it: a word of `_KINDS`."""

    type: str
    fields: Mapping[str, Any]
    stands: str = ""
    is_guarded: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether the user may race inside of what stands there, too."""
        return self.stands.startswith("directory")


OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        "file-create": Operation("file", _FILE),
        "file-update": Operation("file", _FILE, "file"),
        "file-attributes": Operation("file", {**_FILE, "content": "old\n"}, "file"),
        "file-validate": Operation("file", {**_FILE, "validate": ["/bin/true", "{path}"]}, "file"),
        "file-over-link": Operation("file", {**_FILE, **_LOSES}, "link"),
        "file-over-directory": Operation("file", {**_FILE, **_LOSES}, "directory"),
        "file-remove": Operation("file", {"absent": True}, "file"),
        "directory-create": Operation("directory", {"mode": "0750", **_OWN}),
        "directory-attributes": Operation("directory", {"mode": "0750", **_OWN}, "directory"),
        "directory-exclusive": Operation("directory", {**_OWN, "exclusive": True, "recurse": True}, "directory"),
        "directory-recursive": Operation("directory", {**_OWN, "recursive": ["owner", "group"]}, "directory"),
        "directory-over-file": Operation("directory", {"mode": "0750", **_OWN, **_LOSES}, "file"),
        "directory-remove": Operation("directory", {"absent": True, **_LOSES}, "directory"),
        "link-create": Operation("link", {"target": "new", **_OWN}),
        "link-repoint": Operation("link", {"target": "new", **_OWN}, "link"),
        "link-attributes": Operation("link", {"target": "old", **_OWN}, "link"),
        "link-over-directory": Operation("link", {"target": "new", **_OWN, **_LOSES}, "directory"),
        "link-remove": Operation("link", {"absent": True}, "link"),
        "tree-create": Operation("tree", {"source": "files/tree", **_OWN}),
        "tree-update": Operation("tree", {"source": "files/tree", **_OWN, "exclusive": True}, "directory"),
        "check-file": Operation("file", _FILE, "file", is_guarded=True),
        "check-attributes": Operation("file", {**_FILE, "content": "old\n"}, "file", is_guarded=True),
        "check-link": Operation("link", {"target": "new", **_OWN}, "link", is_guarded=True),
        "check-remove": Operation("directory", {"absent": True, **_LOSES}, "directory", is_guarded=True),
        "check-tree": Operation(
            "tree", {"source": "files/tree", **_OWN, "exclusive": True}, "directory", is_guarded=True
        ),
        "command": Operation("command", {"run": ["touch", "x"], "user": "mallory"}),
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
    return [name for name in RACES if operation.is_folder or not name.startswith("inner")]


def _directory(path: str, uid: int, gid: int, text: str) -> Iterator[Line]:
    yield [path, "directory", "", 0o755, uid, gid]
    yield [f"{path}/in", "file", text, 0o600, uid, gid]
    yield [f"{path}/deep", "directory", "", 0o755, uid, gid]
    yield [f"{path}/deep/in", "file", text, 0o600, uid, gid]


def _link(path: str, uid: int, gid: int, text: str) -> Iterator[Line]:
    yield [path, "link", "old", 0, uid, gid]


def _file(path: str, uid: int, gid: int, text: str) -> Iterator[Line]:
    yield [path, "file", text, 0o640, uid, gid]


_KINDS: Final[Mapping[str, Callable[[str, int, int, str], Iterator[Line]]]] = {
    "directory": _directory,
    "link": _link,
    "file": _file,
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
    stands = OPERATIONS[name].stands
    if stands:
        # of a group that the user may give files to, too, so that there is an owner to change
        yield from _KINDS[stands](f"{home}/top/dir/x", UID, CREW, "old\n")


def declare(cell: str, name: str) -> dict[str, Mapping[str, Any]]:
    """Return the resources of one cell."""
    operation = OPERATIONS[name]
    folder = f"{BASE}/{cell}/top/dir"
    if operation.type == "command":
        return {f"command:{cell}": {**operation.fields, "directory": folder, "creates": f"{folder}/x"}}
    target = f"{operation.type}:{folder}/x"
    found: dict[str, Mapping[str, Any]] = {target: operation.fields}
    if operation.is_guarded:
        found[f"check:{cell}"] = {"run": ["/bin/true"], "guards": [target]}
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
