"""Carry out one step on one timer: its files, then the manager. Changes the host.

The action tells the manager of the files by itself, since it starts the timer in the same breath.
"""

from typing import Final

from datum.model.content import Content
from datum.model.plan import LOADED, Operation, Step, sweeps
from datum.model.result import FailureCause
from datum.provider.host import DirectoryWrite, FileFacts, HostError, HostWriter, LinkWrite, Missing
from datum.provider.manager import ManagerWriter
from datum_providers.shared.root_files import correct_attributes, remove_file, write_file
from datum_providers.shared.unit_files import UnitFiles
from datum_providers.shared.unit_judging import JUDGE_OF_CANDIDATE, NOT_HERE, can_judge, judge_of_files, require_sound
from datum_providers.shared.unit_loading import DOWN
from datum_providers.shared.units import SYSTEM
from datum_providers.timer.desired import DesiredTimer
from datum_providers.timer.look import SERVICE

_WANTS: Final = f"{SYSTEM}/timers.target.wants"


def apply_timer(writer: HostWriter, desired: DesiredTimer, step: Step) -> None:
    """Do the step.

    Raises:
        HostError: it failed; where `systemd-analyze verify` refused a unit, with what it said.
    """
    if any(change.name == "residue" for change in step.changes):
        _sweep(writer, desired)
    if sweeps(step.changes):
        return
    if step.operation is Operation.DELETE:
        _remove(writer, desired, step)
        return
    _write_files(writer, desired, step)
    manager = writer.manager()
    if manager is None:
        _enable_on_disk(writer, desired)
    else:
        _tell(writer, manager, desired, step)


def _write_files(writer: HostWriter, desired: DesiredTimer, step: Step) -> None:
    """Write the service before the timer, which is judged together with it."""
    changed = {change.name for change in step.changes}
    takes = step.takes if step.operation is Operation.REPLACE else None
    parts = (
        ("service", SERVICE, desired.service_path, desired.service),
        ("timer", "", desired.path, desired.timer),
    )
    for name, prefix, path, content in parts:
        if changed & {name, f"{prefix}kind"}:
            write_file(writer, path, _known(content, path), takes=takes, validate=_judges(writer))
        else:
            correct_attributes(writer, path, changed, prefix=prefix)


def _known(content: Content | None, path: str) -> Content:
    if content is None:
        raise HostError(f"Nothing is declared for {path}.", failure=FailureCause.IMPOSSIBLE)
    return content


def _judges(writer: HostWriter) -> tuple[str, ...]:
    if can_judge(writer):
        return JUDGE_OF_CANDIDATE
    writer.remark(f"not_verified: {NOT_HERE}")
    return ()


def _tell(writer: HostWriter, manager: ManagerWriter, desired: DesiredTimer, step: Step) -> None:
    """Have the manager read the files, and do what is wanted; a timer that is active goes on with what it read."""
    name = desired.unit.full
    if not desired.is_running and manager.units([name])[name].active not in DOWN:
        manager.stop(name)
    _require_sound(writer, desired, step)
    manager.daemon_reload()
    facts = manager.units([name])[name]
    if desired.is_running is not (facts.file_state == "enabled"):
        change = manager.enable if desired.is_running else manager.disable
        change([name])
        manager.daemon_reload()
    if desired.is_running and facts.active in DOWN:
        manager.start(name)


def _require_sound(writer: HostWriter, desired: DesiredTimer, step: Step) -> None:
    """Refuse what others did to the units, drop-ins included; a pair that is new was judged as it was written."""
    is_read = desired.is_running or any(change.name == LOADED for change in step.changes)
    if is_read and step.operation is not Operation.CREATE:
        name, service = desired.unit.full, f"{desired.name}.service"
        why = f"{name} is neither loaded nor started, since something is wrong with a file of it or of {service}."
        require_sound(writer, judge_of_files(desired.path, desired.service_path), why, f"{name} {service}")


def _enable_on_disk(writer: HostWriter, desired: DesiredTimer) -> None:
    """Make or remove the one link that the file asks for."""
    link = f"{_WANTS}/{desired.unit.full}"
    is_there = isinstance(writer.examine(link), FileFacts)
    if desired.is_running and not is_there:
        uid, gid = writer.caller
        if isinstance(writer.examine(_WANTS), Missing):
            writer.make_directory(_WANTS, DirectoryWrite("0755", uid, gid))
        writer.write_link(link, LinkWrite(desired.path, uid, gid))
    elif is_there and not desired.is_running:
        writer.remove_file(link)


def _remove(writer: HostWriter, desired: DesiredTimer, step: Step) -> None:
    """Stop and disable the timer before its files go; what it started is left to end."""
    manager, name, service = writer.manager(), desired.unit.full, f"{desired.name}.service"
    is_linked = UnitFiles(writer).is_linked_anywhere(desired.unit)
    if manager is not None:
        facts = manager.units([name, service])
        if facts[name].active not in DOWN:
            manager.stop(name)
        if is_linked:
            manager.disable([name])
        if facts[service].active not in DOWN:
            writer.remark(f"{service} runs, and is left to end")
    elif isinstance(writer.examine(f"{_WANTS}/{name}"), FileFacts):
        writer.remove_file(f"{_WANTS}/{name}")
    remove_file(writer, desired.path, step)
    remove_file(writer, desired.service_path, step, prefix=SERVICE)
    if manager is not None:
        manager.daemon_reload()


def _sweep(writer: HostWriter, desired: DesiredTimer) -> None:
    for path in (desired.path, desired.service_path):
        if writer.examine(path).has_residue:
            writer.remove_residue(path)
