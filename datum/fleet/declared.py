"""Resources as one file writes them, checked as far as no expression is needed. Pure.

What is found here concerns every host that the file concerns; `expand` does the rest for one host.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from datum.diagnostics import SourceLocation
from datum.fleet.common import COMMON_SHAPES, CONTROL_FIELDS, ELSEWHERE, LATER_FIELDS, REFERENCE_FIELDS
from datum.fleet.findings import Findings, listing, problem, suggestion
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar
from datum.fleet.resource_schema import ResourceSchema, ResourceTypes
from datum.fleet.schema import Checker
from datum.model.identity import ResourceId

_NOTHING: Final[Mapping[str, Node]] = MappingProxyType({})


@frozen
class Declared:
    """One entry of `resources:`."""

    # As written, maybe with expressions in its name.
    text: str
    location: SourceLocation
    schema: ResourceSchema
    # Set when the id needs no expression.
    id: ResourceId | None
    # Own and common fields, nulls included.
    fields: Mapping[str, Node]
    when: "Node | None" = None
    for_each: "Node | None" = None
    override: frozenset[str] = frozenset()
    # Reference list to the ids taken out of it, as nodes.
    without: Mapping[str, ListNode] = MappingProxyType({})
    # `type:name: null`.
    is_null: bool = False
    # Something is wrong with it and noted.
    is_wrong: bool = False


def read_declarations(node: Node, types: ResourceTypes, findings: Findings) -> tuple[Declared, ...]:
    """Read `resources:`; entries whose id cannot be known are noted and left out."""
    table = Checker(findings).table(node, "resources")
    if table is None:
        findings.is_incomplete = True
        return ()
    found = (_read_one(key, item, table.key_locations[key], types, findings) for key, item in table.items.items())
    return tuple(declared for declared in found if declared is not None)


def _read_one(
    text: str, body: Node, location: SourceLocation, types: ResourceTypes, findings: Findings
) -> Declared | None:
    before = len(findings.items)
    schema, resource = _identify(text, location, types, findings)
    if schema is None:
        findings.is_incomplete = True
        return None
    if isinstance(body, Scalar) and body.value is None and not body.ambiguity:
        return Declared(text, location, schema, resource, _NOTHING, is_null=True, is_wrong=len(findings.items) > before)
    if not isinstance(body, MapNode):
        detail = f"{text} is declared by a map of its fields."
        findings.add(problem("wrong-type", body.location, detail, hint="Write {} for none.", resource=text))
        return Declared(text, location, schema, resource, _NOTHING, is_wrong=True)
    _check_keys(text, body, schema, findings)
    items = body.items
    if CONTROL_FIELDS.isdisjoint(items):
        return Declared(text, location, schema, resource, items, is_wrong=len(findings.items) > before)
    override = _override(text, items, findings)
    without = _without(text, items, schema, findings)
    return Declared(
        text,
        location,
        schema,
        resource,
        {name: item for name, item in items.items() if name not in CONTROL_FIELDS},
        when=_said(items.get("when")),
        for_each=_said(items.get("for_each")),
        override=override,
        without=without,
        is_wrong=len(findings.items) > before,
    )


def _identify(
    text: str, location: SourceLocation, types: ResourceTypes, findings: Findings
) -> tuple[ResourceSchema | None, ResourceId | None]:
    """Return the type, and the id where no expression is in it; no type if the id is of no use."""
    kind, _, _ = text.partition(":")
    if "${" not in text:
        resource, wrong = types.identify(text, location)
        if wrong is not None:
            findings.add(wrong, resource)
        return (types.get(resource.type), resource) if resource is not None else (None, None)
    if "${" in kind:
        detail = f"'{text}' computes its type; only the name of a resource may hold an expression."
        findings.add(problem("bad-resource-id", location, detail))
        return None, None
    # Whether the type exists does not depend on the name.
    _, wrong = types.identify(f"{kind}:/x", location) if ":" in text else types.identify(text, location)
    schema = types.get(kind) if ":" in text else None
    if schema is None and wrong is not None:
        findings.add(wrong)
    return schema, None


def _check_keys(text: str, body: MapNode, schema: ResourceSchema, findings: Findings) -> None:
    shapes = schema.shapes
    for key in body.items:
        if key in shapes or key in COMMON_SHAPES or key in CONTROL_FIELDS:
            continue
        place = body.key_locations[key]
        if key in LATER_FIELDS:
            detail = f"'{key}' belongs to {LATER_FIELDS[key]}, which this version of datum does not have."
            findings.add(problem("not-in-this-version", place, detail, hint=f"Remove {key}.", resource=text))
            continue
        known = (*shapes, *COMMON_SHAPES, *CONTROL_FIELDS)
        detail = f"{schema.name} has no field '{key}'; it has {listing(shapes)}."
        hint = schema.hint_of_missing(key) or ELSEWHERE.get(key) or suggestion(key, known)
        findings.add(problem("unknown-field", place, detail, hint=hint, resource=text))


def _override(text: str, items: Mapping[str, Node], findings: Findings) -> frozenset[str]:
    node = _said(items.get("override"))
    if node is None:
        return frozenset()
    named = Checker(findings).texts(node, "override")
    for name, item in named:
        if name not in items:
            detail = f"override names the fields beside it whose value replaces weaker ones; '{name}' is not said."
            hint = f"Write {name} beside it; {name}: null to make it as if never said."
            findings.add(problem("override-without-value", item.location, detail, hint=hint, resource=text))
    return frozenset(name for name, _ in named)


def _without(
    text: str, items: Mapping[str, Node], schema: ResourceSchema, findings: Findings
) -> Mapping[str, ListNode]:
    node = _said(items.get("without"))
    if node is None:
        return MappingProxyType({})
    checker = Checker(findings)
    table = checker.table(node, "without")
    if table is None:
        return MappingProxyType({})
    known = [name for name in REFERENCE_FIELDS if name in COMMON_SHAPES or name in schema.shapes]
    taken: dict[str, ListNode] = {}
    for name, item in checker.keys(table, known, "without (lists of references)").items():
        if isinstance(item, ListNode):
            taken[name] = item
        else:
            detail = f"without.{name} is a list of resource ids."
            findings.add(problem("wrong-type", item.location, detail, resource=text))
    return taken


def _said(node: "Node | None") -> "Node | None":
    """Return the node unless it is null."""
    return None if isinstance(node, Scalar) and node.value is None and not node.ambiguity else node
