"""The single rules that the conformance suite puts together. A rule that is broken raises `AssertionError`."""

import math
from collections.abc import Callable, Mapping

from attrs import frozen

from datum.model.content import Content, Folder
from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.json import JsonValue, thaw
from datum.model.manifest import AttributeValue, Late
from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.provider.contract import AnyProvider, DesiredError
from datum.provider.host import HostError
from datum.testing.host import FakeHost


@frozen
class Refusal:
    """A `DesiredError` as a value that can be compared."""

    attribute: str
    detail: str
    hint: str
    code: str


class EveryTarget:
    """A graph in which everything is held by some resource."""

    def holder(self, target: Target) -> ResourceId | None:
        """As `TargetIndex`."""
        return ResourceId("other", target.key)

    def nearest_parent(self, path: str) -> ResourceId | None:
        """As `TargetIndex`."""
        return ResourceId("other", path)

    def keys(self, kind: str) -> tuple[str, ...]:
        """As `TargetIndex`."""
        return (f"declared-{kind}",)

    def paths_below(self, path: str) -> tuple[str, ...]:
        """As `TargetIndex`."""
        return (f"{path.rstrip('/')}/declared", f"{path.rstrip('/')}/declared/below")

    def is_absent(self, path: str) -> bool:
        """As `TargetIndex`."""
        return path.endswith("/below")

    def is_exclusive(self, path: str) -> bool:
        """As `TargetIndex`."""
        return path != "/"

    def targets_of(self, origin: ResourceId) -> tuple[Target, ...]:
        """As `TargetIndex`."""
        return (Target("path", origin.name, leaf=True),)


def require(condition: bool, text: str) -> None:  # noqa: FBT001 - reads as assert does
    """Raise what `assert` raises; works without a rewriting of assertions."""
    if not condition:
        raise AssertionError(text)


def properties_of(provider: AnyProvider) -> Mapping[str, JsonValue]:
    """Return what the schema says of each field."""
    properties = provider.schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def complaints_of(provider: AnyProvider) -> Callable[[Mapping[str, JsonValue]], list[str]]:
    """Return what the provider's schema says against attributes.

    Raises:
        jsonschema.SchemaError: the schema is none.
    """
    from jsonschema import Draft202012Validator

    schema = thaw(provider.schema)
    if not isinstance(schema, dict):
        raise AssertionError("the schema is no object")  # noqa: TRY004 - a rule is broken
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    return lambda attributes: [error.message for error in validator.iter_errors(thaw(attributes))]


def visible(seen: Observation, title: str) -> Present | Absent:
    """Return an observation that says what is there; nothing was in its way."""
    if isinstance(seen, Unobservable):
        raise AssertionError(f"{title}: {seen}")  # noqa: TRY004 - a rule is broken
    return seen


def plain_attributes(attributes: Mapping[str, AttributeValue]) -> dict[str, JsonValue]:
    """Return the attributes that a schema can judge."""
    found: dict[str, JsonValue] = {}
    for name, value in attributes.items():
        if isinstance(value, Folder):
            # Its field holds the path of the folder before the fleet reads it.
            found[name] = value.source
            continue
        if isinstance(value, (Content, Late)):
            continue
        if not isinstance(value, tuple):
            found[name] = value
            continue
        items = tuple(item for item in value if not isinstance(item, (Content, Late)))
        if len(items) == len(value):
            found[name] = items
    return found


def parsed(provider: AnyProvider, name: str, attributes: Mapping[str, AttributeValue]) -> object:
    """Return what `parse` answers, or the `Refusal` it raises."""
    try:
        return provider.parse(name, attributes)
    except DesiredError as error:
        require(error.attribute in {"", *provider.fields}, f"the error names '{error.attribute}', which is no field")
        return Refusal(error.attribute, error.detail, error.hint, error.code)


