"""What `datum init` writes into `agent.yaml`: it reads back as what was told, and leaves alone what a person wrote."""

import os
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from datum.agent.config_file import parse_config
from datum.agent.configuration import Told, anchored, composed, differences, renamed, write_whole
from datum.agent.remotes import Said
from datum.agent.settings import Options, Settings, settings_from
from datum.errors import SettingsError
from datum.model.identity import HostName
from datum.model.revision import Revision

ANCHOR = "8ef80f1451360cbf5051e35122dc1343c6e48f92"
OTHER = "9c0efe40681d2f5f0f3a4a9f0f0c6f1b2a3d4e5f"
PATH = Path("/etc/datum/agent.yaml")
HTTPS = "https://git.example.org/fleet.git"
SSH = "ssh://git@git.example.org/fleet.git"
ACCESS = {"token_file": "/etc/datum/token", "key_file": "/etc/datum/ssh_key", "known_hosts_file": "/etc/datum/known"}


def read(data: bytes) -> Settings:
    return settings_from(parse_config(data, "agent.yaml"), Options())


@pytest.mark.parametrize(
    "told",
    [
        Told(("/srv/fleet.git",), "web1"),
        Told(("/srv/it's",), "web1", "release/1", state_dir="/srv/state", anchor=ANCHOR),
        Told((HTTPS,), "web1", access=ACCESS, enforcement="observe"),
        Told((SSH,), "web1", access={**ACCESS, "jump": "a@b:22"}, anchor=ANCHOR),
        Told((HTTPS, SSH, "/srv/fleet.git"), "web1", access=ACCESS, anchor=ANCHOR),
    ],
    ids=["path", "odd", "https", "ssh", "three"],
)
def test_a_composed_configuration_reads_back_as_what_was_told(told: Told) -> None:
    found = read(composed(told))
    assert tuple(remote.url for remote in found.remotes) == told.repos
    assert (str(found.host), found.ref) == (told.host, told.ref or "main")
    assert found.anchor == (Revision(told.anchor) if told.anchor else None)
    assert str(found.state_dir) == (told.state_dir or "/var/lib/datum")
    assert str(found.enforcement) == (told.enforcement or "enforce")
    for remote in found.remotes:
        for key in ACCESS:
            assert getattr(remote, key) in {"", told.access.get(key)}
    assert differences(found, told, str, Said()) == ()


def test_credentials_go_to_the_remotes_of_their_transport_only() -> None:
    https, ssh = read(composed(Told((HTTPS, SSH), "web1", access=ACCESS))).remotes
    assert (https.token_file, https.key_file) == ("/etc/datum/token", "")
    assert (ssh.token_file, ssh.key_file) == ("", "/etc/datum/ssh_key")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repos": ("/srv/other",)}, "repo /srv/fleet.git"),
        ({"repos": ("/srv/fleet.git", HTTPS)}, "repo /srv/fleet.git"),
        ({"host": "web2"}, "host web1"),
        ({"ref": "topic"}, "ref main"),
        ({"enforcement": "hold"}, "nothing of enforcement, so enforce"),
    ],
)
def test_what_a_configuration_says_otherwise_is_named(change: dict[str, Any], said: str) -> None:
    told = Told(("/srv/fleet.git",), "web1")
    assert differences(read(composed(told)), evolve(told, **change), str, parse_config(composed(told), "f")) == (said,)


def test_what_was_not_told_differs_from_nothing() -> None:
    assert differences(read(composed(Told(("/srv/fleet.git",), "web1", "topic"))), Told(), str, Said()) == ()


@pytest.mark.parametrize(
    "text",
    [
        "repo: /f\nhost: web1\n",
        "repo: /f\nhost: web1\ntrust:\n  policy: none\n",
        "repo: /f\nhost: web1\ntrust:\n    # why\n    policy: none\n",
        f"repo: /f\ntrust:\n  anchor: '{OTHER}'\n  policy: none\nhost: web1\n",
        f"trust:\n  policy: none\n  anchor: '{OTHER}' # old\n\nrepo: /f\nhost: web1\n",
        "# mine\nrepo: /f\nhost: web1",
    ],
)
def test_an_anchor_is_written_into_lines_of_its_own(text: str) -> None:
    made = anchored(text, ANCHOR, PATH)
    assert parse_config(made.encode(), "f").text("trust.anchor") == ANCHOR
    kept = [line for line in text.splitlines() if "anchor:" not in line]
    assert [line for line in made.splitlines() if line in kept] == kept
    assert anchored(made, ANCHOR, PATH) == made


@pytest.mark.parametrize(
    "text",
    ["trust: {policy: none}\nrepo: /f\n", '{"repo": "/f", "host": "web1"}\n', "trust:   # why\n  policy: none\n"],
)
def test_what_cannot_be_changed_by_lines_is_left_to_a_person(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        anchored(text, ANCHOR, PATH)
    (found,) = caught.value.diagnostics
    assert found.code == "anchor-not-written"
    assert ANCHOR in found.hint


def test_a_renamed_configuration_keeps_every_other_line() -> None:
    text = "# mine\nhost: old1 # was\nrepo: /f\nsource:\n  timeout: 5\n"
    assert renamed(text, HostName("new1")) == "# mine\nhost: 'new1'\nrepo: /f\nsource:\n  timeout: 5\n"


_WORDS = st.characters(codec="ascii", categories=["L", "N", "P", "S"], exclude_characters="@")


@given(st.text(_WORDS, min_size=1, max_size=20))
def test_any_path_reads_back(name: str) -> None:
    path = "/" + "/".join(part for part in f"srv/{name}".split("/") if part not in {"", "."})
    assert read(composed(Told((path,), "web1"))).repo == path


def test_a_file_has_its_mode_whatever_the_umask_and_so_have_folders_that_are_made(tmp_path: Path) -> None:
    """The account that talks to servers reads pinned keys, and a group reads what `leave` writes."""
    old = os.umask(0o077)
    try:
        write_whole(tmp_path / "a" / "b" / "open", b"", mode=0o644)
        write_whole(tmp_path / "a" / "b" / "group", b"", mode=0o640)
    finally:
        os.umask(old)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/open", "a/b/group")]
    assert modes == [0o755, 0o755, 0o644, 0o640]


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    write_whole(tmp_path / "own" / "file", b"", mode=0o644)
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
