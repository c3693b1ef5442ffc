"""One action at a time, conditional on its before, verified by observing again (design 1.4)."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from datum.diagnostics import Severity
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Cause, Present, Unobservable
from datum.model.plan import Action, Hold, HoldReason, Operation, Replan, Step
from datum.model.result import FailureCause, Outcome
from datum.provider.host import FileKind, HostError, HostReader, HostWriter
from datum.testing.world import FakeFile
from datum_providers.file.desired import DesiredFile
from datum_providers.file.doing import apply_file
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import declare, declared_by, rid
from tests.unit.reconciler.bench import Bench, Scripted, result_of, story

A, B, C = "file:/etc/a", "file:/etc/b", "file:/etc/c"


def test_what_is_planned_is_done_and_verified() -> None:
    """Each action has its result in plan order, with its own verification, remarks and duration."""
    bench = Bench((declare(A, content="a\n", mode="0600"), declare(B, content="b\n")))
    bench.host.add_file("/etc/b", b"old\n")
    results = bench.run()
    assert story(results) == {A: "applied", B: "applied"}
    assert (bench.text("/etc/a"), bench.text("/etc/b")) == ("a\n", "b\n")
    for result in results:
        assert result.verification is not None
        assert result.verification.converged
        assert not result.verification.remaining
        assert (result.diagnostics, result.cause, result.replanned) == ((), None, False)
        assert result.duration > 0


def test_nothing_to_do_does_nothing() -> None:
    """An empty plan has no results and touches nothing."""
    bench = Bench((declare(A, content="a\n"),))
    bench.host.add_file("/etc/a", b"a\n")
    assert bench.run() == ()
    assert bench.host.journal == []


def test_progress_counts_every_action() -> None:
    """Whoever watches sees number and action before it begins."""
    seen: list[tuple[int, str]] = []

    def progress(number: int, action: Action) -> None:
        seen.append((number, str(action.resource)))

    Bench((declare(A, content="a"), declare(B, content="b"))).run(progress=progress)
    assert seen == [(1, A), (2, B)]


# Conditional on before.


def test_already_as_wanted_is_already() -> None:
    """Somebody else did it meanwhile: nothing is written."""
    bench = Bench((declare(A, content="a\n"),))
    planned = bench.plan()
    bench.host.add_file("/etc/a", b"a\n")
    result = result_of(bench.run(planned), A)
    assert result.outcome is Outcome.ALREADY
    assert result.verification is not None
    assert result.verification.converged
    assert bench.host.journal == []


def test_vanished_before_its_deletion_is_already() -> None:
    """What was to be deleted is gone: that is what was wanted."""
    bench = Bench((declare(A, absent=True),))
    bench.host.add_file("/etc/a", b"a\n")
    planned = bench.plan()
    del bench.host.files["/etc/a"]
    assert story(bench.run(planned)) == {A: "already"}


def test_weaker_step_is_done_and_said() -> None:
    """Half of the update was done by somebody: the rest of it is done, and the result says it differs."""
    bench = Bench((declare(A, content="a\n", mode="0600"),))
    bench.host.add_file("/etc/a", b"old\n", mode="0644")
    planned = bench.plan()
    bench.host.files["/etc/a"].data = b"a\n"
    result = result_of(bench.run(planned), A)
    assert (result.outcome, result.replanned) == (Outcome.APPLIED, True)
    assert [entry.method for entry in bench.host.journal] == ["set_attributes"]


def test_stronger_step_is_held() -> None:
    """A link took the file's place: replacing it is more than anybody saw planned."""
    bench = Bench((declare(A, content="a\n"),))
    bench.host.add_file("/etc/a", b"old\n")
    planned = bench.plan()
    bench.host.add("/etc/a", FakeFile(FileKind.SYMLINK))
    result = result_of(bench.run(planned), A)
    assert result.outcome is Outcome.HELD
    (found,) = result.diagnostics
    assert found.code == "held-changed-under-us"
    assert result.hold is not None
    assert (result.hold.reason, result.hold.detail) == (HoldReason.CHANGED_UNDER_US, found.detail)
    assert "it would now take a replace" in found.detail
    assert found.location == result.action.location
    assert bench.host.journal == []


