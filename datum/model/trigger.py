"""Who asked for a pass. Pure."""

import enum

from attrs import field, frozen


class TriggerKind(enum.StrEnum):
    """What made a pass begin."""

    TIMER = "timer"
    BOOT = "boot"
    OPERATOR = "operator"


@frozen
class Trigger:
    """What made a pass begin, and the person where it was one."""

    kind: TriggerKind = TriggerKind.OPERATOR
    # Account name of the operator, or the number of one without a name; empty where nobody is known.
    who: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.who}" if self.who else str(self.kind)


@frozen
class Asked:
    """One request for a pass."""

    trigger: Trigger = field(factory=Trigger)
    # ISO 8601, UTC; empty where it is not known.
    at: str = ""
    pid: int = 0
