"""All that lies in a directory: looked at by descriptor, and removed exactly as it was looked at.

No link is followed, no mount is entered. Right before a name goes, what it names is compared with what was seen:
whoever makes names there can have their own names removed that way, and nothing elsewhere.
"""

import errno
import os
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from attrs import define, field, frozen

from datum.host.failures import host_error, immutable_hint
from datum.host.identity import Actor, acting_as
from datum.host.mounts import MountTable
from datum.host.residue import is_residue_name
from datum.model.result import FailureCause
from datum.provider.host import HostError

ENTRIES_LIMIT: Final = 1_000_000
"""More entries than this are removed by nobody but a person."""

# Each level holds a descriptor; others may have made the directory.
_DEPTH_LIMIT: Final = 200
_NAMED: Final = 3
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
# What a removal says of a name that somebody replaced right before, or of a directory that is gone when it is opened.
_REPLACED: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})

Identity: TypeAlias = "tuple[int, int, int]"
"""Device, inode, kind."""


@frozen
class Tree:
    """What lay in a directory; paths are relative to it."""

    identity: Identity
    entries: Mapping[str, Identity]
    # Leftovers of our own killed writes; none of `entries`.
    leftovers: Mapping[str, Identity]
    # Those of `entries` on which something is mounted, and what the table of mounts names below; empty for itself.
    mounts: frozenset[str]


@define
class Survey:
    """One look at all that lies in a directory."""

    # As it was asked for, for people; and with well-known links replaced, as the table of mounts has it.
    path: str
    normal: str
    mounts: MountTable
    # Uids whose leftovers are ours; in each directory its owner's are, too.
    makers: Collection[int]
    limit: int = ENTRIES_LIMIT
    # See `Unobservable.discounted`.
    discounted: bool = False
    _entries: dict[str, Identity] = field(factory=dict, init=False)
    _leftovers: dict[str, Identity] = field(factory=dict, init=False)
    _mounts: set[str] = field(factory=set, init=False)

    def look(self, folder_fd: int, name: str) -> Tree | None:
        """Look at the directory of this name in an open folder; None if there is none.

        Raises:
            HostError: `too-many-entries`; or it cannot be looked at.
        """
        try:
            fd = os.open(name, _FOLDER, dir_fd=folder_fd)
        except OSError as error:
            if error.errno in _NO_FOLDER:
                return None
            raise host_error(error, "look at", self.path, discounted=self.discounted) from error
        status = os.fstat(fd)
        self._within(fd, status, "", 0)
        if self.mounts.is_mount_point(self.normal):
            self._mounts.add("")
        skipped = len(self.normal.rstrip("/")) + 1
        self._mounts.update(path[skipped:] for path in self.mounts.below(self.normal))
        return Tree(identity_of(status), self._entries, self._leftovers, frozenset(self._mounts))

    def _within(self, fd: int, folder: os.stat_result, prefix: str, depth: int) -> None:
        """Look at what an open directory holds, and close it."""
        try:
            if depth > _DEPTH_LIMIT:
                raise self._too_many(f"directories lie in each other, more than {_DEPTH_LIMIT} deep")
            for name in os.listdir(fd):
                try:
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                self._note(name, status, folder, prefix + name)
                if stat.S_ISDIR(status.st_mode) and prefix + name not in self._mounts:
                    self._enter(fd, name, prefix + name, depth)
        except OSError as error:
            where = f"{self.path.rstrip('/')}/{prefix}".rstrip("/")
            raise host_error(error, "look at", where, discounted=self.discounted) from error
        finally:
            os.close(fd)

    def _note(self, name: str, status: os.stat_result, folder: os.stat_result, where: str) -> None:
        if is_residue_name(name) and _may_be_leftover(status, {*self.makers, folder.st_uid}):
            self._leftovers[where] = identity_of(status)
            return
        self._entries[where] = identity_of(status)
        # an overlay gives files other devices than the directory that holds them
        is_other = stat.S_ISDIR(status.st_mode) and status.st_dev != folder.st_dev
        if is_other or self.mounts.is_mount_point(f"{self.normal.rstrip('/')}/{where}"):
            self._mounts.add(where)
        if len(self._entries) > self.limit:
            raise self._too_many(f"there are more than {self.limit} entries")

    def _enter(self, fd: int, name: str, where: str, depth: int) -> None:
        try:
            inner = os.open(name, _FOLDER, dir_fd=fd)
        except OSError as error:
            if error.errno in _NO_FOLDER:
                # replaced meanwhile; what it is now is compared with what was noted before anything is removed
                return
            raise host_error(
                error, "look at", f"{self.path.rstrip('/')}/{where}", discounted=self.discounted
            ) from error
        status = os.fstat(inner)
        if identity_of(status) != self._entries[where]:
            os.close(inner)
            return
        self._within(inner, status, f"{where}/", depth + 1)

    def _too_many(self, what: str) -> HostError:
        return HostError(
            f"'{self.path}' is not looked at any further: {what}.",
            code="too-many-entries",
            discounted=True,
            hint=f"look at it, and remove by hand what is not wanted: `du --inodes -d1 {self.path}`",
        )


def check_taken(tree: Tree, path: str, takes: Collection[str] | None) -> None:
    """Refuse to remove a directory in which more lies than may go.

    Args:
        tree: what lies in it.
        path: the directory, as `takes` spells it.
        takes: absolute paths of all that may go with it; None: anything.

    Raises:
        HostError: `holds-mount`, `directory-not-empty`; nothing was changed.
    """
    if tree.mounts:
        raise holds_mount(path, f"{path}/{min(tree.mounts)}".rstrip("/"))
    if takes is None:
        return
    taken = set(takes)
    more = sorted(found for entry in tree.entries if (found := f"{path}/{entry}") not in taken)
    if more:
        raise directory_not_empty(path, more)


