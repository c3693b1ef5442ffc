"""Actions that are committed together: staged one by one, each verified for itself (design 1.7)."""

import pytest

from datum.diagnostics import Severity
from datum.model.result import FailureCause, Outcome
from datum.provider.host import HostError
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import declare, rid
from tests.unit.reconciler.bench import Batch, Bench, result_of, story

A, B, C = "batch:/etc/a", "batch:/etc/b", "batch:/etc/c"
REFUSED = HostError("It cannot be staged.", code="not-stageable", failure=FailureCause.IMPOSSIBLE)


def bench_of(batch: Batch, *more: str) -> Bench:
    resources = [declare(text, content=f"{text[-1]}\n") for text in (A, B, C, *more)]
    return Bench(tuple(resources), providers={"batch": batch, "file": FileProvider()})


def test_adjacent_actions_are_staged_and_committed_once() -> None:
    """Each is staged in order, then one commit, and each has its own verified result."""
    batch = Batch()
    bench = bench_of(batch)
    results = bench.run()
    assert batch.calls == ["stage /etc/a", "stage /etc/b", "stage /etc/c", "commit 3"]
    assert story(results) == {A: "applied", B: "applied", C: "applied"}
    assert all(result.remarks == ("committed",) for result in results)


def test_an_action_without_a_key_is_done_alone() -> None:
    """It goes through `apply`, and splits nothing that is not adjacent."""
    batch = Batch()
    bench = Bench((declare("batch:/etc/alone", content="x\n"), declare(B, content="b\n")), providers={"batch": batch})
    assert story(bench.run()) == {"batch:/etc/alone": "applied", B: "applied"}
    assert batch.calls == ["stage /etc/b", "commit 1"]


def test_what_cannot_be_staged_fails_alone() -> None:
    """The others are committed."""
    batch = Batch(unstaged={"/etc/b": REFUSED})
    results = bench_of(batch).run()
    assert story(results) == {A: "applied", B: "failed", C: "applied"}
    assert batch.calls[-1] == "commit 2"
    failed = result_of(results, B)
    assert (failed.cause, failed.diagnostics[0].code) == (FailureCause.IMPOSSIBLE, "not-stageable")


def test_nothing_staged_is_nothing_committed() -> None:
    """No commit is called for an empty transaction."""
    batch = Batch(unstaged=dict.fromkeys(("/etc/a", "/etc/b", "/etc/c"), REFUSED))
    assert set(story(bench_of(batch).run()).values()) == {"failed"}
    assert not [call for call in batch.calls if call.startswith("commit")]


def test_what_requires_an_unstaged_one_is_not_staged() -> None:
    """A failure spreads inside of a transaction as everywhere."""
    batch = Batch(unstaged={"/etc/a": REFUSED})
    bench = Bench(
        (
            declare(A, content="a\n"),
            declare(B, content="b\n", requires=[A]),
            declare(C, content="c\n"),
        ),
        providers={"batch": batch},
    )
    results = bench.run()
    assert story(results) == {A: "failed", B: "skipped", C: "applied"}
    assert result_of(results, B).blocked_by == rid(A)
    assert batch.calls == ["stage /etc/a", "stage /etc/c", "commit 1"]


def test_what_changed_under_us_is_not_staged_and_blocks() -> None:
    """Each is observed again before it is staged; results stay in the order of the plan."""
    batch = Batch()
    bench = Bench(
        (declare(A, content="a\n"), declare(B, content="b\n", requires=[A]), declare(C, content="c\n")),
        providers={"batch": batch},
    )
    planned = bench.plan()
    bench.host.add_file("/etc/a", b"somebody's\n")
    assert list(story(bench.run(planned)).items()) == [(A, "held"), (B, "skipped"), (C, "applied")]


def test_already_done_members_do_not_block() -> None:
    """One that is as wanted meanwhile keeps nobody waiting, and its result stands at its place."""
    batch = Batch()
    bench = Bench(
        (declare(A, content="a\n"), declare(B, content="b\n"), declare(C, content="c\n", requires=[B])),
        providers={"batch": batch},
    )
    planned = bench.plan()
    bench.host.add_file("/etc/b", b"b\n")
    assert list(story(bench.run(planned)).items()) == [(A, "applied"), (B, "already"), (C, "applied")]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (HostError("The tool ended with 1.", failure=FailureCause.OTHER), FailureCause.OTHER),
        (KeyError("x"), FailureCause.BREACH),
    ],
)
def test_each_result_comes_from_its_own_verification(error: Exception, cause: FailureCause) -> None:
    """The commit failed half-way: what is as wanted is applied, with what the commit said as a warning."""
    batch = Batch(failing=error)
    bench = Bench(tuple(declare(text, content=f"{text[-1]}\n") for text in (A, B)), providers={"batch": batch})
    results = bench.run()
    assert story(results) == {A: "applied", B: "failed"}
    done, failed = results
    assert (done.cause, failed.cause) == (cause, cause)
    assert [found.severity for found in done.diagnostics] == [Severity.WARNING]
    assert [found.severity for found in failed.diagnostics] == [Severity.ERROR]
    assert [found.resource for found in (*done.diagnostics, *failed.diagnostics)] == [A, B]


def test_commit_that_fails_after_all_its_work() -> None:
    """The status of the commit is nobody's result."""
    batch = Batch(failing=HostError("A trigger failed."))
    batch.does_all_first = True
    results = bench_of(batch).run()
    assert {result.outcome for result in results} == {Outcome.APPLIED}


def test_failed_commit_spreads_to_what_requires_it() -> None:
    """Only what its own verification finds undone blocks."""
    batch = Batch(failing=HostError("The tool ended with 1."))
    bench = Bench(
        (
            declare(A, content="a\n"),
            declare(B, content="b\n"),
            declare("file:/etc/y", content="y\n", requires=[A]),
            declare("file:/etc/z", content="z\n", requires=[B]),
        ),
        providers={"batch": batch, "file": FileProvider()},
    )
    results = bench.run()
    assert story(results) == {A: "applied", B: "failed", "file:/etc/y": "applied", "file:/etc/z": "skipped"}


def test_busy_commit_makes_what_is_undone_busy() -> None:
    """Dpkg's lock is held: nobody failed."""
    batch = Batch(failing=HostError("The lock is held.", failure=FailureCause.BUSY))
    bench = Bench((declare(A, content="a\n"),), providers={"batch": batch})
    assert story(bench.run()) == {A: "busy"}


def test_signal_before_a_transaction_leaves_all_of_it() -> None:
    """Nothing is staged."""
    batch = Batch()
    assert set(story(bench_of(batch).run(is_stopping=lambda: True)).values()) == {"skipped"}
    assert batch.calls == []


def test_progress_counts_within_a_transaction() -> None:
    """Numbers go on, whatever became of those before."""
    seen: list[int] = []
    batch = Batch(unstaged={"/etc/a": REFUSED})
    bench_of(batch, "file:/etc/d").run(progress=lambda number, _action: seen.append(number))
    assert seen == [1, 2, 3, 4]


def test_a_commit_says_how_many_actions_it_does() -> None:
    """Before it begins: it may take long."""
    batch = Batch(unstaged={"/etc/b": REFUSED})
    seen: list[tuple[int, int, str, int]] = []
    bench_of(batch).run(
        together=lambda number, count, action: seen.append((number, count, str(action.resource), len(batch.calls)))
    )
    assert seen == [(1, 2, A, 3)]
