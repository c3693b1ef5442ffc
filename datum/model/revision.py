"""What names one commit of the fleet repository, and how much of the source's state is known. Pure."""

import enum
import re
from typing import Final, Self

from attrs import field, frozen

_TEXT: Final = re.compile(r"(?:(?P<ref>\S+)@)?(?P<algorithm>sha1|sha256):(?P<commit>[0-9a-f]+)")
_LENGTH: Final = {"sha1": 40, "sha256": 64}


@frozen
class Revision:
    """One commit. Text form `main@sha1:<hex>`, or `sha1:<hex>` where no ref is known.

    Two revisions are equal when they name the same commit, by whatever ref they were found.
    """

    # Hexadecimal, whole, lower case.
    commit: str = field()
    # The ref it was found by, for people; takes no part in equality.
    ref: str | None = field(default=None, eq=False)
    # `sha1` or `sha256`; the length of `commit` tells it.
    algorithm: str = field()

    @commit.validator
    def _check_commit(self, _attribute: object, value: str) -> None:
        if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", value):
            raise ValueError(f"'{value}' is no object name of a commit")

    @algorithm.default
    def _algorithm_of_commit(self) -> str:
        return "sha1" if len(self.commit) == _LENGTH["sha1"] else "sha256"

    @algorithm.validator
    def _check_algorithm(self, _attribute: object, value: str) -> None:
        if _LENGTH.get(value) != len(self.commit):
            raise ValueError(f"'{self.commit}' is no object name of {value}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form.

        Raises:
            ValueError: not of that form.
        """
        match = _TEXT.fullmatch(text)
        if match is None or len(match["commit"]) != _LENGTH[match["algorithm"]]:
            raise ValueError(f"'{text}' is no revision: main@sha1:<40 hex digits> is expected")
        return cls(match["commit"], ref=match["ref"], algorithm=match["algorithm"])

    @property
    def key(self) -> str:
        """The text form without the ref, as the pointer stores it."""
        return f"{self.algorithm}:{self.commit}"

    @property
    def short(self) -> str:
        """Twelve digits, for people."""
        return self.commit[:12]

    def __str__(self) -> str:
        return f"{self.ref}@{self.key}" if self.ref else self.key


class SourceStatus(enum.StrEnum):
    """What asking the source gave."""

    OK = "ok"
    # --offline, or --rev of the enforced revision: not asked.
    NOT_ASKED = "not_asked"
    UNREACHABLE = "unreachable"
    # The ref is not there any more.
    GONE = "gone"
    # A revision was found, and is not acceptable (design 3.3).
    REFUSED = "refused"
    # Acceptable, but on the host's list of quarantined revisions.
    QUARANTINED = "quarantined"


@frozen
class CommitInfo:
    """What a commit says of itself. Claims of whoever made it, for people: nothing is decided on them."""

    # `Name <address>`; bytes that are not UTF-8 are replaced.
    author: str
    committer: str
    # ISO 8601, UTC, whole seconds: `2026-01-31T12:00:00Z`; `@<seconds>` where no calendar holds it.
    committed_at: str
    # First line of the message.
    subject: str
