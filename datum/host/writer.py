"""Changing one root: `HostWriter` on this machine or an image (design 4.7). Effects: writes.

Every change walks anew, is refused where somebody else could turn the way, and is synced when it is done.
"""

import contextlib
import io
import os
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from datum.host.atomic import Attributes, remove_leftover, replace_file, wanted_attributes
from datum.host.attributes import change_attributes
from datum.host.identity import Actor, acting_as
from datum.host.mounts import MountTable
from datum.host.place import Place, status_of
from datum.host.reader import LocalReader
from datum.host.residue import check_leftover, residue_names
from datum.host.root import HostRoot
from datum.host.walk import Trail
from datum.model.content import Content
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, FileWrite, HostError

if TYPE_CHECKING:
    from datum.host.candidate import CheckOutcome
    from datum.host.slow import FileReader

# Exit codes, and the negative numbers of signals.
_ANY_END: Final = frozenset(range(-64, 256))


class LocalWriter(LocalReader):
    """`HostWriter` of one root, for one action; `remarks` is what its result has to tell."""

    def __init__(self, root: HostRoot, slow: "Callable[[MountTable], FileReader] | None") -> None:
        super().__init__(root, slow)
        self.remarks: Final[list[str]] = []

    def write_file(self, path: str, wanted: FileWrite) -> None:
        """Create or replace a regular file; its directory must exist.

        Raises:
            HostError: it was not written, and what stood there still does.
        """
        with self._changing(path, wanted.uid, takes_name=True) as place:
            place.refuse_directory("write")
            attributes = wanted_attributes(place.regular, self.caller, wanted)
            with contextlib.closing(self.open_content(wanted.content)) as source:
                if wanted.validate:
                    self._write_checked(place, wanted, attributes, source.read())
                else:
                    replace_file(place, source, wanted.content, attributes, self.remark)

    def set_attributes(
        self, path: str, *, mode: str | None = None, uid: int | None = None, gid: int | None = None
    ) -> None:
        """Change owner, then mode, of what stands at the path, without rewriting it.

        A change of owner clears setuid, setgid and sticky bits of a mode that is not given, as the kernel does.

        Raises:
            HostError: nothing stands there, or it could not be changed.
        """
        with self._changing(path, uid) as place:
            change_attributes(place, mode=mode, uid=uid, gid=gid, remark=self.remark)

    def remove_file(self, path: str) -> None:
        """Unlink what stands at the path, anything but a directory, and a leftover beside it; nothing is no error.

        Raises:
            HostError: it could not be unlinked.
        """
        with self._changing(path, takes_name=True, removes=True) as place:
            place.refuse_directory("remove")
            with place.failing("remove"):
                leftovers = self._leftovers(place)
                if place.existing is not None:
                    with acting_as(place.actor), contextlib.suppress(FileNotFoundError):
                        os.unlink(place.name, dir_fd=place.folder.fd)
                self._unlink(place, leftovers)

    def remove_residue(self, path: str) -> None:
        """Unlink the leftover of a killed write beside the path.

        Raises:
            HostError: it is no such leftover, or could not be unlinked.
        """
        with self._changing(path, removes=True) as place, place.failing("remove the leftover beside"):
            self._unlink(place, self._leftovers(place))

    def run(self, command: Command) -> CommandOutcome:
        """Run a program that may change anything.

        Raises:
            HostError: see `run_program`.
        """
        from datum.host.program import run_program

        try:
            return run_program(command, root=self._root.path)
        finally:
            self._root.note_change(by_program=True)

    def open_content(self, content: Content) -> BinaryIO:
        """Return a stream over the bytes that a `Content` names.

        Raises:
            HostError: they cannot be had.
        """
        return self._root.open_content(content)

    def remark(self, text: str) -> None:
        """Add a remark to the result of the action in hand."""
        self.remarks.append(text)

    @contextlib.contextmanager
    def _changing(
        self, path: str, uid: int | None = None, *, takes_name: bool = False, removes: bool = False
    ) -> Iterator[Place]:
        """Walk to a path for one change.

        Args:
            path: where.
            uid: the owner that it shall have, None: as it is, else the caller.
            takes_name: whether what stands there loses its name.
            removes: whether nothing is left there that has an owner. Then the change may be made in any one user's
                directories: it is made with that user's rights.

        Raises:
            HostError: the path is protected or unsafe.
        """
        try:
            with self._walker.trail(path) as trail:
                existing = status_of(trail)
                mounts = self._mounts()
                self._root.protection.check(
                    trail,
                    existing,
                    spelling=self._walker.normal,
                    is_mount_point=mounts.is_mount_point,
                    takes_name=takes_name,
                )
                owner = trail.user if removes else self._owner(existing, uid, only_regular=takes_name)
                trail.check(owner, self.caller[0], self._root.shared)
                without = mounts.without(trail.normal)
                yield Place(trail, existing, owner, self.caller, self._actor(trail), without)
        finally:
            self._root.note_change()

    def _owner(self, existing: os.stat_result | None, uid: int | None, *, only_regular: bool) -> int:
        if uid is not None:
            return uid
        if existing is None or (only_regular and not stat.S_ISREG(existing.st_mode)):
            return self.caller[0]
        return existing.st_uid

    def _actor(self, trail: Trail) -> Actor | None:
        """Return the user in whose directory names are made, None where they are root's, or this is no root."""
        if self.caller[0] or not trail.user:
            return None
        group = self._names().primary_group(trail.user)
        return Actor(trail.user, trail.folder.status.st_gid if group is None else group)

    def _leftovers(self, place: Place) -> dict[str, frozenset[int]]:
        """Return the leftovers beside a place, with the uids that they may have; where only root makes names, any.

        Raises:
            HostError: something else has the name of one.
        """
        owners = place.trusted | ({place.existing.st_uid} if place.existing else set())
        found: dict[str, frozenset[int]] = {}
        for name in residue_names(place.folder, place.name, owners):
            status = os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False)
            found[name] = owners if place.folder.is_exposed else owners | {status.st_uid}
            check_leftover(place.folder, name, found[name])
        return found

    def _unlink(self, place: Place, leftovers: dict[str, frozenset[int]]) -> None:
        for name, owners in leftovers.items():
            remove_leftover(place, name, owners)
        place.sync_folder()

    def _write_checked(self, place: Place, wanted: FileWrite, attributes: Attributes, data: bytes) -> None:
        """Write what its program accepts, which sees it before the host does wherever that can be had."""
        outcome = self._check_candidate(place, wanted, attributes, data)
        if outcome.reason_unavailable:
            from datum.host.checked import CheckedWrite

            self.remark(f"checked_after_writing: {outcome.reason_unavailable}")
            CheckedWrite(
                place, data, wanted.content, attributes, lambda: self._check_written(place.path, wanted), self.remark
            ).write()
            return
        if not outcome.passed:
            raise _check_failed(place.path, wanted.validate, outcome.output)
        replace_file(place, io.BytesIO(data), wanted.content, attributes, self.remark)

    def _check_candidate(self, place: Place, wanted: FileWrite, attributes: Attributes, data: bytes) -> "CheckOutcome":
        from datum.host.candidate import CandidateCheck, check_candidate

        return check_candidate(
            CandidateCheck(
                root=self._root.path,
                path=place.trail.normal,
                data=data,
                mode=attributes.mode,
                uid=attributes.uid,
                gid=attributes.gid,
                argv=wanted.validate,
                timeout=wanted.validate_timeout,
                exists=place.regular is not None,
            )
        )

    def _check_written(self, path: str, wanted: FileWrite) -> None:
        """Run the check on what stands at the path.

        Raises:
            HostError: it refused, or could not be run.
        """
        from datum.host.candidate import OUTPUT_LIMIT
        from datum.host.program import check_not_run, run_program

        argv = tuple(part.replace("{path}", path) for part in wanted.validate)
        command = Command(argv, wanted.validate_timeout, success=_ANY_END)
        try:
            outcome = run_program(command, root=self._root.path, read_only=True)
        except HostError as error:
            if error.diagnostics[0].code not in {"program-missing", "program-refused"}:
                raise
            raise check_not_run(path, error) from error
        if outcome.exit_code:
            said = (outcome.stdout + b"\n" + outcome.stderr).decode("utf-8", "replace").strip()
            raise _check_failed(path, wanted.validate, said[-OUTPUT_LIMIT:])


def _check_failed(path: str, argv: tuple[str, ...], output: str) -> HostError:
    from datum.host.program import quoted

    line = quoted([part.replace("{path}", path) for part in argv])
    said = f"It said:\n{output}" if output else "It said nothing."
    return HostError(
        f"{line} refuses the new '{path}'; the host is as it was. {said}",
        code="check-failed",
        failure=FailureCause.CHECK,
    )
