"""What a declaration means, and how it is refused."""

import pytest

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.link.desired import DesiredLink, end_of, normal_name, parse_link
from datum_providers.shared.accounts import Owners


def test_a_path_that_is_none_comes_with_the_one_it_means() -> None:
    with pytest.raises(DesiredError) as caught:
        normal_name("etc/app")
    assert caught.value.hint == "Write link:/etc/app"


def test_everything_is_read_and_the_target_stays_as_it_is_written() -> None:
    attributes: dict[str, AttributeValue] = {"target": "../srv//app/.", "owner": "app", "group": 7}
    assert parse_link("/etc/app", attributes) == DesiredLink("/etc/app", "../srv//app/.", Owners("app", "7"))


def test_null_is_as_if_never_said() -> None:
    found = parse_link("/etc/app", {"target": None, "owner": None, "group": None})
    assert found == DesiredLink("/etc/app")
    assert found.is_bare
    assert found.end is None


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        ("a" * 4096, "4095"),
        ("é" * 2048, "4095"),
        (7, "a text"),
        ("/etc/app", "itself"),
        ("app", "itself"),
        ("./app", "itself"),
        ("../etc/app/", "itself"),
        ("/etc/../etc/app", "itself"),
        ("/etc/app/sub", "below itself"),
        ("app/sub", "below itself"),
    ],
)
def test_what_is_no_target_is_refused(target: AttributeValue, words: str) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_link("/etc/app", {"target": target})
    assert caught.value.attribute == "target"
    assert words in caught.value.detail
    assert caught.value.detail.endswith(".")


@pytest.mark.parametrize("target", ["a" * 4095, "/etc/apps", "/", "..", "/etc", "../../../..", "~/x", "-x", " "])
def test_whatever_else_a_link_can_hold_is_a_target(target: str) -> None:
    assert parse_link("/etc/app", {"target": target}).target == target


@pytest.mark.parametrize(
    ("target", "end"),
    [
        ("/srv/app", "/srv/app"),
        ("//srv/app/", "/srv/app"),
        ("x", "/etc/x"),
        ("./x/../y", "/etc/y"),
        ("../srv/app", "/srv/app"),
        ("../../../..", "/"),
        ("x" * 256, None),
    ],
)
def test_the_path_that_a_target_names_is_worked_out_from_the_texts(target: str, end: str | None) -> None:
    assert end_of("/etc/app", target) == end


@pytest.mark.parametrize(("path", "target"), [("/var/run", "/run"), ("/var/run", "../run"), ("/lib", "usr/lib")])
def test_a_link_that_every_system_has_may_be_declared_as_it_is(path: str, target: str) -> None:
    assert parse_link(path, {"target": target}).target == target


@pytest.mark.parametrize(("path", "target"), [("/var/run", "/srv/run"), ("/lib", "lib2"), ("/bin", "/bin2")])
def test_a_link_that_every_system_has_is_not_led_astray(path: str, target: str) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_link(path, {"target": target})
    assert "every system" in caught.value.detail
    assert caught.value.hint.startswith("target: /")
