"""What a declaration means, and how it is refused."""

from collections.abc import Mapping

import pytest

from datum.model.graph import Target
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.directory.desired import DesiredDirectory, normal_name, parse_directory
from datum_providers.directory.provider import DirectoryProvider
from datum_providers.shared.accounts import Owners


def refusal(attributes: Mapping[str, AttributeValue], name: str = "/etc/app") -> DesiredError:
    with pytest.raises(DesiredError) as caught:
        parse_directory(name, attributes)
    assert caught.value.detail.endswith(".")
    return caught.value


def test_a_path_that_is_none_comes_with_the_one_it_means() -> None:
    with pytest.raises(DesiredError) as caught:
        normal_name("etc/app")
    assert caught.value.hint == "Write directory:/etc/app"
    assert normal_name("/etc//app/") == "/etc/app"


def test_everything_is_read() -> None:
    attributes: dict[str, AttributeValue] = {
        "mode": "750",
        "owner": "app",
        "group": 7,
        "exclusive": True,
        "recurse": True,
        "keep": ("b*", "a", "b*"),
        "recursive": ("group", "owner"),
    }
    assert parse_directory("/etc/app", attributes) == DesiredDirectory(
        "/etc/app", "0750", Owners("app", "7"), True, True, ("a", "b*"), ("owner", "group")
    )


def test_null_is_as_if_never_said() -> None:
    fields = ["mode", "owner", "group", "exclusive", "recurse", "keep", "recursive"]
    found = parse_directory("/etc/app", dict.fromkeys(fields))
    assert found == DesiredDirectory("/etc/app")
    assert found.is_bare
    assert not parse_directory("/etc/app", {"exclusive": True}).is_bare


@pytest.mark.parametrize(
    ("attributes", "attribute", "words"),
    [
        ({"mode": 755}, "mode", "no mode"),
        ({"owner": "a b"}, "owner", "neither"),
        ({"exclusive": "yes"}, "exclusive", "true or false"),
        ({"exclusive": True, "recurse": 1}, "recurse", "true or false"),
        ({"recurse": True}, "recurse", "not exclusive"),
        ({"keep": ("a",)}, "keep", "not exclusive"),
        ({"exclusive": False, "keep": ("a",)}, "keep", "not exclusive"),
        ({"exclusive": True, "keep": "a"}, "keep", "list"),
        ({"exclusive": True, "keep": (1,)}, "keep", "list"),
        ({"exclusive": True, "keep": ("/a",)}, "keep", "relative"),
        ({"exclusive": True, "keep": ("[a",)}, "keep", "not closed"),
        ({"recursive": ("mode",)}, "recursive", "'mode'"),
        ({"owner": "app", "recursive": ("owner", "group")}, "recursive", "no group"),
        ({"group": "app", "recursive": ("owner",)}, "recursive", "no owner"),
    ],
)
def test_what_cannot_be_meant_is_refused(attributes: dict[str, AttributeValue], attribute: str, words: str) -> None:
    error = refusal(attributes)
    assert error.attribute == attribute
    assert words in error.detail


@pytest.mark.parametrize(
    ("attributes", "group"),
    [
        ({"mode": "2775", "group": "web"}, "web"),
        ({"mode": "0770", "group": 33}, "33"),
        ({"mode": "0755", "group": "web"}, ""),
        ({"mode": "0775"}, ""),
        ({"group": "web"}, ""),
    ],
)
def test_a_directory_is_shared_with_the_group_that_its_mode_lets_write(
    attributes: dict[str, AttributeValue], group: str
) -> None:
    (target,) = DirectoryProvider().targets(parse_directory("/srv/app", attributes))
    assert target == Target("path", "/srv/app")
    assert (target.shared_with, target.exclusive, target.leaf) == (group, False, False)


def test_an_exclusive_directory_says_so_to_the_graph() -> None:
    (target,) = DirectoryProvider().targets(parse_directory("/srv/app", {"exclusive": True}))
    assert target.exclusive
