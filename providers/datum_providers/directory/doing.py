"""Carry out one step on one directory. Changes the host."""

from datum.model.plan import Operation, Step
from datum.provider.host import DirectoryWrite, HostWriter
from datum_providers.directory.below import strangers_below
from datum_providers.directory.desired import DesiredDirectory
from datum_providers.shared.exclusive import clear, sweep
from datum_providers.shared.kinds import remove_whatever
from datum_providers.shared.modes import mode_to_set
from datum_providers.shared.names import path_of


def apply_directory(writer: HostWriter, desired: DesiredDirectory, step: Step) -> None:
    """Do the step: what it does not change is left as it is, except where the directory is made.

    Raises:
        HostError: it failed.
    """
    if step.operation is Operation.DELETE:
        remove_whatever(writer, desired.path, step)
        return
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        writer.remove_residue(desired.path)
    if step.operation is not Operation.UPDATE:
        uid, gid = desired.owners.ids(writer)
        replaces = step.operation is Operation.REPLACE
        writer.make_directory(desired.path, DirectoryWrite(desired.mode, uid, gid, replaces=replaces))
        return
    if changed & {"mode", "owner", "group"}:
        uid, gid = desired.owners.only(changed).ids(writer)
        writer.set_attributes(desired.path, mode=mode_to_set(desired.mode, changed), uid=uid, gid=gid)
    clear(writer, step.takes)
    parts = (change for change in step.changes if change.name.startswith("./") and change.sweeps)
    sweep(writer, [path_of(desired.path, change.name) for change in parts])
    if "recursive" in changed:
        _give(writer, desired)


def _give(writer: HostWriter, desired: DesiredDirectory) -> None:
    """Change owners from the top, so that each path is reached through directories that are theirs already."""
    uid, gid = desired.owners_below.ids(writer)
    for path in strangers_below(writer, desired, uid, gid).paths:
        writer.set_attributes(path, uid=uid, gid=gid, from_anybody=True)
