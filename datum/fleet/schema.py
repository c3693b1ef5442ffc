"""Typed reading of the fixed parts of fleet.yaml, host and layer files. Pure.

Every method returns the value, or None after having noted what is wrong. Nothing here is an expression.
"""

import enum
from collections.abc import Collection, Mapping
from typing import TypeVar

from attrs import frozen

from datum.fleet.findings import Findings, listing, problem, suggestion
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar, plain
from datum.fleet.values import kind_of

ChoiceT = TypeVar("ChoiceT", bound=enum.StrEnum)


@frozen
class Checker:
    """Reads nodes and notes what is wrong with them."""

    findings: Findings

    def table(self, node: Node, what: str) -> MapNode | None:
        """Return a map; null is an empty one."""
        if isinstance(node, MapNode):
            return node
        if isinstance(node, Scalar) and node.value is None:
            return MapNode({}, {}, node.location)
        self._wrong(node, f"{what} is a map")
        return None

    def keys(
        self, node: MapNode, known: Collection[str], what: str, *, later: Mapping[str, str] | None = None
    ) -> Mapping[str, Node]:
        """Return the entries with a known key that are not null; `later` tells what other versions will know."""
        later = later or {}
        taken: dict[str, Node] = {}
        for key, item in node.items.items():
            place = node.key_locations[key]
            if key in later:
                detail = f"'{key}' belongs to {later[key]}, which this version of datum does not have."
                self.findings.add(problem("not-in-this-version", place, detail, hint=f"Remove {key}."))
            elif key not in known:
                detail = f"{what} has no key '{key}'; it has {listing(known)}."
                self.findings.add(problem("unknown-key", place, detail, hint=suggestion(key, known)))
            elif not (isinstance(item, Scalar) and item.value is None):
                taken[key] = item
        return taken

    def text(self, node: Node, what: str) -> str | None:
        """Return a string."""
        if not isinstance(node, Scalar):
            self._wrong(node, f"{what} is a string")
            return None
        if not node.ambiguity and not isinstance(node.value, str):
            detail = f"{what} is a string, and {node.text or 'null'} without quotes is {kind_of(node.value)}."
            self.findings.add(problem("unquoted-scalar", node.location, detail, hint=f'Quote it: "{node.text}"'))
            return None
        if "${" in node.text:
            detail = f"{what} is read before anything is evaluated, so no expression may stand in it."
            self.findings.add(problem("expression-not-here", node.location, detail, hint="Write the value itself."))
            return None
        return node.text

    def integer(self, node: Node, what: str, *, least: int = 0) -> int | None:
        """Return an integer."""
        value = node.value if isinstance(node, Scalar) and not node.ambiguity else None
        if not isinstance(value, int) or isinstance(value, bool):
            self._wrong(node, f"{what} is an integer")
            return None
        if value < least:
            self.findings.add(problem("bad-value", node.location, f"{what} is at least {least}, not {value}."))
            return None
        return value

    def choice(self, node: Node, choices: type[ChoiceT], what: str) -> ChoiceT | None:
        """Return a member of an enumeration, written by its value."""
        text = self.text(node, what)
        if text is None:
            return None
        known = [choice.value for choice in choices]
        if text not in known:
            detail = f"{what} is one of {listing(known)}, not '{text}'."
            self.findings.add(problem("bad-value", node.location, detail, hint=suggestion(text, known)))
            return None
        return choices(text)

    def texts(self, node: Node, what: str) -> tuple[tuple[str, Scalar], ...]:
        """Return the distinct strings of a list, each with its node; those that are wrong are left out."""
        if not isinstance(node, ListNode):
            self._wrong(node, f"{what} is a list")
            return ()
        taken: dict[str, Scalar] = {}
        for item in node.items:
            text = self.text(item, f"every item of {what}")
            if text is None or not isinstance(item, Scalar):
                continue
            if text in taken:
                related = (("first", taken[text].location),)
                detail = f"{what} holds '{text}' twice."
                self.findings.add(problem("bad-value", item.location, detail, hint="Remove one.", related=related))
            else:
                taken[text] = item
        return tuple(taken.items())

    def _wrong(self, node: Node, expected: str) -> None:
        if isinstance(node, Scalar) and node.ambiguity:
            detail = f"{expected}, and {node.ambiguity}."
            self.findings.add(problem("ambiguous-scalar", node.location, detail))
        else:
            self.findings.add(problem("wrong-type", node.location, f"{expected}, not {kind_of(plain(node))}."))
