"""Programs that a manifest names: what is read of them, and what is refused."""

import pytest

from datum.model.secret import Secret
from datum.provider.contract import DesiredError
from datum_providers.shared.programs import (
    normal_token,
    parse_argv,
    parse_environment,
    parse_host_path,
    parse_seconds,
)


def test_nothing_said_is_nothing() -> None:
    assert parse_argv("run", None) == ()
    assert parse_environment("environment", None) == {}
    assert parse_seconds("timeout", None, default=5, greatest=9) == 5


@pytest.mark.parametrize("name", ["a", "nginx-config", "app@1.service", "0", "A_b+c.d"])
def test_names_are_kept(name: str) -> None:
    assert normal_token(name, "check") == name


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "ä", "a:b", "a\n"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(DesiredError) as caught:
        normal_token(name, "check")
    assert (caught.value.attribute, caught.value.code) == ("", "bad-resource-name")


@pytest.mark.parametrize("argv", [["true"], ["/bin/sh", "-c", "a | b"], ["nginx", "", "-t"]])
def test_arguments_are_words(argv: list[str]) -> None:
    assert parse_argv("run", argv) == tuple(argv)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("make install", "bad-value"),
        ([], "bad-value"),
        (["", "x"], "bad-value"),
        (["a", 1], "bad-value"),
        (["a\0b"], "bad-value"),
        (["a", "\ud800"], "bad-value"),
        (["./configure"], "bad-host-path"),
        (["bin/x"], "bad-host-path"),
        (["/bin//sh"], "bad-host-path"),
        (["curl", Secret(b"token")], "secret-shown"),
    ],
)
def test_what_no_program_can_be_given_is_refused(value: object, code: str) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_argv("run", value)
    assert (caught.value.attribute, caught.value.code) == ("run", code)
    assert "token" not in caught.value.detail


def test_variables_are_sorted() -> None:
    assert list(parse_environment("environment", {"B": "2", "A": ""}).items()) == [("A", ""), ("B", "2")]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (["A=1"], "bad-value"),
        ({"A B": "1"}, "bad-value"),
        ({1: "1"}, "bad-value"),
        ({"A": 1}, "bad-value"),
        ({"A": "\0"}, "bad-value"),
        ({"TOKEN": Secret(b"token")}, "secret-shown"),
    ],
)
def test_what_is_no_environment_is_refused(value: object, code: str) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_environment("environment", value)
    assert (caught.value.attribute, caught.value.code) == ("environment", code)


@pytest.mark.parametrize("value", [0, -1, 3601, float("nan"), float("inf"), True, "5", None.__class__])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(DesiredError):
        parse_seconds("timeout", value, default=5, greatest=3600)


@pytest.mark.parametrize("value", [1, 0.5, 3600])
def test_times_are_seconds(value: float) -> None:
    assert parse_seconds("timeout", value, default=5, greatest=3600) == value


@pytest.mark.parametrize(
    ("value", "hint"), [("etc/x", ""), ("/etc/../x", ""), ("/etc//x", "write /etc/x"), ("/etc/", "write /etc"), (1, "")]
)
def test_paths_are_in_normal_form(value: object, hint: str) -> None:
    with pytest.raises(DesiredError) as caught:
        parse_host_path("creates", value)
    assert (caught.value.code, caught.value.hint) == ("bad-host-path", hint)
