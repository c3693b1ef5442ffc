"""What authors do in any clone, without root and without the host: validate, render, why, graph (design 6).

Effects: reads the clone. Late values stand for the sample machine where a graph needs them.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.agent.places import absolute
from datum.agent.ports import Ports
from datum.diagnostics import Diagnostic, sorted_unique
from datum.errors import FleetError, UsageError
from datum.fleet.findings import problem
from datum.fleet.late import SAMPLE_MACHINE, substitute
from datum.fleet.resolve import check_fleet, list_hosts, resolve_manifest
from datum.graph.access import unreadable
from datum.graph.build import bad_values, build_graph
from datum.graph.gone import absent_needs
from datum.graph.triggers import advise
from datum.host.output import open_output
from datum.model.graph import Dependency, ResourceGraph
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import EffectiveManifest, Resource
from datum.model.provenance import FieldOrigin
from datum.model.source import SourceTree
from datum.provider.contract import AnyProvider, DesiredError
from datum.report.texts import text_of
from datum.repository.worktree import clone_tree, working_tree

_SHOWN_HOSTS: Final = 10


def open_fleet(fleet: str | None, rev: str | None) -> SourceTree:
    """Return the tree an author works on: the clone around the working directory, or `--fleet DIR`.

    Raises:
        UsageError: no fleet repository is there.
        RepositoryError: `--rev` names nothing.
    """
    folder = find_fleet(fleet)
    return clone_tree(folder, rev, open_output=open_output) if rev is not None else working_tree(folder)


def find_fleet(fleet: str | None) -> Path:
    """Return the folder of the fleet repository: `--fleet DIR`, or the nearest around the working directory.

    Raises:
        UsageError: none is there.
    """
    start = absolute(fleet or "")
    for folder in (start,) if fleet is not None else (start, *start.parents):
        if _is_fleet(folder):
            return folder
    raise _no_fleet(start)


def _is_fleet(folder: Path) -> bool:
    try:
        return (folder / "fleet.yaml").is_file()
    except OSError:
        # Too long a name, a loop of links, a folder that may not be entered.
        return False


def _no_fleet(folder: Path) -> UsageError:
    return UsageError(
        Diagnostic(
            code="no-fleet-here",
            summary="No fleet repository is here.",
            detail=f"Neither {folder} nor a folder above it holds a fleet.yaml.",
            hint="go into a clone, or name it with --fleet DIR",
        )
    )


@frozen
class Validation:
    """What `validate` found in the whole fleet."""

    tree: SourceTree
    # Hosts whose manifest is sound.
    manifests: Mapping[HostName, EffectiveManifest]
    diagnostics: tuple[Diagnostic, ...]


def validate(tree: SourceTree, ports: Ports) -> Validation:
    """Check every host of the fleet, twice, graphs included, and report everything.

    Of a host with errors the resources that are sound are given to their types, too, and no graph is made.
    """
    check = check_fleet(tree, ports.providers, agent_version=ports.agent)
    found = list(check.diagnostics)
    sound = {}
    for host, manifest in check.manifests.items():
        try:
            graph = sample_graph(manifest, tree, ports)
            found.extend(advise(graph, ports.providers))
            found.extend(unreadable(graph, ports.providers, partial(text_of, tree)))
            found.extend(absent_needs(graph, ports.providers))
            sound[host] = manifest
        except FleetError as error:
            found.extend(error.diagnostics)
    for manifest in check.unsound.values():
        try:
            concrete, _ = substitute(manifest, tree, SAMPLE_MACHINE)
            found.extend(bad_values(concrete, ports.providers))
        except FleetError as error:
            found.extend(error.diagnostics)
    return Validation(tree, sound, sorted_unique(found))


def render(tree: SourceTree, host: str, ports: Ports) -> EffectiveManifest:
    """Return the manifest of one host.

    Raises:
        UsageError: no host name.
        FleetError: with every diagnostic that concerns this host.
    """
    return resolve_manifest(tree, host_name(host, tree), ports.providers, agent_version=ports.agent)


def host_name(text: str, tree: SourceTree) -> HostName:
    """Read a host name from the command line.

    Raises:
        UsageError: it is none, or empty where the fleet has another number of hosts than one.
    """
    hosts = list_hosts(tree)
    if not text:
        if len(hosts) == 1:
            return hosts[0]
        raise UsageError(_which(hosts))
    try:
        return HostName(text)
    except ValueError as error:
        raise UsageError(
            Diagnostic(
                code="bad-host-name",
                summary="A host name is expected.",
                detail=f"{error}. {_hosts_in_words(hosts)}",
                hint="--host NAME",
            )
        ) from error


def _which(hosts: Sequence[HostName]) -> Diagnostic:
    return Diagnostic(
        code="which-host",
        summary="Which host?",
        detail=_hosts_in_words(hosts),
        hint="name one: --host NAME, or datum render NAME" if hosts else "add hosts/NAME.yaml",
    )


def _hosts_in_words(hosts: Sequence[HostName]) -> str:
    names = ", ".join(str(host) for host in hosts[:_SHOWN_HOSTS]) or "no host"
    more = f" and {len(hosts) - _SHOWN_HOSTS} more" if len(hosts) > _SHOWN_HOSTS else ""
    return f"This fleet has {names}{more}."


def sample_graph(manifest: EffectiveManifest, tree: SourceTree, ports: Ports) -> ResourceGraph:
    """Return the graph with late values as on the sample machine.

    Raises:
        FleetError: with every diagnostic.
    """
    concrete, _ = substitute(manifest, tree, SAMPLE_MACHINE)
    return build_graph(concrete, ports.providers)


@frozen
class Edges:
    """What one resource comes after, each with the reason."""

    dependencies: tuple[Dependency, ...]
    # Soft ones that gave way.
    dropped: tuple[Dependency, ...]


@frozen
class Why:
    """Every layer's say on one resource, or one field of it, winner first."""

    resource: Resource
    # By field; only the asked one when a field was asked for.
    origins: Mapping[str, FieldOrigin]
    # None where a field was asked for, or where the fleet has errors and thus no graph.
    edges: Edges | None = None


