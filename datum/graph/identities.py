"""Which declared accounts are one, and who is in which group, as far as declarations say it. Pure.

Answers are True, False, or None where it takes the host to know.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from datum.model.access import Access, Consumer, GroupAccount, UserAccount

_ROOT: Final = frozenset({"root", "0"})


@frozen
class Identities:
    """The declared users and groups of one host."""

    users: Mapping[str, UserAccount]
    groups: Mapping[str, GroupAccount]

    @classmethod
    def of(cls, facts: Iterable[Access]) -> "Identities":
        """Sort out what is declared."""
        given = tuple(facts)
        return cls(
            {one.name: one for one in given if isinstance(one, UserAccount)},
            {one.name: one for one in given if isinstance(one, GroupAccount)},
        )

    def is_root(self, account: str) -> bool:
        """Whether an account reads all."""
        user = self.users.get(account)
        return account in _ROOT or (user is not None and user.uid == 0)

    def is_root_group(self, group: str) -> bool:
        """Whether this is root's own group, in which nobody else is."""
        return group in _ROOT

    def is_owner(self, consumer: Consumer, owner: str | None) -> bool | None:
        """Whether a program runs as the owner of something."""
        if owner is None:
            return None
        if self._is_made_for(consumer):
            return None if _is_number(owner) and owner not in _ROOT else False
        return _same(consumer.account, owner, {name: user.uid for name, user in self.users.items()})

    def is_in(self, consumer: Consumer, group: str | None) -> bool | None:
        """Whether a program runs with a group."""
        if group is None:
            return None
        answers = [self._is_group(own, group) for own in (consumer.group, *consumer.groups) if own is not None]
        if True in answers:
            return True
        rest = self._is_member(consumer, group)
        return None if rest is False and None in answers else rest

    def group_of(self, consumer: Consumer) -> str | None:
        """Return a group that a program runs with for certain; None where the declarations name none."""
        user = self._user(consumer.account)
        # A user for whom none is declared gets one of its own name.
        own = (user.group or user.name) if user else None
        return consumer.group or own or next(iter(consumer.groups), None)

    def _is_member(self, consumer: Consumer, group: str) -> bool | None:
        """Whether the account itself brings a group along."""
        if self._is_made_for(consumer):
            # Without `Group=` a group is made with the account, and has its name.
            return None if group == consumer.account or (_is_number(group) and group not in _ROOT) else False
        user, known = self._user(consumer.account), self._group(group)
        listed = known.members if known else None
        names = {consumer.account, *((user.name,) if user else ())}
        if listed is not None and names & set(listed):
            return True
        if user is not None:
            return self._is_declared_member(user, group, has_primary=consumer.group is None)
        if group in _ROOT:
            return False
        return False if listed is not None and consumer.group is not None else None

    def _is_declared_member(self, user: UserAccount, group: str, *, has_primary: bool) -> bool | None:
        answers = [self._is_group(own, group) for own in user.groups]
        if has_primary and user.group is not None:
            answers.append(self._is_group(user.group, group))
        if True in answers:
            return True
        # A group is made with a user for whom none is declared, and has its name.
        is_own = has_primary and user.group is None and (group == user.name or _is_number(group))
        return None if None in answers or (is_own and group not in _ROOT) else False

    def _is_group(self, one: str, other: str) -> bool | None:
        return _same(one, other, {name: group.gid for name, group in self.groups.items()})

    def _is_made_for(self, consumer: Consumer) -> bool:
        return consumer.is_dynamic and consumer.account not in self.users

    def _user(self, account: str) -> UserAccount | None:
        by_number = (user for user in self.users.values() if _is_number(account) and user.uid == int(account))
        return self.users.get(account) or next(by_number, None)

    def _group(self, group: str) -> GroupAccount | None:
        by_number = (one for one in self.groups.values() if _is_number(group) and one.gid == int(group))
        return self.groups.get(group) or next(by_number, None)


def _same(one: str, other: str, numbers: Mapping[str, int | None]) -> bool | None:
    """Whether two spellings are one account; two names are two, a name and a number what declarations say."""
    one, other = ("0" if name in _ROOT else name for name in (one, other))
    if one == other:
        return True
    if _is_number(one) is _is_number(other):
        return False
    name, number = (other, one) if _is_number(one) else (one, other)
    known = numbers.get(name)
    if known is None:
        # An account of number 0 that nobody declares is hardly another than root.
        return False if number == "0" else None
    return known == int(number)


def _is_number(account: str) -> bool:
    return account.isascii() and account.isdigit()
