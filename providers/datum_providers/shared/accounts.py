"""Owners and groups: as they are declared, as the host has them, and as the kernel takes them.

An account of digits alone is always a number, whatever users there are: chown(1) asks for the name first.
"""

import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from attrs import field, frozen

from datum.model.access import Rights
from datum.model.graph import Target
from datum.model.manifest import AttributeValue
from datum.model.observation import Absent, FieldValue, NotApplicable, Present
from datum.model.plan import Need
from datum.model.result import FailureCause
from datum.provider.contract import DesiredError, ImplicitEdge, TargetIndex
from datum.provider.host import FileFacts, HostError, HostReader

NO_OWNERS: Final = NotApplicable("no-owners")

# What getpwnam can be asked for: no separator of passwd(5), nothing a shell or chown(1) would take for another thing.
_ACCOUNT: Final = re.compile(r"[^\s\x00-\x1f\x7f:/\-][^\s\x00-\x1f\x7f:/]*")
# The greatest uid_t means "no change" to chown(2).
_LAST_ID: Final = 2**32 - 2


@frozen
class Owners:
    """Who shall own something; what is None is not enforced."""

    # Name of an account, or the decimal digits of an id without leading zeros.
    owner: str | None = None
    group: str | None = None

    @classmethod
    def parse(cls, attributes: Mapping[str, AttributeValue]) -> "Owners":
        """Read `owner` and `group`.

        Raises:
            DesiredError: one of them can be no account.
        """
        return cls(parse_account("owner", attributes.get("owner")), parse_account("group", attributes.get("group")))

    @property
    def is_silent(self) -> bool:
        """Whether neither is declared."""
        return self.owner is None and self.group is None

    def only(self, names: AbstractSet[str]) -> "Owners":
        """Return these with nothing but the fields of these names."""
        return Owners(self.owner if "owner" in names else None, self.group if "group" in names else None)

    def edges(self, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return the edges to the accounts that are declared."""
        found = (
            (index.holder(Target("user", self.owner)) if self.owner else None, "owner"),
            (index.holder(Target("group", self.group)) if self.group else None, "group"),
        )
        return tuple(ImplicitEdge(target, reason) for target, reason in found if target is not None)

    def needs(self, observed: Present | Absent) -> tuple[Need, ...]:
        """Return the accounts that the host was seen not to have."""
        needs = []
        if self.owner is not None and observed.fields.get("owner_known") is False:
            needs.append(Need(Target("user", self.owner), f"The user {self.owner} does not exist."))
        if self.group is not None and observed.fields.get("group_known") is False:
            needs.append(Need(Target("group", self.group), f"The group {self.group} does not exist."))
        return tuple(needs)

    def ids(self, reader: HostReader) -> tuple[int | None, int | None]:
        """Return uid and gid as they are now; None where nothing is declared.

        Raises:
            HostError: the host has no such account.
        """
        return user_number(reader, self.owner), group_number(reader, self.group)


def rights_as_declared(
    path: str, mode: str | None, owners: Owners, *, is_made: bool = True, is_directory: bool = False
) -> Rights:
    """Return who may do what with a path, as it is declared; of what Datum makes root's where nothing is declared.

    Args:
        path: in normal form.
        mode: four octal digits, None for none declared.
        owners: as declared.
        is_made: Datum makes what is not there, so an undeclared owner is not just what is found.
        is_directory: what stands there.
    """
    default = "root" if is_made else None
    return Rights(path, mode, owners.owner or default, owners.group or default, is_directory)


def is_number(account: str) -> bool:
    """Whether an account is given by its number; other digits than those of ASCII are letters of a name."""
    return account.isascii() and account.isdigit()


def parse_account(attribute: str, value: AttributeValue) -> str | None:
    """Return the normal form of an account: its name, or its number without leading zeros.

    Raises:
        DesiredError: it can be no account.
    """
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not _ACCOUNT.fullmatch(text):
        raise DesiredError(attribute, f"'{text}' is neither a name of an account nor a number.", code="bad-account")
    if not is_number(text):
        return text
    # int() refuses more than some thousand digits with an error of its own.
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(_LAST_ID)) or int(digits) > _LAST_ID:
        raise DesiredError(attribute, f"the greatest number of an account is {_LAST_ID}.", code="bad-account")
    return digits


@frozen
class _Names:
    """Users, or groups, of the host; each asked for once."""

    number_of: Callable[[str], int | None]
    name_of: Callable[[int], str]
    _numbers: dict[str, int | None] = field(factory=dict, init=False)
    _names: dict[int, str] = field(factory=dict, init=False)

    def number(self, account: str) -> int | None:
        """Return the id of a name, or of its digits; None when the host has no such name."""
        if account not in self._numbers:
            self._numbers[account] = int(account) if is_number(account) else self.number_of(account)
        return self._numbers[account]

    def spelling(self, number: int, wanted: str | None) -> str:
        """Return an account as it is wanted if it is that one, else its name; accounts are compared by id."""
        if wanted is not None:
            if self.number(wanted) == number:
                return wanted
            if is_number(wanted):
                return str(number)
        if number not in self._names:
            name = self.name_of(number)
            # Such a name would be read as another account.
            self._names[number] = str(number) if is_number(name) else name
        return self._names[number]


@frozen
class Accounts:
    """The accounts of the host during one observation."""

    users: _Names
    groups: _Names

    @classmethod
    def of(cls, reader: HostReader) -> "Accounts":
        """Begin an observation."""
        return cls(_Names(reader.user_id, reader.user_name), _Names(reader.group_id, reader.group_name))

    def unknown(self, wanted: Owners) -> dict[str, FieldValue]:
        """Return the fields `owner_known` and `group_known`, where the host has no such account."""
        fields: dict[str, FieldValue] = {}
        if wanted.owner is not None and self.users.number(wanted.owner) is None:
            fields["owner_known"] = False
        if wanted.group is not None and self.groups.number(wanted.group) is None:
            fields["group_known"] = False
        return fields

    def seen(self, facts: FileFacts, wanted: Owners, *, is_bare: bool) -> dict[str, FieldValue]:
        """Return the fields of what stands there; of what is not declared only where everything is looked at."""
        has_owners = "owner" not in facts.without
        fields: dict[str, FieldValue] = {}
        if is_bare or wanted.owner is not None:
            fields["owner"] = self.users.spelling(facts.uid, wanted.owner) if has_owners else NO_OWNERS
        if is_bare or wanted.group is not None:
            fields["group"] = self.groups.spelling(facts.gid, wanted.group) if has_owners else NO_OWNERS
        if has_owners:
            fields.update(self.unknown(wanted))
        return fields


def user_number(reader: HostReader, account: str | None) -> int | None:
    """Return the uid of an account; None for none.

    Raises:
        HostError: the host has no such user.
    """
    if account is None:
        return None
    return int(account) if is_number(account) else _known(reader.user_id(account), f"the user {account}")


def group_number(reader: HostReader, account: str | None) -> int | None:
    """Return the gid of an account; None for none.

    Raises:
        HostError: the host has no such group.
    """
    if account is None:
        return None
    return int(account) if is_number(account) else _known(reader.group_id(account), f"the group {account}")


def _known(number: int | None, what: str) -> int:
    if number is None:
        raise HostError(f"Cannot set the owner: {what} does not exist.", failure=FailureCause.IMPOSSIBLE)
    return number
