"""Carry out one step on one file of cron. Changes the host."""

from datum.model.plan import Operation, Step, sweeps
from datum.model.result import FailureCause
from datum.provider.host import HostError, HostWriter
from datum_providers.cron.desired import DesiredCron
from datum_providers.shared.root_files import correct_attributes, remove_file, write_file


def apply_cron(writer: HostWriter, desired: DesiredCron, step: Step) -> None:
    """Do the step.

    Raises:
        HostError: it failed.
    """
    changed = {change.name for change in step.changes}
    if step.operation is Operation.DELETE:
        if sweeps(step.changes):
            writer.remove_residue(desired.path)
            return
        remove_file(writer, desired.path, step)
        return
    if "residue" in changed:
        writer.remove_residue(desired.path)
    if step.operation is not Operation.UPDATE or "content" in changed:
        if desired.content is None:
            raise HostError(f"Nothing is declared for {desired.path}.", failure=FailureCause.IMPOSSIBLE)
        takes = step.takes if step.operation is Operation.REPLACE else None
        write_file(writer, desired.path, desired.content, takes=takes, validate=())
    else:
        correct_attributes(writer, desired.path, changed)
