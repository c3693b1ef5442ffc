"""Carry out one step on one file. Changes the host."""

from collections.abc import Set as AbstractSet
from typing import Final

from datum.model.plan import Operation, Step
from datum.model.result import FailureCause
from datum.provider.host import FileWrite, HostError, HostWriter
from datum_providers.file.desired import DesiredFile
from datum_providers.shared.kinds import remove_whatever
from datum_providers.shared.modes import mode_to_set

VALIDATE_TIMEOUT: Final = 60.0
"""Seconds that `validate` may take."""

_EVERYTHING: Final = frozenset({"content", "mode", "owner", "group"})


def apply_file(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
    """Do the step: what it does not change is left as it is, except where the file is made.

    Raises:
        HostError: it failed.
    """
    if step.operation is Operation.DELETE:
        remove_whatever(writer, desired.path, step)
        return
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        changed.discard("residue")
        writer.remove_residue(desired.path)
    if step.operation is Operation.REPLACE:
        _write(writer, desired, _EVERYTHING, takes=step.takes)
    elif step.operation is Operation.CREATE:
        _write(writer, desired, _EVERYTHING)
    elif "content" in changed:
        _write(writer, desired, changed)
    elif changed:
        uid, gid = desired.owners.only(changed).ids(writer)
        writer.set_attributes(desired.path, mode=mode_to_set(desired.mode, changed), uid=uid, gid=gid)


def _write(
    writer: HostWriter,
    desired: DesiredFile,
    changed: AbstractSet[str],
    *,
    takes: tuple[str, ...] | None = None,
) -> None:
    if desired.content is None:
        raise HostError(f"No content is declared for {desired.path}.", failure=FailureCause.IMPOSSIBLE)
    uid, gid = desired.owners.only(changed).ids(writer)
    wanted = FileWrite(
        desired.content,
        mode=mode_to_set(desired.mode, changed),
        uid=uid,
        gid=gid,
        validate=desired.validate,
        validate_timeout=VALIDATE_TIMEOUT,
        takes=takes,
    )
    writer.write_file(desired.path, wanted)
