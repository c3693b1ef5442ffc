"""`limits`: counts, shares, and what is allowed for one trail."""

import pytest

from datum.model.manifest import LimitClass, Limits
from datum.model.revision import Revision
from tests.unit.fleet.support import diagnostics, host_errors, layered, resolve, resolve_host

_SHA = "ab" * 20


def test_no_limit_is_none() -> None:
    text = ", ".join(f"{counted}: none" for counted in LimitClass)
    found = resolve_host(f"limits: {{{text}}}").limits
    assert [getattr(found, counted) for counted in LimitClass] == [None] * len(LimitClass)


def test_where_nothing_is_said_only_restarts_have_no_limit() -> None:
    found = resolve_host("").limits
    said = {str(counted): getattr(found, counted) for counted in LimitClass}
    assert said == {"removals": 10, "replaces": 10, "restarts": None, "package_removals": 10, "changed": 50}


def test_each_limit_is_merged_alone_and_what_is_allowed_as_one() -> None:
    low = "limits: {removals: 1, changed: 5%, restarts: 2, allow: {removals: 7, from: " + _SHA + "}}"
    high = "limits: {replaces: 0, changed: 100%, package_removals: 3, allow: {changed: 9%, restarts: 4, from: "
    found = resolve(layered(low, "", high + "cd" * 20 + "}}")).limits
    allowed = {LimitClass.CHANGED: 9, LimitClass.RESTARTS: 4}
    assert found == Limits(1, 0, 100, allowed, Revision("cd" * 20), restarts=2, package_removals=3)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("changed: 50", "Write 50%"),
        ("changed: 0%", "Write 50%, or none."),
        ("changed: 101%", "Write 50%, or none."),
        ("changed: 101", "Write 50%, or none."),
        ("changed: half", "Write 50%, or none."),
        ("changed: [50%]", "Write 50%, or none."),
        ("removals: 50%", "Write a number: 50"),
        (f"allow: {{changed: 80, from: {_SHA}}}", "Write 80%"),
        (f"allow: {{removals: none, from: {_SHA}}}", "Write what `datum plan` counts."),
    ],
)
def test_counts_and_shares_are_told_apart(text: str, hint: str) -> None:
    (found,) = diagnostics({"hosts/web1.yaml": f"limits: {{{text}}}"})
    assert (found.code, found.hint) == ("bad-value", hint)
    assert resolve_host("limits: {removals: 0}").limits.removals == 0


def test_sha256_is_told_by_its_length() -> None:
    sha = "cd" * 32
    found = resolve_host(f"limits: {{allow: {{removals: 1, from: 'sha256:{sha}'}}}}")
    assert found.limits.allowed_from == Revision(sha, algorithm="sha256")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("limits: 3", "wrong-type"),
        ("limits: {removals: many}", "wrong-type"),
        ("limits: {removals: -1}", "bad-value"),
        ("limits: {removals: 010}", "ambiguous-scalar"),
        ("limits: {restarts: x}", "wrong-type"),
        ("limits: {package_removals: -1}", "bad-value"),
        ("limits: {packages: 1}", "unknown-key"),
        ("limits: {share: 1}", "unknown-key"),
        ("limits: {replaces: [1]}", "wrong-type"),
        (f"limits: {{allow: {{restarts: x, from: {_SHA}}}}}", "wrong-type"),
        (f"limits: {{allow: {{removal: 1, from: {_SHA}}}}}", "unknown-key"),
        (f"limits: {{allow: {{replaces: x, removals: 1, from: {_SHA}}}}}", "wrong-type"),
        ("limits: {removal: 1}", "unknown-key"),
        ("limits: {allow: 3}", "wrong-type"),
        ("limits: {allow: {removals: 3}}", "missing-field"),
        (f"limits: {{allow: {{from: {_SHA}}}}}", "missing-field"),
        (f"limits: {{allow: {{removals: x, from: {_SHA}}}}}", "wrong-type"),
        ("limits: {allow: {removals: 1, from: main}}", "bad-value"),
        ("limits: {allow: {removals: 1, from: [a]}}", "wrong-type"),
    ],
)
def test_wrong_limit_is_said(text: str, code: str) -> None:
    assert [found for found, _ in host_errors(text)] == [code]


def test_what_is_allowed_at_one_rank_must_agree() -> None:
    one, two = (f"limits: {{allow: {{removals: {count}, from: {_SHA}}}}}" for count in (1, 2))
    (found,) = diagnostics(layered("", x=one, y=two))
    assert found.code == "conflict"
    assert f"limits.allow is {{'removals': 1, 'from': '{_SHA[:3]}" in found.detail
