"""Every decision record is whole, numbered without gaps, and listed in the index (house rule 48)."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.tracked import ROOT

FOLDER: Final = ROOT / "adr"
SECTIONS: Final = ("Context", "Drivers", "Options", "Decision", "Consequences", "Non-goals")
STATUSES: Final = re.compile(r"Proposed|Accepted|Superseded by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)")


def records() -> tuple[Path, ...]:
    """Return the records, sorted by number."""
    return tuple(sorted(FOLDER.glob("[0-9][0-9][0-9][0-9]-*.md")))


def field_of(text: str, name: str) -> str:
    """Return what a record says in its head, `Status: …`."""
    match = re.search(rf"^- {name}: (.+)$", text, re.MULTILINE)
    return match[1] if match else ""


@pytest.mark.parametrize("path", [*records(), FOLDER / "template.md"], ids=lambda path: path.stem)
def test_record_has_every_section_in_order(path: Path) -> None:
    assert tuple(re.findall(r"^## (.+)$", path.read_text(), re.MULTILINE)) == SECTIONS


@pytest.mark.parametrize("path", records(), ids=lambda path: path.stem)
def test_record_says_its_number_status_and_date(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(f"# {path.stem[:4]}. ")
    assert STATUSES.fullmatch(field_of(text, "Status"))
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", field_of(text, "Date"))


def test_numbers_have_no_gaps_and_no_doubles() -> None:
    assert [int(path.stem[:4]) for path in records()] == list(range(1, len(records()) + 1))


def test_index_lists_every_record_with_its_title_and_status() -> None:
    rows = re.findall(
        r"^\| \[(\d{4})\]\((\S+)\) \| (.+?) \| (.+?) \|$", (FOLDER / "index.md").read_text(), re.MULTILINE
    )
    expected = []
    for path in records():
        text = path.read_text()
        title = text.splitlines()[0].removeprefix(f"# {path.stem[:4]}. ")
        expected.append((path.stem[:4], path.name, title, field_of(text, "Status")))
    assert rows == expected


def test_references_to_records_lead_somewhere() -> None:
    known = {path.stem[:4] for path in records()}
    for path in (*(ROOT / "datum").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *FOLDER.glob("*.md")):
        for number in re.findall(r"\bADR[- ](\d{4})\b", path.read_text()):
            assert number in known, f"{path.relative_to(ROOT)} names ADR {number}"
