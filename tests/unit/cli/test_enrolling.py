"""What `datum init` runs before there is a configuration, and what it makes at its end (ADR 0048)."""

from pathlib import Path
from typing import Any

import pytest

from datum.agent.configuration import Told
from datum.agent.resolver.identity import RESOLVER_ACCOUNT
from datum.agent.settings import Options, Settings
from datum.cli import enrolling
from datum.cli.effects import make_ports
from datum.cli.enrolling import Enrolling, Wish
from datum.diagnostics import Diagnostic
from datum.errors import StateError

URL = "ssh://git@git.example.org/fleet"


def test_the_key_is_hidden_from_what_asks_a_server_for_its_keys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """ssh-keyscan talks to whoever answers, and has no use for a key."""
    given: list[Settings] = []
    monkeypatch.setattr(enrolling, "source_account", given.append)
    told = Told(repos=(URL,), access={"key_file": "/etc/datum/ssh_key", "jump": "git@h"})
    Enrolling(Wish(told, Options(root=str(tmp_path))), make_ports({}))._source_run(URL)
    assert [remote.secrets for remote in given[0].remotes] == [(str(tmp_path / "etc/datum/ssh_key"),)]


@pytest.mark.parametrize("refuses", [False, True])
def test_the_account_that_reads_revisions_is_made_and_none_is_no_end(
    monkeypatch: pytest.MonkeyPatch, *, refuses: bool
) -> None:
    """The host is enrolled by then: what is wrong with the account is a warning."""
    found = Diagnostic(code="source-account-not-made", summary="It could not be made.", detail="A test.")
    made: list[str] = []

    def make(_run: Any, name: str) -> bool:
        made.append(name)
        if refuses:
            raise StateError(found)
        return True

    monkeypatch.setattr(enrolling, "make_source_account", make)
    enrolment = Enrolling(Wish(Told(), Options()), make_ports({}))
    assert enrolment._make_account_of_resolver() == ((found,) if refuses else ())
    assert made == [RESOLVER_ACCOUNT]


@pytest.mark.parametrize("wish", [Wish(Told(), Options(), has_account=False), Wish(Told(), Options(root="/tmp"))])
def test_below_another_root_and_where_none_is_wanted_no_account_is_made(
    monkeypatch: pytest.MonkeyPatch, wish: Wish
) -> None:
    monkeypatch.setattr(enrolling, "make_source_account", lambda *_: pytest.fail("it was made"))
    assert Enrolling(wish, make_ports({}))._make_account_of_resolver() == ()
