"""The fields that say what bytes something has: read, at most one of them declared. Pure."""

import base64
import binascii
from collections.abc import Callable, Collection, Mapping
from typing import Final

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError


def parse_content(
    attributes: Mapping[str, AttributeValue], fields: Collection[str], *, what: str = "file"
) -> Content | None:
    """Return the bytes that are declared; None for none.

    Args:
        attributes: of the resource.
        fields: names of the type's fields of content, in the order in which they are named to people.
        what: a word for the resource.

    Raises:
        DesiredError: two contents, or one that cannot be meant.
    """
    declared = [name for name in fields if attributes.get(name) is not None]
    if not declared:
        return None
    if len(declared) > 1:
        first, second = declared[:2]
        raise DesiredError(
            second,
            f"both {first} and {second} are declared, and a {what} has one content.",
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


_READERS: Final[Mapping[str, Callable[[str, AttributeValue], Content]]] = {
    "content": _text,
    "source": _of_repository,
    "template": _of_repository,
    "base64": _base64,
    "parts": _parts,
    "assemble": _of_repository,
}
