"""`left.json`, beside the reports: what `datum leave` says of the enrolment that it ends (ADR 0048).

The record names what stays, what is to be revoked, and the reports of that enrolment: those tell of no lost state. What
an earlier leave wrote is kept in it. Effects: that file.
"""

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.agent.configuration import write_whole
from datum.agent.reports import LEFT, find_reports
from datum.model.json import JsonValue, compact_json

# Bytes; a record names each report by some 40.
_MOST: Final = 16 << 20
# What tells one enrolment from another.
_IDENTITY: Final = ("host", "fleet", "repo", "accepted", "trail")


@frozen
class Access:
    """Something that lets this host in somewhere."""

    # `deploy key`, `token`.
    what: str
    # Of the file that stays on this host.
    path: str
    # Where it is to be revoked.
    url: str
    fingerprint: str = ""


@frozen
class Record:
    """What a record says; a file of a host, so whatever in it is no such value says nothing."""

    document: Mapping[str, JsonValue]

    @property
    def is_complete(self) -> bool:
        """Whether that leave came to its end."""
        return self.document.get("is_complete") is True

    @property
    def host(self) -> str:
        """The name that the host had; empty where it is not said."""
        return _text(self.document.get("host"))

    @property
    def fleet(self) -> str:
        """The fleet that it left; empty where it is not said."""
        return _text(self.document.get("fleet"))

    @property
    def state_dir(self) -> str:
        """The state directory, as that leave reached it."""
        return _text(self.document.get("state_dir"))

    @property
    def stays(self) -> tuple[str, ...] | None:
        """Ids of the resources that stay; None: that is not known."""
        found = self.document.get("resources")
        return _texts(found) if isinstance(found, list) else None

    @property
    def reports(self) -> frozenset[str]:
        """Names of the files of the reports that were there."""
        return frozenset(_texts(self.document.get("reports")))

    @property
    def accesses(self) -> tuple[Access, ...]:
        """What is to be revoked."""
        found = self.document.get("revoke")
        entries = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        return tuple(
            Access(*(_text(one.get(key)) for key in ("what", "path", "url", "fingerprint"))) for one in entries
        )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def read_record(folder: Path) -> Record | None:
    """Return the record beside the reports; None: there is none that can be read, so none is relied on."""
    path = folder / LEFT
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as stream:
            document = json.loads(stream.read(_MOST))
    except (OSError, ValueError, RecursionError):
        return None
    return Record(document) if isinstance(document, dict) else None


def write_record(folder: Path, document: Mapping[str, JsonValue]) -> None:
    """Write the record of a leave that begins now; that of an earlier one goes into `earlier`.

    Args:
        folder: of the reports.
        document: what is said of the enrolment.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    reports = find_reports(folder)
    before = read_record(folder)
    made: dict[str, JsonValue] = {**document, "is_complete": False, "reports": [one.path.name for one in reports]}
    earlier: list[JsonValue] = []
    if before is not None:
        found = before.document.get("earlier")
        earlier = list(found) if isinstance(found, list) else []
        known = {key: value for key, value in before.document.items() if key not in {"earlier", "reports"}}
        if any(known.get(key) != made.get(key) for key in _IDENTITY):
            earlier.insert(0, known)
        elif made.get("resources") is None:
            made["resources"] = known.get("resources")
    _write(folder, {**made, "earlier": earlier})


def complete_record(folder: Path) -> None:
    """Let the record say that its leave came to an end; done again, or without one, it does nothing.

    Raises:
        OSError: it cannot be written.
    """
    found = read_record(folder)
    if found is not None and not found.is_complete:
        _write(folder, {**found.document, "is_complete": True})


def _write(folder: Path, document: Mapping[str, JsonValue]) -> None:
    write_whole(folder / LEFT, compact_json(document).encode() + b"\n", mode=0o640)
