"""What the fleet declares for this host, and whether this agent has the types for it.

Effects: loads every registered type; reads a revision.
"""

from collections.abc import Iterator

from datum.agent.desired import Resolver
from datum.agent.doctor.finding import Facts, Finding, State, counted, fault, from_diagnostics, not_checked, ok
from datum.agent.doctor.given import Given
from datum.errors import DatumError, FleetError, RepositoryError
from datum.host.machine import read_machine
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.model.source import SourceTree
from datum.repository.mirror import Mirror


def look_at_types(given: Given) -> Iterator[Finding]:
    """Load every registered type."""
    if given.types_error is not None:
        yield from_diagnostics("resource-types", State.FAULT, given.types_error.diagnostics)
        return
    problems: list[DatumError] = []
    for name in sorted(given.ports.providers):
        try:
            given.ports.providers[name]
        except DatumError as error:
            problems.append(error)
    yield judge_types(tuple(sorted(given.ports.providers)), problems)


def judge_types(names: tuple[str, ...], problems: list[DatumError]) -> Finding:
    """Say whether all types can be used."""
    facts: Facts = {"types": names}
    if problems:
        diagnostics = [item for error in problems for item in error.diagnostics]
        return from_diagnostics("resource-types", State.FAULT, diagnostics, facts)
    if not names:
        return fault(
            "resource-types", "No type is registered.", "install this agent anew: its entry points are missing"
        )
    return ok("resource-types", f"{len(names)} types, each offered once and loadable.", facts)


def judge_manifest(given: Given, host: HostName, tree: SourceTree, revision: Revision) -> Finding:
    """Resolve a revision for this host, and say what came of it."""
    facts: Facts = {"revision": revision.key, "host": str(host)}
    if given.types_error is not None:
        return not_checked("manifest", "The types cannot be told: see resource-types.")
    resolver = Resolver(
        given.ports.providers,
        given.ports.agent,
        lambda: read_machine(given.root, is_running_system=given.is_running_system),
        given.ports.manifests,
    )
    try:
        wanted = resolver.resolve(tree, host)
    except (FleetError, RepositoryError) as error:
        return from_diagnostics("manifest", State.FAULT, error.diagnostics, facts)
    count = len(wanted.manifest.resources)
    text = f"{revision.short} declares {counted(count, 'resource')} for {host}."
    return ok("manifest", text, {**facts, "resources": count, "digest": wanted.manifest.digest})


def look_at_enforced(given: Given) -> Iterator[Finding]:
    """Resolve the enforced revision from the mirror: nothing newer can be had."""
    pointer, settings = given.pointer, given.settings
    if settings is None:
        yield not_checked("manifest", "The configuration is wrong.")
    elif given.reader_error is not None:
        yield not_checked("manifest", "What reads revisions could not be started: see revision-reader.")
    elif pointer is None or pointer.enforced is None:
        yield not_checked("manifest", "There is no acceptable revision: none is offered, and none is enforced.")
    else:
        revision = pointer.enforced.revision
        mirror = Mirror(given.state_dir, given.ports.run, open_objects=given.ports.manifests.objects)
        try:
            yield judge_manifest(given, settings.host, mirror.tree(revision), revision)
        finally:
            mirror.discard()
