"""Names of hosts, resource types and resources. Pure."""

import re
from functools import total_ordering
from typing import Final, NewType, Self

from attrs import field, frozen

ResourceType = NewType("ResourceType", str)

_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HOST: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")


@total_ordering
@frozen(cache_hash=True)
class ResourceId:
    """`type:name`, one string, the same in manifest, references, plan, report and command line.

    Ordered by type, then name; that order breaks every tie of a plan.
    """

    type: str
    # In the normal form of its type; `ResourceId` itself does not normalise.
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Split at the first colon.

        Raises:
            ValueError: not of the form `type:name`; the message says what is wrong.
        """
        kind, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"'{text}' has no type: a resource is written type:name")
        if not _TYPE.fullmatch(kind):
            raise ValueError(f"'{kind}' is no resource type: lower-case letters, digits and _")
        if not name:
            raise ValueError(f"'{text}' has no name after the colon")
        if _CONTROL.search(name):
            raise ValueError(f"{text!r} holds a control character")
        return cls(kind, name)

    def __lt__(self, other: Self) -> bool:
        # By hand: sorting ten thousand ids with what attrs generates costs as much as reading them.
        return (self.type, self.name) < (other.type, other.name)

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


@frozen(order=True)
class HostName:
    """The name of one host in the fleet: lower-case DNS labels (RFC 1123), at most 253 characters."""

    value: str = field()

    @value.validator
    def _check(self, _attribute: object, value: str) -> None:
        if not _HOST.fullmatch(value):
            raise ValueError(
                f"'{value}' is no host name: lower-case letters, digits and hyphens, labels joined by dots"
            )

    def __str__(self) -> str:
        return self.value