def test_what_was_to_be_brought_before_and_was_not_is_a_failure() -> None:
    """A service whose package brings no such unit: nothing that is planned anew can help."""
    hold = Hold(HoldReason.CHANGED_UNDER_US, "There is no unit s. package:p was to bring the unit s.", "correct it")
    bench = Bench((declare(A, content="a\n"),))
    (result,) = bench.run(replan=lambda *_, **__: Replan(hold=hold, is_impossible=True))
    assert (result.outcome, result.cause) == (Outcome.FAILED, FailureCause.IMPOSSIBLE)
    (found,) = result.diagnostics
    assert (found.code, found.detail, found.hint) == ("not-brought", hold.detail, hold.release)
    assert (found.resource, found.location) == (A, result.action.location)
    assert bench.host.journal == []


def test_create_that_finds_something_unknown_is_held() -> None:
    """Whose file that is nobody knows: overwriting it would lose data."""
    bench = Bench((declare(A, content="a\n"),))
    planned = bench.plan()
    bench.host.add_file("/etc/a", b"somebody's\n")
    result = result_of(bench.run(planned), A)
    assert result.outcome is Outcome.HELD
    assert Hazard.DATA_LOSS in result.diagnostics[0].detail
    assert bench.text("/etc/a") == "somebody's\n"


def test_create_that_finds_what_a_package_owns_becomes_an_update() -> None:
    """A package of this pass brought it: its content is not lost."""
    bench = Bench((declare(A, content="a\n"),))
    planned = bench.plan()
    bench.host.add_file("/etc/a", b"as shipped\n")
    bench.host.world.packages["/etc/a"] = "base-files"
    result = result_of(bench.run(planned), A)
    assert (result.outcome, result.replanned) == (Outcome.APPLIED, True)
    assert bench.text("/etc/a") == "a\n"


def test_deletion_of_something_else_is_held() -> None:
    """A delete is never planned again."""
    bench = Bench((declare(A, absent=True),))
    bench.host.add_file("/etc/a", b"a\n")
    planned = bench.plan()
    bench.host.files["/etc/a"].mode = "0600"
    assert story(bench.run(planned)) == {A: "held"}
    assert bench.text("/etc/a") == "a\n"


def test_unobservable_at_its_turn_is_held() -> None:
    """What cannot be looked at any more is not touched, and the result says so."""
    bench = Bench((declare(A, content="a\n"),))
    planned = bench.plan()
    bench.host.fail(errno.EACCES, method="examine", subject="/etc/a")
    result = result_of(bench.run(planned), A)
    assert (result.outcome, result.cause) == (Outcome.HELD, FailureCause.UNOBSERVABLE)
    assert bench.host.journal == []


def test_breach_at_its_turn_is_told_apart() -> None:
    """A provider that raises while looking again is a bug, which the exit code must say."""
    bench = Bench((declare(A, content="a\n"),))
    planned = bench.plan()
    bench.host.fail(RuntimeError("a bug"), method="examine")
    result = result_of(bench.run(planned), A)
    assert (result.outcome, result.cause) == (Outcome.HELD, FailureCause.BREACH)


# Verification.


def lying(_writer: HostWriter, _desired: DesiredFile, _step: Step) -> None:
    """Say that it is done."""


def test_liar_is_unverified() -> None:
    """The provider's own word counts for nothing: what is left is named."""
    bench = Bench((declare("scripted:/etc/a", content="a\n", mode="0600"),), providers={"scripted": Scripted(lying)})
    bench.host.add_file("/etc/a", b"old\n")
    (result,) = bench.run()
    assert result.outcome is Outcome.UNVERIFIED
    assert result.verification is not None
    assert [change.name for change in result.verification.remaining] == ["content", "mode"]
    (found,) = result.diagnostics
    assert (found.code, found.severity) == ("unverified", Severity.ERROR)
    assert re.fullmatch(
        r"Observed again it is present, and a second plan would still change "
        r"content \(blob:[0-9a-f]{12} → blob:[0-9a-f]{12}\), mode \(0644 → 0600\)\.",
        found.detail,
    )
    assert "in the future" in found.hint
    assert (found.resource, found.location) == ("scripted:/etc/a", result.action.location)


def test_liar_that_creates_nothing_is_unverified() -> None:
    """Absent before, absent after."""
    bench = Bench((declare("scripted:/etc/a", content="a\n"),), providers={"scripted": Scripted(lying)})
    (result,) = bench.run()
    assert result.outcome is Outcome.UNVERIFIED
    assert result.diagnostics[0].detail.startswith("Observed again it is absent, and a second plan would still change")
    assert "→" not in result.diagnostics[0].detail


