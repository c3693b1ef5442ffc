"""What a YAML text says, to JSON and back: files of the host are parsed by the process without powers, too. Pure."""

from types import MappingProxyType
from typing import Any

from datum.agent.resolver import strict
from datum.agent.resolver.decode import location_from
from datum.agent.resolver.encode import location_to_json
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar
from datum.model.json import JsonValue


def node_to_json(node: Node) -> JsonValue:
    """Return a node: its place, what it is, and what it holds."""
    place = location_to_json(node.location)
    match node:
        case Scalar(value=value, text=text, is_plain=is_plain, ambiguity=ambiguity):
            return [place, "scalar", value, text, is_plain, ambiguity]
        case ListNode(items=items):
            return [place, "list", [node_to_json(item) for item in items]]
        case MapNode(items=entries, key_locations=places):
            keys = {key: location_to_json(where) for key, where in places.items()}
            return [place, "map", {key: node_to_json(item) for key, item in entries.items()}, keys]


def node_from(value: Any) -> Node:
    """Return a node.

    Raises:
        MalformedError: it is none.
    """
    match value:
        case [place, "scalar", None | bool() | int() | float() | str() as said, text, bool() as is_plain, ambiguity]:
            return Scalar(said, strict.text(text), location_from(place), is_plain, strict.text(ambiguity))
        case [place, "list", list() as items]:
            return ListNode(tuple(map(node_from, items)), location_from(place))
        case [place, "map", dict() as entries, dict() as places] if entries.keys() == places.keys():
            return MapNode(
                MappingProxyType({key: node_from(item) for key, item in entries.items()}),
                strict.mapping(places, location_from),
                location_from(place),
            )
        case _:
            raise strict.MalformedError("it is no node of YAML")
