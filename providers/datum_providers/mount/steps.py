"""From what is observed of a mount to what is wanted: the step, what it needs and what it may cost. Pure."""

from collections.abc import Iterator
from typing import Final

from datum.model.graph import NOTHING, Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, NotApplicable, Present, Unobservable
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum.provider.paths import parents
from datum_providers.mount.desired import DesiredMount
from datum_providers.mount.devices import IN_MEMORY
from datum_providers.mount.fstab import FSTAB
from datum_providers.mount.options import can_remount
from datum_providers.shared.kinds import kind_of, residue_change
from datum_providers.shared.other_kinds import in_place_of_file

STALE: Final = "stale"
"""Value of `loaded` where systemd has another fstab in mind than the one on the disk."""
CURRENT: Final = "current"

_LINE: Final = ("source", "fstype", "options", "dump", "pass")
# With another one of these it is another mount.
_OTHER: Final = frozenset({"mounted_source", "mounted_fstype"})


def plan_mount(desired: DesiredMount, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order of fstab, then loaded, then of what is mounted, then residue."""
    kind = kind_of(observed)
    if kind is not None:
        need = Need(Target(NOTHING, desired.point), in_place_of_file(FSTAB, kind))
        return Step(Operation.UPDATE, (Change("kind", kind, FileKind.REGULAR.value),), (need,))
    if desired.is_bare:
        return None if isinstance(observed, Present) else _nothing(desired)
    changes = tuple(_changes(desired, observed))
    if isinstance(observed, Absent):
        return Step(Operation.CREATE, (*changes, *residue_change(observed)), _needs(desired, observed))
    changes = (*changes, *residue_change(observed))
    return Step(Operation.UPDATE, changes, _needs(desired, observed) if _mounts(changes) else ()) if changes else None


def _mounts(changes: tuple[Change, ...]) -> bool:
    return any(change.name == "mounted" and change.after is True for change in changes)


def _nothing(desired: DesiredMount) -> Step:
    need = Need(Target(NOTHING, desired.point), f"Nothing says what is to be mounted on {desired.point}.")
    return Step(Operation.CREATE, (Change("persistent", before=False, after=True),), (need,))


def line_of(desired: DesiredMount) -> dict[str, JsonValue]:
    """Return what is declared of the line of fstab."""
    values = (desired.source, desired.fstype, desired.options, desired.dump, desired.passno)
    return {name: value for name, value in zip(_LINE, values, strict=True) if value is not None}


def _changes(desired: DesiredMount, observed: Present | Absent) -> Iterator[Change]:
    if observed.fields.get("persistent") is not desired.persistent:
        yield Change("persistent", before=not desired.persistent, after=desired.persistent)
    if desired.persistent:
        for name, value in line_of(desired).items():
            before = observed.fields.get(name)
            if before != value and not isinstance(before, (NotApplicable, Unobservable)):
                yield Change(name, before, value)
    if observed.fields.get("loaded") == STALE:
        yield Change("loaded", STALE, CURRENT)
    yield from _live(desired, observed)


def _live(desired: DesiredMount, observed: Present | Absent) -> Iterator[Change]:
    mounted = observed.fields.get("mounted")
    if isinstance(mounted, NotApplicable):
        return
    if mounted is not desired.mounted:
        yield Change("mounted", before=not desired.mounted, after=desired.mounted)
        return
    wanted = {"mounted_source": desired.source, "mounted_fstype": desired.fstype}
    for name, value in wanted.items():
        before = observed.fields.get(name)
        if isinstance(before, str) and before != value and not (desired.is_bind and name == "mounted_fstype"):
            yield Change(name, before, value)
    missing = observed.fields.get("missing_options")
    if isinstance(missing, (list, tuple)) and missing:
        yield Change("missing_options", tuple(missing), ())


def _needs(desired: DesiredMount, observed: Present | Absent) -> tuple[Need, ...]:
    missing = observed.fields.get("missing_parent")
    if not isinstance(missing, str) or not desired.mounted or isinstance(observed.fields.get("mounted"), NotApplicable):
        return ()
    return (Need(Target("path", parents(desired.point)[0]), f"There is no directory {missing}."),)


def exchanges(desired: DesiredMount, step: Step) -> bool:
    """Whether what is mounted is unmounted first, and the mount made anew."""
    changed = {change.name: change.before for change in step.changes}
    if changed.keys() & _OTHER:
        return True
    missing = changed.get("missing_options")
    words = [word for word in missing if isinstance(word, str)] if isinstance(missing, (list, tuple)) else []
    fstype = desired.fstype or ""
    return not can_remount(words, "" if desired.is_bind else fstype) if words else False


def remounts(desired: DesiredMount, step: Step) -> bool:
    """Whether what is mounted gets other options without being unmounted.

    Where fstab gets other options all that can be changed are set anew: that also takes back what is dropped.
    """
    changed = {change.name for change in step.changes}
    if step.operation is not Operation.UPDATE or changed & {"mounted", "persistent"} or exchanges(desired, step):
        return False
    is_live = desired.mounted and can_remount((), desired.fstype or "")
    return "missing_options" in changed or ("options" in changed and is_live)


def hazards_of_mount(desired: DesiredMount, step: Step) -> frozenset[Hazard]:
    """Return `outage` where something is unmounted, and `data_loss` where it lies in memory only."""
    before = {change.name: change.before for change in step.changes}
    unmounts = any(change.name == "mounted" and change.before is True for change in step.changes)
    if not unmounts and not exchanges(desired, step):
        return frozenset()
    types = {before.get("mounted_fstype"), before.get("fstype"), desired.fstype}
    return frozenset({Hazard.OUTAGE, Hazard.DATA_LOSS}) if types & IN_MEMORY else frozenset({Hazard.OUTAGE})
