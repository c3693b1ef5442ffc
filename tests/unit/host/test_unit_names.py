"""Names of units are those that systemd takes."""

import pytest

from datum.host.unit_names import name_fault, template_of


@pytest.mark.parametrize(
    "name",
    ["a.service", "a@b.service", "-.mount", "dev-disk-by\\x2duuid-1.swap", "a.b.timer", "a@b@c.socket", "x:y_z.slice"],
)
def test_names_that_it_takes(name: str) -> None:
    assert name_fault(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        "a.",
        ".service",
        "a.conf",
        "a b.service",
        "a/b.service",
        "ä.service",
        "@x.service",
        f"{'a' * 248}.service",
    ],
)
def test_names_that_are_none(name: str) -> None:
    assert name_fault(name) == f"Unit name {name} is not valid."


def test_a_bare_template_is_no_unit() -> None:
    assert name_fault("a@.service") == "Unit name a@.service is missing the instance name."


def test_an_instance_has_a_template() -> None:
    assert template_of("getty@tty1.service") == "getty@.service"
    assert template_of("a.service") == template_of("a@.service") == template_of("@x.service") == ""
