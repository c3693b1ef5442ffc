"""The words on what changed after something was started. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from datum.model.observation import StaleInput

NAMED: Final = 3
"""Inputs that one sentence names."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(microseconds: int) -> str:
    """Return a time as ISO 8601 in UTC, with milliseconds; a time beyond what that can say as the last that it can."""
    try:
        found = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        found = datetime.max.replace(tzinfo=UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def reason_of(inputs: Sequence[StaleInput]) -> str:
    """Return why a restart for evidence is planned; empty where there is no evidence."""
    if not inputs:
        return ""
    words = [f"{one.path} changed at {moment(one.changed)}" for one in inputs[:NAMED]]
    more = f" and {len(inputs) - NAMED} more did" if len(inputs) > NAMED else ""
    since = moment(max(one.since for one in inputs))
    return f"{', '.join(words)}{more}, after it was started or reloaded at {since}: 'when_stale' restarts it for that."
