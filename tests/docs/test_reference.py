"""The tables of the documentation say what the code says."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
import typer.main

from datum.agent.config_file import KEYS
from datum.agent.remotes import LIST
from datum.cli.app import app
from datum.errors import ExitCode
from datum.fleet import nodes, template_engine, yaml_reader
from datum.fleet.common import COMMON_SHAPES, CONTROL_FIELDS
from datum.fleet.expressions import budget
from datum.fleet.expressions.evaluator import LENGTH_LIMIT
from datum.fleet.expressions.functions import FILTERS
from datum.fleet.expressions.library import Builtin
from datum.fleet.expressions.names import MACHINE_NAMES, ROOTS
from datum.fleet.expressions.predicates import TESTS
from datum.fleet.folders import ENTRY_LIMIT
from datum.fleet.parts import SOURCES_LIMIT
from datum.fleet.settings import SETTING_KEYS
from datum.fleet.templates import INCLUDE_LIMIT
from datum.model.plan import HoldReason, Label
from datum.model.result import Outcome, PassOutcome
from datum.provider.paths import NAME_MAX, PATH_MAX
from datum.registry.discover import find_providers
from datum.report.build import DIFF_LINES, LINE_LENGTH
from datum.report.texts import TEXT_LIMIT
from tests.docs.test_examples import documents, read_document

ROOT: Final = Path(__file__).resolve().parents[2]


def section(page: str, heading: str) -> str:
    """Return a part of a page, from a heading to the next of its rank or above."""
    # A comment in an example looks like a heading.
    text = re.sub(r"^```.*?^```$", "", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    rank = heading.count("#")
    match = re.search(rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{rank}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match is not None, f"{page} has no '{heading}'"
    return match[1]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row but heads and rules."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for number, row in enumerate(cells) if "---" not in row[0] and not _is_head(cells, number)]


def _is_head(cells: list[list[str]], number: int) -> bool:
    return number + 1 < len(cells) and "---" in cells[number + 1][0]


def names(cells: list[str]) -> set[str]:
    """Return what stands between backquotes."""
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize(("heading", "table"), [("### Filters", FILTERS), ("### Tests", TESTS)])
def test_filters_and_tests_are_listed_in_their_own_words(heading: str, table: Mapping[str, Builtin]) -> None:
    said = {row[0]: row[1] for row in rows(section("manifest.md", heading))}
    assert said == {f"`{builtin.usage}`": builtin.summary for builtin in table.values()}


def test_common_fields_are_listed() -> None:
    text = section("manifest.md", "## Resources")
    said = {name.split(":")[0] for row in rows(text) for name in names(row[:1])}
    assert said == set(COMMON_SHAPES) | CONTROL_FIELDS


def test_roots_and_machine_values_are_listed() -> None:
    said = names([row[0] for row in rows(section("manifest.md", "## Expressions"))])
    assert set(ROOTS) <= said
    late = names([row[0] for row in rows(section("manifest.md", "## Late values"))])
    assert {name.split(".")[1] for name in late} == set(MACHINE_NAMES)


def test_settings_are_listed() -> None:
    said = names([row[0] for row in rows(section("manifest.md", "## Settings"))])
    assert {name.split(".")[0] for name in said} == set(SETTING_KEYS)


def test_bounds_are_those_of_the_code() -> None:
    said = {row[0]: row[1] for row in rows(section("manifest.md", "## Bounds"))}
    assert said["a YAML file"] == (
        f"{nodes.SIZE_LIMIT:,} bytes, {yaml_reader.DEPTH_LIMIT} levels, {yaml_reader.ALIAS_LIMIT:,} values by aliases"
    )
    assert said["an expression"] == f"{LENGTH_LIMIT:,} characters, {budget.STEPS:,} steps"
    assert said["a value that an expression or template makes"] == f"{budget.SIZE_LIMIT:,} characters and items"
    assert said["a template"] == f"{template_engine.STEPS:,} steps, {INCLUDE_LIMIT} includes"
    assert said["a folder that a field names"] == f"{ENTRY_LIMIT:,} names, {PATH_MAX} bytes for a path or a link"
    assert said["the `source` pieces of one list of parts"] == f"{SOURCES_LIMIT:,} bytes"
    assert said["a path on a host"] == f"{PATH_MAX} bytes, {NAME_MAX} for each name"


def test_bounds_of_what_is_shown_of_a_text_are_those_of_the_code() -> None:
    said = " ".join((ROOT / "docs" / "types" / "file.md").read_text().split())
    assert f"three of their neighbours on each side, {DIFF_LINES} lines at most." in said
    assert f"texts of more than {TEXT_LIMIT >> 10} KiB" in said
    assert f"a line of more than {LINE_LENGTH:,} characters" in said


def test_keys_of_the_configuration_are_listed() -> None:
    listed = f"{LIST}."
    flat = {key for key in KEYS if not key.startswith(listed)}
    assert names([row[0] for row in rows(section("operations.md", "### agent.yaml"))]) == flat | {LIST}
    access = {key.removeprefix(listed) for key in KEYS if key.startswith(listed)} - {"url"}
    assert names([row[0] for row in rows(section("operations.md", "### Remotes"))]) == access


def test_labels_and_holds_are_listed() -> None:
    assert names([row[0] for row in rows(section("operations.md", "## Read a plan"))]) == {word.value for word in Label}
    held = names([row[0] for row in rows(section("operations.md", "### Held"))])
    assert held == {word.value for word in HoldReason}


def test_exit_codes_and_outcomes_are_listed() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text()
    said = {row[0]: row[1] for row in rows(text)}
    assert said.pop("128+N") == ""
    assert said == {str(int(code)): f"`{code.name}`" for code in ExitCode}
    for outcome in (*PassOutcome, *Outcome):
        assert f"`{outcome.value}`" in text


def test_commands_of_the_readme_are_those_that_exist() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    said = set(re.findall(r"`([a-z]+)`", text.split("The commands", 1)[1].split("What does not yet")[0]))
    existing = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # a group, to Typer
    assert said == existing


@pytest.mark.parametrize("type_name", find_providers())
def test_page_of_a_type_lists_its_fields(type_name: str) -> None:
    text = (ROOT / "providers" / "datum_providers" / type_name / "README.md").read_text()
    table = text.split("## Fields")[1].split("\n## ")[0]
    assert names([row[0] for row in rows(table)]) == set(find_providers()[type_name].fields)


@pytest.mark.parametrize("type_name", find_providers())
def test_a_type_has_a_page_with_an_example_that_is_applied_twice(type_name: str) -> None:
    text = (ROOT / "docs" / "types" / f"{type_name}.md").read_text()
    assert f"(../../providers/datum_providers/{type_name}/README.md)" in text
    applied = [run for _, _, run in read_document(text).runs if run.count("$ datum apply --root $ROOT\n") == 2]
    assert applied
    assert all("plan --root $ROOT --detailed-exitcode\n" in run for run in applied)


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_python_blocks_are_python(path: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL):
        ast.parse(block)


@pytest.mark.parametrize(
    "path", [*documents(), *sorted((ROOT / "adr").glob("*.md"))], ids=lambda path: str(path.relative_to(ROOT))
)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]*)(?:#[\w-]+)?\)", path.read_text()):
        if target and "://" not in target and not target.startswith("NNNN"):
            assert (path.parent / target).exists(), target


def test_anchors_exist() -> None:
    for path in documents():
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([\w-]+)\)", path.read_text()):
            page = path.parent / target if target else path
            headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{path.name}: {target}#{anchor}"
