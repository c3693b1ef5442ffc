"""Which files make up a host: layers, their default members, patterns (design 2.2, 2.8). Pure."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from datum.diagnostics import SourceLocation
from datum.fleet.findings import Findings, listing, problem, suggestion
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar
from datum.fleet.schema import Checker
from datum.model.identity import HostName
from datum.model.source import EntryKind, SourceTree

HOST_LAYER: Final = "host"
DEFAULT_MEMBER: Final = "default"

_LAYER: Final = re.compile(r"[a-z][a-z0-9_-]*")
_MEMBER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATTERN: Final = re.compile(r"[a-z0-9.*?-]+")


@frozen
class Membership:
    """The members that a host, or a pattern, names in one layer."""

    members: tuple[str, ...]
    location: SourceLocation


@frozen
class Pattern:
    """One entry of `patterns:`."""

    # `*` is any run of characters, `?` any one.
    match: str
    layers: Mapping[str, Membership]
    location: SourceLocation

    def fits(self, name: str) -> bool:
        """Tell whether a host name matches."""
        parts = {"*": ".*", "?": "."}
        return re.fullmatch("".join(parts.get(char) or re.escape(char) for char in self.match), name) is not None

    def sample(self, taken: Iterable[HostName]) -> HostName | None:
        """Return a name that matches and is not taken, None if a pattern without `*` and `?` has none."""
        known = {name.value for name in taken}
        for number in range(1, len(known) + 2):
            filled = self.match.replace("*", str(number)).replace("?", str(number % 10))
            if filled not in known:
                return HostName(filled)
        return None


@frozen
class Member:
    """One file of a layer that concerns a host."""

    # Greater is stronger.
    rank: int
    # `base` for the default member, else `role/web`.
    label: str
    # `default`, `web`.
    name: str
    path: str


def read_layer_names(node: Node, checker: Checker) -> tuple[str, ...]:
    """Read `layers:` of fleet.yaml, weakest first."""
    names = []
    for name, item in checker.texts(node, "layers"):
        if name == HOST_LAYER:
            detail = "The host file is the strongest layer of all; no other can be called 'host'."
            checker.findings.add(problem("bad-value", item.location, detail))
        elif not _LAYER.fullmatch(name):
            detail = f"'{name}' is no name of a layer: lower-case letters, digits, - and _."
            checker.findings.add(problem("bad-value", item.location, detail))
        else:
            names.append(name)
    return tuple(names)


def read_memberships(node: Node, checker: Checker) -> Mapping[str, Membership]:
    """Read `layers:` of a host file or a pattern: `{os: debian-12, role: [web, metrics]}`."""
    table = checker.table(node, "layers")
    if table is None:
        return MappingProxyType({})
    found: dict[str, Membership] = {}
    for layer, item in table.items.items():
        if isinstance(item, Scalar) and item.value is None and not item.ambiguity:
            continue
        wrapped = item if isinstance(item, ListNode) else ListNode((item,), item.location)
        members = []
        for name, scalar in checker.texts(wrapped, f"layers.{layer}"):
            if _MEMBER.fullmatch(name):
                members.append(name)
            else:
                detail = f"'{name}' is no name of a layer's member: letters, digits, dots, - and _."
                checker.findings.add(problem("bad-value", scalar.location, detail))
        found[layer] = Membership(tuple(members), table.key_locations[layer])
    return MappingProxyType(found)


def read_patterns(node: Node, checker: Checker) -> tuple[Pattern, ...]:
    """Read `patterns:` of fleet.yaml."""
    if not isinstance(node, ListNode):
        detail = "patterns is a list of maps."
        hint = 'Write - {match: "web-*", layers: {role: web}}'
        checker.findings.add(problem("wrong-type", node.location, detail, hint=hint))
        return ()
    found = (_read_pattern(item, checker) for item in node.items)
    return tuple(pattern for pattern in found if pattern is not None)


def match_patterns(patterns: Iterable[Pattern], host: HostName, findings: Findings) -> Mapping[str, Membership] | None:
    """Return what the matching patterns say together, None if none matches; two that differ are noted."""
    matching = [pattern for pattern in patterns if pattern.fits(host.value)]
    if not matching:
        return None
    found: dict[str, Membership] = {}
    for pattern in matching:
        for layer, membership in pattern.layers.items():
            first = found.setdefault(layer, membership)
            if set(first.members) != set(membership.members):
                detail = (
                    f"Two patterns match {host}; in layer {layer} one gives {listing(first.members)}, the other "
                    f"{listing(membership.members)}, and neither is stronger."
                )
                hint = f"Write hosts/{host}.yaml, which wins over patterns, or make the patterns exclude each other."
                related = (("other", membership.location),)
                findings.add(problem("conflict", first.location, detail, hint=hint, related=related))
    return found


def find_members(
    tree: SourceTree, layers: tuple[str, ...], memberships: Mapping[str, Membership], findings: Findings
) -> tuple[Member, ...]:
    """Return the files of a host's layers, weakest first; layers and members that do not exist are noted."""
    for layer, membership in memberships.items():
        if layer not in layers:
            detail = f"'{layer}' is not among the layers of fleet.yaml: {', '.join(layers) or 'there are none'}."
            findings.add(problem("unknown-layer", membership.location, detail, hint=suggestion(layer, layers)))
            findings.is_incomplete = True
    found: list[Member] = []
    for rank, layer in enumerate(layers):
        if layer not in memberships:
            path = f"layers/{layer}/{DEFAULT_MEMBER}.yaml"
            if tree.entry(path) is not None:
                found.append(Member(rank, layer, DEFAULT_MEMBER, path))
            continue
        for name in sorted(set(memberships[layer].members)):
            label = layer if name == DEFAULT_MEMBER else f"{layer}/{name}"
            path = f"layers/{layer}/{name}.yaml"
            if tree.entry(path) is None:
                _note_missing(tree, layer, name, memberships[layer].location, findings)
            else:
                found.append(Member(rank, label, name, path))
    return tuple(found)


