"""System accounts that programs of the agent run under: making one, and saying what is wrong with one.

Effects: reads the account files, has useradd(8) and groupadd(8) change them. Never systemd-sysusers: it makes all that
is declared on a host, not one account; the package of a distribution ships a fragment for it, `SYSUSERS`.
"""

import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

from attrs import frozen

from datum.agent.resolver.identity import RESOLVER_ACCOUNT
from datum.agent.settings import SOURCE_ACCOUNT, Settings
from datum.agent.wiring import source_account
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, PermissionRefusedError, SettingsError, StateError
from datum.provider.host import Command, HostError, ProgramRunner
from datum.repository.account import SourceAccount, check_needed, check_reach

SYSUSERS: Final = "sysusers.conf"
"""File of the package `datum.units`: the same account, for sysusers.d(5)."""

_ROOT: Final = "root"
_SHELL: Final = "/usr/sbin/nologin"
_HOME: Final = "/nonexistent"
_ROLE: Final = "The account of the source"
_ROLES: Final = {RESOLVER_ACCOUNT: "The account that reads revisions"}
_WORK: Final = "talks to foreign servers"
_WORKS: Final = {RESOLVER_ACCOUNT: "reads revisions"}
# As in `SYSUSERS`.
_COMMENT: Final = "datum, talking to servers"
_COMMENTS: Final = {RESOLVER_ACCOUNT: "datum, reading revisions"}
_NO_LOGIN: Final = frozenset({_SHELL, "/sbin/nologin", "/bin/false", "/usr/bin/false"})
_KEYS: Final = (".ssh/authorized_keys", ".ssh/authorized_keys2")
# Seconds; useradd waits some fifteen for each of five locks.
_TIMEOUT: Final = 120.0
_TRUE_SECONDS: Final = 20.0
_ANY_END: Final = frozenset(range(-64, 256))
_LINES: Final = 5
_PASSWD: Final = 7
_GROUP: Final = 4
_SHADOW: Final = 2
_BUSY: Final = re.compile(r"cannot lock|Couldn't lock")
_NO_ROOM: Final = re.compile(r"No space left|Read-only file system|quota exceeded")


