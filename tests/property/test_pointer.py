"""The properties of design 3.5 over random histories, passes, commands and kills.

An abstract world: commits with parents and a few declared resources, a host that holds what passes put there, and a
pointer file that is replaced at once or not at all. Passes are made of the pure functions of `datum.state.transitions`
and may be killed before any write and between any two actions.
"""

from collections.abc import Callable, Iterator

from attrs import evolve, field, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from datum.model.identity import HostName
from datum.model.manifest import Enforcement
from datum.model.outcome import Withheld
from datum.model.pointer import Pointer, SettleInput, TrailEntry
from datum.model.revision import Revision, SourceStatus
from datum.state.pointer_file import _check_consistent
from datum.state.transitions import (
    Candidate,
    RollbackFacts,
    TargetChoice,
    TargetRule,
    acceptable,
    begin,
    choose_target,
    converge,
    may_roll_back,
    quarantine,
    rename,
    rewind,
    roll_back,
    settle,
)

FLEET = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
RESOURCES = st.frozensets(st.integers(0, 3))


@frozen
class Commit:
    """One commit of the history."""

    revision: Revision
    # Every commit it descends from, itself included.
    ancestry: frozenset[Revision] = field(repr=False)
    # Names of the resources it declares; each of its own making.
    declares: frozenset[int]


@frozen(kw_only=True)
class Course:
    """How one pass goes."""

    enforcement: Enforcement
    reachable: bool
    approved: bool
    only: bool
    # Resources whose actions, or removals, fail in this pass and in its rollback.
    failing: frozenset[int]
    rolls_back: bool
    # The number of steps, writes and actions, after which the pass is killed.
    life: int


courses = st.builds(
    Course,
    enforcement=st.sampled_from(Enforcement),
    reachable=st.sampled_from([True, True, True, False]),
    approved=st.sampled_from([True, True, True, False]),
    only=st.sampled_from([False, False, False, True]),
    failing=RESOURCES | st.just(frozenset()),
    rolls_back=st.booleans(),
    life=st.integers(0, 12) | st.just(1000),
)


