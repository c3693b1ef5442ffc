"""Attributes in a plain form."""

import json

import pytest

from datum.model.attributes import plain_attribute
from datum.model.content import Content, Folder, FolderEntry
from datum.model.json import JsonValue, freeze
from datum.model.manifest import AttributeValue, Late
from datum.model.source import EntryKind

_BLOB = "ab" * 20


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Content(_BLOB), {"blob": _BLOB}),
        (Content(_BLOB, inline=b"x", source="files/a"), {"source": "files/a", "blob": _BLOB}),
        (
            Folder(_BLOB, "files/site", (FolderEntry("a", EntryKind.FILE, _BLOB),)),
            {"source": "files/site", "tree": _BLOB, "count": 1},
        ),
        (Late("${machine.cpus}"), {"late": "${machine.cpus}"}),
        (Late("sha256:00", template="t"), {"late": "t"}),
        ((Content(_BLOB), Late("${machine.arch}")), [{"blob": _BLOB}, {"late": "${machine.arch}"}]),
        (freeze({"a": [1, {"b": None}]}), {"a": [1, {"b": None}]}),
        (("x", ("y",)), ["x", ["y"]]),
        ("text", "text"),
        (True, True),
    ],
)
def test_attributes_are_plain(value: AttributeValue, plain: JsonValue) -> None:
    assert plain_attribute(value) == plain
    assert json.loads(json.dumps(plain_attribute(value))) == plain
