"""What `datum doctor` asks the service manager beside the facts of units. Effects: D-Bus; reads only."""

from typing import Any, Final

from attrs import frozen

from datum.host.dbus import MANAGER, MANAGER_PATH, PROPERTIES, Call, Conversation, Refusal
from datum.host.manager import SERVICE, converse, unit_path

_TIMER: Final = "org.freedesktop.systemd1.Timer"
_NEVER: Final = (1 << 64) - 1


@frozen
class TimerFacts:
    """When a timer elapsed and will elapse; microseconds since the epoch, 0: never."""

    next_elapse: int = 0
    # Microseconds of the monotonic clock; timers of OnBootSec= and OnUnitActiveSec= have this one.
    next_elapse_monotonic: int = 0
    last_trigger: int = 0


@frozen
class LastRun:
    """How the main process of a service ended last."""

    # Exit code, or the number of a signal.
    status: int = 0
    # Microseconds since the epoch; 0: it never ran, or runs now for the first time.
    ended: int = 0


@frozen
class ManagerFacts:
    """The manager itself."""

    # As `252.39-1~deb12u1`.
    version: str
    # Names of units that failed.
    failed: tuple[str, ...]


def read_manager(pattern: str) -> ManagerFacts:
    """Return the version of the manager, and which units of a pattern failed.

    Raises:
        HostError: `manager-unreachable`.
    """
    version, failed = _ask(
        Call(MANAGER_PATH, PROPERTIES, "Get", "ss", (MANAGER, "Version")),
        Call(MANAGER_PATH, MANAGER, "ListUnitsByPatterns", "asas", (["failed"], [pattern])),
    )
    units = () if isinstance(failed, Refusal) else tuple(sorted(name for name, *_ in failed[0]))
    return ManagerFacts("" if isinstance(version, Refusal) else str(version[0][1]), units)


def read_timer(name: str) -> TimerFacts:
    """Return when a timer elapses; all 0 for a unit that is not loaded.

    Raises:
        HostError: `manager-unreachable`.
    """
    names = ("NextElapseUSecRealtime", "NextElapseUSecMonotonic", "LastTriggerUSec")
    return TimerFacts(*_numbers(unit_path(name), _TIMER, names))


def read_last_run(name: str) -> LastRun:
    """Return how a service ended last; all 0 for one that is not loaded, or never ran.

    Raises:
        HostError: `manager-unreachable`.
    """
    return LastRun(*_numbers(unit_path(name), SERVICE, ("ExecMainStatus", "ExecMainExitTimestamp")))


def _numbers(path: str, interface: str, names: tuple[str, ...]) -> tuple[int, ...]:
    answers = _ask(*(Call(path, PROPERTIES, "Get", "ss", (interface, name)) for name in names))
    values = (0 if isinstance(answer, Refusal) else int(answer[0][1]) for answer in answers)
    return tuple(0 if value == _NEVER else value for value in values)


def _ask(*calls: Call) -> list[Any]:
    def talk(conversation: Conversation) -> list[Any]:
        return conversation.ask(calls)

    return converse(talk)
