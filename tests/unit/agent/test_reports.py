"""Which reports are kept, and how they are read again (design 1.5)."""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from datum.agent.reports import (
    QUIET_KEPT,
    find_reports,
    is_quiet,
    list_reports,
    read_report,
    shorten,
    without_private,
    write_report,
)
from datum.errors import DatumError, PermissionRefusedError, StateError, UsageError
from datum.model.report import ChangeReport, PassReport, ResourceReport
from datum.model.result import Outcome, PassOutcome
from tests.unit.fakes import rid
from tests.unit.report.samples import report

NOW = datetime(2026, 11, 29, 3, 15, tzinfo=UTC)
BIG = 1 << 30


def no_complaint(text: str) -> None:
    raise AssertionError(text)


def at(
    minutes: float, outcome: PassOutcome = PassOutcome.CONVERGED, *, changed: bool = False, size: int = 0
) -> PassReport:
    """Return a report of a pass some minutes after the first."""
    moment = NOW + timedelta(minutes=minutes)
    resource = ResourceReport(rid("file:/a"), Outcome.APPLIED, detail="x" * size)
    return report(
        id=f"{moment:%Y%m%dT%H%M%SZ}-7",
        started=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        outcome=outcome,
        exit_code=0 if outcome is PassOutcome.CONVERGED else 1,
        resources=(resource,) if changed or size else (),
    )


def write(folder: Path, one: PassReport, limit: int = BIG) -> Path:
    path = write_report(folder, one, limit=limit, complain=no_complaint)
    assert path is not None
    return path


def kept(folder: Path) -> list[str]:
    return [item.id for item in list_reports(folder)]


def test_report_is_written_whole_and_read_again(tmp_path: Path) -> None:
    """Group-readable, in a folder made for it, with no leftover beside it."""
    folder = tmp_path / "log/reports"
    path = write(folder, at(0))
    assert path.name == "20261129T031500Z-7.converged.quiet.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert [entry.name for entry in folder.iterdir()] == [path.name]
    assert read_report(folder, "")["id"] == "20261129T031500Z-7"


def test_odd_values_come_through(tmp_path: Path) -> None:
    """Frozen maps, bytes that are no UTF-8 in a name, halves of surrogate pairs."""
    from types import MappingProxyType

    change = ChangeReport("x", MappingProxyType({"a": (1, 2)}), ("\udcff", "\ud800", "é\x1b"))
    path = write(tmp_path, report(resources=(ResourceReport(rid("file:/a"), Outcome.APPLIED, changes=(change,)),)))
    assert path.read_bytes().isascii()
    read: Any = read_report(tmp_path, "")
    (shown,) = read["resources"]
    assert shown["changes"][0]["before"] == {"a": [1, 2]}
    assert shown["changes"][0]["after"] == ["\udcff", "\ud800", "é\x1b"]


def test_private_diffs_are_not_kept(tmp_path: Path) -> None:
    """A group reads reports: what not everybody may read is not in them."""
    changes = (ChangeReport("content", 1, 2, "-hush\n", is_private=True), ChangeReport("mode", 1, 2, "-open\n"))
    whole = report(resources=(ResourceReport(rid("file:/a"), Outcome.APPLIED, changes=changes),))
    assert b"hush" not in write(tmp_path, whole).read_bytes()
    assert [change.diff for change in without_private(whole).resources[0].changes] == ["", "-open\n"]


def test_quiet_passes_had_nothing_to_do_and_left_nothing() -> None:
    """Whatever else is loud."""
    assert is_quiet(at(0))
    assert not is_quiet(at(0, changed=True))
    assert not is_quiet(at(0, PassOutcome.INCOMPLETE))
    assert not is_quiet(report(exit_code=69))


def test_the_last_quiet_ones_are_kept(tmp_path: Path) -> None:
    """Twenty, and loud ones beside them whatever their number."""
    for minute in range(30):
        write(tmp_path, at(minute))
        write(tmp_path, at(minute + 0.5, changed=True))
    known = list_reports(tmp_path)
    assert sum(item.is_quiet for item in known) == QUIET_KEPT == 20
    assert sum(not item.is_quiet for item in known) == 30
    assert next(item.id for item in known if item.is_quiet) == "20261129T032500Z-7"


