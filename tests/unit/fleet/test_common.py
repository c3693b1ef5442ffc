"""Fields that every resource has."""

import pytest

from datum.fleet.common import COMMON_SHAPES, CONTROL_FIELDS, LATER_FIELDS, REFERENCE_FIELDS, wrong_common
from datum.model.json import JsonValue


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("absent", True),
        ("protect", False),
        ("audit", True),
        ("note", ""),
        ("moved", "thing:a"),
        ("on_removal", "keep"),
        ("allow", ()),
        ("allow", ("data_loss", "access_loss", "outage")),
        ("unmanaged", ("text",)),
    ],
)
def test_right_values(name: str, value: JsonValue) -> None:
    assert wrong_common(name, value, ["text"]) is None


@pytest.mark.parametrize(
    ("name", "value", "code", "hint"),
    [
        ("absent", 1, "wrong-type", ""),
        ("note", 1, "wrong-type", ""),
        ("on_removal", 1, "wrong-type", ""),
        ("on_removal", "deleet", "bad-value", "Did you mean 'delete'?"),
        ("allow", "outage", "wrong-type", "Write allow: [outage]"),
        ("allow", {"outage": 1}, "wrong-type", "Write a list."),
        ("allow", ("outage", "outtage"), "bad-value", "Did you mean 'outage'?"),
        ("unmanaged", (1,), "bad-value", "Only what is compared with the host by itself can be left unmanaged."),
        ("unmanaged", ("txt",), "bad-value", "Did you mean 'text'?"),
    ],
)
def test_wrong_values(name: str, value: JsonValue, code: str, hint: str) -> None:
    found = wrong_common(name, value, ["text"])
    assert found is not None
    assert (found[0], found[2]) == (code, hint)


def test_no_field_is_of_two_kinds() -> None:
    assert not CONTROL_FIELDS & set(COMMON_SHAPES)
    assert not set(LATER_FIELDS) & (CONTROL_FIELDS | set(COMMON_SHAPES))
    assert {"requires", "after", "while_stopped"} == set(REFERENCE_FIELDS) & set(COMMON_SHAPES)
