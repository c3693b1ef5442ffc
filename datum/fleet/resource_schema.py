"""What is known of each resource type: its fields, their shapes, and whether attributes fit its schema. Pure.

`jsonschema_rs` answers yes or no; `jsonschema` is imported only to word what is wrong.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import define, field

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import ProviderContractError
from datum.fleet.findings import listing, problem, suggestion
from datum.fleet.shape import Shape, shapes_of
from datum.fleet.values import Pieces, Placed, Table, kind_of
from datum.model.identity import ResourceId
from datum.model.json import JsonValue, thaw
from datum.provider.contract import AnyProvider, DesiredError, FieldClass

_KINDS: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "null",
}


@define
class ResourceSchema:
    """One resource type."""

    name: str
    provider: AnyProvider
    shapes: Mapping[str, Shape]
    # Fields that become contents, and by what: `source`, `template`, `folder`, `parts`, `slot`.
    contents: Mapping[str, str]
    _validator: Any = None

    def normal_name(self, name: str, location: SourceLocation) -> tuple[str, Diagnostic | None]:
        """Return the normal form of a name; the diagnostic says why it is none, or which spelling is right.

        Raises:
            ProviderContractError: the provider raised something else than `DesiredError`.
        """
        try:
            normal = self.provider.normal_name(name)
        except DesiredError as error:
            detail = f"'{name}' names no {self.name}: {error.detail}"
            return name, problem(error.code, location, detail, hint=error.hint, resource=f"{self.name}:{name}")
        except Exception as error:
            detail = (
                f"normal_name raised {type(error).__name__}: {error}. This is a bug in the provider of {self.name}."
            )
            resource = f"{self.name}:{name}"
            raise ProviderContractError(problem("provider-breach", location, detail, resource=resource)) from error
        if normal == name:
            return name, None
        detail = f"'{self.name}:{name}' is another spelling of '{self.name}:{normal}'; only the latter is used."
        wrong = problem(
            "name-not-normal",
            location,
            detail,
            hint=f"Write {self.name}:{normal}",
            resource=f"{self.name}:{name}",
        )
        return normal, wrong

    def hint_of_missing(self, name: str) -> str:
        """Return what the type says of a field that it does not have; empty for nothing."""
        hints = self.provider.schema.get("x-no-field", {})
        hint = hints.get(name, "") if isinstance(hints, Mapping) else ""
        return str(hint)

    def _schema(self) -> dict[str, Any]:
        """Return the schema as the two checkers take it."""
        return {key: thaw(value) for key, value in self.provider.schema.items()}

    @property
    def enforced(self) -> tuple[str, ...]:
        """The fields that are state of their own: only these can be left unmanaged."""
        return tuple(name for name, kind in self.provider.fields.items() if kind is FieldClass.ENFORCED)

    def fits(self, attributes: Mapping[str, JsonValue]) -> bool:
        """Tell whether attributes, as lists and dicts, satisfy the schema."""
        if self._validator is None:
            import jsonschema_rs

            self._validator = jsonschema_rs.validator_for(self._schema())
        return bool(self._validator.is_valid(attributes))

    def explain(
        self,
        resource: ResourceId,
        fields: Mapping[str, Placed],
        attributes: Mapping[str, JsonValue],
        place: SourceLocation,
    ) -> Iterator[tuple[str, Diagnostic]]:
        """Word everything that is wrong: the field it concerns, or empty for the resource, and a diagnostic."""
        import jsonschema

        for error in jsonschema.Draft202012Validator(self._schema()).iter_errors(attributes):
            path = [str(part) for part in error.absolute_path]
            where = _place(path, fields, place)
            code, detail, hint = _words(error, ".".join(path))
            yield path[0] if path else "", problem(code, where, detail, hint=hint, resource=resource)


@define
class ResourceTypes:
    """The resource types of this agent; each is looked at when a manifest first names it."""

    providers: Mapping[str, AnyProvider]
    _schemas: dict[str, ResourceSchema] = field(factory=dict)

    def get(self, name: str) -> ResourceSchema | None:
        """Return what is known of a type, None if there is no such type."""
        found = self._schemas.get(name)
        if found is None and name in self.providers:
            provider = self.providers[name]
            shapes = shapes_of(provider.schema)
            contents = {key: shape.content for key, shape in shapes.items() if shape.content}
            found = self._schemas[name] = ResourceSchema(name, provider, shapes, contents)
        return found

    def has_slot(self, name: str) -> bool:
        """Tell whether resources of a type can hold a slot."""
        schema = self.get(name)
        return schema is not None and "slot" in schema.contents.values()

    def identify(self, text: str, location: SourceLocation) -> tuple[ResourceId | None, Diagnostic | None]:
        """Read `type:name`; a diagnostic says what is wrong with it, an id may still be known then."""
        try:
            resource = ResourceId.parse(text)
        except ValueError as error:
            return None, problem("bad-resource-id", location, f"{error}.")
        schema = self.get(resource.type)
        if schema is None:
            detail = f"'{resource.type}' is no resource type; {_known(self.providers)}."
            hint = suggestion(resource.type, self.providers)
            return None, problem("unknown-resource-type", location, detail, hint=hint, resource=text)
        normal, wrong = schema.normal_name(resource.name, location)
        return (ResourceId(resource.type, normal) if wrong else resource), wrong


def _known(providers: Mapping[str, AnyProvider]) -> str:
    if not providers:
        return "there is none"
    return f"{'there is only' if len(providers) == 1 else 'there are'} {listing(providers)}"


def expected(types: tuple[str, ...]) -> str:
    """Return JSON Schema's names of types as a person says them."""
    return " or ".join(_KINDS.get(kind, kind) for kind in types)


