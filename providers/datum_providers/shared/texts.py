"""The bytes of files: what of them people are shown. Pure."""

from typing import Final

from datum.model.content import Content
from datum.model.json import EMPTY, JsonObject, JsonValue
from datum.model.plan import Change
from datum_providers.shared.modes import is_for_all

TEXT_LIMIT: Final = 64 * 1024
"""Bytes of a text that is kept for the diff that people read."""


def text_of(data: bytes) -> str | None:
    """Return bytes as the text that a diff can show; None when they are none, or too many."""
    if len(data) > TEXT_LIMIT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def new_text(content: Content) -> str | None:
    """Return the text of a content whose bytes are at hand."""
    return None if content.inline is None else text_of(content.inline)


def text_detail(data: bytes) -> JsonObject:
    """Return bytes as the detail of an observation."""
    text = text_of(data)
    return EMPTY if text is None else {"text": text}


def content_change(content: Content, before: JsonValue, detail: JsonObject, *, mode: str | None) -> Change:
    """Return the change of a file's bytes.

    Args:
        content: the bytes that are wanted.
        before: `blob:<id>` of what stands there; None for nothing.
        detail: of the observation: `text`, and `private` where not everybody may read it.
        mode: the mode that is wanted; None: as it is, or 0644.
    """
    old = detail.get("text")
    return Change(
        "content",
        before,
        f"blob:{content.blob}",
        before_text=old if isinstance(old, str) else None,
        after_text=new_text(content),
        after_blob=content.blob if content.inline is None else "",
        is_private=detail.get("private") is True or not is_for_all(mode or "0644"),
    )
