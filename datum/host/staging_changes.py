"""The changes of one staged set: each can be shown, made, or made in a way that can be taken back. Effects: writes.

Taken back are changes that had to be made before a check could look at them. What stood there is kept beside the path
under the name of a leftover, and while anything is unjudged something has that name: the next pass finds it.
"""

import contextlib
import os
import stat
from abc import ABC, abstractmethod
from typing import Final

from attrs import define, evolve, field

from datum.host.atomic import drop_swapped
from datum.host.candidates import TEMPORARY_MODE
from datum.host.identity import acting_as
from datum.host.leftovers import remove_leftover, survey_beside
from datum.host.place import Place
from datum.host.renames import rename_new
from datum.host.residue import residue_name
from datum.host.showing import Shown, ShownAttributes, ShownRemoval
from datum.host.trees import Identity, changed_meanwhile, check_taken, holds_mount, identity_of
from datum.host.writer import LocalWriter
from datum.provider.host import HostError

CANNOT_RESTORE: Final = "cannot-restore"


@define
class Change(ABC):
    """One change of one path."""

    # As it was asked for, and with well-known links replaced.
    path: str
    normal: str

    @abstractmethod
    def shown(self) -> "Shown | None":
        """Return what a check shall see; None where that is what stands there."""

    @abstractmethod
    def commit(self, writer: LocalWriter) -> None:
        """Make it.

        Raises:
            HostError: it was not made.
        """

    @abstractmethod
    def keep(self, writer: LocalWriter) -> None:
        """Make it, durably, and keep what `restore` needs.

        Raises:
            HostError: it was not made.
        """

    @abstractmethod
    def restore(self, writer: LocalWriter) -> None:
        """Undo `keep`, durably, as far as it went.

        Raises:
            HostError: that failed; what is kept stays where it is.
        """

    @abstractmethod
    def drop(self, writer: LocalWriter) -> None:
        """Remove what `keep` kept.

        Raises:
            HostError: that failed; the rest is left as a leftover.
        """

    def discard(self, writer: LocalWriter) -> None:  # noqa: B027 - most have nothing prepared
        """Remove what was prepared and has no place; what cannot be removed is left as a leftover."""


@define
class Removal(Change):
    """Something goes."""

    # What goes with a directory; None: it is none.
    takes: tuple[str, ...] | None
    # The name under which it is kept, and what that is; empty while it is not.
    _name: str = field(default="", init=False)
    _kept: "Identity | None" = field(default=None, init=False)

    def check(self, place: Place) -> None:
        """Refuse what would be refused when it is removed.

        Raises:
            HostError: see `HostWriter.remove_file` and `HostWriter.remove_directory`.
        """
        if place.existing is not None and place.mounts.is_mount_point(place.trail.normal):
            raise holds_mount(self.path, self.path)
        if self.takes is None:
            place.refuse_directory("remove")
            return
        place.refuse_no_directory("remove")
        tree = survey_beside(place, place.name)
        if tree is not None:
            check_taken(tree, self.path, self.takes)

    def shown(self) -> Shown:
        """Nothing stands there."""
        return ShownRemoval(self.normal)

    def commit(self, writer: LocalWriter) -> None:
        """Remove it for good: a directory is out of sight at once, where it can wait beside its path."""
        if self.takes is None:
            writer.remove_file(self.path)
            return
        try:
            self.keep(writer)
        except HostError as error:
            if error.diagnostics[0].code != CANNOT_RESTORE:
                raise
            writer.remove_directory(self.path, takes=self.takes)
        self.drop(writer)

    def keep(self, writer: LocalWriter) -> None:
        """Rename it to a leftover's name."""
        with writer.changing(self.path, takes_name=True, removes=True) as place, place.failing("remove"):
            if place.existing is None:
                return
            self.check(place)
            refuse_unkept(place)
            name = residue_name(place.name, place.folder.path, is_random=place.folder.is_sticky)
            clear(place, name)
            self._kept = identity_of(place.existing)
            self._name = name
            rename(place, place.name, name)
            self._check_kept(place)
            place.sync_folder()

    def _check_kept(self, place: Place) -> None:
        """Look once more at what goes, now that its path leads nobody there."""
        tree = survey_beside(place, self._name) if self.takes is not None else None
        if tree is None:
            return
        try:
            check_taken(tree, self.path, self.takes)
        except HostError:
            rename_new(place, self._name)
            self._name = ""
            raise

    def restore(self, writer: LocalWriter) -> None:
        """Give it its name again."""
        if not self._name:
            return
        with writer.changing(self.path, takes_name=True, removes=True) as place, place.failing("put back"):
            if place.existing is None:
                check_identity(place, self._name, self._kept)
                rename_new(place, self._name)
            self._name = ""
            place.sync_folder()

    def drop(self, writer: LocalWriter) -> None:
        """Remove what has the leftover's name."""
        if not self._name:
            return
        with writer.changing(self.path, takes_name=True, removes=True) as place, place.failing("remove"):
            drop_kept(place, self._name, self._kept, self.takes)
        self._name = ""


