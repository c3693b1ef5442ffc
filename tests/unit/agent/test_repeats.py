"""What failed the same way in one pass after the other, from reports alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from datum.agent import repeats
from datum.agent.repeats import find_repeats

A, B = "file:/etc/a", "file:/etc/b"


def resource(name: str, detail: str = "No space.", outcome: str = "failed") -> dict[str, Any]:
    said = {"severity": "error", "code": "write-failed", "summary": "Failed.", "detail": detail, "hint": ""}
    return {"id": name, "outcome": outcome, "diagnostics": [said]}


def write(folder: Path, minute: int, *resources: dict[str, Any], **about: Any) -> None:
    """Write the report of a pass that began in this minute."""
    started = f"2026-11-29T03:{minute:02}:00Z"
    outcome = "failed" if resources else "converged"
    report = {"started": started, "counts": {"in_sync": 1}, "resources": list(resources), **about}
    name = f"20261129T03{minute:02}00Z-7.{outcome}.{'loud' if resources else 'quiet'}.json"
    (folder / name).write_text(json.dumps(report))


def found(folder: Path) -> list[tuple[tuple[str, ...], int, str]]:
    return [(one.resources, one.passes, one.since[14:16]) for one in find_repeats(folder)]


def test_passes_in_a_row_are_counted_from_the_first(tmp_path: Path) -> None:
    """Each reason once, with everything that failed by it, the longest first."""
    write(tmp_path, 1, resource(A))
    write(tmp_path, 2)
    write(tmp_path, 3, resource(A))
    write(tmp_path, 4, resource(A), resource(B, "Denied."))
    write(tmp_path, 5, resource(A), resource(B, "Denied."), resource("file:/etc/c", "Denied."))
    write(tmp_path, 6, resource(A), resource(B, "Denied."), resource("file:/etc/c", "Denied."))
    assert found(tmp_path) == [((A,), 4, "03"), ((B,), 3, "04"), (("file:/etc/c",), 2, "05")]
    write(tmp_path, 7, resource(A), resource(B), resource("file:/etc/c"))
    assert found(tmp_path) == [((A,), 5, "03")]
    for minute in (8, 9):
        write(tmp_path, minute, resource(A), resource(B), resource("file:/etc/c"))
    assert found(tmp_path) == [((A,), 7, "03"), ((B, "file:/etc/c"), 3, "07")]


def test_once_is_no_repetition(tmp_path: Path) -> None:
    assert find_repeats(tmp_path / "nothing") == ()
    write(tmp_path, 1, resource(A, "Denied."))
    write(tmp_path, 2, resource(A))
    assert find_repeats(tmp_path) == ()


def test_a_pass_that_put_it_right_ends_the_row(tmp_path: Path) -> None:
    write(tmp_path, 1, resource(A))
    write(tmp_path, 2, resource(A))
    write(tmp_path, 3)
    assert find_repeats(tmp_path) == ()
    write(tmp_path, 4, resource(A), resource(A, "Another reason of the same."))
    assert find_repeats(tmp_path) == ()


def test_passes_without_results_neither_count_nor_interrupt(tmp_path: Path) -> None:
    """The source was gone, the manifest invalid, a report damaged."""
    write(tmp_path, 1, resource(A))
    write(tmp_path, 2, counts={})
    (tmp_path / "20261129T030300Z-7.failed.loud.json").write_text("{")
    write(tmp_path, 4, resource(A))
    (tmp_path / "20261129T030500Z-7.failed.loud.json").write_text("[]")
    assert found(tmp_path) == [((A,), 2, "01")]


def test_consequences_and_what_is_held_are_not_told(tmp_path: Path) -> None:
    for minute in (1, 2):
        write(tmp_path, minute, resource(A, outcome="skipped"), resource(B, outcome="held"))
    assert find_repeats(tmp_path) == ()


def test_damaged_reports_say_what_they_can(tmp_path: Path) -> None:
    """Reports are files, which anybody may have spoiled; nothing depends on them."""
    for minute in (1, 2):
        write(tmp_path, minute, resource(A), resources=[None, 3, {"outcome": "failed"}, resource(A)])
    write(tmp_path, 3, resource(A), resources={"id": A})
    assert find_repeats(tmp_path) == ()
    write(tmp_path, 4, resource(A), resources=[resource(A), "?"])
    write(tmp_path, 5, resource(A), started=None)
    assert find_repeats(tmp_path)[0].passes == 2


def test_it_is_said_when_there_may_be_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for minute in range(5):
        write(tmp_path, minute, resource(A))
    assert not find_repeats(tmp_path)[0].is_cut
    monkeypatch.setattr(repeats, "LOOKED_BACK", 3)
    (one,) = find_repeats(tmp_path)
    assert (one.passes, one.is_cut) == (3, True)
