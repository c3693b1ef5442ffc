"""A pause: for how long a person keeps passes from changing this host, or a part of it (design 4.4). Pure.

What a pause does is a function of the pause and the moment of the pass, which is an input of the plan like it.
"""

import enum
from collections.abc import Iterable
from typing import Final

from attrs import frozen

from datum.model.identity import ResourceId

LONGEST: Final = 30 * 24 * 3600
"""Seconds that a pause may last: one that nobody remembers is the fault that it must not become."""

LEEWAY: Final = 600
"""Seconds by which a clock may have been set back since the pause began, as design 3.3 has it for commits."""

EVERY: Final = "*"
"""The name that stands for every resource of a type: `service:*`."""


class PauseState(enum.StrEnum):
    """What a pause is at one moment."""

    IN_FORCE = "in_force"
    # Its time has come.
    OVER = "over"
    # The clock is further before its begin than a small correction goes: how long it lasted already is not known.
    CLOCK_BEHIND = "clock_behind"


@frozen
class Pause:
    """Who keeps what from being changed, why, and until when."""

    who: str
    reason: str
    # Seconds since 1970; at most `LONGEST` apart.
    since: int
    until: int
    # Only these, sorted; a name of `EVERY` is every one of its type. Empty: the whole host.
    only: tuple[ResourceId, ...] = ()

    def state(self, now: int) -> PauseState:
        """Return what it is at a moment: never in force for longer than its own time and `LEEWAY`, whatever the clock.

        Args:
            now: seconds since 1970.
        """
        if now >= self.until:
            return PauseState.OVER
        return PauseState.IN_FORCE if now >= self.since - LEEWAY else PauseState.CLOCK_BEHIND

    @staticmethod
    def check_name(one: ResourceId) -> None:
        """Refuse what looks like a pattern and is none: whoever writes it means more than one resource.

        Raises:
            ValueError: `*` is a part of its name; the message says what is wrong.
        """
        if EVERY in one.name and one.name != EVERY:
            raise ValueError(
                f"'{one}' would be a pattern; there is {one.type}:{EVERY} for all of the type, and no other"
            )

    @property
    def is_whole(self) -> bool:
        """Whether it is for the whole host."""
        return not self.only

    def names(self, origin: ResourceId) -> bool:
        """Whether it is for the whole host, or names this resource or its type."""
        return self.is_whole or any(_names(one, origin) for one in self.only)

    def unknown(self, declared: Iterable[ResourceId]) -> tuple[ResourceId, ...]:
        """Return what it names and is not among these."""
        known = set(declared)
        kinds = {origin.type for origin in known}
        return tuple(one for one in self.only if one not in known and not (one.name == EVERY and one.type in kinds))


def in_force(pause: Pause | None, now: int) -> Pause | None:
    """Return a pause that is in force; None where there is none, or its time has come."""
    return pause if pause is not None and pause.state(now) is PauseState.IN_FORCE else None


def _names(one: ResourceId, origin: ResourceId) -> bool:
    return one == origin or (one.name == EVERY and one.type == origin.type)
