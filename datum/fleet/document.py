"""The files of a fleet, each read once: fleet.yaml, host files, layer files. Pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import define, field, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import HostNotInFleetError
from datum.fleet.declared import Declared, read_declarations
from datum.fleet.findings import Findings, problem, suggestion
from datum.fleet.header import FORMAT, read_fleet, read_table
from datum.fleet.layers import (
    Membership,
    Pattern,
    names_in,
    read_layer_names,
    read_memberships,
    read_patterns,
)
from datum.fleet.nodes import MapNode, Node
from datum.fleet.resource_schema import ResourceTypes
from datum.fleet.schema import Checker
from datum.fleet.settings import SETTING_KEYS, read_settings
from datum.fleet.slots import read_contributions
from datum.fleet.values import Placed, Table
from datum.fleet.variables import as_variables
from datum.model.fleet import FleetHeader, agent_fits
from datum.model.identity import HostName
from datum.model.source import EntryKind, SourceTree

LATER_KEYS: Final = MappingProxyType(
    {
        "modules": "modules",
        "windows": "maintenance windows",
        "checks": "checks after a pass",
        "on_failure": "rollback",
        "machine": "what other hosts need of a machine",
        "trust": "signatures",
        "approvals": "approvals",
        "secrets": "secrets",
        "public_key": "secrets",
    }
)


@frozen
class FleetFile:
    """fleet.yaml."""

    header: FleetHeader
    # Weakest first.
    layers: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    settings: Mapping[str, Placed]
    diagnostics: tuple[Diagnostic, ...]


@frozen
class Document:
    """A host file or a layer file."""

    path: str
    # Of a host file.
    memberships: Mapping[str, Membership]
    variables: Table
    declarations: tuple[Declared, ...]
    # By slot.
    contributions: Mapping[str, Node]
    settings: Mapping[str, Placed]
    diagnostics: tuple[Diagnostic, ...]
    # Something in it could not be read, so that it is not known which resources it declares.
    is_incomplete: bool


@define
class Library:
    """Reads files of one tree when they are first asked for, and keeps what they say."""

    tree: SourceTree
    types: ResourceTypes
    agent_version: str
    _fleet: FleetFile | None = None
    _documents: dict[str, Document] = field(factory=dict)

    def fleet(self) -> FleetFile:
        """Return fleet.yaml.

        Raises:
            FleetError: its header cannot be read, or another agent is wanted.
        """
        if self._fleet is None:
            self._fleet = _read_fleet(self.tree, self.agent_version)
        return self._fleet

    def document(self, path: str, *, is_host: bool = False) -> Document:
        """Return a host or layer file; what is wrong with it stands in its diagnostics."""
        found = self._documents.get(path)
        if found is None:
            found = self._documents[path] = _read_document(self.tree, path, self.types, is_host=is_host)
        return found

    def host(self, name: HostName) -> Document | None:
        """Return the host's own file, None if it has none."""
        path = f"hosts/{name}.yaml"
        return self.document(path, is_host=True) if self.tree.entry(path) is not None else None

    def host_names(self) -> tuple[HostName, ...]:
        """Return the hosts that have a file, sorted; names that are none are left out."""
        found = []
        for name in names_in(self.tree, "hosts"):
            try:
                found.append(HostName(name))
            except ValueError:
                continue
        return tuple(found)

    def missing(self, name: HostName) -> HostNotInFleetError:
        """Return the error for a host that the fleet does not declare."""
        hint = suggestion(name.value, [host.value for host in self.host_names()])
        detail = f"There is no hosts/{name}.yaml, and no pattern of fleet.yaml matches {name}."
        return HostNotInFleetError(
            problem("host-not-in-fleet", SourceLocation("fleet.yaml"), detail, hint=hint or f"Add hosts/{name}.yaml")
        )


def _read_fleet(tree: SourceTree, agent_version: str) -> FleetFile:
    node, header = read_fleet(tree)
    findings = Findings()
    _check_header(header, node, agent_version, findings)
    findings.stop()
    checker = Checker(findings)
    keys = ("datum", "fleet", "agent", "layers", "patterns", *SETTING_KEYS)
    nodes = checker.keys(node, keys, "fleet.yaml", later=LATER_KEYS)
    layers = read_layer_names(nodes["layers"], checker) if "layers" in nodes else ()
    patterns = read_patterns(nodes["patterns"], checker) if "patterns" in nodes else ()
    settings = read_settings(nodes, checker)
    return FleetFile(header, layers, patterns, settings, tuple(findings.items))


def _check_header(header: FleetHeader, node: MapNode, agent_version: str, findings: Findings) -> None:
    if header.format != FORMAT:
        detail = f"fleet.yaml is written in manifest format {header.format}; this agent reads format {FORMAT}."
        findings.add(problem("format-not-supported", node.items["datum"].location, detail, hint="Upgrade the agent."))
    if not agent_fits(header.agent, agent_version):
        detail = f"fleet.yaml wants an agent of version {header.agent}; this one is {agent_version}."
        place = node.items["agent"].location
        findings.add(problem("agent-out-of-range", place, detail, hint="Install an agent of that range."))


def _read_document(tree: SourceTree, path: str, types: ResourceTypes, *, is_host: bool) -> Document:
    findings = Findings()
    node = _read_file(tree, path, findings)
    if node is None:
        return Document(path, {}, Table({}), (), {}, {}, tuple(findings.items), is_incomplete=True)
    checker = Checker(findings)
    keys = ("variables", "resources", "contribute", *SETTING_KEYS)
    nodes = checker.keys(node, (*keys, "layers") if is_host else keys, path, later=LATER_KEYS)
    memberships = read_memberships(nodes["layers"], checker) if "layers" in nodes else {}
    variables = checker.table(nodes["variables"], "variables") if "variables" in nodes else None
    return Document(
        path,
        memberships,
        as_variables(variables, findings) if variables is not None else Table({}),
        read_declarations(nodes["resources"], types, findings) if "resources" in nodes else (),
        read_contributions(nodes["contribute"], checker) if "contribute" in nodes else {},
        read_settings(nodes, checker),
        tuple(findings.items),
        # With a wrong key it may be `resources` that is misspelt.
        is_incomplete=findings.is_incomplete or any(item.code == "unknown-key" for item in findings.items),
    )


def _read_file(tree: SourceTree, path: str, findings: Findings) -> MapNode | None:
    entry = tree.entry(path)
    if entry is not None and entry.kind not in (EntryKind.FILE, EntryKind.EXECUTABLE):
        detail = f"{path} is a {entry.kind}, and a file is wanted; links and submodules are not followed."
        findings.add(problem("not-a-file", SourceLocation(path), detail))
        return None
    return read_table(tree, path, path, findings)
