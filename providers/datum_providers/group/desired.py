"""What a declaration of a group means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.shared.account_names import account_name

GID_LAST: Final = 2**32 - 2


@frozen
class DesiredGroup:
    """A group; what is None is not enforced."""

    name: str
    gid: int | None = None
    # Names of users, sorted: these and no others are listed.
    members: tuple[str, ...] | None = None
    # Of one that is made.
    is_system: bool = False
    # The user of this name is declared absent: it goes first. Known once the graph is; says nothing of the group.
    is_left: bool = field(default=False, eq=False)

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at, so that it can be adopted."""
        return self.gid is None and self.members is None


def normal_name(name: str) -> str:
    """Return the name of a group, which has one spelling.

    Raises:
        DesiredError: no name that every tool takes.
    """
    return account_name(name, "group")


def parse_group(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredGroup:
    """Read the attributes of one group.

    Raises:
        DesiredError: a value that cannot be meant.
    """
    return DesiredGroup(
        normal_name(name),
        _gid(attributes.get("gid")),
        _members(attributes.get("members")),
        is_system=_system(attributes.get("system")),
    )


def _gid(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= GID_LAST:
        raise DesiredError("gid", f"'{value}' is no number from 0 to {GID_LAST}.")
    return value


def _members(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    found = set()
    for name in names:
        if not isinstance(name, str):
            raise DesiredError("members", "members is a list of names.")
        found.add(account_name(name, "user", attribute="members"))
    return tuple(sorted(found))


def _system(value: object) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise DesiredError("system", "system is true or false.")
    return value
