"""The command line as values: what Typer was told, nothing more and nothing less."""

from enum import StrEnum
from typing import Annotated

import pytest
import typer
from typer.core import TyperGroup

from datum.cli.app import app
from datum.cli.outline import Outline, Parameter, Value, outline


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def made() -> Outline:
    """Return the outline of an application with every kind of parameter."""
    top = typer.Typer(help="The top.\n\nMore of\nit.", add_completion=False)
    below = typer.Typer(help="Below.")

    @top.command()
    def paint(
        colour: Annotated[Colour, typer.Argument(metavar="COLOUR", help="Which.")],
        names: Annotated[list[str] | None, typer.Argument(help="Of what.")] = None,
        file: Annotated[str | None, typer.Option(metavar="FILE", help="A\nfile.")] = None,
        folder: Annotated[str | None, typer.Option("--folder", "--directory", metavar="DIR")] = None,
        tags: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG")] = None,
        finish: Annotated[Colour, typer.Option()] = Colour.RED,
        wet: Annotated[bool, typer.Option("--wet/--dry")] = False,
        secret: Annotated[str, typer.Option(hidden=True)] = "",
    ) -> None:
        """Paint.

        Then wait.
        """

    @top.command(hidden=True)
    def hide() -> None: ...

    @below.command("wash-up")
    def wash_up() -> None: ...

    top.add_typer(below, name="sink")
    command = typer.main.get_command(top)
    assert isinstance(command, TyperGroup)
    return outline(command, "tool")


def test_help_is_divided_into_paragraphs() -> None:
    top = made()
    assert (top.name, top.summary, top.more) == ("tool", "The top.", ("More of it.",))
    assert (top.commands[0].summary, top.commands[0].more) == ("Paint.", ("Then wait.",))


def test_commands_have_all_the_words_that_lead_to_them_and_hidden_ones_are_left_out() -> None:
    top = made()
    assert [each.name for each in top.commands] == ["tool paint", "tool sink"]
    (wash_up,) = top.commands[1].commands
    assert (wash_up.name, wash_up.word, wash_up.summary) == ("tool sink wash-up", "wash-up", "")


def test_each_parameter_says_what_can_be_typed() -> None:
    paint = made().commands[0]
    colour, names = paint.arguments
    assert colour == Parameter((), "Which.", "COLOUR", Value.CHOICE, ("red", "blue"), is_required=True)
    assert (names.metavar, names.is_repeated, names.is_required, names.is_option) == ("NAMES", True, False, False)
    options = {each.names: each for each in paint.options}
    assert options["--file",] == Parameter(("--file",), "A file.", "FILE", Value.FILE)
    assert options["--folder", "--directory"].value is Value.DIRECTORY
    assert options["--tag",].is_repeated
    assert options["--finish",].choices == ("red", "blue")
    assert options["--wet", "--dry"].metavar == ""
    assert options["--help",].metavar == ""
    assert ("--secret",) not in options


@pytest.mark.parametrize("word", ["init", "plan", "apply", "status", "completion"])
def test_every_command_of_datum_has_a_summary_and_help_for_each_option(word: str) -> None:
    command = typer.main.get_command(app)
    assert isinstance(command, TyperGroup)
    (found,) = [each for each in outline(command, "datum").commands if each.word == word]
    assert found.summary.endswith(".")
    assert all(each.help for each in found.parameters)
