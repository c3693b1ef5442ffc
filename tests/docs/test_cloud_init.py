"""What docs/enrolment.md has for cloud-init: its configuration is one, its commands are commands."""

from typing import Any, Final

import pytest
import typer
import yaml

from datum.agent.config_file import parse_config
from datum.agent.settings import Options, settings_from
from datum.cli.app import app
from tests.docs.test_examples import ROOT, read_document

PAGE: Final = (ROOT / "docs" / "enrolment.md").read_text()
ANCHOR: Final = "8ef80f1451360cbf5051e35122dc1343c6e48f92"


def example(name: str) -> Any:
    """Return the first block behind a marker."""
    _, marker, rest = PAGE.partition(f"<!-- cloud-init: {name} -->")
    assert marker
    return yaml.safe_load(read_document(rest).blocks[0][1].replace("ANCHOR", ANCHOR))


def test_the_file_is_a_configuration_with_an_anchor() -> None:
    (file,) = example("file")["write_files"]
    settings = settings_from(parse_config(file["content"].encode(), file["path"]), Options())
    assert file["path"] == "/etc/datum/agent.yaml"
    assert (str(settings.host), settings.repo) == ("web1", "/srv/fleet.git")
    assert settings.anchor is not None
    assert settings.anchor.commit == ANCHOR


@pytest.mark.parametrize("name", ["file", "command"])
def test_the_commands_are_lists_of_words(name: str) -> None:
    """No shell reads them."""
    for command in example(name)["runcmd"]:
        assert all(isinstance(word, str) for word in command), command


def test_the_command_has_only_options_that_exist() -> None:
    ((program, command, *words),) = example("command")["runcmd"]
    group: Any = typer.main.get_command(app)
    known = {text for one in group.commands[command].params for text in one.opts}
    assert program == "datum"
    assert {word for word in words if word.startswith("--")} <= known
