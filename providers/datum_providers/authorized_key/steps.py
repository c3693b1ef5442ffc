"""From what is observed of a key to what is wanted: the step, what it needs and what it may cost. Pure."""

from collections.abc import Iterable

from datum.model.graph import NOTHING, Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum.provider.paths import parents
from datum_providers.authorized_key.desired import DesiredKey
from datum_providers.shared.kinds import comparable, kind_of


def plan_key(desired: DesiredKey, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order key, options, comment, writable_by_others."""
    if isinstance(observed, Absent):
        wanted = (("key", f"{desired.kind or 'key'} {desired.fingerprint}"), *_plain(desired))
        changes = tuple(Change(name, None, value) for name, value in wanted if value not in {None, ()})
        needs = (*_known(desired), *_rival(desired), *_place_needs(desired, observed), *_closed(desired, observed))
        return Step(Operation.CREATE, changes, needs)
    if "closed" in observed.fields:
        return Step(Operation.UPDATE, (_opening(observed),), (*_rival(desired), *_closed(desired, observed)))
    changes = tuple(_differences(desired, observed))
    return Step(Operation.UPDATE, changes, _rival(desired)) if changes else None


def _plain(desired: DesiredKey) -> tuple[tuple[str, JsonValue], ...]:
    return (("options", desired.options), ("comment", desired.comment))


def _differences(desired: DesiredKey, observed: Present) -> Iterable[Change]:
    for name, value in _plain(desired):
        before = comparable(observed, name) if value is not None else None
        if before is not None and before != value:
            yield Change(name, before, value)
    if observed.fields.get("writable_by_others") is True:
        yield Change("writable_by_others", before=True, after=False)


def _known(desired: DesiredKey) -> tuple[Need, ...]:
    if desired.blob is not None:
        return ()
    return (_never(desired, f"Only the fingerprint {desired.fingerprint} is declared, so the key cannot be made."),)


def _rival(desired: DesiredKey) -> tuple[Need, ...]:
    if desired.rival is None:
        return ()
    return (_never(desired, f"{desired.rival} declares the whole file in which the key would stand."),)


def _opening(observed: Present) -> Change:
    kind = kind_of(observed)
    if kind is not None:
        return Change("kind", kind, FileKind.REGULAR.value)
    return Change("closed", comparable(observed, "closed"), None)


def _closed(desired: DesiredKey, observed: Present | Absent) -> tuple[Need, ...]:
    detail = observed.fields.get("closed")
    return (_never(desired, detail),) if isinstance(detail, str) else ()


def _place_needs(desired: DesiredKey, observed: Absent) -> tuple[Need, ...]:
    """Return the user, and the directory that must be there: above the one that is made along, as `.ssh` in a home."""
    needs = []
    is_nobody = observed.fields.get("user_known") is False
    if is_nobody:
        needs.append(Need(Target("user", desired.user), f"The user {desired.user} is not in /etc/passwd."))
    missing, path = observed.fields.get("missing_parent"), observed.fields.get("path")
    # Of a user whom nobody declares it is not known what comes with it.
    if isinstance(missing, str) and isinstance(path, str) and (desired.has_user or not is_nobody):
        folder, home = parents(path)[0], observed.fields.get("home")
        above = parents(folder)[:1]
        is_made = above == (home,)
        if not (is_made and missing == folder):
            needs.append(Need(Target("path", above[0] if is_made else folder), f"There is no directory {missing}."))
    return tuple(needs)


def _never(desired: DesiredKey, detail: str) -> Need:
    return Need(Target(NOTHING, f"{desired.user}/{desired.fingerprint}"), detail)


def hazards_of_key(step: Step) -> frozenset[Hazard]:
    """Return `access_loss` where the last key of a file goes: nobody comes in by key then."""
    is_last = step.operation is Operation.DELETE and any(change.name == "last" for change in step.changes)
    return frozenset({Hazard.ACCESS_LOSS}) if is_last else frozenset()
