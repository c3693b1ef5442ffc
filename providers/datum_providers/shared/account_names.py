"""Names and other texts of account files, as they are declared. Pure."""

import re
from typing import Final

from datum.provider.contract import DesiredError
from datum.provider.paths import normal_path
from datum_providers.shared.accounts import is_number

NAME_MAX: Final = 32
"""Bytes of a name, as useradd(8) has it."""

# What useradd, systemd and every program that splits lines at spaces take; `$` ends the name of a Windows machine.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@-]*\$?")
_BROKEN: Final = re.compile(r"[:\x00-\x1f\x7f]")


def account_name(name: str, what: str, *, attribute: str = "") -> str:
    """Return the name of a user or group, which has one spelling.

    Args:
        name: as it is declared.
        what: `user` or `group`.
        attribute: the field that holds it; empty for the resource's own name.

    Raises:
        DesiredError: it is none that every tool takes.
    """
    if not _NAME.fullmatch(name) or len(name) > NAME_MAX or is_number(name):
        raise DesiredError(
            attribute,
            f"'{name}' is no name of a {what}: at most {NAME_MAX} letters, digits and _ . + @ -, the first of them a "
            "letter, a digit or _, and not digits alone.",
            code="bad-account",
        )
    return name


def line_text(attribute: str, value: object, *, what: str) -> str | None:
    """Return a text that can stand in a line of an account file; None for none.

    Raises:
        DesiredError: it holds what ends a field or a line, or cannot be written.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise DesiredError(attribute, f"{what} is a text.")
    if _BROKEN.search(value):
        raise DesiredError(attribute, f"{what} cannot hold a colon, a newline or another control character.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DesiredError(attribute, f"{what} holds half of a surrogate pair, which has no bytes.") from error
    return value


def line_path(attribute: str, value: object, *, what: str) -> str | None:
    """Return a path that can stand in a line of an account file; None for none.

    Raises:
        DesiredError: it is none in normal form.
    """
    text = line_text(attribute, value, what=what)
    if text is None:
        return None
    try:
        path = normal_path(text)
    except ValueError as error:
        raise DesiredError(attribute, f"{error}.", code="bad-host-path") from error
    if path != text:
        raise DesiredError(attribute, f"'{text}' is not in normal form.", hint=f"write {path}", code="bad-host-path")
    return path
