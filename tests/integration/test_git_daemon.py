"""git's daemon is refused: nothing proves whom one talks to, and nothing protects what is said."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from datum.agent.settings import Options, read_settings
from datum.errors import DatumError, RepositoryUnreachableError, SettingsError
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.repository.https import https_route
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote, normal_remote
from tests.git_repository import GitRepository
from tests.remotes.certificates import Authority
from tests.remotes.daemon import GitDaemon
from tests.remotes.https import HttpsServer


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[GitDaemon]:
    GitRepository(tmp_path / "srv" / "fleet").commit({"fleet.yaml": "one\n"})
    with GitDaemon(tmp_path / "srv") as running:
        yield running


def test_a_daemon_that_serves_is_refused_before_anything_is_sent(daemon: GitDaemon) -> None:
    """With what to write instead."""
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    listed = subprocess.run(
        ["git", "ls-remote", daemon.url()], env=environment, capture_output=True, check=True, text=True
    )
    assert "refs/heads/main" in listed.stdout
    seen = daemon.connections
    assert seen
    with pytest.raises(SettingsError) as caught:
        normal_remote(daemon.url())
    (found,) = caught.value.diagnostics
    assert found.code == "transport-refused"
    assert "whoever is on the way could change what this host is told to be" in found.detail
    assert "https://" in found.hint
    assert "ssh://" in found.hint
    assert daemon.connections == seen


def test_a_configuration_and_a_command_line_that_name_one_are_refused(daemon: GitDaemon, tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(f"host: web1\nrepo: {daemon.url()}\n")
    for options in (
        Options(config=str(config)),
        Options(repo=daemon.url(), host="web1", config=str(tmp_path / "none"), root=str(tmp_path)),
    ):
        with pytest.raises(DatumError) as caught:
            read_settings(options, needs_file=False)
        assert caught.value.diagnostics[0].code == "transport-refused"
    assert not daemon.connections


def test_no_redirection_leads_to_one(daemon: GitDaemon, tmp_path: Path) -> None:
    """Not even one that git would follow."""
    authority = Authority(tmp_path / "authority")

    def redirect(handler: object) -> bool:
        handler.answer(301, {"Location": f"{daemon.url()}/info/refs"}, b"")  # type: ignore[attr-defined]
        return True

    with (
        HttpsServer(tmp_path / "srv", authority.issue("localhost"), instead=redirect) as server,
        Mirror.open(tmp_path / "state", run_program) as mirror,
    ):
        remote = Remote(server.url(), ca_file=str(authority.path))
        with pytest.raises(RepositoryUnreachableError):
            mirror.ask(remote, "main", timeout=20)
        with pytest.raises(RepositoryUnreachableError):
            mirror.fetch(remote, "main", Revision("1" * 40), timeout=20, byte_limit=10_000_000)
    assert not daemon.connections


def test_git_itself_would_not_speak_to_one(daemon: GitDaemon) -> None:
    """A remote that got past the check of its URL gets no further: each program may speak one protocol only."""
    route = https_route(Remote("https://localhost:1/x"), None)
    environment = {"PATH": os.environ["PATH"], **route.environment}
    done = subprocess.run(["git", "ls-remote", daemon.url()], env=environment, capture_output=True, check=False)
    assert done.returncode
    assert b"not allowed" in done.stderr
    assert not daemon.connections
