"""What a YAML scalar without quotes means, as far as YAML 1.1 and YAML 1.2 agree. Pure.

Rules: `true`, `false`, `null`, `~` and nothing at all; decimal integers and decimals without leading zeros, exponents
and underscores, as exact as JSON carries them; everything that no YAML reads as anything but text. What is left is
ambiguous: its value is its text, and why is said in words.
"""

import math
import re
from types import MappingProxyType
from typing import Final

_EXACT: Final = 2**53 - 1

_CLEAR: Final = MappingProxyType({"": None, "~": None, "null": None, "true": True, "false": False})

_WORDS: Final = MappingProxyType(
    {
        word: f"YAML 1.1 reads {word} as {meaning}{also}"
        for words, meaning, also in (
            ("y Y yes Yes YES on On ON", "true", ", YAML 1.2 as text"),
            ("n N no No NO off Off OFF", "false", ", YAML 1.2 as text"),
            ("True TRUE", "true", ", and other readers as text"),
            ("False FALSE", "false", ", and other readers as text"),
            ("Null NULL", "null", ", and other readers as text"),
            ("=", "a default value", ", YAML 1.2 as text"),
            ("<<", "a merge key", ", YAML 1.2 as text"),
        )
        for word in words.split()
    }
)

_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+")

# The first that matches says why.
_DIFFERENT: Final = (
    (re.compile(r"[-+]?0o[0-7_]+"), "YAML 1.2 reads it as an octal number, YAML 1.1 as text"),
    (re.compile(r"[-+]?0x[0-9a-fA-F_]+"), "it is a hexadecimal number in YAML and text elsewhere"),
    (re.compile(r"[-+]?0b[01_]+"), "YAML 1.1 reads it as a binary number, YAML 1.2 as text"),
    (re.compile(r"[-+]?0[0-9_]+"), "YAML 1.1 reads a leading zero as octal, YAML 1.2 as decimal"),
    (
        re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"),
        "YAML 1.1 reads digits with colons as a number of base 60, YAML 1.2 as text",
    ),
    (
        re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt\s].*)?", re.DOTALL),
        "YAML 1.1 reads it as a date, YAML 1.2 as text",
    ),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|[-+]?\.(nan|NaN|NAN)"), "YAML reads it as a number that JSON does not have"),
    (
        re.compile(r"[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)[eE][-+]?[0-9]+"),
        "YAML 1.2 reads an exponent as a number, YAML 1.1 not always",
    ),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*"), "YAML 1.1 reads digits with _ as a number, YAML 1.2 as text"),
    (
        re.compile(r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9_]+)"),
        "readers disagree about a decimal that is not written as 0.5",
    ),
)

# What any of the above can start with.
_SUSPECT: Final = frozenset("-+.0123456789")


def read_plain(text: str) -> tuple[bool | int | float | str | None, str]:
    """Return what a scalar without quotes means, and why it is ambiguous (empty where it is not)."""
    if text in _CLEAR:
        return _CLEAR[text], ""
    if text in _WORDS:
        return text, _WORDS[text]
    if text[0] not in _SUSPECT:
        return text, ""
    return _read_number(text)


def _read_number(text: str) -> tuple[int | float | str, str]:
    if _INTEGER.fullmatch(text):
        # Python itself refuses to read thousands of digits.
        value = int(text) if len(text) < 32 else _EXACT + 1  # noqa: PLR2004
        if abs(value) > _EXACT:
            return text, "it has more digits than JSON carries exactly"
        return value, ""
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return (text, "it is larger than any number JSON carries") if math.isinf(number) else (number, "")
    return text, next((why for pattern, why in _DIFFERENT if pattern.fullmatch(text)), "")
