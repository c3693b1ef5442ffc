"""The catalogue of checks, the page about them, and the hops of every failure of the transport."""

import ast
import json
import re
from pathlib import Path
from typing import Final

import jsonschema
import pytest

import datum.repository
from datum.agent.doctor import as_json, hops
from datum.agent.doctor.as_json import diagnosis_to_json
from datum.agent.doctor.catalogue import CHECKS, GROUPS
from datum.agent.doctor.finding import Diagnosis, Finding, State
from datum.model.json import thaw
from datum.repository.failures import _HTTPS, _SSH
from datum.repository.remote import Remote

ROOT: Final = Path(__file__).resolve().parents[4]
PAGE: Final = (ROOT / "docs/doctor.md").read_text()
SCHEMA: Final = json.loads(Path(as_json.__file__).with_name("schema.json").read_text())
HTTPS: Final = Remote("https://h/x", token_file="/t", ca_file="/c")
SSH: Final = Remote("ssh://git@h/x", key_file="/k", known_hosts_file="/n")
# Of the transport, and no failure of asking.
ELSEWHERE: Final = {
    "internal-error",
    "not-in-this-version",
    "object-too-large",
    "revision-missing",
    "source-account-shut-out",
}


def test_the_page_lists_every_check_in_its_group() -> None:
    said = {
        heading: re.findall(r"^\| `([a-z-]+)` \|", body, re.MULTILINE)
        for heading, body in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    }
    assert list(said) == list(GROUPS)
    assert said == {group: [name for name, check in CHECKS.items() if check.group == group] for group in GROUPS}


def test_the_page_names_every_state() -> None:
    assert re.findall(r"^\| `([a-z_]+)` \| \S+ \|", PAGE, re.MULTILINE)[: len(State)] == [str(state) for state in State]


def test_no_check_has_the_name_of_a_diagnostic() -> None:
    """Who looks a name up finds one thing."""
    codes = re.findall(r"^### `([a-z0-9-]+)`$", (ROOT / "docs/diagnostics.md").read_text(), re.MULTILINE)
    assert not set(codes) & set(CHECKS)


def test_every_hop_is_a_check_of_the_source() -> None:
    remotes = (Remote("/srv/x"), HTTPS, SSH, Remote("https://h/x", proxy="http://p:1"))
    found = {hop for remote in remotes for hop in hops.hops_of(remote)}
    assert found == {name for name, check in CHECKS.items() if check.group == "source"} - {"source-account"}
    assert found == set(hops._GOOD)


def test_through_a_proxy_nothing_is_looked_up_or_connected_to() -> None:
    way = hops.hops_of(Remote("https://h/x", proxy="http://p:1"))
    assert way[:3] == ("remote-files", "remote-proxy", "remote-certificate")


@pytest.mark.parametrize("code", sorted({failure.code for failure in (*_HTTPS, *_SSH)}))
def test_a_failure_of_the_network_has_its_hop(code: str) -> None:
    """What ends the conversation somewhere is no other hop's."""
    anywhere = {"remote-timeout", "remote-redirects", "remote-fails", "remote-talks-too-much", "remote-closed-early"}
    assert (code in hops._BY_CODE) is (code not in anywhere)


def test_what_the_transport_says_elsewhere_has_its_hop_or_ends_the_conversation() -> None:
    """A new code of asking or fetching is put into the table, or stands here."""
    folder = Path(datum.repository.__file__).parent
    said = {
        keyword.value.value
        for name in ("transport", "explain", "access", "account")
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text()))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }
    assert said - set(hops._BY_CODE) - ELSEWHERE <= {"git-not-runnable", "remote-timeout"}


def test_the_document_is_of_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    findings = tuple(
        Finding(
            name, state, "Found.", "x", {"a": 1, "b": ("x",), "c": None, "d": True, "e": 1.5, "f": ""}, "cure", ("a-b",)
        )
        for name, state in zip(CHECKS, [*State] * len(CHECKS), strict=False)
    )
    document = thaw(diagnosis_to_json(Diagnosis(findings)))
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document)))
    assert SCHEMA["properties"]["checks"]["items"]["properties"]["group"]["enum"] == list(GROUPS)
