"""Programs that a manifest names: arguments, environment, time, names. Pure.

Arguments and environment of a program can be read by every user of a host (`/proc/*/cmdline`), or by many programs
below it; a secret never stands there.
"""

import re
from collections.abc import Mapping
from typing import Final

from datum.model.secret import Secret
from datum.provider.contract import DesiredError
from datum.provider.paths import normal_path

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def normal_token(name: str, type_name: str) -> str:
    """Return the name of a resource that is no path and no account, as it is.

    Raises:
        DesiredError: it holds what no such name holds.
    """
    if not _NAME.fullmatch(name):
        raise DesiredError(
            "",
            f"'{name}' is no name of a {type_name}: letters, digits, and . _ @ + - after the first of them.",
            code="bad-resource-name",
        )
    return name


def parse_argv(attribute: str, value: object) -> tuple[str, ...]:
    """Read a program and its arguments; empty for none.

    Raises:
        DesiredError: no program, one by a relative path, or a word that no program can be given.
    """
    if value is None:
        return ()
    words = tuple(value) if isinstance(value, (list, tuple)) else ()
    if any(isinstance(word, Secret) for word in words):
        raise _shown(attribute)
    if not words or not all(isinstance(word, str) for word in words) or not words[0]:
        raise DesiredError(attribute, "a program and its arguments are expected, as a list of strings.")
    for word in words:
        _check_text(attribute, word)
    _check_program(attribute, words[0])
    return words


def parse_environment(attribute: str, value: object) -> Mapping[str, str]:
    """Read the variables that a program gets beside the fixed ones, sorted by name.

    Raises:
        DesiredError: no name of a variable, or no text.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DesiredError(attribute, "a map of names to texts is expected.")
    for name, text in value.items():
        if isinstance(text, Secret):
            raise _shown(attribute)
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise DesiredError(attribute, f"'{name}' is no name of a variable: letters, digits and _.")
        if not isinstance(text, str):
            raise DesiredError(attribute, f"the value of {name} is no text.", hint="quote it")
        _check_text(attribute, text)
    return {name: value[name] for name in sorted(value)}


def parse_seconds(attribute: str, value: object, *, default: float, greatest: float) -> float:
    """Read a time in seconds.

    Raises:
        DesiredError: not above zero, or more than is allowed.
    """
    if value is None:
        return default
    # Written so that what is no number at all (NaN) is refused too.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= greatest:
        raise DesiredError(attribute, f"'{value}' is no number of seconds above 0 and up to {greatest:g}.")
    return float(value)


def parse_host_path(attribute: str, value: object) -> str:
    """Read the path of something on the host.

    Raises:
        DesiredError: it is none in normal form.
    """
    if not isinstance(value, str):
        raise DesiredError(attribute, f"'{value}' is no path.", code="bad-host-path")
    try:
        path = normal_path(value)
    except ValueError as error:
        raise DesiredError(attribute, f"{error}.", code="bad-host-path") from error
    if path != value:
        raise DesiredError(attribute, f"'{value}' is not in normal form.", hint=f"write {path}", code="bad-host-path")
    return path


def _check_text(attribute: str, text: str) -> None:
    if "\0" in text:
        raise DesiredError(attribute, f"{text!r} holds a NUL byte, which no program can be given.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DesiredError(attribute, f"{text!r} holds half of a surrogate pair, which has no bytes.") from error


def _check_program(attribute: str, program: str) -> None:
    if "/" in program:
        parse_host_path(attribute, program)


def _shown(attribute: str) -> DesiredError:
    return DesiredError(
        attribute,
        "a secret stands here, and every user of the host can see the arguments and environment of programs.",
        hint="hand it to the program as stdin, or in a file that only its user can read",
        code="secret-shown",
    )
