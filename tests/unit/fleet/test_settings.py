"""`expect`, `limits`, `enforcement` and `observe`."""

import pytest

from datum.model.manifest import Enforcement, Limits, OnObservationFailure
from datum.model.revision import Revision
from datum.testing.trees import TreeFile
from tests.unit.fleet.support import HEADER, diagnostics, errors, host_errors, layered, resolve, resolve_host

_SHA = "ab" * 20


def test_nothing_said_gives_the_defaults() -> None:
    found = resolve({})
    assert (found.limits, found.enforcement, found.on_observation_failure) == (
        Limits(),
        Enforcement.ENFORCE,
        OnObservationFailure.AUTO,
    )
    assert (found.expect.values, found.expect.warn, found.expect.location) == ({}, frozenset(), None)


def test_everything_can_be_said() -> None:
    found = resolve_host(
        "expect: {os: debian-12, arch: amd64, machine_id: '0123', warn: [os, arch]}\n"
        f"limits: {{removals: 3, allow: {{removals: 40, from: {_SHA}}}}}\n"
        "enforcement: hold\n"
        "observe: {on_failure: continue}\n"
    )
    assert found.expect.values == {"os": "debian-12", "arch": "amd64", "machine_id": "0123"}
    assert found.expect.warn == {"os", "arch"}
    assert str(found.expect.location) == "hosts/web1.yaml:1:14"
    assert found.limits == Limits(3, 40, Revision(_SHA))
    assert found.enforcement is Enforcement.HOLD
    assert found.on_observation_failure is OnObservationFailure.CONTINUE


def test_host_is_stronger_than_layers_and_these_than_fleet_yaml() -> None:
    files: dict[str, TreeFile] = {
        "fleet.yaml": HEADER + "limits: {removals: 1}\nenforcement: observe\nexpect: {os: a, arch: b}\n",
        **layered("limits: {removals: 2}\nexpect: {os: c}", "", "enforcement: enforce"),
    }
    found = resolve(files)
    assert found.limits.removals == 2
    assert found.enforcement is Enforcement.ENFORCE
    assert found.expect.values == {"os": "c", "arch": "b"}


def test_no_limit_is_none() -> None:
    assert resolve_host("limits: {removals: none}").limits.removals is None
    assert resolve_host("limits: {removals: 0}").limits.removals == 0


def test_sha256_is_told_by_its_length() -> None:
    sha = "cd" * 32
    found = resolve_host(f"limits: {{allow: {{removals: 1, from: 'sha256:{sha}'}}}}")
    assert found.limits.allowed_from == Revision(sha, algorithm="sha256")


def test_null_is_as_if_never_said() -> None:
    assert resolve_host("limits: {removals: null, allow: null}\nenforcement: null\n").limits == Limits()
    assert resolve_host("observe: {on_failure: null}\nexpect: {os: null}").expect.values == {}


def test_members_of_one_layer_must_agree() -> None:
    files = layered("", x="enforcement: hold", y="enforcement: observe")
    assert errors(files) == [("conflict", "layers/role/x.yaml:1:14")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("enforcement: strict", "bad-value"),
        ("enforcement: [hold]", "wrong-type"),
        ("enforcement: 1", "unquoted-scalar"),
        ("observe: end", "wrong-type"),
        ("observe: {on_failure: stop}", "bad-value"),
        ("observe: {on_fail: end}", "unknown-key"),
        ("expect: debian", "wrong-type"),
        ("expect: {os: 12}", "unquoted-scalar"),
        ("expect: {cpu: x}", "unknown-key"),
        ("expect: {warn: os}", "wrong-type"),
        ("expect: {warn: [cpu]}", "bad-value"),
        ("limits: 3", "wrong-type"),
        ("limits: {removals: many}", "wrong-type"),
        ("limits: {removals: -1}", "bad-value"),
        ("limits: {removals: 010}", "ambiguous-scalar"),
        ("limits: {restarts: 1}", "not-in-this-version"),
        ("limits: {removal: 1}", "unknown-key"),
        ("limits: {allow: 3}", "wrong-type"),
        ("limits: {allow: {removals: 3}}", "missing-field"),
        (f"limits: {{allow: {{from: {_SHA}}}}}", "missing-field"),
        (f"limits: {{allow: {{removals: x, from: {_SHA}}}}}", "wrong-type"),
        ("limits: {allow: {removals: 1, from: main}}", "bad-value"),
        ("limits: {allow: {removals: 1, from: [a]}}", "wrong-type"),
    ],
)
def test_wrong_setting_is_said(text: str, code: str) -> None:
    assert [found for found, _ in host_errors(text)] == [code]


def test_suggestion_for_a_choice() -> None:
    assert diagnostics({"hosts/web1.yaml": "enforcement: holt"})[0].hint == "Did you mean 'hold'?"
