"""Jinja2, locked down, for the templates of the fleet repository (design 2.3). Pure.

Rules: names, arithmetic, filters and tests are those of `datum.fleet.expressions`; statements are `if`, `for`, `set`,
`with`, `filter`, `include` and `raw`; nothing is called; loops over maps run in the order of their keys; each loop,
filter and include spends a budget, and what comes out is bounded. Imported only where a template is rendered: Jinja2
costs 100 ms.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, MappingProxyType, TracebackType
from typing import Any, Final, cast

from attrs import frozen
from jinja2 import meta, nodes, pass_environment
from jinja2.environment import Template
from jinja2.exceptions import TemplateSyntaxError, UndefinedError
from jinja2.parser import Parser
from jinja2.runtime import LoopContext, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from datum.fleet.expressions.budget import Budget, check_size, steps_of
from datum.fleet.expressions.evaluation import check_machine
from datum.fleet.expressions.evaluator import ALLOWED, chains_of, check_node
from datum.fleet.expressions.functions import FILTERS
from datum.fleet.expressions.library import Builtin, apply
from datum.fleet.expressions.names import ROOTS, Chain, check_root, lookup, resolve
from datum.fleet.expressions.operators import OPERATORS, binary, is_list, unary, wanted
from datum.fleet.expressions.predicates import TESTS
from datum.fleet.expressions.problems import EvaluationError, Found, Missing, MissingName, kind_of, text_of
from datum.model.json import JsonValue, freeze

STEPS: Final = 1_000_000
_INCLUDE_STEPS: Final = 100

FOLDER: Final = "templates/"

_STATEMENTS: Final = (
    nodes.Assign,
    nodes.AssignBlock,
    nodes.FilterBlock,
    nodes.For,
    nodes.If,
    nodes.Include,
    nodes.Output,
    nodes.Template,
    nodes.TemplateData,
    nodes.With,
)
_LOOP_NAMES: Final = (
    "depth",
    "depth0",
    "first",
    "index",
    "index0",
    "last",
    "length",
    "nextitem",
    "previtem",
    "revindex",
    "revindex0",
)
# Filters that no template can write, as those it writes are checked before these are put in.
_EACH: Final = "_each"
_MADE: Final = "_made"
_CONCAT: Final = "_concat"
_NO_ELSE: Final = "_no_else"


class TemplateFailureError(Exception):
    """What is wrong with a template, in which line of which file."""

    def __init__(self, problem: EvaluationError, path: str, line: int) -> None:
        super().__init__(problem, path, line)
        self.problem = problem
        self.path = path
        self.line = line


@frozen
class Prepared:
    """A template, checked and compiled."""

    code: CodeType
    # Paths of what it includes, with the lines.
    includes: tuple[tuple[str, int], ...]
    # The names it takes from outside, with their constant keys and lines.
    chains: tuple[tuple[Chain, int], ...]


class _Undefined(StrictUndefined, Missing):
    """A name without a value, as Jinja2 wants it."""

    __slots__ = ()

    def problem(self) -> EvaluationError:
        """Return the error that using it is."""
        if isinstance(self._undefined_obj, MissingName):
            return self._undefined_obj.problem()
        if self._undefined_hint:
            return EvaluationError("undefined-name", f"{self._undefined_hint}")
        found = resolve({}, (str(self._undefined_name),))
        return cast("Missing", found).problem()

    @property
    def _undefined_message(self) -> str:
        problem = self.problem()
        return f"{problem.detail} {problem.hint}".strip()


class _Engine(SandboxedEnvironment):
    """Jinja2 as far as a template may use it; one for each rendering, as it holds what is left of the budget."""

    intercepted_binops = frozenset(OPERATORS)
    intercepted_unops = frozenset("+-")

    def __init__(self, prepared: Mapping[str, Prepared], newline: str = "\n") -> None:
        super().__init__(
            autoescape=False,
            keep_trailing_newline=True,
            newline_sequence=cast("Any", newline),
            undefined=_Undefined,
            optimized=False,
            finalize=_finalize,
        )
        self.globals = {}
        self.filters = dict(_TEMPLATE_FILTERS)
        self.tests = dict(_TEMPLATE_TESTS)
        self.budget = Budget(STEPS)
        self._prepared = prepared
        self._templates: dict[str, Template] = {}

    def get_template(self, name: Any, *_ignored: object, **_also: object) -> Template:
        """Return a template of the closure, by its name in the folder of templates."""
        self.budget.spend(_INCLUDE_STEPS)
        return self.template_at(FOLDER + str(name))

    def template_at(self, path: str) -> Template:
        """Return a template of the closure by its path."""
        if path not in self._templates:
            self._templates[path] = Template.from_code(self, self._prepared[path].code, {})
        return self._templates[path]

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look up a key; of Python's objects only the counters of a loop are reached."""
        if isinstance(obj, LoopContext):
            if attribute in _LOOP_NAMES:
                return getattr(obj, attribute)
            return self.undefined(obj=MissingName(f"loop.{attribute}", f"loop has no '{attribute}'.", _LOOP_NAMES))
        return self._found(lookup(obj, attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look up a key or a position."""
        return self.getattr(obj, argument) if isinstance(obj, LoopContext) else self._found(lookup(obj, argument))

    def _found(self, value: Found) -> Any:
        return self.undefined(obj=value) if isinstance(value, MissingName) else value

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002 # Jinja2's
        """Return what an arithmetic operator gives."""
        result = binary(operator, left, right)
        self.budget.spend(1 + steps_of(result))
        return result

    def call_unop(self, context: Any, operator: str, arg: Any) -> Any:  # noqa: ARG002 # Jinja2's
        """Return a number with the sign before it."""
        return unary(operator, arg)


def _finalize(value: Found) -> str:
    return text_of(wanted(value))


def _each(engine: _Engine, value: Found) -> tuple[JsonValue, ...]:
    """Return what a loop goes over."""
    found = wanted(value)
    if isinstance(found, Mapping):
        items: tuple[JsonValue, ...] = tuple(sorted(found))
    elif is_list(found):
        items = tuple(found)
    else:
        raise EvaluationError("expression-value", f"A loop goes over a list or a map, and this is {kind_of(found)}.")
    engine.budget.spend(len(items))
    return items


def _made(engine: _Engine, value: Mapping[JsonValue, Found] | tuple[Found, ...] | list[Found]) -> JsonValue:
    """Return a list or map that the template wrote, frozen and bounded."""
    for item in value.values() if isinstance(value, Mapping) else value:
        wanted(item)
    if isinstance(value, Mapping) and not all(isinstance(key, str) for key in value):
        raise EvaluationError("expression-value", "The keys of a map are strings.")
    made = cast("JsonValue", value)
    engine.budget.spend(1 + steps_of(made))
    return freeze(made)


def _concat(engine: _Engine, value: tuple[Found, ...] | list[Found]) -> str:
    """Return what `~` makes of values."""
    engine.budget.spend()
    texts = [text_of(wanted(item)) for item in value]
    check_size(sum(map(len, texts)))
    return "".join(texts)


def _no_else(engine: _Engine, _value: object) -> object:
    """Return what a condition without `else` gives where it does not hold; Jinja2's own would be silently false."""
    return engine.undefined(hint="The condition does not hold, and there is no else.")


def _spending(builtin: Builtin) -> Callable[..., JsonValue]:
    def call(engine: _Engine, value: Found, *arguments: Found, **named: Found) -> JsonValue:
        result = apply(builtin, value, arguments, named)
        engine.budget.spend(1 + steps_of(result))
        return result

    return pass_environment(call)


_TEMPLATE_FILTERS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {name: _spending(builtin) for name, builtin in FILTERS.items()}
    | {
        name: pass_environment(function)
        for name, function in ((_EACH, _each), (_MADE, _made), (_CONCAT, _concat), (_NO_ELSE, _no_else))
    }
)
_TEMPLATE_TESTS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {name: _spending(builtin) for name, builtin in TESTS.items()}
)


