"""The second look at a server over https, and that it decides nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from datum.diagnostics import Diagnostic
from datum.provider.host import Command, CommandOutcome, HostError
from datum.repository.https import explained
from datum.repository.look import look, main
from datum.repository.remote import Remote
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer
from tests.remotes.proxy import Proxy

FOUND = Diagnostic(code="remote-redirects", summary="The remote sends elsewhere.", detail="302.", hint="Look.")


def test_it_sees_through_a_proxy_where_a_server_sends_to(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    def redirect(handler: Any) -> bool:
        handler.answer(302, {"Location": "https://elsewhere.example/x"}, b"")
        return True

    with HttpsServer(tmp_path, authority.issue("localhost"), instead=redirect) as server, Proxy() as proxy:
        for way in ("", proxy.url):
            assert look(server.url(), str(authority.path), way) == {"location": "https://elsewhere.example/x"}
        assert len(proxy.asked) == 1
        assert "authorization" not in server.requests[0].headers
        assert look(server.url(), "", "")["problem"]
    assert look("https://localhost:1/x", str(authority.path), "") == {}


def test_it_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(["https://localhost:1/x", "", ""], "")
    assert json.loads(capsys.readouterr().out) == {}


@pytest.mark.parametrize("answer", [b"", b"{", b"{}", None])
def test_a_look_that_shows_nothing_changes_nothing(answer: bytes | None) -> None:
    def run(command: Command) -> CommandOutcome:
        if answer is None:
            raise HostError("late")
        return CommandOutcome(0, answer, b"")

    assert explained(run, Remote("https://h/x"), FOUND) == FOUND


def test_where_it_sends_to_is_shown_without_credentials_and_escapes() -> None:
    """It is the text of a server."""
    text = json.dumps({"location": "https://ann:s3cret@h/\x1b[2Jx" + "y" * 1000}).encode()
    found = explained(lambda _: CommandOutcome(0, text, b""), Remote("https://h/x"), FOUND)
    assert "s3cret" not in found.detail
    assert "\x1b" not in found.detail
    assert found.detail.startswith("302. It sends to https://h/[2Jxyy")
    assert len(found.detail) < 400


def test_only_what_needs_a_look_gets_one() -> None:
    other = Diagnostic(code="remote-fails", summary="x", detail="y")
    assert explained(lambda _: pytest.fail("looked"), Remote("https://h/x"), other) == other
