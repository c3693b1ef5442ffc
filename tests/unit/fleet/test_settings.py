"""`expect`, `limits`, `enforcement` and `observe`."""

import pytest

from datum.model.manifest import Enforcement, LimitClass, Limits, OnObservationFailure
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
        "limits:\n  {removals: 3, replaces: 4, changed: 30%,"
        f" allow: {{removals: 40, replaces: 5, changed: '80%', from: {_SHA}}}}}\n"
        "enforcement: hold\n"
        "observe: {on_failure: continue}\n"
    )
    assert found.expect.values == {"os": "debian-12", "arch": "amd64", "machine_id": "0123"}
    assert found.expect.warn == {"os", "arch"}
    assert str(found.expect.location) == "hosts/web1.yaml:1:14"
    raised = {LimitClass.REMOVALS: 40, LimitClass.REPLACES: 5, LimitClass.CHANGED: 80}
    assert found.limits == Limits(3, 4, 30, raised, Revision(_SHA))
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
    ],
)
def test_wrong_setting_is_said(text: str, code: str) -> None:
    assert [found for found, _ in host_errors(text)] == [code]


def test_suggestion_for_a_choice() -> None:
    assert diagnostics({"hosts/web1.yaml": "enforcement: holt"})[0].hint == "Did you mean 'hold'?"
