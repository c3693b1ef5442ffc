"""From what is observed of a user to what is wanted: the step, what it needs and what it may cost. Pure."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from datum.model.graph import NOTHING, Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Effect, Need, Operation, Step
from datum_providers.shared.accounts import is_number
from datum_providers.shared.admins import ADMIN_GROUPS
from datum_providers.shared.kinds import comparable, residue_change
from datum_providers.user.desired import DAY_FIELDS, DesiredUser

_NO_SHELLS: Final = frozenset({"nologin", "false", "sync", ""})
_ROOT: Final = "root"


def plan_user(desired: DesiredUser, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order of the fields on the page."""
    if isinstance(observed, Absent):
        made = (*_creation(desired), *residue_change(observed))
        return Step(Operation.CREATE, made, _account_needs(desired, observed))
    if observed.fields.get("foreign") is True:
        detail = f"{observed.obstacles[0] if observed.obstacles else 'It is an account of another source.'}"
        return Step(Operation.UPDATE, (Change("foreign", before=True, after=False),), (_never(desired, detail),))
    if observed.fields.get("unfinished") is True:
        anew = Change("unfinished", before=True, after=False)
        return Step(Operation.UPDATE, (anew, *_creation(desired)), _account_needs(desired, observed))
    changes = tuple(_differences(desired, observed))
    passwordless = _passwordless(desired, observed, changes)
    if not changes and not passwordless:
        return None
    names = {change.name for change in changes}
    needs = (*_account_needs(desired, observed, names), *_refusals(desired, observed, names), *passwordless)
    return Step(Operation.UPDATE, changes or (Change("passwordless", before=True, after=False),), needs)


def _creation(desired: DesiredUser) -> tuple[Change, ...]:
    wanted: list[tuple[str, JsonValue]] = [("name", desired.name), *_plain(desired), ("groups", desired.groups)]
    wanted += [("locked", desired.locked), ("expires", desired.expires), *_days(desired)]
    wanted += [("system", desired.is_system or None), ("create_home", desired.creates_home or None)]
    password = desired.password_form
    secret = () if password is None else (Change("password", None, password, sensitive=True),)
    return (*(Change(name, None, value) for name, value in wanted if value is not None), *secret)


def _plain(desired: DesiredUser) -> tuple[tuple[str, JsonValue], ...]:
    return (
        ("uid", desired.uid),
        ("group", desired.group),
        ("comment", desired.comment),
        ("home", desired.home),
        ("shell", desired.shell),
    )


def _days(desired: DesiredUser) -> tuple[tuple[str, JsonValue], ...]:
    return tuple((name, desired.days.get(name)) for name in DAY_FIELDS)


def _differences(desired: DesiredUser, observed: Present) -> Iterable[Change]:
    yield from _changed(observed, _plain(desired))
    if observed.fields.get("stranded") is True:
        yield Change("group", comparable(observed, "group"), desired.name)
    yield from _group_change(desired, observed)
    password = desired.password_form
    for change in _changed(observed, (("password", password),)):
        yield Change(change.name, change.before, change.after, sensitive=True)
    yield from _changed(observed, (("locked", desired.locked), ("expires", desired.expires), *_days(desired)))


def _changed(observed: Present, wanted: Iterable[tuple[str, JsonValue]]) -> Iterable[Change]:
    for name, value in wanted:
        before = comparable(observed, name) if value is not None else None
        if before is not None and before != value:
            yield Change(name, before, value)


def _group_change(desired: DesiredUser, observed: Present) -> Iterable[Change]:
    """Yield the change of supplementary groups; who has a group as the primary one is in it already."""
    listed = comparable(observed, "groups")
    if desired.groups is None or not isinstance(listed, (list, tuple)):
        return
    seen = {name for name in listed if isinstance(name, str)}
    primary = desired.group if desired.group is not None else observed.fields.get("group")
    wanted = set(desired.groups)
    if desired.is_exact:
        if seen - {primary} != wanted - {primary}:
            yield Change("groups", tuple(sorted(seen)), desired.groups)
    elif wanted - seen - {primary}:
        yield Change("groups", tuple(sorted(seen)), tuple(sorted(seen | (wanted - {primary}))))


