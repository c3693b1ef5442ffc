"""From what is observed of a file to what is wanted: the step, and why it cannot be taken. Pure."""

from typing import Final

from datum.model.graph import Target
from datum.model.json import EMPTY
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum_providers.file.desired import CONTENT_FIELDS, DesiredFile
from datum_providers.shared.kinds import comparable, differences, kind_of, parent_need, residue_change
from datum_providers.shared.texts import content_change

_REGULAR: Final = FileKind.REGULAR.value


def plan_file(desired: DesiredFile, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kind, content, mode, owner, group, residue."""
    if isinstance(observed, Absent):
        return _make(Operation.CREATE, desired, observed, kind=None)
    kind = kind_of(observed)
    if kind is not None and kind != _REGULAR:
        return _make(Operation.REPLACE, desired, observed, kind=kind)
    changes = (*_differences(desired, observed), *residue_change(observed))
    if not changes:
        return None
    changed = {change.name for change in changes}
    return Step(Operation.UPDATE, changes, desired.owners.only(changed).needs(observed))


def _make(operation: Operation, desired: DesiredFile, observed: Present | Absent, *, kind: str | None) -> Step:
    changes = [Change("kind", kind, _REGULAR)]
    if desired.content is not None:
        changes.append(content_change(desired.content, None, {"text": ""}, mode=desired.mode))
    wanted = (("mode", desired.mode), ("owner", desired.owner), ("group", desired.group))
    changes.extend(Change(name, None, value) for name, value in wanted if value is not None)
    needs = (*_content_need(desired), *parent_need(desired.path, observed), *desired.owners.needs(observed))
    takes = observed.holds if isinstance(observed, Present) else ()
    return Step(operation, (*changes, *residue_change(observed)), needs, takes)


def _differences(desired: DesiredFile, observed: Present) -> tuple[Change, ...]:
    changes: list[Change] = []
    content = desired.enforced_content
    before = comparable(observed, "content") if content is not None else None
    if content is not None and before is not None and before != f"blob:{content.blob}":
        changes.append(content_change(content, before, observed.detail or EMPTY, mode=desired.mode))
    changes.extend(differences(observed, (("mode", desired.mode), ("owner", desired.owner), ("group", desired.group))))
    return tuple(changes)


def _content_need(desired: DesiredFile) -> tuple[Need, ...]:
    if desired.content is not None:
        return ()
    fields = ", ".join(CONTENT_FIELDS[:-1])
    detail = f"No content is declared, so {desired.path} cannot be made; declare {fields} or {CONTENT_FIELDS[-1]}."
    return (Need(Target("content", desired.path), detail),)
