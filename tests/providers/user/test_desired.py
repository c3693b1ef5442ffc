"""What declarations of users mean, and which cannot be meant."""

from typing import Any

import pytest

from datum.model.secret import Secret
from datum.provider.contract import DesiredError
from datum_providers.user.desired import DesiredUser, date_of, normal_name, parse_user, password_form, split_lock

HASH = "$6$saltsalt$" + "a" * 86


def test_everything_is_read() -> None:
    attributes: dict[str, Any] = {
        "uid": 4001,
        "group": "0042",
        "groups": ("b", "a", "b"),
        "groups_mode": "exact",
        "comment": "Ünd",
        "home": "/srv/x",
        "shell": "/bin/sh",
        "password": f"!{HASH}",
        "expires": "2031-12-31",
        "min_days": 0,
        "inactive_days": -1,
        "system": True,
    }
    assert parse_user("deploy", attributes) == DesiredUser(
        "deploy",
        4001,
        "42",
        ("a", "b"),
        is_exact=True,
        comment="Ünd",
        home="/srv/x",
        shell="/bin/sh",
        password=Secret(HASH.encode()),
        locked=True,
        expires="2031-12-31",
        days={"min_days": 0, "inactive_days": -1},
        is_system=True,
        creates_home=False,
    )


def test_nothing_is_bare_and_anything_is_not() -> None:
    assert parse_user("a", {}).is_bare
    assert parse_user("a", {"system": True, "create_home": False}).is_bare
    for attributes in ({"uid": 0}, {"groups": ()}, {"comment": ""}, {"locked": False}, {"min_days": -1}):
        assert not parse_user("a", attributes).is_bare


@pytest.mark.parametrize("name", ["a", "_apt", "www-data", "App.svc", "machine$", "a+b", "a@b", "9lives", "a" * 32])
def test_names_are_kept(name: str) -> None:
    assert normal_name(name) == name


@pytest.mark.parametrize("name", ["", "12", "-a", "a:b", "a b", "a/b", "ä", "a" * 33, "a\n", ".", "a$b", "+a", "~"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(DesiredError, match="is no name of a user") as caught:
        normal_name(name)
    assert caught.value.code == "bad-account"


@pytest.mark.parametrize(
    ("attributes", "attribute", "words"),
    [
        ({"uid": -1}, "uid", "no number from 0"),
        ({"uid": 2**32 - 1}, "uid", "no number from 0"),
        ({"uid": True}, "uid", "no number from 0"),
        ({"group": "a:b"}, "group", "neither a name"),
        ({"groups": ("a", "12")}, "groups", "'12' is no name of a group"),
        ({"groups": (1,)}, "groups", "list of names"),
        ({"groups_mode": "exact"}, "groups_mode", "groups is not declared"),
        ({"groups_mode": "some", "groups": ()}, "groups_mode", "neither at_least nor exact"),
        ({"comment": "a:b"}, "comment", "colon"),
        ({"comment": "a\nb"}, "comment", "newline"),
        ({"comment": "\ud800"}, "comment", "surrogate"),
        ({"comment": 5}, "comment", "is a text"),
        ({"home": "srv"}, "home", "relative"),
        ({"home": "/srv/"}, "home", "normal form"),
        ({"home": "/srv:x"}, "home", "colon"),
        ({"shell": "sh"}, "shell", "relative"),
        ({"locked": "yes"}, "locked", "true or false"),
        ({"system": 1}, "system", "true or false"),
        ({"expires": "tomorrow"}, "expires", "is no date"),
        ({"expires": "20311231"}, "expires", "is no date"),
        ({"expires": "1969-12-31"}, "expires", "is no date"),
        ({"max_days": -2}, "max_days", "no number from -1"),
        ({"password": ""}, "password", "lets everybody in"),
        ({"password": 5}, "password", "as a text"),
        ({"password": f"!{HASH}", "locked": False}, "password", "locked is false"),
    ],
)
def test_what_cannot_be_meant(attributes: dict[str, Any], attribute: str, words: str) -> None:
    with pytest.raises(DesiredError, match=words) as caught:
        parse_user("a", attributes)
    assert caught.value.attribute == attribute


@pytest.mark.parametrize(
    "text", ["hunter2", "correct horse", "$6$$", "$6$salt", "abJnggxhB/yWI", f"{HASH}:", f"{HASH}\n"]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_password_itself_is_refused_and_not_shown(text: str, wrapped: bool) -> None:
    with pytest.raises(DesiredError, match="no hash of crypt") as caught:
        parse_user("a", {"password": Secret(text.encode()) if wrapped else text})  # type: ignore[dict-item]  # as it will come
    assert text not in caught.value.detail + caught.value.hint


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("!", (True, "*")),
        ("!!", (True, "*")),
        ("!*", (True, "*")),
        ("*", (False, "*")),
        ("", (False, "")),
        (f"!!{HASH}", (True, HASH)),
        (HASH, (False, HASH)),
    ],
)
def test_a_lock_is_told_from_what_it_locks(text: str, split: tuple[bool, str]) -> None:
    assert split_lock(text) == split


def test_what_is_shown_of_a_password_is_no_hash_of_it() -> None:
    """Not even a digest: a guess at a password can be tried on it, for as long as it lies in some report."""
    declared = parse_user("a", {"password": HASH}).password
    assert password_form(HASH, declared) == "as declared"
    assert password_form(HASH + "a", declared) == password_form(HASH, None) == "other"
    assert [password_form(text, declared) for text in ("*", "")] == ["*", ""]
    assert HASH not in repr(parse_user("a", {"password": HASH}))


def test_days_are_dates() -> None:
    assert [date_of(day) for day in (None, 0, 22644, 10**9)] == ["never", "1970-01-01", "2031-12-31", "day 1000000000"]
