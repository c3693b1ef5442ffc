"""Jinja2, locked down, for the templates of the fleet repository (design 2.3). Pure.

Rules: names, arithmetic, filters and tests are those of `datum.fleet.expressions`; statements are `if`, `for`, `set`,
`with`, `filter`, `include` and `raw`; nothing is called; loops over maps run in the order of their keys; each loop and
filter spends a budget, and what comes out is bounded. Imported only where a template is rendered: Jinja2 costs 100 ms.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from types import CodeType, MappingProxyType
from typing import Any, Final, cast

from attrs import frozen
from jinja2 import meta, nodes
from jinja2.environment import Environment, Template
from jinja2.exceptions import TemplateSyntaxError, UndefinedError
from jinja2.loaders import BaseLoader
from jinja2.runtime import LoopContext, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from datum.fleet.expressions.budget import SIZE_LIMIT, Budget, bounded, check_size
from datum.fleet.expressions.evaluator import ALLOWED, chains_of, check_node, compare
from datum.fleet.expressions.functions import FILTERS
from datum.fleet.expressions.library import Builtin, apply
from datum.fleet.expressions.names import ROOTS, Chain, check_root, lookup
from datum.fleet.expressions.operators import OPERATORS, binary, is_list, unary, wanted
from datum.fleet.expressions.predicates import TESTS
from datum.fleet.expressions.problems import EvaluationError, Found, Missing, MissingName, kind_of, text_of
from datum.model.json import JsonValue, freeze

STEPS: Final = 1_000_000

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
_LOOP_NAMES: Final = frozenset(
    ("depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0")
)
_LINE_ENDS: Final = ("\r\n", "\n", "\r")
# Names that no template can write: the parser's names start with a letter or _, and filters are checked before these
# are put in.
_EACH: Final = "_each"
_MADE: Final = "_made"
_CONCAT: Final = "_concat"
_COMPARE: Final = "_compare"


@frozen
class TemplateFailure(Exception):
    """What is wrong with a template, and in which line of which file."""

    problem: EvaluationError
    path: str
    line: int
