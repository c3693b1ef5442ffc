"""H6 of what others do: after each operation what it concerns is looked at again, by the engine and no provider."""

from datum.model.observation import Observation
from datum.model.plan import Action
from datum.provider.host import HostWriter
from datum_providers.file.desired import DesiredFile
from tests.unit.fakes import declare
from tests.unit.reconciler.bench import Batch, Bench, Scripted

A, B, C = "file:/etc/a", "file:/etc/b", "file:/etc/c"


def looked(bench: Bench) -> list[str]:
    """Run a pass and return what happened to whom: each look at a resource, and each write to the host."""
    planned = bench.plan()
    seen: list[str] = []
    observe = bench.means(planned).observe

    def look(action: Action) -> Observation:
        _note_writes(bench, seen)
        seen.append(f"look at {action.resource}")
        return observe(action)

    bench.host.journal.clear()
    bench.run(planned, observe=look)
    _note_writes(bench, seen)
    return seen


def _note_writes(bench: Bench, seen: list[str]) -> None:
    seen.extend("write" for entry in bench.host.journal[seen.count("write") :])


def test_h6_each_action_stands_between_two_looks_at_its_resource() -> None:
    """Before it, since it is conditional; after it, since nothing else says that it worked."""
    bench = Bench((declare(A, content="a"), declare(B, content="b"), declare(C, absent=True)))
    bench.host.add_file("/etc/c", b"c")
    assert looked(bench) == [
        f"look at {A}", "write", f"look at {A}",
        f"look at {B}", "write", f"look at {B}",
        f"look at {C}", "write", f"look at {C}",
    ]  # fmt: skip


def test_h6_what_needs_nothing_is_not_looked_at_again() -> None:
    """Only what an action concerns: the whole is looked at once more at the end of the pass."""
    bench = Bench((declare(A, content="a"), declare(B, content="b")))
    bench.host.add_file("/etc/a", b"a")
    assert looked(bench) == [f"look at {B}", "write", f"look at {B}"]


def test_h6_a_failed_action_is_looked_at_too() -> None:
    """What it left behind is seen, whatever the provider says of it."""

    def half(writer: HostWriter, desired: DesiredFile, _step: object) -> None:
        raise OSError("broken")

    bench = Bench((declare("scripted:/etc/a", content="a"),), providers={"scripted": Scripted(half)})
    assert looked(bench).count("look at scripted:/etc/a") == 2


def test_h6_each_of_a_transaction_is_looked_at_after_the_commit() -> None:
    names = ["batch:/etc/a", "batch:/etc/b"]
    bench = Bench(tuple(declare(name, content="x") for name in names), providers={"batch": Batch()})
    seen = looked(bench)
    last = len(seen) - seen[::-1].index("write")
    assert sorted(seen[last:]) == [f"look at {name}" for name in names]
    assert sorted(seen[: seen.index("write")]) == [f"look at {name}" for name in names]
