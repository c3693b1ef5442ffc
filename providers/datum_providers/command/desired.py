"""What a declaration of a command means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.graph import Target
from datum.model.secret import Secret
from datum.provider.contract import DesiredError
from datum_providers.shared.accounts import parse_account
from datum_providers.shared.kernel_names import KERNEL_KEY, normal_key
from datum_providers.shared.programs import parse_argv, parse_environment, parse_host_path, parse_seconds

TIMEOUT: Final = 300.0
"""Seconds that a command may take when its declaration is silent."""

LONGEST: Final = 3600.0
GUARDS: Final = ("creates", "unless", "only_if", "inputs", "outputs")

_WAYS_OUT: Final = (
    "creates: the path that it makes; unless: a program that succeeds when there is nothing to do; only_if: one that "
    "fails then; inputs and outputs: files of which the latter are made from the former"
)
_SPACES: Final = ("user", "group", "path", KERNEL_KEY)


@frozen
class DesiredCommand:
    """A program that is run while its guards ask for it."""

    run: tuple[str, ...]
    # A path; empty for none.
    creates: str = ""
    # Programs; empty for none.
    unless: tuple[str, ...] = ()
    only_if: tuple[str, ...] = ()
    # Paths, sorted; both or none.
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    # Name or digits; empty: as the agent.
    user: str = ""
    directory: str = "/"
    environment: Mapping[str, str] = field(factory=dict)
    stdin: bytes | Secret = b""
    # Seconds.
    timeout: float = TIMEOUT
    # What a successful run brings into being, beside `creates` and `outputs`.
    provides: tuple[Target, ...] = ()


def made_paths(desired: DesiredCommand) -> tuple[str, ...]:
    """Return every path that a run brings about, as far as the declaration says; sorted."""
    provided = (target.key for target in desired.provides if target.kind == "path")
    created = (desired.creates,) if desired.creates else ()
    return tuple(sorted({*created, *desired.outputs, *provided}))


def parse_command(attributes: Mapping[str, object]) -> DesiredCommand:
    """Read the attributes of one command.

    Raises:
        DesiredError: nothing to run, no guard, or a value that cannot be meant.
    """
    if not attributes:
        raise DesiredError(
            "",
            "a command is nothing on the host that could be absent.",
            hint="take its declaration out, or gate it with `when`",
            code="cannot-be-absent",
        )
    run = parse_argv("run", attributes.get("run"))
    if not run:
        raise DesiredError("run", "there is no program to run.", hint='run: [sh, -c, "make install"]')
    creates, directory = attributes.get("creates"), attributes.get("directory")
    command = DesiredCommand(
        run,
        "" if creates is None else parse_host_path("creates", creates),
        parse_argv("unless", attributes.get("unless")),
        parse_argv("only_if", attributes.get("only_if")),
        _paths("inputs", attributes.get("inputs")),
        _paths("outputs", attributes.get("outputs")),
        _user(attributes.get("user")),
        "/" if directory is None else parse_host_path("directory", directory),
        parse_environment("environment", attributes.get("environment")),
        _stdin(attributes.get("stdin")),
        parse_seconds("timeout", attributes.get("timeout"), default=TIMEOUT, greatest=LONGEST),
        _provides(attributes.get("provides")),
    )
    _check_guards(command)
    return command


def _check_guards(command: DesiredCommand) -> None:
    for one, other in (("inputs", "outputs"), ("outputs", "inputs")):
        if getattr(command, one) and not getattr(command, other):
            raise DesiredError(one, f"{one} without {other} say nothing: they are compared.", code="no-guard")
    if not (command.creates or command.unless or command.only_if or command.outputs):
        raise DesiredError(
            "run",
            "nothing says when it is to be run, so every pass would run it, and none would be converged.",
            hint=_WAYS_OUT,
            code="no-guard",
        )
    both = sorted(set(command.inputs) & set(command.outputs))
    if both:
        raise DesiredError("outputs", f"{both[0]} is among the inputs too.", code="no-guard")


def _paths(attribute: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise DesiredError(attribute, "a list of paths is expected.")
    return tuple(sorted({parse_host_path(attribute, path) for path in value}))


def _user(value: object) -> str:
    if value is not None and not isinstance(value, (str, int)):
        raise DesiredError("user", f"'{value}' is neither a name of an account nor a number.", code="bad-account")
    return parse_account("user", value) or ""


def _stdin(value: object) -> bytes | Secret:
    if value is None:
        return b""
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise DesiredError("stdin", "a text is expected.")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise DesiredError("stdin", "the text holds half of a surrogate pair, which has no bytes in UTF-8.") from error


def _provides(value: object) -> tuple[Target, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise DesiredError("provides", "a list is expected.", hint="provides: [user:app]")
    return tuple(sorted({_target(text) for text in value}))


def _target(text: object) -> Target:
    space, colon, key = text.partition(":") if isinstance(text, str) else ("", "", "")
    if space not in _SPACES or not colon:
        raise DesiredError("provides", f"'{text}' is none of user:NAME, group:NAME, path:/PATH and kernel_key:KEY.")
    if space == "path":
        return Target(space, parse_host_path("provides", key))
    try:
        return Target(space, normal_key(key) if space == KERNEL_KEY else parse_account("provides", key) or "")
    except DesiredError as error:
        raise DesiredError("provides", f"{space}: {error.detail}", code=error.code) from error
