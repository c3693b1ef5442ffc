"""Templates of the fleet repository (design 2.3). Pure: bytes of the tree and values in, bytes out.

A template is UTF-8 with one kind of line end. It may include what lies in `templates/`, and nothing else.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from attrs import define, field

from datum.diagnostics import SourceLocation
from datum.fleet.expressions import Scope
from datum.fleet.expressions.evaluation import resolve_machine
from datum.fleet.expressions.names import Chain, resolve
from datum.fleet.expressions.problems import EvaluationError, Missing
from datum.model.json import JsonValue, digest, freeze
from datum.model.manifest import Late
from datum.model.observation import Machine
from datum.model.source import EntryKind, SourceTree

if TYPE_CHECKING:
    from datum.fleet.template_engine import Prepared, TemplateFailureError

# Templates that one template may include, transitively.
INCLUDE_LIMIT: Final = 64


def render_template(tree: SourceTree, path: str, scope: Scope, location: SourceLocation) -> bytes | Late:
    """Render a template of the tree.

    Args:
        tree: the revision.
        path: path of the template in it.
        scope: the roots that are known, by name.
        location: where the template is named.

    Returns:
        The bytes; or, if it or what it includes names the machine and the scope does not have it, a `Late` whose text
        is a digest of the sources and whose scope holds, by root, the values that it may need.

    Raises:
        ExpressionError: it cannot be read or rendered; the place is the template's, the related place `location`.
        FleetError: the tree cannot give a file of it.
    """
    closure = _Closure(tree, location)
    closure.load(path, location)
    if "machine" not in scope and closure.uses("machine"):
        return Late(digest(closure.sources()), closure.needed(scope), template=path)
    return closure.render(path, scope)


def render_late(tree: SourceTree, late: Late, machine: Machine) -> bytes:
    """Finish a late template.

    Raises:
        ExpressionError: it cannot be rendered with this machine.
        FleetError: the tree cannot give a file of it.
    """
    closure = _Closure(tree, None)
    closure.load(late.template, SourceLocation(late.template))
    scope = {name: value for name, value in late.scope.items() if isinstance(value, Mapping)}
    return closure.render(late.template, {**scope, "machine": machine.values}, machine)


@define
class _Closure:
    """A template and all that it includes."""

    tree: SourceTree
    # Where the template is named; None once that is forgotten.
    origin: SourceLocation | None
    texts: dict[str, str] = field(factory=dict)
    prepared: "dict[str, Prepared]" = field(factory=dict)
    # Paths whose includes are being loaded, outermost first.
    trail: list[str] = field(factory=list)

    def load(self, path: str, place: SourceLocation) -> None:
        """Read, check and compile a template that is named at a place, and what it includes."""
        from datum.fleet.template_engine import TemplateFailureError, prepare

        if path in self.trail:
            chain = " -> ".join((*self.trail[self.trail.index(path) :], path))
            raise self._error(EvaluationError("template-include", f"{chain}: a template includes itself."), place)
        if path in self.prepared:
            return
        if len(self.prepared) > INCLUDE_LIMIT:
            detail = f"More than {INCLUDE_LIMIT} templates are included."
            raise self._error(EvaluationError("template-include", detail), place)
        self.texts[path] = self._read(path, place)
        try:
            self.prepared[path] = found = prepare(self.texts[path], path)
        except TemplateFailureError as failure:
            raise self._failed(failure) from None
        self.trail.append(path)
        for included, line in found.includes:
            self.load(included, SourceLocation(path, line, 1))
        self.trail.pop()

    def _read(self, path: str, place: SourceLocation) -> str:
        entry = self.tree.entry(path)
        if entry is None or entry.kind not in {EntryKind.FILE, EntryKind.EXECUTABLE}:
            what = "not there" if entry is None else f"a {entry.kind.value}"
            raise self._error(EvaluationError("template-not-found", f"{path} is {what}; a file is wanted."), place)
        data = self.tree.read(path)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            detail = f"Byte {error.start} (counted from 0) is not UTF-8: {error.reason}."
            hint = "Use source: for a file that is not to be rendered."
            problem = EvaluationError("template-not-text", detail, hint)
            raise self._error(problem, SourceLocation(path, line, 1)) from None
        alone = text.replace("\r\n", "")
        if "\r" in alone or ("\r\n" in text and "\n" in alone):
            problem = EvaluationError("template-not-text", "It mixes line ends.", "Use LF, or CR LF, on every line.")
            raise self._error(problem, SourceLocation(path, 1, 1))
        return text

    def uses(self, root: str) -> bool:
        """Tell whether any of the templates names a root."""
        return any(chain[0] == root for chain, _path, _line in self._chains())

    def sources(self) -> bytes:
        """Return all that decides what is rendered but the values."""
        return "\0".join(f"{path}\0{text}" for path, text in sorted(self.texts.items())).encode()

    def needed(self, scope: Scope) -> Mapping[str, JsonValue]:
        """Return the values that the templates may ask for, by root."""
        wanted: dict[str, dict[str, JsonValue]] = {}
        for chain, _path, _line in self._chains():
            root = str(chain[0])
            values = scope.get(root)
            if isinstance(values, Mapping):
                names = {chain[1]} if len(chain) > 1 else set(values)
                wanted.setdefault(root, {}).update(
                    {name: values[name] for name in sorted(map(str, names)) if name in values}
                )
        frozen = {root: freeze(dict(sorted(values.items()))) for root, values in sorted(wanted.items())}
        return MappingProxyType(frozen)

    def render(self, path: str, scope: Scope, machine: Machine | None = None) -> bytes:
        """Render one of the templates."""
        from datum.fleet.template_engine import TemplateFailureError, render

        try:
            return render(self.prepared, path, scope)
        except TemplateFailureError as failure:
            failure.problem = self._named(failure, scope, machine)
            raise self._failed(failure) from None

    def _named(self, failure: "TemplateFailureError", scope: Scope, machine: Machine | None) -> EvaluationError:
        """Return the problem with the whole name in it: while rendering, only the last key of a name is known."""
        said = _words(failure.problem).removeprefix("The value")
        for chain, path, line in self._chains():
            if failure.problem.code == "undefined-name" and (path, line) == (failure.path, failure.line):
                found = resolve(scope, chain)
                if isinstance(found, Missing) and _words(found.problem()).endswith(said):
                    late = resolve_machine(machine, chain) if machine and chain[0] == "machine" else found
                    return cast("Missing", late).problem()
        return failure.problem

    def _chains(self) -> list[tuple[Chain, str, int]]:
        return [(chain, path, line) for path, found in self.prepared.items() for chain, line in found.chains]

    def _failed(self, failure: "TemplateFailureError") -> Exception:
        return self._error(failure.problem, SourceLocation(failure.path, failure.line, 1))

    def _error(self, problem: EvaluationError, place: SourceLocation) -> Exception:
        is_elsewhere = self.origin is not None and self.origin != place
        related = (("template used here", self.origin),) if self.origin is not None and is_elsewhere else ()
        return problem.at(place, related)


def _words(problem: EvaluationError) -> str:
    return f"{problem.detail} {problem.hint}".strip()
