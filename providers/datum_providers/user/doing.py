"""Carry out one step on one user, with the shadow tools. Changes the host."""

from collections.abc import Set as AbstractSet

from datum.model.plan import RESIDUE, Change, Operation, Step
from datum.provider.host import FileFacts, HostError, HostWriter, Missing
from datum_providers.shared.account_files import PASSWD, AccountFiles, PasswdLine
from datum_providers.shared.account_lines import forget, has_left_group, paths_of_user
from datum_providers.shared.account_tools import run_tool
from datum_providers.shared.processes import require_idle
from datum_providers.user.desired import (
    DAY_FIELDS,
    NEVER,
    NO_PASSWORD,
    UNFINISHED,
    WITH_HOME,
    DesiredUser,
    split_lock,
)
from datum_providers.user.home import fill_home, is_begun, require_safe
from datum_providers.user.steps import home_of

_CHAGE: dict[str, str] = dict(zip(DAY_FIELDS, ("--mindays", "--maxdays", "--warndays", "--inactive"), strict=True))
_TEXTS = ("comment", "home", "shell")
# The group of those who shall have none, as every distribution numbers it.
_NOGROUP = 65534
# No directory (Debian Policy 9.2.3): usermod(8) gives what lies in the home to a new primary group, and finds nothing.
_NO_HOME = "/nonexistent"
# What usermod(8) does not change of an account that has processes.
_ONLY_IDLE = frozenset({"uid", "home"})


def apply_user(writer: HostWriter, desired: DesiredUser, step: Step) -> None:
    """Do the step: all that usermod(8) can change in one call of it.

    Raises:
        HostError: it failed; what was done by then stays, and the next pass does the rest.
    """
    changed = {change.name for change in step.changes}
    match step.operation:
        case Operation.DELETE if changed == {RESIDUE}:
            _forget(writer, desired)
        case Operation.DELETE:
            _remove(writer, desired)
        case Operation.CREATE:
            if RESIDUE in changed:
                # useradd would give it a second range of subordinate ids.
                _forget(writer, desired)
            mark = _mark(writer, desired)
            _create(writer, desired, desired.uid, mark=mark)
            _complete(writer, desired, mark)
        case Operation.UPDATE if "unfinished" in changed:
            _create_anew(writer, desired)
        case _:
            _modify(writer, desired, step, changed)
            _set_days(writer, desired, changed)
            _set_password(writer, desired, changed)


def _forget(writer: HostWriter, desired: DesiredUser) -> None:
    """Remove what a killed userdel left; the group first, of which nothing would tell once the other lines are gone."""
    files = AccountFiles.read(writer)
    if desired.takes_group and has_left_group(writer, files, desired.name):
        run_tool(writer, "groupdel", desired.name)
        files = AccountFiles.read(writer)
    elif desired.name in files.groups and desired.takes_group:
        writer.remark(
            f"The group {desired.name} is still there, and nothing tells whether it was that of the account: declare "
            f"'group:{desired.name}' with 'absent: true', or leave it."
        )
    forget(writer, desired.name, paths_of_user(files, desired.name))


def _remove(writer: HostWriter, desired: DesiredUser) -> None:
    """Take it out of groups first: if userdel is interrupted, the next account of this name would be in them.

    userdel(8) takes the primary group along that has the account's name and no other member; where that is declared,
    the account leaves it before. What was its home stays as it is.
    """
    files = AccountFiles.read(writer)
    _require_idle(writer, files, desired)
    argv = ["--groups", ""] if files.groups_listing(desired.name) else []
    line = files.users.get(desired.name)
    if desired.leaves_group and line is not None and _has_own_group(files, line):
        argv += ["--gid", _other_group(files, line), "--home", _NO_HOME]
    if argv:
        run_tool(writer, "usermod", *argv, desired.name)
    run_tool(writer, "userdel", desired.name)


def _require_idle(writer: HostWriter, files: AccountFiles, desired: DesiredUser) -> None:
    line = files.users.get(desired.name)
    if line is not None:
        require_idle(writer, line.name, line.uid)


def _create_anew(writer: HostWriter, desired: DesiredUser) -> None:
    """Make again what was interrupted, with the same number; nobody can have entered it yet."""
    files = AccountFiles.read(writer, with_shadow=True)
    line = files.users[desired.name]
    is_home_begun = files.password_of(line) == WITH_HOME and is_begun(writer, line)
    _keep_group(writer, files, line)
    run_tool(writer, "userdel", desired.name)
    uid = line.uid if desired.uid is None else desired.uid
    mark = WITH_HOME if is_home_begun else _mark(writer, desired)
    _create(writer, desired, uid, mark=mark)
    if is_home_begun:
        fill_home(writer, AccountFiles.read(writer).users[desired.name])
    _complete(writer, desired, mark)


def _keep_group(writer: HostWriter, files: AccountFiles, line: PasswdLine) -> None:
    """Have the account leave the group of its name, which userdel would take along; it may be declared by itself."""
    if not _has_own_group(files, line):
        return
    run_tool(writer, "usermod", "--gid", _other_group(files, line), line.name)
    # The group itself may have no line in gshadow yet.
    run_tool(writer, "groupmod", "--password", "!", line.name)


def _has_own_group(files: AccountFiles, line: PasswdLine) -> bool:
    group = files.groups.get(line.name)
    return group is not None and group.gid == line.gid


def _other_group(files: AccountFiles, line: PasswdLine) -> str:
    """Return the number of a group that is not the account's own: the one that gives no rights, where it is there."""
    others = sorted({group.gid for group in files.groups.values()} - {line.gid})
    return str(_NOGROUP if _NOGROUP in others or not others else others[-1])


def _mark(writer: HostWriter, desired: DesiredUser) -> str:
    """Return what says that the account is unfinished.

    Raises:
        HostError: somebody could take its home away while it is made.
    """
    home = writer.examine(home_of(desired))
    if not (desired.creates_home and isinstance(home, Missing)):
        return UNFINISHED
    require_safe(home_of(desired), home, desired.uid)
    return WITH_HOME


def _complete(writer: HostWriter, desired: DesiredUser, mark: str) -> None:
    """Do what useradd cannot; the password comes last, and takes the mark away."""
    line = AccountFiles.read(writer).users[desired.name]
    home = writer.examine(line.home)
    if mark == WITH_HOME and not (isinstance(home, FileFacts) and home.uid == line.uid):
        raise HostError(
            f"useradd did not make {line.home}, or could not give it to {line.name}.",
            code="program-failed",
            summary="A program failed.",
            hint="see why it cannot be written; the next pass makes the account again",
        )
    _set_days(writer, desired, desired.days.keys())
    if desired.password is not None:
        field = f"{'!' if desired.locked else ''}{desired.password.reveal.decode()}"
    else:
        # As useradd would write it, unless that it is not locked is asked for.
        field = NO_PASSWORD if desired.locked is False else "!"
    run_tool(writer, "chpasswd", "--encrypted", stdin=f"{desired.name}:{field}\n".encode())


def _create(writer: HostWriter, desired: DesiredUser, uid: int | None, *, mark: str) -> None:
    argv = ["useradd", *(("--system",) if desired.is_system else ()), "--password", mark]
    if uid is not None:
        argv += ["--uid", str(uid)]
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
    if changed & _ONLY_IDLE:
        _require_idle(writer, AccountFiles.read(writer), desired)
    if "uid" in changed:
        argv += ["--uid", str(desired.uid)]
    if "group" in changed:
        argv += ["--gid", str(changes["group"].after)]
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
