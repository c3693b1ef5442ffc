"""One pass: repository, fleet, graph, observer, planner, reconciler, report (design 1).

The pipeline itself; what each stage does is in its room. Effects: through mirror, host, pointer file, in that order,
and the pointer is written before the first action (W) and after the last (S, C).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from attrs import evolve, field, frozen

from datum.agent.acting import guarded
from datum.agent.choosing import Chooser, Chosen
from datum.agent.desired import Resolver, Wanted
from datum.agent.memory import Memory, unresolved_words
from datum.agent.pauses import pause_words
from datum.agent.planning import Basis, Planned, Turn, plan_now
from datum.agent.ports import COMMITTING, Ports
from datum.agent.settings import Settings
from datum.agent.source import Consulted, Source
from datum.agent.story import PointerStore, Story, has_breach, settle_input, tell, waited_words
from datum.diagnostics import Diagnostic
from datum.errors import FleetError, HostNotInFleetError, RevisionNotFoundError
from datum.graph.access import unreadable
from datum.host.deadline import Deadline
from datum.model.manifest import Enforcement, LimitClass
from datum.model.observation import Machine
from datum.model.outcome import PassEnd
from datum.model.pause import Pause, in_force
from datum.model.plan import Operation, Plan
from datum.model.pointer import TrailEntry
from datum.model.report import PassReport, SourceReport
from datum.model.result import ActionResult, Outcome
from datum.model.revision import SourceStatus
from datum.observer.observe import Look
from datum.planner.inputs import Declaration, Unresolved
from datum.provider.host import HostReader
from datum.reconciler.means import Means, RecordingWriter, Staging
from datum.reconciler.reconcile import reconcile
from datum.report.build import count_outcomes
from datum.report.texts import illustrate, text_of
from datum.repository.mirror import Mirror
from datum.state.transitions import TargetChoice, begin, converge, settle


@frozen
class Request:
    """What one pass was asked for beside its settings."""

    # `datum plan`: end after planning, write nothing.
    is_plan: bool = False
    # `apply --expect ID`.
    expect: str = ""
    # `apply --allow removals=N --allow changed=N%`, by class in its order.
    allowed: Mapping[LimitClass, int] = field(factory=dict)
    # `--detailed-exitcode`.
    is_detailed: bool = False
    # `datum plan --untrusted`: plan a revision that is not acceptable.
    is_untrusted: bool = False
    # `datum orphans`: take the history of git for the trail, as far as it was enforced here or may have been.
    has_history: bool = False
    # What a person has paused, in force or not, as it was found when this pass began.
    pause: Pause | None = None


@frozen
class Hosts:
    """How the pass reaches the host; a fresh look for every full observation."""

    # Opens a reader; what it and the writers know of the wanted is where bytes come from, and who may share what.
    reader: Callable[[Wanted], AbstractContextManager[HostReader]]
    writer: Callable[[Wanted], RecordingWriter]
    staging: Callable[[Wanted], Staging]
    machine: Callable[[], Machine]
    # Units of what earlier passes had begun, and looks have waited for; added to while the pass goes on.
    waited: Sequence[str] = ()


@frozen
class PassResult:
    """The report of a pass, and the plan in it for views that show or record it."""

    report: PassReport
    planned: Planned | None = None
    # The plan with the texts of the repository beside its changes.
    plan: Plan | None = None


class OnePass:
    """Runs one pass; `run` is called once."""

    def __init__(
        self,
        settings: Settings,
        request: Request,
        ports: Ports,
        *,
        mirror: Mirror,
        store: PointerStore,
        hosts: Hosts,
    ) -> None:
        self._settings = settings
        self._request = request
        self._ports = ports
        self._mirror = mirror
        self._store = store
        self._hosts = hosts
        self._resolver = Resolver(ports.providers, ports.agent, hosts.machine, ports.manifests)
        self._story = Story(SourceReport(settings.repo, settings.ref, SourceStatus.NOT_ASKED))
        self._begun = ports.monotonic()

    def run(self) -> PassResult:
        """Run the stages until one ends the pass, and report."""
        try:
            self._run()
        except HostNotInFleetError as error:
            self._story.end(PassEnd.HOST_NOT_IN_FLEET, error)
        except FleetError as error:
            self._story.end(PassEnd.INVALID, error)
        except RevisionNotFoundError as error:
            self._story.end(PassEnd.NO_SUCH_REVISION, error)
        duration = self._ports.monotonic() - self._begun
        report = tell(self._story, self._store, self._ports, host=self._settings.host, duration=duration)
        return PassResult(report, self._story.planned, self._story.plan)

    def _run(self) -> None:
        story = self._story
        with self._stage("repository"):
            source = Source(
                self._settings,
                self._mirror,
                self._store.now,
                self._ports.agent,
                is_lasting=not self._request.is_plan,
                manifests=self._ports.manifests,
            )
            consulted = source.consult()
            story.source = consulted.report
        with self._stage("fleet"):
            chosen = self._choose(consulted)
        if chosen.target is None or chosen.wanted is None:
            story.diagnostics.extend(consulted.evidence)
            story.facts = evolve(story.facts, ended=PassEnd.NO_TARGET)
            return
        self._enforce(chosen.choice, chosen.target, chosen.wanted)

    def _choose(self, consulted: Consulted) -> Chosen:
        """Choose the target and resolve it; what the mode or a pause of the host says ends the pass after planning."""
        story, request = self._story, self._request
        story.pause = in_force(request.pause, self._ports.now)
        chooser = Chooser(self._settings, self._resolver, self._mirror.tree, self._store.now, story)
        chosen = chooser.choose(consulted, is_untrusted=request.is_untrusted)
        story.enforcement = chosen.enforcement
        is_paused = story.pause is not None and story.pause.is_whole
        is_observed = chosen.enforcement.mode is Enforcement.OBSERVE
        story.facts = evolve(
            story.facts,
            planned_only=request.is_plan or is_observed or is_paused,
            detailed=request.is_detailed,
        )
        return chosen

    def _enforce(self, choice: TargetChoice, target: TrailEntry, wanted: Wanted) -> None:
        story = self._story
        story.target, story.manifest = story.named(target.revision), wanted.manifest
        memory = Memory(self._resolver, self._mirror, self._store.now, self._settings.host)
        with self._stage("trail"):
            trail = memory.older(target, has_history=self._request.has_history)
        story.diagnostics.extend(unresolved_words(trail))
        pause, types = self._request.pause, self._ports.providers
        story.diagnostics.extend(pause_words(pause, self._ports.now, wanted, trail, self._settings, types))
        with self._hosts.reader(wanted) as reader:
            basis = self._basis(wanted, trail, target, reader)
            basis = evolve(basis, converged=lambda: memory.converged(wanted, trail))
            with self._stage("observer and planner"):
                planned = plan_now(basis)
            story.planned, story.plan = planned, illustrate(planned.plan, wanted.tree, wanted.graph)
            story.diagnostics.extend(planned.given.observed.warnings)
            story.diagnostics.extend(waited_words(self._hosts.waited))
            if self._request.is_plan:
                story.diagnostics.extend(unreadable(wanted.graph, self._ports.providers, partial(text_of, wanted.tree)))
            if planned.sickness:
                self._sick(planned)
                return
            if not self._may_act(planned.plan):
                return
            self._begin(target, choice)
            closing = self._act(basis, planned, reader)
        self._close(target, trail, closing)

    def _basis(
        self,
        wanted: Wanted,
        trail: tuple[Declaration | Unresolved, ...],
        target: TrailEntry,
        reader: HostReader,
    ) -> Basis:
        manifest = wanted.manifest
        look = Look(
            providers=self._ports.providers,
            reader=reader,
            deadline=Deadline,
            on_failure=manifest.on_observation_failure,
            expect=manifest.expect,
            machine=wanted.machine,
        )
        return Basis(
            wanted=wanted,
            host=self._settings.host,
            look=look,
            trail=trail,
            is_retry=target in self._store.now.trail,
            allowed=self._request.allowed,
            pause=self._request.pause,
            now=self._ports.now,
        )

    def _sick(self, planned: Planned) -> None:
        self._story.facts = evolve(self._story.facts, ended=PassEnd.UNOBSERVED)
        self._story.diagnostics.extend(
            Diagnostic(
                code="host-not-observable",
                summary="The host cannot be observed; the pass ends and nothing was changed.",
                detail=f"{what}: {found.detail}",
                resource=what,
            )
            for what, found in planned.sickness
        )

    def _may_act(self, plan: Plan) -> bool:
        """Say whether the pass goes on to act; when it does not, the facts say why."""
        story = self._story
        if story.facts.planned_only:
            story.facts = evolve(story.facts, changes=bool(plan.actions), bug=has_breach(plan, ()))
            return False
        if self._request.expect and self._request.expect != plan.plan_id:
            story.facts = evolve(story.facts, outcomes=frozenset({Outcome.HELD}), closing_empty=False)
            story.is_other_plan = True
            story.diagnostics.append(
                Diagnostic(
                    code="another-plan",
                    summary="The plan is not the expected one; nothing was done.",
                    detail=f"Expected {self._request.expect}, planned {plan.plan_id}.",
                    hint="look at it again with 'datum plan', and apply what it names",
                )
            )
            return False
        return True

    def _begin(self, target: TrailEntry, choice: TargetChoice) -> None:
        """W, before the first action, whether or not there is one."""
        pointer = self._store.now
        descends = pointer.accepted is not None and self._mirror.is_descendant(target.revision, pointer.accepted)
        transition = begin(
            pointer,
            choice.target or target,
            descends=descends,
            fleet=pointer.fleet,
            sealed=not self._settings.is_running_system,
        )
        self._story.is_trail_cut = bool(transition.dropped)
        self._store.move(transition.pointer)

    def _act(self, basis: Basis, planned: Planned, reader: HostReader) -> Plan:
        """Do the plan; return the closing one, which is the first one where nothing was begun."""
        story, ports = self._story, self._ports
        turn = Turn(planned, evolve(basis.look, reader=reader))
        total = len(planned.plan.actions)
        means = Means(
            providers=ports.providers,
            node_of=turn.node_of,
            observe=turn.observe,
            replan=turn.replan,
            writer=lambda: self._hosts.writer(basis.wanted),
            staging=lambda: self._hosts.staging(basis.wanted),
            deadline=Deadline,
            monotonic=ports.monotonic,
            is_stopping=lambda: ports.signal() is not None,
            progress=lambda number, action: ports.progress("reconciler", number, total, action),
            together=lambda number, count, action: ports.progress(f"{COMMITTING} {count}", number, total, action),
        )
        is_running = self._settings.is_running_system
        with (
            self._stage("reconciler"),
            guarded(planned.plan, basis.wanted.graph, ports, is_running_system=is_running),
        ):
            story.results = reconcile(planned.plan, means)
        begun = [result for result in story.results if result.outcome not in {Outcome.HELD, Outcome.SKIPPED}]
        if not begun:
            return planned.plan
        with self._stage("closing"), self._hosts.reader(basis.wanted) as fresh:
            closing = plan_now(evolve(basis, is_retry=True), evolve(basis.look, reader=fresh))
        story.closing = closing.plan
        return closing.plan

    def _close(self, target: TrailEntry, trail: tuple[Declaration | Unresolved, ...], closing: Plan) -> None:
        """S and C, and the facts that outcome and exit code are read from."""
        story = self._story
        plan = story.plan or closing
        outcomes = set(count_outcomes(plan, story.results))
        outcomes -= {Outcome.ORPHAN}
        signal = self._ports.signal()
        story.facts = evolve(
            story.facts,
            outcomes=frozenset(outcomes),
            closing_empty=closing.is_empty,
            signal=signal,
            bug=has_breach(plan, story.results),
            changes=any(map(_has_changed, story.results)),
        )
        if signal is not None:
            return
        pointer = settle(self._store.now, target, settle_input(closing, trail, story.planned))
        if closing.is_empty:
            pointer = converge(pointer, target)
        self._store.move(pointer)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self._ports.progress(name, 0, 0, None)
        begun = self._ports.monotonic()
        try:
            yield
        finally:
            self._story.stages[name] = self._ports.monotonic() - begun


def _has_changed(result: ActionResult) -> bool:
    """Whether an action changed the host; what a mark is for is another action, which says so."""
    return result.outcome is Outcome.APPLIED and result.action.operation is not Operation.MARK
