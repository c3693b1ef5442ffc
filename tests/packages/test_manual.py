"""The pages of the manual: whole, as the tools that print them want them, and in step with the command line."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from datum.cli.app import app
from datum.cli.outline import outline
from datum.errors import ExitCode
from scripts import man

DAY = "2026-11-30"
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "FILES", "SEE ALSO"]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return man.pages("1.2", DAY)


def printed(page: str) -> str:
    """Return what a reader sees, in lines of any length."""
    argv = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=300n", "-ww"]
    done = subprocess.run(argv, input=page, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


needs_groff = pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not there")


def test_every_command_has_a_page(pages: dict[str, str]) -> None:
    command = typer.main.get_command(app)
    assert isinstance(command, TyperGroup)
    assert set(pages) == {"datum.1", *(f"datum-{name}.1" for name in command.commands)}


def test_every_page_has_the_sections_in_the_customary_order(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        found = re.findall(r"^\.SH (.+)$", text, re.MULTILINE)
        assert [heading for heading in found if heading in SECTIONS] == SECTIONS, name
        assert set(found) <= {*SECTIONS, "ARGUMENTS", "COMMANDS"}, name


def test_every_option_and_exit_code_stands_in_its_page(pages: dict[str, str]) -> None:
    command = typer.main.get_command(app)
    assert isinstance(command, TyperGroup)
    for each in outline(command, "datum").commands:
        text = pages[f"{man.page_name(each)}.1"].replace("\\-", "-")
        assert all(name in text for option in each.options for name in option.names)
        codes = set(re.findall(r"^\.B (\d+)$", text.partition(".SH EXIT STATUS")[2], re.MULTILINE))
        assert codes == {str(code.value) for code in ExitCode}


@needs_groff
def test_groff_has_nothing_to_complain_of_and_prints_each_text_as_it_is(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        assert "1.2" in printed(text), name
    said = printed(pages["datum-plan.1"])
    assert "--detailed-exitcode" in said
    assert "--observed FILE" in said


@pytest.mark.parametrize(
    "text",
    [".start", "'start", "a\\b", "-dash--", "it's", "`q`", "~/.ssh ^x", ".B x", "a\\fBb", '"q"', "\\&", "...", "'''"],
)
@needs_groff
def test_no_text_is_an_instruction(text: str) -> None:
    page = f'.TH X 1 {DAY} "datum" "Y"\n.SH NAME\nx \\- y\n.SH TEXT\n{man.plain(text)}\n'
    assert text in printed(page)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not there: scripts/setup test, as root")
def test_mandoc_has_nothing_to_complain_of(pages: dict[str, str], tmp_path: Path) -> None:
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in pages]
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *files], capture_output=True, text=True, check=False
    )
    # It looks for the pages that are referred to where this machine keeps its own.
    said = [line for line in done.stdout.splitlines() if "referenced manual not found" not in line]
    assert not said


def test_pages_of_one_day_and_version_are_equal() -> None:
    assert man.pages("1.2", DAY) == man.pages("1.2", DAY)
