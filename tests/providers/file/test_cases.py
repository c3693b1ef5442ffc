"""Every case of `fixtures/cases/file`: what is seen, what is planned, what is done."""

import pytest
from attrs import evolve

from datum.model.observation import FieldValue, Observation, Present, Unobservable
from datum.model.plan import Step
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider
from tests.providers.file.cases import KEYS, FileCase, read_cases

CASES = read_cases()
PROVIDER = FileProvider()


def desired_of(case: FileCase) -> DesiredFile:
    return PROVIDER.parse(case.name, case.attributes)


def see(case: FileCase, host: FakeHost) -> Observation:
    return PROVIDER.observe(host.reader(), {case.name: desired_of(case)})[case.name]


def without_words(observation: Observation) -> Observation:
    """Take the sentences out of what could not be observed."""
    if isinstance(observation, Unobservable):
        assert observation.detail.endswith(".")
        return evolve(observation, detail="")
    fields: dict[str, FieldValue] = {
        name: evolve(value, detail="") if isinstance(value, Unobservable) else value
        for name, value in observation.fields.items()
    }
    return evolve(observation, fields=fields)


def planned(case: FileCase, host: FakeHost) -> Step | None:
    seen = see(case, host)
    assert not isinstance(seen, Unobservable)
    return PROVIDER.plan(desired_of(case), seen)


every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
cases_with_a_plan = pytest.mark.parametrize(
    "case", [case for case in CASES if not isinstance(case.observation, Unobservable)], ids=lambda case: case.title
)
cases_with_a_step = pytest.mark.parametrize("case", [case for case in CASES if case.step], ids=lambda case: case.title)


@every_case
def test_cases_say_only_what_is_checked(case: FileCase) -> None:
    assert set(case.data) <= KEYS


@every_case
def test_what_is_seen(case: FileCase) -> None:
    host = case.make_host()
    found = see(case, host)
    assert without_words(found) == case.observation
    if isinstance(found, Present):
        assert found.detail == case.data["observed"].get("detail", {})
        if "identity" in case.data["observed"]:
            assert found.identity == case.data["observed"]["identity"]
    if "looks" in case.data:
        assert [method for method, _ in host.calls] == case.data["looks"]


@cases_with_a_plan
def test_what_is_planned(case: FileCase) -> None:
    step = planned(case, case.make_host())
    expected = case.step
    if step is None or expected is None:
        assert step is expected
        return
    about = case.data["step"]
    assert (step.operation, step.changes) == (expected.operation, expected.changes)
    assert [str(need.target) for need in step.needs] == about.get("needs", [])
    assert all(need.detail.endswith(".") for need in step.needs)
    assert sorted(PROVIDER.hazards(desired_of(case), step)) == case.data.get("hazards", [])
    if "texts" in about:
        texts = [[change.before_text, change.after_text] for change in step.changes if change.name == "content"]
        assert texts == [about["texts"]]


@cases_with_a_step
def test_what_is_done(case: FileCase) -> None:
    host = case.make_host()
    host.world.faults.clear()
    step = planned(case, host)
    assert step is not None
    before = host.snapshot()
    writer = host.writer()
    if "fails" in case.data:
        with pytest.raises(HostError) as caught:
            PROVIDER.apply(writer, desired_of(case), step)
        assert caught.value.failure == case.data["fails"]
        assert host.snapshot() == before
        return
    PROVIDER.apply(writer, desired_of(case), step)
    assert planned(case, host) is None
    _compare_after(case, host)
    assert writer.remarks == case.data.get("remarks", [])


def _compare_after(case: FileCase, host: FakeHost) -> None:
    if "done" in case.data:
        assert [entry.method for entry in host.journal] == case.data["done"]
    if "attributes_set" in case.data:
        assert host.journal[-1].attributes == case.data["attributes_set"]
    file = host.files[case.name]
    about = case.data.get("after", {})
    expected = {"text": file.data.decode("utf-8", "replace"), "hex": file.data.hex(), "mode": file.mode}
    expected |= {"uid": str(file.uid), "gid": str(file.gid)}
    assert {key: str(value) for key, value in about.items()} == {key: expected[key] for key in about}
