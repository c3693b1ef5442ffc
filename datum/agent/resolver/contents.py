"""Contents and folders from an answer: what names bytes of the repository, or holds some. Pure."""

import itertools
import re
from typing import Any, Final

from datum.agent.resolver.strict import (
    MalformedError,
    listed,
    mapping,
    matching,
    one_of,
    plain,
    row_of,
    text,
)
from datum.model.content import Content, Folder, FolderEntry
from datum.model.manifest import AttributeValue, Late
from datum.model.source import EntryKind
from datum.provider.paths import PATH_MAX

OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""The id of an object of git."""

_KINDS: Final = frozenset({EntryKind.FILE, EntryKind.EXECUTABLE, EntryKind.SYMLINK})


def content_from(value: Any) -> AttributeValue:
    """Return a value that JSON has no form for: a content, a late value, a folder, or parts.

    Raises:
        MalformedError: it is none.
    """
    kind, *rest = listed(value) or [None]
    if kind == "parts":
        return tuple(_piece(one) for one in rest)
    if kind == "folder":
        return _folder(*row_of(rest, 3))
    return _piece(value)


def _piece(value: Any) -> Content | Late:
    match value:
        case ["blob", blob, source]:
            return Content(matching(blob, OBJECT_ID), source=text(source))
        case ["bytes", data, source, "sha1" | "sha256" as algorithm]:
            return Content.from_bytes(_bytes(data), source=text(source), algorithm=algorithm)
        case ["late", words, scope, template, bool() as is_content]:
            return Late(text(words), mapping(scope, plain), text(template), is_content)
        case _:
            raise MalformedError("it is no content")


def _bytes(value: Any) -> bytes:
    try:
        return text(value).encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise MalformedError("it is no text of bytes") from error


def _folder(tree: Any, source: Any, entries: Any) -> Folder:
    found = tuple(map(_entry, listed(entries)))
    paths = [one.path for one in found]
    if any(one >= other for one, other in itertools.pairwise(paths)):
        raise MalformedError("the names of a folder are in no order")
    return Folder(matching(tree, OBJECT_ID), text(source), found)


def _entry(value: Any) -> FolderEntry:
    path, kind, blob, link = row_of(value, 4)
    names = text(path).split("/")
    if len(path) > PATH_MAX or "\0" in path or not {"", ".", ".."}.isdisjoint(names):
        raise MalformedError("a folder has a name that no file has")
    found = FolderEntry(path, one_of(kind, EntryKind), matching(blob, OBJECT_ID), text(link))
    is_link = found.kind is EntryKind.SYMLINK
    if found.kind not in _KINDS or is_link != bool(link) or "\0" in link or len(link) > PATH_MAX:
        raise MalformedError("a folder has an entry that it cannot have")
    return found
