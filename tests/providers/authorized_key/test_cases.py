"""Every case of `fixtures/cases/authorized_key`: what is seen, what is planned, what becomes of the file."""

from collections.abc import Iterable

import pytest

from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.model.plan import Step
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from datum_providers.authorized_key.provider import AuthorizedKeyProvider
from tests.providers.authorized_key.cases import KEYS, PATH, KeyCase, plain, read_cases

CASES = read_cases()
PROVIDER = AuthorizedKeyProvider()


def every(cases: Iterable[KeyCase]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", list(cases), ids=lambda case: case.title)


def see(case: KeyCase, host: FakeHost) -> Observation:
    desired = PROVIDER.parse(case.name, case.attributes)
    return PROVIDER.observe(host.reader(), {case.name: desired})[case.name]


def planned(case: KeyCase, host: FakeHost) -> Step | None:
    seen = see(case, host)
    assert not isinstance(seen, Unobservable), seen
    return PROVIDER.plan(PROVIDER.parse(case.name, case.attributes), seen)


@every(CASES)
def test_what_is_seen(case: KeyCase) -> None:
    assert set(case.data) <= KEYS
    assert case.data["about"].endswith(".")
    host, about = case.make_host(), case.data["observed"]
    found = see(case, host)
    assert not host.journal
    if isinstance(found, Unobservable):
        assert about["unobservable"] in found.detail
        return
    assert isinstance(found, Present if "present" in about else Absent)
    assert plain(dict(found.fields)) == about.get("present", about.get("absent"))
    if isinstance(found, Present):
        assert list(found.obstacles) == ([found.fields["closed"]] if "obstacle" in case.data else [])
    if "detail" in case.data:
        assert isinstance(found, Present)
        assert found.detail == case.data["detail"]


@every(case for case in CASES if "unobservable" not in case.data["observed"])
def test_what_is_planned(case: KeyCase) -> None:
    step = planned(case, case.make_host())
    if step is None or "step" not in case.data:
        assert step is case.data.get("step")
        return
    about = case.data["step"]
    assert step.operation == about["operation"]
    assert [[change.name, plain(change.before), plain(change.after)] for change in step.changes] == about["changes"]
    assert [[str(need.target), need.detail] for need in step.needs] == about.get("needs", [])
    hazards = PROVIDER.hazards(PROVIDER.parse(case.name, case.attributes), step)
    assert sorted(hazards) == case.data.get("hazards", [])


@every(case for case in CASES if "after" in case.data)
def test_what_is_done(case: KeyCase) -> None:
    host = case.make_host()
    step = planned(case, host)
    assert step is not None
    PROVIDER.apply(host.writer(), PROVIDER.parse(case.name, case.attributes), step)
    assert [f"{entry.method} {entry.subject}" for entry in host.journal] == case.data["done"]
    about = case.data["after"]
    file = host.files[about.get("path", PATH)]
    assert file.data.decode() == about["text"]
    assert [file.mode, file.uid, file.gid] == about.get("rights", ["0600", 1000, 1001])
    assert planned(case, host) is None


@every(case for case in CASES if "absent" in case.data)
def test_what_is_removed(case: KeyCase) -> None:
    host = case.make_host()
    seen = see(case, host)
    assert isinstance(seen, Present)
    desired, about = PROVIDER.parse(case.name, case.attributes), case.data["absent"]
    step = deletion_of(seen)
    assert sorted(PROVIDER.hazards(desired, step)) == about.get("hazards", [])
    PROVIDER.apply(host.writer(), desired, step)
    assert host.files[PATH].data.decode() == about["text"]
    assert isinstance(see(case, host), Absent)
