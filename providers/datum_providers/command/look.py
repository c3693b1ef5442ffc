"""What the guards of a command say. Reads the host; changes nothing: programs that guard run read-only.

A command is needed only while each of its guards asks for it. One that says it is satisfied decides, whatever the
others say or cannot say; if none does, and one cannot say, it is not known whether the command is needed.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from datum.model.observation import Absent, FieldValue, Observation, Present, Unobservable
from datum.provider.host import Command, FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.command.desired import DesiredCommand
from datum_providers.shared.accounts import is_number

GUARD_TIMEOUT: Final = 60.0
"""Seconds that a program which guards may take, where the command itself may not take less."""

INPUTS_LIMIT: Final = 10_000
"""Files below one input that is a directory."""

# Values of the field `guard`, beside the words for why the command is needed.
SATISFIED: Final = "satisfied"
# Not known before something else has changed.
UNKNOWN: Final = "unknown"

# 126 and 127 are a shell's words for a program that it could not run, and 128 and above for a signal.
_ANSWERS: Final = frozenset(range(126))

PROGRAMS: Final = frozenset({"only_if", "unless"})
"""Guards that run a program."""

# Returns why it asks for the command; empty where it is satisfied.
_Guard = Callable[[], str]


@frozen
class CommandLook:
    """One look at one command."""

    reader: HostReader
    wanted: DesiredCommand

    def observe(self) -> Observation:
        """Return `Present` where there is nothing to do, `Absent` where the command is needed."""
        try:
            missing = self._missing()
        except HostError as error:
            return error.unobservable()
        unknown: Unobservable | None = None
        asking = []
        for name, guard in self._guards():
            is_program = name in PROGRAMS
            if is_program and missing:
                # It cannot run before they are there; the plan says what brings them.
                continue
            try:
                if not (why := guard()):
                    return Present({"guard": SATISFIED}, {"by": name})
                asking.append(why)
            except HostError as error:
                unknown = unknown or _unknown(error, is_program=is_program)
        if unknown is not None:
            return unknown
        is_unknown = missing and is_by_program(self.wanted)
        return Absent({"guard": UNKNOWN if is_unknown else "; ".join(asking), **missing})

    def _guards(self) -> Iterator[tuple[str, _Guard]]:
        """Yield each guard: its field, and what says why the command is needed; cheap ones first."""
        wanted = self.wanted
        if wanted.creates:
            yield "creates", self._creates
        if wanted.outputs:
            yield "outputs", self._outputs
        if wanted.only_if:
            yield "only_if", self._only_if
        if wanted.unless:
            yield "unless", self._unless

    def _creates(self) -> str:
        path = self.wanted.creates
        return "" if isinstance(self.reader.examine(path), FileFacts) else f"{path} does not exist"

    def _outputs(self) -> str:
        """Return which output is not there, or older than an input."""
        newest, source = max((self._newest(path), path) for path in self.wanted.inputs)
        for path in self.wanted.outputs:
            facts = self.reader.examine(path)
            if isinstance(facts, Missing):
                return f"the output {path} does not exist"
            if facts.modified < newest:
                return f"the output {path} is older than the input {source}"
        return ""

    def _only_if(self) -> str:
        program = self.wanted.only_if
        return "" if self._exit_code(program) else f"`only_if` {shlex.join(program)} ends with exit code 0"

    def _unless(self) -> str:
        program = self.wanted.unless
        code = self._exit_code(program)
        return f"`unless` {shlex.join(program)} ends with exit code {code}" if code else ""

    def _newest(self, path: str) -> int:
        """Return when an input changed last: of a directory what lies in it, but for outputs."""
        facts = self.reader.examine(path)
        if isinstance(facts, Missing):
            raise HostError(
                f"The input {path} does not exist.",
                code="no-input",
                # It says something of the fleet, not of the host.
                discounted=True,
                hint="declare it, name in `requires` what makes it, or take it out of `inputs`",
            )
        if facts.kind is not FileKind.DIRECTORY:
            return facts.modified
        below = self.reader.below(path, limit=INPUTS_LIMIT)
        found = [self.reader.examine(inner) for inner in below.paths if inner not in self.wanted.outputs]
        files = (inner for inner in found if isinstance(inner, FileFacts) and inner.kind is not FileKind.DIRECTORY)
        return max((inner.modified for inner in files), default=0)

    def _exit_code(self, argv: tuple[str, ...]) -> int:
        wanted = self.wanted
        command = Command(
            argv,
            min(GUARD_TIMEOUT, wanted.timeout),
            environment=wanted.environment,
            success=_ANSWERS,
            directory=wanted.directory,
            user=wanted.user,
        )
        return self.reader.query(command).exit_code

    def _missing(self) -> Mapping[str, FieldValue]:
        """Return what must be there before a program can run at all, and is not."""
        wanted = self.wanted
        fields: dict[str, FieldValue] = {}
        if wanted.user and not is_number(wanted.user) and self.reader.user_id(wanted.user) is None:
            fields["user_known"] = False
        if wanted.directory != "/" and isinstance(self.reader.examine(wanted.directory), Missing):
            fields["directory_known"] = False
        return fields


def _unknown(error: HostError, *, is_program: bool) -> Unobservable:
    """Return why a guard cannot say; what its own program does wrong says nothing of the host."""
    found = error.unobservable()
    return evolve(found, discounted=True) if is_program and not found.cause.is_sickness else found


def is_by_program(desired: DesiredCommand) -> bool:
    """Whether a guard is a program, whose answer may hang on anything."""
    return bool(desired.unless or desired.only_if)
