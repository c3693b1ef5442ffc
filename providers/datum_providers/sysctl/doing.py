"""Carry out one step on one kernel key: the running value first, since the kernel judges it. Changes the host."""

from datum.model.content import Content
from datum.model.observation import Cause
from datum.model.plan import Operation, Step, sweeps
from datum.model.result import FailureCause
from datum.provider.host import DirectoryWrite, FileWrite, HostError, HostWriter, Missing
from datum_providers.shared.kernel import is_settable, kernel_path
from datum_providers.sysctl.desired import FOLDER, DesiredSysctl
from datum_providers.sysctl.lines import text_for


def apply_sysctl(writer: HostWriter, desired: DesiredSysctl, step: Step) -> None:
    """Do the step; a value that the kernel refuses is not written for the next boot either.

    Raises:
        HostError: it failed.
    """
    if step.operation is Operation.DELETE:
        _remove(writer, desired, step)
        return
    if desired.value is None:
        raise HostError(f"No value is declared for {desired.key}.", failure=FailureCause.IMPOSSIBLE)
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        writer.remove_residue(desired.path)
    if "value" in changed or ("persistent" in changed and _is_set_unseen(writer, desired)):
        writer.set_kernel_value(kernel_path(desired.key), desired.value.encode() + b"\n")
    if changed & {"persistent", "edited"}:
        if isinstance(writer.examine(FOLDER), Missing):
            writer.make_directory(FOLDER, DirectoryWrite())
        text = text_for(desired.key, desired.value)
        writer.write_file(desired.path, FileWrite(Content.from_bytes(text.encode())))


def _remove(writer: HostWriter, desired: DesiredSysctl, step: Step) -> None:
    if sweeps(step.changes):
        writer.remove_residue(desired.path)
        return
    writer.remove_file(desired.path)
    if writer.is_running_system:
        writer.remark(f"The running value of {desired.key} stays until the next boot: what it was before is not known.")


def _is_set_unseen(writer: HostWriter, desired: DesiredSysctl) -> bool:
    """Whether the running value is one that cannot be compared, so that another declaration is the reason to set it."""
    if not is_settable(writer, desired.key):
        return False
    if desired.not_read_back is not None:
        return True
    try:
        writer.kernel_value(kernel_path(desired.key))
    except HostError as error:
        if error.cause is Cause.DENIED:
            return True
        raise
    return False
