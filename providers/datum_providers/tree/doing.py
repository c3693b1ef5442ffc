"""Carry out one step on one tree. Changes the host.

Folders first, from the top; then files and links in order; then what an exclusive tree loses, each folder with what
lies in it. Each but the last is one atomic change. Whatever ends it in between, the next pass sees what is left and
goes on.
"""

from typing import Final

from attrs import define, field

from datum.model.json import JsonValue
from datum.model.plan import RESIDUE, Operation, Step, sweeps
from datum.model.result import FailureCause
from datum.provider.host import DirectoryWrite, FileKind, FileWrite, HostError, HostWriter, LinkWrite
from datum.provider.paths import is_below
from datum_providers.shared.accounts import Owners
from datum_providers.shared.exclusive import clear, sweep
from datum_providers.shared.names import path_of
from datum_providers.tree.desired import DesiredTree
from datum_providers.tree.entries import ROOT, Entry, without_residue
from datum_providers.tree.steps import is_content_change, is_of_other_kind

# What says that the other paths fare no better.
_HOPELESS: Final = frozenset(
    {FailureCause.NO_SPACE, FailureCause.READ_ONLY, FailureCause.DEADLINE, FailureCause.IMPOSSIBLE}
)
# Failures after which the rest is left to the next pass.
_PATIENCE: Final = 10


def apply_tree(writer: HostWriter, desired: DesiredTree, step: Step) -> None:
    """Do the step. One path that fails does not keep the others from being written; nothing is removed then.

    Raises:
        HostError: something failed.
    """
    if step.operation is Operation.DELETE:
        _delete(writer, desired, step)
        return
    if desired.folder is None:
        raise HostError(f"No source is declared for {desired.path}.", failure=FailureCause.IMPOSSIBLE)
    changes = {change.name: change for change in step.changes}
    if RESIDUE in changes:
        writer.remove_residue(desired.path)
    work = _Work(writer, step)
    for entry in desired.entries:
        if entry.name in changes:
            work.do(entry, changes[entry.name].before)
    work.end(len(desired.entries))
    kept = {RESIDUE, *(entry.name for entry in desired.entries)}
    others = {path_of(desired.path, name): change for name, change in changes.items() if name not in kept}
    clear(writer, sorted(path for path, change in others.items() if not change.sweeps))
    sweep(writer, sorted(path for path, change in others.items() if change.sweeps))


def _delete(writer: HostWriter, desired: DesiredTree, step: Step) -> None:
    if sweeps(step.changes):
        writer.remove_residue(desired.path)
        return
    changes = {change.name: change for change in step.changes}
    root = changes.get(ROOT)
    if root is not None and not (without_residue(root.before) or "").startswith(FileKind.DIRECTORY.value):
        writer.remove_file(desired.path)
        return
    own = {entry.path for entry in desired.entries if entry.name != ROOT}
    writer.remove_directory(desired.path, takes=tuple(sorted(own | set(step.takes))))


@define
class _Work:
    """The writing half of a step."""

    writer: HostWriter
    step: Step
    failures: list[HostError] = field(factory=list)
    # Folders that could not be made.
    missing: list[str] = field(factory=list)
    _ids: dict[Owners, tuple[int | None, int | None]] = field(factory=dict)

    def do(self, entry: Entry, before: JsonValue) -> None:
        """Bring one entry about.

        Raises:
            HostError: it failed, and the others would too.
        """
        if any(is_below(entry.path, folder) for folder in self.missing):
            return
        try:
            self._do(entry, before if isinstance(before, str) else None)
        except HostError as error:
            if error.failure in _HOPELESS or len(self.failures) >= _PATIENCE:
                raise
            self.failures.append(error)
            if entry.kind is FileKind.DIRECTORY and is_content_change(entry, before):
                self.missing.append(entry.path)

    def end(self, count: int) -> None:
        """Tell what failed, once everything was tried.

        Raises:
            HostError: something did.
        """
        if not self.failures:
            return
        first = self.failures[0]
        if len(self.failures) > 1:
            first = HostError(
                f"{len(self.failures)} of {count} paths could not be written. The first: {first.detail}",
                cause=first.cause,
                failure=first.failure,
                hint=first.diagnostics[0].hint,
                code=first.diagnostics[0].code,
            )
        raise first

    def _do(self, entry: Entry, before: str | None) -> None:
        if before is not None and without_residue(before) == entry.line:
            self.writer.remove_residue(entry.path)
        elif is_content_change(entry, before):
            self._make(entry, before)
        else:
            uid, gid = self._numbers(entry.owners)
            self.writer.set_attributes(entry.path, mode=entry.mode or None, uid=uid, gid=gid)
            if before is not None and without_residue(before) != before:
                self.writer.remove_residue(entry.path)

    def _make(self, entry: Entry, before: str | None) -> None:
        uid, gid = self._numbers(entry.owners)
        is_other = is_of_other_kind(entry, before)
        takes = self._below(entry.path) if is_other else None
        if entry.kind is FileKind.DIRECTORY:
            self.writer.make_directory(entry.path, DirectoryWrite(entry.mode, uid, gid, replaces=is_other))
        elif entry.kind is FileKind.SYMLINK:
            self.writer.write_link(entry.path, LinkWrite(entry.link, uid, gid, takes))
        else:
            self.writer.write_file(entry.path, FileWrite(entry.content, entry.mode, uid, gid, takes=takes))

    def _below(self, path: str) -> tuple[str, ...]:
        return tuple(taken for taken in self.step.takes if is_below(taken, path))

    def _numbers(self, owners: Owners) -> tuple[int | None, int | None]:
        if owners not in self._ids:
            self._ids[owners] = owners.ids(self.writer)
        return self._ids[owners]
