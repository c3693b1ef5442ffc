"""Times as cron reads them, crontab(5): five fields, or one word. Pure."""

import re
from typing import Final

WORDS: Final = ("@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")

_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905 - one name a line says no more
_DAYS: Final = "sun mon tue wed thu fri sat".split()  # noqa: SIM905 - likewise
# Name, least and greatest value, and the names that values have, beginning with the least.
_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, tuple(_MONTHS)),
    ("day of the week", 0, 7, tuple(_DAYS)),
)
_ITEM: Final = re.compile(r"(\*|[0-9a-z]+)(?:-([0-9a-z]+))?(?:/([0-9]{1,3}))?")


def parse_schedule(text: str) -> str:
    """Return a schedule with one space between its fields.

    Raises:
        ValueError: it is none; the words say which field is wrong, and why.
    """
    words = text.split()
    if len(words) == 1 and words[0].lower() in WORDS:
        return words[0].lower()
    if len(words) != len(_FIELDS):
        raise ValueError(f"'{text}' is neither five fields nor one of {', '.join(WORDS)}")
    for word, (name, least, greatest, names) in zip(words, _FIELDS, strict=True):
        for item in word.lower().split(","):
            _check(item, name, (least, greatest), names)
    return " ".join(words)


def _check(item: str, name: str, bounds: tuple[int, int], names: tuple[str, ...]) -> None:
    found = _ITEM.fullmatch(item)
    if found is None or (found[1] == "*" and found[2]) or (found[3] and found[1] != "*" and not found[2]):
        raise ValueError(f"'{item}' is no {name}: a number, a range such as 1-5, *, or a step such as */5")
    if found[3] and not int(found[3]):
        raise ValueError(f"'{item}' is no {name}: its step is 0")
    if found[1] == "*":
        return
    first = _number(found[1], name, bounds, names)
    last = _number(found[2], name, bounds, names) if found[2] else first
    if last < first:
        raise ValueError(f"'{item}' is no {name}: the range ends before it begins")


def _number(text: str, name: str, bounds: tuple[int, int], names: tuple[str, ...]) -> int:
    least, greatest = bounds
    if text in names:
        return least + names.index(text)
    if not text.isdigit() or len(text) > len(str(greatest)) or not least <= int(text) <= greatest:
        raise ValueError(f"'{text}' is no {name}: it is from {least} to {greatest}")
    return int(text)
