"""What a declaration of a file means, in normal form. Pure."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final

from attrs import field, frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.shared.accounts import Owners
from datum_providers.shared.modes import parse_mode
from datum_providers.shared.names import normal_name as normal_path_name

_PLACEHOLDER: Final = "{path}"


@frozen
class DesiredFile:
    """A regular file; what is None is not enforced."""

    path: str
    content: Content | None = None
    # Four octal digits.
    mode: str | None = None
    # As `Owners`.
    owner: str | None = None
    group: str | None = None
    # Program and arguments; `{path}` stands for the path.
    validate: tuple[str, ...] = ()
    # The content is for a file that is not there yet; of one that is there it is not looked at.
    is_seed: bool = False
    # Its directory is declared as exclusive. Known once the graph is; says nothing of the file itself.
    is_in_exclusive: bool = field(default=False, eq=False)
    # `owner` and `group` together: who shall own it.
    owners: Owners = field(init=False, eq=False, repr=False)

    @owners.default
    def _owners(self) -> Owners:
        return Owners(self.owner, self.group)

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at, so that it can be adopted."""
        return self.content is None and self.mode is None and self.owners.is_silent

    @property
    def enforced_content(self) -> Content | None:
        """The bytes that a file which is there shall have."""
        return None if self.is_seed else self.content


def normal_name(name: str) -> str:
    """Return the normal form of a path.

    Raises:
        DesiredError: no path on which a file can be kept.
    """
    return normal_path_name(name, "file")


def parse_file(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredFile:
    """Read the attributes of one file.

    Raises:
        DesiredError: two contents, a mode, account or check that cannot be meant.
    """
    content = _content(attributes)
    owners = Owners.parse(attributes)
    return DesiredFile(
        normal_name(name),
        content,
        parse_mode(attributes.get("mode")),
        owners.owner,
        owners.group,
        _validate(attributes.get("validate"), has_content=content is not None),
        is_seed=_seed(attributes.get("seed"), has_content=content is not None),
    )


def _content(attributes: Mapping[str, AttributeValue]) -> Content | None:
    declared = [name for name in _READERS if attributes.get(name) is not None]
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
    return _READERS[declared[0]](declared[0], attributes[declared[0]])


def _text(name: str, value: AttributeValue) -> Content:
    if isinstance(value, Content):
        return value
    if not isinstance(value, str):
        raise DesiredError(name, f"{name} is no content.")
    try:
        return Content.from_bytes(value.encode())
    except UnicodeEncodeError as error:
        raise DesiredError(
            name,
            "the text holds half of a surrogate pair, which has no bytes in UTF-8.",
            hint="declare the bytes as base64, or put them into a file of the repository and name it as source",
        ) from error


def _of_repository(name: str, value: AttributeValue) -> Content:
    if not isinstance(value, Content):
        raise DesiredError(name, f"{name} is no content.")
    return value


def _base64(name: str, value: AttributeValue) -> Content:
    """Read RFC 4648, section 4; white space is for people."""
    if not isinstance(value, str):
        raise DesiredError(name, f"{name} is no text.")
    try:
        return Content.from_bytes(base64.b64decode("".join(value.split()), validate=True))
    except (binascii.Error, ValueError) as error:
        raise DesiredError(
            name,
            f"the text is no base64: {error}.",
            hint="write what `base64 FILE` prints; a text that shall stand in the file as it is, is content",
        ) from error


def _parts(name: str, value: AttributeValue) -> Content:
    """Join the pieces, byte for byte: the fleet hands over each of them with its bytes."""
    pieces = value if isinstance(value, tuple) else ()
    data: list[bytes] = []
    algorithms: list[str] = []
    for piece in pieces:
        if not isinstance(piece, Content) or piece.inline is None:
            raise DesiredError(name, "a part has no bytes at hand.")
        data.append(piece.inline)
        algorithms.append(piece.algorithm)
    if not data:
        raise DesiredError(name, "no part is declared.", hint='an empty file is content: ""')
    return Content.from_bytes(b"".join(data), algorithm=algorithms[0])


# By field; at most one of them is declared.
_READERS: Final[Mapping[str, Callable[[str, AttributeValue], Content]]] = {
    "content": _text,
    "source": _of_repository,
    "template": _of_repository,
    "base64": _base64,
    "parts": _parts,
    "assemble": _of_repository,
}

CONTENT_FIELDS: Final = tuple(_READERS)
"""The fields that say what bytes a file has."""


def _seed(value: AttributeValue, *, has_content: bool) -> bool:
    if value is None or value is False:
        return False
    if value is not True:
        raise DesiredError("seed", "seed is true or false.")
    if not has_content:
        raise DesiredError("seed", "no content is declared, so there is nothing to begin with.")
    return True


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