@define
class AttributesChange(Change):
    """Something gets another owner or mode."""

    mode: str | None
    uid: int | None
    gid: int | None
    # The name of an empty file that says that this is unjudged; empty while there is none of ours.
    _mark: str = field(default="", init=False)
    _old: os.stat_result | None = field(default=None, init=False)

    def shown(self) -> Shown:
        """The same with other attributes."""
        mode = None if self.mode is None else int(self.mode, 8)
        return ShownAttributes(self.normal, mode, self.uid, self.gid)

    def commit(self, writer: LocalWriter) -> None:
        """Change them."""
        writer.set_attributes(self.path, mode=self.mode, uid=self.uid, gid=self.gid)

    def keep(self, writer: LocalWriter) -> None:
        """Change them, once an empty leftover stands beside the path."""
        with writer.changing(self.path, self.uid) as place, place.failing("change the attributes of"):
            if place.name:
                self._make_mark(place)
            self._old = place.existing
        self.commit(writer)

    def _make_mark(self, place: Place) -> None:
        name = residue_name(place.name, place.folder.path, is_random=place.folder.is_sticky)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # what has the name already is a mark, too
        with contextlib.suppress(FileExistsError):
            with acting_as(place.actor):
                os.close(os.open(name, flags, TEMPORARY_MODE, dir_fd=place.folder.fd))
            self._mark = name
            place.sync_folder()

    def restore(self, writer: LocalWriter) -> None:
        """Change them back."""
        old, self._old = self._old, None
        if old is None:
            return
        mode = None if stat.S_ISLNK(old.st_mode) else f"{stat.S_IMODE(old.st_mode):04o}"
        writer.set_attributes(self.path, mode=mode, uid=old.st_uid, gid=old.st_gid)
        self.drop(writer)

    def drop(self, writer: LocalWriter) -> None:
        """Remove the empty leftover."""
        if not self._mark:
            return
        with writer.changing(self.path, removes=True) as place, place.failing("remove the leftover beside"):
            unlink(place, self._mark)
            place.sync_folder()
        self._mark = ""


@define
class ResidueRemoval(Change):
    """A leftover of a killed write goes, once the set has its place: until then it says that this is unjudged."""

    def shown(self) -> None:
        """No reader takes leftovers for anything."""

    def commit(self, writer: LocalWriter) -> None:
        """Remove it."""
        writer.remove_residue(self.path)

    def keep(self, writer: LocalWriter) -> None:
        """Do nothing yet."""

    def restore(self, writer: LocalWriter) -> None:
        """Do nothing."""

    def drop(self, writer: LocalWriter) -> None:
        """Remove it now."""
        writer.remove_residue(self.path)


def clear(place: Place, name: str) -> None:
    """Remove a leftover that has a name that is needed beside a place.

    Raises:
        OSError: it cannot be removed.
        HostError: it is no leftover.
    """
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False)
        owners = place.trusted if place.folder.is_exposed else place.trusted | {status.st_uid}
        remove_leftover(place, name, owners)


def rename(place: Place, name: str, other: str) -> None:
    """Give what has one name in a place's folder another one there, over what may have that.

    Raises:
        OSError: that failed.
    """
    with acting_as(place.actor):
        os.rename(name, other, src_dir_fd=place.folder.fd, dst_dir_fd=place.folder.fd)


def unlink(place: Place, name: str) -> None:
    """Unlink a name beside a place, if it is there.

    Raises:
        OSError: that failed.
    """
    with contextlib.suppress(FileNotFoundError), acting_as(place.actor):
        os.unlink(name, dir_fd=place.folder.fd)


def drop_kept(place: Place, name: str, kept: "Identity | None", takes: tuple[str, ...] | None) -> None:
    """Remove what was kept beside a place.

    Raises:
        OSError: that failed.
        HostError: it is not what was kept, or holds more.
    """
    check_identity(place, name, kept)
    status = os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False)
    drop_swapped(evolve(place, existing=status), name, takes)


def check_identity(place: Place, name: str, wanted: "Identity | None") -> None:
    """See that a name beside a place names what it was given to.

    Raises:
        OSError: it cannot be looked at.
        HostError: `changed-meanwhile`.
    """
    found = None
    with contextlib.suppress(FileNotFoundError):
        found = identity_of(os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False))
    if found is None or found != wanted:
        raise changed_meanwhile(f"{place.path.rpartition('/')[0]}/{name}")


def refuse_unkept(place: Place) -> None:
    """Refuse to take away, before it is judged, what the next pass could not tell from a stranger's after a kill.

    Raises:
        HostError: `cannot-restore`.
    """
    existing = place.existing
    if existing is None or stat.S_ISREG(existing.st_mode) or stat.S_ISLNK(existing.st_mode):
        return
    if stat.S_ISDIR(existing.st_mode) and not place.folder.is_exposed:
        return
    raise cannot_restore(place.path)


def cannot_restore(path: str) -> HostError:
    """Return the refusal to change something that could not be put back."""
    return HostError(
        f"Cannot change '{path}' before it is checked: it could not be put back if the check failed.",
        code=CANNOT_RESTORE,
        hint="let the agent use namespaces, so that the check sees it beforehand",
    )
