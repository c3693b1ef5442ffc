"""From merged fields to resources: schemas, contents, references (design 2.1, 2.2). Pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import SourceLocation
from datum.fleet.common import COMMON_SHAPES
from datum.fleet.contents import Contents
from datum.fleet.expressions import ExpressionError
from datum.fleet.findings import Findings, problem, suggestion
from datum.fleet.late import sample_value
from datum.fleet.merge import Merged, References
from datum.fleet.resource_schema import ResourceSchema, ResourceTypes, expected
from datum.fleet.values import Placed, kind_of, plain_value
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.model.json import JsonValue, thaw
from datum.model.manifest import AttributeValue, Hazard, Late, OnRemoval, Resource
from datum.model.source import SourceTree

_IMPLEMENTS: Final[Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "array": (tuple, list),
        "object": (Mapping,),
        "null": (type(None),),
    }
)


@frozen
class Assembly:
    """Makes the resources of one host."""

    tree: SourceTree
    types: ResourceTypes
    findings: Findings
    # Every resource that is declared.
    declared: Mapping[ResourceId, Merged]
    # Ids all of whose declarations are off by `when`, each with one of the places.
    off: Mapping[ResourceId, SourceLocation]

    def resource(self, merged: Merged) -> Resource | None:
        """Make one resource; None where something is wrong with it, which is noted."""
        dropped: set[ResourceId] = set()
        places: dict[ResourceId, SourceLocation] = {}
        references: dict[str, tuple[ResourceId, ...]] = {}
        for name, found in merged.references.items():
            references[name] = self._resolve(merged, name, found, dropped)
            if name in COMMON_SHAPES:
                places |= {reference: found[reference] for reference in references[name]}
        moved = self._moved(merged)
        schema = self.types.get(merged.id.type)
        attributes = {} if merged.is_absent or schema is None else self._attributes(schema, merged, references)
        if merged.id in self.findings.tainted:
            return None
        values = merged.fields
        return Resource(
            merged.id,
            MappingProxyType(attributes),
            merged.strongest.location,
            references.get("requires", ()),
            references.get("after", ()),
            merged.is_absent,
            OnRemoval(str(values["on_removal"].value)) if "on_removal" in values else None,
            _is_true(values, "protect"),
            frozenset(map(Hazard, _texts(values, "allow"))),
            frozenset(_texts(values, "unmanaged")),
            _is_true(values, "audit"),
            moved,
            str(values["note"].value) if "note" in values else "",
            merged.origins,
            places,
            tuple(sorted(dropped)),
        )

    def _attributes(
        self, schema: ResourceSchema, merged: Merged, references: Mapping[str, tuple[ResourceId, ...]]
    ) -> dict[str, AttributeValue]:
        own = {name: placed for name, placed in merged.fields.items() if name not in COMMON_SHAPES}
        attributes: dict[str, AttributeValue] = {}
        plain: dict[str, JsonValue] = {}
        late = False
        for name, (value, _) in own.items():
            if type(value) is str:
                attributes[name] = plain[name] = value
            else:
                late |= isinstance(value, Late)
                attributes[name] = value if isinstance(value, Late) else plain_value(value)
                plain[name] = thaw(plain_value(value))
        for name, found in references.items():
            if name not in COMMON_SHAPES and found:
                attributes[name] = tuple(str(reference) for reference in found)
                plain[name] = [str(reference) for reference in found]
        wrong = self._explain(schema, merged, own, plain) if late or not schema.fits(plain) else frozenset()
        if schema.contents:
            for name in (schema.contents.keys() & attributes.keys()) - wrong:
                self._content(schema.contents[name], name, merged, attributes)
        return attributes

    def _explain(
        self, schema: ResourceSchema, merged: Merged, own: Mapping[str, Placed], plain: Mapping[str, JsonValue]
    ) -> frozenset[str]:
        """Note what does not fit the schema, and return the fields; of a late value only its type is looked at.

        Of a resource that is wrong already nothing is said as a whole: it may only lack what was wrong.
        """
        is_whole = merged.id not in self.findings.tainted
        wrong: set[str] = set()
        late = {name: placed for name, placed in own.items() if isinstance(placed.value, Late)}
        for name, diagnostic in schema.explain(merged.id, own, plain, merged.strongest.location):
            wrong.add(name)
            if name not in late and (name or is_whole):
                self.findings.add(diagnostic, merged.id)
        for name, (value, location) in late.items():
            try:
                sample = sample_value(value) if isinstance(value, Late) else None
            except ExpressionError as error:
                self.findings.add(evolve(error.diagnostic, location=location), merged.id)
                continue
            types = schema.shapes[name].types
            if types and not any(_is_a(sample, kind) for kind in types):
                detail = f"'{name}' gives {kind_of(sample)} on any machine, and {expected(types)} is wanted."
                hint = "Put it into a longer string, or use a filter that gives one." if "string" in types else ""
                self.findings.add(problem("wrong-type", location, detail, hint=hint), merged.id)
        return frozenset(wrong)

    def _content(self, kind: str, name: str, merged: Merged, attributes: dict[str, AttributeValue]) -> None:
        """Replace the path of a file of the repository by its content."""
        contents = Contents(self.tree, self.findings)
        path, location = str(attributes[name]), merged.fields[name].location
        found: Content | Late | None
        if kind == "source":
            found = contents.source(path, location, merged.id)
        else:
            found = contents.template(path, merged.winner(name).scope, location, merged.id)
        if found is not None:
            attributes[name] = found

    def _resolve(
        self, merged: Merged, name: str, references: References, dropped: set[ResourceId]
    ) -> tuple[ResourceId, ...]:
        """Return the references that hold, sorted; the others are noted, or dropped where `when` switched them off."""
        kept: list[ResourceId] = []
        for reference in sorted(references):
            if reference in self.declared:
                kept.append(reference)
            elif reference not in self.off:
                self._note_unknown(merged, name, reference, references[reference])
            elif name == "requires":
                detail = f"{merged.id} requires {reference}, and every declaration of it is switched off by `when`."
                hint = "Give both the same `when`, or use `after`, which drops."
                related = ((f"{reference} with its when", self.off[reference]),)
                wrong = problem("reference-off", references[reference], detail, hint=hint, related=related)
                self.findings.add(wrong, merged.id)
            else:
                dropped.add(reference)
        return tuple(kept)

    def _note_unknown(self, merged: Merged, name: str, reference: ResourceId, place: SourceLocation) -> None:
        """Note an unresolved reference, unless resources are missing because they could not be read."""
        if self.findings.is_incomplete:
            self.findings.tainted.add(merged.id)
            return
        detail = f"{merged.id} names {reference} in {name}, and this host declares no such resource."
        names = [known.name for known in self.declared if known.type == reference.type and known != merged.id]
        hint = suggestion(reference.name, names).replace("'", f"'{reference.type}:", 1)
        self.findings.add(problem("unknown-reference", place, detail, hint=hint), merged.id)

    def _moved(self, merged: Merged) -> ResourceId | None:
        if "moved" not in merged.fields:
            return None
        text, location = merged.fields["moved"]
        moved = ResourceId.parse(str(text))
        if moved in self.declared:
            detail = f"{merged.id} says that it was {moved} before, and {moved} is declared too."
            self.findings.add(
                problem("moved-still-declared", location, detail, hint="Remove one of the two."), merged.id
            )
        return moved


def _is_true(values: Mapping[str, Placed], name: str) -> bool:
    return name in values and values[name].value is True


def _texts(values: Mapping[str, Placed], name: str) -> tuple[str, ...]:
    found = values[name].value if name in values else ()
    return tuple(str(item) for item in found) if isinstance(found, (tuple, list)) else ()


def _is_a(value: JsonValue, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _IMPLEMENTS.get(kind, (object,)))
