"""What stands at a path and is of another kind than what is wanted there: looking at it, and doing away with it.

The policy (ADR 0029): whatever it is, the step is a replacement. It costs `data_loss` unless what goes is an empty
regular file or an empty directory; what lies in a directory is named by the step and counts as removals.
"""

from collections.abc import Iterable
from typing import Final

from attrs import frozen

from datum.model.graph import Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, FieldValue, NotApplicable, Present, Unobservable
from datum.model.plan import Change, Need, Operation, Step, sweeps
from datum.provider.host import FileFacts, FileKind, HostReader, HostWriter, Missing
from datum.provider.paths import parents

ENTRIES_LIMIT: Final = 100_000
"""Paths below one directory that are looked at; with more of them it cannot be observed."""

# Value of the field `kind` of an empty regular file that is in the way: nothing is lost with it.
EMPTY_FILE: Final = "empty_file"
# And of a directory in which nothing lies, and on which nothing is mounted.
EMPTY_DIRECTORY: Final = "empty_directory"


@frozen
class InTheWay:
    """What stands at a path where something of another kind is wanted."""

    # Kind, or one of the two above.
    kind: str
    # Paths below that would go with it, and those on which something is mounted.
    holds: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()


def in_the_way(reader: HostReader, path: str, facts: FileFacts) -> InTheWay:
    """Look at what would give way; a pipe, a socket, a device is never opened.

    Raises:
        HostError: it cannot be looked at, or holds too much.
    """
    if facts.kind is FileKind.REGULAR:
        mounts = (path,) if facts.is_mount_point else ()
        return InTheWay(facts.kind.value if facts.size else EMPTY_FILE, mounts=mounts)
    if facts.kind is not FileKind.DIRECTORY:
        return InTheWay(facts.kind.value, mounts=(path,) if facts.is_mount_point else ())
    below = reader.below(path, limit=ENTRIES_LIMIT)
    is_empty = not below.paths and not below.mounts
    return InTheWay(EMPTY_DIRECTORY if is_empty else facts.kind.value, below.paths, below.mounts)


def remove_whatever(writer: HostWriter, path: str, step: Step) -> None:
    """Remove what stands at a path, with exactly what the step takes where it is a directory.

    A step that only sweeps removes what is left beside the path.

    Raises:
        HostError: it failed.
    """
    if sweeps(step.changes):
        writer.remove_residue(path)
        return
    kinds = {change.before for change in step.changes if change.name == "kind"}
    if kinds & {FileKind.DIRECTORY.value, EMPTY_DIRECTORY}:
        writer.remove_directory(path, takes=step.takes)
    else:
        writer.remove_file(path)


def hazards_of_kinds(step: Step, own: FileKind) -> frozenset[Hazard]:
    """Return `data_loss` where a step removes something of another kind that is not empty."""
    harmless = {None, own.value, EMPTY_FILE, EMPTY_DIRECTORY}
    if step.operation in {Operation.REPLACE, Operation.DELETE}:
        for change in step.changes:
            if change.name == "kind" and change.before not in harmless:
                return frozenset({Hazard.DATA_LOSS})
    return frozenset()


def kind_of(observed: Present | Absent) -> str | None:
    """Return the kind that was seen; None for nothing there."""
    kind = observed.fields.get("kind")
    return kind if isinstance(kind, str) else None


def comparable(observed: Present | Absent, name: str) -> JsonValue:
    """Return what was observed of a field; None when it was not looked at, cannot be, or does not exist here."""
    value = observed.fields.get(name)
    return None if isinstance(value, (Unobservable, NotApplicable)) else value


def differences(observed: Present, wanted: Iterable[tuple[str, str | None]]) -> list[Change]:
    """Return the changes of plain fields, in the order they are given; what was not seen is not compared."""
    changes = []
    for name, value in wanted:
        before = comparable(observed, name) if value is not None else None
        if before is not None and before != value:
            changes.append(Change(name, before, value))
    return changes


def seen_residue(facts: FileFacts | Missing) -> dict[str, FieldValue]:
    """Return the field `residue`, where a leftover of a killed write stands beside the path."""
    return {"residue": True} if facts.has_residue else {}


def seen_parent(path: str, facts: Missing) -> dict[str, FieldValue]:
    """Return the field `missing_parent`, where the directory of the path is not there."""
    return {} if facts.first == path else {"missing_parent": facts.first}


def residue_change(observed: Present | Absent) -> tuple[Change, ...]:
    """Return the change that clears a leftover away, where there is one."""
    return (Change("residue", before=True, after=False),) if observed.fields.get("residue") is True else ()


def parent_need(path: str, observed: Present | Absent) -> tuple[Need, ...]:
    """Return the directory that must be there before the path can be made, where it is not."""
    missing = observed.fields.get("missing_parent")
    if not isinstance(missing, str):
        return ()
    return (Need(Target("path", parents(path)[0]), f"There is no directory {missing}."),)
