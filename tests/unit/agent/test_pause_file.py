"""What pause.yaml says, and what it cannot say: an error with its place, and the host is left alone."""

from pathlib import Path

import pytest
from hypothesis import given

from datum.agent.pause_file import decode_pause, encode_pause, load_pause
from datum.agent.settings import Options, Settings, read_settings
from datum.errors import ExitCode, SettingsError
from datum.model.moment import parse_moment
from datum.model.pause import Pause
from datum.testing import asking
from tests.unit.fakes import rid

PATH = Path("/var/lib/datum/pause.yaml")
GOOD = """\
who: alice
reason: disk swap
since: 2026-11-29T12:00:00Z
until: "2026-11-29T14:00:00Z"
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = read_settings(Options(root=str(tmp_path), repo="/srv/fleet", host="web1"))
    found.state_dir.mkdir(parents=True)
    return found


def refused(text: str) -> tuple[str, str, str]:
    with pytest.raises(SettingsError) as caught:
        decode_pause(text.encode(), PATH, " --root /r")
    (found,) = caught.value.diagnostics
    assert found.code == "pause-damaged"
    assert caught.value.exit_code is ExitCode.CONFIG
    return str(found.location), found.detail, found.hint


@given(asking.pauses)
def test_what_is_written_is_read_back(pause: Pause) -> None:
    assert decode_pause(encode_pause(pause), PATH, "") == pause


def test_a_person_can_write_one_without_quotes() -> None:
    noon = parse_moment("2026-11-29T12:00:00Z")
    found = decode_pause(f"{GOOD}only: [service:nginx, 'file:/etc/a']\n".encode(), PATH, "")
    assert found == Pause("alice", "disk swap", noon, noon + 7200, (rid("file:/etc/a"), rid("service:nginx")))


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", "1:1", "is no map of keys"),
        ("- a\n", "1:1", "is no map of keys"),
        ("who: [\n", "2:1", "not YAML"),
        ("who: a\nwho: b\n", "2:1", "twice"),
        (GOOD.replace("who: alice\n", ""), "1:1", "'who' is not said"),
        (f"{GOOD}for: 2h\n", "5:1", "'for' is no key; there are who, reason, since, until, only"),
        (GOOD.replace("disk swap", "''"), "2:9", "'reason' is a text, and no empty one"),
        (GOOD.replace("disk swap", ""), "2:8", "'reason' is a text, and no empty one"),
        (GOOD.replace("disk swap", "[a]"), "2:9", "'reason' is a text, and no empty one"),
        (GOOD.replace("2026-11-29T12:00:00Z", "noon"), "3:8", "'since': 'noon' is no time of the form"),
        (GOOD.replace("T14", "T12"), "4:8", "'until' is later than 'since', and by 30 days at most"),
        (GOOD.replace("T14", "T11"), "4:8", "'until' is later than 'since'"),
        (GOOD.replace("11-29T14", "12-29T13"), "4:8", "by 30 days at most"),
        (f"{GOOD}only: ['file:/etc/mo*']\n", "5:8", "there is file:* for all of the type"),
        (f"{GOOD}only: []\n", "5:7", "without it the whole host is paused"),
        (f"{GOOD}only: service:a\n", "5:7", "'only' is a list of resources"),
        (f"{GOOD}only: [nginx]\n", "5:8", "'nginx' has no type"),
        (f"{GOOD}only: [[]]\n", "5:8", "has no type"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text: str, place: str, what: str) -> None:
    at, detail, hint = refused(text)
    assert at == f"{PATH}:{place}"
    assert what in detail
    assert detail.endswith("Somebody wanted this host to be left alone, and it is.")
    assert "datum resume --root /r" in hint


def test_no_file_is_no_pause(settings: Settings) -> None:
    assert load_pause(settings) is None


def test_one_that_cannot_be_read_is_refused_with_its_path(settings: Settings) -> None:
    settings.pause_path.mkdir()
    with pytest.raises(SettingsError) as caught:
        load_pause(settings)
    (found,) = caught.value.diagnostics
    assert str(found.location) == str(settings.pause_path)
    assert "it is not a regular file" in found.detail


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(SettingsError, match="UTF-8"):
        decode_pause(b"\xff\xfe", PATH, "")
