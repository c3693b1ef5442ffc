"""README's lines for a host: commands that exist, with options that exist; the tests of whole hosts run them."""

import shlex
from typing import Any, Final

import pytest
import typer

from datum.cli.app import app
from tests.docs.readme import BLOCKS, README, line_of, lines_of

AGENT: Final = ("datum", "/opt/datum/bin/datum")


def test_there_is_a_way_from_a_path_and_one_over_each_network() -> None:
    assert set(BLOCKS) == {"pip", "https", "ssh"}
    assert README.count("<!-- on a host: ") == len(BLOCKS), "each marker has its block"
    assert line_of("https").startswith("datum init --repo https://")
    assert line_of("ssh").startswith("datum init --repo ssh://")
    assert [shlex.split(line)[:2] for line in lines_of("pip")[1:]] == [
        [AGENT[1], command] for command in ("init", "plan", "apply")
    ]


@pytest.mark.parametrize("name", BLOCKS)
def test_the_lines_have_only_options_that_exist(name: str) -> None:
    group: Any = typer.main.get_command(app)
    asked = [words for words in map(shlex.split, lines_of(name)) if words[0] in AGENT]
    assert asked
    for _, command, *words in asked:
        known = {text for one in group.commands[command].params for text in one.opts}
        assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("name", ["https", "ssh"])
def test_over_a_network_nothing_is_left_to_be_asked(name: str) -> None:
    """A script can run the line: what may be trusted is said, and by what the server is known."""
    words = shlex.split(line_of(name))
    assert words[words.index("--anchor") + 1] == "COMMIT"
    assert ("--ca-file" if name == "https" else "--known-hosts-file") in words
