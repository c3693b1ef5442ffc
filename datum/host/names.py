"""Users and groups of one root, from its own `/etc/passwd` and `/etc/group`.

On the running system a name that the files lack is asked of NSS once (LDAP, systemd-userdb), by itself: nothing is
ever enumerated there.
"""

import contextlib
import grp
import os
import pwd
from collections.abc import Callable, Collection, Mapping
from typing import Final

from attrs import evolve, field, frozen

from datum.model.observation import Cause
from datum.provider.host import HostError

_PASSWD_FIELDS: Final = 7
_GROUP_FIELDS: Final = 4


@frozen
class Account:
    """One line of passwd, as far as files and programs need it."""

    name: str
    uid: int
    gid: int
    home: str = "/"
    # Every group, the primary one included; filled where a program runs as this user.
    groups: tuple[int, ...] = ()


@frozen
class NameTable:
    """The names of one root. The first line of a name or number counts, as in nss_files."""

    _by_name: Mapping[str, Account]
    _by_uid: Mapping[int, Account]
    _gid_by_name: Mapping[str, int]
    _group_by_gid: Mapping[int, str]
    # Gids by name of a user whom group lines list.
    _listed: Mapping[str, Collection[int]]
    _asks_nss: bool
    # Answers of NSS, so that each question is asked once.
    _asked: dict[tuple[str, str | int], Account | None] = field(factory=dict)

    @classmethod
    def read(cls, read_file: Callable[[str], bytes | None], *, asks_nss: bool) -> "NameTable":
        """Read both files.

        Args:
            read_file: returns a file's bytes, None if there is no such file.
            asks_nss: whether the root is that of the running system.

        Raises:
            HostError: a file is there and cannot be read; cause `database` unless the system said better.
        """
        accounts = parse_passwd(_read(read_file, "/etc/passwd"))
        lines = _read(read_file, "/etc/group")
        groups = parse_group(lines)
        # Reversed, so that the first of a name or number stays.
        return cls(
            by_name={account.name: account for account in reversed(accounts)},
            by_uid={account.uid: account for account in reversed(accounts)},
            gid_by_name=dict(reversed(groups)),
            group_by_gid={gid: name for name, gid in reversed(groups)},
            listed=parse_members(lines),
            asks_nss=asks_nss,
        )

    def user_id(self, name: str) -> int | None:
        """Return the uid of a name."""
        found = self._by_name.get(name) or self._ask("user", name, lambda: _account(pwd.getpwnam(name)))
        return found.uid if found else None

    def group_id(self, name: str) -> int | None:
        """Return the gid of a name."""
        if name in self._gid_by_name:
            return self._gid_by_name[name]
        found = self._ask("group", name, lambda: Account(name, -1, grp.getgrnam(name).gr_gid))
        return found.gid if found else None

    def user_name(self, uid: int) -> str:
        """Return the name of a uid, or its digits."""
        found = self._account_of(uid)
        return found.name if found else str(uid)

    def group_name(self, gid: int) -> str:
        """Return the name of a gid, or its digits."""
        if gid in self._group_by_gid:
            return self._group_by_gid[gid]
        found = self._ask("gid", gid, lambda: Account(grp.getgrgid(gid).gr_name, -1, gid))
        return found.name if found else str(gid)

    def primary_group(self, uid: int) -> int | None:
        """Return the primary gid of a uid, None if it is nobody's."""
        found = self._account_of(uid)
        return found.gid if found else None

    def account(self, user: str) -> Account | None:
        """Return the account of a name, else of digits, with its groups; None if it is nobody's."""
        found = self._by_name.get(user) or self._ask("user", user, lambda: _account(pwd.getpwnam(user)))
        if found is None and user.isascii() and user.isdecimal():
            found = self._account_of(int(user))
        return found and evolve(found, groups=self._groups_of(found))

    def _groups_of(self, account: Account) -> tuple[int, ...]:
        groups = {account.gid, *self._listed.get(account.name, ())}
        if self._asks_nss:
            # Directories list members, too; about one user they may be asked.
            with contextlib.suppress(OSError):
                groups.update(os.getgrouplist(account.name, account.gid))
        return tuple(sorted(groups))

    def _account_of(self, uid: int) -> Account | None:
        return self._by_uid.get(uid) or self._ask("uid", uid, lambda: _account(pwd.getpwuid(uid)))

    def _ask(self, kind: str, key: str | int, ask: Callable[[], Account]) -> Account | None:
        if not self._asks_nss:
            return None
        question = (kind, key)
        if question not in self._asked:
            try:
                self._asked[question] = ask()
            except (KeyError, ValueError, OverflowError):
                self._asked[question] = None
        return self._asked[question]


def parse_passwd(data: bytes) -> list[Account]:
    """Return the accounts of a passwd file; what is no such line is passed over, as libc does."""
    return [
        Account(parts[0], int(parts[2]), int(parts[3]), parts[5] or "/")
        for parts in _lines(data, _PASSWD_FIELDS)
        if parts[2].isdecimal() and parts[3].isdecimal()
    ]


def parse_group(data: bytes) -> list[tuple[str, int]]:
    """Return names and gids of a group file; what is no such line is passed over, as libc does."""
    return [(parts[0], int(parts[2])) for parts in _lines(data, _GROUP_FIELDS) if parts[2].isdecimal()]


def parse_members(data: bytes) -> dict[str, set[int]]:
    """Return the gids of a group file by the users that its lines list."""
    found: dict[str, set[int]] = {}
    for parts in _lines(data, _GROUP_FIELDS):
        for member in parts[3].split(","):
            if member and parts[2].isdecimal():
                found.setdefault(member, set()).add(int(parts[2]))
    return found


def _lines(data: bytes, fields: int) -> list[list[str]]:
    lines = (line.split(":") for line in data.decode("utf-8", "surrogateescape").split("\n") if line[:1] not in "+-#")
    return [parts for parts in lines if len(parts) == fields and parts[0]]


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir or "/")


def _read(read_file: Callable[[str], bytes | None], path: str) -> bytes:
    try:
        return read_file(path) or b""
    except HostError as error:
        if error.cause.is_sickness or error.cause is Cause.DENIED:
            raise
        raise HostError(
            f"The accounts of this root cannot be read. {error.detail}",
            code="accounts-unreadable",
            cause=Cause.DATABASE,
        ) from error
