"""Variables: merged first, evaluated late and lazily (design 2.2). Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from datum.diagnostics import Diagnostic, SourceLocation
from datum.fleet.evaluation import Evaluator
from datum.fleet.expressions import ExpressionError, Scope
from datum.fleet.findings import Findings, problem
from datum.fleet.merge import Said, merge_says
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar
from datum.fleet.values import Placed, Table, Value, plain_value
from datum.model.json import JsonValue
from datum.model.manifest import Late

_WEAKEST: Final = -1
CHAIN_LIMIT: Final = 50
"""Variables that may need one another in a row. Each costs a dozen frames, and Python's stack is bounded."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def as_variables(node: MapNode, findings: Findings) -> Table:
    """Return `variables:` of one file as a map that merges by key; a name that no expression can say is noted."""
    taken: dict[str, Placed] = {}
    for name, item in node.items.items():
        if _NAME.fullmatch(name):
            taken[name] = Placed(_unevaluated(item), item.location)
        else:
            detail = f"'{name}' is no name of a variable: letters, digits and _, so that ${{var.{name}}} could say it."
            hint = f"Write {re.sub('[^A-Za-z0-9_]', '_', name)}"
            findings.add(problem("bad-value", node.key_locations[name], detail, hint=hint))
    return Table(taken)


def merge_variables(sources: Iterable[tuple[int, str, Table]], findings: Findings) -> Mapping[str, Placed]:
    """Merge the variables of several files, strongest first; nothing is evaluated."""
    nowhere = SourceLocation("")
    says = [Said(rank, layer, table, nowhere) for rank, layer, table in sources]
    merged = merge_says([*says, Said(_WEAKEST, "", Table({}), nowhere)], "var", findings.add).value
    return merged.items if isinstance(merged, Table) else {}


class Variables(Mapping[str, JsonValue]):
    """The value of each variable, computed when it is first asked for.

    Asking raises `ExpressionError` for a variable that cannot be evaluated, the same one every time; variables that
    refer to each other in a circle all fail with one diagnostic that shows the circle.
    """

    def __init__(self, merged: Mapping[str, Placed], roots: Scope) -> None:
        """Hold them.

        Args:
            merged: unevaluated values by name.
            roots: the other names that variables may use (`host`).
        """
        self._merged = merged
        self._scope: Scope = {**roots, "var": self}
        self._values: dict[str, JsonValue] = {}
        self._failures: dict[str, tuple[Diagnostic, ...]] = {}
        self._running: list[str] = []

    def __getitem__(self, name: str) -> JsonValue:
        if name in self._values:
            return self._values[name]
        if name not in self._failures:
            placed = self._merged[name]
            if name in self._running:
                raise ExpressionError(self._cycle(name))
            if len(self._running) >= CHAIN_LIMIT:
                raise ExpressionError(self._too_long(name))
            self._evaluate(name, placed)
        if name in self._failures:
            raise ExpressionError(self._failures[name][0])
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._merged))

    def __len__(self) -> int:
        return len(self._merged)

    def __contains__(self, name: object) -> bool:
        return name in self._merged

    def evaluate_all(self, findings: Findings) -> Mapping[str, JsonValue]:
        """Return all values, sorted by name; what cannot be evaluated is noted and left out."""
        for name in self:
            if name not in self._values and name not in self._failures:
                self._evaluate(name, self._merged[name])
            for failure in self._failures.get(name, ()):
                findings.add(failure)
        return MappingProxyType({name: self._values[name] for name in self if name in self._values})

    def _evaluate(self, name: str, placed: Placed) -> None:
        self._running.append(name)
        evaluator = Evaluator(self._scope)
        value = _evaluated(placed, evaluator)
        self._running.pop()
        if evaluator.problems:
            self._failures[name] = tuple(evaluator.problems)
        else:
            self._values[name] = value

    def _too_long(self, name: str) -> Diagnostic:
        detail = f"var.{name} is needed by var.{self._running[0]} over {CHAIN_LIMIT} other variables in a row."
        return problem("variable-chain", self._merged[name].location, detail, hint="Shorten the chain.")

    def _cycle(self, name: str) -> Diagnostic:
        """Show the circle, from the first of its names in alphabetical order."""
        circle: Sequence[str] = self._running[self._running.index(name) :]
        start = circle.index(min(circle))
        circle = (*circle[start:], *circle[:start])
        chain = " -> ".join(f"var.{part}" for part in (*circle, circle[0]))
        related = tuple((f"var.{part}", self._merged[part].location) for part in circle[1:])
        detail = f"{chain}: each needs the next, so none has a value."
        hint = "Give one of them a value of its own."
        return problem("variable-cycle", self._merged[circle[0]].location, detail, hint=hint, related=related)


def _unevaluated(node: Node) -> Value:
    if isinstance(node, MapNode):
        return Table({key: Placed(_unevaluated(item), item.location) for key, item in node.items.items()})
    if isinstance(node, Scalar) and node.value is None and not node.ambiguity:
        return None
    return node


def _evaluated(placed: Placed, evaluator: Evaluator) -> JsonValue:
    value, location = placed
    if isinstance(value, Table):
        return MappingProxyType({key: _evaluated(entry, evaluator) for key, entry in value.items.items()})
    found = evaluator.value(value) if isinstance(value, (Scalar, ListNode)) else value
    if isinstance(found, Late):
        evaluator.refuse_late(location)
        return None
    return plain_value(found)
