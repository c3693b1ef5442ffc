"""What can be declared of a package, and what is said of the rest."""

from typing import Any

import pytest

from datum.provider.contract import DesiredError
from datum_providers.package.desired import DesiredPackage, normal_name, parse_package
from datum_providers.package.versions import Clause, Wanted


@pytest.mark.parametrize(
    "name", ["nginx", "libstdc++6", "0ad", "python3.11", "libc6:i386", "gcc-12-base:kfreebsd-amd64"]
)
def test_names_are_those_of_debian(name: str) -> None:
    assert normal_name(name) == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Nginx", "package:nginx"),
        ("nginx=1.2", "package:nginx; a version is a field"),
        ("nginx/bookworm", "package:nginx"),
        ("nginx:all", "package:nginx"),
        ("nginx:any", "package:nginx"),
        ("a", ""),
        ("nginx*", ""),
        ("-nginx", ""),
        ("nginx:", ""),
        ("nginx:i386:amd64", ""),
        ("nginx\n", "package:nginx"),
        ("ngınx", ""),
        ("", ""),
    ],
)
def test_names_that_are_none(name: str, hint: str) -> None:
    with pytest.raises(DesiredError) as caught:
        normal_name(name)
    assert (caught.value.attribute, caught.value.code) == ("", "bad-resource-name")
    assert caught.value.hint.removeprefix("Write ") == hint


def test_what_is_not_declared_is_not_enforced() -> None:
    wanted = parse_package("nginx", {})
    assert wanted == DesiredPackage("nginx")
    assert (wanted.version, wanted.hold, wanted.manual, wanted.recommends, wanted.purge) == (
        None,
        None,
        None,
        False,
        False,
    )


def test_everything_can_be_declared() -> None:
    fields: dict[str, Any] = {"version": ">=1.2,<2", "hold": True, "manual": False, "recommends": True}
    bounds = Wanted(clauses=(Clause(">=", "1.2"), Clause("<", "2")))
    wanted = parse_package("libc6:i386", fields)
    assert wanted == DesiredPackage("libc6:i386", bounds, hold=True, manual=False, recommends=True)
    assert (wanted.package, wanted.architecture) == ("libc6", "i386")
    assert str(bounds) == ">=1.2, <2"


@pytest.mark.parametrize("version", ["latest", "Latest", " latest "])
def test_the_latest_version_is_refused_with_the_reason(version: str) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_package("nginx", {"version": version})
    assert "depends on the time of the pass" in caught.value.detail
    assert ">=1.2" in caught.value.hint


@pytest.mark.parametrize(
    ("fields", "attribute"),
    [
        ({"version": "present"}, "version"),
        ({"version": 1.1}, "version"),
        ({"hold": "yes"}, "hold"),
        ({"purge": True, "version": "1"}, "purge"),
        ({"purge": True, "hold": False}, "purge"),
        ({"purge": True, "recommends": True}, "purge"),
    ],
)
def test_what_cannot_be_meant(fields: dict[str, Any], attribute: str) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_package("nginx", fields)
    assert caught.value.attribute == attribute
    assert caught.value.detail.endswith(".")
    assert caught.value.hint


def test_purge_may_be_denied() -> None:
    assert parse_package("nginx", {"purge": False, "version": "1"}) == DesiredPackage("nginx", Wanted("1"))
