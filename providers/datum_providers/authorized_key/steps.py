"""From what is observed of a key to what is wanted: the step, what it needs and what it may cost. Pure."""

from collections.abc import Iterable, Mapping

from datum.model.graph import NOTHING, SAFE_FOLDER, Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum.provider.paths import parents
from datum_providers.authorized_key.desired import DesiredKey
from datum_providers.authorized_key.lines import UNMANAGED, fingerprint_shown
from datum_providers.authorized_key.strict import OPEN_FOLDER, REFUSED
from datum_providers.shared.kinds import comparable, kind_of


def plan_key(desired: DesiredKey, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order key, options, comment, and then what sshd refuses."""
    if desired.is_of_all:
        return _plan_all(desired, observed)
    refusals = _refusals(desired, observed)
    if isinstance(observed, Absent):
        wanted = (("key", f"{desired.kind or 'key'} {desired.fingerprint}"), *_plain(desired))
        made = (Change(name, None, value) for name, value in wanted if value not in {None, ()})
        needs = (*_known(desired), *_rival(desired), *_place_needs(desired, observed), *_closed(desired, observed))
        return Step(Operation.CREATE, (*made, *_openings(observed)), (*needs, *refusals))
    if "closed" in observed.fields:
        return Step(Operation.UPDATE, (_opening(observed),), (*_rival(desired), *_closed(desired, observed)))
    changes = tuple(_differences(desired, observed))
    return Step(Operation.UPDATE, changes, (*_rival(desired), *refusals)) if changes else None


def _plan_all(desired: DesiredKey, observed: Present | Absent) -> Step | None:
    """Return the step after which no key stands there that is not declared."""
    if not desired.is_exclusive or isinstance(observed, Absent):
        return None
    if "closed" in observed.fields:
        return Step(Operation.UPDATE, (_opening(observed),), (*_rival(desired), *_closed(desired, observed)))
    beside = comparable(observed, UNMANAGED)
    if not isinstance(beside, (list, tuple)) or not beside:
        return None
    taken = {fingerprint_shown(str(shown)) for shown in beside} - desired.listed - desired.elsewhere
    takes = tuple(sorted(f"authorized_key:{desired.user}/{fingerprint}" for fingerprint in taken))
    return Step(Operation.UPDATE, (Change(UNMANAGED, tuple(beside), ()),), _rival(desired), takes)


def _plain(desired: DesiredKey) -> tuple[tuple[str, JsonValue], ...]:
    return (("options", desired.options), ("comment", desired.comment))


def _differences(desired: DesiredKey, observed: Present) -> Iterable[Change]:
    for name, value in _plain(desired):
        before = comparable(observed, name) if value is not None else None
        if before is not None and before != value:
            yield Change(name, before, value)
    if observed.fields.get("writable_by_others") is True:
        yield Change("writable_by_others", before=True, after=False)
    yield from _openings(observed)


def _openings(observed: Present | Absent) -> Iterable[Change]:
    for name in (OPEN_FOLDER, REFUSED):
        before = comparable(observed, name)
        if before is not None:
            yield Change(name, before, None)


def _refusals(desired: DesiredKey, observed: Present | Absent) -> tuple[Need, ...]:
    """Return what sshd refuses and this type does not change: each by its path, which a step on it may correct."""
    refused = observed.fields.get(REFUSED)
    found = dict(refused) if isinstance(refused, Mapping) else {}
    folder = observed.fields.get(OPEN_FOLDER)
    if desired.folder is not None and isinstance(folder, str):
        found[folder] = f"can be written by others than its owner, and {desired.folder} declares it"
    return tuple(
        Need(Target(SAFE_FOLDER, path), f"sshd takes no key of {desired.user}: '{path}' {why}.")
        for path, why in sorted(found.items())
    )


def _known(desired: DesiredKey) -> tuple[Need, ...]:
    if desired.blob is not None:
        return ()
    return (_never(desired, f"Only the fingerprint {desired.fingerprint} is declared, so the key cannot be made."),)


def _rival(desired: DesiredKey) -> tuple[Need, ...]:
    if desired.rival is None:
        return ()
    what = "of these keys" if desired.is_of_all else "in which the key would stand"
    return (_never(desired, f"{desired.rival} declares the whole file {what}."),)


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


def hazards_of_key(desired: DesiredKey, step: Step) -> frozenset[Hazard]:
    """Return `access_loss` where the last key of a file goes: nobody comes in by key then.

    Where others go that nobody declared, those that are declared are there by then.
    """
    changed = {change.name for change in step.changes}
    is_last = step.operation is Operation.DELETE and "last" in changed
    is_last = is_last or (UNMANAGED in changed and not desired.listed)
    return frozenset({Hazard.ACCESS_LOSS}) if is_last else frozenset()
