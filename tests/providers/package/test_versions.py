"""Versions are compared as dpkg compares them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum_providers.package.versions import LONGEST, complaint_of, key_of, parse_wanted

# From Debian Policy 5.6.12 and deb-version(7): each is older than the next.
ASCENDING = (
    "0~~", "0~~a", "0~", "0", "0a", "0+", "0.1~rc1-1", "0.1-1", "0.9", "0.9.1", "0.10~", "0.10", "1.0~beta1~svn1245",
    "1.0~beta1", "1.0", "1.0-0+deb12u1", "1.0-0.1", "1.0-1~bpo12+1", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0-2", "1.0-10",
    "1.0a", "1.0+git20200101", "1.0.0", "2~rc1", "2", "2.0~rc1", "10", "1:0~", "1:0.1", "2:0",
)  # fmt: skip
EQUAL = (("1.0", "0:1.0"), ("1.0", "1.0-0"), ("1.0", "1.00"), ("1.", "1.0"), ("01", "1"))

versions = st.text("0123456789aZ.+~-:", max_size=12)


def by_characters(one: str, other: str) -> int:
    """Compare two parts as dpkg's `verrevcmp` does (lib/dpkg/version.c), step by step."""

    def order(text: str) -> int:
        if not text or text[0].isdigit():
            return 0
        if text[0].isalpha():
            return ord(text[0])
        return -1 if text[0] == "~" else ord(text[0]) + 256

    while one or other:
        while (one and not one[0].isdigit()) or (other and not other[0].isdigit()):
            if order(one) != order(other):
                return order(one) - order(other)
            one, other = one[1:], other[1:]
        one, other = one.lstrip("0"), other.lstrip("0")
        first = 0
        while one and one[0].isdigit() and other and other[0].isdigit():
            first = first or ord(one[0]) - ord(other[0])
            one, other = one[1:], other[1:]
        if one and one[0].isdigit():
            return 1
        if other and other[0].isdigit():
            return -1
        if first:
            return first
    return 0


def split(version: str) -> tuple[int, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    return (int(epoch), upstream, revision) if dash else (int(epoch), rest, "")


def as_dpkg_does(one: str, other: str) -> int:
    (epoch, *parts), (epoch_, *parts_) = split(one), split(other)
    found = [epoch - epoch_, *(by_characters(str(part), str(part_)) for part, part_ in zip(parts, parts_, strict=True))]
    return next((each for each in found if each), 0)


def test_versions_stand_in_the_order_of_the_policy() -> None:
    keys = [key_of(version) for version in ASCENDING]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_versions_that_are_written_otherwise_are_equal(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)


@given(versions, versions)
def test_any_two_texts_compare_as_dpkg_compares_them(one: str, other: str) -> None:
    sign = as_dpkg_does(one, other)
    assert (key_of(one) > key_of(other)) is (sign > 0)
    assert (key_of(one) == key_of(other)) is (sign == 0)


@given(versions, versions, versions)
def test_the_order_is_one(one: str, two: str, three: str) -> None:
    ordered = sorted((one, two, three), key=key_of)
    assert as_dpkg_does(ordered[0], ordered[1]) <= 0
    assert as_dpkg_does(ordered[0], ordered[2]) <= 0


def test_no_version_is_too_long_to_be_compared() -> None:
    assert key_of("1" * 10_000) > key_of("2")


@pytest.mark.parametrize(
    "text",
    ["1.0-1", "1:2.3~rc1+dfsg-4+deb12u1", "20230101", "1.2-3-4", "1:1:1-1"],
)
def test_versions_that_can_be_declared(text: str) -> None:
    assert complaint_of(text) == ""
    assert str(parse_wanted(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "9" * (LONGEST + 1), "", " ", "v1.0", "1.0/stable", "1.*", "1.0 1", "1_0", "=1.0", "==1", "1.0-", "-1", "a:1",
        "99999999999:1", "1-1:1", ">=", ">=v1", ">= 1,", "1.0, 2.0", ">=1, 2", "<<2", ">>1", "=>1", ">=1 <2", "~1",
    ],
)  # fmt: skip
def test_versions_that_cannot(text: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        parse_wanted(text)


@pytest.mark.parametrize("text", [">=2, <1", ">1, <1", ">=1, <1", ">1, <=1", "<1.0, >=1.0-0"])
def test_bounds_between_which_nothing_lies(text: str) -> None:
    with pytest.raises(ValueError, match="no version is both"):
        parse_wanted(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=1.2", ("1.2", "1.2-1", "1.10", "1:0"), ("1.2~rc1", "1.1.9")),
        (">1.2, <=2", ("1.2-1", "2", "1.10"), ("1.2", "1.2-0", "2-1", "2.0")),
        (" >= 1.2 ,<2~", ("1.2", "1.99"), ("2~rc1", "2")),
        (">=1, <=1", ("1", "1-0"), ("1-1",)),
        ("1.0", ("1.0", "1.0-0", "0:1.0"), ("1.0-1", "1.0.0")),
    ],
)
def test_what_lies_within_bounds(text: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    wanted = parse_wanted(text)
    assert [version for version in inside if not wanted.admits(version)] == []
    assert [version for version in outside if wanted.admits(version)] == []
    assert parse_wanted(str(wanted)) == wanted


def test_a_version_is_newer_than_all_that_are_wanted() -> None:
    assert parse_wanted(">=1, <2").is_passed_by("2")
    assert not parse_wanted(">=1, <2").is_passed_by("0.9")
    assert parse_wanted("1").is_passed_by("1.1")
    assert not parse_wanted(">=1").is_passed_by("9")
