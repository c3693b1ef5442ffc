"""What scalars without quotes mean, as far as YAML 1.1 and YAML 1.2 agree."""

import pytest

from datum.fleet.plain_scalars import read_plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-0", 0),
        ("42", 42),
        ("-1", -1),
        ("+7", 7),
        ("9007199254740991", 2**53 - 1),
        ("1.5", 1.5),
        ("-0.25", -0.25),
        ("1.10", 1.1),
        ("abc", "abc"),
        ("1.2.3", "1.2.3"),
        ("10.0.0.5", "10.0.0.5"),
        ("-", "-"),
        ("--flag", "--flag"),
        ("-x", "-x"),
        ("1a", "1a"),
        ("1.2-3", "1.2-3"),
        ("12:99", "12:99"),
        ("nope", "nope"),
        (".gitignore", ".gitignore"),
        ("2024-1", "2024-1"),
        ("é", "é"),
    ],
)
def test_clear_scalars_have_their_value(text: str, value: object) -> None:
    found, why = read_plain(text)
    assert (found, type(found), why) == (value, type(value), "")


@pytest.mark.parametrize(
    "text",
    [
        *("y", "n", "Y", "N", "yes", "No", "ON", "off", "True", "FALSE", "Null", "NULL", "=", "<<"),
        *("0644", "-01", "00", "0_1", "0o644", "0x1f", "0b101", "1_000", "12:30", "1:2:3.5", "00:11:22:33:44:55"),
        *("2024-01-01", "2024-1-1", "2024-01-01T10:00:00Z", "2024-01-01 10:00:00", ".inf", "-.INF", ".nan"),
        *("1e3", "1.5e3", "1.5e+3", ".5e1", "1E5", "1.", ".5", "+.5", "01.5", "1_0.5", "9007199254740992", "9" * 5000),
        *("1" * 400 + ".0",),
    ],
)
def test_scalars_that_readers_disagree_about_say_why_and_keep_their_text(text: str) -> None:
    found, why = read_plain(text)
    assert found == text
    assert why
