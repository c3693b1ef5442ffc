"""Every case of `fixtures/cases/tree`: what is seen, what is planned, what is done."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.model.plan import Step
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.tree.desired import DesiredTree
from datum_providers.tree.provider import TreeProvider
from tests.providers.tree.cases import KEYS, TreeCase, fields_of, line, read_cases

CASES = read_cases()
PROVIDER = TreeProvider()


def desired_of(case: TreeCase) -> DesiredTree:
    return evolve(PROVIDER.parse(case.name, case.attributes), neighbours=case.neighbours)


def see(case: TreeCase, host: FakeHost) -> Observation:
    return PROVIDER.observe(host.reader(), {case.name: desired_of(case)})[case.name]


def planned(case: TreeCase, host: FakeHost) -> Step | None:
    seen = see(case, host)
    assert not isinstance(seen, Unobservable), seen
    return PROVIDER.plan(desired_of(case), seen)


every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
cases_with_a_plan = pytest.mark.parametrize(
    "case", [case for case in CASES if "unobservable" not in case.data["observed"]], ids=lambda case: case.title
)
cases_with_a_step = pytest.mark.parametrize(
    "case", [case for case in CASES if case.operation], ids=lambda case: case.title
)


@every_case
def test_cases_say_only_what_is_checked(case: TreeCase) -> None:
    assert set(case.data) <= KEYS
    assert case.data["about"].endswith(".")


@every_case
def test_what_is_seen(case: TreeCase) -> None:
    about = case.data["observed"]
    found = see(case, case.make_host())
    if isinstance(found, Unobservable):
        unseen = about["unobservable"]
        assert (found.cause, found.scope) == (unseen["cause"], unseen["scope"])
        assert unseen["names"] in found.detail
    elif isinstance(found, Absent):
        assert found.fields == fields_of(about["absent"])
    else:
        assert found.fields == fields_of(about["present"])
        assert [*found.holds] == about.get("holds", [])
        assert [*found.mounts] == about.get("mounts", [])
        assert found.detail.get("texts", {}) == about.get("texts", {})
        assert [*found.detail.get("private", ())] == about.get("private", [])  # type: ignore[misc]  # a list of texts


@cases_with_a_plan
def test_what_is_planned(case: TreeCase) -> None:
    step = planned(case, case.make_host())
    about = case.data.get("step")
    if step is None or about is None:
        assert step is about
        return
    assert step.operation == about["operation"]
    changes = [[change.name, change.before, change.after] for change in step.changes]
    assert changes == [[name, line(before), line(after)] for name, before, after in about["changes"]]
    assert [str(need.target) for need in step.needs] == about.get("needs", [])
    assert all(need.detail.endswith(".") for need in step.needs)
    assert [*step.takes] == about.get("takes", [])
    assert sorted(PROVIDER.hazards(desired_of(case), step)) == case.data.get("hazards", [])


@cases_with_a_step
def test_what_is_done(case: TreeCase) -> None:
    host = case.make_host()
    host.heal()
    step = planned(case, host)
    assert step is not None
    if "fails" in case.data:
        with pytest.raises(HostError) as caught:
            PROVIDER.apply(host.writer(), desired_of(case), step)
        assert case.data["fails"] in caught.value.detail
        _compare_after(case, host)
        return
    PROVIDER.apply(host.writer(), desired_of(case), step)
    assert planned(case, host) is None
    _compare_after(case, host)


def _compare_after(case: TreeCase, host: FakeHost) -> None:
    if "done" in case.data:
        assert [f"{entry.method} {entry.subject}" for entry in host.journal] == case.data["done"]
    for path, about in case.data.get("after", {}).items():
        file = host.files.get(path)
        if about is None:
            assert file is None, path
        else:
            assert file is not None, path
            assert {key: str(value) for key, value in about.items()} == {key: _seen(file)[key] for key in about}, path


def _seen(file: FakeFile) -> dict[str, Any]:
    return {
        "kind": file.kind.value,
        "text": file.data.decode(),
        "link": file.link,
        "mode": file.mode,
        "uid": str(file.uid),
        "gid": str(file.gid),
    }


def test_present_is_what_cases_are_about() -> None:
    assert sum(isinstance(see(case, case.make_host()), Present) for case in CASES) > 15