class PointerMachine(RuleBasedStateMachine):
    """The host, its pointer file and the source."""

    @initialize(declares=RESOURCES)
    def first_commit(self, declares: frozenset[int]) -> None:
        self.commits: dict[Revision, Commit] = {}
        self.host = HostName("web1")
        self.pointer: Pointer | None = None
        # What is on the host: the resource's name, and the revision (and name) that put it there.
        self.present: dict[int, TrailEntry] = {}
        # Revisions one of whose actions began, and that no S has let go.
        self.begun: set[TrailEntry] = set()
        self.source = self.make(frozenset(), declares)

    def make(self, ancestry: frozenset[Revision], declares: frozenset[int]) -> Revision:
        revision = Revision(f"{len(self.commits) + 1:040x}")
        self.commits[revision] = Commit(revision, ancestry | {revision}, declares)
        return revision

    def is_descendant(self, revision: Revision, ancestor: Revision) -> bool:
        return ancestor in self.commits[revision].ancestry

    def any_commit(self, number: int) -> Revision:
        return list(self.commits)[number % len(self.commits)]

    # --- what people do ---

    @rule(declares=RESOURCES)
    def commit(self, declares: frozenset[int]) -> None:
        self.source = self.make(self.commits[self.source].ancestry, declares)

    @rule(number=st.integers(0, 50), declares=RESOURCES)
    def rewrite(self, number: int, declares: frozenset[int]) -> None:
        self.source = self.make(self.commits[self.any_commit(number)].ancestry, declares)

    @rule(number=st.integers(0, 50))
    def set_back(self, number: int) -> None:
        self.source = self.any_commit(number)

    @precondition(lambda self: self.pointer is not None)
    @rule(number=st.integers(0, 50))
    def quarantine(self, number: int) -> None:
        assert self.pointer is not None
        enforced, revision = self.pointer.enforced, self.any_commit(number)
        previous = self.pointer.previous
        self.write(quarantine(self.pointer, revision).pointer)
        assert self.pointer.is_quarantined(revision)
        usable = previous is not None and not self.pointer.is_quarantined(previous)
        if enforced is not None and enforced.revision == revision and usable:
            assert self.pointer.enforced == TrailEntry(previous or revision, enforced.host)

    @precondition(lambda self: self.pointer is not None)
    @rule(number=st.integers(0, 50))
    def accept_rewind(self, number: int) -> None:
        assert self.pointer is not None
        revision, trail = self.any_commit(number), self.pointer.trail
        self.write(rewind(self.pointer, revision, self.is_descendant).pointer, is_rewind=True)
        assert self.pointer.accepted == revision
        for entry in trail:
            if not self.is_descendant(revision, entry.revision):
                assert self.pointer.is_quarantined(entry.revision)
        assert self.choose(None).target == TrailEntry(revision, self.host)

    @precondition(lambda self: self.pointer is not None)
    @rule(number=st.integers(1, 3))
    def rename_host(self, number: int) -> None:
        assert self.pointer is not None
        new = HostName(f"web{number}")
        self.write(rename(self.pointer, self.host, new))
        self.host = new

    # --- passes ---

    def write(self, pointer: Pointer, *, is_rewind: bool = False) -> None:
        """Replace the file, and see that only X moved the floor back."""
        floor = self.pointer.accepted if self.pointer is not None else None
        if floor is not None and not is_rewind:
            assert pointer.accepted is not None
            assert self.is_descendant(pointer.accepted, floor)
        self.pointer = pointer

    def choose(self, course: Course | None, requested: Revision | None = None) -> TargetChoice:
        """Choose the target; without a course the source is out of reach."""
        reachable = course is not None and course.reachable
        return choose_target(
            self.pointer,
            self.host,
            requested=None if requested is None else self.candidate(requested, approved=True),
            source=SourceStatus.OK if reachable else SourceStatus.UNREACHABLE,
            offered=self.candidate(self.source, approved=course.approved) if course and reachable else None,
            enforcement=course.enforcement if course is not None else Enforcement.ENFORCE,
        )

    def candidate(self, revision: Revision, *, approved: bool) -> Candidate:
        floor = self.pointer.accepted if self.pointer is not None else None
        return Candidate(revision, acceptable(floor, revision, self.is_descendant), approved)

    @rule(course=courses, number=st.none() | st.none() | st.integers(0, 50))
    def run_pass(self, course: Course, number: int | None) -> None:
        choice = self.choose(course, None if number is None else self.any_commit(number))
        self.check_choice(choice, course)
        if choice.target is None or course.enforcement is Enforcement.OBSERVE:
            return
        done = 0
        for done, _ in enumerate(self.steps(choice.target, course), 1):
            if done >= course.life:
                break
        self.check_next(choice.target, course, done)

    def check_choice(self, choice: TargetChoice, course: Course) -> None:
        if self.pointer is not None and choice.target is not None:
            assert not self.pointer.is_quarantined(choice.target.revision)
        if choice.rule is TargetRule.SOURCE:
            assert choice.target == TrailEntry(self.source, self.host)
            assert choice.source is SourceStatus.OK
        if choice.rule is TargetRule.SOURCE and self.pointer is not None and self.pointer.accepted is not None:
            assert self.is_descendant(self.source, self.pointer.accepted)
        if choice.withheld is Withheld.HOLD:
            assert course.enforcement is Enforcement.HOLD
        if choice.target is None:
            trail = self.pointer.trail if self.pointer is not None else ()
            assert all(self.pointer is not None and self.pointer.is_quarantined(entry.revision) for entry in trail)

    def steps(self, target: TrailEntry, course: Course) -> Iterator[str]:
        """Run a pass; every `yield` is an instant at which it may die."""
        yield "planned"
        assert self.pointer is None or self.host == self.pointer.host
        is_repetition = self.pointer is not None and target in self.pointer.trail
        floor = self.pointer.accepted if self.pointer is not None else None
        descends = floor is not None and self.is_descendant(target.revision, floor)
        self.write(begin(self.pointer, target, descends=descends, fleet=FLEET).pointer)
        yield "W"
        assert self.pointer is not None
        yield from self.act(target, course)
        facts = RollbackFacts(
            wanted=course.rolls_back,
            only=course.only,
            is_repetition=is_repetition,
            check_red=bool(course.failing),
            check_turned_red=bool(course.failing),
        )
        if may_roll_back(self.pointer, target, facts) is not None:
            back = self.pointer.previous
            assert self.pointer.converged != target.revision
            self.write(roll_back(self.pointer, target).pointer)
            after = self.choose(course)
            if self.source == target.revision or after.rule is not TargetRule.SOURCE:
                assert after.target is not None
                assert after.target.revision == back
            yield "Q"
            assert back is not None
            target = TrailEntry(back, target.host)
            descends = self.is_descendant(back, self.pointer.accepted or back)
            self.write(begin(self.pointer, target, descends=descends, fleet=FLEET).pointer)
            yield "W at previous"
            yield from self.act(target, course)
            assert may_roll_back(self.pointer, target, evolve(facts, is_rollback=True)) is None
        yield from self.end(target, course)

    def act(self, target: TrailEntry, course: Course) -> Iterator[str]:
        """Apply what the target declares, remove what it does not."""
        declares = self.commits[target.revision].declares
        for name in sorted(declares - course.failing):
            if self.present.get(name) != target:
                self.begun.add(target)
                self.present[name] = target
                yield "applied"
        for name in sorted(set(self.present) - declares - course.failing):
            if not course.only:
                del self.present[name]
                yield "removed"

    def end(self, target: TrailEntry, course: Course) -> Iterator[str]:
        """S and C, from what is on the host."""
        assert self.pointer is not None
        declares = self.commits[target.revision].declares
        verdict = SettleInput(
            orphans_settled=set(self.present) <= declares,
            differences_verified=all(self.present.get(name) == target for name in declares),
            trail_resolved=True,
        )
        if course.only:
            return
        self.write(settle(self.pointer, target, verdict))
        if verdict.settles:
            self.begun &= {target}
        yield "S"
        if verdict.settles:
            self.write(converge(self.pointer, target))
            assert self.pointer.converged == target.revision
            yield "C"

    def check_next(self, target: TrailEntry, course: Course, done: int) -> None:
        """Whatever the instant of death, an equal pass has the target that the table names."""
        again = self.choose(evolve(course, enforcement=Enforcement.ENFORCE, approved=True))
        if done <= 1 or self.pointer is None:
            return
        if self.pointer.is_quarantined(target.revision):
            assert again.target != target
            if again.rule is TargetRule.ENFORCED:
                assert again.target is not None
                assert again.target.revision == self.pointer.previous
        elif again.rule is TargetRule.ENFORCED:
            assert again.target == target
        assert target in self.pointer.trail or self.pointer.is_quarantined(target.revision)

    # --- what always holds ---

    @invariant()
    def what_is_on_the_host_is_declared_by_the_trail(self) -> None:
        trail = self.pointer.trail if self.pointer is not None else ()
        assert set(self.present.values()) <= set(trail)

    @invariant()
    def what_began_is_in_the_trail_until_it_is_settled(self) -> None:
        assert self.begun <= set(self.pointer.trail if self.pointer is not None else ())

    @invariant()
    def the_pointer_is_one_that_can_be_read_again(self) -> None:
        if self.pointer is not None:
            _check_consistent(self.pointer)
            assert len(set(self.pointer.trail)) == len(self.pointer.trail)

    @invariant()
    def nothing_quarantined_is_enforced_after_q_or_x(self) -> None:
        choice = self.choose(None)
        if self.pointer is not None and choice.target is not None:
            assert not self.pointer.is_quarantined(choice.target.revision)


