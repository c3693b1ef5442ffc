"""One layer's declarations for one host: `when`, `for_each`, expressions in ids and values (design 2.2, 2.3). Pure."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.fleet.common import COMMON_SHAPES, REFERENCE_FIELDS, wrong_common
from datum.fleet.declared import Declared
from datum.fleet.evaluation import Evaluator
from datum.fleet.expressions import Scope
from datum.fleet.findings import Findings, problem
from datum.fleet.merge import UNKNOWN, Declaration, References
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar
from datum.fleet.resource_schema import ResourceTypes
from datum.fleet.shape import TEXT, TEXTS
from datum.fleet.values import Placed, Value, kind_of, plain_value
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.manifest import Late

_EACH_KEY: Final = re.compile(r"\$\{[^}]*\beach\s*(\.\s*key\b|\[\s*['\"]key['\"]\s*\])")
_NO_REFERENCES: Final["Mapping[str, References | None]"] = MappingProxyType({})
_NO_REMOVALS: Final[Mapping[str, frozenset[ResourceId]]] = MappingProxyType({})


@frozen
class Layer:
    """Whose declarations are expanded."""

    # Greater is stronger.
    rank: int
    # `base`, `role/web`, `host/web1`.
    label: str
    scope: Scope


@frozen
class Expansion:
    """What one file declares for this host."""

    declarations: tuple[Declaration, ...]
    # Ids whose declaration is switched off by `when`, and where.
    off: Mapping[ResourceId, SourceLocation]


def expand(layer: Layer, declared: tuple[Declared, ...], types: ResourceTypes, findings: Findings) -> Expansion:
    """Evaluate the declarations of one file."""
    found: dict[ResourceId, Declaration] = {}
    off: dict[ResourceId, SourceLocation] = {}
    for one in declared:
        if one.when is not None and _is_surely_off(one.when, layer.scope):
            # What is off may use what only other hosts have: nothing that is wrong with its ids matters here.
            off |= {resource: one.location for resource, _ in _instances(one, layer.scope, types, Findings())}
            continue
        for resource, scope in _instances(one, layer.scope, types, findings):
            if one.is_wrong:
                findings.tainted.add(resource)
            if one.when is not None and not _is_on(one.when, resource, scope, findings):
                off[resource] = one.location
                continue
            if resource in found:
                detail = f"{resource} is declared here and at {found[resource].location}."
                related = (("first", found[resource].location),)
                hint = "Put the fields into one declaration."
                wrong = problem("duplicate-resource", one.location, detail, hint=hint, related=related)
                findings.add(wrong, resource)
                continue
            own = layer if scope is layer.scope else evolve(layer, scope=scope)
            found[resource] = _declaration(one, resource, own, types, findings)
    return Expansion(tuple(found.values()), off)


def _instances(
    one: Declared, scope: Scope, types: ResourceTypes, findings: Findings
) -> Iterator[tuple[ResourceId, Scope]]:
    """Give every id that a declaration stands for, with what its expressions see."""
    if one.for_each is None:
        resource = one.id or _evaluate_id(one, scope, types, findings)
        if resource is not None:
            yield resource, scope
        return
    if not _EACH_KEY.search(one.text):
        detail = f"'{one.text}' has for_each, so its id must hold each.key to tell its instances apart."
        hint = f"Write it into the id: {one.schema.name}:…${{each.key}}…"
        findings.extend((problem("each-key-missing", one.location, detail, hint=hint, resource=one.text),))
        return
    for key, value in _each(one.for_each, one.text, scope, findings):
        inner = {**scope, "each": {"key": key, "value": value}}
        resource = _evaluate_id(one, inner, types, findings)
        if resource is not None:
            yield resource, inner


def _each(node: Node, text: str, scope: Scope, findings: Findings) -> Iterator[tuple[str, JsonValue]]:
    """Give the key and value of every turn of `for_each`; `text` is the id as written."""
    evaluator = Evaluator(scope)
    value = plain_value(evaluator.value(node)) if isinstance(node, MapNode) else evaluator.json(node)
    if evaluator.problems:
        findings.extend(evaluator.problems, text=text)
        return
    if isinstance(value, Mapping):
        yield from value.items()
        return
    if isinstance(value, str) or not isinstance(value, (tuple, list)):
        detail = f"for_each is a map or a list of strings, not {kind_of(value)}."
        findings.extend((problem("wrong-type", node.location, detail, resource=text),))
        return
    if not all(isinstance(item, str) for item in value) or len(set(value)) != len(value):
        detail = "A list for for_each holds distinct strings; use a map to give other values."
        findings.extend((problem("bad-value", node.location, detail, resource=text),))
        return
    yield from ((str(item), item) for item in value)


def _evaluate_id(one: Declared, scope: Scope, types: ResourceTypes, findings: Findings) -> ResourceId | None:
    evaluator = Evaluator(scope)
    text = evaluator.value(Scalar(one.text, one.text, one.location), TEXT)
    if isinstance(text, Late):
        evaluator.refuse_late(one.location)
    if evaluator.problems:
        findings.extend(evaluator.problems, text=one.text)
        return None
    resource, wrong = types.identify(str(text), one.location)
    if wrong is not None:
        findings.is_incomplete |= resource is None
        findings.add(wrong, resource)
    return resource


def _is_on(node: Node, resource: ResourceId, scope: Scope, findings: Findings) -> bool:
    """Evaluate `when`; one that cannot be is taken for true, so that nothing else is said of what it gates."""
    evaluator = Evaluator(scope)
    value = evaluator.json(node)
    if not evaluator.problems and not isinstance(value, bool):
        detail = f"'when' is {kind_of(value)}, and true or false is wanted."
        hint = "Compare: when: \"${var.name == 'value'}\""
        evaluator.problems.append(problem("wrong-type", node.location, detail, hint=hint))
    for found in evaluator.problems:
        findings.add(found, resource)
    return bool(evaluator.problems) or value is True


def _is_surely_off(node: Node, scope: Scope) -> bool:
    """Tell whether `when` is false whatever `each` is."""
    evaluator = Evaluator(scope)
    return evaluator.json(node) is False and not evaluator.problems


def _declaration(
    one: Declared, resource: ResourceId, layer: Layer, types: ResourceTypes, findings: Findings
) -> Declaration:
    evaluator = Evaluator(layer.scope)
    shapes = one.schema.shapes
    fields: dict[str, Placed] = {}
    references: dict[str, References | None] = {}
    problems = evaluator.problems
    for name, node in one.fields.items():
        before = len(problems)
        if name in REFERENCE_FIELDS:
            placed, references[name] = _reference_field(node, name, types, evaluator)
        elif name in COMMON_SHAPES:
            placed = _common(node, name, one, types, evaluator)
        elif name in shapes:
            placed = _own(node, name, one, evaluator)
        else:
            continue
        if len(problems) == before:
            fields[name] = placed
        elif name == "absent":
            fields[name] = Placed(UNKNOWN, node.location)
        else:
            references.pop(name, None)
    without = {
        name: frozenset(_references(node, evaluator.value(node), types, problems) or ())
        for name, node in one.without.items()
    }
    _check_whole(fields, references, without, problems)
    for found in problems:
        findings.add(found, resource)
    return Declaration(
        resource,
        layer.rank,
        layer.label,
        one.location,
        fields,
        references or _NO_REFERENCES,
        one.override,
        without or _NO_REMOVALS,
        layer.scope,
        one.is_null,
    )


def _own(node: Node, name: str, one: Declared, evaluator: Evaluator) -> Placed:
    """Evaluate a field of the type."""
    shape = one.schema.shapes[name]
    value = evaluator.value(node, shape, what=f"{name}: ")
    if isinstance(value, Late) and (shape.content or shape.removes):
        evaluator.refuse_late(node.location)
        value = None
    return Placed(value, node.location)


def _common(node: Node, name: str, one: Declared, types: ResourceTypes, evaluator: Evaluator) -> Placed:
    """Evaluate and check a field of every type."""
    value = evaluator.value(node, COMMON_SHAPES[name], what=f"{name}: ")
    if isinstance(value, Late):
        evaluator.refuse_late(node.location)
        value = None
    if value is None:
        return Placed(value, node.location)
    wrong = wrong_common(name, plain_value(value), one.schema.enforced)
    if wrong is not None:
        code, detail, hint = wrong
        evaluator.problems.append(problem(code, node.location, detail, hint=hint))
    elif name == "moved":
        _, diagnostic = types.identify(str(value), node.location)
        evaluator.problems.extend(filter(None, (diagnostic,)))
    return Placed(value, node.location)


def _reference_field(
    node: Node, name: str, types: ResourceTypes, evaluator: Evaluator
) -> "tuple[Placed, References | None]":
    """Evaluate a reference list: as it is said, and as ids with their places."""
    value = evaluator.value(node, TEXTS, what=f"{name}: ")
    if isinstance(value, Late):
        evaluator.refuse_late(node.location)
        value = None
    return Placed(value, node.location), _references(node, value, types, evaluator.problems)


def _references(
    node: Node, value: Value, types: ResourceTypes, problems: list[Diagnostic]
) -> dict[ResourceId, SourceLocation] | None:
    """Return the ids of a reference list with their places; None for null, or a list that was noted as wrong."""
    if value is None:
        return None
    if not isinstance(value, (tuple, list)):
        detail = "A list of resource ids is wanted."
        hint = f"Write [{value}]" if isinstance(value, str) else ""
        problems.append(problem("wrong-type", node.location, detail, hint=hint))
        return None
    items = node.items if isinstance(node, ListNode) else ()
    found: dict[ResourceId, SourceLocation] = {}
    for index, item in enumerate(value):
        place = items[index].location if index < len(items) else node.location
        if isinstance(item, str):
            resource, wrong = types.identify(item, place)
            problems.extend(filter(None, (wrong,)))
            if resource is not None:
                found.setdefault(resource, place)
        elif item is not None or not problems:
            problems.append(problem("wrong-type", place, f"A resource id is wanted, not {kind_of(item)}."))
    return found


def _check_whole(
    fields: Mapping[str, Placed],
    references: "Mapping[str, References | None]",
    without: Mapping[str, frozenset[ResourceId]],
    problems: list[Diagnostic],
) -> None:
    """Check what one declaration says as a whole."""
    absent = fields.get("absent")
    if absent is not None and absent.value is True:
        own = sorted(name for name, (value, _) in fields.items() if name not in COMMON_SHAPES and value is not None)
        if own:
            detail = f"Nothing can be absent and have {', '.join(own)}."
            hint = "Remove the fields, or absent: true."
            problems.append(problem("absent-with-fields", absent.location, detail, hint=hint))
    for name, removed in without.items():
        for item in sorted(removed & (references.get(name) or {}).keys()):
            detail = f"{name} names {item}, and without.{name} takes it out."
            problems.append(problem("bad-value", (references[name] or {})[item], detail, hint="Remove one of the two."))
