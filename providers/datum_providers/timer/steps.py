"""From what is observed of a timer to what is wanted. Pure."""

from typing import Final

from datum.model.content import Content
from datum.model.graph import Target
from datum.model.json import EMPTY
from datum.model.observation import Absent, FieldValue, Present
from datum.model.plan import Change, Effect, Need, Operation, Step
from datum_providers.shared.kinds import comparable, parent_need, residue_change
from datum_providers.shared.root_files import MODE, NONE, REGULAR, attribute_changes
from datum_providers.shared.texts import content_change
from datum_providers.shared.unit_loading import CURRENT
from datum_providers.timer.desired import DesiredTimer
from datum_providers.timer.look import MASK, SERVICE

KINDS: Final = ("kind", f"{SERVICE}kind")


def plan_timer(desired: DesiredTimer, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kinds, texts, attributes, state, residue."""
    if isinstance(observed, Absent):
        kinds = [Change(name, None, REGULAR) for name in KINDS]
        changes = (*kinds, *_texts(desired, observed), *_state(desired, None), *residue_change(observed))
        return Step(Operation.CREATE, changes, _needs(desired, observed))
    kinds = [
        Change(name, kind, REGULAR)
        for name in KINDS
        if isinstance(kind := observed.fields.get(name), str) and kind != REGULAR
    ]
    changes = (
        *kinds,
        *_texts(desired, observed),
        *attribute_changes(observed),
        *attribute_changes(observed, SERVICE),
        *_state(desired, observed),
        *residue_change(observed),
    )
    if not changes:
        return None
    is_other = any(change.before != NONE for change in kinds)
    writes = any(change.name in {*KINDS, "service"} for change in changes)
    return Step(
        Operation.REPLACE if is_other else Operation.UPDATE,
        changes,
        _needs(desired, observed) if writes else (),
        observed.holds if is_other else (),
    )


def effects_of_timer(desired: DesiredTimer, step: Step) -> tuple[Effect, ...]:
    """Return the paths and units that the step makes."""
    if step.operation is Operation.DELETE:
        return ()
    made = {change.name for change in step.changes}
    found = []
    for name, path in zip(KINDS, (desired.path, desired.service_path), strict=True):
        if name in made:
            found += [Effect(Target("path", path)), Effect(Target("unit", path.rpartition("/")[2]))]
    return tuple(found)


def _texts(desired: DesiredTimer, observed: Present | Absent) -> list[Change]:
    changes = []
    for name, content in (("service", desired.service), ("timer", desired.timer)):
        before = comparable(observed, name)
        if content is not None and before != f"blob:{content.blob}":
            changes.append(_text(name, content, observed))
    return changes


def _text(name: str, content: Content, observed: Present | Absent) -> Change:
    old = observed.detail.get(name, "") if isinstance(observed, Present) else ""
    detail = {"text": old} if isinstance(old, str) else EMPTY
    found = content_change(content, comparable(observed, name), detail, mode=MODE)
    return Change(name, found.before, found.after, before_text=found.before_text, after_text=found.after_text)


def _state(desired: DesiredTimer, observed: Present | None) -> list[Change]:
    """Return what is to change of what the manager does; of what it cannot be asked nothing is."""
    if observed is None:
        return [Change("enabled", None, after=True), Change("running", None, after=True)] if desired.is_running else []
    wanted: tuple[tuple[str, FieldValue], ...] = (
        ("enabled", desired.is_running),
        ("running", desired.is_running),
        ("loaded", CURRENT),
    )
    changes = []
    for name, value in wanted:
        before = comparable(observed, name)
        if before is not None and before != value and isinstance(value, (bool, str)):
            changes.append(Change(name, before, value))
    return changes


def _needs(desired: DesiredTimer, observed: Present | Absent) -> tuple[Need, ...]:
    needs = list(parent_need(desired.path, observed))
    if desired.timer is None:
        detail = f"Nothing is declared that {desired.path} could hold; declare argv, and on_calendar or on_boot."
        needs.append(Need(Target("content", desired.path), detail))
    if observed.fields.get("user_known") is False:
        needs.append(Need(Target("user", desired.user), f"The user {desired.user} does not exist."))
    if observed.fields.get("program_known") is False:
        needs.append(Need(Target("path", desired.program), f"There is no program {desired.program}."))
    if observed.fields.get("directory_known") is False:
        needs.append(Need(Target("path", desired.directory), f"There is no directory {desired.directory}."))
    return tuple(needs)


HARMLESS: Final = frozenset({MASK})
"""Kinds of which nothing is lost."""
