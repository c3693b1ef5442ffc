"""What a declaration of a user means, in normal form. Pure."""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Final

from attrs import evolve, field, frozen

from datum.model.graph import Target
from datum.model.manifest import AttributeValue
from datum.model.secret import Secret
from datum.provider.contract import DesiredError, TargetIndex
from datum_providers.shared.account_names import account_name, line_path, line_text
from datum_providers.shared.accounts import parse_account

NEVER: Final = "never"
"""The date of an account that does not expire."""

UNFINISHED: Final = "!unfinished"
"""The password field of an account that is being made: locked, and no hash. It is replaced last."""

WITH_HOME: Final = "!unfinished-with-home"
"""The same where its home is made with it: what lies there belongs to nobody yet."""

NO_PASSWORD: Final = "*"  # noqa: S105 - the opposite of one
"""A password field that no password fits."""

AS_DECLARED: Final = "as declared"
"""Stands in a plan, a report or a record for the hash that is declared: nothing that is made from it goes there."""

OTHER: Final = "other"
"""The same of any other hash."""

DAY_FIELDS: Final = ("min_days", "max_days", "warn_days", "inactive_days")
"""Aging of the password: days, -1 for none."""

UID_LAST: Final = 2**32 - 2
_DAYS_LAST: Final = 99_999
_EPOCH: Final = dt.date(1970, 1, 1)
# crypt(5): a prefix between dollars, and what it makes of a salt and a password. The forms without one are broken.
_HASH: Final = re.compile(r"\$[0-9a-z]+\$[^\s:$!*]+(?:\$[^\s:$!*]+)+")


