"""The way to a path: by descriptor from the root, one component at a time, never through a symbolic link.

Reading keeps a few folders open, since callers ask in sorted order. Writing walks anew each time and knows of every
folder on the way who owns it and who may write in it (design 4.7).
"""

import collections
import errno
import os
import stat
from collections.abc import Callable, Collection
from typing import Final, NoReturn, Self

from attrs import field, frozen

from datum.host.failures import host_error, unsafe_path
from datum.model.observation import Cause
from datum.provider.host import Exposure, HostError
from datum.provider.paths import normal_path

_FOLDER: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FOLDERS: Final = 32

# Links that distributions ship: where the link stands, what it may say, what it means.
_KNOWN_LINKS: Final = (
    ("/var/run", frozenset({"/run", "../run"}), "/run"),
    ("/var/lock", frozenset({"/run/lock", "../run/lock"}), "/run/lock"),
    *(
        (f"/{name}", frozenset({f"usr/{name}", f"/usr/{name}"}), f"/usr/{name}")
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
    ),
)
_BELOW_KNOWN_LINKS: Final = tuple(f"{link}/" for link, _, _ in _KNOWN_LINKS)


@frozen
class Folder:
    """An open directory of the root."""

    # Opened with O_PATH.
    fd: int
    # Below the root, well-known links replaced.
    path: str
    status: os.stat_result
    # Anyone but root and the caller can write in it, or in one above it.
    is_exposed: bool
    # Path and status of every directory on the way, itself included, that `exposures_of` may have a word on.
    doubtful: tuple[tuple[str, os.stat_result], ...] = ()

    @property
    def is_sticky(self) -> bool:
        """Whether names in it belong to who made them."""
        return bool(self.status.st_mode & stat.S_ISVTX)


