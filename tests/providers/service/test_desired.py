"""What a declaration of a service means, and how it is refused."""

from collections.abc import Mapping

import pytest

from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.service.desired import DesiredService, normal_name, parse_service
from datum_providers.shared.units import UnitName


def refusal(attributes: Mapping[str, AttributeValue], name: str = "nginx") -> DesiredError:
    with pytest.raises(DesiredError) as caught:
        parse_service(name, attributes)
    assert caught.value.detail.endswith(".")
    return caught.value


@pytest.mark.parametrize(
    ("spelling", "normal", "full"),
    [
        ("nginx", "nginx", "nginx.service"),
        ("nginx.service", "nginx", "nginx.service"),
        ("ssh.socket", "ssh.socket", "ssh.socket"),
        ("getty@tty1", "getty@tty1", "getty@tty1.service"),
        ("getty@tty1.service", "getty@tty1", "getty@tty1.service"),
        ("php8.2-fpm", "php8.2-fpm", "php8.2-fpm.service"),
        ("srv-data\\x2d1.mount", "srv-data\\x2d1.mount", "srv-data\\x2d1.mount"),
        ("multi-user.target", "multi-user.target", "multi-user.target"),
        # Without the suffix it would be the name of a socket.
        ("odd.socket.service", "odd.socket.service", "odd.socket.service"),
    ],
)
def test_names_have_one_normal_form(spelling: str, normal: str, full: str) -> None:
    assert normal_name(spelling) == normal
    assert normal_name(normal) == normal
    assert parse_service(normal, {}).unit == UnitName(full)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "no name of a unit"),
        ("a b", "no name of a unit"),
        ("a/b", "no name of a unit"),
        ("@tty1", "no name of a unit"),
        ("a@b@c", "no name of a unit"),
        ("x" * 250, "no name of a unit"),
        ("é", "no name of a unit"),
        ("getty@", "is a template"),
        ("getty@.service", "is a template"),
        ("dev-sda.device", "comes and goes by itself"),
        ("session-1.scope", "comes and goes by itself"),
    ],
)
def test_what_is_no_unit_that_could_run_is_refused(name: str, words: str) -> None:
    with pytest.raises(DesiredError, match=words) as caught:
        normal_name(name)
    assert (caught.value.attribute, caught.value.code) == ("", "bad-unit-name")


def test_a_template_comes_with_how_its_instance_is_named() -> None:
    with pytest.raises(DesiredError) as caught:
        normal_name("getty@")
    assert caught.value.hint == "name the instance: service:getty@NAME"


def test_everything_is_read() -> None:
    attributes: dict[str, AttributeValue] = {
        "running": True,
        "enabled": False,
        "restart_on": ("file:/b", "file:/a", "file:/b"),
        "reload_on": ("file:/c",),
        "settle": 10,
    }
    found = parse_service("nginx", attributes)
    files = [ResourceId("file", f"/{name}") for name in "abc"]
    assert found == DesiredService(UnitName("nginx.service"), True, False, (files[0], files[1]), (files[2],), 10.0)


def test_null_is_as_if_never_said() -> None:
    found = parse_service("nginx", dict.fromkeys(["running", "enabled", "restart_on", "reload_on", "settle"]))
    assert found == parse_service("nginx", {})
    assert found.is_bare


@pytest.mark.parametrize(
    ("attributes", "attribute"),
    [
        ({"running": "yes"}, "running"),
        ({"enabled": "static"}, "enabled"),
        ({"enabled": 1}, "enabled"),
        ({"restart_on": "file:/a"}, "restart_on"),
        ({"reload_on": ["/a"]}, "reload_on"),
        ({"settle": -1}, "settle"),
        ({"settle": 301}, "settle"),
        ({"settle": True}, "settle"),
        ({"settle": float("nan")}, "settle"),
        ({"running": True, "enabled": "masked"}, "running"),
        ({"restart_on": ["service:nginx"]}, "restart_on"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_field(attributes: dict[str, AttributeValue], attribute: str) -> None:
    assert refusal(attributes).attribute == attribute


@pytest.mark.parametrize(
    ("name", "attributes", "attribute"),
    [
        ("datum", {"running": True}, "running"),
        ("datum", {"running": False}, "running"),
        ("datum", {"restart_on": ["file:/a"]}, "restart_on"),
        ("datum.timer", {"reload_on": ["file:/a"]}, "reload_on"),
    ],
)
def test_the_agent_does_not_restart_or_stop_itself(
    name: str, attributes: dict[str, AttributeValue], attribute: str
) -> None:
    error = refusal(attributes, name)
    assert error.attribute == attribute
    assert "the agent" in error.detail


def test_the_timer_of_the_agent_can_be_declared() -> None:
    assert parse_service("datum.timer", {"running": True, "enabled": True}).running


def test_evidence_is_acted_on_by_a_restart_or_not_at_all() -> None:
    assert parse_service("nginx", {"when_stale": "restart"}).acts_on_stale
    assert not parse_service("nginx", {}).acts_on_stale
    assert parse_service("nginx", {"when_stale": "restart"}) != parse_service("nginx", {})
    error = refusal({"when_stale": "reload"})
    assert error.attribute == "when_stale"
    assert "'reload' is not restart" in error.detail
