"""What the commands of a host do: `init`, `plan`, `apply`, `status`, `report`, `orphans` (design 6)."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from datum.agent.desired import Resolver
from datum.agent.first_contact import enrol_by_anchor, load_pointer, require_contact
from datum.agent.one_pass import OnePass, PassResult, Request
from datum.agent.pause_file import load_pause
from datum.agent.planning import Planned, without_history
from datum.agent.ports import Ports
from datum.agent.record import damaged, record_plan, replay_plan
from datum.agent.reports import may_hold_reports, read_report, with_own_id, write_report
from datum.agent.resolver.own import read_here
from datum.agent.settings import NOT_CONFIGURED, Options, Settings, read_settings, reports_place
from datum.agent.story import PointerStore
from datum.agent.wiring import (
    lasting_store,
    open_hosts,
    own_pointer,
    require_rights,
    source_account,
)
from datum.diagnostics import Diagnostic
from datum.errors import (
    RepositoryError,
    RepositoryUnreachableError,
    RevisionNotFoundError,
    SettingsError,
    StateError,
    UsageError,
)
from datum.fleet.nodes import ReadYaml
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.plan import Action, Orphan, OrphanState, Plan
from datum.model.pointer import Pointer
from datum.model.report import PassReport
from datum.model.revision import Revision
from datum.model.source import SourceTree
from datum.model.trigger import Asked
from datum.planner.inputs import Declaration
from datum.planner.orphans import REMOVABLE
from datum.planner.releases import release_of
from datum.report.standing import standing_to_json
from datum.report.texts import illustrate
from datum.repository.mirror import Mirror
from datum.state.lock import HOST_LOCK, JoinedPass, PassLock, SharedOutcome, acquire

Complain = Callable[[str], None]

_MEMORY: Final = "/dev/shm"  # noqa: S108 - a folder with a random name is made there


@frozen
class Applied:
    """What `datum apply` came to: an own pass, or that of an equal request that it joined."""

    report: PassReport | None
    # Where the report lies, None when it could not be written.
    path: str | None
    exit_code: int
    joined: JoinedPass | None = None


def apply(options: Options, request: Request, ports: Ports, *, wait: float | None, complain: Complain) -> Applied:
    """Run one pass under the lock and write its report.

    Raises:
        DatumError: the pass could not begin.
    """
    settings = read_settings(options, read=ports.manifests.yaml)
    require_rights(settings)
    # Judged before the wait: a host that leaves its fleet meanwhile is not enrolled again.
    is_contact = settings.anchor is not None and own_pointer(settings) is None
    if is_contact:
        require_contact(settings)
    else:
        load_pointer(settings)
    turn = acquire(
        settings.state_dir,
        request_key(settings, request),
        wait=wait,
        stopped=lambda: bool(ports.signal()),
        asked=Asked(ports.trigger, ports.started, ports.pid),
        host_lock=HOST_LOCK if settings.is_running_system else None,
    )
    if isinstance(turn, JoinedPass):
        return Applied(None, turn.outcome.report or None, turn.outcome.exit_code, turn)
    with turn:
        return _apply(settings, request, ports.begun(), turn, complain, is_contact=is_contact)


def request_key(settings: Settings, request: Request) -> str:
    """Return what makes two requests equal: target, flags and root (design 1.6).

    All of both values, so that no flag can be forgotten that changes what the pass does or how it ends.
    """
    return repr((settings, request))


def _apply(
    settings: Settings, request: Request, ports: Ports, lock: PassLock, complain: Complain, *, is_contact: bool
) -> Applied:
    ports = evolve(ports, progress=_progress(lock, ports))
    # Shown before the pause is read: who pauses now is obeyed, or sees that a pass runs.
    ports.progress("start", 0, 0, None)
    # Before the first revision, that of first contact included: what has read one reads no file of this host.
    request = evolve(request, pause=load_pause(settings, ports.manifests.yaml))
    account = source_account(settings)
    with Mirror.open(settings.state_dir, ports.run, open_objects=ports.manifests.objects, account=account) as mirror:
        if is_contact:
            enrol_by_anchor(settings, mirror, ports.manifests)
        result = _run(settings, request, ports, mirror)
        mirror.discard()
    report = with_own_id(settings.reports_dir, evolve(result.report, joined=lock.companions))
    path = write_report(settings.reports_dir, report, limit=settings.report_bytes, complain=complain)
    lock.finish(SharedOutcome(report.outcome, report.exit_code, str(path or "")))
    return Applied(report, str(path) if path else None, report.exit_code)


def _run(settings: Settings, request: Request, ports: Ports, mirror: Mirror) -> PassResult:
    """Run the pass; a mirror that turns out to be damaged is fetched anew, once (a cache costs time only).

    The pointer is read for each attempt: the first one may have written it.
    """
    for attempt in (1, 2):
        try:
            with open_hosts(
                settings, waiting=partial(_show_waiting, ports), is_stopping=lambda: ports.signal() is not None
            ) as hosts:
                store = lasting_store(settings, mirror, load_pointer(settings))
                return OnePass(settings, request, ports, mirror=mirror, store=store, hosts=hosts).run()
        except (RepositoryUnreachableError, RevisionNotFoundError):
            raise
        except RepositoryError:
            if attempt == 2 or settings.is_offline:  # noqa: PLR2004
                raise
            mirror.reset()
    raise AssertionError("the second attempt returns or raises")


def _show_waiting(ports: Ports, unit: str) -> None:
    ports.progress(f"waiting for {unit}, which an earlier pass had begun", 0, 0, None)


def _progress(lock: PassLock, ports: Ports) -> Callable[[str, int, int, Action | None], None]:
    def show(stage: str, number: int, total: int, action: Action | None) -> None:
        text = f"{number}/{total} {action.operation} {action.resource}" if action else ""
        lock.show(stage, text, started_at=ports.started, asked_by=str(ports.trigger))
        ports.progress(stage, number, total, action)

    return show


@frozen
class PlanMade:
    """What `datum plan` found; `plan` is None when the pass ended before there was one."""

    report: PassReport
    plan: Plan | None
    record: JsonObject | None = None


def plan(
    options: Options, request: Request, ports: Ports, *, is_untrusted: bool = False, settings: Settings | None = None
) -> PlanMade:
    """Plan and leave no trace: no ref, pointer, report or lock is touched.

    A host that is not enrolled can be planned for: it is what `datum init` shows before anything is applied.

    Args:
        options: of the command line.
        request: what is to be planned.
        ports: the effects.
        is_untrusted: whether no program is run on the word of the revision.
        settings: of this host, where the command has read a revision already. No file of this host is given to what
            read it then: its answers could be of the revision's choosing.

    Raises:
        DatumError: the plan could not be begun.
    """
    read = ports.manifests.yaml if settings is None else read_here
    settings = settings or read_settings(options, read=read)
    require_rights(settings)
    pointer = _pointer_or_blank(settings)
    result = _look_only(settings, evolve(request, is_untrusted=is_untrusted), ports, pointer, read=read)
    planned = _whole(result)
    if planned is None:
        return PlanMade(result.report, None)
    return PlanMade(result.report, result.plan, record_plan(planned, pointer, ports))


def _look_only(
    settings: Settings, request: Request, ports: Ports, pointer: Pointer, *, read: ReadYaml | None = None
) -> PassResult:
    """Run a pass that ends after planning and leaves no trace."""
    account = source_account(settings)
    request = evolve(request, pause=load_pause(settings, read or ports.manifests.yaml))
    with (
        temporary_folder() as folder,
        Mirror.open(
            settings.state_dir, ports.run, open_objects=ports.manifests.objects, temporary=Path(folder), account=account
        ) as mirror,
        open_hosts(settings, runs_programs=not request.is_untrusted, waiting=partial(_show_waiting, ports)) as hosts,
    ):
        store = PointerStore(pointer, None)
        return OnePass(settings, evolve(request, is_plan=True), ports, mirror=mirror, store=store, hosts=hosts).run()


def declared_here(settings: Settings, ports: Ports) -> frozenset[ResourceId] | None:
    """Return what the revisions of the trail declare for this host; None where none of them can be resolved.

    Leaves no trace, and asks nothing of the source.

    Raises:
        DatumError: the host is not enrolled, or its mirror cannot be read.
    """
    pointer = load_pointer(settings)
    with (
        temporary_folder() as folder,
        Mirror.open(
            settings.state_dir, ports.run, open_objects=ports.manifests.objects, temporary=Path(folder)
        ) as mirror,
        open_hosts(settings, runs_programs=False) as hosts,
    ):
        resolver = Resolver(ports.providers, ports.agent, hosts.machine, ports.manifests)
        found = [resolver.resolve_older(partial(mirror.tree, entry.revision), entry) for entry in pointer.trail]
    resolved = [entry.nodes for entry in found if isinstance(entry, Declaration)]
    return frozenset(origin for nodes in resolved for origin in nodes) if resolved else None


def _whole(result: PassResult) -> Planned | None:
    """Return the plan of a pass; None when the pass ended before there was one, or the host is sick."""
    return None if result.planned is None or result.planned.sickness else result.planned


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder for what a plan fetches, in memory where the disk takes nothing: just then a plan is wanted.

    Raises:
        StateError: there is none.
    """
    error: OSError | None = None
    for place in (None, _MEMORY):
        try:
            return tempfile.TemporaryDirectory(prefix="datum-plan-", dir=place)
        except OSError as refused:
            error = error or refused
    raise StateError(
        Diagnostic(
            code="no-temporary-folder",
            summary="A plan needs a temporary folder with room for it, and has none.",
            detail=f"{error}.",
            hint=f"make room, or let TMPDIR name a folder that can be written; {_MEMORY} was tried too",
        )
    ) from error


