"""From the time zone that is seen to the one that is wanted: the step, and why it cannot be taken. Pure."""

from collections.abc import Iterator
from typing import Final

from datum.model.graph import NOTHING, Target
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum_providers.shared.adoption import KINDS
from datum_providers.shared.kinds import kind_of, residue_change
from datum_providers.timezone.desired import LOCALTIME, NAME, ZONEINFO, DesiredTimezone

_SYMLINK: Final = FileKind.SYMLINK.value


def plan_timezone(desired: DesiredTimezone, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kind, zone, etc_timezone, zone_known, residue."""
    changes = (*_changes(desired, observed), *residue_change(observed))
    return Step(Operation.UPDATE, changes, tuple(_needs(desired, observed, changes))) if changes else None


def _changes(desired: DesiredTimezone, observed: Present | Absent) -> Iterator[Change]:
    if desired.zone is None:
        return
    seen = observed.fields
    wanted = (("kind", _SYMLINK), ("zone", desired.zone), ("etc_timezone", desired.zone))
    for name, value in wanted:
        before = seen.get(name)
        if name in seen and (before is None or isinstance(before, str)) and before != value:
            yield Change(name, before, value)
    if seen.get("zone_known") is False and seen.get("zone") == desired.zone:
        # The link leads to nothing, and every program takes that for UTC.
        yield Change("zone_known", before=False, after=True)


def _needs(desired: DesiredTimezone, observed: Present | Absent, changes: tuple[Change, ...]) -> Iterator[Need]:
    changed = {change.name for change in changes}
    if observed.fields.get("zone_known") is False and changed != {"residue"}:
        yield Need(Target("path", f"{ZONEINFO}/{desired.zone}"), _missing(desired, observed))
    kind = kind_of(observed)
    if kind not in {None, _SYMLINK, FileKind.REGULAR.value} and "kind" in changed:
        detail = f"{KINDS[str(kind)].capitalize()} stands at '{LOCALTIME}'; take it away, then apply again."
        yield Need(Target(NOTHING, NAME), detail)
    if observed.fields.get("mounted") is True and "kind" in changed:
        yield Need(Target(NOTHING, NAME), f"Something is mounted on {LOCALTIME}, so it cannot be made a link.")


def _missing(desired: DesiredTimezone, observed: Present | Absent) -> str:
    near = observed.fields.get("near")
    names = [name for name in near if isinstance(name, str)] if isinstance(near, (list, tuple)) else []
    meant = f"names like it are {', '.join(names)}" if names else "the package tzdata brings them"
    return f"There is no time zone '{desired.zone}' in {ZONEINFO}: {meant}."
