"""Whatever goes wrong at whatever call: one result for each action, and none that says more than the host shows."""

import errno
from collections.abc import Mapping

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from datum.model.observation import Absent, Present
from datum.model.result import Outcome
from datum.observer.observe import observe_one
from datum.provider.host import HostError
from datum_providers.check.provider import CheckProvider
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import declare
from tests.unit.reconciler.bench import Batch, Bench

PATHS = ("/etc/a", "/etc/b", "/etc/c", "/etc/d", "/etc/e", "/etc/f")
METHODS = ("*", "examine", "read_file", "write_file", "set_attributes", "remove_file", "open_content", "package_of")


@frozen
class Trouble:
    """One thing that goes wrong."""

    error: BaseException | int
    method: str
    subject: str
    skip: int
    times: int | None
    after: bool


def _troubles(errors: st.SearchStrategy[BaseException | int], methods: tuple[str, ...]) -> st.SearchStrategy[Trouble]:
    return st.builds(
        Trouble,
        errors,
        st.sampled_from(methods),
        st.sampled_from(("*", *PATHS)),
        st.integers(0, 12),
        st.none() | st.integers(1, 3),
        st.booleans(),
    )


STAGING = ("stage_write_file", "stage_set_attributes", "judge", "commit", "discard")

# The engine itself asks for packages: a host raises nothing but its own errors there.
troubles = _troubles(
    st.sampled_from([errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EBUSY])
    | st.builds(HostError, st.just("It will not.")),
    METHODS,
) | _troubles(st.builds(RuntimeError, st.just("a bug")), METHODS[1:-1])


def bench_of(kinds: Mapping[str, str]) -> Bench:
    """Return six files: made, rewritten, chmodded, in sync, deleted, and one in a transaction, with a chain."""
    bench = Bench(
        (
            declare(f"{kinds['a']}:/etc/a", content="a\n"),
            declare("file:/etc/b", content="b\n", requires=[f"{kinds['a']}:/etc/a"]),
            declare("file:/etc/c", content="c\n", mode="0600", requires=["file:/etc/b"]),
            declare("file:/etc/d", content="d\n"),
            declare("file:/etc/e", absent=True),
            declare(f"{kinds['f']}:/etc/f", content="f\n"),
        ),
        providers={"file": FileProvider(), "batch": Batch()},
    )
    bench.host.add_file("/etc/b", b"old\n")
    bench.host.add_file("/etc/c", b"c\n", mode="0644")
    bench.host.add_file("/etc/d", b"d\n")
    bench.host.add_file("/etc/e", b"e\n")
    bench.host.add_file("/etc/untouched", b"mine\n")
    return bench


@settings(max_examples=300, deadline=None)
@given(
    st.lists(troubles, max_size=4),
    st.fixed_dictionaries({"a": st.sampled_from(["file", "batch"]), "f": st.sampled_from(["file", "batch"])}),
    st.none() | st.integers(0, 8),
)
def test_every_action_has_one_result_that_the_host_bears_out(
    trouble: list[Trouble], kinds: Mapping[str, str], stop_after: int | None
) -> None:
    """Results are the plan's actions in their order; what is settled is so on the host; nothing else is touched."""
    bench = bench_of(kinds)
    planned = bench.plan()
    for one in trouble:
        bench.host.fail(
            one.error, method=one.method, subject=one.subject, skip=one.skip, times=one.times, after=one.after
        )
    begun: list[int] = []
    results = bench.run(
        planned,
        progress=lambda number, _action: begun.append(number),
        is_stopping=lambda: stop_after is not None and len(begun) >= stop_after,
    )
    assert [result.action for result in results] == list(planned.plan.actions)
    bench.host.heal()
    look = bench.look()
    for result in results:
        action = result.action
        node = planned.given.graph.nodes[action.resource]
        found = observe_one(action.resource, node, look)
        if result.outcome.is_settled:
            if node.resource.absent:
                assert isinstance(found, Absent)
            else:
                assert isinstance(found, Present)
                assert bench.providers[action.resource.type].plan(node.desired, found) is None
        if result.outcome is Outcome.SKIPPED and result.blocked_by is not None:
            assert result.blocked_by in action.requires
        if result.outcome in {Outcome.SKIPPED, Outcome.HELD}:
            assert action.resource.name not in {entry.subject for entry in bench.host.journal}
        assert result.outcome in {
            Outcome.APPLIED,
            Outcome.ALREADY,
            Outcome.FAILED,
            Outcome.UNVERIFIED,
            Outcome.SKIPPED,
            Outcome.HELD,
            Outcome.BUSY,
        }
    assert bench.text("/etc/untouched") == "mine\n"
    assert bench.text("/etc/d") == "d\n"


