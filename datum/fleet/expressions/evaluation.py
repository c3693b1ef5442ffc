"""Evaluates strings of a manifest, at once or once the machine is known (design 2.3, 2.9). Pure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from datum.diagnostics import SourceLocation
from datum.fleet.expressions.names import MACHINE_NAMES, Chain, Scope, dotted, lookup, resolve
from datum.fleet.expressions.problems import EvaluationError, Found, Missing, MissingName, text_of
from datum.fleet.expressions.scan import Part, scan
from datum.model.json import JsonValue, freeze
from datum.model.manifest import Late
from datum.model.observation import Machine

_MACHINE: Final = "machine"

Resolver: TypeAlias = Callable[[Chain], Found]


def evaluate(text: str, scope: Scope, location: SourceLocation) -> "JsonValue | Late":
    """Evaluate a string of a manifest.

    Args:
        text: the string, with or without `${ … }`; `$${` becomes `${`.
        scope: the roots that are known, by name; without `machine`, an expression that names it is late.
        location: where the string stands.

    Returns:
        The typed value of a string that is one expression; else the string with the text of each in its place. A
        `Late` if it names the machine: all other names were looked up then, and are in its scope.

    Raises:
        ExpressionError: an expression cannot be read or has no value; also what a lazy map of the scope raises.
    """
    if "${" not in text:
        return text
    try:
        parts = scan(text)
        if _MACHINE not in scope and any(chain[0] == _MACHINE for chain in _chains(parts)):
            return Late(text, _late_scope(parts, scope))
        return _combine(parts, lambda chain: resolve(scope, chain))
    except EvaluationError as error:
        error.detail = f"In '{_shown(text)}': {error.detail}"
        raise error.at(location) from None


def evaluate_late(late: Late, machine: Machine) -> JsonValue:
    """Finish a late value.

    Raises:
        ExpressionError: it has no value with this machine; a value of the machine that could not be read is named
            (`machine-value-missing`).
    """
    try:
        return _combine(scan(late.text), lambda chain: _resolve_late(late, machine, chain))
    except EvaluationError as error:
        error.detail = f"In '{_shown(late.text)}': {error.detail}"
        raise error.at(None) from None


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"  # noqa: PLR2004


def _combine(parts: tuple[Part, ...], resolver: Resolver) -> JsonValue:
    if len(parts) == 1 and parts[0].is_expression:
        return freeze(_value(parts[0], resolver))
    return "".join(text_of(_value(part, resolver)) if part.is_expression else part.text for part in parts)


def _value(part: Part, resolver: Resolver) -> JsonValue:
    if part.chain is None:
        from datum.fleet.expressions.evaluator import compile_expression, run

        return run(compile_expression(part.text), resolver)
    value = resolver(part.chain)
    if isinstance(value, Missing):
        raise value.problem()
    return value


def _chains(parts: tuple[Part, ...]) -> Iterator[Chain]:
    for part in parts:
        if part.chain is not None:
            yield part.chain
        elif part.is_expression:
            from datum.fleet.expressions.evaluator import compile_expression

            yield from compile_expression(part.text).chains


def _late_scope(parts: tuple[Part, ...], scope: Scope) -> Mapping[str, JsonValue]:
    """Return the value of every name that is not the machine's, by its dotted text."""
    values: dict[str, JsonValue] = {}
    for chain in _chains(parts):
        if chain[0] == _MACHINE:
            check_machine(chain)
            continue
        value = resolve(scope, chain)
        if not isinstance(value, Missing):
            values[dotted(chain)] = freeze(value)
        elif chain not in _guarded(parts):
            raise value.problem()
    found: JsonValue = freeze(dict(sorted(values.items())))
    return found if isinstance(found, Mapping) else {}


def _guarded(parts: tuple[Part, ...]) -> frozenset[Chain]:
    from datum.fleet.expressions.evaluator import compile_expression

    sources = [part.text for part in parts if part.is_expression and part.chain is None]
    return frozenset(chain for source in sources for chain in compile_expression(source).guarded)


def check_machine(chain: Chain) -> None:
    """Refuse what a machine never has.

    Raises:
        EvaluationError: the name is none of `MACHINE_NAMES`, or there is none.
    """
    if len(chain) == 1:
        raise EvaluationError("undefined-name", f"Name one value of the machine: {', '.join(MACHINE_NAMES)}.")
    if chain[1] not in MACHINE_NAMES:
        raise MissingName(dotted(chain), f"The machine has no '{chain[1]}'.", MACHINE_NAMES).problem()


def _resolve_late(late: Late, machine: Machine, chain: Chain) -> Found:
    if chain[0] == _MACHINE:
        return resolve_machine(machine, chain)
    name = dotted(chain)
    if name in late.scope:
        return late.scope[name]
    return MissingName(name, f"{name} has no value.")


def resolve_machine(machine: Machine, chain: Chain) -> Found:
    """Return a value of the machine; a `Missing` that says what was read where there is none."""
    value: Found = machine.values
    for position, key in enumerate(chain[1:], 1):
        value = lookup(value, key, chain[:position])
    if isinstance(value, MissingName):
        read = ", ".join(sorted(machine.values)) or "nothing"
        detail = f"{dotted(chain)} could not be read on this host; what was read: {read}."
        return MissingName(dotted(chain), detail, value.known, "machine-value-missing")
    return value
