"""What a declaration of a unit file or drop-in means, and how it is refused."""

import pytest

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.model.plan import Operation
from datum.provider.contract import DesiredError
from datum_providers.service.desired import normal_name as normal_service_name
from datum_providers.shared.units import UnitName
from datum_providers.timer.desired import normal_name as normal_timer_name
from datum_providers.unit.desired import DesiredUnit, normal_name, parse_unit


@pytest.mark.parametrize(
    ("spelling", "normal", "path"),
    [
        ("nginx.service", "nginx.service", "/etc/systemd/system/nginx.service"),
        ("app@.service", "app@.service", "/etc/systemd/system/app@.service"),
        ("app@one.service", "app@one.service", "/etc/systemd/system/app@one.service"),
        ("srv-data.mount", "srv-data.mount", "/etc/systemd/system/srv-data.mount"),
        ("nginx.service/override", "nginx.service/override", "/etc/systemd/system/nginx.service.d/override.conf"),
        ("nginx.service/override.conf", "nginx.service/override", "/etc/systemd/system/nginx.service.d/override.conf"),
        ("app@.service/10-x", "app@.service/10-x", "/etc/systemd/system/app@.service.d/10-x.conf"),
        ("app-.service/all", "app-.service/all", "/etc/systemd/system/app-.service.d/all.conf"),
    ],
)
def test_names_have_one_normal_form_and_one_path(spelling: str, normal: str, path: str) -> None:
    assert normal_name(spelling) == normal
    assert parse_unit(normal, {}).path == path


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nginx", "Write unit:nginx.service"),
        ("/etc/systemd/system/nginx.service", ""),
        ("nginx.service.d/override.conf", "write unit:nginx.service/override"),
        ("nginx.service/", "write unit:nginx.service/override"),
        ("nginx.service/a/b", "write unit:nginx.service/override"),
        ("nginx.service/.a", "write unit:nginx.service/override"),
        ("nginx.service/a b", "write unit:nginx.service/override"),
        ("a b.service", ""),
        ("", ""),
    ],
)
def test_what_is_no_unit_file_is_refused_with_the_right_name(name: str, hint: str) -> None:
    with pytest.raises(DesiredError) as caught:
        normal_name(name)
    assert (caught.value.attribute, caught.value.code, caught.value.hint) == ("", "bad-unit-name", hint)


@pytest.mark.parametrize("reserved", ["datum-notify", "datum-lifeline"])
def test_names_of_the_agent_are_for_nobody_else(reserved: str) -> None:
    """Of whatever kind, with drop-ins and instances; by unit files, services and timers alike."""
    own = [f"{reserved}.service", f"{reserved}.timer", f"{reserved}@.service", f"{reserved}@a.service/override"]
    refused = [(normal_name, name) for name in (*own, "datum-.service/nice")]
    refused += [(normal_service_name, name) for name in (reserved, f"{reserved}.path", f"{reserved}@a")]
    for read, name in [*refused, (normal_timer_name, reserved)]:
        with pytest.raises(DesiredError) as caught:
            read(name)
        assert (caught.value.attribute, caught.value.code) == ("", "unit-reserved")
    assert normal_name(f"{reserved}-2.service/a") == f"{reserved}-2.service/a"
    assert normal_name("datum.service/nice") == "datum.service/nice"


@pytest.mark.parametrize("field", ["content", "source", "template"])
def test_each_field_of_content_may_be_one(field: str) -> None:
    content = Content.from_bytes(b"x", source="files/x")
    assert parse_unit("a.service", {field: content}).content == content


def test_everything_is_read() -> None:
    found = parse_unit(
        "a.service/b", {"parts": (Content.from_bytes(b"a"), Content.from_bytes(b"b")), "on_change": "reload"}
    )
    assert found == DesiredUnit(UnitName("a.service"), "b", Content.from_bytes(b"ab"), Operation.REFRESH_RELOAD)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [(None, "restart"), ("restart", "restart"), ("reload", "reload"), ("nothing", None)],
)
def test_a_change_means_a_restart_unless_it_says_otherwise(value: str | None, meaning: str | None) -> None:
    assert parse_unit("a.service", {"on_change": value}).on_change == meaning


@pytest.mark.parametrize(
    ("attributes", "attribute", "code"),
    [
        ({"content": "a", "source": Content.from_bytes(b"a")}, "source", "two-contents"),
        ({"content": "\ud800"}, "content", "bad-value"),
        ({"parts": ()}, "parts", "bad-value"),
        ({"on_change": "stop"}, "on_change", "bad-value"),
        ({"on_change": ["restart"]}, "on_change", "bad-value"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_field(
    attributes: dict[str, AttributeValue], attribute: str, code: str
) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_unit("a.service", attributes)
    assert (caught.value.attribute, caught.value.code) == (attribute, code)
