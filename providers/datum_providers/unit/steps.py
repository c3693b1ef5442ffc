"""From what is observed of a unit file to what is wanted: the step, and why it cannot be taken. Pure."""

from typing import Final

from attrs import evolve

from datum.model.graph import Target
from datum.model.json import EMPTY
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum_providers.shared.kinds import (
    comparable,
    differences,
    hazards_of_kinds,
    kind_of,
    parent_need,
    residue_change,
)
from datum_providers.shared.places import guards_access
from datum_providers.shared.texts import content_change
from datum_providers.shared.unit_loading import CURRENT
from datum_providers.unit.desired import CONTENT_FIELDS, MODE, OWNER, DesiredUnit
from datum_providers.unit.look import GONE, MASK

_REGULAR: Final = FileKind.REGULAR.value
_ATTRIBUTES: Final = (("mode", MODE), ("owner", OWNER), ("group", OWNER))
# What changes nothing of the file.
_HARMLESS: Final = frozenset({"loaded", "residue"})


def plan_unit(desired: DesiredUnit, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kind, content, mode, owner, group, loaded, residue."""
    if isinstance(observed, Absent):
        return _make(Operation.CREATE, desired, observed, kind=None)
    kind = kind_of(observed)
    if kind is not None and kind != _REGULAR:
        return _make(Operation.REPLACE, desired, observed, kind=kind)
    changes = (
        *_content(desired, observed),
        *differences(observed, _ATTRIBUTES),
        *differences(observed, (("loaded", CURRENT),)),
        *residue_change(observed),
    )
    return Step(Operation.UPDATE, changes) if changes else None


def hazards_of_unit(desired: DesiredUnit, step: Step) -> frozenset[Hazard]:
    """Return `data_loss` where something else than a unit file goes, `access_loss` where a way in hangs on the unit."""
    kinds = tuple(change for change in step.changes if change.before not in {MASK, GONE})
    found = hazards_of_kinds(evolve(step, changes=kinds), FileKind.REGULAR)
    is_harmless = bool(step.changes) and all(change.name in _HARMLESS for change in step.changes)
    is_way_in = desired.unit.guards_access or any(guards_access(path) for path in (desired.path, *step.takes))
    return found | (frozenset({Hazard.ACCESS_LOSS}) if is_way_in and not is_harmless else frozenset())


def _make(operation: Operation, desired: DesiredUnit, observed: Present | Absent, *, kind: str | None) -> Step:
    changes = [Change("kind", kind, _REGULAR)]
    if desired.content is not None:
        changes.append(content_change(desired.content, None, {"text": ""}, mode=MODE))
    # The directory of a drop-in is made with it, unless it is somebody else's.
    is_own = desired.drop_in and not desired.has_declared_folder
    needs = (*_content_need(desired), *parent_need(desired.folder if is_own else desired.path, observed))
    takes = observed.holds if isinstance(observed, Present) else ()
    return Step(operation, (*changes, *residue_change(observed)), needs, takes)


def _content(desired: DesiredUnit, observed: Present) -> tuple[Change, ...]:
    before = comparable(observed, "content") if desired.content is not None else None
    if desired.content is None or before is None or before == f"blob:{desired.content.blob}":
        return ()
    return (content_change(desired.content, before, observed.detail or EMPTY, mode=MODE),)


def _content_need(desired: DesiredUnit) -> tuple[Need, ...]:
    if desired.content is not None:
        return ()
    fields = ", ".join(CONTENT_FIELDS[:-1])
    detail = f"No content is declared, so {desired.path} cannot be made; declare {fields} or {CONTENT_FIELDS[-1]}."
    return (Need(Target("content", desired.path), detail),)
