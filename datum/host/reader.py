"""Looking at one root: `HostReader` on this machine or an image. Effects: reads only.

A reader stands for one moment: what it read of accounts, mounts and packages it keeps, until something is changed
through the same root.
"""

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import define, field

from datum.host.failures import host_error
from datum.host.look import UnsteadyFileError, look_at, open_regular, read_up_to
from datum.host.mounts import MountTable
from datum.host.names import Account, NameTable
from datum.host.residue import is_residue_name, names_in, residue_names
from datum.host.root import HostRoot
from datum.host.running import RunningReader
from datum.host.walk import Folder, bad_path, exposures_of
from datum.model.observation import Machine
from datum.model.result import FailureCause
from datum.provider.host import Below, Command, CommandOutcome, Exposure, FileFacts, HostError, Missing

if TYPE_CHECKING:
    from datum.host.dpkg import PackageIndex
    from datum.host.slow import FileReader

# Bytes of one file of passwd, group or dpkg's database.
_DATABASE_LIMIT: Final = 256 << 20


@define
class _Known:
    """What one reader has read so far."""

    changes: tuple[int, int]
    mounts: MountTable | None = None
    names: NameTable | None = None
    packages: "PackageIndex | None" = None
    without: dict[str, frozenset[str]] = field(factory=dict)
    # By path of a directory.
    exposures: dict[str, tuple[Exposure, ...]] = field(factory=dict)


