"""The two unit files of a timer: written, and read back as far as they say what a declaration can. Pure.

Source of the quoting: systemd.syntax(7), systemd.service(5) (command lines), systemd.exec(5) (`Environment=`).
"""

import re
from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "%": "%%"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SECOND: Final = 1_000_000


@frozen
class Times:
    """When a timer elapses. Seconds; None for what is not said."""

    on_calendar: tuple[str, ...] = ()
    on_boot: float | None = None
    on_unit_active: float | None = None
    is_persistent: bool = False
    randomized_delay: float | None = None
    accuracy: float | None = None


@frozen
class Job:
    """What a timer starts."""

    # Program and arguments, handed over as they are.
    argv: tuple[str, ...]
    # Name or digits; empty for root.
    user: str = ""
    environment: Mapping[str, str] = field(factory=dict)
    # Absolute path; empty for `/`.
    directory: str = ""


def timer_text(description: str, times: Times) -> str:
    """Return the unit file of the timer."""
    settings = [("OnCalendar", text.replace("%", "%%")) for text in times.on_calendar]
    for name, seconds in (
        ("OnBootSec", times.on_boot),
        ("OnUnitActiveSec", times.on_unit_active),
        ("RandomizedDelaySec", times.randomized_delay),
        ("AccuracySec", times.accuracy),
    ):
        if seconds is not None:
            settings.append((name, _span(seconds)))
    if times.is_persistent:
        settings.append(("Persistent", "yes"))
    return _sections(
        ("Unit", [("Description", description.replace("%", "%%"))]),
        ("Timer", settings),
        ("Install", [("WantedBy", "timers.target")]),
    )


def service_text(description: str, job: Job) -> str:
    """Return the unit file of what the timer starts.

    The colon before the program keeps systemd from replacing variables in its arguments.
    """
    settings = [("Type", "oneshot"), ("ExecStart", f":{' '.join(_quoted(word) for word in job.argv)}")]
    if job.user:
        settings.append(("User", job.user.replace("%", "%%")))
    if job.directory:
        settings.append(("WorkingDirectory", job.directory.replace("%", "%%")))
    settings += [("Environment", _quoted(f"{name}={job.environment[name]}")) for name in sorted(job.environment)]
    return _sections(("Unit", [("Description", description.replace("%", "%%"))]), ("Service", settings))


def _sections(*sections: tuple[str, list[tuple[str, str]]]) -> str:
    texts = ["".join((f"[{name}]\n", *(f"{key}={value}\n" for key, value in items))) for name, items in sections]
    return "\n".join(texts)


def _span(seconds: float) -> str:
    """Return a time as systemd.time(7) reads it, exact to the microsecond that it counts in."""
    micros = round(seconds * _SECOND)
    return f"{micros // _SECOND}s" if micros % _SECOND == 0 else f"{micros}us"


def _quoted(word: str) -> str:
    plain = "".join(_ESCAPES.get(character, character) for character in word)
    return f'"{_CONTROL.sub(lambda found: f"{chr(92)}x{ord(found[0]):02x}", plain)}"'
