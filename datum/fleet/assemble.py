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
from datum.fleet.parts import Joiner, part_problems
from datum.fleet.resource_schema import ResourceSchema, ResourceTypes, expected
from datum.fleet.slots import Slots
from datum.fleet.values import Placed, kind_of, plain_value
from datum.model.identity import ResourceId
from datum.model.json import JsonValue, thaw
from datum.model.manifest import AttributeValue, Hazard, Late, OnRemoval, Resource
from datum.model.provenance import FieldOrigin
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
_WHILE_STOPPED: Final = "while_stopped"
_NOWHERE: Final[Mapping[ResourceId, SourceLocation]] = MappingProxyType({})


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
    slots: Slots

    def resource(self, merged: Merged) -> Resource | None:
        """Make one resource; None where something is wrong with it, which is noted."""
        dropped: set[ResourceId] = set()
        places: dict[ResourceId, SourceLocation] = {}
        references: dict[str, tuple[ResourceId, ...]] = {}
        for name, found in merged.references.items():
            references[name] = self._resolve(merged, name, found, dropped)
            if name in COMMON_SHAPES and name != _WHILE_STOPPED:
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
            self._origins(schema, merged),
            places,
            tuple(sorted(dropped)),
            references.get(_WHILE_STOPPED, ()),
            merged.references.get(_WHILE_STOPPED, _NOWHERE),
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
            # A list that `when` emptied is still said: a type may demand the field.
            if name not in COMMON_SHAPES and (found or merged.references[name]):
                attributes[name] = tuple(str(reference) for reference in found)
                plain[name] = [str(reference) for reference in found]
        named = schema.contents.keys() & own.keys()
        wrong = self._wrong_parts(schema, merged) if named else frozenset()
        if late or not schema.fits(plain):
            wrong |= self._explain(schema, merged, own, plain, wrong)
        for name in sorted(named - wrong):
            found_content = self._content(schema.contents[name], name, merged)
            if found_content is not None:
                attributes[name] = found_content
        return attributes

    def _wrong_parts(self, schema: ResourceSchema, merged: Merged) -> frozenset[str]:
        """Note pieces that are none, and return their fields."""
        contents = Contents(self.tree, self.findings, merged.id)
        names = [name for name, kind in schema.contents.items() if kind == "parts" and name in merged.fields]
        return frozenset(name for name in names if part_problems(contents, merged.fields[name]))

    def _origins(self, schema: ResourceSchema | None, merged: Merged) -> Mapping[str, FieldOrigin]:
        """Return who said each field, and each text of a slot that it holds: `assemble.db1`."""
        if schema is None or schema.contents.keys().isdisjoint(merged.fields):
            return merged.origins
        held = {
            f"{name}.{key}": origin
            for name, kind in schema.contents.items()
            if kind == "slot" and name in merged.fields
            for key, origin in self.slots.origins.get(str(merged.fields[name].value), {}).items()
        }
        return MappingProxyType({**merged.origins, **held})

    def _explain(
        self,
        schema: ResourceSchema,
        merged: Merged,
        own: Mapping[str, Placed],
        plain: Mapping[str, JsonValue],
        said: frozenset[str],
    ) -> frozenset[str]:
        """Note what does not fit the schema, and return the fields; of a late value only its type is looked at.

        Of a resource that is wrong already nothing is said as a whole: it may only lack what was wrong; and nothing of
        the fields in `said`.
        """
        is_whole = merged.id not in self.findings.tainted
        wrong: set[str] = set()
        late = {name: placed for name, placed in own.items() if isinstance(placed.value, Late)}
        for name, diagnostic in schema.explain(merged.id, own, plain, merged.strongest.location):
            wrong.add(name)
            if name not in late and name not in said and (name or is_whole):
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

    def _content(self, kind: str, name: str, merged: Merged) -> AttributeValue:
        """Return what a field names or holds, as contents; None after having noted what is wrong."""
        contents = Contents(self.tree, self.findings, merged.id)
        placed, scope = merged.fields[name], merged.winner(name).scope
        said, location = str(placed.value), placed.location
        match kind:
            case "source":
                return contents.source(said, location)
            case "template":
                return contents.template(said, scope, location)
            case "folder":
                return contents.folder(said, location)
            case "parts":
                return Joiner(contents, scope).join(placed)
            case _:
                return self.slots.hold(said, merged.id, location, self.tree.revision.algorithm, self.findings)

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