def test_loud_ones_are_kept_for_ninety_days(tmp_path: Path) -> None:
    """And no longer, but for the newest of their outcome."""
    day = 24 * 60
    for number in (0, 1, 2):
        write(tmp_path, at(number, changed=True))
    write(tmp_path, at(3, PassOutcome.FAILED))
    write(tmp_path, at(90 * day + 1.5, changed=True))
    assert kept(tmp_path) == [at(minutes).id for minutes in (2, 3, 90 * day + 1.5)]


def test_the_limit_in_bytes_takes_quiet_ones_first(tmp_path: Path) -> None:
    """Then the oldest; the newest, and the newest of each outcome, stay whatever the limit says."""
    write(tmp_path, at(0, PassOutcome.FAILED, size=5000))
    write(tmp_path, at(1, changed=True, size=5000))
    write(tmp_path, at(2, changed=True, size=5000))
    for minute in range(3, 7):
        write(tmp_path, at(minute))
    size = sum(item.size for item in list_reports(tmp_path))
    write(tmp_path, at(7), limit=size - 1000)
    assert at(0, PassOutcome.FAILED).id in kept(tmp_path)
    assert at(1).id in kept(tmp_path)
    assert at(3).id not in kept(tmp_path)
    write(tmp_path, at(8), limit=1)
    assert kept(tmp_path) == [at(0).id, at(8).id]


def test_the_limit_counts_what_stays(tmp_path: Path) -> None:
    """A report that may not go makes no room: another goes instead."""
    sizes = [write(tmp_path, at(minute, changed=True, size=3000)).stat().st_size for minute in range(1, 5)]
    write(tmp_path, at(0, PassOutcome.HELD, size=3000))
    total = sum(item.size for item in list_reports(tmp_path))
    last = at(6, changed=True, size=3000)
    write(tmp_path, last, limit=total)
    assert sum(item.size for item in list_reports(tmp_path)) <= total
    assert len(kept(tmp_path)) == len(sizes) + 1
    assert at(0).id in kept(tmp_path)


def test_a_folder_that_cannot_be_written_complains_in_short(tmp_path: Path) -> None:
    """The journal gets what matters in one line."""
    (tmp_path / "file").touch()
    heard: list[str] = []
    found = write_report(tmp_path / "file/reports", at(0, PassOutcome.FAILED), limit=BIG, complain=heard.append)
    assert found is None
    (words,) = heard
    assert "cannot be written below" in words
    assert shorten(at(0, PassOutcome.FAILED)) in words
    assert "\n" not in words


