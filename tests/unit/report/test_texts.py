"""Texts of the repository beside the changes that would write them."""

from typing import BinaryIO

import pytest
from attrs import evolve

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import FleetError
from datum.model.content import blob_id
from datum.model.graph import Node, ResourceGraph
from datum.model.provenance import FieldOrigin, Say
from datum.report.texts import DIFF_LIMIT, TEXT_LIMIT, TOLD_LIMIT, as_text, illustrate
from datum.testing.trees import MemoryTree
from tests.unit.fakes import declare
from tests.unit.report.samples import action, change, plan

DATA = b"from the repository\n"
NO_GRAPH = ResourceGraph({}, (), ())
TREE = MemoryTree({"files/a": DATA, "files/b": b"\0"})


def test_text_of_a_blob_is_filled_in() -> None:
    """Where the provider does not hold it."""
    made = plan(action("file:/a", *_update(change(after_blob=blob_id(DATA)))), action("file:/b"))
    shown = illustrate(made, TREE, NO_GRAPH)
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
    shown = illustrate(plan(action("file:/a", *_update(before, extra))), TREE, NO_GRAPH).actions[0].changes
    assert shown[0].after_text == before.after_text
    assert shown[1].after_text == DATA.decode()


def test_what_is_new_in_a_folder_is_named_and_not_read() -> None:
    """Ten thousand new files are no diff."""
    new = change("./a", None, "blob:x 0644", after_blob=blob_id(DATA))
    old = change("./b", "blob:y 0644", "blob:x 0644", after_blob=blob_id(DATA))
    shown = illustrate(plan(action("tree:/a", *_update(new, old))), TREE, NO_GRAPH).actions[0].changes
    assert [one.after_text for one in shown] == [None, DATA.decode()]


def test_of_many_changes_the_first_are_read() -> None:
    many = [change(f"./{index:03}", "a", "b", after_blob=blob_id(DATA)) for index in range(DIFF_LIMIT + 5)]
    shown = illustrate(plan(action("tree:/a", *_update(*many))), TREE, NO_GRAPH).actions[0].changes
    assert [one.name for one in shown] == [one.name for one in many]
    assert [one.after_text is not None for one in shown] == [True] * DIFF_LIMIT + [False] * 5


def test_of_many_resources_the_first_are_told() -> None:
    many = [action(f"file:/{index:04}", *_update(change(after_blob=blob_id(DATA)))) for index in range(TOLD_LIMIT + 5)]
    shown = illustrate(plan(action("file:/", *_update(change())), *many), TREE, NO_GRAPH).actions[1:]
    assert [one.resource for one in shown] == [one.resource for one in many]
    assert [one.changes[0].after_text is not None for one in shown] == [True] * TOLD_LIMIT + [False] * 5


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


class Refusing(MemoryTree):
    """A tree whose one file is a pointer of Git LFS."""

    def open_blob(self, blob: str) -> BinaryIO:
        if blob == blob_id(DATA):
            return super().open_blob(blob)
        raise FleetError(Diagnostic(code="path-is-lfs-pointer", summary="There is no file.", detail=blob))


@pytest.mark.parametrize("before", [0, TOLD_LIMIT])
@pytest.mark.parametrize("names_it", [True, False])
def test_a_pointer_to_large_file_storage_is_refused_with_its_place(names_it: bool, before: int) -> None:
    """Its bytes would reach the host as a file's content (design 3.1)."""
    resource = declare("file:/a", 3)
    named = SourceLocation("hosts/a.yaml", 4, 5)
    if names_it:
        resource = evolve(resource, origins={"source": FieldOrigin(Say("base", named, "files/large"))})
    graph = ResourceGraph({resource.id: Node(resource, None, ())}, (), ())
    others = [action(f"file:/b{index}", *_update(change(after_blob=blob_id(DATA)))) for index in range(before)]
    made = plan(*others, action("file:/a", *_update(change(after_blob="0" * 40))))
    with pytest.raises(FleetError) as caught:
        illustrate(made, Refusing({"files/a": DATA}), graph)
    ((_, place),) = caught.value.diagnostics[0].related
    assert place == (named if names_it else resource.location)