def why(manifest: EffectiveManifest, question: str, tree: SourceTree, ports: Ports) -> Why:
    """Answer `why RESOURCE[.FIELD]`.

    A name may hold dots: the longest resource id that is declared wins. Other spellings of a name are understood.

    Raises:
        UsageError: the host declares no such resource or field.
    """
    by_text = {str(origin): resource for origin, resource in manifest.by_id.items()}
    whole = _normal(question, ports.providers)
    if whole in by_text:
        resource = by_text[whole]
        return Why(resource, dict(sorted(resource.origins.items())), _edges_of(resource.id, manifest, tree, ports))
    head, _, name = question.rpartition(".")
    head = _normal(head, ports.providers)
    if head in by_text and name in by_text[head].origins:
        return Why(by_text[head], {name: by_text[head].origins[name]})
    raise UsageError(_no_such(question, head if head in by_text else "", name, by_text))


def _edges_of(origin: ResourceId, manifest: EffectiveManifest, tree: SourceTree, ports: Ports) -> Edges | None:
    """Return what a resource comes after; None where its host has errors, which `validate` tells."""
    try:
        graph = sample_graph(manifest, tree, ports)
    except FleetError:
        return None
    return Edges(
        tuple(edge for edge in graph.dependencies if edge.source == origin),
        tuple(edge for edge in graph.dropped if edge.source == origin),
    )


def _normal(text: str, providers: Mapping[str, AnyProvider]) -> str:
    """Return a resource id with its name in normal form; as it is where it is none."""
    try:
        asked = ResourceId.parse(text)
        return str(ResourceId(asked.type, providers[asked.type].normal_name(asked.name)))
    except DesiredError as error:
        # A spelling that is refused in a manifest too.
        raise UsageError(problem(error.code, None, f"{text}: {error.detail}", hint=error.hint)) from error
    except (KeyError, ValueError):
        return text


def _no_such(question: str, head: str, name: str, by_text: Mapping[str, Resource]) -> Diagnostic:
    from difflib import get_close_matches

    if head:
        fields = sorted(by_text[head].origins)
        return Diagnostic(
            code="no-such-field",
            summary="Nobody said that field.",
            detail=f"{head} has no field '{name}'. It has {', '.join(fields)}.",
            resource=head,
        )
    near = get_close_matches(question, by_text, 3)
    return Diagnostic(
        code="no-such-resource",
        summary="This host declares no such resource.",
        detail=f"'{question}' is not declared.",
        hint=f"did you mean {' or '.join(near)}?" if near else "datum render HOST lists what is declared",
    )


def pick(graph: ResourceGraph, wanted: str, providers: Mapping[str, AnyProvider]) -> ResourceGraph:
    """Return the part of a graph that concerns one resource: what it depends on and what depends on it.

    Raises:
        UsageError: the graph has no such resource.
    """
    by_text = {str(origin): origin for origin in graph.nodes}
    wanted = _normal(wanted, providers)
    if wanted not in by_text:
        raise UsageError(
            _no_such(wanted, "", "", {text: graph.nodes[origin].resource for text, origin in by_text.items()})
        )
    below: dict[ResourceId, set[ResourceId]] = {}
    above: dict[ResourceId, set[ResourceId]] = {}
    for edge in graph.dependencies:
        below.setdefault(edge.source, set()).add(edge.target)
        above.setdefault(edge.target, set()).add(edge.source)
    kept = _reach(by_text[wanted], below) | _reach(by_text[wanted], above)
    return ResourceGraph(
        nodes={origin: node for origin, node in graph.nodes.items() if origin in kept},
        dependencies=tuple(edge for edge in graph.dependencies if {edge.source, edge.target} <= kept),
        order=tuple(origin for origin in graph.order if origin in kept),
        dropped=tuple(edge for edge in graph.dropped if {edge.source, edge.target} <= kept),
    )


def _reach(start: ResourceId, edges: Mapping[ResourceId, set[ResourceId]]) -> set[ResourceId]:
    found = {start}
    waiting = [start]
    while waiting:
        for target in edges.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found