def test_an_old_report_that_cannot_be_removed_is_complained_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new one was written all the same."""
    write(tmp_path, at(0))
    write(tmp_path, at(1))
    unlink = Path.unlink

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        if path.suffix == ".json":
            raise OSError(30, "Read-only file system")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    heard: list[str] = []
    assert write_report(tmp_path, at(2), limit=1, complain=heard.append) is not None
    assert len(heard) == 1
    assert "Read-only file system" in heard[0]


def test_shortened_report_says_what_matters() -> None:
    """Who, what, at which revision, with which code."""
    words = shorten(report(outcome=PassOutcome.FAILED, exit_code=1, counts={Outcome.FAILED: 2, Outcome.IN_SYNC: 5}))
    assert words == "20261129T031500Z-4711 web1 failed at 000000000000 exit 1 failed=2 in_sync=5"
    assert "at nothing exit" in shorten(report(target=None, counts={}))


def test_report_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    """One that fits; the newest for an empty text; a whole id even where it begins another."""
    write(tmp_path, at(0))
    write(tmp_path, at(5))
    longer = write(tmp_path, report(id=f"{at(5).id}77", started="2026-11-29T03:20:00Z"))
    assert read_report(tmp_path, "20261129T0315")["id"] == at(0).id
    assert read_report(tmp_path, at(5).id)["id"] == at(5).id
    assert read_report(tmp_path, "")["id"] == longer.name.partition(".")[0]


@pytest.mark.parametrize("wanted", ["2027", "2026", "../etc", ""])
def test_no_such_report(tmp_path: Path, wanted: str) -> None:
    """None, or several: code and text say which."""
    if wanted:
        write(tmp_path, at(0))
        write(tmp_path, at(1))
    with pytest.raises(UsageError) as caught:
        read_report(tmp_path, wanted)
    (found,) = caught.value.diagnostics
    assert found.code == ("report-ambiguous" if wanted == "2026" else "no-such-report")
    assert ("2 reports begin" in found.detail) is (wanted == "2026")
    assert found.detail[0].isupper() or found.detail[0].isdigit()


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[1]", b"5", b"\xff\xfe"])
def test_damaged_report_is_said(tmp_path: Path, data: bytes) -> None:
    """No pass depends on it, so it may be deleted."""
    write(tmp_path, at(0)).write_bytes(data)
    with pytest.raises(StateError) as caught:
        read_report(tmp_path, "")
    assert caught.value.diagnostics[0].code == "report-damaged"


@pytest.mark.parametrize(("user", "kind"), [(0, StateError), (1000, PermissionRefusedError)])
def test_reports_that_may_not_be_read_are_not_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, kind: type[DatumError]
) -> None:
    """An ordinary user is told that rights are missing, and not that no pass ran."""

    def refuse(path: object) -> object:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(kind) as caught:
        read_report(tmp_path, "")
    assert caught.value.diagnostics[0].code == "report-unreadable"
    assert str(tmp_path) in caught.value.diagnostics[0].detail


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    """Only what looks like a report is listed or removed."""
    names = ["notes.txt", "a.json", ".x.converged.quiet.json", "a.b.c.d.json", "20261129T031500Z-7.converged.quiet.bak"]
    for name in names:
        (tmp_path / name).touch()
    write(tmp_path, at(0), limit=1)
    assert kept(tmp_path) == [at(0).id]
    assert {entry.name for entry in tmp_path.iterdir()} >= set(names)


def test_a_folder_that_is_not_there_has_no_reports(tmp_path: Path) -> None:
    """First contact."""
    assert list_reports(tmp_path / "none") == []


def test_a_folder_that_cannot_be_read_is_not_one_without_reports(tmp_path: Path) -> None:
    """Whoever only looks sees none; who decides by it is told."""
    (tmp_path / "file").touch()
    assert list_reports(tmp_path / "file") == []
    with pytest.raises(NotADirectoryError):
        find_reports(tmp_path / "file")
    assert find_reports(tmp_path / "none") == []


def test_a_report_that_is_removed_meanwhile_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, at(0))
    gone = write(tmp_path, at(1))
    scan = os.scandir

    @contextmanager
    def scandir(folder: Path) -> Iterator[list["os.DirEntry[str]"]]:
        with scan(folder) as entries:
            found = list(entries)
        gone.unlink()
        yield found

    monkeypatch.setattr(os, "scandir", scandir)
    assert [one.id for one in find_reports(tmp_path)] == [at(0).id]


def test_a_group_reads_reports_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        made = write(tmp_path / "log" / "reports", at(0))
    finally:
        os.umask(old)
    modes = [path.stat().st_mode & 0o777 for path in (made.parent.parent, made.parent, made)]
    assert modes == [0o755, 0o750, 0o640]


def test_report_is_json(tmp_path: Path) -> None:
    """As any tool reads it."""
    assert json.loads(write(tmp_path, at(0)).read_text())["schema_version"] == 2


def test_what_is_no_file_is_no_report(tmp_path: Path) -> None:
    """The newest name may be a FIFO, and `datum status` hung on it."""
    os.mkfifo(tmp_path / "29991129T031500Z-7.failed.loud.json")
    (tmp_path / "29991129T031500Z-8.failed.loud.json").mkdir()
    write(tmp_path, at(0))
    assert kept(tmp_path) == [at(0).id]
    assert read_report(tmp_path, "")["id"] == at(0).id
