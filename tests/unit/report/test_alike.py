"""Resources that failed alike: equal but for their own names."""

from typing import Any

import pytest

from datum.report.alike import ITSELF, gather, reason_of


def failed(name: str, said: str = "", **about: Any) -> dict[str, Any]:
    """Return a resource of a report that failed, with one diagnostic."""
    one = {"severity": "error", "code": "write-failed", "summary": "It cannot be written.", "detail": said}
    return {"id": name, "outcome": "failed", "diagnostics": [{**one, "hint": "", "location": None}], **about}


def test_own_name_makes_no_difference() -> None:
    """Neither as an id nor as a path, and what begins with it is another name."""
    one = failed("file:/etc/a", "file:/etc/a cannot be written: /etc/a: No space left on device.")
    other = failed("file:/etc/bc", "file:/etc/bc cannot be written: /etc/bc: No space left on device.")
    reason = reason_of(one)
    assert reason == reason_of(other)
    assert reason is not None
    assert reason.sayings[0].detail == f"{ITSELF} cannot be written: {ITSELF}: No space left on device."
    assert reason.in_short == f"It cannot be written. {reason.sayings[0].detail}"
    longer = reason_of(failed("file:/etc/a", "/etc/ab, /etc/a/b, /x/etc/a, /etc/a.d and /etc/a-b stay."))
    assert longer is not None
    assert ITSELF not in longer.sayings[0].detail
    unit = reason_of(failed("service:app", "app.service, application and app@one."))
    assert unit is not None
    assert unit.sayings[0].detail == f"{ITSELF}, application and app@one."


@pytest.mark.parametrize(
    "other",
    [
        failed("file:/etc/b", "Denied."),
        failed("file:/etc/b", "No space.", outcome="unverified"),
        failed("file:/etc/b", "No space.", blocked_by="file:/etc/c"),
        failed("file:/etc/b", "No space.", detail="More."),
        {**failed("file:/etc/b", "No space."), "diagnostics": []},
    ],
)
def test_anything_else_makes_one(other: dict[str, Any]) -> None:
    assert reason_of(failed("file:/etc/a", "No space.")) != reason_of(other)


@pytest.mark.parametrize("outcome", ["applied", "already", "held", "in_sync", None])
def test_what_did_not_fail_has_no_reason(outcome: str | None) -> None:
    """What is held is released one by one, so each is told."""
    assert reason_of(failed("file:/etc/a", "x", outcome=outcome)) is None


def test_nothing_said_is_no_reason() -> None:
    assert reason_of({"id": "file:/etc/a", "outcome": "failed", "diagnostics": []}) is None
    assert reason_of({"outcome": "skipped", "blocked_by": "file:/etc/b"}) is not None
    assert reason_of({"id": 1, "outcome": "failed", "diagnostics": ["?", None], "detail": 3}) is None


def test_groups_stand_where_the_first_of_them_does() -> None:
    done = {"id": "file:/etc/d", "outcome": "applied", "diagnostics": []}
    silent: list[dict[str, Any]] = [
        {"id": name, "outcome": "failed", "diagnostics": []} for name in ("file:/s", "file:/t")
    ]
    given = [failed("file:/etc/a", "x"), done, failed("file:/etc/b", "y"), *silent, failed("file:/etc/c", "x"), done]
    ids = [[resource["id"] for resource in group] for group in gather(given)]
    assert ids == [
        ["file:/etc/a", "file:/etc/c"], ["file:/etc/d"], ["file:/etc/b"], ["file:/s"], ["file:/t"], ["file:/etc/d"],
    ]  # fmt: skip


def test_roughly_the_same_differs_in_numbers_and_in_what_follows() -> None:
    """A journal has other lines and a process another number each time."""
    one = reason_of(failed("service:app", "It ended with 1 after 2.5 s.\nline 1"))
    other = reason_of(failed("service:app", "It ended with 1 after 31 s.\nanother"))
    assert one is not None
    assert other is not None
    assert one != other
    assert one.roughly == other.roughly
    third = reason_of(failed("service:app", "It was killed.\nline 1"))
    assert third is not None
    assert third.roughly != one.roughly
