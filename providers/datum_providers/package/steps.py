"""From what is observed of a package to what is wanted: the step, what it brings and what it may cost. Pure."""

import re
from collections.abc import Iterable
from typing import Final

from datum.model.graph import ANY_KEY, NOTHING, Target
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present
from datum.model.plan import RESIDUE, Change, Effect, Need, Operation, Step, sweeps
from datum_providers.package.database import FOLDER, INSTALLED, REINSTALL, RESIDUAL
from datum_providers.package.desired import DesiredPackage
from datum_providers.package.guarded import guards_access
from datum_providers.package.versions import Wanted, key_of

# What `dpkg --configure -a` goes on with; anything else is unpacked once more.
_CONFIGURED: Final = re.compile(r"unpacked|half-configured|triggers-awaited|triggers-pending")

# What a package may bring, by space.
_MAY_BRING: Final = ("unit", "user", "group", "path")
_PREFIX: Final = "package:"


def is_admitted(desired: DesiredPackage, version: object) -> bool:
    """Whether a version is one that is wanted."""
    return desired.version is None or (isinstance(version, str) and desired.version.admits(version))


def is_coming(desired: DesiredPackage, observed: Present | Absent) -> bool:
    """Whether apt has to bring a package, or another version of it."""
    if desired.purge or desired.is_going:
        return False
    if isinstance(observed, Absent):
        return True
    return not is_admitted(desired, observed.fields.get("version")) or is_unpacked_anew(observed)


def is_unpacked_anew(observed: Present) -> bool:
    """Whether only unpacking it again makes a package whole."""
    state = observed.fields.get("state")
    return state != INSTALLED and not _CONFIGURED.fullmatch(str(state))


