"""Reports of hosts whose clock jumps: what was written last is the newest, and no report takes another's place."""

import os
from pathlib import Path

from attrs import evolve

from datum.agent.reports import QUIET_KEPT, list_reports, read_report, with_own_id, write_report
from tests.unit.agent.test_reports import BIG, at, kept, no_complaint, write

YEARS = 14 * 365 * 24 * 60


def test_the_report_that_was_written_last_is_the_newest_whatever_the_clock_said(tmp_path: Path) -> None:
    """The clock was far ahead for a pass, and was set right."""
    write(tmp_path, at(YEARS))
    write(tmp_path, at(0))
    assert kept(tmp_path) == [at(YEARS).id, at(0).id]
    assert read_report(tmp_path, "")["id"] == at(0).id


def test_reports_of_a_clock_that_was_ahead_do_not_push_the_new_ones_out(tmp_path: Path) -> None:
    for minute in range(QUIET_KEPT):
        write(tmp_path, at(YEARS + minute))
    for minute in range(3):
        write(tmp_path, at(minute))
    assert kept(tmp_path)[-3:] == [at(minute).id for minute in range(3)]
    assert len(kept(tmp_path)) == QUIET_KEPT


def test_the_time_of_a_file_that_is_ahead_is_counted_on_from(tmp_path: Path) -> None:
    """As a clock that was ahead leaves it: the order holds, however long that clock is ahead."""
    first = write(tmp_path, at(0, changed=True))
    ahead = (1 << 62, 1 << 62)
    os.utime(first, ns=ahead)
    for minute in (1, 2, 3):
        write(tmp_path, at(minute, changed=True))
    assert kept(tmp_path) == [at(minute).id for minute in range(4)]


def test_the_same_second_and_process_id_again_is_another_report(tmp_path: Path) -> None:
    """As on a host whose clock begins anew at each boot."""
    ids = []
    for _boot in range(3):
        own = with_own_id(tmp_path, at(0))
        write_report(tmp_path, own, limit=BIG, complain=no_complaint)
        ids.append(own.id)
    assert ids == ["20261129T031500Z-7", "20261129T031500Z-10000007", "20261129T031500Z-20000007"]
    assert kept(tmp_path) == ids
    assert read_report(tmp_path, ids[0])["id"] == ids[0]


def test_an_id_that_nobody_has_stays_as_it_is(tmp_path: Path) -> None:
    one = evolve(at(0))
    assert with_own_id(tmp_path, one) is one
    assert with_own_id(tmp_path / "nowhere", one) is one
    assert list_reports(tmp_path) == []