class LocalReader(RunningReader):
    """`HostReader` of one root."""

    def __init__(self, root: HostRoot, slow: "Callable[[MountTable], FileReader] | None") -> None:
        """Look at a root.

        Args:
            root: what to look at.
            slow: returns who looks below network and FUSE mounts; None in the child that does it.
        """
        self._root: Final = root
        self._walker: Final = root.walker
        self._slow: Final = slow
        self._known = _Known(root.changes)
        self._asked: set[str] = set()

    def share_asked(self, asked: set[str]) -> None:
        """Have the keys that `once` was asked for in common with the other readers and writers of a pass."""
        self._asked = asked

    def once(self, key: str) -> bool:
        """Return True the first time that a key is asked for in this pass, by whatever reader or writer of it."""
        is_first = key not in self._asked
        self._asked.add(key)
        return is_first

    @property
    def is_running_system(self) -> bool:
        """Whether the root is that of the running system (no `--root`)."""
        return self._root.is_running_system

    @property
    def caller(self) -> tuple[int, int]:
        """The effective uid and gid of this process."""
        return self._root.caller

    def examine(self, path: str, *, blob: str = "") -> FileFacts | Missing:
        """Look at a path without following a link; `blob`: `sha1` or `sha256` to hash a regular file's bytes.

        Where a file stands in the place of a directory on the way, that component is what is missing.

        Raises:
            HostError: a link stands on the way, or the path cannot be looked at.
        """
        mounts = self._mounts()
        slow = self._slow_reader(path, mounts)
        if slow is not None:
            return slow.examine(path, blob=blob)
        above, name = _split(path)
        folder = self._walker.folder(above)
        if isinstance(folder, str):
            return Missing(folder, exposures=self._exposures(folder))
        exposures = self._exposures(folder) if path != "/" else ()
        try:
            try:
                look = look_at(folder.fd, name, blob)
            except FileNotFoundError:
                return Missing(path, bool(residue_names(folder, name, self._makers())), exposures)
            status = look.status
            residue = path != "/" and residue_names(folder, name, self._makers(status.st_uid))
        except (OSError, UnsteadyFileError) as error:
            raise self._cannot_look(path, folder, error) from error
        where = path if path == "/" else f"{folder.path.rstrip('/')}/{name}"
        is_mount_point = mounts.is_mount_point(where)
        return FileFacts(
            kind=look.kind,
            mode=f"{stat.S_IMODE(status.st_mode):04o}",
            uid=status.st_uid,
            gid=status.st_gid,
            size=status.st_size,
            blob=look.blob,
            links=status.st_nlink,
            is_mount_point=is_mount_point,
            has_residue=bool(residue),
            identity=_identity(status),
            without=mounts.without(where) if is_mount_point else self._without(folder, mounts),
            link=look.link,
            modified=status.st_mtime_ns,
            exposures=exposures,
        )

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return at most `limit` bytes of a regular file.

        Raises:
            HostError: it is missing, no regular file, or cannot be read.
        """
        slow = self._slow_reader(path, self._mounts())
        if slow is not None:
            return slow.read_file(path, limit=limit)
        above, name = _split(path)
        folder = self._walker.folder(above)
        if isinstance(folder, str):
            raise _missing(path)
        try:
            status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise HostError(f"'{path}' is no regular file.", code="not-a-file")
            fd = open_regular(folder.fd, name, status.st_uid)
            try:
                return read_up_to(fd, limit)
            finally:
                os.close(fd)
        except FileNotFoundError:
            raise _missing(path) from None
        except OSError as error:
            raise self._cannot_look(path, folder, error) from error

    def list_directory(self, path: str, *, leftovers: bool = False) -> tuple[str, ...]:
        """Return the names in a directory, sorted: without those of leftovers of killed writes, or only those.

        Raises:
            HostError: it is missing, no directory, or cannot be read.
        """
        slow = self._slow_reader(path, self._mounts())
        if slow is not None:
            return slow.list_directory(path, leftovers=leftovers)
        folder = self._walker.folder(path)
        if isinstance(folder, str):
            raise _missing(path)
        try:
            return tuple(sorted(name for name in names_in(folder.fd) if is_residue_name(name) is leftovers))
        except OSError as error:
            raise self._cannot_look(path, folder, error) from error

    def below(self, path: str, *, limit: int) -> Below:
        """Return all that lies in a directory, at every depth; nothing if there is no directory.

        What is mounted in it is named and not looked at. A leftover of a killed write that may be removed unasked is
        told apart, since it goes with its directory.

        Raises:
            HostError: `too-many-entries`: there are more than `limit`; or it cannot be looked at.
        """
        mounts = self._mounts()
        slow = self._slow_reader(path, mounts)
        if slow is not None:
            return slow.below(path, limit=limit)
        above, name = _split(path)
        folder = self._walker.folder(above)
        if isinstance(folder, str):
            return Below()
        from datum.host.trees import Survey

        normal = path if path == "/" else f"{folder.path.rstrip('/')}/{name}"
        survey = Survey(path, normal, mounts, self._makers(), limit, discounted=folder.is_exposed)
        tree = survey.look(folder.fd, name)
        if tree is None:
            return Below()
        base = path.rstrip("/")
        mounted = sorted(f"{base}/{entry}" if entry else path for entry in tree.mounts)
        entries, leftovers = (
            tuple(sorted(f"{base}/{entry}" for entry in some)) for some in (tree.entries, tree.leftovers)
        )
        return Below(entries, tuple(mounted), leftovers)

    def user_id(self, name: str) -> int | None:
        """Return the uid of a user of this root, None if there is none of that name."""
        return self._names().user_id(name)

    def group_id(self, name: str) -> int | None:
        """Return the gid of a group of this root, None if there is none of that name."""
        return self._names().group_id(name)

    def user_name(self, uid: int) -> str:
        """Return the name of a uid of this root, or its digits."""
        return self._names().user_name(uid)

    def group_name(self, gid: int) -> str:
        """Return the name of a gid of this root, or its digits."""
        return self._names().group_name(gid)

    def package_of(self, path: str) -> str | None:
        """Return the name of the installed package that owns a path, from dpkg's file lists and diversions.

        Raises:
            HostError: the database is there and cannot be read.
        """
        known = self._fresh()
        if known.packages is None:
            from datum.host.dpkg import PackageIndex

            known.packages = PackageIndex.read(self._names_or_none, self._read_or_none)
        return known.packages.package_of(self._walker.spellings(self._walker.normal(path)))

    def machine(self) -> Machine:
        """Return what this machine is."""
        from datum.host.machine import read_machine

        return read_machine(self._root.path, is_running_system=self.is_running_system)

    def query(self, command: Command) -> CommandOutcome:
        """Run a program that only asks, with everything read-only where the system allows that.

        Raises:
            HostError: see `run_program`; `programs-not-run`.
        """
        return self._root.run(command, self._account, read_only=True)

    def _slow_reader(self, path: str, mounts: MountTable) -> "FileReader | None":
        """Return who looks at this path, if a look could hang for ever."""
        if self._slow is None or not mounts.network_or_fuse or not mounts.is_slow(self._walker.normal(path)):
            return None
        return self._slow(mounts)

    def _fresh(self) -> _Known:
        """Return what is known, without what a change since may have made wrong."""
        known, changes = self._known, self._root.changes
        if known.changes == changes:
            return known
        if known.changes[1] == changes[1]:
            known.changes, known.names = changes, None
            known.exposures.clear()
            return known
        self._known = _Known(changes)
        return self._known

    def _mounts(self) -> MountTable:
        known = self._fresh()
        if known.mounts is None:
            known.mounts = self._root.mounts.read()
        return known.mounts

    def _names(self) -> NameTable:
        known = self._fresh()
        if known.names is None:
            known.names = NameTable.read(self._read_or_none, asks_nss=self.is_running_system)
        return known.names

    def _account(self, user: str) -> Account:
        """Return the account of a name, else of digits.

        Raises:
            HostError: this root has none.
        """
        found = self._names().account(user)
        if found is None:
            raise HostError(
                f"No program can run as '{user}': there is no such user.",
                code="program-refused",
                failure=FailureCause.IMPOSSIBLE,
                hint=f"declare user:{user}, or name a user that is there",
            )
        return found

    def _without(self, folder: Folder, mounts: MountTable) -> frozenset[str]:
        """Return the fields that the file system of a folder cannot hold."""
        known = self._known.without
        if folder.path not in known:
            known[folder.path] = mounts.without(folder.path)
        return known[folder.path]

    def _exposures(self, folder: Folder | str) -> tuple[Exposure, ...]:
        """Return what keeps anything from being written in a directory, or at the component that is missing."""
        if isinstance(folder, str):
            folder = self._walker.folder(folder.rpartition("/")[0])
        if isinstance(folder, str) or not folder.doubtful:
            return ()
        known = self._known.exposures
        if folder.path not in known:
            # groups are read below folders of this root, which may ask for the same
            known[folder.path] = ()
            found = (exposures_of(*doubt, self.caller[0], self._shared_gid) for doubt in folder.doubtful)
            known[folder.path] = tuple(exposure for some in found for exposure in some)
        return known[folder.path]

    def _shared_gid(self, path: str) -> int | None:
        """Return the gid for which a resource declares a directory writable; None if none does, or it has no gid."""
        group = self._root.shared.get(path)
        if group is None:
            return None
        # digits are a number, also where a group has them as its name
        return int(group) if group.isascii() and group.isdecimal() else self.group_id(group)

    def _makers(self, *more: int) -> frozenset[int]:
        """Return the uids that leave leftovers of ours."""
        return frozenset({0, self.caller[0], *more})

    def _read_or_none(self, path: str) -> bytes | None:
        return None if isinstance(self.examine(path), Missing) else self.read_file(path, limit=_DATABASE_LIMIT)

    def _names_or_none(self, path: str) -> tuple[str, ...]:
        return () if isinstance(self.examine(path), Missing) else self.list_directory(path)

    def _cannot_look(self, path: str, folder: Folder, error: OSError | UnsteadyFileError) -> HostError:
        discounted = folder.is_exposed or self._mounts().slow_mount(folder.path) is not None
        if isinstance(error, OSError):
            return host_error(error, "look at", path, discounted=discounted)
        return HostError(f"'{path}' changes while it is read.", code="file-unsteady", discounted=discounted)


def _split(path: str) -> tuple[str, str]:
    """Return the folder of a path and its last component, which is `.` for the root.

    Raises:
        HostError: it could leave the root.
    """
    if path == "/":
        return "/", "."
    above, _, name = path.rpartition("/")
    if name in {"", ".", ".."}:
        raise bad_path(path)
    return above, name


def _missing(path: str) -> HostError:
    return HostError(f"'{path}' does not exist.", code="missing-file")


def _identity(status: os.stat_result) -> str:
    """Name a file that has no other link: seen under two names it is one thing by a bind mount."""
    if status.st_nlink != 1 or not stat.S_ISREG(status.st_mode):
        return ""
    return f"{status.st_dev}/{status.st_ino}"
