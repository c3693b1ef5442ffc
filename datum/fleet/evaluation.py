"""From nodes to values: expressions evaluated, scalars read as the place where they stand demands. Pure."""

import math
from collections.abc import Mapping

from attrs import define, field

from datum.diagnostics import Diagnostic, SourceLocation
from datum.fleet.expressions import ExpressionError, Scope, evaluate
from datum.fleet.findings import problem
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar
from datum.fleet.shape import ANY, Shape
from datum.fleet.values import Pieces, Placed, Table, Value, kind_of
from datum.model.json import JsonValue, freeze
from datum.model.manifest import Late


@define
class Evaluator:
    """Evaluates nodes in one scope; notes what is wrong."""

    scope: Scope
    problems: list[Diagnostic] = field(factory=list)

    def value(self, node: Node, shape: Shape = ANY, *, what: str = "") -> Value:
        """Return the value; None stands for null, and for what was noted as wrong.

        Args:
            node: what is evaluated.
            shape: what its place takes.
            what: `field: ` for the hint that says how to write it.
        """
        if isinstance(node, Scalar):
            found = self._scalar(node, shape, what)
            return as_table(found, node.location) if isinstance(found, Mapping) else found
        if isinstance(node, ListNode):
            return self._pieces(node, shape.item()) if shape.content == "parts" else self._inner(node, shape)
        entries: dict[str, Placed] = {}
        for key, item in node.items.items():
            value = self.value(item, shape.entry(key), what=f"{key}: ")
            if isinstance(value, Late):
                self.refuse_late(item.location)
            else:
                entries[key] = Placed(value, item.location)
        return Table(entries)

    def _pieces(self, node: ListNode, shape: Shape) -> Pieces:
        """Return a list of pieces; a text among them may be late, as it is the whole value of something."""
        return Pieces(tuple(Placed(self._piece(item, shape), item.location) for item in node.items))

    def _piece(self, node: Node, shape: Shape) -> Value:
        if not isinstance(node, MapNode):
            value = self.value(node, shape)
            if isinstance(value, Late):
                self.refuse_late(node.location)
            return value
        entries: dict[str, Placed] = {}
        for key, item in node.items.items():
            value = self.value(item, shape.entry(key), what=f"{key}: ")
            if isinstance(value, Late) and key != "content":
                self.refuse_late(item.location)
            else:
                entries[key] = Placed(value, item.location)
        return Table(entries)

    def json(self, node: Node, shape: Shape = ANY) -> JsonValue:
        """Return the value as JSON; a value of the machine is refused."""
        return self._inner(node, shape)

    def refuse_late(self, location: SourceLocation) -> None:
        """Note that a value of the machine may not stand here."""
        detail = "What names the machine is known only on the host; it may stand as the whole value of a field, only."
        hint = "Not in ids, conditions, references, variables, paths, what removes, and inside of lists and maps."
        self.problems.append(problem("late-not-here", location, detail, hint=hint))

    def _inner(self, node: Node, shape: Shape) -> JsonValue:
        """Return a value inside of a list."""
        if isinstance(node, MapNode):
            return freeze({key: self._inner(item, shape.entry(key)) for key, item in node.items.items()})
        if isinstance(node, ListNode):
            return tuple(self._inner(item, shape.item()) for item in node.items)
        value = self._scalar(node, shape, "")
        if isinstance(value, Late):
            self.refuse_late(node.location)
            return None
        return value

    def _scalar(self, node: Scalar, shape: Shape, what: str) -> "JsonValue | Late":
        value = node.value
        if type(value) is str and not node.ambiguity:
            return self._text(node) if "${" in value else value
        if value is None and not node.ambiguity:
            return None
        return self._unquoted(node, shape, what)

    def _text(self, node: Scalar) -> "JsonValue | Late":
        try:
            value = evaluate(node.text, self.scope, node.location)
        except ExpressionError as error:
            self.problems.append(error.diagnostic)
            return None
        wrong = _unusable(value)
        if wrong:
            self.problems.append(problem("bad-value", node.location, f"The expression gives {wrong}."))
            return None
        return value

    def _unquoted(self, node: Scalar, shape: Shape, what: str) -> JsonValue:
        """Return a plain scalar that is no clear string."""
        if shape.is_quoted or (shape.only_text and not node.ambiguity):
            text = _quoted(node.text, shape)
            seen = node.ambiguity or f"without quotes this is {kind_of(node.value)}"
            detail = f"A string is wanted, and {seen}."
            self.problems.append(problem("unquoted-scalar", node.location, detail, hint=f'Quote it: {what}"{text}"'))
            return None
        if not node.ambiguity:
            return node.value
        if shape.takes_text:
            return node.text
        detail = f"'{node.text}' is not clear: {node.ambiguity}."
        hint = f'Quote it if a string is meant: {what}"{node.text}"; else write a plain number, true or false.'
        self.problems.append(problem("ambiguous-scalar", node.location, detail, hint=hint))
        return None


def as_table(value: Mapping[str, JsonValue], location: SourceLocation) -> Table:
    """Return a map that an expression gave as one that merges by key; every key stands where the expression does."""
    return Table(
        {
            key: Placed(as_table(item, location) if isinstance(item, Mapping) else item, location)
            for key, item in value.items()
        }
    )


def _quoted(text: str, shape: Shape) -> str:
    """Return how the string is written between quotes; octal digits get their four places."""
    digits = text.removeprefix("0o")
    if shape.is_quoted and digits and set(digits) <= set("01234567"):
        return digits.zfill(4)
    return text


def _unusable(value: "JsonValue | Late") -> str:
    """Return what no manifest can carry: numbers that are none, text that is no Unicode; else empty."""
    if isinstance(value, str):
        return "" if value.isascii() or _is_unicode(value) else "text that is no Unicode"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{value}, which is no number"
    if isinstance(value, Mapping):
        return next(filter(None, map(_unusable, (*value, *value.values()))), "")
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_unusable, value)), "")
    return ""


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
