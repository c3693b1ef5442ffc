"""The mirror is made one pack when it has many: over many polls, killed in the middle, and while somebody reads."""

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from datum.host.program import run_program
from datum.provider.host import Command, CommandOutcome
from datum.repository import transport
from datum.repository.mirror import MAX_PACKS, Mirror
from datum.repository.remote import Remote
from datum.repository.route import GIT_ENVIRONMENT
from tests.harness import strace
from tests.integration.test_repository import Fleet

REPACK = ("repack", "-a", "-d", "-k", "-n", "-q")
# Where git repack makes, names, and drops what it works on.
CHANGES = ("rename", "unlink", "fsync")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    made.remote.commit({"fleet.yaml": "one\n", "files/a": "a"}, "first")
    with made.mirror:
        yield made


def packs(store: Path) -> list[Path]:
    return sorted((store / "objects/pack").glob("pack-*.pack"))


def fill(fleet: Fleet, count: int) -> None:
    """Have the mirror hold so many packs."""
    while len(packs(fleet.store)) < count:
        fleet.remote.commit({"files/a": os.urandom(300).hex()})
        fleet.mirror.keep([fleet.take()])


def test_over_many_polls_there_are_never_many_packs(fleet: Fleet) -> None:
    """One repack for so many fetches, none for a poll that finds nothing new; every revision stays readable."""
    ran: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        ran.append(command)
        return run_program(command)

    revisions = [fleet.take()]
    for number in range(2 * MAX_PACKS + 5):
        fleet.remote.commit({"files/a": str(number)})
        for _ in range(2):
            with Mirror.open(fleet.state, run) as fleet.mirror:
                revisions.append(fleet.ask())
                if not fleet.mirror.is_sound(revisions[-1:]):
                    fleet.fetch(revisions[-1])
                    fleet.mirror.promote(revisions[-1])
                fleet.mirror.keep(revisions[-1:])
        assert len(packs(fleet.store)) <= MAX_PACKS
    assert len([command for command in ran if "repack" in command.argv]) == 2
    assert fleet.reopen().is_sound(revisions)
    fleet.fsck()


@pytest.mark.parametrize("call", CHANGES)
def test_a_repack_that_is_killed_costs_time_only(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """At each of its changes: nothing is lost, what it left is swept, and the next promotion does it again."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace to kill with")
    fill(fleet, 4)
    revision = fleet.ask()
    kept = tmp_path / "kept"
    shutil.copytree(fleet.store, kept)
    argv = ["git", f"--git-dir={fleet.store}", *REPACK]
    environment = {"PATH": os.environ["PATH"], **GIT_ENVIRONMENT}
    calls = strace.Strace(env=environment).trace(argv, (call,))
    assert calls, "a repack makes none of these"
    for number in range(1, max(one.nth for one in calls) + 1):
        shutil.rmtree(fleet.store)
        shutil.copytree(kept, fleet.store, copy_function=shutil.copy2)
        strace.Strace(env=environment).inject(argv, call, when=number, signal="KILL")
        mirror = fleet.reopen()
        assert mirror.is_sound([revision])
        left = {path.suffix for path in (fleet.store / "objects/pack").iterdir()}
        assert left <= {".pack", ".idx", ".rev"}, left
        assert not list(fleet.store.glob(".tmp-*"))
        fleet.fsck()
    monkeypatch.setattr("datum.repository.mirror.MAX_PACKS", 2)
    fleet.remote.commit({"files/a": "last"})
    fleet.take()
    assert len(packs(fleet.store)) <= 2
    fleet.fsck()


def test_a_plan_reads_on_while_a_pass_repacks(fleet: Fleet, tmp_path: Path) -> None:
    """What it has opened stays readable, and so does what it only looks for afterwards."""
    fill(fleet, 5)
    revision = fleet.ask()
    with Mirror.open(fleet.state, run_program, temporary=tmp_path) as plan:
        tree = plan.tree(revision)
        assert transport.repack(run_program, fleet.store, timeout=60)
        assert len(packs(fleet.store)) == 1
        assert tree.read("fleet.yaml") == b"one\n"
        assert plan.is_sound([revision])
        assert plan.tree(revision).read("files/a")


def test_a_plan_fetches_on_while_a_pass_repacks(fleet: Fleet, tmp_path: Path) -> None:
    """Its quarantine builds upon packs that go away in the middle of its fetch."""
    fill(fleet, 5)
    fleet.remote.commit({"files/b": "b"})

    def run(command: Command) -> CommandOutcome:
        outcome = run_program(command)
        if "fetch" in command.argv:
            assert transport.repack(run_program, fleet.store, timeout=60)
        return outcome

    (tmp_path / "plan").mkdir()
    with Mirror.open(fleet.state, run, temporary=tmp_path / "plan") as plan:
        revision = plan.ask(Remote(fleet.url), "main", timeout=20)
        plan.fetch(Remote(fleet.url), "main", revision, timeout=20, byte_limit=10_000_000)
        assert plan.tree(revision).read("files/b") == b"b"
        assert plan.tree(revision).read("fleet.yaml") == b"one\n"


def test_a_repack_that_has_no_room_is_tried_again(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no error of a pass: all that was promoted is there."""
    monkeypatch.setattr("datum.repository.mirror.MAX_PACKS", 2)
    limited = partial(limit, megabytes=0)
    fleet.mirror = Mirror.open(fleet.state, limited)
    for number in range(4):
        fleet.remote.commit({"files/a": str(number)})
        fleet.mirror.keep([fleet.take()])
    assert len(packs(fleet.store)) > 2
    fleet.reopen()
    fleet.remote.commit({"files/a": "last"})
    fleet.take()
    assert len(packs(fleet.store)) == 1
    fleet.fsck()


def limit(command: Command, *, megabytes: int) -> CommandOutcome:
    """Run a command; a repack may write files of no more than that."""
    if "repack" not in command.argv:
        return run_program(command)
    argv = ("prlimit", f"--fsize={megabytes << 20}", "--", *command.argv)
    return run_program(Command(argv, command.timeout, environment=command.environment, success=command.success))


def test_the_repack_of_these_tests_is_that_of_the_mirror(fleet: Fleet) -> None:
    fleet.take()
    seen: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        seen.append(command)
        return CommandOutcome(0, b"", b"")

    transport.repack(run, fleet.store, timeout=1)
    assert seen[0].argv[-len(REPACK) :] == REPACK
