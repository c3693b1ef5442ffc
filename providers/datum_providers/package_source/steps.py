"""From what is observed of a source to what is wanted. Pure."""

from typing import Final

from datum.model.graph import Target
from datum.model.json import JsonValue
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Effect, Need, Operation, Step
from datum_providers.package_source.desired import DesiredSource
from datum_providers.package_source.look import KEY, digest_of
from datum_providers.shared.kinds import comparable, kind_of, parent_need, residue_change
from datum_providers.shared.root_files import NONE, REGULAR, attribute_changes

_INDEX: Final = Target("apt_index", "")
_STANZA: Final = ("types", "uris", "suites", "components", "architectures", "signed_by", "enabled", "options")


def plan_source(desired: DesiredSource, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kinds, fields of the source, key, attributes, residue."""
    if isinstance(observed, Absent):
        kinds = [Change("kind", None, REGULAR), *([Change(f"{KEY}kind", None, REGULAR)] if desired.keys else [])]
        changes = (*kinds, *_fields(desired, observed), *residue_change(observed))
        return Step(Operation.CREATE, changes, _needs(desired, observed))
    kinds = [
        Change(name, kind, REGULAR)
        for name in ("kind", f"{KEY}kind")
        if isinstance(kind := observed.fields.get(name), str) and kind != REGULAR and _wants(desired, name)
    ]
    attributes = [*attribute_changes(observed), *(attribute_changes(observed, KEY) if desired.keys else ())]
    changes = (*kinds, *_fields(desired, observed), *attributes, *residue_change(observed))
    if not changes:
        return None
    is_other = any(change.before != NONE for change in kinds)
    operation = Operation.REPLACE if is_other else Operation.UPDATE
    needs = _needs(desired, observed) if kinds or desired.stanza is not None else ()
    return Step(operation, changes, needs, observed.holds if is_other else ())


def effects_of_source(desired: DesiredSource, step: Step) -> tuple[Effect, ...]:
    """Return the paths that the step makes, and that apt has another index to read."""
    if step.operation is Operation.DELETE:
        return ()
    made = {change.name for change in step.changes if change.name.endswith("kind")}
    paths = ((desired.path, "kind"), (desired.key_path, f"{KEY}kind"))
    return (*(Effect(Target("path", path)) for path, name in paths if name in made), Effect(_INDEX))


def _wants(desired: DesiredSource, name: str) -> bool:
    """Whether a file is wanted: a source always, a key where one is declared."""
    return name == "kind" or desired.keys is not None


def _fields(desired: DesiredSource, observed: Present | Absent) -> list[Change]:
    """Return what is to change of the source, field by field, and of the key."""
    if desired.stanza is None:
        return []
    wanted: dict[str, JsonValue] = desired.stanza.normal()
    is_new = kind_of(observed) != REGULAR
    changes = []
    if observed.fields.get("readable") is False:
        changes.append(Change("readable", before=False, after=True))
    for name in _STANZA:
        before = comparable(observed, name)
        if before != wanted[name] and not (is_new and not wanted[name] and name != "enabled"):
            changes.append(Change(name, before, wanted[name]))
    if desired.keys is not None and comparable(observed, "key") != digest_of(desired.keys):
        changes.append(Change("key", comparable(observed, "key"), digest_of(desired.keys)))
    return changes


def _needs(desired: DesiredSource, observed: Present | Absent) -> tuple[Need, ...]:
    needs = list(parent_need(desired.path, observed))
    if desired.stanza is None:
        detail = f"Nothing is declared that {desired.path} could hold; declare uris and suites."
        needs.append(Need(Target("content", desired.path), detail))
    if observed.fields.get("keyring_known") is False:
        needs.append(Need(Target("path", desired.keyring), f"There is no keyring {desired.keyring}."))
    return tuple(needs)


def rewrites_source(step: Step) -> bool:
    """Whether a step writes the file of the source: where it was not there, or another one."""
    names = {change.name for change in step.changes}
    return step.operation is Operation.CREATE or bool(names & {"kind", "readable", *_STANZA})