class _Guard(NodeTransformer):
    """Leads loops, `~`, and lists and maps that a template writes, through filters that bound them."""

    def _through(self, name: str, node: nodes.Node) -> nodes.Filter:
        return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        """Return what stands in the node's place."""
        self.generic_visit(node, *args, **kwargs)
        if isinstance(node, nodes.For):
            node.iter = self._through(_EACH, node.iter)
        elif isinstance(node, nodes.Concat):
            return self._through(_CONCAT, nodes.List(node.nodes, lineno=node.lineno))
        elif isinstance(node, (nodes.List, nodes.Dict)) or (isinstance(node, nodes.Tuple) and node.ctx != "store"):
            return self._through(_MADE, node)
        elif isinstance(node, nodes.CondExpr) and node.expr2 is None:
            node.expr2 = self._through(_NO_ELSE, nodes.Const(None, lineno=node.lineno))
        return node


@lru_cache(maxsize=256)
def prepare(source: str, path: str) -> Prepared:
    """Check and compile a template; equal ones share the result.

    Raises:
        TemplateFailureError: it is not of the grammar, or names what there is not.
    """
    engine = _Engine({}, "\r\n" if "\r\n" in source else "\n")
    try:
        check_size(len(source))
        tree = Parser(engine, source, path, path).parse()
        check_node(tree, (*ALLOWED, *_STATEMENTS))
        includes = tuple((FOLDER + _included(node), node.lineno) for node in tree.find_all(nodes.Include))
        outside = meta.find_undeclared_variables(tree)
        chains = tuple((chain, line) for chain, line in chains_of(tree) if chain[0] in outside)
        for chain, line in chains:
            _check_chain(chain, line)
        return Prepared(_compile(engine, tree, path), includes, chains)
    except TemplateSyntaxError as error:
        problem = EvaluationError("template-syntax", f"{str(error.message).rstrip('.')}.")
        raise TemplateFailureError(problem, path, error.lineno) from error
    except EvaluationError as error:
        raise TemplateFailureError(error, path, error.line or 1) from error
    except (RecursionError, SyntaxError, ValueError) as error:
        problem = EvaluationError("template-syntax", "It is nested too deeply, or holds a literal of no value.")
        raise TemplateFailureError(problem, path, 1) from error


