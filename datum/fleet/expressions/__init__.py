"""Expressions in strings of manifests: `${ … }` (design 2.3). Pure.

Rules: the grammar is Jinja2's for expressions, without calls; names resolve in maps by key, never to a Python
attribute; values are frozen JSON; a name without a value is an error; every evaluation is bounded. Jinja2 is imported
only when an expression is more than a dotted name.
"""

from datum.fleet.expressions.evaluation import evaluate, evaluate_late
from datum.fleet.expressions.names import Scope
from datum.fleet.expressions.problems import ExpressionError
from datum.fleet.expressions.scan import has_expression

__all__ = ["ExpressionError", "Scope", "evaluate", "evaluate_late", "has_expression"]
