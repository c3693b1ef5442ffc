"""What a declaration of a file of cron means, and what cron would not run."""

from typing import Final

import pytest

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.model.observation import Present
from datum.model.secret import Secret
from datum.provider.contract import DesiredError, ImplicitEdge, Removal, StagedProvider
from datum_providers.cron.provider import CronProvider
from datum_providers.cron.schedule import parse_schedule
from tests.providers.index import index_of

PROVIDER: Final = CronProvider()
JOB: Final[dict[str, AttributeValue]] = {"schedule": "@daily", "command": "true"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("@Hourly", "@hourly"),
        ("*/5   * *\t* *", "*/5 * * * *"),
        ("0,30 8-18/2 1 jan-JUN,12 mon,Wed-fri,7", "0,30 8-18/2 1 jan-JUN,12 mon,Wed-fri,7"),
        ("59 23 31 12 0-7", "59 23 31 12 0-7"),
    ],
)
def test_schedules_have_a_normal_form(written: str, meant: str) -> None:
    assert parse_schedule(written) == meant


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("daily", "neither five fields nor"),
        ("@dayly", "neither five fields nor"),
        ("* * * *", "neither five fields nor"),
        ("* * * * * *", "neither five fields nor"),
        ("60 * * * *", "minute: it is from 0 to 59"),
        ("* 24 * * *", "hour: it is from 0 to 23"),
        ("* * 0 * *", "day of the month: it is from 1 to 31"),
        ("* * * 13 *", "month: it is from 1 to 12"),
        ("* * * mon *", "month: it is from 1 to 12"),
        ("* * * * 8", "day of the week: it is from 0 to 7"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "its step is 0"),
        ("5/10 * * * *", "a number, a range"),
        ("*-5 * * * *", "a number, a range"),
        ("1,,2 * * * *", "a number, a range"),
        ("٣ * * * *", "a number, a range"),
        ("H * * * *", "minute: it is from 0 to 59"),
    ],
)
def test_what_is_no_schedule_is_refused(written: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_schedule(written)


@pytest.mark.parametrize(("name", "hint"), [("a.b", "a-b"), ("/etc/cron.d/x", "x"), ("job~", "job"), ("..", "")])
def test_cron_reads_no_file_with_a_dot(name: str, hint: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.normal_name(name)
    assert caught.value.hint == (f"Write cron:{hint}" if hint else "")


@pytest.mark.parametrize(
    ("attributes", "attribute", "words"),
    [
        ({"schedule": "@daily"}, "schedule", "command is not"),
        ({"command": "true"}, "command", "schedule is not"),
        ({"user": "root"}, "user", "schedule is not"),
        ({**JOB, "schedule": "daily"}, "schedule", "neither five fields"),
        ({**JOB, "command": "a\nb"}, "command", "one line"),
        ({**JOB, "command": " "}, "command", "not empty"),
        ({**JOB, "command": "a\\%b"}, "command", "backslash"),
        ({**JOB, "command": "a\\\\b"}, "command", "backslash"),
        ({**JOB, "command": "%" * 500}, "command", "longer"),
        ({**JOB, "command": "\ud800"}, "command", "surrogate"),
        ({**JOB, "command": Secret(b"x")}, "command", "everybody"),
        ({**JOB, "user": "33"}, "user", "no number"),
        ({**JOB, "environment": {"A": "\"'"}}, "environment", "both kinds of quotes"),
        ({**JOB, "environment": {"A": "a\nb"}}, "environment", "one line"),
        ({**JOB, "environment": {"A=B": "x"}}, "environment", "no name"),
        ({**JOB, "content": "x"}, "content", "schedule is declared, too"),
        ({"content": "x", "user": "root"}, "content", "user is declared, too"),
    ],
)
def test_what_cron_would_not_run_is_refused(attributes: dict[str, AttributeValue], attribute: str, words: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.parse("job", attributes)
    assert (caught.value.attribute, words in caught.value.detail) == (attribute, True), caught.value.detail
    assert caught.value.detail.endswith(".")


def test_it_comes_after_its_directory_and_its_user() -> None:
    index = index_of({"path /etc/cron.d": "directory:/etc/cron.d", "user app": "user:app"})
    edges = PROVIDER.edges(PROVIDER.parse("job", {**JOB, "user": "app"}), index)
    assert edges == (
        ImplicitEdge(ResourceId("directory", "/etc/cron.d"), "parent directory"),
        ImplicitEdge(ResourceId("user", "app"), "user"),
    )
    assert PROVIDER.edges(PROVIDER.parse("job", {"content": ""}), index_of({"user root": "user:root"})) == ()


def test_the_engine_finds_what_it_can_do() -> None:
    desired = PROVIDER.parse("job", JOB)
    assert isinstance(PROVIDER, StagedProvider)
    assert PROVIDER.can_stage(desired)
    assert PROVIDER.removal(desired) is Removal.DELETE
    assert PROVIDER.targets(desired) == (Target("path", "/etc/cron.d/job"),)


def test_the_whole_file_is_adopted_and_nothing_else() -> None:
    assert PROVIDER.adopt("job", Present({"kind": "regular"}, {"text": "x\n"})) == {"content": "x\n"}
    assert PROVIDER.adopt("job", Present({"kind": "regular"})) == {}
    with pytest.raises(DesiredError, match="symbolic link"):
        PROVIDER.adopt("job", Present({"kind": "symlink"}))