TestPointer = PointerMachine.TestCase
TestPointer.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)


def run(steps: Callable[[PointerMachine], None]) -> PointerMachine:
    machine = PointerMachine()
    machine.first_commit(frozenset({1}))
    steps(machine)
    return machine


PLAIN = Course(
    enforcement=Enforcement.ENFORCE,
    reachable=True,
    approved=True,
    only=False,
    failing=frozenset(),
    rolls_back=True,
    life=1000,
)


def test_the_world_reaches_convergence_and_rollback() -> None:
    """The machine above would prove nothing if its passes never got that far."""

    def steps(machine: PointerMachine) -> None:
        machine.run_pass(PLAIN, None)
        machine.commit(frozenset({2}))
        machine.run_pass(evolve(PLAIN, failing=frozenset({2})), None)

    machine = run(steps)
    first, second = machine.commits
    assert machine.pointer is not None
    assert machine.pointer.quarantined == (second,)
    assert machine.pointer.accepted == second
    assert machine.pointer.converged == first
    assert machine.pointer.trail == (TrailEntry(first, machine.host),)


def test_a_pass_killed_between_q_and_the_next_leaves_previous_as_the_target() -> None:
    def steps(machine: PointerMachine) -> None:
        machine.run_pass(PLAIN, None)
        machine.commit(frozenset({2, 3}))
        machine.run_pass(evolve(PLAIN, failing=frozenset({2}), life=5), None)

    machine = run(steps)
    assert machine.pointer is not None
    assert machine.pointer.quarantined == (machine.source,)
    choice = machine.choose(PLAIN)
    assert (choice.rule, choice.source) == (TargetRule.ENFORCED, SourceStatus.QUARANTINED)
    assert choice.target == TrailEntry(next(iter(machine.commits)), machine.host)
