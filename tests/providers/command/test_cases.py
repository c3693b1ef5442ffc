"""Every case of `fixtures/cases/command`: what the guards say, what is planned, what is run."""

import pytest

from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum_providers.command.desired import DesiredCommand
from datum_providers.command.provider import CommandProvider
from tests.providers.command.cases import KEYS, CommandCase, read_cases

CASES = read_cases()
PROVIDER = CommandProvider()


def desired_of(case: CommandCase) -> DesiredCommand:
    return PROVIDER.parse("it", case.attributes)


def see(case: CommandCase, host: FakeHost) -> Observation:
    return PROVIDER.observe(host.reader(), {"it": desired_of(case)})["it"]


every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
cases_with_a_step = pytest.mark.parametrize(
    "case", [case for case in CASES if case.operation], ids=lambda case: case.title
)


@every_case
def test_cases_say_only_what_is_checked(case: CommandCase) -> None:
    assert set(case.data) <= KEYS
    assert case.data["about"].endswith(".")


@every_case
def test_what_the_guards_say(case: CommandCase) -> None:
    about = case.data["observed"]
    host = case.make_host()
    found = see(case, host)
    if isinstance(found, Unobservable):
        assert [found.cause, found.scope, found.discounted] == about["unobservable"][:3]
        assert about["unobservable"][3] in found.detail
    elif isinstance(found, Present):
        assert (about, found.detail) == ("satisfied", {"by": case.data["by"]})
    else:
        assert found.fields == about
    assert not host.journal


@every_case
def test_what_is_predicted(case: CommandCase) -> None:
    found = PROVIDER.predict(desired_of(case), see(case, case.make_host()))
    assert found == (Absent({"guard": "unknown"}) if case.data.get("predicted") else None)


@cases_with_a_step
def test_what_is_planned(case: CommandCase) -> None:
    seen = see(case, case.make_host())
    assert isinstance(seen, Absent)
    step = PROVIDER.plan(desired_of(case), seen)
    assert step is not None
    assert [(change.name, change.after) for change in step.changes] == [
        ("run", " ".join(case.attributes["run"])),
        ("guard", "satisfied"),
    ]
    assert step.changes[1].before == case.data["step"]["guard"]
    assert [str(need.target) for need in step.needs] == case.data["step"].get("needs", [])
    assert [str(effect.target) for effect in PROVIDER.effects(desired_of(case), step)] == case.data.get("effects", [])
    assert PROVIDER.hazards(desired_of(case), step) == frozenset()


@every_case
def test_what_is_in_sync(case: CommandCase) -> None:
    seen = see(case, case.make_host())
    if isinstance(seen, Present):
        assert PROVIDER.plan(desired_of(case), seen) is None


@cases_with_a_step
def test_what_is_done(case: CommandCase) -> None:
    host = case.make_host()
    seen = see(case, host)
    assert isinstance(seen, Absent)
    step = PROVIDER.plan(desired_of(case), seen)
    assert step is not None
    writer = host.writer()
    if "fails" in case.data:
        with pytest.raises(HostError) as caught:
            PROVIDER.apply(writer, desired_of(case), step)
        assert case.data["fails"] in caught.value.detail
        return
    PROVIDER.apply(writer, desired_of(case), step)
    assert isinstance(see(case, host), Present)
    assert [entry.user for entry in host.journal] == [str(case.attributes.get("user", ""))]
    assert writer.remarks == case.data.get("remarks", [])