@frozen
class Removal:
    """Removing a directory as it was looked at."""

    tree: Tree
    # For people.
    path: str
    # Whether this process is root's, and acts in each directory as its owner.
    is_root: bool

    def remove(self, folder_fd: int, name: str, actor: Actor | None) -> None:
        """Remove the directory of this name, deepest names first; what is gone already is no error.

        Args:
            folder_fd: the folder that holds it.
            name: its name.
            actor: in whose name names go in that folder.

        Raises:
            HostError: something else stands there now, or the system does not let us. What had gone before stays
                gone, the rest is as it was.
        """
        children: dict[str, list[str]] = {}
        for entry in (*self.tree.entries, *self.tree.leftovers):
            above, _, last = entry.rpartition("/")
            children.setdefault(above, []).append(last)
        self._remove_folder(folder_fd, name, "", actor, children)

    def _remove_folder(
        self, folder_fd: int, name: str, where: str, actor: Actor | None, children: Mapping[str, list[str]]
    ) -> None:
        if not self._is_there(folder_fd, name, where):
            return
        fd = self._open(folder_fd, name, where)
        try:
            status = os.fstat(fd)
            self._compare(status, where)
            own = Actor(status.st_uid, status.st_gid) if self.is_root and status.st_uid else None
            for last in sorted(children.get(where, ())):
                self._remove_entry(fd, last, f"{where}/{last}" if where else last, own, children)
        finally:
            os.close(fd)
        if self._is_there(folder_fd, name, where):
            with self._failing(folder_fd, name, where), suppress(FileNotFoundError), acting_as(actor):
                os.rmdir(name, dir_fd=folder_fd)

    def _open(self, folder_fd: int, name: str, where: str) -> int:
        with self._failing(folder_fd, name, where):
            return os.open(name, _FOLDER, dir_fd=folder_fd)

    def _remove_entry(
        self, folder_fd: int, name: str, where: str, actor: Actor | None, children: Mapping[str, list[str]]
    ) -> None:
        if stat.S_ISDIR(self._seen(where)[2]):
            self._remove_folder(folder_fd, name, where, actor, children)
        elif self._is_there(folder_fd, name, where):
            with self._failing(folder_fd, name, where), suppress(FileNotFoundError), acting_as(actor):
                os.unlink(name, dir_fd=folder_fd)

    def _is_there(self, folder_fd: int, name: str, where: str) -> bool:
        """Whether the name still names what was seen; False if it is gone."""
        try:
            status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        self._compare(status, where)
        return True

    def _compare(self, status: os.stat_result, where: str) -> None:
        if identity_of(status) != self._seen(where):
            raise changed_meanwhile(self._full(where))

    def _seen(self, where: str) -> Identity:
        if not where:
            return self.tree.identity
        return self.tree.entries.get(where) or self.tree.leftovers[where]

    def _full(self, where: str) -> str:
        return f"{self.path}/{where}" if where else self.path

    def _failing(self, folder_fd: int, name: str, where: str) -> "_Failing":
        return _Failing(folder_fd, name, self._full(where))


@frozen
class _Failing:
    """Turns an `OSError` of the block into a `HostError`."""

    folder_fd: int
    name: str
    path: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, OSError):
            return
        if error.errno in _REPLACED:
            raise changed_meanwhile(self.path) from error
        if error.errno == errno.ENOTEMPTY:
            raise directory_not_empty(self.path, ()) from error
        if error.errno == errno.EBUSY:
            raise holds_mount(self.path, self.path) from error
        hint = ""
        if error.errno == errno.EPERM:
            hint = immutable_hint(self.path, self.folder_fd, self.name)
        elif error.errno == errno.EACCES:
            hint = f"its directory lets not even its owner change it; `chmod u+rwx {self.path.rpartition('/')[0]}`"
        raise host_error(error, "remove", self.path, hint=hint) from error


def directory_not_empty(path: str, more: Collection[str]) -> HostError:
    """Return the refusal to remove a directory along with what nobody said may go."""
    named = ", ".join(f"'{each}'" for each in list(more)[:_NAMED])
    rest = f" and {len(more) - _NAMED} more" if len(more) > _NAMED else ""
    what = f"{named}{rest}, which the plan does not name" if named else "something that arrived meanwhile"
    return HostError(
        f"Cannot remove '{path}': in it lies {what}.",
        code="directory-not-empty",
        hint="plan again, and look at what would go",
    )


def holds_mount(path: str, mount: str) -> HostError:
    """Return the refusal to remove a directory in which something is mounted."""
    return HostError(
        f"Cannot remove '{path}': something is mounted on '{mount}'.",
        code="holds-mount",
        failure=FailureCause.BUSY,
        hint=f"`umount {mount}` first",
    )


def changed_meanwhile(path: str) -> HostError:
    """Return the refusal to remove what is not what was looked at."""
    return HostError(
        f"'{path}' is not what it was when it was looked at a moment ago; it stays.",
        code="changed-meanwhile",
        failure=FailureCause.BUSY,
    )


def identity_of(status: os.stat_result) -> Identity:
    """Return device, inode and kind."""
    return status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode)


def _may_be_leftover(status: os.stat_result, makers: Collection[int]) -> bool:
    is_single = (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)) and status.st_nlink == 1
    return is_single and status.st_uid in makers
