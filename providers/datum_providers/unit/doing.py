"""Carry out one step on one unit file. Changes the host; the manager is told afterwards, of all of them at once."""

from datum.model.plan import LOADED, Operation, Step
from datum.model.result import FailureCause
from datum.provider.host import Command, DirectoryWrite, FileWrite, HostError, HostWriter, Missing
from datum.provider.manager import ManagerWriter
from datum_providers.shared.kinds import remove_whatever
from datum_providers.shared.unit_files import UnitFiles
from datum_providers.shared.unit_judging import NOT_HERE, TIMEOUT, can_judge, require_sound
from datum_providers.shared.unit_loading import DOWN
from datum_providers.unit.desired import MODE, DesiredUnit
from datum_providers.unit.judging import judge_as_it_is, judge_of_candidate
from datum_providers.unit.look import GONE


def apply_unit(writer: HostWriter, desired: DesiredUnit, step: Step) -> None:
    """Do the step.

    Raises:
        HostError: it failed; where `systemd-analyze verify` refused the unit, with what it said.
    """
    if step.operation is Operation.DELETE:
        _remove(writer, desired, step)
        return
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        writer.remove_residue(desired.path)
    if step.operation is Operation.REPLACE:
        _write(writer, desired, takes=step.takes)
    elif step.operation is Operation.CREATE or "content" in changed:
        _write(writer, desired)
    else:
        if changed & {"mode", "owner", "group"}:
            uid, gid = writer.caller
            writer.set_attributes(desired.path, mode=MODE, uid=uid, gid=gid)
        if LOADED in changed:
            # Of a unit of which this file is as wanted, and another need not be.
            why = (
                f"{desired.path} is as declared, and is not loaded, since something is wrong with {desired.unit.full}."
            )
            require_sound(writer, judge_as_it_is(desired), why, desired.unit.full)


def _write(writer: HostWriter, desired: DesiredUnit, *, takes: tuple[str, ...] | None = None) -> None:
    if desired.content is None:
        raise HostError(f"No content is declared for {desired.path}.", failure=FailureCause.IMPOSSIBLE)
    uid, gid = writer.caller
    if desired.drop_in and isinstance(writer.examine(desired.folder), Missing):
        writer.make_directory(desired.folder, DirectoryWrite("0755", uid, gid))
    wanted = FileWrite(
        desired.content, MODE, uid, gid, validate=_judge(writer, desired), validate_timeout=TIMEOUT, takes=takes
    )
    writer.write_file(desired.path, wanted)


def _judge(writer: HostWriter, desired: DesiredUnit) -> tuple[str, ...]:
    """Return the program that sees the file at its path before the manager does; none where it could not judge."""
    why = _why_unjudged(writer, desired)
    if why:
        writer.remark(f"not_verified: {why}")
        return ()
    return judge_of_candidate(desired)


def _why_unjudged(writer: HostWriter, desired: DesiredUnit) -> str:
    if not can_judge(writer):
        return NOT_HERE
    if not desired.drop_in:
        return ""
    if desired.unit.stem.endswith("-"):
        return "it is for all units whose names begin so"
    state = UnitFiles(writer).state(desired.unit)
    if state == "not-found":
        return f"{desired.unit.full} is not there yet"
    return f"{desired.unit.full} is masked" if state.startswith("masked") else ""


def _remove(writer: HostWriter, desired: DesiredUnit, step: Step) -> None:
    """Stop and disable what runs from a unit file before that goes; with the last drop-in goes its directory."""
    if not desired.drop_in and any(change.name == "kind" for change in step.changes):
        _take_down(writer, desired)
    is_gone = any(change.before == GONE for change in step.changes)
    if desired.drop_in and not desired.has_declared_folder and _is_alone(writer, desired):
        # In one step, since candidates that are staged are seen by nobody before they are in place.
        writer.remove_directory(desired.folder, takes=() if is_gone else tuple(sorted((desired.path, *step.takes))))
    elif not is_gone:
        remove_whatever(writer, desired.path, step)


def _is_alone(writer: HostWriter, desired: DesiredUnit) -> bool:
    """Whether nothing but this drop-in lies in its directory, which is there."""
    if isinstance(writer.examine(desired.folder), Missing):
        return False
    return not set(writer.list_directory(desired.folder)) - {f"{desired.drop_in}.conf"}


def _take_down(writer: HostWriter, desired: DesiredUnit) -> None:
    manager, name = writer.manager(), desired.unit.full
    is_linked = UnitFiles(writer).is_linked_anywhere(desired.unit)
    if manager is None:
        if is_linked:
            writer.run(Command(("systemctl", "--root=/", "disable", name), TIMEOUT))
        return
    for each in _running_from(manager, desired):
        manager.stop(each)
    if is_linked:
        manager.disable([name])


def _running_from(manager: ManagerWriter, desired: DesiredUnit) -> list[str]:
    """Return what runs from a unit file: its unit, or the instances of a template that have no file of their own."""
    if not desired.is_for_many:
        names: tuple[str, ...] = (desired.unit.full,)
    else:
        names = manager.instances(desired.unit.full) if desired.unit.is_template else ()
    found = manager.units(names) if names else {}
    is_own = {name: not desired.is_for_many or facts.fragment == desired.path for name, facts in found.items()}
    return [name for name, facts in found.items() if is_own[name] and facts.active not in DOWN]
