"""A check judges others: what is read of it, and that it does nothing by itself."""

import pytest

from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.model.observation import Present
from datum.model.plan import Change, Operation, Step
from datum.provider.contract import CheckingProvider, DesiredError, Removal
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum.testing.rules import EveryTarget
from datum_providers.check.desired import DesiredCheck
from datum_providers.check.provider import CheckProvider

PROVIDER = CheckProvider()
GUARDS: AttributeValue = ("file:/etc/b", "directory:/etc/a", "file:/etc/b")


def check(**attributes: AttributeValue) -> DesiredCheck:
    return PROVIDER.parse("web", {"run": ["nginx", "-t"], "guards": GUARDS, **attributes})


def test_it_says_what_it_guards_and_by_which_program() -> None:
    assert isinstance(PROVIDER, CheckingProvider)
    desired = check(timeout=5, environment={"A": "1"}, network=True)
    assert PROVIDER.guards(desired) == (ResourceId("directory", "/etc/a"), ResourceId("file", "/etc/b"))
    origin = ResourceId("check", "web")
    assert PROVIDER.check(origin, desired) == Check(origin, ("nginx", "-t"), 5.0, {"A": "1"}, is_online=True)


def test_what_is_silent_has_a_minute_and_no_network() -> None:
    found = PROVIDER.check(ResourceId("check", "web"), check())
    assert (found.timeout, found.environment, found.is_online) == (60.0, {}, False)


@pytest.mark.parametrize(
    ("attributes", "attribute", "code"),
    [
        ({}, "", "cannot-be-absent"),
        ({"guards": GUARDS}, "run", "bad-value"),
        ({"run": ["a"]}, "guards", "bad-value"),
        ({"run": ["a"], "guards": "file:/x"}, "guards", "bad-value"),
        ({"run": ["a"], "guards": ["/etc/x"]}, "guards", "bad-value"),
        ({"run": "a", "guards": GUARDS}, "run", "bad-value"),
        ({"run": ["a"], "guards": GUARDS, "timeout": 3601}, "timeout", "bad-value"),
        ({"run": ["a"], "guards": GUARDS, "network": "yes"}, "network", "bad-value"),
        ({"run": ["a"], "guards": GUARDS, "environment": {"A": 1}}, "environment", "bad-value"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_field(
    attributes: dict[str, AttributeValue], attribute: str, code: str
) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.parse("web", attributes)
    assert (caught.value.attribute, caught.value.code) == (attribute, code)
    assert caught.value.detail.endswith(".")


def test_a_check_whose_guards_are_all_switched_off_judges_nothing() -> None:
    assert PROVIDER.guards(PROVIDER.parse("web", {"run": ["a"], "guards": ()})) == ()


def test_it_is_there_whatever_the_host_is_and_nothing_runs() -> None:
    host = FakeHost()
    assert PROVIDER.observe(host.reader(), {"web": check()}) == {"web": Present({})}
    assert not host.calls


def test_it_has_no_step_and_takes_none() -> None:
    desired = check()
    step = Step(Operation.DELETE, (Change("run", "a", None),))
    assert PROVIDER.plan(desired, Present({})) is None
    assert (PROVIDER.effects(desired, step), PROVIDER.hazards(desired, step)) == ((), frozenset())
    with pytest.raises(HostError):
        PROVIDER.apply(FakeHost().writer(), desired, step)


def test_it_holds_nothing_and_nothing_of_it_is_left() -> None:
    assert PROVIDER.targets(check()) == ()
    assert PROVIDER.edges(check(), EveryTarget()) == ()
    assert PROVIDER.removal(check()) is Removal.NOTHING


def test_it_is_not_adopted() -> None:
    with pytest.raises(DesiredError):
        PROVIDER.adopt("web", Present({}))


def test_names_are_words() -> None:
    assert PROVIDER.normal_name("nginx-config") == "nginx-config"
    with pytest.raises(DesiredError):
        PROVIDER.normal_name("nginx config")
