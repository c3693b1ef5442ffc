"""What a declaration of a timer means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.shared.accounts import parse_account
from datum_providers.shared.one_line import parse_line
from datum_providers.shared.places import is_of_agent
from datum_providers.shared.programs import parse_argv, parse_environment, parse_host_path, parse_seconds
from datum_providers.shared.units import UnitName, parse_unit_name, unit_path
from datum_providers.timer.texts import Job, Times, service_text, timer_text

ROOT: Final = "root"

_LONGEST: Final = 10 * 365 * 86_400.0
"""Seconds that any of the times may be."""

_SUFFIXES: Final = (".timer", ".service")
# Fields that say something of the unit files, without which it is only said that they are there.
_SAYING: Final = (
    "on_calendar", "on_boot", "on_unit_active", "persistent", "randomized_delay", "accuracy",
    "argv", "user", "environment", "working_directory", "description",
)  # fmt: skip
# In the program itself systemd would take these for prefixes, or for what it is to work out.
_PROGRAM: Final = re.compile(r"[^@\-:+!|\s$\"'\\][^$]*")


@frozen
class DesiredTimer:
    """A timer and the service that it starts."""

    name: str
    # None: only that they are there.
    timer: Content | None = None
    service: Content | None = None
    # Whether it is active, and enabled.
    is_running: bool = True
    # What the service needs to start; empty where that is nothing that could be missing.
    user: str = ""
    program: str = ""
    directory: str = ""

    @property
    def unit(self) -> UnitName:
        """The timer's name among units."""
        return UnitName(f"{self.name}.timer")

    @property
    def path(self) -> str:
        """Where the unit file of the timer lies."""
        return unit_path(self.unit.full)

    @property
    def service_path(self) -> str:
        """Where that of the service lies."""
        return unit_path(f"{self.name}.service")


def normal_name(name: str) -> str:
    """Return the name, which is that of both units without their suffix.

    Raises:
        DesiredError: no unit could have that name, or the agent's own has it.
    """
    stem = name.removesuffix(".timer").removesuffix(".service")
    if "@" in name or name.endswith(_SUFFIXES):
        is_name = stem != name and "@" not in stem
        raise DesiredError(
            "",
            f"'{name}' is no name of a timer: it is what both units are called, without a suffix and without @.",
            hint=f"Write timer:{stem}" if is_name else "a template takes unit: and service:",
            code="bad-unit-name",
        )
    unit = parse_unit_name(f"{name}.timer", "timer")
    if is_of_agent(unit_path(unit.full)):
        raise DesiredError("", f"{unit.full} is the agent's own timer.", hint="`datum init` sets it up")
    return name


def parse_timer(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredTimer:
    """Read the attributes of one timer.

    Raises:
        DesiredError: nothing that ever elapses, no program, or a value that cannot be meant.
    """
    own = normal_name(name)
    running = attributes.get("running")
    if running is not None and not isinstance(running, bool):
        raise DesiredError("running", "running is true or false.")
    is_running = running is not False
    if all(attributes.get(field) is None for field in _SAYING):
        return DesiredTimer(own, is_running=is_running)
    times, job = _times(attributes), _job(attributes)
    description = parse_line("description", attributes.get("description"), what="a description") or own
    if description.endswith("\\") or description != description.strip():
        raise DesiredError("description", "a description neither begins nor ends with a space, nor ends with \\.")
    return DesiredTimer(
        own,
        Content.from_bytes(timer_text(description, times).encode()),
        Content.from_bytes(service_text(description, job).encode()),
        is_running=is_running,
        user=job.user,
        program=job.argv[0] if job.argv[0].startswith("/") else "",
        directory=job.directory,
    )


def _times(attributes: Mapping[str, AttributeValue]) -> Times:
    times = Times(
        _calendars(attributes.get("on_calendar")),
        _seconds(attributes, "on_boot"),
        _seconds(attributes, "on_unit_active"),
        is_persistent=_persistent(attributes),
        randomized_delay=_seconds(attributes, "randomized_delay"),
        accuracy=_seconds(attributes, "accuracy"),
    )
    if times.on_calendar or times.on_boot is not None:
        return times
    if times.on_unit_active is not None:
        raise DesiredError(
            "on_unit_active",
            "it counts from the last start, and nothing says when the first one is.",
            hint="declare on_boot or on_calendar, too",
        )
    other = next(field for field in _SAYING if attributes.get(field) is not None)
    raise DesiredError(other, "nothing says when the timer elapses.", hint="on_calendar: [daily]")


def _calendars(value: AttributeValue) -> tuple[str, ...]:
    """Read expressions of systemd.time(7); what they mean is known to systemd, which is shown them on the host."""
    if value is None:
        return ()
    items = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    texts = (parse_line("on_calendar", item, what="each of on_calendar") for item in items)
    return tuple(" ".join(text.split()) for text in texts if text is not None)


def _persistent(attributes: Mapping[str, AttributeValue]) -> bool:
    value = attributes.get("persistent")
    if value is not None and not isinstance(value, bool):
        raise DesiredError("persistent", "persistent is true or false.")
    if value and attributes.get("on_calendar") is None:
        raise DesiredError("persistent", "only what is said by on_calendar can have been missed.")
    return value is True


def _seconds(attributes: Mapping[str, AttributeValue], name: str) -> float | None:
    value = attributes.get(name)
    return None if value is None else parse_seconds(name, value, default=0, greatest=_LONGEST)


def _job(attributes: Mapping[str, AttributeValue]) -> Job:
    argv = parse_argv("argv", attributes.get("argv"))
    if not argv:
        raise DesiredError("argv", "no program is declared that the timer could start.", hint="argv: [/usr/bin/true]")
    if not _PROGRAM.fullmatch(argv[0]):
        raise DesiredError("argv", f"'{argv[0]}' is no program that systemd would start by that name.")
    user = parse_account("user", attributes.get("user")) or ROOT
    environment = parse_environment("environment", attributes.get("environment"))
    return Job(argv, "" if user == ROOT else user, environment, _directory(attributes.get("working_directory")))


def _directory(value: AttributeValue) -> str:
    if value is None:
        return ""
    path = parse_host_path("working_directory", value)
    if re.search(r"[\x00-\x1f\x7f]|\s\Z|\\\Z", path):
        raise DesiredError("working_directory", f"'{path}' is no path that can stand in a unit file.")
    return path
