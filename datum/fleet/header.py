"""The part of fleet.yaml that decides whether a revision concerns this fleet and this agent (design 3.3). Pure.

It is read leniently: whatever else is wrong in fleet.yaml, or new in a later format, does not matter here.
"""

import re
from typing import Final

from datum.diagnostics import SourceLocation, sorted_unique
from datum.errors import FleetError
from datum.fleet.findings import Findings, problem
from datum.fleet.nodes import MapNode, Node
from datum.fleet.schema import Checker
from datum.fleet.yaml_reader import read_yaml
from datum.model.fleet import FleetHeader, agent_fits
from datum.model.source import EntryKind, SourceTree

FLEET_FILE: Final = "fleet.yaml"
FORMAT: Final = 1


def read_header(tree: SourceTree) -> FleetHeader:
    """Read the header of fleet.yaml.

    Raises:
        FleetError: there is no fleet.yaml, it is no YAML, or one of these three keys is wrong.
    """
    return read_fleet(tree)[1]


def read_fleet(tree: SourceTree) -> tuple[MapNode, FleetHeader]:
    """Return the map of fleet.yaml and its header.

    Raises:
        FleetError: as `read_header`.
    """
    findings = Findings()
    node = _fleet_node(tree, findings)
    header = _header_of(node, findings) if node is not None else None
    if node is None or header is None or findings.items:
        raise FleetError(*sorted_unique(findings.items))
    return node, header


def _fleet_node(tree: SourceTree, findings: Findings) -> MapNode | None:
    """Return the map of fleet.yaml, None after having noted what is wrong."""
    place = SourceLocation(FLEET_FILE)
    entry = tree.entry(FLEET_FILE)
    if entry is None:
        detail = "The root of the repository holds no fleet.yaml, so it is no fleet repository."
        findings.add(problem("fleet-file-missing", place, detail, hint="Name the folder or repository that holds one."))
        return None
    if entry.kind not in (EntryKind.FILE, EntryKind.EXECUTABLE):
        findings.add(problem("not-a-file", place, f"fleet.yaml is a {entry.kind}, and a file is wanted."))
        return None
    return read_table(tree, FLEET_FILE, "fleet.yaml", findings)


def read_table(tree: SourceTree, path: str, what: str, findings: Findings) -> MapNode | None:
    """Return the map that a YAML file holds, None after having noted what is wrong; an empty file is an empty map."""
    try:
        node, diagnostics = read_yaml(tree.read(path), path)
    except FleetError as error:
        findings.extend(error.diagnostics)
        return None
    findings.extend(diagnostics)
    if node is None:
        return None if diagnostics else MapNode({}, {}, SourceLocation(path, 1, 1))
    return Checker(findings).table(node, what)


def _header_of(node: MapNode, findings: Findings) -> FleetHeader | None:
    """Read the three keys, None after having noted what is wrong."""
    checker = Checker(findings)
    number = _format(node, checker)
    fleet = _fleet(node, checker)
    agent = _agent(node.items.get("agent"), checker)
    if number is None or fleet is None or agent is None:
        return None
    return FleetHeader(number, fleet, agent)


def _format(node: MapNode, checker: Checker) -> int | None:
    found = node.items.get("datum")
    if found is None:
        detail = "fleet.yaml does not say which manifest format it is written in."
        checker.findings.add(problem("missing-field", node.location, detail, hint=f"Add `datum: {FORMAT}`."))
        return None
    return checker.integer(found, "datum: (the manifest format)", least=1)


def _fleet(node: MapNode, checker: Checker) -> str | None:
    found = node.items.get("fleet")
    if found is None:
        detail = "fleet.yaml does not say which fleet it is, so a host could not tell it from another."
        checker.findings.add(problem("missing-field", node.location, detail, hint="Add `fleet:` and a new UUID."))
        return None
    text = checker.text(found, "fleet: (the id of the fleet)")
    if text is None:
        return None
    if not re.fullmatch(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", text):
        detail = f"'{text}' is no UUID: 32 hexadecimal digits in groups of 8-4-4-4-12."
        checker.findings.add(problem("bad-value", found.location, detail, hint="Make one with `uuidgen`."))
        return None
    return text.lower()


def _agent(found: "Node | None", checker: Checker) -> str | None:
    if found is None:
        return ""
    text = checker.text(found, "agent: (a range of versions)")
    if text is None:
        return None
    try:
        agent_fits(text, "0")
    except ValueError as error:
        checker.findings.add(problem("bad-value", found.location, f"{error}."))
        return None
    return text
