"""What a declaration of a command means, and how it is refused."""

from collections.abc import Mapping

import pytest

from datum.model.graph import Target
from datum.model.secret import Secret
from datum.provider.contract import DesiredError
from datum_providers.command.desired import DesiredCommand, parse_command


def refusal(attributes: Mapping[str, object]) -> DesiredError:
    with pytest.raises(DesiredError) as caught:
        parse_command(attributes)
    assert caught.value.detail.endswith(".")
    return caught.value


def test_everything_is_read() -> None:
    attributes = {
        "run": ["make", "install"],
        "creates": "/opt/x",
        "unless": ["test", "-e", "/opt/x"],
        "only_if": ["true"],
        "inputs": ["/etc/b", "/etc/a", "/etc/b"],
        "outputs": ["/var/c"],
        "user": "007",
        "directory": "/srv",
        "environment": {"B": "2", "A": "1"},
        "stdin": "yes\n",
        "timeout": 7,
        "provides": ["user:app", "group:5", "path:/opt/x", "user:app", "kernel_key:net.ipv4.conf.eth0/1.forwarding"],
    }
    assert parse_command(attributes) == DesiredCommand(
        ("make", "install"),
        "/opt/x",
        ("test", "-e", "/opt/x"),
        ("true",),
        ("/etc/a", "/etc/b"),
        ("/var/c",),
        "7",
        "/srv",
        {"A": "1", "B": "2"},
        b"yes\n",
        7.0,
        (
            Target("group", "5"),
            Target("kernel_key", "net/ipv4/conf/eth0.1/forwarding"),
            Target("path", "/opt/x"),
            Target("user", "app"),
        ),
    )


def test_what_is_silent_runs_as_the_agent_for_five_minutes() -> None:
    found = parse_command({"run": ["init"], "creates": "/x"})
    assert found == DesiredCommand(("init",), "/x")
    assert (found.user, found.directory, found.stdin, found.timeout) == ("", "/", b"", 300.0)


def test_a_command_without_a_guard_is_refused_with_every_way_out() -> None:
    error = refusal({"run": ["init"]})
    assert (error.attribute, error.code) == ("run", "no-guard")
    assert all(f"{guard}" in error.hint for guard in ("creates", "unless", "only_if", "inputs", "outputs"))


@pytest.mark.parametrize("field", ["inputs", "outputs"])
def test_half_a_comparison_is_no_guard(field: str) -> None:
    error = refusal({"run": ["init"], "creates": "/x", field: ["/etc/a"]})
    assert (error.attribute, error.code) == (field, "no-guard")


def test_an_output_that_is_an_input_is_refused() -> None:
    error = refusal({"run": ["init"], "inputs": ["/a", "/b"], "outputs": ["/b"]})
    assert (error.attribute, error.code) == ("outputs", "no-guard")


def test_a_command_cannot_be_absent() -> None:
    """An absent resource reaches the type without attributes."""
    error = refusal({})
    assert (error.attribute, error.code) == ("", "cannot-be-absent")
    assert "when" in error.hint


def test_a_secret_is_handed_over_as_standard_input_only() -> None:
    secret = Secret(b"token")
    found = parse_command({"run": ["login"], "creates": "/x", "stdin": secret})
    assert found.stdin == secret
    assert "token" not in repr(found)
    for attribute, value in (("run", ["login", secret]), ("unless", ["a", secret]), ("environment", {"A": secret})):
        error = refusal({"run": ["login"], "creates": "/x", attribute: value})
        assert (error.attribute, error.code) == (attribute, "secret-shown")
        assert "stdin" in error.hint


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [
        ("run", "make install", "bad-value"),
        ("run", None, "bad-value"),
        ("run", ["./configure"], "bad-host-path"),
        ("creates", "opt/x", "bad-host-path"),
        ("creates", "/opt//x", "bad-host-path"),
        ("unless", [], "bad-value"),
        ("only_if", "true", "bad-value"),
        ("inputs", "/etc/a", "bad-value"),
        ("outputs", ["b"], "bad-host-path"),
        ("user", "a b", "bad-account"),
        ("user", ["a"], "bad-account"),
        ("directory", "srv", "bad-host-path"),
        ("environment", {"A": 1}, "bad-value"),
        ("stdin", 1, "bad-value"),
        ("stdin", "\ud800", "bad-value"),
        ("timeout", 0, "bad-value"),
        ("timeout", 3601, "bad-value"),
        ("provides", "user:app", "bad-value"),
        ("provides", ["unit:app"], "bad-value"),
        ("provides", ["user"], "bad-value"),
        ("provides", [1], "bad-value"),
        ("provides", ["user:a b"], "bad-account"),
        ("provides", ["path:x"], "bad-host-path"),
        ("provides", ["kernel_key:forwarding"], "bad-resource-name"),
        ("provides", ["kernel_key:/proc/sys/vm/swappiness"], "bad-resource-name"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_field(attribute: str, value: object, code: str) -> None:
    error = refusal({"run": ["init"], "creates": "/x", attribute: value})
    assert (error.attribute, error.code) == (attribute, code)
