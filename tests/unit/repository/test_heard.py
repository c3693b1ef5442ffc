"""What was met on the way to a server: read from a look's data and from ssh's own words, never from a server's."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve

import datum.repository.hops
from datum.provider.host import Command, CommandOutcome, HostError
from datum.repository.heard import Certificate, Heard, first_hop, look_at_hops, pinned_keys, what_was_heard
from datum.repository.hops import look, main
from datum.repository.libraries import library_versions
from datum.repository.remote import Remote

HTTPS: Final = Remote("https://h:8443/x", ca_file="/c")
SSH: Final = Remote("ssh://git@h/x", key_file="/k", known_hosts_file="/n")
KEY: Final = "SHA256:" + "a" * 43
OTHER: Final = "SHA256:" + "b" * 43
CERTIFICATE: Final = {
    "subject": [[["commonName", "h"]]],
    "issuer": [[["organizationName", "Org"]], [["commonName", "Authority"]]],
    "subjectAltName": [["DNS", "h"], ["DNS", "i"]],
    "notAfter": "Jan  2 12:00:00 2026 GMT",
}


def heard(remote: Remote, seen: Any = None, *words: str, pinned: tuple[str, ...] = ()) -> Heard:
    outcomes = [CommandOutcome(0, b"", text.encode()) for text in words]
    return what_was_heard(remote, seen or {}, outcomes, pinned)


def test_a_look_is_read() -> None:
    seen = {
        "addresses": ["10.0.0.1", "::1"],
        "peer": "::1",
        "certificate": CERTIFICATE,
        "tls": "TLSv1.3",
        "status": 401,
        "date": "Fri, 02 Jan 2026 12:00:00 GMT",
        "now": 1_767_355_190.0,
    }
    found = heard(HTTPS, seen)
    assert found == Heard(
        addresses=("10.0.0.1", "::1"),
        peer="::1",
        certificate=Certificate("h", "Authority", ("h", "i"), 1_767_355_200.0, "TLSv1.3"),
        status=401,
        ahead=10.0,
    )


@pytest.mark.parametrize(
    "seen",
    [
        {"addresses": 1, "certificate": [], "status": "x", "date": "yesterday", "now": "z"},
        {"certificate": {"notAfter": "never", "subject": "x", "issuer": [[["organizationName"]]]}},
        {"date": "Fri, 02 Jan 2026 12:00:00 GMT"},
    ],
)
def test_data_that_is_odd_is_nothing(seen: Any) -> None:
    found = heard(HTTPS, seen)
    assert (found.addresses, found.status, found.ahead) == ((), 0, None)
    assert found.certificate in {None, Certificate()}


def test_keys_are_those_that_ssh_tells() -> None:
    found = heard(
        SSH,
        None,
        f"debug1: Server host key: ssh-ed25519 {KEY}\nAuthenticated to h\nremote: debug1: Server host key: x {OTHER}\n",
        pinned=("ED25519 x",),
    )
    assert (found.offered_keys, found.pinned_keys, found.is_let_in) == ((f"ssh-ed25519 {KEY}",), ("ED25519 x",), True)
    changed = f"The fingerprint for the ED25519 key sent by the remote host is\n{OTHER}.\nPlease contact\n"
    assert heard(SSH, None, changed).offered_keys == (f"ED25519 {OTHER}",)
    assert not heard(SSH, None, changed).is_let_in


def test_the_address_that_took_the_connection_is_told_by_ssh() -> None:
    """The one that refused before is none."""
    text = (
        "debug1: Connecting to h [::1] port 22.\ndebug1: connect to address ::1 port 22: Connection refused\n"
        "debug1: Connecting to h [10.0.0.1] port 22.\ndebug1: Connection established.\n"
    )
    assert heard(SSH, None, text).peer == "10.0.0.1"
    assert heard(SSH, None, text.rpartition("debug1: Connection")[0]).peer == ""


def test_a_server_that_was_let_to_speak_offers_no_key_by_words() -> None:
    """What it says after that is its own, whatever it looks like."""
    text = f"Authenticated to h\ndebug1: Server host key: ssh-ed25519 {OTHER}\n"
    assert heard(SSH, None, text).offered_keys == ()
    assert heard(HTTPS, None, text) == Heard()


def test_the_first_hop_is_the_remote_its_proxy_or_its_jump_host() -> None:
    assert (first_hop(HTTPS).host, first_hop(HTTPS).port) == ("h", 8443)
    assert first_hop(evolve(HTTPS, proxy="http://p:3128")).port == 3128
    assert first_hop(evolve(SSH, jump="ann@j:2222")).host == "j"


def test_a_look_that_fails_is_its_error() -> None:
    def late(command: Command) -> CommandOutcome:
        raise HostError("It was late.")

    assert "It was late." in look_at_hops(late, HTTPS)["error"]
    assert "error" in look_at_hops(lambda _: CommandOutcome(0, b"{", b""), HTTPS)
    assert look_at_hops(lambda _: CommandOutcome(0, b"[]", b""), HTTPS) == {}


def test_the_look_is_told_where_to() -> None:
    asked: list[tuple[str, ...]] = []

    def run(command: Command) -> CommandOutcome:
        asked.append(command.argv)
        return CommandOutcome(0, b"{}", b"")

    look_at_hops(run, HTTPS)
    look_at_hops(run, SSH)
    look_at_hops(run, evolve(HTTPS, proxy="socks5h://p:1080"))
    look_at_hops(run, evolve(HTTPS, proxy="http://p:1", proxy_user="u", proxy_password_file="/p"))
    assert [argv[3:6] for argv in asked[2:]] == [("p", "1080", ""), ("p", "1", "")]
    assert asked[0][3:] == ("h", "8443", HTTPS.url, "/c", "")
    assert asked[1][3:] == ("h", "22", "", "", "")


def test_pinned_keys_are_told_by_ssh_keygen() -> None:
    text = f"# Host h found: line 1 \nh ED25519 {KEY} \n# Host h found: line 2\nh RSA {OTHER} a comment\n"
    assert pinned_keys(lambda _: CommandOutcome(0, text.encode(), b""), SSH) == (f"ED25519 {KEY}", f"RSA {OTHER}")

    def missing(command: Command) -> CommandOutcome:
        raise HostError("no")

    assert pinned_keys(missing, SSH) == ()


def test_a_look_ends_where_nothing_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = look("localhost", 1, "https://localhost:1/x", "", "")
    assert seen["addresses"]
    assert "refused" in seen["error"]
    assert "peer" not in seen
    assert set(look("localhost", 1, "", "", "")) == {"addresses"}
    assert set(look("no-such-name.invalid", 1, "", "", "")) == {"error"}
    main(["localhost", "1", "https://localhost:1/x", "", ""])
    assert json.loads(capsys.readouterr().out)["error"]
    monkeypatch.setattr(sys, "argv", ["hops.py", "localhost", "1", "https://localhost:1/x", "", ""])
    runpy.run_path(str(Path(datum.repository.hops.__file__)), run_name="__main__")
    assert json.loads(capsys.readouterr().out)["error"]


def test_libraries_say_their_versions() -> None:
    assert set(library_versions()) == {"pygit2", "libgit2"}