@frozen
class SystemAccount:
    """An account as passwd has it."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str


def make_source_account(run: ProgramRunner, name: str = SOURCE_ACCOUNT, *, root: str = "/") -> bool:
    """Make sure that a system account is there which nobody can log into, and which shares nothing with another one.

    Done again it does nothing; after a kill it does the rest. `root` is always there.

    Args:
        run: the door for programs.
        name: of the user and of its group.
        root: where its files are; below another one than `/` nothing of that root is run.

    Returns:
        Whether something was made.

    Raises:
        PermissionRefusedError: it is missing, and only root can make it.
        SettingsError: `source-account-unfit`: one of that name is there, and is no such account; it stays as it is.
        StateError: `source-account-not-made`: the account files cannot be read, or not be changed.
    """
    if name == _ROOT:
        return False
    files = _Files(root)
    found, is_made = files.account(name), False
    if found is None:
        _refuse_unfit(name, files.faults_of_group(name, files.group(name)))
        _add_user(run, files, name)
        found, is_made = _Files(root).account(name), True
    if found is None:
        _not_made(name, f"useradd ended well, and {files.place('passwd')} has no such user.", "")
    if files.needs_group(found):
        # What a killed useradd left: the user is written first.
        _change(run, files, name, "groupadd", "--system", "--gid", str(found.gid))
        is_made = True
    _refuse_unfit(name, account_faults(found, root=root))
    return is_made


def find_account(name: str, *, root: str = "/") -> SystemAccount | None:
    """Return the account of a name; on the running system NSS is asked where the files lack it.

    Raises:
        StateError: the account files cannot be read.
    """
    return _Files(root).account(name)


def account_faults(account: SystemAccount, *, root: str = "/") -> tuple[str, ...]:
    """Return why no foreign server should be talked to as this account, as predicates; empty: nothing is wrong.

    Raises:
        StateError: the account files cannot be read.
    """
    return tuple(_Files(root).faults(account))


@frozen
class AccountFacts:
    """What there is to say of the account under which this host talks to servers."""

    # `root` where no other is wanted, or possible.
    name: str
    is_there: bool
    # What is wrong, each with its cure; empty: it exists, reaches what it needs, and its programs can be enclosed.
    findings: tuple[Diagnostic, ...] = ()


def source_account_facts(settings: Settings) -> AccountFacts:
    """Look at the account of the source; it runs `true` as that account, enclosed as all that talks to servers is.

    As who the servers are talked to is told, not judged: where nobody named an account, and `datum-source` does not
    exist, it is root.
    """
    name = settings.source_account or SOURCE_ACCOUNT
    if name == _ROOT or not settings.is_running_system:
        return AccountFacts(_ROOT, is_there=True)
    try:
        account = source_account(settings)
        found = find_account(name)
        faults = account_faults(found) if found else ()
    except DatumError as error:
        return AccountFacts(name, is_there=False, findings=error.diagnostics)
    findings = (unfit(name, faults),) if faults else ()
    if account is None:
        # Not there and not named; it is root by another name; or this process could not become anybody.
        return AccountFacts(name, is_there=found is not None, findings=findings)
    return AccountFacts(name, is_there=True, findings=(*findings, *_reach(account, settings)))


def _reach(account: SourceAccount, settings: Settings) -> tuple[Diagnostic, ...]:
    try:
        account.run(Command(("true",), timeout=_TRUE_SECONDS))
        check_needed(account)
        check_reach(account, settings.state_dir)
    except DatumError as error:
        return error.diagnostics
    return ()


class _Files:
    """The account files of one root. What is no line of one is passed over, as libc does."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._users = [
            SystemAccount(line[0], int(line[2]), int(line[3]), line[5], line[6])
            for line in self._lines("passwd", _PASSWD)
            if line[2].isdecimal() and line[3].isdecimal()
        ]
        groups = [line for line in self._lines("group", _GROUP) if line[2].isdecimal()]
        self._groups = {line[0]: int(line[2]) for line in reversed(groups)}
        self._members = {int(line[2]): [name for name in line[3].split(",") if name] for line in groups}

    def place(self, name: str) -> Path:
        """Return where a file lies."""
        return Path(self.root, "etc", name)

    def account(self, name: str) -> SystemAccount | None:
        """Return the first line of a name."""
        found = next((user for user in self._users if user.name == name), None)
        if found is not None or self.root != "/":
            return found
        try:
            entry = pwd.getpwnam(name)
        except (KeyError, ValueError):
            return None
        return SystemAccount(name, entry.pw_uid, entry.pw_gid, entry.pw_dir, entry.pw_shell)

    def group(self, name: str) -> int | None:
        """Return the gid of a group of that name."""
        return self._groups.get(name)

    def needs_group(self, account: SystemAccount) -> bool:
        """Whether an account of these files has a group that no line names, and nothing is in the way of one."""
        is_here = any(user == account for user in self._users)
        return is_here and account.gid not in self._members and account.name not in self._groups

    def faults(self, account: SystemAccount) -> Iterator[str]:
        """Yield what is wrong with an account."""
        if account.uid == 0:
            yield "is root by another name (uid 0)"
        if account.shell not in _NO_LOGIN:
            yield f"has the shell {account.shell or '/bin/sh'}, so it can be logged into"
        for key in _KEYS:
            if account.home.startswith("/") and os.path.lexists(Path(self.root, account.home.lstrip("/"), key)):
                yield f"has keys of ssh that let somebody in ({account.home}/{key})"
        if self._has_password(account.name):
            yield "has a password"
        for user in self._users:
            if user.uid == account.uid and user.name != account.name:
                yield f"has the uid of '{user.name}'"
        yield from self.faults_of_group(account.name, account.gid)

    def faults_of_group(self, name: str, gid: int | None) -> Iterator[str]:
        """Yield what is wrong with the group of an account: what the group may read others in it could read."""
        if gid is None:
            return
        if gid == 0:
            yield "has the group of root (gid 0)"
        others = [user.name for user in self._users if user.gid == gid and user.name != name]
        for other in dict.fromkeys((*others, *self._members.get(gid, ()))):
            if other != name:
                yield f"shares its group with '{other}'"

    def _has_password(self, name: str) -> bool:
        try:
            lines = list(self._lines("shadow", 1))
        except StateError:
            # Not root: it is not this one's to know.
            return False
        field = next((line[1] for line in lines if line[0] == name and len(line) >= _SHADOW), "!")
        return field[:1] not in {"!", "*"}

    def _lines(self, name: str, fields: int) -> Iterator[list[str]]:
        try:
            text = self.place(name).read_text("utf-8", "surrogateescape")
        except FileNotFoundError:
            return
        except OSError as error:
            raise StateError(
                Diagnostic(
                    code="source-account-not-made",
                    summary="The account files cannot be read.",
                    detail=f"{self.place(name)}: {error.strerror}.",
                    hint="run it as root, or look at the file",
                )
            ) from error
        for line in text.split("\n"):
            parts = line.split(":")
            if parts[0] and line[0] not in "+-#" and len(parts) >= fields:
                yield parts


