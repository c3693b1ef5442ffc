"""Where each field of each resource came from. Pure."""

from attrs import frozen

from datum.diagnostics import SourceLocation
from datum.model.json import JsonValue


@frozen
class Say:
    """What one layer said of one field."""

    # `base`, `role/web`, `host/web1`: the layer, and its member where it has one.
    layer: str
    location: SourceLocation
    # As that layer meant it, after expressions, before merging.
    value: JsonValue


@frozen
class FieldOrigin:
    """Who decided a field. Unions and merged maps name every contributor; the strongest stands first."""

    winner: Say
    # Weaker says that the winner replaced or was united with, strongest first.
    others: tuple[Say, ...] = ()
