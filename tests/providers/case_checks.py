"""What every case of a type that keeps paths must show: seen, planned, done."""

from typing import Any, Final

import pytest
from attrs import evolve, frozen

from datum.model.observation import Absent, FieldValue, Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum.provider.contract import AnyProvider, RelatedProvider
from datum.provider.host import FileKind, HostError
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from tests.providers.cases import KEYS, PathCase, read_cases

# Of a case that tries what is not wanted there to be removed.
ABSENT: Final = "absent"


@frozen
class Checks:
    """The checks of one type."""

    provider: AnyProvider
    cases: tuple[PathCase, ...]

    @classmethod
    def of(cls, provider: AnyProvider) -> "Checks":
        return cls(provider, read_cases(provider.type_name))

    def with_a_plan(self) -> list[PathCase]:
        return [case for case in self.cases if not isinstance(case.observation, Unobservable)]

    def with_a_step(self) -> list[PathCase]:
        return [case for case in self.cases if case.step]

    def with_a_deletion(self) -> list[PathCase]:
        return [case for case in self.cases if ABSENT in case.data]

    def desired_of(self, case: PathCase) -> Any:
        desired = self.provider.parse(case.name, case.attributes)
        return self.provider.relate(desired, case.index) if isinstance(self.provider, RelatedProvider) else desired

    def see(self, case: PathCase, host: FakeHost) -> Observation:
        return self.provider.observe(host.reader(), {case.name: self.desired_of(case)})[case.name]

    def planned(self, case: PathCase, host: FakeHost) -> Step | None:
        seen = self.see(case, host)
        assert not isinstance(seen, Unobservable), seen
        return self.provider.plan(self.desired_of(case), seen)

    def check_keys(self, case: PathCase) -> None:
        assert set(case.data) <= KEYS

    def check_seen(self, case: PathCase) -> None:
        host = case.make_host()
        found, expected = self.see(case, host), case.observation
        assert _without_words(found) == expected
        if isinstance(found, Present) and isinstance(expected, Present):
            assert (found.holds, found.mounts) == (expected.holds, expected.mounts)
            assert found.detail == case.data["observed"].get("detail", {})
            if "identity" in case.data["observed"]:
                assert found.identity == case.data["observed"]["identity"]
        if "looks" in case.data:
            assert [method for method, _ in host.calls] == case.data["looks"]

    def check_planned(self, case: PathCase) -> None:
        step = self.planned(case, case.make_host())
        expected = case.step
        if step is None or expected is None:
            assert step is expected
            return
        about = case.data["step"]
        assert (step.operation, step.changes, step.takes) == (expected.operation, expected.changes, expected.takes)
        assert [str(need.target) for need in step.needs] == about.get("needs", [])
        assert all(need.detail.endswith(".") for need in step.needs)
        assert sorted(self.provider.hazards(self.desired_of(case), step)) == case.data.get("hazards", [])
        if "texts" in about:
            texts = [[change.before_text, change.after_text] for change in step.changes if change.name == "content"]
            assert texts == [about["texts"]]

    def check_done(self, case: PathCase) -> None:
        host = case.make_host()
        host.world.faults.clear()
        step = self.planned(case, host)
        assert step is not None
        before = host.snapshot()
        writer = host.writer()
        if "fails" in case.data:
            with pytest.raises(HostError) as caught:
                self.provider.apply(writer, self.desired_of(case), step)
            assert caught.value.failure == case.data["fails"]
            assert host.snapshot() == before
            return
        self.provider.apply(writer, self.desired_of(case), step)
        assert self.planned(case, host) is None
        _compare_after(case, host)
        assert writer.remarks == case.data.get("remarks", [])

    def check_deleted(self, case: PathCase) -> None:
        """Carry out the deletion that the engine plans: of what is seen, with all that it holds."""
        host = case.make_host()
        seen = self.see(case, host)
        assert isinstance(seen, Present)
        is_directory = host.files[case.name].kind is FileKind.DIRECTORY
        step = evolve(deletion_of(seen), takes=host.below(case.name, limit=1000).paths if is_directory else ())
        assert step.operation is Operation.DELETE
        about = case.data[ABSENT]
        assert sorted(self.provider.hazards(self.desired_of(case), step)) == about.get("hazards", [])
        if "fails" in about:
            with pytest.raises(HostError) as caught:
                self.provider.apply(host.writer(), self.desired_of(case), step)
            assert caught.value.failure == about["fails"]
            return
        self.provider.apply(host.writer(), self.desired_of(case), step)
        assert isinstance(self.see(case, host), Absent)
        assert not host.below(case.name, limit=1).paths


def _without_words(observation: Observation) -> Observation:
    """Take the sentences out of what could not be observed."""
    if isinstance(observation, Unobservable):
        assert observation.detail.endswith(".")
        return evolve(observation, detail="")
    fields: dict[str, FieldValue] = {
        name: evolve(value, detail="") if isinstance(value, Unobservable) else value
        for name, value in observation.fields.items()
    }
    return evolve(observation, fields=fields)


def _compare_after(case: PathCase, host: FakeHost) -> None:
    if "done" in case.data:
        assert [entry.method for entry in host.journal] == case.data["done"]
    if "attributes_set" in case.data:
        assert host.journal[-1].attributes == case.data["attributes_set"]
    assert not [path for path in case.data.get("gone", ()) if path in host.files]
    assert not [path for path in case.data.get("stays", ()) if path not in host.files]
    file = host.files[case.name]
    about = case.data.get("after", {})
    expected = {"text": file.data.decode("utf-8", "replace"), "hex": file.data.hex(), "mode": file.mode}
    expected |= {"uid": str(file.uid), "gid": str(file.gid), "kind": file.kind.value, "link": file.link}
    assert {key: str(value) for key, value in about.items()} == {key: expected[key] for key in about}