def _add_user(run: ProgramRunner, files: _Files, name: str) -> None:
    group = ("--user-group",) if files.group(name) is None else ("--gid", name)
    nobody = ("--no-create-home", "--home-dir", _HOME, "--shell", _SHELL, "--comment", _COMMENTS.get(name, _COMMENT))
    _change(run, files, name, "useradd", "--system", *nobody, *group)


def _change(run: ProgramRunner, files: _Files, name: str, *argv: str) -> None:
    """Run one of the shadow tools for a name."""
    if os.geteuid() != 0:
        raise PermissionRefusedError(
            Diagnostic(
                code="not-root",
                summary="This needs root.",
                detail=f"There is no account '{name}' yet, and only root can make one.",
                hint="run it as root",
            )
        )
    # It changes the files of another root without running anything of it.
    below = () if files.root == "/" else ("--prefix", files.root)
    try:
        outcome = run(Command((*argv, *below, "--", name), timeout=_TIMEOUT, success=_ANY_END))
    except HostError as error:
        _not_made(name, error.detail, error.diagnostics[0].hint)
    if outcome.exit_code:
        words = (outcome.stderr or outcome.stdout).decode("utf-8", "replace").strip()
        said = " / ".join(words.splitlines()[-_LINES:]) or "nothing"
        _not_made(name, f"{argv[0]} ended with exit code {outcome.exit_code}. It wrote: {said}", _cure(words))


def _cure(words: str) -> str:
    if _NO_ROOM.search(words):
        return "`df /etc` and `findmnt -T /etc` show whether there is space, and whether it may be written"
    if _BUSY.search(words):
        return "try again when vipw, passwd or the like has ended"
    return "make it by hand to see more; `pwck -r` and `grpck -r` tell what is wrong with the account files"


def _not_made(name: str, detail: str, hint: str) -> NoReturn:
    raise StateError(
        Diagnostic(
            code="source-account-not-made",
            summary=f"{_role(name)} could not be made.",
            detail=f"'{name}': {detail}",
            hint=hint or _cure(""),
        )
    )


def _role(name: str) -> str:
    return _ROLES.get(name, _ROLE)


def _refuse_unfit(name: str, faults: Iterator[str] | tuple[str, ...]) -> None:
    found = tuple(faults)
    if found:
        raise SettingsError(unfit(name, found))


def unfit(name: str, faults: tuple[str, ...]) -> Diagnostic:
    """Return what is told of an account that is no such one.

    Args:
        name: of it.
        faults: a result of `account_faults`, not empty.
    """
    return Diagnostic(
        code="source-account-unfit",
        summary=f"{_role(name)} is one of another kind.",
        detail=f"'{name}' {', and '.join(faults)}. What {_WORKS.get(name, _WORK)} should be able to do nothing else.",
        hint=f"let '{name}' be a system account of its own (useradd --system --no-create-home --shell {_SHELL})"
        f"{'' if name == RESOLVER_ACCOUNT else ', or name another one as source.account'}",
    )
