"""From what is observed of a kernel key to what is wanted: the step, and why it cannot be taken. Pure."""

from collections.abc import Iterator

from datum.model.graph import NOTHING, Target
from datum.model.observation import Absent, NotApplicable, Present, Unobservable
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum_providers.shared.kernel import NO_KERNEL, READ_ONLY
from datum_providers.shared.kernel_names import KERNEL_KEY
from datum_providers.shared.kinds import kind_of, residue_change
from datum_providers.shared.other_kinds import in_place_of_file
from datum_providers.sysctl.desired import FOLDER, DesiredSysctl


def plan_sysctl(desired: DesiredSysctl, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order persistent, value, edited, shadowed_by, residue.

    What stands in the place of the file and is none, is not done away with.
    What a later file does at boot cannot be repaired by this resource: it is said once all else is as declared.
    """
    kind = kind_of(observed)
    if kind is not None:
        other = _never(desired, in_place_of_file(desired.path, kind))
        return Step(Operation.UPDATE, (Change("kind", kind, FileKind.REGULAR.value),), (other,))
    if desired.value is None:
        return None if isinstance(observed, Present) else _valueless(desired)
    operation = Operation.UPDATE if isinstance(observed, Present) else Operation.CREATE
    changes = (*_changes(desired.value, observed), *residue_change(observed))
    if changes:
        return Step(operation, changes, (*_key_needs(desired, observed), *_folder_needs(observed)))
    shadow = observed.fields.get("shadowed_by")
    if not isinstance(shadow, str):
        return None
    detail = (
        f"{shadow} sets {desired.key} otherwise, and is read after {desired.path}: take it out there, "
        "or declare that file."
    )
    return Step(Operation.UPDATE, (Change("shadowed_by", shadow, None),), (_never(desired, detail),))


def _changes(value: str, observed: Present | Absent) -> Iterator[Change]:
    persistent = observed.fields.get("persistent")
    if persistent != value:
        yield Change("persistent", persistent if isinstance(persistent, str) else None, value)
    yield from _running(value, observed)
    if observed.fields.get("edited") is True and persistent == value:
        yield Change("edited", before=True, after=False)


def _running(value: str, observed: Present | Absent) -> Iterator[Change]:
    """Yield the change of the running value; what cannot be read is set when the resource is made."""
    running = observed.fields.get("value")
    if running in (NO_KERNEL, READ_ONLY) or running == value:
        return
    is_unseen = isinstance(running, (NotApplicable, Unobservable))
    if is_unseen and isinstance(observed, Present):
        return
    yield Change("value", running if isinstance(running, str) else None, value)


def _key_needs(desired: DesiredSysctl, observed: Present | Absent) -> tuple[Need, ...]:
    if observed.fields.get("value", "") is not None:
        return ()
    detail = f"The running kernel has no key '{desired.key}': the module or interface that brings it is not there."
    return (Need(Target(KERNEL_KEY, desired.key), detail),)


def _folder_needs(observed: Present | Absent) -> tuple[Need, ...]:
    missing = observed.fields.get("missing_parent")
    if not isinstance(missing, str):
        return ()
    return (Need(Target("path", FOLDER.rpartition("/")[0]), f"There is no directory {missing}."),)


def _valueless(desired: DesiredSysctl) -> Step:
    need = _never(desired, f"No value is declared for {desired.key}, so nothing can be set.")
    return Step(Operation.CREATE, (Change("persistent", None, ""),), (need,))


def _never(desired: DesiredSysctl, detail: str) -> Need:
    return Need(Target(NOTHING, desired.key), detail)
