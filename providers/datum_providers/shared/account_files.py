"""The account files of a root: passwd(5), group(5) and shadow(5), each read once for all accounts.

A line counts as nss_files counts it: what is none is passed over, and the first of a name is that name's. A resource
whose own line is none, or stands there twice, cannot be looked at: the shadow tools refuse such a name.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from attrs import field, frozen

from datum.model.observation import Cause, Unobservable
from datum.provider.host import FileFacts, HostError, HostReader

PASSWD: Final = "/etc/passwd"  # noqa: S105 - a path
GROUP: Final = "/etc/group"
SHADOW: Final = "/etc/shadow"
GSHADOW: Final = "/etc/gshadow"

IN_SHADOW: Final = "x"
"""The password of a line of passwd whose real one stands in shadow."""

LIMIT: Final = 64 << 20
"""Bytes of one file."""

_PASSWD_FIELDS: Final = 7
_GROUP_FIELDS: Final = 4
_SHADOW_FIELDS: Final = 9
_GSHADOW_FIELDS: Final = 4


@frozen
class PasswdLine:
    """One account; texts that are not UTF-8 hold surrogate escapes."""

    name: str
    # As it stands there; `x` where shadow has it.
    password: str
    uid: int
    # Of the primary group.
    gid: int
    comment: str
    home: str
    shell: str


@frozen
class GroupLine:
    """One group."""

    name: str
    gid: int
    # In the order of the line.
    members: tuple[str, ...]


@frozen
class ShadowLine:
    """What is secret of one account; days are since 1970, None where nothing is said."""

    name: str
    password: str = field(repr=False)
    changed: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    warn: int | None = None
    inactive: int | None = None
    expires: int | None = None


_Line = TypeVar("_Line", PasswdLine, GroupLine, ShadowLine)


@frozen
class Table(Mapping[str, _Line]):
    """The lines of one file by name."""

    path: str
    lines: Mapping[str, _Line]
    # Names whose line cannot be told, and why.
    odd: Mapping[str, str]

    def __getitem__(self, name: str) -> _Line:
        return self.lines[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def complaint(self, name: str) -> Unobservable | None:
        """Return why nothing can be said of a name; None: something can."""
        if name not in self.odd:
            return None
        return Unobservable(Cause.PARSE, f"{self.path} cannot be read for '{name}': {self.odd[name]}.")


def parse_passwd(data: bytes) -> Table[PasswdLine]:
    """Read passwd(5)."""
    return _parse(PASSWD, data, _passwd_line)


def parse_group(data: bytes) -> Table[GroupLine]:
    """Read group(5)."""
    return _parse(GROUP, data, _group_line)


def parse_shadow(data: bytes) -> Table[ShadowLine]:
    """Read shadow(5)."""
    return _parse(SHADOW, data, _shadow_line)


def _parse(path: str, data: bytes, read: Callable[[list[str]], _Line]) -> Table[_Line]:
    lines: dict[str, _Line] = {}
    odd: dict[str, str] = {}
    for number, text in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
        # What begins with a sign is NIS's, and a comment is nobody's.
        if not text.strip() or text[0] in "+-#":
            continue
        parts = text.split(":")
        if not parts[0]:
            continue
        try:
            line = read(parts)
        except ValueError as error:
            odd.setdefault(parts[0], f"line {number} {error}")
            continue
        if line.name in lines:
            odd.setdefault(line.name, f"line {number} has a name that stands there already")
        lines.setdefault(line.name, line)
    return Table(path, lines, odd)


def _passwd_line(parts: list[str]) -> PasswdLine:
    name, password, uid, gid, comment, home, shell = _exactly(parts, _PASSWD_FIELDS)
    return PasswdLine(name, password, _number(uid), _number(gid), comment, home, shell)


def _group_line(parts: list[str]) -> GroupLine:
    name, _, gid, members = _exactly(parts, _GROUP_FIELDS)
    return GroupLine(name, _number(gid), tuple(member.strip() for member in members.split(",") if member.strip()))


def _shadow_line(parts: list[str]) -> ShadowLine:
    name, password, *days = _exactly(parts, _SHADOW_FIELDS)
    return ShadowLine(name, password, *(_days(text) for text in days[:6]))


def _exactly(parts: list[str], count: int) -> list[str]:
    if len(parts) != count:
        raise ValueError(f"has {len(parts)} fields, and {count} are needed")
    return parts


def _number(text: str) -> int:
    """Return a number; what stands there instead is not shown, since it may be a hash that slipped out of its place."""
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(2**32)):
        raise ValueError("has something else where a number is needed")
    return int(text)


def _days(text: str) -> int | None:
    """Return a number of days; -1 is how some tools write that nothing is said."""
    return None if text in {"", "-1"} else _number(text)


@frozen
class AccountFiles:
    """All that the account files of a root say."""

    users: Table[PasswdLine]
    groups: Table[GroupLine]
    # None: there is no such file, or it was not read.
    shadow: Table[ShadowLine] | None

    @classmethod
    def read(cls, reader: HostReader, *, with_shadow: bool = False) -> "AccountFiles":
        """Read them; a root without passwd or group has no accounts.

        Args:
            reader: of the root.
            with_shadow: whether shadow is read as well.

        Raises:
            HostError: one of them cannot be read, or says nothing at all; cause `database` unless the system said
                better.
        """
        users, groups = parse_passwd(_text(reader, PASSWD) or b""), parse_group(_text(reader, GROUP) or b"")
        data = _text(reader, SHADOW) if with_shadow else None
        return cls(users, groups, None if data is None else parse_shadow(data))

    def password_of(self, line: PasswdLine) -> str | Unobservable:
        """Return the password field that counts; one that should be in shadow and is not lets nobody in."""
        complaint = None if self.shadow is None else self.shadow.complaint(line.name)
        if complaint is not None:
            return complaint
        secret = None if self.shadow is None else self.shadow.get(line.name)
        if secret is not None:
            return secret.password
        return "*" if line.password == IN_SHADOW else line.password

    def user_of(self, uid: int) -> str | None:
        """Return the name of the first account of a uid."""
        return next((line.name for line in self.users.values() if line.uid == uid), None)

    def group_of(self, gid: int) -> str | None:
        """Return the name of the first group of a gid."""
        return next((line.name for line in self.groups.values() if line.gid == gid), None)

    def groups_listing(self, name: str) -> tuple[str, ...]:
        """Return the groups whose lines list a user, sorted."""
        return tuple(sorted(line.name for line in self.groups.values() if name in line.members))

    def users_of_group(self, gid: int) -> tuple[str, ...]:
        """Return the users whose primary group it is, sorted."""
        return tuple(sorted(line.name for line in self.users.values() if line.gid == gid))


def read_gshadow(reader: HostReader) -> Mapping[str, frozenset[str]] | None:
    """Return whom each group of gshadow(5) lists; None where there is no such file, or this process may not read it.

    Raises:
        HostError: it is there and cannot be read for another reason.
    """
    try:
        if not isinstance(reader.examine(GSHADOW), FileFacts):
            return None
        text = reader.read_file(GSHADOW, limit=LIMIT).decode("utf-8", "surrogateescape")
    except HostError as error:
        if error.cause is not Cause.DENIED:
            raise
        return None
    lines = (line.split(":") for line in text.split("\n") if line.count(":") == _GSHADOW_FIELDS - 1)
    found = {name: frozenset(filter(None, members.split(","))) for name, _, _, members in lines}
    return found or None


def _text(reader: HostReader, path: str) -> bytes | None:
    """Return a file's bytes; None where it does not exist.

    Raises:
        HostError: see `AccountFiles.read`.
    """
    try:
        if not isinstance(reader.examine(path), FileFacts):
            return None
        data = reader.read_file(path, limit=LIMIT)
    except HostError as error:
        if error.cause.is_sickness or error.cause is Cause.DENIED:
            raise
        raise _unreadable(error.detail) from error
    if not data.strip(b"\0\n\t "):
        raise _unreadable(f"{path} is empty.")
    return data


def _unreadable(why: str) -> HostError:
    return HostError(
        f"The accounts of this root cannot be read. {why}",
        code="accounts-unreadable",
        cause=Cause.DATABASE,
        hint="a copy from before the last change lies beside it: /etc/passwd-, /etc/group-",
    )


def as_json(text: str) -> str:
    """Return a text of the host; one that is not UTF-8, and so never wanted, in hexadecimal digits."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "bytes:" + text.encode("utf-8", "surrogateescape").hex()
    return text
