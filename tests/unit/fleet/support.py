"""A small fleet in memory and two resource types with nothing behind them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

from datum.errors import FleetError
from datum.fleet.resolve import resolve_manifest
from datum.model.graph import Target
from datum.model.identity import HostName
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, EffectiveManifest, Hazard, Resource
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import (
    CONTRACT_VERSION,
    AnyProvider,
    DesiredError,
    FieldClass,
    ImplicitEdge,
    Removal,
    TargetIndex,
)
from datum.provider.host import HostReader, HostWriter
from datum.testing.trees import MemoryTree, TreeFile

FLEET_ID: Final = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
HEADER: Final = f"datum: 1\nfleet: {FLEET_ID}\nlayers: [base, role, site]\n"
HOST: Final = HostName("web1")


class ThingProvider:
    """A type with a field of every kind; names are lower case."""

    type_name: ClassVar[str] = "thing"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "number": {"type": "integer", "minimum": 0, "description": "How many."},
            "flag": {"type": "boolean"},
            "clears": {"type": "boolean", "x-datum": "removes"},
            "list": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
            "level": {"enum": ["low", "high"]},
            "mode": {"type": "string", "pattern": "^[0-7]{4}$", "x-datum": "quoted"},
            "source": {"type": "string", "x-datum": "source"},
            "template": {"type": "string", "x-datum": "template"},
            "folder": {"type": "string", "x-datum": "folder"},
            "assemble": {"type": "string", "x-datum": "slot"},
            "parts": {
                "type": "array",
                "minItems": 1,
                "x-datum": "parts",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "minProperties": 1,
                    "maxProperties": 1,
                    "properties": {
                        "content": {"type": "string", "not": {"const": "never"}},
                        "source": {"type": "string", "x-datum": "source"},
                        "template": {"type": "string", "x-datum": "template"},
                    },
                },
            },
            "restart_on": {"type": "array", "items": {"type": "string"}},
            "guards": {"type": "array", "items": {"type": "string"}},
            "any": {},
        },
    }
    fields: ClassVar[Mapping[str, FieldClass]] = MappingProxyType(
        {"text": FieldClass.ENFORCED, "map": FieldClass.ENFORCED, "list": FieldClass.INSTRUCTION}
    )
    apply_deadline: ClassVar[float] = 1.0
    observe_deadline: ClassVar[float] = 1.0

    def normal_name(self, name: str) -> str:
        if " " in name:
            raise DesiredError("", "a name has no spaces", hint="Use -", code="bad-name")
        return name.lower()

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> object:
        raise NotImplementedError

    def targets(self, desired: object) -> tuple[Target, ...]:
        raise NotImplementedError

    def edges(self, desired: object, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        raise NotImplementedError

    def observe(self, reader: HostReader, desired: Mapping[str, object]) -> Mapping[str, Observation]:
        raise NotImplementedError

    def plan(self, desired: object, observed: Present | Absent) -> Step | None:
        raise NotImplementedError

    def effects(self, desired: object, step: Step) -> tuple[Effect, ...]:
        raise NotImplementedError

    def hazards(self, desired: object, step: Step) -> frozenset[Hazard]:
        raise NotImplementedError

    def apply(self, writer: HostWriter, desired: object, step: Step) -> None:
        raise NotImplementedError

    def removal(self, desired: object) -> Removal:
        raise NotImplementedError

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        raise NotImplementedError


class StrictProvider(ThingProvider):
    """A type whose schema asks for more."""

    type_name: ClassVar[str] = "strict"
    schema: ClassVar[JsonObject] = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "one": {}, "two": {}},
        "required": ["text"],
        "oneOf": [{"required": ["one"]}, {"required": ["two"]}],
    }


PROVIDERS: Final[Mapping[str, AnyProvider]] = {"thing": ThingProvider(), "strict": StrictProvider()}


def memory_tree(files: Mapping[str, TreeFile]) -> MemoryTree:
    """Return a tree; fleet.yaml is there unless the files bring one."""
    return MemoryTree({"fleet.yaml": HEADER, "hosts/web1.yaml": "", **files})


def resolve(files: Mapping[str, TreeFile], host: HostName = HOST) -> EffectiveManifest:
    """Resolve one host of a fleet in memory."""
    return resolve_manifest(memory_tree(files), host, PROVIDERS, agent_version="0.1.0")


def resolve_host(text: str, **files: TreeFile) -> EffectiveManifest:
    """Resolve a host whose file has this text."""
    return resolve({"hosts/web1.yaml": text, **files})


def only(manifest: EffectiveManifest) -> Resource:
    """Return the one resource of a manifest."""
    assert len(manifest.resources) == 1
    return manifest.resources[0]


def thing(text: str) -> Resource:
    """Return the resource that a host file with `thing:a: {…}` declares."""
    return only(resolve_host(f"resources:\n  thing:a: {{{text}}}\n"))


def errors(files: Mapping[str, TreeFile], host: HostName = HOST) -> Sequence[tuple[str, str]]:
    """Return code and place of everything that is wrong for a host."""
    return [(found.code, str(found.location)) for found in diagnostics(files, host)]


def diagnostics(files: Mapping[str, TreeFile], host: HostName = HOST) -> Sequence[Any]:
    """Return everything that is wrong for a host; nothing wrong is an error of the test."""
    try:
        resolve(files, host)
    except FleetError as error:
        return error.diagnostics
    raise AssertionError("nothing is wrong")


def host_errors(text: str) -> Sequence[tuple[str, str]]:
    """Return code and place (without the file) of everything that is wrong with a host file."""
    return [(code, place.removeprefix("hosts/web1.yaml:")) for code, place in errors({"hosts/web1.yaml": text})]


def thing_error(text: str) -> tuple[str, str, str]:
    """Return code, detail and hint of the one thing that is wrong with `thing:a: {…}` in a host file."""
    found = diagnostics({"hosts/web1.yaml": f"resources:\n  thing:a: {{{text}}}\n"})
    assert len(found) == 1, found
    return found[0].code, found[0].detail, found[0].hint


def layered(base: str, role: str = "", host: str = "", **more: str) -> Mapping[str, TreeFile]:
    """Return a fleet whose default members and host file have these texts; `more` are members of the layer role."""
    files: dict[str, TreeFile] = {
        "layers/base/default.yaml": base,
        "layers/role/default.yaml": role,
        "hosts/web1.yaml": host,
    }
    if more:
        files["hosts/web1.yaml"] = f"layers: {{role: [{', '.join(more)}]}}\n{host}"
        files |= {f"layers/role/{name}.yaml": text for name, text in more.items()}
    return files
