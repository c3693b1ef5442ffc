"""What was observed, as attributes that declare it. Pure."""

from collections.abc import Iterable

from datum.model.json import JsonValue
from datum.model.observation import Present
from datum.provider.contract import DesiredError
from datum.provider.host import FileKind


def adopted_fields(name: str, observed: Present, kind: FileKind, fields: Iterable[str]) -> dict[str, JsonValue]:
    """Return those of some fields that have a text.

    Raises:
        DesiredError: something of another kind stands there.
    """
    found = observed.fields.get("kind")
    if found != kind.value:
        raise DesiredError("", f"a {found} stands at {name}, and no {kind.value}.")
    values = {field: observed.fields.get(field) for field in fields}
    return {field: value for field, value in values.items() if isinstance(value, str)}