def test_create_of_something_else_names_the_fields_that_are_left() -> None:
    """What it made is not what was declared; the rules of what may be overwritten play no part in telling so."""

    def wrong(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        apply_file(writer, desired, step)
        bench.host.files["/etc/a"].data = b"other\n"

    bench = Bench((declare("scripted:/etc/a", content="a\n"),), providers={"scripted": Scripted(wrong)})
    (result,) = bench.run()
    assert result.outcome is Outcome.UNVERIFIED
    assert "would still change content (" in result.diagnostics[0].detail
    assert result.verification is not None
    assert [change.name for change in result.verification.remaining] == ["content"]


def test_host_that_reverts_is_unverified() -> None:
    """Something on the host put the old file back."""

    def reverted(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        apply_file(writer, desired, step)
        bench.host.add_file("/etc/a", b"old\n")

    bench = Bench((declare("scripted:/etc/a", content="a\n"),), providers={"scripted": Scripted(reverted)})
    bench.host.add_file("/etc/a", b"old\n")
    assert story(bench.run()) == {"scripted:/etc/a": "unverified"}


def test_unobservable_afterwards_is_unverified() -> None:
    """What was done cannot be looked at: nobody knows, so it is not applied."""

    def blind(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        apply_file(writer, desired, step)
        bench.host.fail(errno.EACCES, method="examine")

    bench = Bench((declare("scripted:/etc/a", content="a\n"),), providers={"scripted": Scripted(blind)})
    (result,) = bench.run()
    assert (result.outcome, result.cause) == (Outcome.UNVERIFIED, FailureCause.UNOBSERVABLE)
    assert result.diagnostics[0].detail.startswith("It cannot be looked at any more:")


def test_breach_of_the_planner_afterwards_is_unverified() -> None:
    """A type that cannot plan its own result has not been verified."""

    class Falling(Scripted):
        def hazards(self, desired: DesiredFile, step: Step) -> frozenset[Hazard]:
            return frozenset()

        def plan(self, desired: DesiredFile, observed: Present | Absent) -> Step | None:
            if bench.host.journal:
                raise RuntimeError("a bug")
            return super().plan(desired, observed)

    bench = Bench((declare("scripted:/etc/a", content="a\n"),), providers={"scripted": Falling(apply_file)})
    (result,) = bench.run()
    assert result.outcome is Outcome.UNVERIFIED
    assert result.diagnostics[0].detail.startswith("Observed again it is present. ")
    assert "plan raised RuntimeError('a bug')" in result.diagnostics[0].detail


def test_declared_absence_is_verified() -> None:
    """A deletion is applied when the thing is gone, and unverified when it stays."""
    bench = Bench((declare(A, absent=True), declare("scripted:/etc/b", absent=True)))
    bench.providers = {"file": FileProvider(), "scripted": Scripted(lying)}
    bench.host.add_file("/etc/a", b"a\n")
    bench.host.add_file("/etc/b", b"b\n")
    results = bench.run()
    assert story(results) == {A: "applied", "scripted:/etc/b": "unverified"}
    assert result_of(results, "scripted:/etc/b").verification is not None


ORPHAN = "file:/etc/x.d/old"


def orphaned(text: str = ORPHAN, provider: FileProvider | None = None) -> Bench:
    """Return a bench on which one file is declared by an older revision only, and lies there as declared."""
    made = provider or FileProvider()
    providers = {"file": FileProvider(), made.type_name: made}
    bench = Bench((declare(A, content="a\n"),), providers=providers)
    bench.host.add_file("/etc/x.d/old", b"old\n")
    bench.host.add_file("/etc/a", b"a\n")
    # The declaration is made with the types of this bench.
    from datum.graph.build import build_graph
    from datum.planner.inputs import Declaration
    from tests.unit.fakes import manifest, revision

    graph = build_graph(manifest(declare(text, content="old\n")), providers)
    bench.trail = (Declaration(revision(1), graph.nodes, graph.order),)
    return bench


def test_orphan_is_removed_and_verified_by_absence() -> None:
    """Its own declaration wants it present, so absence is what verifies."""
    bench = orphaned()
    results = bench.run()
    assert story(results) == {ORPHAN: "applied"}
    assert bench.text("/etc/x.d/old") is None


def test_orphan_that_stays_is_unverified() -> None:
    """A type that says it removed it is not believed."""
    (result,) = orphaned("scripted:/etc/x.d/old", Scripted(lying)).run()
    assert result.outcome is Outcome.UNVERIFIED
    assert result.diagnostics[0].detail == "It is still there."
    assert result.verification is not None
    assert [change.name for change in result.verification.remaining] == [
        change.name for change in result.action.changes
    ]


# Failure.


def test_failure_spreads_to_what_requires_it_and_to_nothing_else() -> None:
    """Directly and through others; `after` and what is unrelated go on."""
    bench = Bench(
        (
            declare(A, content="a\n"),
            declare(B, content="b\n", requires=[A]),
            declare(C, content="c\n", requires=[B]),
            declare("file:/etc/d", content="d\n", after=[A]),
            declare("file:/etc/e", content="e\n"),
        )
    )
    bench.host.fail(errno.ENOSPC, method="write_file", subject="/etc/a")
    results = bench.run()
    assert story(results) == {
        A: "failed",
        B: "skipped",
        C: "skipped",
        "file:/etc/d": "applied",
        "file:/etc/e": "applied",
    }
    failed = result_of(results, A)
    assert failed.cause is FailureCause.NO_SPACE
    assert (failed.diagnostics[0].resource, failed.diagnostics[0].location) == (A, failed.action.location)
    for text in (B, C):
        skipped = result_of(results, text)
        assert skipped.blocked_by == rid(A)
        assert skipped.diagnostics == ()


def test_blame_goes_to_the_first_cause() -> None:
    """A resource that was itself skipped is no cause, whatever its name."""
    bench = Bench(
        (
            declare("file:/etc/z", content="z\n"),
            declare(A, content="a\n", requires=["file:/etc/z"]),
            declare(B, content="b\n", requires=[A]),
        )
    )
    bench.host.fail(errno.EIO, method="write_file", subject="/etc/z")
    results = bench.run()
    assert [result.blocked_by for result in results] == [None, rid("file:/etc/z"), rid("file:/etc/z")]


@pytest.mark.parametrize("how", ["unverified", "busy"])
def test_everything_that_is_not_settled_spreads(how: str) -> None:
    """Not only failures: what requires it waits."""

    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        if how == "busy":
            raise HostError("The lock is held.", failure=FailureCause.BUSY)

    bench = Bench(
        (
            declare("scripted:/etc/a", content="a\n"),
            declare("scripted:/etc/b", content="b\n", requires=["scripted:/etc/a"]),
        ),
        providers={"scripted": Scripted(act)},
    )
    assert story(bench.run()) == {"scripted:/etc/a": how, "scripted:/etc/b": "skipped"}


def test_planned_hold_is_held_without_a_look() -> None:
    """The hold's own words and way out reach the result, and nothing is done."""
    bench = Bench((declare(A, content="a\n", audit=True),))
    planned = bench.plan()
    bench.host.calls.clear()
    (result,) = bench.run(planned)
    assert (result.outcome, result.action.hold is not None) == (Outcome.HELD, True)
    assert result.action.hold is not None
    assert result.action.hold.reason is HoldReason.AUDIT
    (found,) = result.diagnostics
    assert (found.code, found.hint) == ("held-audit", result.action.hold.release)
    assert bench.host.calls == []


def test_held_under_us_spreads() -> None:
    """What requires it is skipped by it."""
    bench = Bench((declare(A, content="a\n"), declare(B, content="b\n", requires=[A])))
    planned = bench.plan()
    bench.host.add_file("/etc/a", b"somebody's\n")
    results = bench.run(planned)
    assert story(results) == {A: "held", B: "skipped"}


def test_busy_is_its_own_outcome() -> None:
    """A tool that is in use is no failure of the fleet."""

    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        raise HostError("The lock is held.", code="lock-held", failure=FailureCause.BUSY, hint="wait")

    bench = Bench((declare("scripted:/etc/a", content="a\n"),), providers={"scripted": Scripted(act)})
    (result,) = bench.run()
    assert (result.outcome, result.cause) == (Outcome.BUSY, FailureCause.BUSY)
    assert (result.diagnostics[0].code, result.diagnostics[0].hint) == ("lock-held", "wait")


def test_breach_while_applying_stays_its_own() -> None:
    """Whatever a type raises is a bug in it, named as such; the rest goes on."""

    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        raise TypeError("a bug")

    bench = Bench(
        (declare("scripted:/etc/a", content="a\n"), declare(B, content="b\n")),
        providers={"file": FileProvider(), "scripted": Scripted(act)},
    )
    results = bench.run()
    assert story(results) == {"scripted:/etc/a": "failed", B: "applied"}
    failed = result_of(results, "scripted:/etc/a")
    assert failed.cause is FailureCause.BREACH
    assert failed.diagnostics[0].code == "provider-breach"
    assert "'scripted' raised TypeError('a bug') while applying. This is a bug in it." in failed.diagnostics[0].detail


def test_deadline_of_the_type_bounds_each_action() -> None:
    """An action that takes too long fails with that cause; its time is its type's."""
    asked: list[float] = []

    @contextmanager
    def deadline(seconds: float) -> Iterator[None]:
        asked.append(seconds)
        yield
        raise HostError("It took too long.", failure=FailureCause.DEADLINE, cause=Cause.DEADLINE)

    bench = Bench((declare(A, content="a\n"),))
    (result,) = bench.run(deadline=deadline)
    assert asked == [FileProvider.apply_deadline]
    assert (result.outcome, result.cause) == (Outcome.FAILED, FailureCause.DEADLINE)


def test_failure_after_the_work_was_done_is_still_a_failure() -> None:
    """A single action that raised is not believed to be whole; the verification says how the host is."""
    bench = Bench((declare(A, content="a\n"),))
    bench.host.fail(errno.EIO, method="write_file", after=True)
    (result,) = bench.run()
    assert result.outcome is Outcome.FAILED
    assert result.verification is not None
    assert result.verification.converged


def test_remarks_of_the_writer_reach_the_result() -> None:
    """Such as that a mount point was written in place."""
    bench = Bench((declare(A, content="a\n"),))
    bench.host.add("/etc/a", FakeFile(data=b"old\n", is_mount_point=True))
    (result,) = bench.run()
    assert (result.outcome, result.remarks) == (Outcome.APPLIED, ("not_atomic",))


def test_planned_verdicts_block_what_requires_them() -> None:
    """A hand-made plan: what the planner refused keeps what requires it from being done."""
    bench = Bench((declare(A, content="a\n"), declare(B, content="b\n")))
    planned = bench.plan()
    from attrs import evolve

    from datum.model.plan import Verdict, VerdictKind

    verdicts = {rid(C): Verdict(VerdictKind.SKIPPED, blocked_by=rid("file:/etc/q"))}
    actions = tuple(
        evolve(action, requires=frozenset({rid(C)})) if action.resource == rid(B) else action
        for action in planned.plan.actions
    )
    results = bench.run(evolve(planned, plan=evolve(planned.plan, actions=actions, verdicts=verdicts)))
    assert story(results) == {A: "applied", B: "skipped"}
    assert result_of(results, B).blocked_by == rid("file:/etc/q")


# Signals.


def test_signal_between_actions_leaves_the_rest() -> None:
    """The action in hand is finished; the others are skipped with the code that says why."""
    bench = Bench((declare(A, content="a\n"), declare(B, content="b\n"), declare(C, content="c\n")))
    results = bench.run(is_stopping=lambda: bool(bench.host.journal))
    assert story(results) == {A: "applied", B: "skipped", C: "skipped"}
    for result in results[1:]:
        (found,) = result.diagnostics
        assert found.code == "interrupted"
        assert result.blocked_by is None
        assert found.location == result.action.location
    assert bench.text("/etc/b") is None


def test_signal_before_the_first_action_leaves_everything() -> None:
    """Nothing is touched."""
    bench = Bench((declare(A, content="a\n"),))
    assert story(bench.run(is_stopping=lambda: True)) == {A: "skipped"}
    assert bench.host.journal == []


def test_operations_of_the_file_type_are_those_of_the_plan() -> None:
    """The bench plans what the tests above speak of."""
    bench = Bench((declare(A, content="a\n"), declare(B, absent=True)))
    bench.host.add_file("/etc/b")
    assert [action.operation for action in bench.plan().plan.actions] == [Operation.CREATE, Operation.DELETE]


def test_reader_of_an_observation_cannot_write() -> None:
    """What the bench looks with has no method that changes anything."""
    reader: HostReader = Bench(()).look().reader
    assert not hasattr(reader, "write_file")


def test_unobservable_types_are_values() -> None:
    """Guards the bench: a refusal of the host is an answer, no exception."""
    bench = Bench((declare(A, content="a\n"),))
    bench.host.fail(errno.EACCES, method="examine")
    planned = bench.plan()
    assert isinstance(planned.given.observed.observations[rid(A)], Unobservable)
    assert declared_by(1).order == ()
