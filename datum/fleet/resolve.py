"""What a revision declares for a host (design 1.1, 2). Pure: a function of tree, host name, providers and versions."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic, Severity, SourceLocation, sorted_unique
from datum.errors import FleetError
from datum.fleet.assemble import Assembly
from datum.fleet.digest import manifest_digest
from datum.fleet.document import Document, Library
from datum.fleet.expand import Layer, expand
from datum.fleet.expressions import Scope
from datum.fleet.files import unreadable_files
from datum.fleet.findings import Findings, problem
from datum.fleet.header import FLEET_FILE
from datum.fleet.layers import HOST_LAYER, Member, Membership, find_members, match_patterns, names_in
from datum.fleet.merge import Declaration, Merged, merge_resource
from datum.fleet.resource_schema import ResourceTypes
from datum.fleet.settings import merge_settings
from datum.fleet.slots import Contribution, Slots, evaluate_contributions, merge_contributions
from datum.fleet.variables import Variables, merge_variables
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonValue
from datum.model.manifest import EffectiveManifest, Resource
from datum.model.source import EntryKind, SourceTree
from datum.provider.contract import AnyProvider

# fleet.yaml is weaker than every layer.
_FLEET_RANK: Final = -1


@frozen
class Source:
    """A file that makes up a host."""

    # Greater is stronger.
    rank: int
    # As `Say.layer`.
    label: str
    document: Document


@frozen
class FleetCheck:
    """What reading everything found."""

    # Hosts whose manifest is sound; a pattern stands there with a sample name.
    manifests: Mapping[HostName, EffectiveManifest]
    # Sorted by place, each once.
    diagnostics: tuple[Diagnostic, ...]
    # Of other hosts, if all declarations could be read: the resources that nothing is wrong with. Without a digest.
    unsound: Mapping[HostName, EffectiveManifest] = MappingProxyType({})


def resolve_manifest(
    tree: SourceTree, host: HostName, providers: Mapping[str, AnyProvider], *, agent_version: str
) -> EffectiveManifest:
    """Resolve one host; reads fleet.yaml, its host file and its layer members, and nothing else.

    Raises:
        HostNotInFleetError: neither a host file nor a pattern is for this name.
        FleetError: with everything that is wrong for this host, sorted by place.
    """
    return _resolve(Library(tree, ResourceTypes(providers), agent_version), host)


def list_hosts(tree: SourceTree) -> tuple[HostName, ...]:
    """Return the hosts that have a file, sorted; names that only patterns match cannot be listed."""
    return Library(tree, ResourceTypes({}), "0").host_names()


def check_fleet(tree: SourceTree, providers: Mapping[str, AnyProvider], *, agent_version: str) -> FleetCheck:
    """Read everything, resolve every host twice, and compare."""
    library = Library(tree, ResourceTypes(providers), agent_version)
    findings = Findings()
    manifests: dict[HostName, EffectiveManifest] = {}
    unsound: dict[HostName, EffectiveManifest] = {}
    try:
        fleet = library.fleet()
    except FleetError as error:
        findings.items.extend(error.diagnostics)
        _read_everything(library, None, findings)
        return FleetCheck(MappingProxyType({}), sorted_unique(findings.items))
    findings.items.extend(fleet.diagnostics)
    _read_everything(library, fleet.layers, findings)
    hosts = library.host_names()
    samples = (pattern.sample(hosts) for pattern in fleet.patterns)
    for host in sorted({*hosts, *(name for name in samples if name is not None)}):
        own = Findings()
        manifest = _read(library, host, own)
        findings.items.extend(own.items)
        # Where declarations could not be read, what is left of a resource says nothing of it.
        if own.items and not own.is_incomplete:
            sound = tuple(one for one in manifest.resources if one.id not in own.tainted)
            unsound[host] = evolve(manifest, resources=sound)
        if own.items:
            continue
        manifests[host] = _digested(manifest)
        if _resolve(library, host).digest != manifests[host].digest:
            detail = f"Resolving {host} twice gave two manifests; this is a bug in datum or in a provider."
            findings.add(problem("not-deterministic", SourceLocation(f"hosts/{host}.yaml"), detail))
    findings.items.extend(unreadable_files(tree, manifests.values()))
    return FleetCheck(MappingProxyType(manifests), sorted_unique(findings.items), MappingProxyType(unsound))


def _read_everything(library: Library, layers: tuple[str, ...] | None, findings: Findings) -> None:
    """Note what is wrong with every file, whether or not a host uses it; `layers` are those that fleet.yaml lists."""
    for folder in ("hosts", "layers"):
        entry = library.tree.entry(folder)
        if entry is not None and entry.kind is not EntryKind.FOLDER:
            detail = f"'{folder}' is a {entry.kind}, so nothing of it is read."
            findings.add(problem("not-a-folder", SourceLocation(folder), detail))
    for name in names_in(library.tree, "hosts"):
        path = f"hosts/{name}.yaml"
        findings.extend(library.document(path, is_host=True).diagnostics)
        try:
            HostName(name)
        except ValueError as error:
            hint = "Rename the file."
            findings.add(problem("bad-host-name", SourceLocation(path), f"{error}.", hint=hint))
    for layer in sorted(library.tree.entries("layers")):
        for name in names_in(library.tree, f"layers/{layer}"):
            path = f"layers/{layer}/{name}.yaml"
            findings.extend(library.document(path).diagnostics)
            if layers is not None and layer not in layers:
                detail = f"{path} is never read: fleet.yaml does not list the layer '{layer}'."
                wrong = problem("unknown-layer", SourceLocation(path), detail, hint=f"Add {layer} to layers.")
                findings.add(evolve(wrong, severity=Severity.WARNING))


def _resolve(library: Library, host: HostName) -> EffectiveManifest:
    findings = Findings()
    manifest = _read(library, host, findings)
    findings.stop()
    return _digested(manifest)


def _digested(manifest: EffectiveManifest) -> EffectiveManifest:
    return evolve(manifest, digest=manifest_digest(manifest))


def _read(library: Library, host: HostName, findings: Findings) -> EffectiveManifest:
    """Return what a host declares, as far as it can be read, without a digest; what is wrong is added to `findings`.

    Raises:
        HostNotInFleetError: neither a host file nor a pattern is for this name.
        FleetError: fleet.yaml cannot be read.
    """
    fleet = library.fleet()
    findings.extend(fleet.diagnostics)
    own = library.host(host)
    patterns = match_patterns(fleet.patterns, host, findings) if own is None else None
    if own is None and patterns is None:
        findings.stop()
        raise library.missing(host)
    memberships: Mapping[str, Membership] = own.memberships if own is not None else patterns or {}
    members = find_members(library.tree, fleet.layers, memberships, findings)
    layers = _by_layer(fleet.layers, members)
    sources = _sources(library, members, Source(len(fleet.layers), f"{HOST_LAYER}/{host}", own) if own else None)
    for source in sources:
        findings.items.extend(source.document.diagnostics)
        findings.is_incomplete |= source.document.is_incomplete
    facts: Mapping[str, JsonValue] = MappingProxyType({"name": host.value, "layers": layers})
    merged = merge_variables([(source.rank, source.label, source.document.variables) for source in sources], findings)
    variables = Variables(merged, {"host": facts})
    said = [(source.rank, source.label, source.document.settings) for source in sources]
    settings = merge_settings([*said, (_FLEET_RANK, FLEET_FILE, fleet.settings)], findings)
    values = variables.evaluate_all(findings)
    scope: Scope = {"var": variables, "host": facts}
    slots = merge_contributions(
        [
            Contribution(
                source.rank, source.label, evaluate_contributions(source.document.contributions, scope, findings)
            )
            for source in sources
        ],
        findings,
    )
    resources = _resources(library, sources, scope, slots, findings)
    return EffectiveManifest(
        library.tree.revision,
        host,
        fleet.header.fleet,
        resources,
        "",
        layers,
        values,
        settings.expect,
        settings.limits,
        settings.enforcement,
        settings.on_observation_failure,
        settings.enforcement_at,
    )


def _sources(library: Library, members: Sequence[Member], own: Source | None) -> tuple[Source, ...]:
    """Return the files of a host, strongest first; those of one rank by label."""
    found = [Source(member.rank, member.label, library.document(member.path)) for member in members]
    found.sort(key=lambda source: (-source.rank, source.label))
    return (own, *found) if own is not None else tuple(found)


def _by_layer(layers: Sequence[str], members: Sequence[Member]) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the members of each layer, weakest layer first."""
    return MappingProxyType(
        {
            layer: tuple(member.name for member in members if member.rank == rank)
            for rank, layer in enumerate(layers)
            if any(member.rank == rank for member in members)
        }
    )


def _resources(
    library: Library, sources: Sequence[Source], scope: Scope, slots: Slots, findings: Findings
) -> tuple[Resource, ...]:
    """Expand, merge and assemble, sorted by id."""
    declarations: dict[ResourceId, list[Declaration]] = {}
    off: dict[ResourceId, SourceLocation] = {}
    for source in sources:
        layer = Layer(source.rank, source.label, scope)
        expansion = expand(layer, source.document.declarations, library.types, findings)
        off |= expansion.off
        for declaration in expansion.declarations:
            declarations.setdefault(declaration.id, []).append(declaration)
    merged: dict[ResourceId, Merged] = {}
    for resource in sorted(declarations, key=lambda one: (one.type, one.name)):
        result = merge_resource(declarations[resource], partial(findings.add, resource=resource))
        if result is not None:
            merged[resource] = result
    assembly = Assembly(library.tree, library.types, findings, merged, off, slots)
    made = [assembly.resource(one) for one in merged.values()]
    if not findings.is_incomplete and not any(library.types.has_slot(one.type) for one in findings.tainted):
        slots.note_unheld(findings)
    return tuple(resource for resource in made if resource is not None)
