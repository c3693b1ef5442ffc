"""Many changes of one root, prepared together, judged together, made back to back (design 4.2). Effects: writes.

What is prepared stands beside its path under the name of a leftover, complete and synced; what a new directory will
hold is put into it there. Only `commit` gives things their places.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import evolve

from datum.host.atomic import prepare_candidate, prepare_directory, prepare_link, wanted_attributes
from datum.host.attributes import check_change
from datum.host.candidates import Candidate
from datum.host.checked import WrittenSet
from datum.host.leftovers import survey_beside
from datum.host.mounts import MountTable
from datum.host.place import Place
from datum.host.reader import LocalReader
from datum.host.root import HostRoot
from datum.host.staging_changes import AttributesChange, Change, Removal, ResidueRemoval
from datum.host.staging_checks import Judge
from datum.host.staging_puts import Put
from datum.host.staging_set import ChangeSet, cannot_be_staged, incomplete, taken_with
from datum.host.trees import check_taken
from datum.host.writer import LocalWriter
from datum.model.check import Check
from datum.provider.host import Command, CommandOutcome, DirectoryWrite, FileKind, FileWrite, HostError, LinkWrite
from datum.provider.manager import ManagerWriter

if TYPE_CHECKING:
    from datum.host.slow import FileReader

NewReader: TypeAlias = "Callable[[MountTable], FileReader]"


class StagingWriter(LocalWriter):
    """`HostWriter` whose changes are candidates until `commit`; reading shows the host as it is.

    For one set: stage, `judge`, then `commit` or `discard`; call `discard` after any error. What would be refused
    directly is refused when it is staged.
    """

    def __init__(self, root: HostRoot, slow: "NewReader | None") -> None:
        super().__init__(root, slow)
        self._direct: Final = _Direct(root, slow, self)
        self.set: Final = ChangeSet()
        self._judges: list[Judge] = []
        self._written: WrittenSet | None = None
        # It was to be judged, could not be shown, and has not been judged since.
        self._is_unjudged = False

    def write_file(self, path: str, wanted: FileWrite) -> None:
        """Prepare a regular file, complete and synced; its `validate` becomes one more check.

        Raises:
            HostError: it could not be prepared.
        """

        def prepare(place: Place) -> Candidate:
            attributes = wanted_attributes(place, wanted)
            with contextlib.closing(self.open_content(wanted.content)) as source:
                return prepare_candidate(place, source, wanted.content, attributes, self.remark)

        hidden = self._inside(path)
        if hidden:
            with self._within(path):
                self._direct.write_file(hidden, evolve(wanted, validate=()))
        else:
            self._stage(FileKind.REGULAR, path, wanted.uid, wanted.takes, prepare)
        if wanted.validate:
            self._judges.append(Judge.of_file(path, wanted))

    def write_link(self, path: str, wanted: LinkWrite) -> None:
        """Prepare a symbolic link.

        Raises:
            HostError: it could not be prepared.
        """
        hidden = self._inside(path)
        if hidden:
            with self._within(path):
                self._direct.write_link(hidden, wanted)
        else:
            uid = self._or_caller(wanted.uid)
            self._stage(FileKind.SYMLINK, path, uid, wanted.takes, lambda place: prepare_link(place, wanted))

    def make_directory(self, path: str, wanted: DirectoryWrite) -> None:
        """Prepare a directory; what is staged below it is put into it.

        Raises:
            HostError: it could not be prepared.
        """

        def prepare(place: Place) -> Candidate:
            if place.folder.is_exposed:
                raise cannot_be_staged(
                    f"A new directory '{path}' cannot be shown to a check before it is there: others than root and "
                    f"who runs this make names in '{place.folder.path}'.",
                    hint=f"take directory:{path} out of what the check guards; it is made before, then",
                )
            return prepare_directory(place, wanted)

        hidden = self._inside(path)
        if hidden:
            with self._within(path):
                self._direct.make_directory(hidden, wanted)
        else:
            takes = () if wanted.replaces else None
            self._stage(FileKind.DIRECTORY, path, self._or_caller(wanted.uid), takes, prepare)

    def set_attributes(
        self,
        path: str,
        *,
        mode: str | None = None,
        uid: int | None = None,
        gid: int | None = None,
        from_anybody: bool = False,
    ) -> None:
        """Note a change of owner and mode; of a candidate it is made at once.

        Raises:
            HostError: nothing stands there, or it could not be changed; or it is taken from anybody, to whom nothing
                can be given back.
        """
        if from_anybody:
            raise cannot_be_staged(f"'{path}' cannot change its owner in a set that is checked, whoever has it now.")
        normal = self._walker.normal(path)
        put = self.set.put_at(normal)
        hidden = put.hidden if put else self._inside(path)
        if hidden:
            with self._within(path):
                self._direct.set_attributes(hidden, mode=mode, uid=uid, gid=gid)
            if put:
                put.note_attributes(mode, uid, gid)
            return
        self.set.refuse_clash(normal)
        with self.changing(path, uid) as place:
            if place.existing is None:
                with place.failing("change the attributes of"):
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            check_change(place, place.existing, mode)
            self.set.add(AttributesChange(path, place.trail.normal, mode, uid, gid))

    def remove_file(self, path: str) -> None:
        """Note that something goes that is no directory.

        Raises:
            HostError: it could not be removed.
        """
        hidden = self._inside(path)
        if hidden:
            with self._within(path):
                self._direct.remove_file(hidden)
        else:
            self._remove(path, None)

    def remove_directory(self, path: str, *, takes: tuple[str, ...] = ()) -> None:
        """Note that a directory goes with exactly these paths below it; what of them goes already is part of that.

        Raises:
            HostError: it could not be removed.
        """
        hidden = self._inside(path)
        if hidden:
            inner = tuple(found for each in takes if (found := self._inside(each)))
            with self._within(path):
                self._direct.remove_directory(hidden, takes=inner)
        else:
            self._remove(path, takes)

    def remove_residue(self, path: str) -> None:
        """Note that a leftover goes; it goes last.

        Raises:
            HostError: it is no such leftover.
        """
        if self._inside(path) or self.set.clears_residue(self._walker.normal(path)):
            return
        with self.changing(path, removes=True) as place, place.failing("remove the leftover beside"):
            self._leftovers(place)
            self.set.residues[place.trail.normal] = ResidueRemoval(path, place.trail.normal)

    def run(self, command: Command) -> CommandOutcome:
        """Refuse: what a program does cannot be shown before it is done.

        Raises:
            HostError: `cannot-be-staged`.
        """
        raise cannot_be_staged(
            f"'{command.argv[0]}' cannot be run for a candidate of a check: what it does cannot be shown beforehand.",
            hint="take the resource out of what the check guards",
        )

    def manager(self) -> ManagerWriter | None:
        """Return a manager that can be asked and refuses to do anything; None where there is none."""
        from datum.host.refusing import RefusingManager

        asked = LocalReader.manager(self)
        return None if asked is None else RefusingManager(asked)

    def set_kernel_value(self, path: str, value: bytes) -> None:  # noqa: ARG002 - refused, whatever it is
        """Refuse: what the kernel makes of it cannot be shown before it is done.

        Raises:
            HostError: `cannot-be-staged`.
        """
        raise cannot_be_staged(
            f"'{path}' cannot be set for a candidate of a check: what it does cannot be shown beforehand.",
            hint="take the resource out of what the check guards",
        )

    def judge(self, checks: Sequence[Check], *, writes: bool = True) -> None:
        """Show all that is staged to the programs of its files, then to every check, each by itself.

        Where it cannot be shown, it is written, keeping what stood there, and judged then; the remark
        `checked_after_writing` says why. If a program refuses it is put back. With nothing staged the host is judged
        as it is.

        Args:
            checks: the programs, beside those of the files.
            writes: whether what cannot be shown may be written.

        Raises:
            HostError: `check-failed` or `check-not-run`, with the resource of the check as `check` (None for
                `validate`): the host is as it was. `cannot-be-shown`: it would have to be written, and must not be.
                `not-restored`: it could not be put back.
        """
        judges = [*self._judges, *(Judge.of_check(check) for check in checks)]
        self._is_unjudged = False
        if not judges:
            return
        shown = [view for change in self.set.ordered if (view := change.shown())]
        for judge in judges:
            reason = judge.judge(self._root.path, shown)
            if reason and not writes and self.set.ordered:
                self._is_unjudged = True
                raise HostError(f"It cannot be shown to a check: {reason}.", code="cannot-be-shown")
            if reason:
                self._judge_written(judges, reason)
                return

    def _judge_written(self, judges: Sequence[Judge], reason: str) -> None:
        if self.set.ordered:
            self.remark(f"checked_after_writing: {reason}")

        def run_all() -> None:
            for judge in judges:
                judge.judge_written(self._root.path)

        written = WrittenSet(self.set.ordered, self._direct)
        written.write(run_all)
        self._written = written

    def commit(self) -> None:
        """Give everything its place, back to back in the order in which it was staged, leftovers last.

        Each change is atomic by itself, the set is not: a reader may see some of it, and a kill in between leaves the
        rest to the next pass.

        Raises:
            HostError: `set-incomplete`: one change failed; it says which are made and which are not. `cannot-be-shown`:
                nothing has judged it, since it would have to be written first; nothing is changed.
        """
        if self._is_unjudged:
            raise HostError("It could not be shown to a check, and nothing has judged it.", code="cannot-be-shown")
        if self._written is not None:
            written, self._written = self._written, None
            written.drop()
            return
        ordered = self.set.ordered
        made: list[Change] = []
        try:
            for change in ordered:
                change.commit(self._direct)
                made.append(change)
        except HostError as error:
            raise incomplete(error, made, ordered[len(made) :]) from error
        finally:
            self._sync(made)

    def _sync(self, made: Sequence[Change]) -> None:
        """Make renames durable, each folder once."""
        puts = {change.normal.rpartition("/")[0]: change for change in made if isinstance(change, Put)}
        for put in puts.values():
            put.sync(self._direct)

    def discard(self) -> None:
        """Remove what is prepared and has no place; what stands there unjudged, or without `commit`, is put back.

        Raises:
            HostError: `not-restored`.
        """
        if self._written is not None:
            written, self._written = self._written, None
            written.restore()
        for change in reversed(self.set.ordered):
            change.discard(self._direct)
        self.set.clear()
        self._judges.clear()
        self._is_unjudged = False

    def _stage(
        self,
        kind: FileKind,
        path: str,
        uid: int | None,
        takes: tuple[str, ...] | None,
        prepare: Callable[[Place], Candidate],
    ) -> None:
        self._begin(path)
        with self.changing(path, uid, takes_name=True) as place:
            place.refuse_other_kind(kind, gives_way=takes is not None)
            going: list[Removal] = []
            if place.directory and takes is not None:
                going = self.set.going(place)
                takes = taken_with(takes, place, going)
                if tree := survey_beside(place, place.name):
                    check_taken(tree, path, takes)
            put = Put.stage(place, prepare(place), uid, takes)
            self.set.remove(going)
            self.set.add(put)

    def _remove(self, path: str, takes: tuple[str, ...] | None) -> None:
        self._begin(path)
        with self.changing(path, takes_name=True, removes=True) as place:
            going: list[Removal] = []
            if takes is not None:
                going = self.set.going(place)
                takes = taken_with(takes, place, going)
            removal = Removal(path, place.trail.normal, takes)
            removal.check(place)
            self.set.remove(going)
            self.set.add(removal)

    def _begin(self, path: str) -> None:
        """Refuse a second change of a path; clear a leftover that was to go last, since its name is needed now."""
        normal = self._walker.normal(path)
        self.set.refuse_clash(normal)
        if self.set.residues.pop(normal, None):
            self._direct.remove_residue(path)

    def _inside(self, path: str) -> str:
        return self.set.inside(self._walker.normal(path))

    @contextlib.contextmanager
    def _within(self, path: str) -> Iterator[None]:
        """Check a path that lies in a staged directory; errors of the block tell it as it will be."""
        with self.changing(path, takes_name=True, removes=True, coming=self.set.coming):
            pass
        try:
            yield
        except HostError as error:
            found = error.diagnostics[0]
            raise HostError(
                self.set.as_it_will_be(error.detail),
                code=found.code,
                cause=error.cause,
                failure=error.failure,
                hint=self.set.as_it_will_be(found.hint),
                summary=found.summary,
            ) from error


class _Direct(LocalWriter):
    """Makes the changes of a set, and fills its new directories."""

    def __init__(self, root: HostRoot, slow: "NewReader | None", staging: StagingWriter) -> None:
        super().__init__(root, slow)
        self._staging: Final = staging

    def remark(self, text: str) -> None:
        self._staging.remark(text)

    def _shared_gid(self, path: str) -> int | None:
        return super()._shared_gid(self._staging.set.outside(path))
