"""From what is observed of a file of cron to what is wanted. Pure."""

from typing import Final

from datum.model.graph import Target
from datum.model.json import EMPTY
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Need, Operation, Step
from datum_providers.cron.desired import DesiredCron
from datum_providers.shared.kinds import comparable, kind_of, parent_need, residue_change
from datum_providers.shared.root_files import MODE, REGULAR, attribute_changes
from datum_providers.shared.texts import content_change

_MAKING: Final = frozenset({Operation.CREATE, Operation.REPLACE})


def plan_cron(desired: DesiredCron, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kind, content, mode, owner, group, residue."""
    if isinstance(observed, Absent):
        return _make(Operation.CREATE, desired, observed, kind=None)
    kind = kind_of(observed)
    if kind != REGULAR:
        return _make(Operation.REPLACE, desired, observed, kind=kind)
    changes = (*_content(desired, observed), *attribute_changes(observed), *residue_change(observed))
    return Step(Operation.UPDATE, changes, _needs(desired, observed)) if changes else None


def makes_file(step: Step) -> bool:
    """Whether a step brings the file into being."""
    return step.operation in _MAKING


def _make(operation: Operation, desired: DesiredCron, observed: Present | Absent, *, kind: str | None) -> Step:
    changes = [Change("kind", kind, REGULAR)]
    if desired.content is not None:
        changes.append(content_change(desired.content, None, {"text": ""}, mode=MODE))
    takes = observed.holds if isinstance(observed, Present) else ()
    return Step(operation, (*changes, *residue_change(observed)), _needs(desired, observed), takes)


def _content(desired: DesiredCron, observed: Present) -> tuple[Change, ...]:
    before = comparable(observed, "content")
    if desired.content is None or before == f"blob:{desired.content.blob}":
        return ()
    return (content_change(desired.content, before, observed.detail or EMPTY, mode=MODE),)


def _needs(desired: DesiredCron, observed: Present | Absent) -> tuple[Need, ...]:
    needs = list(parent_need(desired.path, observed))
    if desired.content is None:
        detail = f"Nothing is declared that {desired.path} could hold; declare schedule and command, or content."
        needs.append(Need(Target("content", desired.path), detail))
    if observed.fields.get("user_known") is False:
        needs.append(Need(Target("user", desired.user), f"The user {desired.user} does not exist."))
    return tuple(needs)
