"""Carry out one step on one user, with the shadow tools. Changes the host."""

from collections.abc import Set as AbstractSet

from datum.model.plan import Change, Operation, Step
from datum.provider.host import HostError, HostWriter
from datum_providers.shared.account_files import PASSWD, AccountFiles
from datum_providers.shared.account_tools import run_tool
from datum_providers.user.desired import DAY_FIELDS, NEVER, NO_PASSWORD, DesiredUser, split_lock

_CHAGE: dict[str, str] = dict(zip(DAY_FIELDS, ("--mindays", "--maxdays", "--warndays", "--inactive"), strict=True))
_TEXTS = ("comment", "home", "shell")


def apply_user(writer: HostWriter, desired: DesiredUser, step: Step) -> None:
    """Do the step: all that usermod(8) can change in one call of it.

    Raises:
        HostError: it failed; what was done by then stays, and the next pass does the rest.
    """
    changed = {change.name for change in step.changes}
    match step.operation:
        case Operation.DELETE:
            run_tool(writer, "userdel", desired.name)
        case Operation.CREATE:
            _create(writer, desired)
            _set_days(writer, desired, desired.days.keys())
            _set_password(writer, desired, changed)
        case _:
            _modify(writer, desired, step, changed)
            _set_days(writer, desired, changed)
            _set_password(writer, desired, changed)


def _create(writer: HostWriter, desired: DesiredUser) -> None:
    argv = ["useradd", *(("--system",) if desired.is_system else ())]
    if desired.uid is not None:
        argv += ["--uid", str(desired.uid)]
    argv += _primary(writer, desired)
    if desired.groups:
        argv += ["--groups", ",".join(desired.groups)]
    argv += _texts(desired, {"comment", "home", "shell", "expires"})
    argv += ["--create-home" if desired.creates_home else "--no-create-home", desired.name]
    run_tool(writer, *argv)


def _primary(writer: HostWriter, desired: DesiredUser) -> list[str]:
    """Return the primary group: undeclared it is one of the same name, made if need be."""
    if desired.group is not None:
        return ["--gid", desired.group]
    is_there = desired.name in AccountFiles.read(writer).groups
    return ["--gid", desired.name] if is_there else ["--user-group"]


def _texts(desired: DesiredUser, changed: AbstractSet[str]) -> list[str]:
    argv: list[str] = []
    for name, text in zip(_TEXTS, (desired.comment, desired.home, desired.shell), strict=True):
        if name in changed and text is not None:
            argv += [f"--{name}", text]
    if "expires" in changed and desired.expires is not None:
        argv += ["--expiredate", "" if desired.expires == NEVER else desired.expires]
    return argv


def _modify(writer: HostWriter, desired: DesiredUser, step: Step, changed: AbstractSet[str]) -> None:
    changes = {change.name: change for change in step.changes}
    argv: list[str] = []
    if "uid" in changed:
        argv += ["--uid", str(desired.uid)]
    if "group" in changed:
        argv += ["--gid", str(desired.group)]
    if "groups" in changed:
        argv += _memberships(desired, changes["groups"])
    argv += _texts(desired, changed)
    if "locked" in changed and desired.locked and "password" not in changed:
        argv.append("--lock")
    if argv:
        run_tool(writer, "usermod", *argv, desired.name)
    _remark(writer, desired, changes)


def _memberships(desired: DesiredUser, change: Change) -> list[str]:
    before = set(change.before) if isinstance(change.before, (list, tuple)) else set()
    after = change.after if isinstance(change.after, (list, tuple)) else ()
    if desired.is_exact:
        return ["--groups", ",".join(map(str, after))]
    return ["--append", "--groups", ",".join(str(group) for group in after if group not in before)]


def _remark(writer: HostWriter, desired: DesiredUser, changes: dict[str, Change]) -> None:
    if "uid" in changes:
        writer.remark(
            f"Files of uid {changes['uid'].before} outside the home of {desired.name} keep that number; "
            f"`find / -xdev -uid {changes['uid'].before}` names them."
        )
    if "group" in changes:
        writer.remark(f"Files outside the home of {desired.name} keep the group {changes['group'].before}.")
    if "home" in changes:
        writer.remark(f"What lies in {changes['home'].before} was left there.")


def _set_days(writer: HostWriter, desired: DesiredUser, changed: AbstractSet[str]) -> None:
    argv: list[str] = []
    for name in DAY_FIELDS:
        if name in changed and name in desired.days:
            argv += [_CHAGE[name], str(desired.days[name])]
    if argv:
        run_tool(writer, "chage", *argv, desired.name)


def _set_password(writer: HostWriter, desired: DesiredUser, changed: AbstractSet[str]) -> None:
    """Write the whole field, where one of its two parts changes and usermod did not see to it; never in an argument."""
    is_locking = "locked" in changed and desired.locked and "password" not in changed
    if not changed & {"password", "locked"} or is_locking:
        return
    before = _field_of(writer, desired.name)
    is_locked, rest = split_lock(before)
    if desired.locked is not None:
        is_locked = desired.locked
    elif rest == NO_PASSWORD:
        # Nothing was locked: it is how useradd writes that there is no password yet.
        is_locked = False
    if desired.password is not None:
        rest = desired.password.reveal.decode()
    field = f"{'!' if is_locked else ''}{rest or NO_PASSWORD}"
    if field != before:
        run_tool(writer, "chpasswd", "--encrypted", stdin=f"{desired.name}:{field}\n".encode())


def _field_of(writer: HostWriter, name: str) -> str:
    files = AccountFiles.read(writer, with_shadow=True)
    line = files.users.get(name)
    text = None if line is None else files.password_of(line)
    if not isinstance(text, str):
        why = f"{PASSWD} has no such account." if text is None else text.detail
        raise HostError(f"The password of {name} cannot be read. {why}")
    return text