@frozen
class Trail:
    """Every folder on the way to a path, the root first, all open until `close`."""

    # As it was asked for.
    path: str
    # The last component; empty for the root itself.
    name: str
    folders: tuple[Folder, ...]
    # Names between the last folder and the path: of directories that will stand there.
    coming: tuple[str, ...] = ()

    @property
    def folder(self) -> Folder:
        """The folder that holds the path; the nearest one where directories on the way are still to come."""
        return self.folders[-1]

    @property
    def normal(self) -> str:
        """The path with well-known links replaced."""
        return "/".join((self.folder.path.rstrip("/"), *self.coming, self.name))

    @property
    def user(self) -> int:
        """The owner of the topmost folder that is not root's, 0 if all are."""
        return next((folder.status.st_uid for folder in self.folders if folder.status.st_uid), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self.folders:
            os.close(folder.fd)

    def check(self, owner: int, caller: int, shared: Callable[[str], int | None]) -> None:
        """Refuse a way that somebody else could turn elsewhere.

        Args:
            owner: uid of the resource's owner; the root itself may not be theirs.
            caller: uid of this process.
            shared: returns the gid of the group for which a folder may be writable, since a resource declares it so.

        Raises:
            HostError: `unsafe-path`, naming the component.
        """
        for folder in self.folders:
            for found in exposures_of(folder.path, folder.status, caller, shared):
                if found.owner is None or found.owner != owner:
                    raise unsafe_path(found.sentence(self.path), hint=found.hint)


def _none_open() -> "collections.OrderedDict[str, Folder]":
    return collections.OrderedDict()


@frozen
class Walker:
    """Opens folders below one root. At most 32 stay open between calls; `close` ends it."""

    _root: Folder
    _caller: int
    _open: "collections.OrderedDict[str, Folder]" = field(factory=_none_open)
    # Well-known links as this root has them; filled at the first question.
    _links: dict[str, str] = field(factory=dict)

    @classmethod
    def start(cls, root: str, caller: int) -> "Walker":
        """Open the root.

        Raises:
            HostError: it is no directory, or out of reach.
        """
        try:
            # A person names the root; a link there is theirs.
            fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            status = os.fstat(fd)
        except OSError as error:
            raise host_error(error, "open the root directory", root) from error
        is_exposed = _lets_others_write(status, caller)
        return cls(Folder(fd, "/", status, is_exposed, _doubt("/", status, caller)), caller)

    def close(self) -> None:
        """Close every folder."""
        self.forget()
        os.close(self._root.fd)

    def forget(self) -> None:
        """Close what was kept open: the next question walks anew."""
        for folder in self._open.values():
            os.close(folder.fd)
        self._open.clear()
        self._links.clear()

    def normal(self, path: str) -> str:
        """Return the path with a well-known link on its way replaced; the last component never is."""
        # All paths are asked about, several times each, and nearly none lies below one.
        for link, texts, target in _KNOWN_LINKS if path.startswith(_BELOW_KNOWN_LINKS) else ():
            if path.startswith(f"{link}/"):
                if link not in self._links:
                    self._links[link] = target if self._is_known_link(link, texts) else link
                return self._links[link] + path[len(link) :]
        return path

    def spellings(self, path: str) -> tuple[str, ...]:
        """Return a normal path and its other spellings through well-known links."""
        found = [path]
        for link, _, target in _KNOWN_LINKS:
            if path.startswith(target + "/"):
                other = link + path[len(target) :]
                if self.normal(other) == path:
                    found.append(other)
        return tuple(found)

    def folder(self, path: str) -> Folder | str:
        """Return the directory at a path, kept open until others push it out.

        Returns:
            The folder; or, where a component is missing or no directory, the path up to that component.

        Raises:
            HostError: a symbolic link stands on the way, or it cannot be looked at.
        """
        if path in {"/", ""}:
            return self._root
        # Keys are normal, so another spelling is never taken for one.
        known = self._open.get(path)
        normal = path if known is not None else self.normal(path + "/")[:-1]
        if normal != path:
            known = self._open.get(normal)
        if known is not None:
            self._open.move_to_end(normal)
            return known
        parent = self.folder(normal.rpartition("/")[0])
        if isinstance(parent, str):
            return _as_asked(path, normal, parent)
        found = self._enter(parent, normal)
        if found is None:
            return path
        self._open[normal] = found
        if len(self._open) > _OPEN_FOLDERS:
            os.close(self._open.popitem(last=False)[1].fd)
        return found

    def trail(self, path: str, coming: Collection[str] = ()) -> Trail:
        """Walk to a path for writing; nothing kept open is used.

        Args:
            path: where to.
            coming: normal paths of directories that will be made before anything is written at the path, whatever
                stands there now. The way ends above the first of them.

        Raises:
            HostError: a component is missing, a link or no directory; or the path is no normal path.
        """
        try:
            is_normal = normal_path(path) == path
        except ValueError:
            is_normal = False
        if not is_normal:
            raise bad_path(path)
        components = self.normal(path).split("/")[1:]
        root = Folder(os.dup(self._root.fd), "/", os.fstat(self._root.fd), is_exposed=self._root.is_exposed)
        folders = [root]
        try:
            for depth in range(1, len(components)):
                where = "/" + "/".join(components[:depth])
                if where in coming:
                    return Trail(path, components[-1], tuple(folders), tuple(components[depth - 1 : -1]))
                folders.append(self._enter(folders[-1], where) or _raise_not_there(folders[-1], where, path))
        except BaseException:
            Trail(path, "", tuple(folders)).__exit__()
            raise
        return Trail(path, components[-1], tuple(folders))

    def _enter(self, parent: Folder, path: str) -> Folder | None:
        """Open one directory below another; None if there is none of that name."""
        name = path.rpartition("/")[2]
        if name in {".", ".."}:
            raise bad_path(path)
        try:
            fd = os.open(name, _FOLDER, dir_fd=parent.fd)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            if is_link(parent.fd, name):
                raise _loop(path, parent) from None
            return None
        except OSError as error:
            raise host_error(error, "enter", path, discounted=parent.is_exposed) from error
        try:
            status = os.fstat(fd)
        except OSError as error:
            # What a program shows to one user alone (FUSE), not even root may look at.
            os.close(fd)
            raise host_error(error, "look at", path, discounted=parent.is_exposed) from error
        is_exposed = parent.is_exposed or _lets_others_write(status, self._caller)
        return Folder(fd, path, status, is_exposed, (*parent.doubtful, *_doubt(path, status, self._caller)))

    def _is_known_link(self, link: str, texts: frozenset[str]) -> bool:
        """Whether exactly the well-known link stands there, made by root (or by the caller, whose root it is)."""
        where, _, name = link.rpartition("/")
        folder = self.folder(where)
        if isinstance(folder, str):
            return False
        try:
            status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
            return status.st_uid in {0, self._caller} and os.readlink(name, dir_fd=folder.fd) in texts
        except OSError:
            return False


def bad_path(path: str) -> HostError:
    """Return the refusal of a path that could leave the root."""
    return HostError(f"'{path}' is no normal path below the root.", code="bad-path")


def is_link(folder_fd: int, name: str) -> bool:
    """Whether a symbolic link stands at the name."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _lets_others_write(status: os.stat_result, caller: int) -> bool:
    """Whether anyone but root and the caller can make names in a directory."""
    others = stat.S_IWOTH | (stat.S_IWGRP if status.st_gid else 0)
    return status.st_uid not in {0, caller} or bool(status.st_mode & others)


def _doubt(path: str, status: os.stat_result, caller: int) -> tuple[tuple[str, os.stat_result], ...]:
    """Return a directory if `exposures_of` may have a word on it, which almost none gives a reason for."""
    is_sure = status.st_uid in {0, caller} and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return () if is_sure else ((path, status),)


def exposures_of(
    folder: str, status: os.stat_result, caller: int, shared: Callable[[str], int | None]
) -> tuple[Exposure, ...]:
    """Return why somebody else could turn what is written below a directory elsewhere.

    Args:
        folder: its path.
        status: its own.
        caller: uid of this process.
        shared: see `Trail.check`.
    """
    found = []
    if status.st_uid not in {0, caller}:
        found.append(
            Exposure(
                folder,
                f"belongs to uid {status.st_uid}, which is neither root, nor who runs this, nor the owner of what "
                "would be written",
                "`chown` it, or declare its owner as the owner of what is to stand below it",
                None if folder == "/" else status.st_uid,
            )
        )
    if status.st_mode & stat.S_ISVTX:
        return tuple(found)
    if status.st_mode & stat.S_IWOTH:
        found.append(Exposure(folder, "is writable by everybody", f"`chmod o-w {folder}`"))
    elif status.st_mode & stat.S_IWGRP and shared(folder) != status.st_gid:
        found.append(
            Exposure(
                folder,
                f"is writable by its group (gid {status.st_gid}), and no resource declares that directory with this "
                "group",
                f"`chmod g-w {folder}`, or declare the directory with its group",
            )
        )
    return tuple(found)


def _as_asked(path: str, normal: str, missing: str) -> str:
    """Return the missing component of the normal path in the spelling of the path that was asked for."""
    below = normal[len(missing) :].count("/")
    return "/".join(path.split("/")[: path.count("/") + 1 - below])


def _loop(path: str, parent: Folder) -> HostError:
    try:
        says = os.readlink(path.rpartition("/")[2], dir_fd=parent.fd)
    except OSError:
        says = "?"
    return HostError(
        f"'{path}' is a symbolic link (to '{says}'), and no path is followed through one.",
        code="symlink-in-path",
        cause=Cause.LOOP,
        hint="declare the path that the link leads to",
        discounted=parent.is_exposed,
    )


def _raise_not_there(parent: Folder, where: str, path: str) -> NoReturn:
    """Refuse to write below something that is missing or no directory.

    Raises:
        HostError: always.
    """
    try:
        os.stat(where.rpartition("/")[2], dir_fd=parent.fd, follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise host_error(error, "look at", where) from error
        raise HostError(
            f"Cannot change '{path}': the directory '{where}' does not exist.",
            code="missing-directory",
            hint=f"declare directory:{where}, or make it",
        ) from None
    raise HostError(
        f"Cannot change '{path}': '{where}' is no directory.",
        code="not-a-directory",
        hint=f"move '{where}' out of the way",
    )