MEMBERS = ("/etc/a", "/etc/b", "/etc/c")


def judged_bench(*, is_good: bool) -> Bench:
    """Return a set of three that a check judges: made, rewritten, chmodded; what requires it, and what does not."""
    guards = [f"file:{path}" for path in MEMBERS]
    bench = Bench(
        (
            declare("check:set", run=["/bin/check", *MEMBERS], guards=guards),
            declare("file:/etc/a", content="a\n"),
            declare("file:/etc/b", content="b\n"),
            declare("file:/etc/c", content="c\n", mode="0600"),
            declare("file:/etc/e", content="e\n", requires=["file:/etc/b"]),
            declare("file:/etc/f", content="f\n"),
        ),
        providers={"file": FileProvider(), "check": CheckProvider()},
    )
    bench.host.add_file("/etc/b", b"old\n")
    bench.host.add_file("/etc/c", b"c\n", mode="0644")
    bench.host.world.checks["/bin/check"] = lambda _argv, _data: "" if is_good else "No."
    return bench


judged_troubles = _troubles(
    st.sampled_from([errno.EIO, errno.ENOSPC, errno.EROFS]) | st.builds(HostError, st.just("It will not.")),
    ("*", "examine", "write_file", "set_attributes", *STAGING),
) | _troubles(st.builds(RuntimeError, st.just("a bug")), ("examine", "stage_write_file", "stage_set_attributes"))


@settings(max_examples=300, deadline=None)
@given(st.lists(judged_troubles, max_size=3), st.booleans(), st.none() | st.integers(0, 6))
def test_a_judged_set_is_in_place_as_a_whole_or_was_never_begun(
    trouble: list[Trouble], is_good: bool, stop_after: int | None
) -> None:
    """Whatever goes wrong before the commit leaves the host as it was; nothing is applied that was not judged."""
    bench = judged_bench(is_good=is_good)
    planned = bench.plan()
    before = {path: bench.host.files.get(path) for path in MEMBERS}
    for one in trouble:
        bench.host.fail(
            one.error, method=one.method, subject=one.subject, skip=one.skip, times=one.times, after=one.after
        )
    begun: list[int] = []
    bench.host.calls.clear()
    results = bench.run(
        planned,
        progress=lambda number, _action: begun.append(number),
        is_stopping=lambda: stop_after is not None and len(begun) >= stop_after,
    )
    assert [result.action for result in results] == list(planned.plan.actions)
    called = [method for method, _ in bench.host.calls]
    bench.host.heal()
    members = [result for result in results if result.action.resource.name in MEMBERS]
    if "commit" not in called:
        assert {path: bench.host.files.get(path) for path in MEMBERS} == before
        assert not any(result.outcome.is_settled for result in members)
    if not is_good:
        assert "commit" not in called
    if any(result.outcome is Outcome.SKIPPED for result in members):
        assert "commit" not in called
    for result in results:
        node = planned.given.graph.nodes[result.action.resource]
        found = observe_one(result.action.resource, node, bench.look())
        if result.outcome.is_settled:
            assert isinstance(found, Present)
            assert bench.providers["file"].plan(node.desired, found) is None
    for result in members:
        assert bool(result.passed) is ("commit" in called)
        assert (result.refused_by is None) or not is_good or "judge" in called
