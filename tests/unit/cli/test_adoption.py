"""Declarations of what was adopted, as YAML and as JSON."""

import json

import pytest
import yaml

from datum.agent.adopting import Adopted
from datum.cli.views import adoption
from tests.unit.fakes import rid

ODD = rid("entry:/etc/a b#c: d")
ADOPTED: Adopted = {
    ODD: {"list": ("a", {"deep": "${x}"}), "number": 5, "text": "a\n\u2028${b}", "truth": True},
    rid("file:/etc/a"): {},
}
LITERAL = {"list": ["a", {"deep": "$${x}"}], "number": 5, "text": "a\n\u2028$${b}", "truth": True}


def test_yaml_reads_back_as_what_was_adopted(capsys: pytest.CaptureFixture[str]) -> None:
    """Expressions are made literal however deep they stand; odd names are quoted; nothing odd reaches a terminal."""
    adoption.show(ADOPTED, is_json=False)
    out = capsys.readouterr().out
    assert yaml.safe_load(out) == {"resources": {str(ODD): LITERAL, "file:/etc/a": {}}}
    assert out.isascii()


def test_json_is_versioned(capsys: pytest.CaptureFixture[str]) -> None:
    adoption.show(ADOPTED, is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert value == {"schema_version": 1, "resources": {str(ODD): LITERAL, "file:/etc/a": {}}}
