"""What a declaration of a file means, in normal form. Pure."""

import posixpath
import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum.provider.paths import normal_path

CONTENT_FIELDS: Final = ("content", "source", "template")
"""At most one of them is declared."""

RESIDUE_SUFFIX: Final = ".datum.dpkg-tmp"
"""Names of files that are being written (design 4.7)."""

_PLACEHOLDER: Final = "{path}"
_MODE: Final = re.compile(r"[0-7]{3,4}")
# What getpwnam can be asked for: no separator of passwd(5), nothing a shell or chown(1) would take for another thing.
_ACCOUNT: Final = re.compile(r"[^\s\x00-\x1f\x7f:/\-][^\s\x00-\x1f\x7f:/]*")
# The greatest uid_t means "no change" to chown(2).
_LAST_ID: Final = 2**32 - 2


@frozen
class DesiredFile:
    """A regular file; what is None is not enforced."""

    path: str
    content: Content | None = None
    # Four octal digits.
    mode: str | None = None
    # Name of an account, or the decimal digits of an id without leading zeros.
    owner: str | None = None
    group: str | None = None
    # Program and arguments; `{path}` stands for the path.
    validate: tuple[str, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at, so that it can be adopted."""
        return self.content is None and self.mode is None and self.owner is None and self.group is None


def is_number(account: str) -> bool:
    """Whether an account is given by its number; other digits than those of ASCII are letters of a name."""
    return account.isascii() and account.isdigit()


def normal_name(name: str) -> str:
    """Return the normal form of a path.

    Raises:
        DesiredError: no path on which a file can be kept.
    """
    try:
        path = normal_path(name)
    except (ValueError, UnicodeEncodeError) as error:
        raise DesiredError("", f"{error}.", hint=_spelling(name), code="bad-host-path") from error
    if path == "/":
        raise DesiredError("", "'/' is the root directory, no file.", code="bad-host-path")
    if path.endswith(RESIDUE_SUFFIX):
        raise DesiredError(
            "",
            f"names that end in {RESIDUE_SUFFIX} are those of files that the agent is writing.",
            hint="choose another name",
            code="bad-host-path",
        )
    return path


def _spelling(name: str) -> str:
    """Return the hint with the path that a relative one, or one with `..`, seems to mean; empty where there is none."""
    if name.startswith("~"):
        # A shell's home directory: whose is not known.
        return ""
    try:
        meant = normal_path("/" + posixpath.normpath("/" + name).lstrip("/"))
    except (ValueError, UnicodeEncodeError):
        return ""
    return "" if meant == "/" else f"Write file:{meant}"


def parse_file(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredFile:
    """Read the attributes of one file.

    Raises:
        DesiredError: two contents, a mode, account or check that cannot be meant.
    """
    content = _content(attributes)
    return DesiredFile(
        normal_name(name),
        content,
        _mode(attributes.get("mode")),
        _account("owner", attributes.get("owner")),
        _account("group", attributes.get("group")),
        _validate(attributes.get("validate"), has_content=content is not None),
    )


def _content(attributes: Mapping[str, AttributeValue]) -> Content | None:
    declared = [name for name in CONTENT_FIELDS if attributes.get(name) is not None]
    if not declared:
        return None
    if len(declared) > 1:
        first, second = declared[:2]
        raise DesiredError(
            second,
            f"both {first} and {second} are declared, and a file has one content.",
            hint=f"take one of them out; `{first}: null` in a stronger layer takes back what a weaker one says",
            code="two-contents",
        )
    value = attributes[declared[0]]
    if isinstance(value, Content):
        return value
    if not isinstance(value, str) or declared[0] != "content":
        raise DesiredError(declared[0], f"{declared[0]} is no content.")
    try:
        return Content.from_bytes(value.encode())
    except UnicodeEncodeError as error:
        raise DesiredError(
            declared[0],
            "the text holds half of a surrogate pair, which has no bytes in UTF-8.",
            hint="put the bytes into a file of the repository and name it as source",
        ) from error


def _mode(value: AttributeValue) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _MODE.fullmatch(value):
        raise DesiredError(
            "mode",
            f"'{value}' is no mode: three or four octal digits in quotes.",
            hint='mode: "0644"',
            code="bad-mode",
        )
    return value.zfill(4)


def _account(attribute: str, value: AttributeValue) -> str | None:
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not _ACCOUNT.fullmatch(text):
        raise DesiredError(attribute, f"'{text}' is neither a name of an account nor a number.", code="bad-account")
    if not is_number(text):
        return text
    # int() refuses more than some thousand digits with an error of its own.
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(_LAST_ID)) or int(digits) > _LAST_ID:
        raise DesiredError(attribute, f"the greatest number of an account is {_LAST_ID}.", code="bad-account")
    return digits


def _validate(value: AttributeValue, *, has_content: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    words = tuple(word for word in value if isinstance(word, str)) if isinstance(value, (list, tuple)) else ()
    if not words or not words[0] or any("\0" in word for word in words):
        raise DesiredError("validate", "a program and its arguments are expected, as a list of strings.")
    if not any(_PLACEHOLDER in word for word in words[1:]):
        raise DesiredError(
            "validate",
            f"no argument holds {_PLACEHOLDER}, so the program would not see the new content.",
            hint=f'validate: [{words[0]}, "{_PLACEHOLDER}"]',
        )
    if not has_content:
        raise DesiredError("validate", "no content is declared, so there is nothing to check.")
    return words