def _place(path: list[str], fields: Mapping[str, Placed], place: SourceLocation) -> SourceLocation:
    if not path or path[0] not in fields:
        return place
    placed = fields[path[0]]
    for part in path[1:]:
        if isinstance(placed.value, Pieces):
            placed = placed.value.items[int(part)]
        elif isinstance(placed.value, Table) and part in placed.value.items:
            placed = placed.value.items[part]
        else:
            break
    return placed.location


def _words(error: Any, path: str) -> tuple[str, str, str]:
    """Return code, detail and hint for one error of jsonschema."""
    what = f"'{path}'" if path else "The resource"
    wanted = error.validator_value
    match error.validator:
        case "type":
            types = (wanted,) if isinstance(wanted, str) else tuple(wanted)
            return "wrong-type", f"{what} is {kind_of(error.instance)}, and {expected(types)} is wanted.", ""
        case "required":
            missing = [name for name in wanted if name not in error.instance]
            return "missing-field", f"{what} needs {listing(missing)}.", _described_fields(error, missing)
        case "enum":
            known = [str(choice) for choice in wanted]
            hint = suggestion(str(error.instance), known)
            return "bad-value", f"{what} is one of {listing(known)}, not {error.instance!r}.", hint
        case "oneOf" | "anyOf" if all(set(choice) <= {"required"} for choice in wanted):
            names = [name for choice in wanted for name in choice.get("required", ())]
            count = "exactly one" if error.validator == "oneOf" else "at least one"
            return "missing-field", f"{what} needs {count} of {listing(names)}.", ""
        case _:
            return "bad-value", f"{what} is not allowed: {error.message}.", _described(error)


def _described_fields(error: Any, names: list[str]) -> str:
    """Return what the schema says of fields that are missing, for people."""
    known = error.schema.get("properties", {})
    told = ((name, known.get(name, {}).get("description", "")) for name in names)
    return " ".join(f"{name}: {description}" for name, description in told if description)


def _described(error: Any) -> str:
    """Return what the schema says of the value, for people."""
    description = error.schema.get("description", "") if isinstance(error.schema, Mapping) else ""
    return str(description)