def _passwordless(desired: DesiredUser, observed: Present, changes: Iterable[Change]) -> tuple[Need, ...]:
    """Return the refusal of an account that anybody may enter, where nothing that is declared ends that."""
    is_ended = any(change.name == "password" or (change.name == "locked" and change.after) for change in changes)
    if observed.fields.get("passwordless") is not True or is_ended:
        return ()
    detail = (
        f"The account {desired.name} has an empty password, with which everybody can enter it; declare a password, "
        "or locked: true."
    )
    return (_never(desired, detail),)


def _account_needs(
    desired: DesiredUser, observed: Present | Absent, names: Iterable[str] = ("uid", "group", "groups")
) -> tuple[Need, ...]:
    """Return the groups that must be there, and the uid that must be free, for these changes."""
    needs, changed = [], set(names)
    if desired.group is not None and "group" in changed and observed.fields.get("group_known") is False:
        kind = "gid" if is_number(desired.group) else "group"
        needs.append(Need(Target(kind, desired.group), f"The {kind} {desired.group} does not exist."))
    missing = observed.fields.get("missing_groups")
    if "groups" in changed and isinstance(missing, (list, tuple)):
        needs += [Need(Target("group", str(group)), f"The group {group} does not exist.") for group in missing]
    holder = observed.fields.get("uid_of")
    if "uid" in changed and holder is not None:
        needs.append(_never(desired, f"The uid {desired.uid} is that of {holder} on this host."))
    return tuple(needs)


def _refusals(desired: DesiredUser, observed: Present, names: AbstractSet[str]) -> tuple[Need, ...]:
    if "uid" in names and observed.fields.get("uid") == 0:
        return (_never(desired, f"{desired.name} has uid 0, and keeps it."),)
    return ()


def _never(desired: DesiredUser, detail: str) -> Need:
    return Need(Target(NOTHING, desired.name), detail)


def effects_of_user(desired: DesiredUser, step: Step) -> tuple[Effect, ...]:
    """Return the account, the group that is made with it, and its home."""
    if step.operation is not Operation.CREATE and all(change.name != "unfinished" for change in step.changes):
        return ()
    found = [Effect(Target("user", desired.name))]
    if desired.uid is not None:
        found.append(Effect(Target("uid", str(desired.uid))))
    if desired.group is None:
        found.append(Effect(Target("group", desired.name)))
    if desired.creates_home:
        found.append(Effect(Target("path", home_of(desired))))
    return tuple(found)


def home_of(desired: DesiredUser) -> str:
    """Return the home that an account gets, as useradd(8) has it without configuration."""
    return desired.home or f"/home/{desired.name}"


def hazards_of_user(desired: DesiredUser, step: Step) -> frozenset[Hazard]:
    """Return `access_loss` where somebody cannot come in any more, or not as an administrator."""
    changes = {change.name: change for change in step.changes}
    if step.operation is Operation.DELETE:
        shell = changes.get("shell")
        can_enter = shell is not None and str(shell.before).rpartition("/")[2] not in _NO_SHELLS
        return frozenset({Hazard.ACCESS_LOSS}) if can_enter else frozenset()
    if step.operation is not Operation.UPDATE:
        return frozenset()
    is_way_in = desired.name == _ROOT and not changes.keys().isdisjoint({"password", "locked", "expires", "shell"})
    lost = _names(changes, "groups", before=True) - _names(changes, "groups", before=False)
    lost |= _names(changes, "group", before=True)
    return frozenset({Hazard.ACCESS_LOSS}) if is_way_in or lost & ADMIN_GROUPS else frozenset()


def _names(changes: dict[str, Change], name: str, *, before: bool) -> set[str]:
    change = changes.get(name)
    value = None if change is None else change.before if before else change.after
    if isinstance(value, str):
        return {value}
    return {str(one) for one in value} if isinstance(value, (list, tuple)) else set()
