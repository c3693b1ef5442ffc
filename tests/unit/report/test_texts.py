"""Texts of the repository beside the changes that would write them."""

import pytest

from datum.model.content import blob_id
from datum.report.texts import TEXT_LIMIT, as_text, illustrate
from datum.testing.trees import MemoryTree
from tests.unit.report.samples import action, change, plan

DATA = b"from the repository\n"
TREE = MemoryTree({"files/a": DATA, "files/b": b"\0"})


def test_text_of_a_blob_is_filled_in() -> None:
    """Where the provider does not hold it."""
    made = plan(action("file:/a", *_update(change(after_blob=blob_id(DATA)))), action("file:/b"))
    shown = illustrate(made, TREE)
    assert shown.actions[0].changes[0].after_text == DATA.decode()
    assert shown.actions[1] is made.actions[1]
    assert shown == made


def _update(*changes: object) -> tuple:  # type: ignore[type-arg]  # operation and changes, as `action` takes them
    from datum.model.plan import Operation

    return (Operation.UPDATE, *changes)


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"after_blob": blob_id(DATA), "after_text": "already there\n"},
        {"after_blob": blob_id(DATA), "sensitive": True},
        {"after_blob": blob_id(b"not in the tree")},
        {"after_blob": blob_id(b"\0")},
    ],
)
def test_everything_else_stays_as_it_is(others: dict[str, object]) -> None:
    """Texts at hand, secrets, objects that are missing, what is no text."""
    before = change("content", **others)
    extra = change("content", after_blob=blob_id(DATA))
    shown = illustrate(plan(action("file:/a", *_update(before, extra))), TREE).actions[0].changes
    assert shown[0].after_text == before.after_text
    assert shown[1].after_text == DATA.decode()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"caf\xc3\xa9\n", "café\n"),
        (b"x" * TEXT_LIMIT, "x" * TEXT_LIMIT),
        (b"x" * (TEXT_LIMIT + 1), None),
        (b"a\0b", None),
        (b"\xff\xfe", None),
    ],
)
def test_as_text(data: bytes, text: str | None) -> None:
    """UTF-8 without NUL, up to the limit."""
    assert as_text(data) == text
