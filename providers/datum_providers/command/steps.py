"""From what the guards say to what is done, and doing it. `apply_command` changes the host; the rest is pure."""

import shlex
from typing import Final

from datum.model.graph import Target
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Change, Effect, Need, Operation, Step
from datum.model.result import FailureCause
from datum.model.secret import Secret
from datum.provider.host import Command, HostError, HostWriter
from datum_providers.command.desired import DesiredCommand
from datum_providers.command.look import SATISFIED, UNKNOWN

REMARK_LIMIT: Final = 4096
"""Bytes of what a program wrote that its result keeps."""


def plan_command(desired: DesiredCommand, observed: Present | Absent) -> Step | None:
    """Return the run, where the guards do not say that there is nothing to do."""
    if isinstance(observed, Present):
        return None
    guard = observed.fields.get("guard")
    changes = (
        Change("run", None, shlex.join(desired.run)),
        Change("guard", guard if isinstance(guard, str) else UNKNOWN, SATISFIED),
    )
    needs = []
    if observed.fields.get("user_known") is False:
        needs.append(Need(Target("user", desired.user), f"The user {desired.user} does not exist."))
    if observed.fields.get("directory_known") is False:
        needs.append(Need(Target("path", desired.directory), f"There is no directory {desired.directory}."))
    return Step(Operation.CREATE, changes, tuple(needs))


def predict_command(observed: Observation) -> Absent | None:
    """Return what the guards may say once what the command requires has changed; None: that changes nothing.

    What `creates` found stays found. What a program answers, and which of two files is newer, is known only then; and
    what cannot be asked now may be askable then.
    """
    if isinstance(observed, Present) and observed.detail.get("by") == "creates":
        return None
    return None if isinstance(observed, Absent) else Absent({"guard": UNKNOWN})


def effects_of_command(desired: DesiredCommand, step: Step) -> tuple[Effect, ...]:
    """Return what a run brings into being: what the declaration says, and what its guards look for."""
    if step.operation is not Operation.CREATE:
        return ()
    paths = (*((desired.creates,) if desired.creates else ()), *desired.outputs)
    targets = dict.fromkeys((*desired.provides, *(Target("path", path) for path in paths)))
    return tuple(Effect(target) for target in targets)


def apply_command(writer: HostWriter, desired: DesiredCommand, step: Step) -> None:
    """Run the program.

    Raises:
        HostError: it could not be run, ran too long, or ended with another exit code than 0.
    """
    if step.operation is not Operation.CREATE:
        raise HostError("A command is nothing on the host that could be removed.", failure=FailureCause.IMPOSSIBLE)
    is_secret = isinstance(desired.stdin, Secret)
    outcome = writer.run(
        Command(
            desired.run,
            desired.timeout,
            stdin=desired.stdin.reveal if isinstance(desired.stdin, Secret) else desired.stdin,
            environment=desired.environment,
            directory=desired.directory,
            user=desired.user,
        )
    )
    # What a program writes that was given a secret may hold it.
    words = "" if is_secret else last_words(outcome.stdout, outcome.stderr)
    if words:
        writer.remark(f"It wrote: {words}")


def last_words(stdout: bytes, stderr: bytes) -> str:
    """Return the last whole lines of what a program wrote, as many as the limit takes; empty for none."""
    whole = b"\n".join(part.strip() for part in (stdout, stderr) if part.strip())
    kept = whole[-REMARK_LIMIT:]
    if len(kept) < len(whole):
        kept = b"\xe2\x80\xa6 " + (kept.partition(b"\n")[2] or kept)
    return kept.decode("utf-8", "replace")
