"""Unit files of a timer as attributes that declare them: those which this type writes, and no others. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from datum.model.content import Content
from datum.model.json import JsonValue
from datum.provider.contract import DesiredError
from datum_providers.timer.desired import parse_timer

_UNQUOTED: Final = re.compile(r"\\(?:([\\\"ntr])|x([0-9a-f]{2}))|%%")
_WORD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r"}
_SPAN: Final = re.compile(r"([0-9]+)(us|s)")
_SPANS: Final = {
    "OnBootSec": "on_boot",
    "OnUnitActiveSec": "on_unit_active",
    "RandomizedDelaySec": "randomized_delay",
    "AccuracySec": "accuracy",
}


def declared_by(name: str, timer: str, service: str) -> dict[str, JsonValue]:
    """Return the attributes that declare two unit files; nothing where these are not what this type writes.

    Args:
        name: of the timer.
        timer: text of its unit file.
        service: text of that of its service.
    """
    found = _read(timer, service)
    if found.get("description") == name:
        del found["description"]
    try:
        desired = parse_timer(name, found)
    except DesiredError:
        return {}
    wanted = (Content.from_bytes(timer.encode()), Content.from_bytes(service.encode()))
    return found if (desired.timer, desired.service) == wanted else {}


def _read(timer: str, service: str) -> dict[str, JsonValue]:
    """Return what two unit files say, as far as they say it as this type does."""
    times, job = _settings(timer), _settings(service)
    found: dict[str, JsonValue] = {}
    if calendars := times.get("OnCalendar"):
        found["on_calendar"] = tuple(text.replace("%%", "%") for text in calendars)
    for name, attribute in _SPANS.items():
        matched = _SPAN.fullmatch("".join(times.get(name, ())))
        if matched:
            found[attribute] = int(matched[1]) if matched[2] == "s" else int(matched[1]) / 1_000_000
    if times.get("Persistent") == ["yes"]:
        found["persistent"] = True
    found["argv"] = tuple(_unquoted(word) for word in _WORD.findall("".join(job.get("ExecStart", ()))))
    for name, attribute in (
        ("User", "user"),
        ("WorkingDirectory", "working_directory"),
        ("Description", "description"),
    ):
        if values := job.get(name):
            found[attribute] = values[-1].replace("%%", "%")
    pairs = [_unquoted(text[1:-1]).partition("=") for text in job.get("Environment", ())]
    if pairs:
        found["environment"] = {name: value for name, _, value in pairs}
    return found


def _settings(text: str) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals:
            found.setdefault(name, []).append(value)
    return found


def _unquoted(text: str) -> str:
    return _UNQUOTED.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    if found[0] == "%%":
        return "%"
    return chr(int(found[2], 16)) if found[2] else _PLAIN.get(found[1], found[1])
