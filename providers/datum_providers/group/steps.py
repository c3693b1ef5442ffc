"""From what is observed of a group to what is wanted. `apply_group` changes the host; the rest is pure."""

from collections.abc import Iterable

from datum.model.graph import NOTHING, Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present
from datum.model.plan import RESIDUE, Change, Effect, Need, Operation, Step
from datum.provider.host import HostWriter
from datum_providers.group.desired import DesiredGroup
from datum_providers.shared.account_lines import PATHS_OF_GROUP, forget
from datum_providers.shared.account_tools import run_tool
from datum_providers.shared.admins import ADMIN_GROUPS
from datum_providers.shared.kinds import comparable, residue_change


def plan_group(desired: DesiredGroup, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order name, unfinished, gid, members, system, residue."""
    if isinstance(observed, Absent):
        wanted = (("name", desired.name), *_plain(desired), ("system", desired.is_system or None))
        changes = tuple(Change(name, None, value) for name, value in wanted if value is not None)
        return Step(
            Operation.CREATE, (*changes, *residue_change(observed)), _needs(desired, observed, {"gid", "members"})
        )
    if observed.fields.get("foreign") is True:
        detail = observed.obstacles[0] if observed.obstacles else "It is a group of another source."
        return Step(Operation.UPDATE, (Change("foreign", before=True, after=False),), (_never(desired, detail),))
    changes = tuple(_differences(desired, observed))
    if not changes:
        return None
    return Step(Operation.UPDATE, changes, _needs(desired, observed, {change.name for change in changes}))


def _plain(desired: DesiredGroup) -> tuple[tuple[str, JsonValue], ...]:
    return (("gid", desired.gid), ("members", desired.members))


def _differences(desired: DesiredGroup, observed: Present) -> Iterable[Change]:
    if observed.fields.get("unfinished") is True:
        yield Change("unfinished", before=True, after=False)
    for name, value in _plain(desired):
        before = comparable(observed, name) if value is not None else None
        if before is not None and before != value:
            yield Change(name, before, value)


def _needs(desired: DesiredGroup, observed: Present | Absent, changed: set[str]) -> tuple[Need, ...]:
    needs = []
    holder = observed.fields.get("gid_of")
    if "gid" in changed and holder is not None:
        needs.append(_never(desired, f"The gid {desired.gid} is that of {holder} on this host."))
    missing = observed.fields.get("missing_members")
    if "members" in changed and isinstance(missing, (list, tuple)):
        needs += [Need(Target("user", str(name)), f"The user {name} does not exist.") for name in missing]
    return tuple(needs)


def _never(desired: DesiredGroup, detail: str) -> Need:
    return Need(Target(NOTHING, desired.name), detail)


def effects_of_group(desired: DesiredGroup, step: Step) -> tuple[Effect, ...]:
    """Return the group, by name and by number."""
    if step.operation is not Operation.CREATE:
        return ()
    found = (Effect(Target("group", desired.name)),)
    return found if desired.gid is None else (*found, Effect(Target("gid", str(desired.gid))))


def hazards_of_group(desired: DesiredGroup, step: Step) -> frozenset[Hazard]:
    """Return `access_loss` where somebody is no administrator any more."""
    if desired.name not in ADMIN_GROUPS or step.operation is Operation.CREATE:
        return frozenset()
    for change in step.changes:
        if change.name == "members" and _names(change.before) - _names(change.after):
            return frozenset({Hazard.ACCESS_LOSS})
    return frozenset()


def _names(value: JsonValue) -> set[str]:
    return {str(name) for name in value} if isinstance(value, (list, tuple)) else set()


def apply_group(writer: HostWriter, desired: DesiredGroup, step: Step) -> None:
    """Run the shadow tools.

    Raises:
        HostError: it failed; what was done by then stays, and the next pass does the rest.
    """
    changes = {change.name: change for change in step.changes}
    if RESIDUE in changes:
        forget(writer, desired.name, PATHS_OF_GROUP)
    if changes.keys() == {RESIDUE}:
        return
    if step.operation is Operation.DELETE:
        run_tool(writer, "groupdel", desired.name)
        return
    if step.operation is Operation.CREATE:
        system = ("--system",) if desired.is_system else ()
        gid = () if desired.gid is None else ("--gid", str(desired.gid))
        run_tool(writer, "groupadd", *system, *gid, desired.name)
    elif "gid" in changes:
        run_tool(writer, "groupmod", "--gid", str(desired.gid), desired.name)
        before = changes["gid"].before
        writer.remark(f"Files of the gid {before} keep that number; `find / -xdev -gid {before}` names them.")
    if "unfinished" in changes:
        # What it has no line for in gshadow gets one, with the members of the group.
        run_tool(writer, "groupmod", "--password", "!", desired.name)
    if changes.keys() & {"members", "unfinished"} and desired.members is not None:
        run_tool(writer, "gpasswd", "--members", ",".join(desired.members), desired.name)