def plan_package(desired: DesiredPackage, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order database, state, version, hold, manual, residue."""
    if desired.purge:
        return _purge(desired, observed)
    changes = [*_state(desired, observed), *_marks(desired, observed)]
    if changes and observed.fields.get("database") == "interrupted":
        changes.insert(0, Change("database", "interrupted", "consistent"))
    changes += _residue(observed)
    if not changes:
        return None
    operation = Operation.CREATE if isinstance(observed, Absent) else Operation.UPDATE
    return Step(operation, tuple(changes), tuple(_needs(desired, observed)))


def _purge(desired: DesiredPackage, observed: Present | Absent) -> Step | None:
    if isinstance(observed, Absent):
        left = tuple(_residue(observed))
        return Step(Operation.CREATE, left) if left else None
    state = str(observed.fields.get("state"))
    changes = (
        *_database(observed),
        Change("state", state, None),
        Change("version", observed.fields.get("version") or None, None),  # type: ignore[arg-type]  # a text
        *_residue(observed),
    )
    # The package itself is among what is taken, so that the limit of removed packages counts it.
    own = () if state == RESIDUAL else (f"{_PREFIX}{desired.name}",)
    kept = tuple(change for change in changes if change.before != change.after)
    return Step(Operation.REPLACE, kept, takes=tuple(sorted({*own, *observed.holds})))


def _database(observed: Present | Absent) -> list[Change]:
    is_interrupted = observed.fields.get("database") == "interrupted"
    return [Change("database", "interrupted", "consistent")] if is_interrupted else []


def _residue(observed: Present | Absent) -> list[Change]:
    return [Change(RESIDUE, before=True, after=None)] if observed.fields.get(RESIDUE) is True else []


def _state(desired: DesiredPackage, observed: Present | Absent) -> list[Change]:
    state, version = observed.fields.get("state"), observed.fields.get("version")
    changes = []
    if state != INSTALLED:
        changes.append(Change("state", state if isinstance(state, str) else None, INSTALLED))
    if desired.version is not None and not is_admitted(desired, version):
        changes.append(Change("version", version if isinstance(version, str) else None, str(desired.version)))
    return changes


def _marks(desired: DesiredPackage, observed: Present | Absent) -> list[Change]:
    """Return the changes of hold and manual; what apt installs on request is manual, and not held."""
    is_new = isinstance(observed, Absent)
    changes = []
    for name, wanted, usual in (("hold", desired.hold, False), ("manual", desired.manual, True)):
        seen = observed.fields.get(name)
        is_change = wanted is not usual if is_new else seen != wanted
        if wanted is not None and is_change:
            changes.append(Change(name, None if is_new or not isinstance(seen, bool) else seen, wanted))
    return changes


def _needs(desired: DesiredPackage, observed: Present | Absent) -> Iterable[Need]:
    """Yield what must be so before the step can work, and what keeps it from ever working."""
    if observed.fields.get("dpkg_known") is False:
        yield Need(Target("path", FOLDER), f"There is no dpkg on this host: it has no {FOLDER}.")
    if observed.fields.get("architecture_known") is False:
        architecture = desired.architecture
        detail = (
            f"dpkg installs nothing of the architecture {architecture} here; `dpkg --add-architecture {architecture}` "
            "has it do so."
        )
        yield Need(Target("path", f"{FOLDER}/arch"), detail)
    for sentence in (*_virtual(desired, observed), *_in_the_way(desired, observed), *_removed(desired, observed)):
        yield Need(Target(NOTHING, desired.name), sentence)


def _virtual(desired: DesiredPackage, observed: Present | Absent) -> Iterable[str]:
    providers = observed.fields.get("provided_by")
    if isinstance(providers, tuple) and providers:
        yield (
            f"{desired.name} is a virtual package; {_listed(providers)} would be installed for it: "
            "declare which one is wanted."
        )


def _in_the_way(desired: DesiredPackage, observed: Present | Absent) -> Iterable[str]:
    """Yield why the version that is there stays."""
    version = observed.fields.get("version")
    if desired.version is None or not isinstance(version, str) or is_admitted(desired, version):
        return
    if observed.fields.get("hold") is True and desired.hold is None:
        yield (
            f"{desired.name} {version} is on hold, and {desired.version} is wanted: declare `hold: false` to lift "
            "that, or `hold: true` to have it set again afterwards."
        )
    if not desired.version.exact and desired.version.is_passed_by(version):
        yield (
            f"{desired.name} {version} is newer than {desired.version} allows, and bounds never lead back to an older "
            "version: declare the exact one."
        )


def _removed(desired: DesiredPackage, observed: Present | Absent) -> Iterable[str]:
    removes = observed.fields.get("removes")
    names = [name for name in removes if isinstance(name, str)] if isinstance(removes, tuple) else []
    neighbours = desired.neighbours
    left = [name for name in names if neighbours is None or not neighbours.is_going(name)]
    if left:
        yield (
            f"Installing {desired.name} would remove {_listed(left)}: declare `package:{left[0]}` with `absent: true` "
            "if it shall go."
        )


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names))


def is_downgrade(desired: DesiredPackage, step: Step) -> bool:
    """Whether the step leads back to an older version: only an exact one asks for that."""
    wanted: Wanted | None = desired.version
    if wanted is None or not wanted.exact:
        return False
    before = next((change.before for change in step.changes if change.name == "version"), None)
    return step.operation is Operation.UPDATE and isinstance(before, str) and key_of(before) > key_of(wanted.exact)


def is_held_on(desired: DesiredPackage, step: Step) -> bool:
    """Whether a hold that stays is in the way of the step."""
    changed = {change.name for change in step.changes}
    is_other_version = step.operation is Operation.UPDATE and "version" in changed
    return desired.hold is True and "hold" not in changed and is_other_version


def is_unpacking(step: Step) -> bool:
    """Whether apt unpacks something for the step."""
    changes = {change.name: change for change in step.changes}
    if step.operation is Operation.CREATE or "version" in changes:
        return not step.operation.removes
    state = changes.get("state")
    return step.operation is Operation.UPDATE and state is not None and not _CONFIGURED.fullmatch(str(state.before))


def is_unpacked_again(step: Step) -> bool:
    """Whether the version that is there has to be unpacked once more."""
    return any(change.name == "state" and change.before == REINSTALL for change in step.changes)


def needs_configuring(step: Step) -> bool:
    """Whether dpkg has something to finish before anything else can be done; what goes need not be finished."""
    changes = {change.name: change for change in step.changes}
    if "database" in changes:
        return True
    state = changes.get("state")
    return not step.operation.removes and state is not None and bool(_CONFIGURED.fullmatch(str(state.before)))


def effects_of_package(desired: DesiredPackage, step: Step) -> tuple[Effect, ...]:
    """Return the package, and that it may bring units, accounts and files that nobody can name before."""
    changed = {change.name for change in step.changes}
    if step.operation.removes or not changed & {"state", "version"}:
        return ()
    possible = tuple(Effect(Target(space, ANY_KEY), certain=False) for space in _MAY_BRING)
    return (Effect(Target("package", desired.name)), *possible)


def hazards_of_package(desired: DesiredPackage, step: Step) -> frozenset[Hazard]:
    """Return what the step may cost.

    `data_loss` where configuration and data go or an older version may not read them; `outage` where others go along;
    `access_loss` where people or the agent come in by what goes.
    """
    if is_downgrade(desired, step):
        return frozenset({Hazard.DATA_LOSS})
    if not step.operation.removes or sweeps(step.changes):
        return frozenset()
    taken = [name.removeprefix(_PREFIX) for name in step.takes]
    found = {Hazard.DATA_LOSS} if step.operation is Operation.REPLACE else set()
    if set(taken) - {desired.name}:
        found.add(Hazard.OUTAGE)
    if any(guards_access(name) for name in (desired.name, *taken)):
        found.add(Hazard.ACCESS_LOSS)
    return frozenset(found)