@frozen
class DesiredUser:
    """An account; what is None is not enforced."""

    name: str
    uid: int | None = None
    # The primary group: a name, or digits.
    group: str | None = None
    # Supplementary groups by name, sorted.
    groups: tuple[str, ...] | None = None
    # No other supplementary groups.
    is_exact: bool = False
    comment: str | None = None
    home: str | None = None
    shell: str | None = None
    # A hash, or `*`; never with the `!` of a lock.
    password: Secret | None = field(default=None, repr=False)
    locked: bool | None = None
    # `YYYY-MM-DD`, or `never`.
    expires: str | None = None
    # By the names of `DAY_FIELDS`.
    days: Mapping[str, int] = field(factory=dict)
    # Of one that is made.
    is_system: bool = False
    creates_home: bool = True
    # The group of its name is declared by itself: it stays where the account goes. Known once the graph is; says
    # nothing of the account.
    leaves_group: bool = field(default=False, eq=False)
    # It is declared absent, and nothing is said of that group: it goes with the account. Known likewise.
    takes_group: bool = field(default=False, eq=False)

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at, so that it can be adopted."""
        plain = (self.uid, self.group, self.groups, self.comment, self.home, self.shell, self.password)
        return all(value is None for value in (*plain, self.locked, self.expires)) and not self.days

    @property
    def password_form(self) -> str | None:
        """What a plan shows and compares of the password: `*`, or that it is the declared one."""
        return None if self.password is None else password_form(self.password.reveal.decode(), self.password)


def normal_name(name: str) -> str:
    """Return the name of a user, which has one spelling.

    Raises:
        DesiredError: no name that every tool takes.
    """
    return account_name(name, "user")


def parse_user(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredUser:
    """Read the attributes of one user.

    Raises:
        DesiredError: a value that cannot be meant.
    """
    group = parse_account("group", attributes.get("group"))
    password, locked = _password(attributes.get("password"), attributes.get("locked"))
    is_system = _truth("system", attributes.get("system"), default=False)
    return DesiredUser(
        normal_name(name),
        _number("uid", attributes.get("uid"), least=0, greatest=UID_LAST),
        group,
        _groups(attributes.get("groups"), group),
        _is_exact(attributes),
        line_text("comment", attributes.get("comment"), what="a comment"),
        line_path("home", attributes.get("home"), what="a home directory"),
        line_path("shell", attributes.get("shell"), what="a shell"),
        password,
        locked,
        _date(attributes.get("expires")),
        _days(attributes),
        is_system=is_system,
        creates_home=_truth("create_home", attributes.get("create_home"), default=not is_system),
    )


def relate_user(desired: DesiredUser, index: TargetIndex) -> DesiredUser:
    """Return it with what is declared of the group of its name."""
    is_gone = index.holder(Target("user", desired.name)) is not None and desired.name not in index.keys("user")
    takes_group = is_gone and index.holder(Target("group", desired.name)) is None
    return evolve(desired, leaves_group=desired.name in index.keys("group"), takes_group=takes_group)


def password_form(text: str, declared: Secret | None) -> str:
    """Return what is shown of a password field without its lock: in words, since any digest without a key is an oracle.

    Args:
        text: the field; surrogate escapes stand for bytes that are not UTF-8.
        declared: what the resource declares.
    """
    if text in {"", NO_PASSWORD}:
        return text
    return AS_DECLARED if declared == Secret(text.encode("utf-8", "surrogateescape")) else OTHER


def split_lock(text: str) -> tuple[bool, str]:
    """Return whether a password field is locked, and the rest of it: `!` alone locks no password at all."""
    rest = text.lstrip("!")
    if len(rest) == len(text):
        return False, text
    return True, rest or NO_PASSWORD


def date_of(days: int | None) -> str:
    """Return a day since 1970 as it is declared."""
    if days is None:
        return NEVER
    try:
        return (_EPOCH + dt.timedelta(days=days)).isoformat()
    except OverflowError:
        return f"day {days}"


def _password(value: object, locked: object) -> tuple[Secret | None, bool | None]:
    is_locked = None if locked is None else _truth("locked", locked, default=False)
    if value is None:
        return None, is_locked
    text = value.reveal.decode("utf-8", "replace") if isinstance(value, Secret) else value
    if not isinstance(text, str):
        raise DesiredError("password", "a password is a hash, as a text.")
    if not text:
        raise DesiredError(
            "password",
            "an empty password lets everybody in who knows the name.",
            hint=f'password: "{NO_PASSWORD}" is one that nobody has',
        )
    has_lock, rest = split_lock(text)
    if has_lock and is_locked is False:
        raise DesiredError("password", "the ! in front of the hash locks it, and locked is false.")
    if rest != NO_PASSWORD and not _HASH.fullmatch(rest):
        # What stands there may be a password: it is not shown.
        raise DesiredError(
            "password",
            "the text is no hash of crypt(5), such as $y$… or $6$….",
            hint="`mkpasswd --method=yescrypt` makes one",
        )
    return Secret(rest.encode()), True if has_lock else is_locked


def _groups(value: object, primary: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    found = set()
    for name in names:
        if not isinstance(name, str):
            raise DesiredError("groups", "groups is a list of names.")
        found.add(account_name(name, "group", attribute="groups"))
    return tuple(sorted(found - {primary}))


def _is_exact(attributes: Mapping[str, AttributeValue]) -> bool:
    mode = attributes.get("groups_mode")
    if mode is None:
        return False
    if mode not in {"at_least", "exact"}:
        raise DesiredError("groups_mode", f"'{mode}' is neither at_least nor exact.")
    if attributes.get("groups") is None:
        raise DesiredError("groups_mode", "groups is not declared, so there is nothing to compare.", hint="groups: []")
    return mode == "exact"


def _date(value: object) -> str | None:
    if value is None or value == NEVER:
        return value if isinstance(value, str) else None
    try:
        found = dt.date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or found < _EPOCH or found.isoformat() != value:
        raise DesiredError(
            "expires", f"'{value}' is no date since 1970.", hint='expires: "2031-12-31", or never', code="bad-value"
        )
    return found.isoformat()


def _days(attributes: Mapping[str, AttributeValue]) -> Mapping[str, int]:
    numbers = {name: _number(name, attributes.get(name), least=-1, greatest=_DAYS_LAST) for name in DAY_FIELDS}
    return {name: number for name, number in numbers.items() if number is not None}


def _number(attribute: str, value: object, *, least: int, greatest: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= greatest:
        raise DesiredError(attribute, f"'{value}' is no number from {least} to {greatest}.")
    return value


def _truth(attribute: str, value: object, *, default: bool) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        raise DesiredError(attribute, f"{attribute} is true or false.")
    return value
