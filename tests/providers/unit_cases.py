"""The cases of `fixtures/cases/{service,unit}`: a declaration, a host with units, what follows; read and checked."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from attrs import evolve, frozen

from datum.model.content import Content, blob_id
from datum.model.manifest import AttributeValue
from datum.model.observation import Absent, Cause, FieldValue, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum.provider.contract import AnyProvider, RelatedProvider
from datum.provider.host import Command, CommandOutcome, FileKind, HostError
from datum.testing.cases import ConformanceCase
from datum.testing.host import FakeHost
from datum.testing.world import Check, FakeFile, FakeWorld
from tests.providers.index import Index

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "cases"
KEYS: Final = frozenset(
    {"about", "name", "attributes", "declared", "manager", "units", "files", "links", "journal", "fault", "caller"}
    | {
        "observed",
        "step",
        "refresh",
        "done",
        "after",
        "fails",
        "remarks",
        "conformance",
        "deleted",
        "checks",
        "unfinished",
        "gone",
    }
)
_WANTS: Final = "/etc/systemd/system/multi-user.target.wants"


@frozen
class UnitCase:
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
        if about.get("manager") is False:
            host.remove_manager()
            host.add_program("systemctl", play_systemctl)
        if about.get("manager") == "without marks":
            host.world.manager.has_marks = False
        for folder in ("/etc/systemd/system", "/usr/bin", "/usr/lib/systemd/system"):
            host.add_directory(folder)
        for path in about.get("gone", ()):
            host.world.remove(path.rpartition("/")[0])
        for path, text in about.get("files", {}).items():
            host.add(path, _file(text))
        for path, end in about.get("links", {}).items():
            host.add_link(path, end)
        for name, how in about.get("units", {}).items():
            _add_unit(host, name, dict(how))
        for name, lines in about.get("journal", {}).items():
            host.add_journal(name, *lines)
        for program, refused in about.get("checks", {}).items():
            host.add_check(program, _refusing(refused.encode()))
        if "fault" in about:
            error = HostError("The manager does not answer.", cause=Cause(about["fault"]["cause"]))
            host.fail(error, method=about["fault"]["method"])

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


def read_cases(type_name: str) -> tuple[UnitCase, ...]:
    return tuple(
        UnitCase(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted((FOLDER / type_name).glob("*.yaml"))
    )


def conformance_cases(type_name: str) -> tuple[ConformanceCase, ...]:
    """Return those of which the suite can judge everything; it injects faults itself, and declares no neighbours."""
    return tuple(
        case.conformance()
        for case in read_cases(type_name)
        if case.data.get("conformance", True) and "fault" not in case.data and "declared" not in case.data
    )


def play_systemctl(world: FakeWorld, command: Command) -> CommandOutcome:
    """Do what `systemctl --root=/` does to the links of a unit file."""
    _, root, verb, name = command.argv
    assert root == "--root=/"
    own, link = f"/etc/systemd/system/{name}", f"{_WANTS}/{name}"
    if verb == "enable":
        world.add(link, FakeFile(FileKind.SYMLINK, "0777", link=f"/usr/lib/systemd/system/{name}"))
    elif verb == "disable":
        world.remove(link)
    elif verb == "mask":
        world.add(own, FakeFile(FileKind.SYMLINK, "0777", link="/dev/null"))
    elif verb == "unmask":
        world.remove(own)
    return CommandOutcome(0, b"", b"")


def _add_unit(host: FakeHost, name: str, how: dict[str, Any]) -> None:
    if how.get("file_state") == "enabled":
        host.add_link(f"{_WANTS}/{name}", f"/usr/lib/systemd/system/{name}")
    for key in ("names", "marks"):
        if key in how:
            how[key] = frozenset(how[key])
    for key in ("triggered_by", "drop_ins", "wanted_by"):
        if key in how:
            how[key] = tuple(how[key])
    host.add_unit(name, **how)


def _refusing(refused: bytes) -> Check:
    return lambda _argv, data: "line 1" if data == refused else ""


def _file(about: Any) -> FakeFile:
    if isinstance(about, str):
        return FakeFile(data=about.encode())
    kind = FileKind(about.get("kind", "regular"))
    return FakeFile(
        kind, about.get("mode", "0644"), about.get("uid", 0), about.get("gid", 0), about.get("text", "").encode()
    )


def _attribute(key: str, value: Any) -> Any:
    if key == "parts":
        return tuple(Content.from_bytes(piece.encode()) for piece in value)
    if key in {"source", "template"}:
        return Content.from_bytes(value.encode(), source="files/x")
    return tuple(value) if isinstance(value, list) else value


@frozen
class Checks:
    """The checks of one type."""

    provider: AnyProvider
    cases: tuple[UnitCase, ...]

    @classmethod
    def of(cls, provider: AnyProvider) -> "Checks":
        return cls(provider, read_cases(provider.type_name))

    def with_a_step(self) -> list[UnitCase]:
        return [case for case in self.cases if case.data.get("step")]

    def desired_of(self, case: UnitCase) -> Any:
        desired = self.provider.parse(case.name, case.attributes)
        if isinstance(self.provider, RelatedProvider):
            desired = self.provider.relate(desired, index_of(case.data.get("declared", {})))
        return desired

    def see(self, case: UnitCase, host: FakeHost) -> Observation:
        return self.provider.observe(host.reader(), {case.name: self.desired_of(case)})[case.name]

    def planned(self, case: UnitCase, host: FakeHost) -> Step | None:
        seen = self.see(case, host)
        assert not isinstance(seen, Unobservable), seen
        return self.provider.plan(self.desired_of(case), seen)

    def check_keys(self, case: UnitCase) -> None:
        assert set(case.data) <= KEYS
        assert case.data["about"].endswith((".", ")."))

    def check_seen(self, case: UnitCase) -> None:
        about, found = case.data["observed"], self.see(case, case.make_host())
        if "unobservable" in about:
            assert isinstance(found, Unobservable)
            assert [found.cause, found.scope] == about["unobservable"]
            return
        kind = Present if "present" in about else Absent
        assert isinstance(found, kind)
        assert dict(found.fields) == _fields(about["present" if "present" in about else "absent"] or {})
        if "identity" in about and isinstance(found, Present):
            assert found.identity == about["identity"]

    def check_planned(self, case: UnitCase) -> None:
        if "unobservable" in case.data["observed"]:
            return
        step, about = self.planned(case, case.make_host()), case.data.get("step")
        if step is None or about is None:
            assert step is about
            return
        assert step.operation == about["operation"]
        found = [[change.name, _shown(change.before), _shown(change.after)] for change in step.changes]
        assert found == [[name, _value(before), _value(after)] for name, before, after in about["changes"]]
        details = [f"{need.target}: {need.detail}" for need in step.needs]
        assert len(details) == len(about.get("needs", []))
        assert all(words in detail for words, detail in zip(about.get("needs", []), details, strict=True)), details
        assert all(detail.endswith(".") for detail in details)
        assert sorted(self.provider.hazards(self.desired_of(case), step)) == about.get("hazards", [])

    def check_done(self, case: UnitCase, settle: Any = lambda _writer: None) -> None:
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
            settle(writer)
            assert self.planned(case, host) is None
        if "done" in case.data:
            assert [f"{entry.method} {entry.subject}".strip() for entry in host.journal] == case.data["done"]
        assert writer.remarks == case.data.get("remarks", [])
        for path, text in case.data.get("after", {}).items():
            file = host.files.get(path)
            assert (None if file is None else file.data.decode()) == text


def index_of(declared: Mapping[str, Any]) -> Index:
    """Return the index of resources by the target that each holds, as `kind:key`; a value `null` means declared so."""
    from datum.model.graph import Target
    from datum.model.identity import ResourceId

    holders = {}
    for target, origin in declared.items():
        kind, _, key = target.partition(" ")
        holders[Target(kind, key)] = ResourceId.parse(origin)
    return evolve(Index(), holders=holders)


def _fields(about: Mapping[str, Any]) -> dict[str, FieldValue]:
    return {name: _value(value) for name, value in about.items()}


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return NotApplicable(value["na"]) if "na" in value else f"blob:{blob_id(value['of'].encode())}"
    return value


def _shown(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
