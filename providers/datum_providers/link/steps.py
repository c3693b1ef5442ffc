"""From what is observed of a link to what is wanted: the step, and why it cannot be taken. Pure."""

from collections.abc import Mapping
from typing import Final

from datum.model.graph import Target
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum_providers.link.desired import DesiredLink
from datum_providers.shared.kinds import differences, kind_of, parent_need, residue_change

_SYMLINK: Final = FileKind.SYMLINK.value


def plan_link(desired: DesiredLink, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kind, target, owner, group, residue."""
    if isinstance(observed, Absent):
        return _make(Operation.CREATE, desired, observed, kind=None)
    kind = kind_of(observed)
    if kind is not None and kind != _SYMLINK:
        return _make(Operation.REPLACE, desired, observed, kind=kind)
    changes = (*differences(observed, _plain(desired).items()), *residue_change(observed))
    if not changes:
        return None
    changed = {change.name for change in changes}
    return Step(Operation.UPDATE, changes, desired.owners.only(changed).needs(observed))


def _make(operation: Operation, desired: DesiredLink, observed: Present | Absent, *, kind: str | None) -> Step:
    fields = tuple(Change(name, None, value) for name, value in _plain(desired).items() if value is not None)
    changes = (Change("kind", kind, _SYMLINK), *fields, *residue_change(observed))
    needs = (*_target_need(desired), *parent_need(desired.path, observed), *desired.owners.needs(observed))
    return Step(operation, changes, needs, observed.holds if isinstance(observed, Present) else ())


def _plain(desired: DesiredLink) -> Mapping[str, str | None]:
    return {"target": desired.target, "owner": desired.owners.owner, "group": desired.owners.group}


def _target_need(desired: DesiredLink) -> tuple[Need, ...]:
    if desired.target is not None:
        return ()
    return (Need(Target("content", desired.path), f"No target is declared, so {desired.path} cannot be made."),)