def _check_chain(chain: Chain, line: int) -> None:
    try:
        check_root(str(chain[0]))
        if chain[0] == "machine":
            check_machine(chain)
    except EvaluationError as error:
        error.line = line
        raise


def _compile(engine: _Engine, tree: nodes.Template, path: str) -> CodeType:
    guarded = _Guard().visit(tree)
    guarded.set_environment(engine)
    return engine.compile(guarded, path, path)


def _included(node: nodes.Include) -> str:
    name = node.template.value if isinstance(node.template, nodes.Const) else None
    problem = ""
    if not isinstance(name, str):
        problem = "include takes one name, written out between quotes."
    elif any(part in {"", ".", ".."} for part in name.split("/")) or "\\" in name:
        problem = f"'{name}' is no path below {FOLDER}."
    elif node.ignore_missing or not node.with_context:
        problem = "include is written without 'ignore missing' and 'without context'."
    if problem:
        error = EvaluationError("template-include", problem, f"A path starts below {FOLDER}.")
        error.line = node.lineno
        raise error
    return str(name)


def render(prepared: Mapping[str, Prepared], path: str, roots: Mapping[str, Any]) -> bytes:
    """Render a template.

    Args:
        prepared: it and what it includes, transitively, by path.
        path: which of them.
        roots: the values it may name.

    Raises:
        TemplateFailureError: it cannot be rendered.
        ExpressionError: what a lazy map of the roots raises.
    """
    engine = _Engine(prepared)
    known = {name: value for name, value in roots.items() if name in ROOTS}
    try:
        template = engine.template_at(path)
        pieces: list[str] = []
        size = 0
        for piece in template.root_render_func(template.new_context(known)):
            size += len(piece)
            check_size(size)
            pieces.append(piece)
        return "".join(pieces).encode()
    except EvaluationError as error:
        raise TemplateFailureError(error, *_place(error.__traceback__, path)) from error
    except UndefinedError as error:
        problem = EvaluationError("undefined-name", str(error.message))
        raise TemplateFailureError(problem, *_place(error.__traceback__, path)) from error
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        problem = EvaluationError("expression-value", f"Jinja2 says: {error}.")
        raise TemplateFailureError(problem, *_place(error.__traceback__, path)) from error


def _place(trace: TracebackType | None, path: str) -> tuple[str, int]:
    """Return the innermost place of a template that an error came through."""
    place = (path, 1)
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            place = (template.name, template.get_corresponding_lineno(trace.tb_lineno))
        trace = trace.tb_next
    return place
