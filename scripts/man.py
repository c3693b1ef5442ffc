"""man.py DIR: write the pages of the manual, one for datum and one for each of its commands.

Made from the command line itself and from docs/exit-codes.md, so that nothing is said twice. The date is that of
SOURCE_DATE_EPOCH. The form is man(7), with which groff and mandoc both agree.
"""

import os
import re
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import typer

from datum.cli.app import app
from datum.cli.outline import Outline, Parameter, outline

ROOT: Final = Path(__file__).resolve().parents[1]
FILES: Final = (
    ("/etc/datum/agent.yaml", "What this host enforces; written by datum init, and by people."),
    ("/var/lib/datum", "State: pointer.json says which revisions were accepted, enforced and converged."),
    ("/var/log/datum/reports", "One report for each pass, as JSON."),
)
# As man-pages(7) has them.
_SECTION: Final = "1"


def pages(version: str, day: str) -> dict[str, str]:
    """Return the text of each page by its file name."""
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    top = outline(command, "datum")
    found = [top, *_below(top)]
    return {f"{page_name(each)}.{_SECTION}": _page(each, found, version, day) for each in found}


def page_name(command: Outline) -> str:
    """Return the name of a command's page: its words with hyphens."""
    return command.name.replace(" ", "-")


def _below(command: Outline) -> list[Outline]:
    return [each for below in command.commands for each in (below, *_below(below))]


def _page(command: Outline, everything: list[Outline], version: str, day: str) -> str:
    name = page_name(command)
    lines = [
        '.\\" Made from the command line by scripts/man.py.',
        f'.TH {name.upper()} {_SECTION} {day} "datum {version}" "User Commands"',
        ".nh",
        ".ad l",
        ".SH NAME",
        f"{plain(name)} \\- {plain(_as_description(command.summary))}",
        ".SH SYNOPSIS",
        *_synopsis(command),
        ".SH DESCRIPTION",
        *_paragraphs((command.summary, *command.more)),
        *_commands(command),
        *_parameters("ARGUMENTS", command.arguments),
        *_parameters("OPTIONS", command.options),
        ".SH EXIT STATUS",
        *_exit_codes(),
        ".SH FILES",
        *(line for path, text in FILES for line in (".TP", f".I {plain(path)}", plain(text))),
        ".SH SEE ALSO",
        *_see_also(command, everything),
    ]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Return a text as roff prints it: no character of it is an instruction (groff_char(7), groff(7))."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    return f"\\&{text}" if text.startswith(".") else text


def _as_description(summary: str) -> str:
    """Return a summary as whatis(1) wants it: a phrase in one line, without a full stop."""
    first = re.split(r"[.:] ", summary)[0].rstrip(".")
    return first[:1].lower() + first[1:]


def _synopsis(command: Outline) -> list[str]:
    words = [f"\\fB{plain(command.name)}\\fR", "[\\fIoption\\fR ...]"]
    if command.commands:
        words.append("\\fIcommand\\fR [\\fIargument\\fR ...]")
    for argument in command.arguments:
        dots = "" if not argument.is_repeated or argument.metavar.endswith("...") else " ..."
        text = f"\\fI{plain(argument.metavar)}\\fR{dots}"
        words.append(text if argument.is_required else f"[{text}]")
    return [" ".join(words)]


def _paragraphs(texts: tuple[str, ...]) -> Iterator[str]:
    for number, text in enumerate(texts):
        if number:
            yield ".PP"
        yield plain(text)


def _commands(command: Outline) -> Iterator[str]:
    if command.commands:
        yield ".SH COMMANDS"
        yield "Each has a page of its own."
    for each in command.commands:
        yield from (".TP", f".B {plain(each.word)}", plain(each.summary))


def _parameters(heading: str, parameters: tuple[Parameter, ...]) -> Iterator[str]:
    if parameters:
        yield f".SH {heading}"
    for each in parameters:
        value = f" \\fI{plain(each.metavar)}\\fR" if each.is_option and each.metavar else ""
        names = ", ".join(f"\\fB{plain(name)}\\fR" for name in each.names) or f"\\fI{plain(each.metavar)}\\fR"
        again = " Can be repeated." if each.is_option and each.is_repeated else ""
        yield from (".TP", f"{names}{value}", plain(f"{each.help}{again}"))


def _exit_codes() -> Iterator[str]:
    table = (ROOT / "docs/exit-codes.md").read_text().split("\n\n")[2]
    yield "The first that holds:"
    for row in table.splitlines()[2:]:
        code, _, meaning, advice = (cell.strip() for cell in row.split("|")[1:-1])
        said = meaning if not advice or advice == "nothing" else f"{meaning}. What to do: {advice}"
        yield from (".TP", f".B {plain(code)}", plain(f"{_unmarked(said)}."))


def _unmarked(text: str) -> str:
    """Return a text without the marks of Markdown; in the place of a link, the name of the file that it leads to."""
    return re.sub(r"\[[^]]*]\(([^)#]*)[^)]*\)", r"see \1 in the documentation", text).replace("`", "")


def _see_also(command: Outline, everything: list[Outline]) -> Iterator[str]:
    names = [page_name(each) for each in everything if each is not command]
    others = [*(f"\\fB{plain(name)}\\fR({_SECTION})" for name in names), "\\fBsystemctl\\fR(1)", "\\fBgit\\fR(1)"]
    yield ",\n".join(others)


def version_of_tree() -> str:
    """Return the version that pyproject.toml says."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return str(said["project"]["version"])


def day_of(epoch: int) -> str:
    """Return the day of an instant, as a page of the manual has it."""
    return time.strftime("%Y-%m-%d", time.gmtime(epoch))


def main() -> int:
    """Write the pages into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    for name, text in pages(version_of_tree(), day_of(epoch)).items():
        (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
