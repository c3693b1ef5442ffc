"""Every case of `fixtures/cases/package`: what is seen and planned, what the tools are told, what is there then."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Step
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from datum_providers.package import tools
from tests.providers.package.cases import KEYS, PROVIDER, PackageCase, read_cases
from tests.providers.package.fake_apt import FakeApt

CASES = read_cases()

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
cases_with_a_step = pytest.mark.parametrize(
    "case", [case for case in CASES if case.operation], ids=lambda case: case.title
)
cases_with_a_deletion = pytest.mark.parametrize(
    "case", [case for case in CASES if case.is_gone], ids=lambda case: case.title
)


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PAUSE", 0.0)


def see(case: PackageCase, host: FakeHost) -> Observation:
    return PROVIDER.observe(host.reader(), {case.name: case.desired()})[case.name]


def planned(case: PackageCase, host: FakeHost) -> Step | None:
    seen = see(case, host)
    assert isinstance(seen, Present | Absent), seen
    return PROVIDER.plan(case.desired(), seen)


def told(apt: FakeApt) -> list[str]:
    """Return the verbs and names that the tools were told."""
    found = []
    for argv in apt.log:
        verbs = {"install", "purge", "update", "--configure", "hold", "unhold", "auto", "manual", "--allow-downgrades"}
        start = next(number for number, word in enumerate(argv) if word in verbs)
        kept = [word for word in argv[start:] if word not in {"-a", "--no-install-recommends", "--install-recommends"}]
        found.append(" ".join(kept))
    return found


def frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@every_case
def test_cases_say_only_what_is_checked(case: PackageCase) -> None:
    assert set(case.data) <= KEYS
    assert case.data["about"].endswith(".")


@every_case
def test_what_is_seen(case: PackageCase) -> None:
    host, _ = case.make_host()
    seen = see(case, host)
    kind, fields = next(iter(case.data["observed"].items()))
    assert isinstance(seen, Present if kind == "present" else Absent), seen
    assert dict(seen.fields) == {name: frozen(value) for name, value in fields.items()}
    if "queries" in case.data:
        assert len([1 for method, _ in host.calls if method in {"query", "run"}]) == case.data["queries"]


@every_case
def test_what_is_in_sync_is_left_alone(case: PackageCase) -> None:
    if case.operation is None and not case.is_gone:
        assert planned(case, case.make_host()[0]) is None


@cases_with_a_step
def test_what_is_planned(case: PackageCase) -> None:
    step = planned(case, case.make_host()[0])
    about = case.data["step"]
    assert step is not None
    assert step.operation is case.operation
    assert [[change.name, change.before, change.after] for change in step.changes] == about["changes"]
    assert list(step.takes) == about.get("takes", [])
    needs = about.get("needs", [])
    if "impossible" in about:
        needs = [f"nothing {case.name}"]
        assert about["impossible"] in step.needs[0].detail
    assert [str(need.target) for need in step.needs] == needs
    assert all(need.detail.endswith(".") for need in step.needs)
    assert sorted(PROVIDER.hazards(case.desired(), step)) == case.data.get("hazards", [])
    assert PROVIDER.transaction(case.desired(), step) == case.data["key"]


@cases_with_a_step
def test_what_is_done(case: PackageCase) -> None:
    host, apt = case.make_host()
    step = planned(case, host)
    assert step is not None
    if step.needs:
        return
    writer = host.writer()
    wanted = case.desired()
    if "fails" in case.data:
        with pytest.raises(HostError) as caught:
            PROVIDER.commit(writer, [PROVIDER.stage(writer, wanted, step)])
        assert case.data["fails"] in caught.value.detail
        assert caught.value.failure == case.data.get("cause", "other")
        assert caught.value.detail.isprintable() or "\n" in caught.value.detail
    else:
        PROVIDER.apply(writer, wanted, step)
        assert planned(case, host) is None
        assert writer.remarks == case.data.get("remarks", [])
        after = see(case, host)
        expected = case.data.get("after", {})
        assert {name: after.fields.get(name) for name in expected} == expected  # type: ignore[union-attr]
    assert told(apt) == case.data["runs"]
    assert "/usr/sbin/policy-rc.d" not in host.files


@cases_with_a_deletion
def test_what_is_removed(case: PackageCase) -> None:
    host, apt = case.make_host()
    seen = see(case, host)
    about = case.data["absent"]
    assert isinstance(seen, Present)
    assert list(seen.holds) == about.get("takes", [])
    assert list(seen.obstacles) == about.get("obstacles", [])
    step = deletion_of(seen)
    assert sorted(PROVIDER.hazards(case.desired(), step)) == about.get("hazards", [])
    if seen.obstacles:
        return
    if "fails" in about:
        with pytest.raises(HostError) as caught:
            PROVIDER.apply(host.writer(), case.desired(), step)
        assert about["fails"] in caught.value.detail
        assert caught.value.failure == about["cause"]
        assert told(apt) == about["runs"]
        return
    PROVIDER.apply(host.writer(), case.desired(), step)
    gone = see(case, host)
    assert isinstance(gone, Absent)
    assert told(apt) == about["runs"]
    assert {**gone.fields, **about.get("after", {})} == dict(gone.fields)


@cases_with_a_deletion
def test_what_is_not_known_to_be_taken_is_not_taken(case: PackageCase) -> None:
    """A deletion of an orphan, which nobody declared absent, was planned without what goes along."""
    host, apt = case.make_host()
    seen = see(case, host)
    assert isinstance(seen, Present)
    if not seen.holds:
        return
    with pytest.raises(HostError) as caught:
        PROVIDER.apply(host.writer(), case.desired(), evolve(deletion_of(seen), takes=()))
    assert caught.value.diagnostics[0].code == "package-takes-more"
    assert not apt.log