def adopted(provider: AnyProvider, name: str, seen: Present) -> Mapping[str, JsonValue] | None:
    """Return the attributes that declare what was seen; None where the type cannot declare it."""
    try:
        return provider.adopt(name, seen)
    except DesiredError:
        return None


def apply_raises(provider: AnyProvider, host: FakeHost, desired: object, step: Step) -> bool:
    """Apply a step, and say whether that raised `HostError`."""
    try:
        provider.apply(host.writer(), desired, step)
    except HostError:
        return True
    return False


def check_step(step: Step, seen: Present | Absent, title: str) -> None:
    """Check what holds of every step that a provider plans."""
    require(bool(step.changes), f"{title}: a step that changes nothing")
    idle = [change.name for change in step.changes if change.before == change.after]
    require(not idle, f"{title}: {idle} stay as they are")
    creates = step.operation is Operation.CREATE
    require(creates is isinstance(seen, Absent), f"{title}: {step.operation} from {seen}")
    require(step.operation is not Operation.DELETE, f"{title}: only the engine plans a deletion")
    names = [change.name for change in step.changes]
    require(len(names) == len(set(names)), f"{title}: a field changes twice: {names}")
    odd = [change.name for change in step.changes if not (is_json(change.before) and is_json(change.after))]
    require(not odd, f"{title}: {odd} change from or to what is no JSON value")
    _check_takes(step, title)


def _check_takes(step: Step, title: str) -> None:
    all_are(step.takes, str, title)
    require(step.takes == tuple(sorted(set(step.takes))), f"{title}: it takes along what is not sorted: {step.takes}")
    is_taking = step.operation in {Operation.UPDATE, Operation.REPLACE}
    require(is_taking or not step.takes, f"{title}: {step.operation} takes {step.takes} along")


def known_fields(fields: Mapping[str, FieldValue]) -> dict[str, JsonValue]:
    """Return the fields that have a value."""
    return {
        name: value for name, value in sorted(fields.items()) if not isinstance(value, (Unobservable, NotApplicable))
    }


def deletion_of(seen: Present) -> Step:
    """Return the deletion that the engine plans of what was seen."""
    changes = tuple(Change(name, value, None) for name, value in known_fields(seen.fields).items())
    return Step(Operation.DELETE, changes, takes=seen.holds)


def steps_for(provider: AnyProvider, desired: object, seen: Observation) -> tuple[Step, ...]:
    """Return every step that can follow: the provider's, and the engine's deletion."""
    step = None if isinstance(seen, Unobservable) else provider.plan(desired, seen)
    found = () if step is None else (step,)
    return (*found, deletion_of(seen)) if isinstance(seen, Present) else found


def all_are(values: object, kind: type, title: str) -> None:
    """Check that these are a tuple of one class."""
    require(isinstance(values, tuple), f"{title}: {values!r} is no tuple")
    odd = [value for value in values if not isinstance(value, kind)] if isinstance(values, tuple) else []
    require(not odd, f"{title}: {odd} are no {kind.__name__}")


def agrees(found: Observation, clean: Observation) -> bool:
    """Whether an observation during which something failed says nothing that the undisturbed one does not say."""
    if isinstance(found, Unobservable) or isinstance(clean, Unobservable):
        return isinstance(found, Unobservable)
    if type(found) is not type(clean) or found.fields.keys() != clean.fields.keys():
        return False
    return all(isinstance(value, Unobservable) or value == clean.fields[name] for name, value in found.fields.items())


def require_json(seen: Present | Absent, title: str) -> None:
    """Check that what was seen can stand in a plan that is recorded."""
    detail = seen.detail if isinstance(seen, Present) else {}
    for name, value in (*known_fields(seen.fields).items(), *detail.items()):
        require(is_json(value), f"{title}: {name} is no JSON value: {value!r}")


def is_json(value: object) -> bool:
    """Whether a value is one that JSON carries exactly."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_json(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(is_json(item) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int, str))
