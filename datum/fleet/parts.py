"""`parts`: a content put together from pieces: texts, files of the repository, templates (design 2.3). Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import SourceLocation
from datum.errors import FleetError
from datum.fleet.contents import Contents
from datum.fleet.evaluation import as_table
from datum.fleet.expressions import ExpressionError, Scope
from datum.fleet.findings import problem, suggestion
from datum.fleet.late import sample_value
from datum.fleet.values import Pieces, Placed, Table, Value, kind_of, plain_value
from datum.model.content import Content
from datum.model.json import JsonValue
from datum.model.manifest import Late

# Bytes of all `source` pieces of one resource: the joined content is in no repository, so it is kept in memory.
SOURCES_LIMIT: Final = 8 * 1024 * 1024

_KINDS: Final = ("content", "source", "template")


def part_problems(contents: Contents, placed: Placed) -> bool:
    """Note what is wrong with the form of a list of pieces, and tell whether anything is.

    What is no list at all is left to the schema.
    """
    before = len(contents.findings.items)
    for piece in _pieces(placed):
        _check(contents, piece)
    return len(contents.findings.items) > before


def _pieces(placed: Placed) -> tuple[Placed, ...]:
    """Return the pieces with their places; those that an expression gave stand where it does."""
    value, location = placed
    if isinstance(value, Pieces):
        return value.items
    items = value if isinstance(value, (tuple, list)) else ()
    return tuple(Placed(as_table(item, location) if isinstance(item, Mapping) else item, location) for item in items)


def _said(table: Table) -> list[tuple[str, Placed]]:
    """Return what a piece says; null is as if never said."""
    return [(name, entry) for name, entry in table.items.items() if entry.value is not None]


def _check(contents: Contents, piece: Placed) -> None:
    value, location = piece
    if not isinstance(value, Table):
        detail = f"Every part is a map with one of content, source and template, not {kind_of(plain_value(value))}."
        contents.note(problem("wrong-type", location, detail, hint="Write - content: …"))
        return
    said = _said(value)
    names = [name for name, _ in said]
    unknown = [name for name in names if name not in _KINDS]
    for name in unknown:
        detail = f"A part has no key '{name}'; it has content, source, template."
        contents.note(problem("unknown-key", value.items[name].location, detail, hint=suggestion(name, _KINDS)))
    if unknown:
        return
    if len(names) != 1:
        detail = (
            f"A part has exactly one of content, source and template; this one has {' and '.join(names) or 'none'}."
        )
        hint = "Write a part for each." if names else "Write - content: …, or remove the part."
        contents.note(problem("bad-value", location, detail, hint=hint))
        return
    _check_text(contents, *said[0])


def _check_text(contents: Contents, name: str, entry: Placed) -> None:
    """Note a piece that is no text; of a late one what it is on the sample machine."""
    value, location = entry
    try:
        shown: JsonValue = sample_value(value) if isinstance(value, Late) else plain_value(value)
    except ExpressionError as error:
        contents.note(evolve(error.diagnostic, location=location))
        return
    if not isinstance(shown, str):
        where = " on any machine" if isinstance(value, Late) else ""
        detail = f"'{name}' of a part is {kind_of(shown)}{where}, and a string is wanted."
        contents.note(problem("wrong-type", location, detail))


@frozen
class Joiner:
    """Makes the contents of one list of pieces."""

    contents: Contents
    # What its templates see.
    scope: Scope

    def join(self, placed: Placed) -> tuple[Content | Late, ...] | None:
        """Return the pieces, all with their bytes or late; None after having noted what is wrong.

        The list was found sound by `part_problems`.
        """
        made: list[Content | Late | None] = []
        left = SOURCES_LIMIT
        for piece in _pieces(placed):
            table = piece.value if isinstance(piece.value, Table) else Table({})
            for name, (value, location) in _said(table):
                found = self._one(name, value, location, left)
                if name == "source" and isinstance(found, Content):
                    left -= len(found.inline or b"")
                made.append(found)
        kept = tuple(one for one in made if one is not None)
        return kept if len(kept) == len(made) else None

    def _one(self, name: str, value: Value, location: SourceLocation, left: int) -> Content | Late | None:
        if isinstance(value, Late):
            return evolve(value, is_content=True)
        text = str(value)
        if name == "template":
            return self.contents.template(text, self.scope, location)
        if name == "source":
            return self._source(text, location, left)
        return Content.from_bytes(text.encode(), algorithm=self.contents.tree.revision.algorithm)

    def _source(self, path: str, location: SourceLocation, left: int) -> Content | None:
        entry = self.contents.file(path, location)
        if entry is None:
            return None
        try:
            with self.contents.tree.open_blob(entry.blob) as stream:
                data = stream.read(left + 1)
        except FleetError as error:
            self.contents.note(*error.diagnostics)
            return None
        if len(data) > left:
            detail = f"With {path} the files among the parts have more than {SOURCES_LIMIT:,} bytes together."
            hint = "Name one file by `source`, which is never held in memory as a whole."
            self.contents.note(problem("parts-too-large", location, detail, hint=hint))
            return None
        return Content(entry.blob, inline=data, source=path)
