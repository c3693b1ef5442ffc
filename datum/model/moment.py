"""Moments as people and files write them: ISO 8601 in UTC, to the second. Pure; the clock itself is nobody's here."""

import re
from datetime import UTC, datetime
from typing import Final

_FORM: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def parse_moment(text: str) -> int:
    """Return the seconds since 1970 of a text like `2026-11-29T03:15:00Z`.

    Raises:
        ValueError: of another form, or no day or hour that there is.
    """
    if not _FORM.fullmatch(text):
        raise ValueError(f"'{text}' is no time of the form 2026-11-29T03:15:00Z")
    return int(datetime.fromisoformat(text).timestamp())


def format_moment(seconds: int) -> str:
    """Return the text of a moment from year 1 to 9999; one beyond as the last that there is."""
    try:
        found = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        found = datetime.max.replace(tzinfo=UTC)
    return f"{found.replace(tzinfo=None).isoformat(timespec='seconds')}Z"
