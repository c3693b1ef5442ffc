"""Values that name the machine, computed once the machine was observed (design 2.9). Pure."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, cast

from attrs import evolve

from datum.diagnostics import Diagnostic
from datum.errors import FleetError
from datum.fleet.expressions import ExpressionError, evaluate_late
from datum.fleet.findings import problem
from datum.fleet.templates import render_late
from datum.fleet.values import kind_of
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.manifest import AttributeValue, EffectiveManifest, Late, Resource
from datum.model.observation import Machine
from datum.model.source import SourceTree


class _AnyInterface(Mapping[str, JsonValue]):
    """An address for every name: which interfaces a machine has is not known before it is observed."""

    def __getitem__(self, key: str) -> JsonValue:
        return "192.0.2.1"

    def __iter__(self) -> Iterator[str]:
        return iter(("eth0",))

    def __len__(self) -> int:
        return 1

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str)


SAMPLE_MACHINE: Final = Machine(
    MappingProxyType(
        {
            "memory_mib": 2048,
            "cpus": 2,
            "arch": "amd64",
            "addresses": _AnyInterface(),
            "default_interface": "eth0",
            "root_disk": "/dev/sda",
            "os": "debian-12",
            "machine_id": "0123456789abcdef0123456789abcdef",
        }
    )
)
"""A machine on which every late value has a value; its addresses are of TEST-NET-1 (RFC 5737)."""


def sample_value(late: Late) -> JsonValue:
    """Return what a late value is on the sample machine.

    Raises:
        ExpressionError: it has no value there, so that it has none on any machine.
    """
    return evaluate_late(late, SAMPLE_MACHINE)


def substitute(
    manifest: EffectiveManifest, tree: SourceTree, machine: Machine
) -> tuple[EffectiveManifest, Mapping[ResourceId, Diagnostic]]:
    """Return the manifest with every late value replaced, and the resources where that was not possible.

    A resource in the second answer holds the sample machine's values instead, so that its targets and edges are
    known; it must not be acted on. The digest stays that of the manifest as declared.
    """
    resources: list[Resource] = []
    failed: dict[ResourceId, Diagnostic] = {}
    is_changed = False
    for resource in manifest.resources:
        late = {name: value for name, value in resource.attributes.items() if _is_late(value)}
        if late:
            is_changed = True
            attributes = dict(resource.attributes)
            for name, value in late.items():
                attributes[name], wrong = _concrete(value, tree, machine)
                if wrong is not None:
                    failed.setdefault(resource.id, _at(wrong, resource, name))
            resources.append(evolve(resource, attributes=MappingProxyType(attributes)))
        else:
            resources.append(resource)
    return (evolve(manifest, resources=tuple(resources)) if is_changed else manifest), MappingProxyType(failed)


def _is_late(value: AttributeValue) -> bool:
    return isinstance(value, Late) or (isinstance(value, tuple) and any(isinstance(piece, Late) for piece in value))


def _concrete(value: AttributeValue, tree: SourceTree, machine: Machine) -> tuple[AttributeValue, Diagnostic | None]:
    """Return a late field, or one with late pieces, with its values; and the first thing that is wrong."""
    if not isinstance(value, tuple):
        return _value(cast("Late", value), tree, machine)
    pairs = [_value(piece, tree, machine) if isinstance(piece, Late) else (piece, None) for piece in value]
    pieces = cast("tuple[Content, ...]", tuple(piece for piece, _ in pairs))
    return pieces, next((wrong for _, wrong in pairs if wrong is not None), None)


def _at(wrong: Diagnostic, resource: Resource, name: str) -> Diagnostic:
    """Return the diagnostic with its resource, and with the place of the field unless it knows a better one."""
    place = wrong.location
    if (place is None or not place.line) and name in resource.origins:
        place = resource.origins[name].winner.location
    return evolve(wrong, resource=str(resource.id), location=place)


def _value(late: Late, tree: SourceTree, machine: Machine) -> tuple[AttributeValue, Diagnostic | None]:
    try:
        return _compute(late, tree, machine), None
    except (ExpressionError, FleetError) as error:
        wrong = error.diagnostic if isinstance(error, ExpressionError) else error.diagnostics[0]
    try:
        return _compute(late, tree, SAMPLE_MACHINE), wrong
    except (ExpressionError, FleetError):
        is_content = late.template or late.is_content
        return (Content.from_bytes(b"", source=late.template) if is_content else late.text), wrong


def _compute(late: Late, tree: SourceTree, machine: Machine) -> AttributeValue:
    if late.template:
        data = render_late(tree, late, machine)
        return Content.from_bytes(data, source=late.template, algorithm=tree.revision.algorithm)
    value = evaluate_late(late, machine)
    if not late.is_content:
        return value
    if not isinstance(value, str):
        raise ExpressionError(problem("wrong-type", None, f"'{late.text}' is {kind_of(value)}, not a string."))
    return Content.from_bytes(value.encode(errors="surrogateescape"), algorithm=tree.revision.algorithm)
