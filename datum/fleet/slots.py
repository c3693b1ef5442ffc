"""Slots: layers and hosts contribute to one content that one resource holds (design 2.5). Pure."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from attrs import define, evolve, field, frozen

from datum.diagnostics import SourceLocation
from datum.fleet.evaluation import Evaluator
from datum.fleet.expressions import ExpressionError, Scope
from datum.fleet.findings import Findings, listing, problem, suggestion
from datum.fleet.late import sample_value
from datum.fleet.merge import Said, merge_says
from datum.fleet.nodes import MapNode, Node, Scalar
from datum.fleet.schema import Checker
from datum.fleet.shape import TEXT
from datum.fleet.values import Placed, Table, Value, kind_of, plain_value
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.manifest import Late
from datum.model.provenance import FieldOrigin, Say

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WEAKEST: Final = -1


@frozen
class Contribution:
    """What one file contributes to all slots, evaluated."""

    # Greater is stronger.
    rank: int
    # As `Say.layer`.
    label: str
    # Slot to a map of key to text; null takes back what weaker files say.
    table: Table


@define
class Slots:
    """What is contributed to the slots of one host, and who holds them."""

    # By slot and key, both in order.
    entries: Mapping[str, Mapping[str, Placed]]
    # Who said what of each key.
    origins: Mapping[str, Mapping[str, FieldOrigin]]
    holders: dict[str, tuple[ResourceId, SourceLocation]] = field(factory=dict)

    def hold(
        self, slot: str, resource: ResourceId, location: SourceLocation, algorithm: str, findings: Findings
    ) -> Content | Late | None:
        """Give a slot to a resource: its texts by key, each ended by one newline. None: it has a holder, noted."""
        first, place = self.holders.setdefault(slot, (resource, location))
        if (first, place) != (resource, location):
            detail = f"{resource} holds the slot '{slot}', and {first} holds it too; one resource does."
            related = ((str(first), place),)
            hint = "Remove one of the two, or make a slot of another name."
            findings.add(problem("slot-held-twice", location, detail, hint=hint, related=related), resource)
            return None
        texts = [placed.value for _, placed in sorted(self.entries.get(slot, {}).items())]
        late = [text for text in texts if isinstance(text, Late)]
        if not late:
            joined = "".join(_line(str(text)) for text in texts)
            return Content.from_bytes(joined.encode(), algorithm=algorithm)
        scope = {name: value for text in late for name, value in text.scope.items()}
        written = (text.text if isinstance(text, Late) else str(text).replace("${", "$${") for text in texts)
        return Late("".join(map(_line, written)), MappingProxyType(dict(sorted(scope.items()))), is_content=True)

    def note_unheld(self, findings: Findings) -> None:
        """Note the slots with contributions that no resource holds."""
        for slot in sorted(self.entries.keys() - self.holders.keys()):
            places = [(key, placed.location) for key, placed in self.entries[slot].items()]
            if places:
                detail = f"The slot '{slot}' gets {listing(self.entries[slot])}, and no resource of this host holds it."
                hint = suggestion(slot, self.holders) or f"Declare the holder, as file:/etc/…: {{assemble: {slot}}}"
                related = tuple(places[1:])
                findings.add(problem("contribution-unheld", places[0][1], detail, hint=hint, related=related))


def read_contributions(node: Node, checker: Checker) -> Mapping[str, Node]:
    """Read `contribute:` of one file as far as no expression is needed; what is wrong is noted and left out."""
    table = checker.table(node, "contribute")
    found: dict[str, Node] = {}
    for slot, item in table.items.items() if table is not None else ():
        if not _NAME.fullmatch(slot):
            detail = f"'{slot}' is no name of a slot: letters, digits, dots, - and _."
            checker.findings.add(problem("bad-value", table.key_locations[slot] if table else item.location, detail))
        elif checker.table(item, f"contribute.{slot}") is not None:
            found[slot] = item
    return found


def evaluate_contributions(slots: Mapping[str, Node], scope: Scope, findings: Findings) -> Table:
    """Evaluate the keys and texts of one file; what is wrong is noted and left out."""
    return Table(
        {
            slot: Placed(_evaluate(slot, node, scope, findings) if isinstance(node, MapNode) else None, node.location)
            for slot, node in slots.items()
        }
    )


def merge_contributions(contributions: Sequence[Contribution], findings: Findings) -> Slots:
    """Merge what the files of a host contribute, strongest first: per key the strongest says it."""
    nowhere = SourceLocation("")
    says = [Said(one.rank, one.label, one.table, nowhere) for one in contributions]
    merged = merge_says([*says, Said(_WEAKEST, "", Table({}), nowhere)], "contribute", findings.add).value
    tables = merged.items if isinstance(merged, Table) else {}
    entries = {slot: _keys(placed.value) for slot, placed in tables.items()}
    said: dict[str, dict[str, list[Say]]] = {}
    for one in contributions:
        for slot, placed in one.table.items.items():
            for key, (value, location) in _keys(placed.value).items():
                say = Say(one.label, location, plain_value(value))
                said.setdefault(slot, {}).setdefault(key, []).append(say)
    origins = {
        slot: {key: FieldOrigin(said[slot][key][0], tuple(said[slot][key][1:])) for key in keys}
        for slot, keys in entries.items()
    }
    return Slots(entries, origins)


def _keys(value: Value) -> Mapping[str, Placed]:
    return value.items if isinstance(value, Table) else {}


def _evaluate(slot: str, node: MapNode, scope: Scope, findings: Findings) -> Table:
    found: dict[str, Placed] = {}
    for written, item in node.items.items():
        evaluator = Evaluator(scope)
        key = _key(written, node.key_locations[written], evaluator)
        value = _text(f"contribute.{slot}.{written}", item, evaluator)
        if not evaluator.problems and key in found:
            related = (("first", found[key].location),)
            detail = f"'{written}' gives the key '{key}' of the slot '{slot}', which this file has already."
            wrong = problem("duplicate-contribution", node.key_locations[written], detail, related=related)
            evaluator.problems.append(evolve(wrong, hint="Remove one of the two."))
        for wrong in evaluator.problems:
            findings.add(wrong)
        if not evaluator.problems:
            found[key] = Placed(value, item.location)
    return Table(found)


def _key(written: str, location: SourceLocation, evaluator: Evaluator) -> str:
    value = evaluator.value(Scalar(written, written, location), TEXT)
    if isinstance(value, Late):
        evaluator.refuse_late(location)
    elif not evaluator.problems and not isinstance(value, str):
        detail = f"The key '{written}' is {kind_of(plain_value(value))}, and a string is wanted."
        evaluator.problems.append(problem("wrong-type", location, detail, hint="Use a filter that gives one: string."))
    return str(value)


def _text(what: str, node: Node, evaluator: Evaluator) -> Value:
    """Return a text, maybe late, or None for null and for what was noted as wrong."""
    before = len(evaluator.problems)
    value = evaluator.value(node, TEXT)
    if len(evaluator.problems) > before:
        return None
    try:
        shown: JsonValue = sample_value(value) if isinstance(value, Late) else plain_value(value)
    except ExpressionError as error:
        evaluator.problems.append(evolve(error.diagnostic, location=node.location))
        return None
    is_null = isinstance(node, Scalar) and node.value is None and not node.ambiguity
    if not isinstance(shown, str) and not is_null:
        detail = f"{what} is {kind_of(shown)}, and a string is wanted."
        evaluator.problems.append(problem("wrong-type", node.location, detail))
    return value


def _line(text: str) -> str:
    """Return a text ended by exactly one newline."""
    return text.rstrip("\n") + "\n"
