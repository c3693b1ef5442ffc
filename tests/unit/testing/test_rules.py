"""The single rules of the conformance suite say what they are asked."""

import pytest

from datum.model.content import Content
from datum.model.manifest import AttributeValue, Late
from datum.model.observation import Absent, Cause, Present, Unobservable
from datum.testing.rules import agrees, is_json, plain_attributes, steps_for, visible
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider

UNSEEN = Unobservable(Cause.OTHER, "")


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", (1, "x"), [{"a": [None]}], {}])
def test_json_values_are_json(value: object) -> None:
    assert is_json(value)


@pytest.mark.parametrize(
    "value", [b"x", {1: "x"}, float("nan"), [float("inf")], {"a": object()}, {"x"}], ids=["b", "k", "n", "i", "o", "s"]
)
def test_other_values_are_not(value: object) -> None:
    assert not is_json(value)


def test_contents_and_late_values_are_not_for_the_schema() -> None:
    attributes: dict[str, AttributeValue] = {"a": 1, "b": Content("0" * 40), "c": Late("${machine.cpus}")}
    assert plain_attributes(attributes) == {"a": 1}


@pytest.mark.parametrize(
    ("found", "clean", "agree"),
    [
        (UNSEEN, Present({}), True),
        (Present({}), UNSEEN, False),
        (Absent(), Present({}), False),
        (Present({"a": 1}), Present({"a": 1}), True),
        (Present({"a": UNSEEN}), Present({"a": 1}), True),
        (Present({"a": 2}), Present({"a": 1}), False),
        (Present({}), Present({"a": 1}), False),
    ],
)
def test_a_disturbed_look_may_know_less_and_never_something_else(
    found: Present | Absent | Unobservable, clean: Present | Absent | Unobservable, *, agree: bool
) -> None:
    assert agrees(found, clean) is agree


def test_nothing_follows_from_what_was_not_seen() -> None:
    assert steps_for(FileProvider(), DesiredFile("/etc/motd"), UNSEEN) == ()
    with pytest.raises(AssertionError):
        visible(UNSEEN, "case")
