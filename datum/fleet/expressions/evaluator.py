"""Evaluates the expression grammar of Jinja2, without calls, over JSON values (design 2.3). Pure; total; budgeted.

Only Jinja2's parser is used. Comparison, truth and `and`/`or` are those of Jinja2, hence Python's; names, arithmetic
and filters are this package's, so no Python attribute is reached and nothing is changed. Imported only for expressions
that are more than a dotted name: Jinja2 costs 100 ms.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from attrs import frozen
from jinja2 import nodes
from jinja2.environment import Environment
from jinja2.exceptions import TemplateSyntaxError
from jinja2.parser import Parser

from datum.fleet.expressions import operators
from datum.fleet.expressions.budget import Budget, check_size, steps_of
from datum.fleet.expressions.functions import FILTERS
from datum.fleet.expressions.library import apply, find
from datum.fleet.expressions.names import Chain, lookup
from datum.fleet.expressions.predicates import TESTS, is_in
from datum.fleet.expressions.problems import EvaluationError, Found, Missing, MissingName, text_of
from datum.model.json import JsonValue

LENGTH_LIMIT: Final = 10_000
# Levels of brackets, and of operators: below what Python's own stack stands, wherever the evaluation starts.
NESTING_LIMIT: Final = 20
DEPTH_LIMIT: Final = 64

_BINARY: Final = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)

# What an expression may be made of; a template may hold these and statements.
ALLOWED: Final = (
    *_BINARY,
    nodes.And,
    nodes.Compare,
    nodes.Concat,
    nodes.CondExpr,
    nodes.Const,
    nodes.Dict,
    nodes.Filter,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Keyword,
    nodes.List,
    nodes.Name,
    nodes.Neg,
    nodes.Not,
    nodes.Operand,
    nodes.Or,
    nodes.Pair,
    nodes.Pos,
    nodes.Slice,
    nodes.Test,
    nodes.Tuple,
)

Resolver: TypeAlias = Callable[[Chain], Found]


@frozen
class Compiled:
    """An expression, parsed and checked."""

    node: nodes.Expr
    # Every name it uses, with the constant keys after it.
    chains: tuple[Chain, ...]
    # Those of them that may be without a value: they stand before `default` or `is defined`.
    guarded: frozenset[Chain]


@lru_cache(maxsize=2048)
def compile_expression(source: str) -> Compiled:
    """Parse an expression; equal texts share the result.

    Raises:
        EvaluationError: it is not of the grammar, or uses a filter or test that there is not.
    """
    if len(source) > LENGTH_LIMIT:
        raise EvaluationError("expression-budget", f"An expression has at most {LENGTH_LIMIT} characters.")
    _check_nesting(source)
    try:
        parser = Parser(Environment(autoescape=False), source, state="variable")
        node = parser.parse_expression()
        if not parser.stream.eos:
            raise EvaluationError("expression-syntax", f"'{parser.stream.current.value}' is not expected there.")
        check_node(node, ALLOWED)
        chains = tuple(dict.fromkeys(chain for chain, _line in chains_of(node)))
    except TemplateSyntaxError as error:
        raise EvaluationError("expression-syntax", f"{error.message}.") from error
    except (RecursionError, ValueError) as error:
        raise EvaluationError(
            "expression-syntax", "It is nested too deeply, or holds a literal of no value."
        ) from error
    return Compiled(node, chains, frozenset(guarded_chains(node)))


def _check_nesting(source: str) -> None:
    level = 0
    for character in source:
        level += (character in "([{") - (character in ")]}")
        if level > NESTING_LIMIT:
            raise EvaluationError("expression-budget", f"More than {NESTING_LIMIT} brackets are open at once.")


def check_node(node: nodes.Node, allowed: tuple[type[nodes.Node], ...], depth: int = 0) -> None:
    """Refuse what no expression may hold, in the node and below it.

    Raises:
        EvaluationError: a call, an unpacking, a statement that is not allowed, an unknown filter or test.
    """
    try:
        _check_one(node, allowed, depth)
    except EvaluationError as error:
        error.line = node.lineno
        raise
    for child in node.iter_child_nodes():
        check_node(child, allowed, depth + 1)


def _check_one(node: nodes.Node, allowed: tuple[type[nodes.Node], ...], depth: int) -> None:
    if depth > DEPTH_LIMIT:
        raise EvaluationError("expression-budget", f"It is nested more than {DEPTH_LIMIT} levels deep.")
    if not isinstance(node, allowed):
        _refuse(node)
    if isinstance(node, (nodes.Filter, nodes.Test)):
        find(FILTERS if isinstance(node, nodes.Filter) else TESTS, node.name)
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise EvaluationError("expression-syntax", "Arguments are written one by one: * and ** are not used.")
    if isinstance(node, nodes.Const):
        _check_constant(node.value)


def _refuse(node: nodes.Node) -> None:
    if isinstance(node, nodes.Call):
        hint = "Use a filter: var.map | items, var.list | join(', ')."
        raise EvaluationError("expression-syntax", "Expressions call nothing.", hint)
    raise EvaluationError("expression-syntax", f"'{type(node).__name__.lower()}' is not used here.")


def _check_constant(value: object) -> None:
    if operators.is_number(value):
        operators.checked(value)
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise EvaluationError("expression-syntax", "A string of the expression is no Unicode.") from error


def chain_of(node: nodes.Node) -> Chain | None:
    """Return the name a node is, with constant keys; None if it is something else."""
    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.Getattr):
        before = chain_of(node.node)
        return None if before is None else (*before, node.attr)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        before, key = chain_of(node.node), node.arg.value
        is_key = isinstance(key, (str, int)) and not isinstance(key, bool)
        return (*before, key) if before is not None and is_key else None
    return None


def chains_of(node: nodes.Node) -> Iterator[tuple[Chain, int]]:
    """Find the names that a node uses, each as long as its keys are constant, with their lines."""
    chain = chain_of(node)
    if chain is not None:
        yield chain, node.lineno
        return
    for child in node.iter_child_nodes():
        yield from chains_of(child)


def guarded_chains(node: nodes.Node) -> Iterator[Chain]:
    """Find the names that stand before `default` or `is defined`."""
    for kind, name in ((nodes.Filter, "default"), (nodes.Test, "defined")):
        for found in (*([node] if isinstance(node, kind) else []), *node.find_all(kind)):
            chain = chain_of(found.node) if found.name == name and found.node is not None else None
            if chain is not None:
                yield chain


def run(compiled: Compiled, resolve: Resolver) -> JsonValue:
    """Evaluate an expression.

    Args:
        compiled: the expression.
        resolve: gives the value of a name with constant keys.

    Raises:
        EvaluationError: it has no value; or what `resolve` raises.
    """
    return _Evaluator(resolve).value(compiled.node)


class _Evaluator:
    """One evaluation."""

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self._budget = Budget()

    def value(self, node: nodes.Node) -> JsonValue:
        """Return the value of a node, which must have one."""
        return operators.wanted(self.find(node))

    def find(self, node: nodes.Node) -> Found:
        """Return the value of a node, a `Missing` where a name has none."""
        self._budget.spend()
        chain = chain_of(node)
        if chain is not None:
            return self._resolve(chain)
        visit: Callable[[Any], Found] = getattr(self, f"_{type(node).__name__.lower()}", self._binary)
        value = visit(node)
        if not isinstance(value, Missing):
            self._budget.spend(steps_of(value))
        return value

    def _binary(self, node: nodes.BinExpr) -> JsonValue:
        return operators.binary(node.operator or "", self.value(node.left), self.value(node.right))

    def _neg(self, node: nodes.Neg) -> JsonValue:
        return operators.unary("-", self.value(node.node))

    def _pos(self, node: nodes.Pos) -> JsonValue:
        return operators.unary("+", self.value(node.node))

    def _const(self, node: nodes.Const) -> JsonValue:
        value: JsonValue = node.value
        return value

    def _getattr(self, node: nodes.Getattr) -> Found:
        return lookup(self.find(node.node), node.attr)

    def _getitem(self, node: nodes.Getitem) -> Found:
        container = self.find(node.node)
        if not isinstance(node.arg, nodes.Slice):
            return lookup(container, self.value(node.arg), chain_of(node.node) or ())
        found = operators.wanted(container)
        if not isinstance(found, str) and not operators.is_list(found):
            raise EvaluationError("expression-value", "Only strings and lists have parts [from:to].")
        bounds = [None if end is None else self.value(end) for end in (node.arg.start, node.arg.stop, node.arg.step)]
        try:
            return found[slice(*cast("list[int]", bounds))]
        except (TypeError, ValueError) as error:
            raise EvaluationError("expression-value", "The bounds of [from:to:step] are integers.") from error

    def _list(self, node: nodes.List | nodes.Tuple) -> JsonValue:
        return tuple(self.value(item) for item in node.items)

    _tuple = _list

    def _dict(self, node: nodes.Dict) -> JsonValue:
        made: dict[str, JsonValue] = {}
        for pair in node.items:
            key = self.value(pair.key)
            if not isinstance(key, str):
                raise EvaluationError("expression-value", "The keys of a map are strings.")
            made[key] = self.value(pair.value)
        return MappingProxyType(made)

    def _concat(self, node: nodes.Concat) -> str:
        texts = [text_of(self.value(item)) for item in node.nodes]
        check_size(sum(map(len, texts)))
        return "".join(texts)

    def _and(self, node: nodes.And) -> JsonValue:
        return self.value(node.left) and self.value(node.right)

    def _or(self, node: nodes.Or) -> JsonValue:
        return self.value(node.left) or self.value(node.right)

    def _not(self, node: nodes.Not) -> bool:
        return not self.value(node.node)

    def _condexpr(self, node: nodes.CondExpr) -> Found:
        if self.value(node.test):
            return self.find(node.expr1)
        if node.expr2 is None:
            return MissingName("", "The condition does not hold, and there is no else.")
        return self.find(node.expr2)

    def _compare(self, node: nodes.Compare) -> bool:
        left = self.value(node.expr)
        for operand in node.ops:
            right = self.value(operand.expr)
            if not compare(operand.op, left, right):
                return False
            left = right
        return True

    def _filter(self, node: nodes.Filter) -> JsonValue:
        return self._apply(node, FILTERS)

    def _test(self, node: nodes.Test) -> JsonValue:
        return self._apply(node, TESTS)

    def _apply(self, node: nodes.Filter | nodes.Test, table: Mapping[str, Any]) -> JsonValue:
        arguments = tuple(self.value(item) for item in node.args)
        named = {item.key: self.value(item.value) for item in cast("list[nodes.Keyword]", node.kwargs)}
        # Only the block form of a filter has no value before it, and it is no expression.
        return apply(table[node.name], self.find(cast("nodes.Expr", node.node)), arguments, named)


def compare(name: str, left: JsonValue, right: JsonValue) -> bool:
    """Return what a comparison gives, by the parser's name for it.

    Raises:
        EvaluationError: the values have no order, or the right one holds nothing.
    """
    if name in {"in", "notin"}:
        return is_in(left, right) is (name == "in")
    if name in {"eq", "ne"}:
        return (left == right) is (name == "eq")
    both_numbers = operators.is_number(left) and operators.is_number(right)
    if not both_numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise EvaluationError("expression-value", "Only two numbers or two strings have an order.")
    return bool(_ORDER[name](left, right))


_ORDER: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "lt": lambda left, right: left < right,
        "lteq": lambda left, right: left <= right,
        "gt": lambda left, right: left > right,
        "gteq": lambda left, right: left >= right,
    }
)
