"""The conformance suite passes a provider that keeps the contract, and finds each way of breaking it."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest
from attrs import frozen

from datum.model.content import Content
from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import AnyProvider, DesiredError, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import (
    Command,
    CommandOutcome,
    FileFacts,
    FileWrite,
    HostError,
    HostReader,
    HostWriter,
    Missing,
)
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum.testing.host import FakeHost


@frozen
class DesiredNote:
    name: str
    text: str | None


class NoteProvider:
    """A file below /etc/notes per name: a type that is as small as one can be."""

    type_name: ClassVar[str] = "note"
    contract_version: ClassVar[int] = 1
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"text": {"type": "string", "description": "What it says."}},
    }
    fields: ClassVar[Mapping[str, FieldClass]] = {"text": FieldClass.ENFORCED}
    apply_deadline: ClassVar[float] = 10.0
    observe_deadline: ClassVar[float] = 10.0

    def normal_name(self, name: str) -> str:
        return name.lower()

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredNote:
        text = attributes.get("text")
        if text is not None and (not isinstance(text, str) or not text.isascii()):
            raise DesiredError("text", "only ASCII is known here.")
        return DesiredNote(name, text)

    def targets(self, desired: DesiredNote) -> tuple[Target, ...]:
        return (Target("path", f"/etc/notes/{desired.name}"),)

    def edges(self, desired: DesiredNote, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        parent = index.nearest_parent(f"/etc/notes/{desired.name}")
        return (ImplicitEdge(parent, "parent directory"),) if parent else ()

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredNote]) -> Mapping[str, Observation]:
        return {name: self._look(reader, name) for name in desired}

    def _look(self, reader: HostReader, name: str) -> Observation:
        try:
            if isinstance(reader.examine(f"/etc/notes/{name}"), Missing):
                return Absent()
            text = reader.read_file(f"/etc/notes/{name}", limit=999)
        except HostError as error:
            return error.unobservable()
        return Present({"text": text.decode()})

    def plan(self, desired: DesiredNote, observed: Present | Absent) -> Step | None:
        if isinstance(observed, Absent):
            return Step(Operation.CREATE, (Change("text", None, desired.text or ""),))
        before = observed.fields["text"]
        assert isinstance(before, str)
        if desired.text in {None, before}:
            return None
        return Step(Operation.UPDATE, (Change("text", before, desired.text),))

    def effects(self, desired: DesiredNote, step: Step) -> tuple[Effect, ...]:
        return ()

    def hazards(self, desired: DesiredNote, step: Step) -> frozenset[Hazard]:
        return frozenset({Hazard.OUTAGE})

    def apply(self, writer: HostWriter, desired: DesiredNote, step: Step) -> None:
        if step.operation is Operation.DELETE:
            writer.remove_file(f"/etc/notes/{desired.name}")
        else:
            content = Content.from_bytes((desired.text or "").encode())
            writer.write_file(f"/etc/notes/{desired.name}", FileWrite(content))

    def removal(self, desired: DesiredNote) -> Removal:
        return Removal.KEEP

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        text = observed.fields["text"]
        if text == "secret":
            raise DesiredError("", "this one is not told.")
        assert isinstance(text, str)
        return {"text": text}


def with_note(name: str, text: str) -> Callable[[FakeHost], None]:
    return lambda host: host.add_file(f"/etc/notes/{name}", text.encode())


CASES = (
    ConformanceCase("new", "a", {"text": "x"}, Operation.CREATE),
    ConformanceCase("other text", "b", {"text": "x"}, Operation.UPDATE, with_note("b", "y")),
    ConformanceCase("in sync", "c", {"text": "x"}, None, with_note("c", "x")),
    ConformanceCase("not told", "d", {}, None, with_note("d", "secret")),
    ConformanceCase("held fast", "e", {"text": "x"}, Operation.CREATE, converges=False, can_delete=False),
)


class TestNote(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = NoteProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = CASES

    def make_host(self) -> FakeHost:
        return FakeHost(folders=("/etc/notes",))


def run(suite: type[ProviderConformance]) -> list[str]:
    """Return the names of the tests that fail."""
    failed = []
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                getattr(suite(), name)()
            except Exception:
                failed.append(name)
    return failed


def broken(**members: Any) -> type[ProviderConformance]:
    provider = type("Broken", (NoteProvider,), members)
    return type("Suite", (TestNote,), {"provider_class": provider})


def _raise_in_observe(self: NoteProvider, reader: HostReader, desired: Mapping[str, DesiredNote]) -> Any:
    return {name: Present({"text": reader.read_file(f"/etc/notes/{name}", limit=9).decode()}) for name in desired}


def _forgetful(self: NoteProvider, reader: HostReader, desired: Mapping[str, DesiredNote]) -> Any:
    return dict(list(NoteProvider.observe(self, reader, desired).items())[:1])


def _chatty(self: NoteProvider, reader: HostReader, desired: Mapping[str, DesiredNote]) -> Any:
    return {"other": Absent(), **NoteProvider.observe(self, reader, desired)}


def _absent_when_unreadable(self: NoteProvider, reader: HostReader, name: str) -> Observation:
    found = NoteProvider._look(self, reader, name)
    return Absent() if isinstance(found, Unobservable) else found


def _all_or_nothing(self: NoteProvider, reader: HostReader, desired: Mapping[str, DesiredNote]) -> Any:
    found = NoteProvider.observe(self, reader, desired)
    bad = [value for value in found.values() if isinstance(value, Unobservable)]
    return dict.fromkeys(found, bad[0]) if bad else found


def _stateful(self: Any, desired: DesiredNote) -> Removal:
    self.count = getattr(self, "count", 0) + 1
    return Removal.KEEP


def _writes_while_looking(self: NoteProvider, reader: Any, name: str) -> Observation:
    reader._world.files[f"/etc/notes/{name}.seen"] = reader._world.files["/etc"]
    return NoteProvider._look(self, reader, name)


def _not_json(self: NoteProvider, reader: HostReader, name: str) -> Observation:
    found = NoteProvider._look(self, reader, name)
    return Present({**found.fields, "raw": b"x"}) if isinstance(found, Present) else found


def _step(operation: Operation, *changes: Change) -> Callable[..., Step]:
    return lambda self, desired, observed: Step(operation, changes)


def _swallow(self: NoteProvider, writer: HostWriter, desired: DesiredNote, step: Step) -> None:
    with contextlib.suppress(HostError):
        NoteProvider.apply(self, writer, desired, step)


def _keep_when_deleting(self: NoteProvider, writer: HostWriter, desired: DesiredNote, step: Step) -> None:
    if step.operation is not Operation.DELETE:
        NoteProvider.apply(self, writer, desired, step)


def _other_failure(self: NoteProvider, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredNote:
    text = attributes.get("text")
    return DesiredNote(name, text.encode("ascii").decode() if isinstance(text, str) else None)


def _wrong_field(self: NoteProvider, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredNote:
    try:
        return NoteProvider.parse(self, name, attributes)
    except DesiredError as error:
        raise DesiredError("txt", error.detail) from error


def _always_new(self: NoteProvider, desired: DesiredNote) -> Any:
    return (object(),)


BREACHES: list[tuple[dict[str, Any], str]] = [
    ({"type_name": "Note"}, "test_is_what_the_registry_accepts"),
    ({"contract_version": 2}, "test_is_what_the_registry_accepts"),
    ({"apply_deadline": 0.0}, "test_is_what_the_registry_accepts"),
    ({"adopt": None}, "test_is_what_the_registry_accepts"),
    ({"fields": {}}, "test_is_what_the_registry_accepts"),
    ({"schema": {}}, "test_is_what_the_registry_accepts"),
    ({"schema": []}, "test_schema_is_one"),
    ({"schema": {"properties": {"text": {"type": "strong"}}}}, "test_schema_is_one"),
    ({"schema": {"properties": {"text": {"maxLength": 0}}}}, "test_schema_is_one"),
    ({"parse": _other_failure}, "test_parse_answers_for_whatever_the_schema_lets_through"),
    ({"parse": _wrong_field}, "test_parse_answers_for_whatever_the_schema_lets_through"),
    ({"normal_name": lambda self, name: name.upper()}, "test_normal_names_are_their_own_normal_form"),
    ({"removal": _stateful}, "test_pure_functions_are_pure"),
    ({"targets": _always_new}, "test_pure_functions_are_pure"),
    ({"targets": lambda self, desired: ["x"]}, "test_answers_have_the_types_of_the_contract"),
    ({"targets": lambda self, desired: ("x",)}, "test_answers_have_the_types_of_the_contract"),
    ({"removal": lambda self, desired: "keep"}, "test_answers_have_the_types_of_the_contract"),
    ({"hazards": lambda self, desired, step: {"loss"}}, "test_answers_have_the_types_of_the_contract"),
    ({"observe": _forgetful}, "test_observe_answers_exactly_what_it_was_asked"),
    ({"observe": _chatty}, "test_observe_answers_exactly_what_it_was_asked"),
    ({"_look": _writes_while_looking}, "test_observing_changes_nothing"),
    ({"_look": _not_json}, "test_observing_changes_nothing"),
    ({"plan": _step(Operation.UPDATE)}, "test_plan_answers_the_operation_of_the_case"),
    ({"plan": _step(Operation.CREATE, Change("text", 1, 1))}, "test_plan_answers_the_operation_of_the_case"),
    ({"plan": _step(Operation.DELETE, Change("text", 1, 2))}, "test_plan_answers_the_operation_of_the_case"),
    ({"plan": lambda self, desired, observed: None}, "test_plan_answers_the_operation_of_the_case"),
    ({"apply": lambda self, writer, desired, step: None}, "test_applied_steps_leave_nothing_to_do"),
    ({"apply": _keep_when_deleting}, "test_deleted_is_absent"),
    ({"observe": _raise_in_observe}, "test_what_cannot_be_looked_at_is_unobservable"),
    ({"_look": _absent_when_unreadable}, "test_what_cannot_be_looked_at_is_unobservable"),
    ({"observe": _all_or_nothing}, "test_failures_spoil_no_neighbour"),
    ({"apply": _swallow}, "test_failed_actions_raise_and_can_be_repeated"),
    ({"adopt": lambda self, name, observed: {"text": 1}}, "test_what_is_adopted_is_in_sync"),
    ({"adopt": lambda self, name, observed: {"text": "z"}}, "test_what_is_adopted_is_in_sync"),
]


@pytest.mark.parametrize(
    ("members", "caught_by"),
    BREACHES,
    ids=[f"{number}-{next(iter(members))}" for number, (members, _) in enumerate(BREACHES)],
)
def test_each_breach_is_found(members: dict[str, Any], caught_by: str) -> None:
    assert caught_by in run(broken(**members))


def test_a_type_that_must_declare_something_adopts_by_its_cases_only() -> None:
    def parse(self: NoteProvider, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredNote:
        if not attributes:
            raise DesiredError("", "say something.")
        return NoteProvider.parse(self, name, attributes)

    suite = broken(parse=parse)
    suite.cases = tuple(case for case in CASES if case.attributes)
    assert run(suite) == []


def test_a_mislabelled_command_is_found() -> None:
    def look(self: NoteProvider, reader: HostReader, name: str) -> Observation:
        reader.query(Command(("rm", "-rf", "/"), 1))
        return NoteProvider._look(self, reader, name)

    assert "test_observing_changes_nothing" in run(broken(_look=look))


def test_fields_that_fail_alone_may_be_unobservable_alone() -> None:
    def look(self: NoteProvider, reader: HostReader, name: str) -> Observation:
        try:
            facts = reader.examine(f"/etc/notes/{name}")
        except HostError as error:
            return error.unobservable()
        if isinstance(facts, Missing):
            return Absent()
        assert isinstance(facts, FileFacts)
        try:
            return Present({"text": reader.read_file(f"/etc/notes/{name}", limit=999).decode()})
        except HostError as error:
            return Present({"text": error.unobservable()})

    assert run(broken(_look=look)) == []


def test_the_outcome_of_a_program_is_a_value() -> None:
    host = FakeHost()
    host.add_program(("true",), lambda _world: CommandOutcome(0, b"", b""))
    assert host.run(Command(("true",), 1)).exit_code == 0
