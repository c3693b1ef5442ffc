"""Carry out one step on one file. Changes the host."""

from typing import Final

from datum.model.plan import Operation, Step
from datum.model.result import FailureCause
from datum.provider.host import FileWrite, HostError, HostWriter
from datum_providers.file.desired import DesiredFile, is_number

_SPECIAL_BITS: Final = 0o7000
"""Setuid, setgid and sticky, of which a change of owner leaves none, also for root (chown(2))."""


def apply_file(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
    """Do the step: what it does not change is left as it is, except where the file is made.

    Raises:
        HostError: it failed.
    """
    if step.operation is Operation.DELETE:
        writer.remove_file(desired.path)
        return
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        changed.discard("residue")
        writer.remove_residue(desired.path)
    if step.operation in {Operation.CREATE, Operation.REPLACE}:
        _write(writer, desired, {"content", "mode", "owner", "group"})
    elif "content" in changed:
        _write(writer, desired, changed)
    elif changed:
        writer.set_attributes(
            desired.path,
            mode=_mode(desired, changed),
            uid=_user(writer, desired.owner if "owner" in changed else None),
            gid=_group(writer, desired.group if "group" in changed else None),
        )


def _write(writer: HostWriter, desired: DesiredFile, changed: set[str]) -> None:
    if desired.content is None:
        raise HostError(f"No content is declared for {desired.path}.", failure=FailureCause.IMPOSSIBLE)
    wanted = FileWrite(
        desired.content,
        mode=_mode(desired, changed),
        uid=_user(writer, desired.owner if "owner" in changed else None),
        gid=_group(writer, desired.group if "group" in changed else None),
        validate=desired.validate,
    )
    writer.write_file(desired.path, wanted)


def _mode(desired: DesiredFile, changed: set[str]) -> str | None:
    if "mode" in changed:
        return desired.mode
    is_at_risk = desired.mode is not None and int(desired.mode, 8) & _SPECIAL_BITS and changed & {"owner", "group"}
    return desired.mode if is_at_risk else None


def _user(writer: HostWriter, account: str | None) -> int | None:
    if account is None:
        return None
    return int(account) if is_number(account) else _known(writer.user_id(account), f"the user {account}")


def _group(writer: HostWriter, account: str | None) -> int | None:
    if account is None:
        return None
    return int(account) if is_number(account) else _known(writer.group_id(account), f"the group {account}")


def _known(number: int | None, what: str) -> int:
    if number is None:
        raise HostError(f"Cannot set the owner: {what} does not exist.", failure=FailureCause.IMPOSSIBLE)
    return number
