"""What a command comes after, what its result keeps, and that nothing of it is ever removed."""

import pytest

from datum.model.graph import MADE_PATH, Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.model.observation import Absent, Cause, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.model.secret import Secret
from datum.provider.contract import DesiredError, FieldClass, PredictingProvider, Removal
from datum.provider.host import Command, CommandOutcome, HostError
from datum.testing.host import FakeHost
from datum_providers.command.desired import DesiredCommand, parse_command
from datum_providers.command.provider import CommandProvider
from datum_providers.command.steps import REMARK_LIMIT, last_words

PROVIDER = CommandProvider()
RUN = Step(Operation.CREATE, (Change("guard", "needed", "satisfied"),))


def command(**attributes: AttributeValue) -> DesiredCommand:
    return PROVIDER.parse("it", {"run": ["init"], "creates": "/srv/x", **attributes})


class Index:
    """A graph with some holders; `/srv` and `/etc` are declared directories."""

    def __init__(self, *targets: str) -> None:
        self._targets = targets

    def holder(self, target: Target) -> ResourceId | None:
        return ResourceId("held", target.key) if f"{target.kind}:{target.key}" in self._targets else None

    def nearest_parent(self, path: str) -> ResourceId | None:
        top = path.split("/")[1]
        return ResourceId("directory", f"/{top}") if top in {"srv", "etc"} else None

    def keys(self, kind: str) -> tuple[str, ...]:
        raise AssertionError(kind)

    def targets_of(self, origin: ResourceId) -> tuple[Target, ...]:
        raise AssertionError(origin)

    def paths_below(self, path: str) -> tuple[str, ...]:
        raise AssertionError(path)

    def is_absent(self, path: str) -> bool:
        return path == "/nowhere"

    def is_exclusive(self, path: str) -> bool:
        raise AssertionError(path)


def edges(desired: DesiredCommand, *targets: str) -> list[tuple[str, str]]:
    return [(str(edge.target), edge.reason) for edge in PROVIDER.edges(desired, Index(*targets))]


def test_it_comes_after_who_declares_what_it_reads() -> None:
    desired = command(inputs=["/etc/a", "/opt/b", "/etc/c"], outputs=["/var/out"])
    assert edges(desired, "path:/etc/a", "path:/opt/b") == [
        ("held:/etc/a", "input"),
        ("directory:/etc", "input"),
        ("held:/opt/b", "input"),
        ("directory:/srv", "parent directory"),
    ]


def test_it_comes_after_the_place_the_user_and_the_programs_that_it_needs() -> None:
    desired = command(
        run=["/usr/local/bin/init"], unless=["/opt/check"], only_if=["test", "-e"], user="app", directory="/srv/app"
    )
    held = ("path:/usr/local/bin/init", "path:/opt/check", "path:test", "user:app", "path:/srv/app")
    assert edges(desired, *held) == [
        ("directory:/srv", "parent directory"),
        ("held:/srv/app", "directory"),
        ("held:app", "user"),
        ("held:/usr/local/bin/init", "program"),
        ("held:/opt/check", "program"),
    ]
    assert edges(desired) == [("directory:/srv", "parent directory"), ("directory:/srv", "directory")]


def test_it_holds_nothing_and_is_never_removed() -> None:
    assert PROVIDER.targets(command(creates=None, unless=["test"])) == ()
    assert PROVIDER.removal(command()) is Removal.NOTHING
    with pytest.raises(HostError):
        PROVIDER.apply(FakeHost().writer(), command(), Step(Operation.DELETE, (Change("guard", "satisfied", None),)))
    assert PROVIDER.effects(command(), Step(Operation.DELETE, ())) == ()


def test_what_it_makes_can_be_declared_and_made_by_another_and_is_not_cleared_away() -> None:
    desired = command(creates="/srv/b", inputs=["/i"], outputs=["/srv/a"], provides=["path:/srv/c", "user:app"])
    targets = PROVIDER.targets(desired)
    assert [(target.kind, target.key) for target in targets] == [(MADE_PATH, f"/srv/{name}") for name in "abc"]
    assert all(target.shared for target in targets)


def test_nothing_of_it_can_be_left_unmanaged() -> None:
    """With one guard less it would run more often."""
    assert set(PROVIDER.fields.values()) == {FieldClass.INSTRUCTION}


def test_it_is_not_adopted() -> None:
    with pytest.raises(DesiredError):
        PROVIDER.adopt("it", Present({}))


def test_it_predicts() -> None:
    assert isinstance(PROVIDER, PredictingProvider)
    unseen = Unobservable(Cause.OTHER, "No.")
    assert PROVIDER.predict(command(), unseen) == Absent({"guard": "unknown"})


def test_an_observation_that_says_nothing_of_the_guard_is_one_in_which_it_is_not_known() -> None:
    step = PROVIDER.plan(command(), Absent())
    assert step is not None
    assert step.changes[1] == Change("guard", "unknown", "satisfied")


class Recorder:
    """A host that keeps what it was asked to run."""

    def __init__(self, stdout: bytes = b"", stderr: bytes = b"") -> None:
        self.asked: list[Command] = []
        self.remarks: list[str] = []
        self._outcome = CommandOutcome(0, stdout, stderr)

    def run(self, asked: Command) -> CommandOutcome:
        self.asked.append(asked)
        return self._outcome

    query = run

    def user_id(self, _name: str) -> int:
        return 7

    def remark(self, text: str) -> None:
        self.remarks.append(text)


def test_the_program_gets_what_is_declared() -> None:
    desired = command(user="app", environment={"A": "1"}, stdin="in", timeout=5)
    host = Recorder(b"out\n", b"err\n")
    PROVIDER.apply(host, desired, RUN)  # type: ignore[arg-type]  # as much of a writer as it needs
    assert host.asked == [Command(("init",), 5.0, b"in", {"A": "1"}, user="app")]
    assert host.remarks == ["It wrote: out\nerr"]


def test_guards_get_the_same_but_the_input_and_a_minute_at_most() -> None:
    desired = parse_command(
        {"run": ["init"], "unless": ["look"], "user": "app", "environment": {"A": "1"}, "stdin": "in"}
    )
    host = Recorder()
    PROVIDER.observe(host, {"it": desired})  # type: ignore[arg-type]  # as much of a reader as it needs
    assert host.asked == [Command(("look",), 60.0, environment={"A": "1"}, success=frozenset(range(126)), user="app")]


def test_what_was_given_a_secret_is_not_quoted() -> None:
    desired = parse_command({"run": ["login"], "creates": "/x", "stdin": Secret(b"token")})
    host = Recorder(b"your password is token\n")
    PROVIDER.apply(host, desired, RUN)  # type: ignore[arg-type]  # as much of a writer as it needs
    assert host.asked[0].stdin == b"token"
    assert host.remarks == []


def test_of_much_output_the_last_whole_lines_are_kept() -> None:
    lines = b"".join(b"line %d\n" % number for number in range(2000))
    kept = last_words(lines, b"\xffend\n")
    assert len(kept) <= REMARK_LIMIT
    assert kept.startswith("… line ")
    assert kept.endswith("line 1999\n\ufffdend")
    assert last_words(b"x" * 9000, b"") == "… " + "x" * REMARK_LIMIT
    assert last_words(b"", b" \n") == ""
