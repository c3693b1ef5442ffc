"""What a pass gathers stage by stage, and how its report and the word on its trail are read from that. Pure."""

from collections.abc import Callable, Iterable, Mapping

from attrs import define, evolve, field

from datum.agent.planning import Planned
from datum.agent.ports import Ports
from datum.diagnostics import Diagnostic, Severity
from datum.errors import DatumError
from datum.model.graph import Node
from datum.model.identity import HostName
from datum.model.manifest import EffectiveManifest
from datum.model.observation import Cause
from datum.model.outcome import PassEnd, PassFacts, exit_code, pass_outcome
from datum.model.pause import Pause
from datum.model.plan import OrphanState, Plan, VerdictKind
from datum.model.pointer import Pointer, SettleInput
from datum.model.report import EnforcementReport, PassReport, SourceReport
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.model.revision import Revision
from datum.planner.inputs import Declaration, Unresolved
from datum.report.build import count_outcomes, left_over, report_resources
from datum.report.checks import report_checks


class PointerStore:
    """Reads and writes the pointer; `datum plan` gets one that does not write."""

    def __init__(self, pointer: Pointer, write: Callable[[Pointer, Pointer], None] | None) -> None:
        self.before = pointer
        self.now = pointer
        self._write = write

    def move(self, pointer: Pointer) -> None:
        """Write the pointer if it is another one."""
        if pointer != self.now and self._write is not None:
            self._write(self.now, pointer)
            self.now = pointer


@define
class Story:
    """What the report will tell, gathered stage by stage."""

    source: SourceReport
    facts: PassFacts = field(factory=PassFacts)
    target: Revision | None = None
    manifest: EffectiveManifest | None = None
    planned: Planned | None = None
    plan: Plan | None = None
    closing: Plan | None = None
    results: tuple[ActionResult, ...] = ()
    diagnostics: list[Diagnostic] = field(factory=list)
    stages: dict[str, float] = field(factory=dict)
    is_trail_cut: bool = False
    # `--expect` named another plan, so that nothing was done.
    is_other_plan: bool = False
    enforcement: EnforcementReport = field(factory=EnforcementReport)
    # In force now; None: none is.
    pause: Pause | None = None

    def end(self, end: PassEnd, error: DatumError) -> None:
        """Note what ended the pass."""
        self.facts = evolve(self.facts, ended=end)
        self.diagnostics.extend(error.diagnostics)

    def named(self, revision: Revision) -> Revision:
        """Return the revision with the ref it is known by: the pointer keeps none."""
        seen = self.source.revision
        return seen if seen is not None and seen == revision else revision


def tell(story: Story, store: PointerStore, ports: Ports, *, host: HostName, duration: float) -> PassReport:
    """Return the report of a pass.

    Args:
        story: what it gathered.
        store: the pointer before and after.
        ports: when it began, and the versions.
        host: its name.
        duration: seconds.
    """
    plan = story.plan if story.facts.ended is not PassEnd.UNOBSERVED else None
    return PassReport(
        id=ports.report_id(),
        host=host,
        started=ports.started,
        duration=duration,
        source=story.source,
        outcome=pass_outcome(story.facts),
        exit_code=int(exit_code(story.facts)),
        target=story.target,
        manifest_digest=story.manifest.digest if story.manifest else "",
        plan_id=plan.plan_id if plan else "",
        pointer_before=store.before,
        pointer_after=store.now,
        counts=_counts(story, plan) if plan else {},
        resources=report_resources(plan, story.results) if plan else (),
        orphans=plan.orphans if plan else (),
        left_over=left_over(plan, story.closing, story.results) if plan and story.closing else (),
        diagnostics=(*story.diagnostics, *ports.notes),
        versions=ports.versions(_types(story)),
        stages=story.stages,
        is_trail_cut=story.is_trail_cut,
        checks=report_checks(plan, story.results) if plan else (),
        kept=plan.kept if plan else {},
        stale=(story.closing or plan).stale if plan else {},
        trigger=ports.trigger,
        enforcement=story.enforcement,
        pause=story.pause,
    )


def waited_words(units: Iterable[str]) -> Iterable[Diagnostic]:
    """Yield a note for each unit of an earlier pass that this one has waited for."""
    for unit in dict.fromkeys(units):
        yield Diagnostic(
            code="waited-for-program",
            severity=Severity.NOTE,
            summary="This pass has waited for what an earlier one had begun.",
            detail=f"{unit} still ran when the host was looked at, and has ended.",
        )


def _counts(story: Story, plan: Plan) -> Mapping[Outcome, int]:
    """Return the sums; where nothing was done only of what is as it should be, or no longer declared."""
    counts = count_outcomes(plan, story.results)
    if story.is_other_plan:
        return {outcome: count for outcome, count in counts.items() if outcome in {Outcome.IN_SYNC, Outcome.ORPHAN}}
    return counts


def _types(story: Story) -> Iterable[str]:
    """Return the types that took part, as far as the pass came."""
    if story.planned is not None:
        return story.planned.types
    return {resource.id.type for resource in story.manifest.resources} if story.manifest else ()


def has_breach(plan: Plan, results: tuple[ActionResult, ...]) -> bool:
    """Whether a provider broke its contract, while planning or while applying."""
    seen = any(
        verdict.unobservable is not None and verdict.unobservable.cause is Cause.BREACH
        for verdict in plan.verdicts.values()
    )
    return seen or any(result.cause is FailureCause.BREACH for result in results)


def settle_input(closing: Plan, trail: tuple[Declaration | Unresolved, ...], planned: Planned | None) -> SettleInput:
    """Gather what S decides on from the last plan of the pass."""
    settled = {OrphanState.ABSENT, OrphanState.KEPT}
    declarations = [entry for entry in trail if isinstance(entry, Declaration)]
    nodes = planned.given.graph.nodes if planned else {}
    in_sync = {origin for origin, verdict in closing.verdicts.items() if verdict.kind is VerdictKind.IN_SYNC}
    differing = {
        origin
        for entry in declarations
        for origin, old in entry.nodes.items()
        if origin in nodes and _differs(old, nodes[origin])
    }
    return SettleInput(
        orphans_settled=all(orphan.state in settled for orphan in closing.orphans),
        differences_verified=differing <= in_sync,
        trail_resolved=len(declarations) == len(trail),
    )


def _differs(old: Node, new: Node) -> bool:
    return old.resource.absent != new.resource.absent or bool(old.desired != new.desired)