def _pointer_or_blank(settings: Settings) -> Pointer:
    if own_pointer(settings) is None:
        return Pointer("", settings.host)
    return load_pointer(settings)


def replay(file: Path, tree_of: Callable[[Revision], SourceTree], ports: Ports) -> Plan:
    """Plan from a record (`plan --observed FILE`).

    Raises:
        UsageError: the file is no record, or of other versions.
        DatumError: a revision it names is not in the clone.
    """
    try:
        record: JsonValue = json.loads(file.read_bytes())
    except OSError as error:
        raise UsageError(
            Diagnostic(code="bad-record", summary="The record cannot be read.", detail=f"{file}: {error.strerror}.")
        ) from error
    except ValueError as error:
        raise damaged(f"{file} is no JSON ({error})") from error
    try:
        made = replay_plan(record, tree_of, ports)
    except UsageError as error:
        raise UsageError(*(evolve(given, detail=f"{file}: {given.detail}") for given in error.diagnostics)) from error
    return illustrate(made.plan, tree_of(made.plan.revision), made.given.graph)


@frozen
class Standing:
    """What `datum status --resources` shows: everything that the enforced revision declares, as it is now."""

    report: PassReport
    # As JSON; None when the host could not be observed, or nothing is enforced.
    resources: Sequence[JsonValue] | None


