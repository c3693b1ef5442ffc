"""Cases of `fixtures/cases/<type>` that arrange a host of files, links, units and programs; read and checked.

What the types that share this module say otherwise stands in `unit_cases` and `whole_cases`.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

import pytest
import yaml
from attrs import frozen

from datum.model.content import blob_id
from datum.model.manifest import AttributeValue
from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum.provider.contract import AnyProvider, RelatedProvider, SettledProvider
from datum.provider.host import FileKind, HostError
from datum.testing.cases import ConformanceCase
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from datum.testing.world import Check, FakeFile
from tests.providers.index import index_of

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"


@frozen
class HostCase:
    """One file of a folder."""

    # What a case may say; a misspelt key would be a check that is never made.
    keys: ClassVar[frozenset[str]] = frozenset(
        {"about", "name", "attributes", "declared", "manager", "files", "links", "checks", "caller", "conformance"}
        | {"observed", "step", "done", "after", "fails", "remarks", "deleted", "unfinished"}
    )

    title: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        return {key: self.attribute(key, value) for key, value in self.data["attributes"].items()}

    @property
    def operation(self) -> Operation | None:
        return Operation(self.data["step"]["operation"]) if self.data.get("step") else None

    @property
    def is_possible(self) -> bool:
        return "fails" not in self.data and not (self.data.get("step") or {}).get("needs")

    @staticmethod
    def attribute(key: str, value: Any) -> AttributeValue:
        """Return an attribute as a manifest has it."""
        raise NotImplementedError

    def arrange(self, host: FakeHost) -> None:
        for path, file in self.data.get("files", {}).items():
            host.add(path, _file(file))
        for path, end in self.data.get("links", {}).items():
            host.add_link(path, end)
        for program, refused in self.data.get("checks", {}).items():
            host.add_check(program, _refusing(refused.encode()))

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


CaseT = TypeVar("CaseT", bound=HostCase)


def read_cases(kind: type[CaseT], type_name: str) -> tuple[CaseT, ...]:
    folder = FIXTURES / "cases" / type_name
    return tuple(
        kind(path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.yaml"))
    )


@frozen
class HostChecks(Generic[CaseT]):
    """The checks of one type."""

    case_type: ClassVar[type[Any]]

    provider: AnyProvider
    cases: tuple[CaseT, ...]

    @classmethod
    def of(cls, provider: AnyProvider) -> Self:
        return cls(provider, read_cases(cls.case_type, provider.type_name))

    def with_a_plan(self) -> list[CaseT]:
        return [case for case in self.cases if "unobservable" not in case.data["observed"]]

    def with_a_step(self) -> list[CaseT]:
        return [case for case in self.cases if case.data.get("step")]

    def with_a_deletion(self) -> list[CaseT]:
        return [case for case in self.cases if "present" in case.data["observed"] and case.data.get("deleted", True)]

    def desired_of(self, case: CaseT) -> Any:
        desired = self.provider.parse(case.name, case.attributes)
        if isinstance(self.provider, RelatedProvider):
            desired = self.provider.relate(desired, index_of(case.data.get("declared", {})))
        return desired

    def see(self, case: CaseT, host: FakeHost) -> Observation:
        return self.provider.observe(host.reader(), {case.name: self.desired_of(case)})[case.name]

    def planned(self, case: CaseT, host: FakeHost) -> Step | None:
        seen = self.see(case, host)
        assert not isinstance(seen, Unobservable), seen
        return self.provider.plan(self.desired_of(case), seen)

    def check_keys(self, case: CaseT) -> None:
        assert set(case.data) <= case.keys
        assert case.data["about"].endswith((".", ")."))

    def check_seen(self, case: CaseT) -> None:
        about, found = case.data["observed"], self.see(case, case.make_host())
        if "unobservable" in about:
            assert isinstance(found, Unobservable)
            assert [found.cause, found.scope] == about["unobservable"]
            return
        word = "present" if "present" in about else "absent"
        assert isinstance(found, Present if word == "present" else Absent)
        assert dict(found.fields) == {name: _value(value) for name, value in (about[word] or {}).items()}
        if isinstance(found, Present):
            assert found.holds == tuple(about.get("holds", ()))
            assert found.identity == about.get("identity", found.identity)

    def check_planned(self, case: CaseT) -> None:
        step, about = self.planned(case, case.make_host()), case.data.get("step")
        if step is None or about is None:
            assert step is about
            return
        assert step.operation == about["operation"]
        found = [[change.name, _plain(change.before), _plain(change.after)] for change in step.changes]
        assert found == [[name, _value(before), _value(after)] for name, before, after in about["changes"]]
        said = [f"{need.target}: {need.detail}" for need in step.needs]
        wanted = about.get("needs", [])
        assert len(said) == len(wanted)
        assert all(words in need for words, need in zip(wanted, said, strict=True)), said
        assert all(need.endswith(".") for need in said)
        assert step.takes == tuple(about.get("takes", ()))
        assert sorted(self.provider.hazards(self.desired_of(case), step)) == about.get("hazards", [])

    def check_done(self, case: CaseT) -> None:
        host = case.make_host()
        step = self.planned(case, host)
        assert step is not None
        writer = host.writer()
        if "fails" in case.data:
            with pytest.raises(HostError) as caught:
                self.provider.apply(writer, self.desired_of(case), step)
            assert [words for words in case.data["fails"] if words not in caught.value.detail] == []
        elif not case.is_possible:
            return
        elif "unfinished" in case.data:
            # What the fake does to the end is another thing than what systemd does; a real host shows it.
            with suppress(HostError):
                self.provider.apply(writer, self.desired_of(case), step)
        else:
            self.provider.apply(writer, self.desired_of(case), step)
            if isinstance(self.provider, SettledProvider):
                self.provider.settle(writer)
            assert self.planned(case, host) is None
        if "done" in case.data:
            assert [f"{entry.method} {entry.subject}".strip() for entry in host.journal] == case.data["done"]
        assert writer.remarks == case.data.get("remarks", [])
        self.check_after(case, host)

    def check_after(self, case: CaseT, host: FakeHost) -> None:
        """Compare the files that a case names: their bytes; null for one that is gone."""
        for path, about in case.data.get("after", {}).items():
            file = host.files.get(path)
            assert (None if file is None else file.data) == (None if about is None else bytes_of(about))

    def check_deleted(self, case: CaseT) -> None:
        host = case.make_host()
        seen = self.see(case, host)
        assert isinstance(seen, Present)
        self.provider.apply(host.writer(), self.desired_of(case), deletion_of(seen))
        assert isinstance(self.see(case, host), Absent)


def bytes_of(about: Any) -> bytes:
    """Return the bytes of a text, or of a file of the fixtures."""
    return (FIXTURES / about["file"]).read_bytes() if isinstance(about, dict) else str(about).encode()


def _refusing(refused: bytes) -> Check:
    return lambda _argv, data: "line 1" if data == refused else ""


def _file(about: Any) -> FakeFile:
    if isinstance(about, str) or "file" in about:
        return FakeFile(data=bytes_of(about))
    kind = FileKind(about.get("kind", "regular"))
    data = about.get("text", "").encode()
    return FakeFile(kind, about.get("mode", "0644"), about.get("uid", 0), about.get("gid", 0), data)


def _value(value: Any) -> FieldValue:
    """Return a value: `{of: TEXT}` is the blob of a text, `{key: FILE}` the digest of a binary key, `{na: CAUSE}`."""
    if isinstance(value, dict) and len(value) == 1:
        name, about = next(iter(value.items()))
        match name:
            case "of":
                return f"blob:{blob_id(about.encode())}"
            case "key":
                return f"sha256:{hashlib.sha256(bytes_of({'file': about})).hexdigest()}"
            case "na":
                return NotApplicable(about)
            case _:
                return dict(value)
    return _plain(value)  # type: ignore[no-any-return]  # what YAML has is JSON


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
