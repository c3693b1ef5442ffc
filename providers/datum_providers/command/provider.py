"""The resource type `command`: a program that is run while its guards ask for it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import MADE_PATH, Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import (
    CONTRACT_VERSION,
    DesiredError,
    FieldClass,
    ImplicitEdge,
    Removal,
    TargetIndex,
)
from datum.provider.host import HostReader, HostWriter
from datum_providers.command.desired import LONGEST, DesiredCommand, made_paths, parse_command
from datum_providers.command.look import GUARD_TIMEOUT, CommandLook
from datum_providers.command.steps import apply_command, effects_of_command, plan_command, predict_command
from datum_providers.shared.programs import normal_token

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class CommandProvider:
    """Commands; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "command"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "run": FieldClass.INSTRUCTION,
        # Guards say when to act: with one less it would be done more often.
        "creates": FieldClass.INSTRUCTION,
        "unless": FieldClass.INSTRUCTION,
        "only_if": FieldClass.INSTRUCTION,
        "inputs": FieldClass.INSTRUCTION,
        "outputs": FieldClass.INSTRUCTION,
        "user": FieldClass.INSTRUCTION,
        "directory": FieldClass.INSTRUCTION,
        "environment": FieldClass.INSTRUCTION,
        "stdin": FieldClass.INSTRUCTION,
        "timeout": FieldClass.INSTRUCTION,
        "provides": FieldClass.INSTRUCTION,
    }
    # A little more than a command may take, so that its own time is over first, and is told as its own.
    apply_deadline: ClassVar[float] = LONGEST + 60.0
    # Two programs may guard.
    observe_deadline: ClassVar[float] = 2 * GUARD_TIMEOUT + 60.0

    def normal_name(self, name: str) -> str:
        """Return the name, which is the author's word for what is done."""
        return normal_token(name, self.type_name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredCommand:  # noqa: ARG002 - a label
        """Normalise one declaration."""
        return parse_command(attributes)

    def targets(self, desired: DesiredCommand) -> tuple[Target, ...]:
        """Return the paths that it makes, which it does not hold: each can be declared as what it is."""
        return tuple(Target(MADE_PATH, path, shared=True) for path in made_paths(desired))

    def edges(self, desired: DesiredCommand, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return who declares its inputs, directories, user and programs, or the nearest directory above them."""
        found: list[tuple[ResourceId | None, str]] = []
        found.extend((_place(index, path), "input") for path in desired.inputs)
        made = (*((desired.creates,) if desired.creates else ()), *desired.outputs)
        found.extend((index.nearest_parent(path), "parent directory") for path in made)
        if desired.directory != "/":
            found.append((_place(index, desired.directory), "directory"))
        if desired.user:
            found.append((index.holder(Target("user", desired.user)), "user"))
        programs = (argv[0] for argv in (desired.run, desired.unless, desired.only_if) if argv)
        found.extend((index.holder(Target("path", path)), "program") for path in programs if path.startswith("/"))
        return tuple(dict.fromkeys(ImplicitEdge(target, reason) for target, reason in found if target is not None))

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredCommand]) -> Mapping[str, Observation]:
        """Ask the guards of each, in the order of their names."""
        return {name: CommandLook(reader, desired[name]).observe() for name in sorted(desired)}

    def plan(self, desired: DesiredCommand, observed: Present | Absent) -> Step | None:
        """Return the run, where the guards ask for it."""
        return plan_command(desired, observed)

    def predict(self, desired: DesiredCommand, observed: Observation) -> Present | Absent | None:  # noqa: ARG002 - as seen
        """Return what the guards may say once what it requires has changed."""
        return predict_command(observed)

    def effects(self, desired: DesiredCommand, step: Step) -> tuple[Effect, ...]:
        """Return what a run brings into being."""
        return effects_of_command(desired, step)

    def hazards(self, desired: DesiredCommand, step: Step) -> frozenset[Hazard]:  # noqa: ARG002 - nobody can know
        """Return nothing: what a program does is known to its author only."""
        return frozenset()

    def apply(self, writer: HostWriter, desired: DesiredCommand, step: Step) -> None:
        """Run it."""
        apply_command(writer, desired, step)

    def removal(self, desired: DesiredCommand) -> Removal:  # noqa: ARG002 - whatever it did
        """Return that nothing is removed: nobody knows what a program did."""
        return Removal.NOTHING

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:  # noqa: ARG002 - whatever is there
        """Refuse: no host says which program made it what it is."""
        raise DesiredError(
            "",
            "a command is nothing on the host, so there is nothing to adopt.",
            hint="adopt what it makes: `datum adopt file:PATH`, or declare the command by hand",
            code="cannot-be-adopted",
        )


def _place(index: TargetIndex, path: str) -> ResourceId | None:
    return index.holder(Target("path", path)) or index.nearest_parent(path)