def standing(options: Options, ports: Ports) -> Standing:
    """Observe everything that the enforced revision declares; nothing is asked of the source, and no lock is taken.

    Raises:
        DatumError: looking could not be begun.
    """
    settings = read_settings(evolve(options, is_offline=True), read=ports.manifests.yaml)
    require_rights(settings)
    pointer = load_pointer(settings)
    result = _look_only(settings, Request(), ports, pointer)
    if pointer.enforced is None:
        why = _nothing_enforced(settings)
        return Standing(evolve(result.report, exit_code=why.exit_code, diagnostics=why.diagnostics), None)
    planned = _whole(result)
    if planned is None:
        return Standing(result.report, None)
    given = planned.given
    return Standing(result.report, standing_to_json(planned.plan, given.graph.nodes, given.observed.observations))


def report(options: Options, wanted: str) -> Mapping[str, JsonValue]:
    """Return a report by the beginning of its id; the newest for an empty one.

    Reports outlive the enrolment that they are of: a host that left its fleet has no configuration.

    Raises:
        UsageError: there is none.
        SettingsError: the configuration is wrong; or there is none, and no report either.
    """
    try:
        folder = read_settings(options).reports_dir
    except SettingsError as error:
        if error.diagnostics[0].code != NOT_CONFIGURED:
            raise
        folder = reports_place(options)
        if not may_hold_reports(folder):
            raise
    return read_report(folder, wanted)


def orphans(options: Options, ports: Ports) -> PlanMade:
    """Return the plan at the enforced revision, for its words on orphans; nothing is asked of the source.

    What a settled trail no longer accounts for comes from git again: it is kept, whatever its place says.

    Raises:
        SettingsError: `nothing-enforced`: no revision is, so nothing can be left of an older one.
        DatumError: the plan could not be begun.
    """
    settings = read_settings(evolve(options, is_offline=True), read=ports.manifests.yaml)
    require_rights(settings)
    pointer = load_pointer(settings)
    if pointer.enforced is None:
        raise _nothing_enforced(settings)
    result = _look_only(settings, Request(has_history=True), ports, pointer)
    planned = _whole(result)
    if planned is None:
        return PlanMade(result.report, None)
    plan = without_history(planned, frozenset(entry.revision for entry in pointer.trail))
    known = {orphan.resource for orphan in plan.orphans}
    left = {OrphanState.KEPT, OrphanState.UNSETTLED, OrphanState.REMOVE}
    old = tuple(
        _recalled(orphan, planned)
        for orphan in planned.plan.orphans
        if orphan.resource not in known and orphan.state in left
    )
    return PlanMade(result.report, evolve(plan, orphans=(*plan.orphans, *old)))


def _nothing_enforced(settings: Settings) -> SettingsError:
    where = settings.where
    return SettingsError(
        Diagnostic(
            code="nothing-enforced",
            summary="Nothing is enforced on this host yet.",
            detail="No pass has taken a revision, so nothing that one declares is here, or left over.",
            hint=f"datum plan{where} shows what the first pass would do; datum apply{where} begins",
        )
    )


def _recalled(orphan: Orphan, planned: Planned) -> Orphan:
    if orphan.state is not OrphanState.REMOVE or orphan.rule != REMOVABLE:
        return orphan
    return evolve(
        orphan,
        state=OrphanState.KEPT,
        rule="settled",
        detail="It was kept when its declaration was dropped, and no pass removes it any more.",
        release=release_of(orphan.resource, planned.given),
    )
