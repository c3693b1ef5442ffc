"""The cases of `fixtures/cases/{cron,package_source,timer}`: files that a resource says whole; read and checked."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from attrs import frozen

from datum.model.content import Content, blob_id
from datum.model.manifest import AttributeValue
from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum.provider.contract import AnyProvider
from datum.provider.host import FileKind, HostError
from datum.testing.cases import ConformanceCase
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from datum.testing.world import Check, FakeFile

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
KEYS: Final = frozenset(
    {"about", "name", "attributes", "users", "directories", "files", "links", "residues", "checks", "manager", "denied"}
    | {"observed", "step", "hazards", "done", "after", "gone", "stays", "fails", "remarks", "deleted", "caller"}
)


@frozen
class WholeCase:
    """One file of a folder."""

    title: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        return {key: _attribute(key, value) for key, value in self.data["attributes"].items()}

    @property
    def operation(self) -> Operation | None:
        return Operation(self.data["step"]["operation"]) if self.data.get("step") else None

    @property
    def is_possible(self) -> bool:
        return "fails" not in self.data and not (self.data.get("step") or {}).get("needs")

    def arrange(self, host: FakeHost) -> None:
        about = self.data
        if not about.get("manager"):
            host.remove_manager()
        for folder in about.get("directories", ()):
            host.add_directory(folder)
        for path, file in about.get("files", {}).items():
            host.add(path, _file(file))
        for path, end in about.get("links", {}).items():
            host.add_link(path, end)
        for name, uid in about.get("users", {}).items():
            host.add_user(name, uid)
        host.world.residues.update(about.get("residues", ()))
        for program, refused in about.get("checks", {}).items():
            host.add_check(program, _refusing(refused.encode()))
        for method in about.get("denied", ()):
            host.fail(HostError("It is denied."), method=method)

    def make_host(self) -> FakeHost:
        host = FakeHost(caller=tuple(self.data.get("caller", (0, 0))))
        self.arrange(host)
        return host

    def conformance(self) -> ConformanceCase:
        return ConformanceCase(
            self.title,
            self.name,
            self.attributes,
            self.operation,
            self.arrange,
            converges=self.is_possible,
            can_delete=self.data.get("deleted", True),
        )


def read_cases(type_name: str) -> tuple[WholeCase, ...]:
    folder = FIXTURES / "cases" / type_name
    return tuple(
        WholeCase(path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.yaml"))
    )


def conformance_cases(type_name: str) -> tuple[ConformanceCase, ...]:
    """Return those of which the suite can judge everything; it injects faults itself."""
    return tuple(
        case.conformance()
        for case in read_cases(type_name)
        if "denied" not in case.data and "caller" not in case.data and "fails" not in case.data
    )


@frozen
class Checks:
    """The checks of one type."""

    provider: AnyProvider
    cases: tuple[WholeCase, ...]

    @classmethod
    def of(cls, provider: AnyProvider) -> "Checks":
        return cls(provider, read_cases(provider.type_name))

    def with_a_step(self) -> list[WholeCase]:
        return [case for case in self.cases if case.data.get("step")]

    def with_something(self) -> list[WholeCase]:
        return [case for case in self.cases if "present" in case.data["observed"] and case.data.get("deleted", True)]

    def see(self, case: WholeCase, host: FakeHost) -> Observation:
        desired = self.provider.parse(case.name, case.attributes)
        return self.provider.observe(host.reader(), {case.name: desired})[case.name]

    def planned(self, case: WholeCase, host: FakeHost) -> Step | None:
        seen = self.see(case, host)
        assert not isinstance(seen, Unobservable), seen
        return self.provider.plan(self.provider.parse(case.name, case.attributes), seen)

    def check_keys(self, case: WholeCase) -> None:
        assert set(case.data) <= KEYS
        assert case.data["about"].endswith((".", ")."))

    def check_seen(self, case: WholeCase) -> None:
        about, found = case.data["observed"], self.see(case, case.make_host())
        if "unobservable" in about:
            assert isinstance(found, Unobservable)
            return
        kind = Present if "present" in about else Absent
        assert isinstance(found, kind)
        assert dict(found.fields) == {
            name: _value(value) for name, value in (about.get("present") or about.get("absent") or {}).items()
        }
        if isinstance(found, Present):
            assert found.holds == tuple(about.get("holds", ()))

    def check_planned(self, case: WholeCase) -> None:
        if "unobservable" in case.data["observed"]:
            return
        step, about = self.planned(case, case.make_host()), case.data.get("step")
        if step is None or about is None:
            assert step is about
            return
        assert step.operation == about["operation"]
        found = [[change.name, change.before, change.after] for change in step.changes]
        assert found == [[name, _value(before), _value(after)] for name, before, after in about["changes"]]
        assert [str(need.target) for need in step.needs] == about.get("needs", [])
        assert all(need.detail.endswith(".") for need in step.needs)
        assert step.takes == tuple(about.get("takes", ()))
        desired = self.provider.parse(case.name, case.attributes)
        assert sorted(self.provider.hazards(desired, step)) == case.data.get("hazards", [])

    def check_done(self, case: WholeCase) -> None:
        host = case.make_host()
        step = self.planned(case, host)
        assert step is not None
        writer, desired = host.writer(), self.provider.parse(case.name, case.attributes)
        if "fails" in case.data:
            with pytest.raises(HostError) as caught:
                self.provider.apply(writer, desired, step)
            assert [words for words in case.data["fails"] if words not in caught.value.detail] == []
        elif case.is_possible:
            self.provider.apply(writer, desired, step)
            assert self.planned(case, host) is None
        else:
            return
        if "done" in case.data:
            assert [f"{entry.method} {entry.subject}".strip() for entry in host.journal] == case.data["done"]
        assert writer.remarks == case.data.get("remarks", [])
        for path, text in case.data.get("after", {}).items():
            assert host.files[path].data == _bytes(text)
            assert (host.files[path].mode, host.files[path].uid) == ("0644", case.data.get("caller", [0])[0])
        assert not [path for path in case.data.get("gone", ()) if path in host.files]
        assert not [path for path in case.data.get("stays", ()) if path not in host.files]

    def check_deleted(self, case: WholeCase) -> None:
        host = case.make_host()
        seen = self.see(case, host)
        assert isinstance(seen, Present)
        self.provider.apply(host.writer(), self.provider.parse(case.name, case.attributes), deletion_of(seen))
        assert isinstance(self.see(case, host), Absent)


def _refusing(refused: bytes) -> Check:
    return lambda _argv, data: "line 1" if data == refused else ""


def _bytes(about: Any) -> bytes:
    """Return the bytes of a text, or of a file of the fixtures."""
    return (FIXTURES / about["file"]).read_bytes() if isinstance(about, dict) else str(about).encode()


def _file(about: Any) -> FakeFile:
    if isinstance(about, str):
        return FakeFile(data=about.encode())
    if "file" in about:
        return FakeFile(data=_bytes(about))
    kind = FileKind(about.get("kind", "regular"))
    data = about.get("text", "").encode()
    return FakeFile(kind, about.get("mode", "0644"), about.get("uid", 0), about.get("gid", 0), data)


def _attribute(key: str, value: Any) -> Any:
    if key == "template":
        return Content.from_bytes(value.encode(), source="templates/x")
    if key == "keys":
        return tuple(Content.from_bytes(_bytes(piece)) for piece in value)
    if isinstance(value, dict) and "file" in value:
        return _bytes(value).decode()
    return tuple(value) if isinstance(value, list) else value


def _value(value: Any) -> FieldValue:
    """Return a value: `{of: TEXT}` is the blob of a text, `{key: FILE}` the digest of a binary key, `{na: CAUSE}`."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict) and len(value) == 1:
        name, about = next(iter(value.items()))
        match name:
            case "of":
                return f"blob:{blob_id(about.encode())}"
            case "key":
                return f"sha256:{hashlib.sha256(_bytes({'file': about})).hexdigest()}"
            case "na":
                return NotApplicable(about)
            case _:
                return dict(value)
    return value  # type: ignore[no-any-return]  # what YAML has is JSON
