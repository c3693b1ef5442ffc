"""From what is observed of a directory to what is wanted: the step, and why it cannot be taken. Pure."""

from collections.abc import Mapping
from typing import Final

from datum.model.observation import Absent, Present
from datum.model.plan import Change, Operation, Step
from datum.provider.host import FileKind
from datum_providers.directory.desired import DesiredDirectory
from datum_providers.directory.look import owners_words
from datum_providers.shared.kinds import comparable, differences, kind_of, parent_need, residue_change
from datum_providers.shared.names import change_name

_DIRECTORY: Final = FileKind.DIRECTORY.value


def plan_directory(desired: DesiredDirectory, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kind, mode, owner, group, recursive, then paths, residue."""
    if isinstance(observed, Absent):
        return _make(Operation.CREATE, desired, observed, kind=None)
    kind = kind_of(observed)
    if kind is not None and kind != _DIRECTORY:
        return _make(Operation.REPLACE, desired, observed, kind=kind)
    changes = (
        *differences(observed, _plain(desired).items()),
        *_recursive(desired, observed),
        *_cleared(desired, observed),
        *residue_change(observed),
    )
    if not changes:
        return None
    changed = {change.name for change in changes}
    owners = changed | set(desired.recursive if "recursive" in changed else ())
    return Step(Operation.UPDATE, changes, desired.owners.only(owners).needs(observed), _takes(observed))


def _make(operation: Operation, desired: DesiredDirectory, observed: Present | Absent, *, kind: str | None) -> Step:
    attributes = tuple(Change(name, None, value) for name, value in _plain(desired).items() if value is not None)
    changes = (Change("kind", kind, _DIRECTORY), *attributes, *residue_change(observed))
    needs = (*parent_need(desired.path, observed), *desired.owners.needs(observed))
    return Step(operation, changes, needs)


def _plain(desired: DesiredDirectory) -> Mapping[str, str | None]:
    return {"mode": desired.mode, "owner": desired.owners.owner, "group": desired.owners.group}


def _recursive(desired: DesiredDirectory, observed: Present) -> tuple[Change, ...]:
    words = owners_words(desired) if desired.recursive else None
    found = comparable(observed, "strangers")
    parts = found if isinstance(found, Mapping) and words is not None else {}
    return (
        *differences(observed, (("recursive", words),)),
        *(Change(change_name(path[len(desired.path) + 1 :]), owners, words) for path, owners in parts.items()),
    )


def _cleared(desired: DesiredDirectory, observed: Present) -> tuple[Change, ...]:
    found = comparable(observed, "unmanaged")
    if not isinstance(found, Mapping):
        return ()
    return tuple(Change(change_name(path[len(desired.path) + 1 :]), kind, None) for path, kind in found.items())


def _takes(observed: Present) -> tuple[str, ...]:
    found = comparable(observed, "takes")
    return tuple(str(path) for path in found) if isinstance(found, (list, tuple)) else ()