def names_in(tree: SourceTree, folder: str) -> tuple[str, ...]:
    """Return the names of the YAML files in a folder, without `.yaml`, sorted."""
    return tuple(
        sorted(
            name.removesuffix(".yaml")
            for name, entry in tree.entries(folder).items()
            if name.endswith(".yaml") and entry.kind is not EntryKind.FOLDER
        )
    )


def _note_missing(tree: SourceTree, layer: str, name: str, location: SourceLocation, findings: Findings) -> None:
    known = names_in(tree, f"layers/{layer}")
    detail = f"There is no layers/{layer}/{name}.yaml; layer {layer} has {listing(known)}."
    findings.add(problem("unknown-layer-member", location, detail, hint=suggestion(name, known)))
    findings.is_incomplete = True


def _read_pattern(node: Node, checker: Checker) -> Pattern | None:
    table = checker.table(node, "every pattern")
    if table is None:
        return None
    nodes = checker.keys(table, ("match", "layers"), "a pattern")
    match = _read_match(nodes.get("match"), table, checker)
    layers = read_memberships(nodes.get("layers", MapNode({}, {}, node.location)), checker)
    return None if match is None else Pattern(match, layers, node.location)


def _read_match(node: "Node | None", table: MapNode, checker: Checker) -> str | None:
    if node is None:
        detail = "A pattern says which host names it matches."
        checker.findings.add(problem("missing-field", table.location, detail, hint='Add match: "web-*"'))
        return None
    text = checker.text(node, "match")
    if text is None:
        return None
    try:
        HostName(text.replace("*", "1").replace("?", "1"))
    except ValueError:
        is_name = False
    else:
        is_name = True
    if not is_name or not _PATTERN.fullmatch(text):
        detail = (
            f"'{text}' matches no host name: lower-case letters, digits, hyphens and dots, * for any run, ? for one."
        )
        checker.findings.add(problem("bad-pattern", node.location, detail))
        return None
    return text
