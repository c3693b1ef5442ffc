"""What the command line offers, as values: for completion in shells and for pages of the manual. Pure.

Read from Typer's own tree of commands, so that nothing is said twice.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Final

from attrs import frozen
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class Value(StrEnum):
    """What a shell can offer for the value of a parameter."""

    NOTHING = "nothing"
    FILE = "file"
    DIRECTORY = "directory"
    CHOICE = "choice"


_BY_METAVAR: Final[Mapping[str, Value]] = {"FILE": Value.FILE, "DIR": Value.DIRECTORY}


@frozen
class Parameter:
    """An option, or a word of its own."""

    # As typed: `--config`; empty for a word of its own.
    names: tuple[str, ...]
    help: str
    # What stands for its value in help texts; empty for a flag.
    metavar: str
    value: Value = Value.NOTHING
    choices: tuple[str, ...] = ()
    is_repeated: bool = False
    is_required: bool = False

    @property
    def is_option(self) -> bool:
        """Whether it has a name that is typed."""
        return bool(self.names)


@frozen
class Outline:
    """A command with its parameters, and the commands below it."""

    # All words that lead here: `datum`, `datum plan`.
    name: str
    # The first paragraph of its help, and those behind it.
    summary: str
    more: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    commands: tuple["Outline", ...] = ()

    @property
    def word(self) -> str:
        """The last word of its name."""
        return self.name.rpartition(" ")[2]

    @property
    def options(self) -> tuple[Parameter, ...]:
        """What has a name."""
        return tuple(each for each in self.parameters if each.is_option)

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """What has none, in the order of the command line."""
        return tuple(each for each in self.parameters if not each.is_option)


_HELP: Final = Parameter(("--help",), "Show what there is to say, and end.", "")


def outline(command: TyperCommand | TyperGroup, name: str) -> Outline:
    """Return what a command offers; hidden commands and parameters are left out.

    Args:
        command: Typer's.
        name: the words that lead to it.
    """
    first, *more = _paragraphs(command.help or "")
    below = command.commands.items() if isinstance(command, TyperGroup) else ()
    return Outline(
        name=name,
        summary=first,
        more=tuple(more),
        parameters=(
            *(_parameter(each) for each in command.params if isinstance(each, _KINDS) and not each.hidden),
            _HELP,
        ),
        commands=tuple(
            outline(each, f"{name} {word}")
            for word, each in below
            if isinstance(each, (TyperCommand, TyperGroup)) and not each.hidden
        ),
    )


_KINDS: Final = (TyperOption, TyperArgument)


def _paragraphs(text: str) -> list[str]:
    found = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return [paragraph for paragraph in found if paragraph] or [""]


def _parameter(found: TyperOption | TyperArgument) -> Parameter:
    is_flag = isinstance(found, TyperOption) and found.is_flag
    metavar = "" if is_flag else (found.metavar or (found.name or "").upper())
    choices = _choices(found)
    return Parameter(
        names=(*found.opts, *found.secondary_opts) if isinstance(found, TyperOption) else (),
        help=" ".join((found.help or "").split()),
        metavar=metavar,
        value=Value.CHOICE if choices else _BY_METAVAR.get(metavar, Value.NOTHING),
        choices=choices,
        is_repeated=found.nargs < 0 or (isinstance(found, TyperOption) and found.multiple),
        is_required=bool(found.required),
    )


def _choices(found: TyperOption | TyperArgument) -> tuple[str, ...]:
    kind = found.type_descriptor.annotation
    return tuple(str(each.value) for each in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()
