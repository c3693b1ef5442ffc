"""The mirror against what only pretends to be an ssh server; real ones are in test_ssh.py."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from datum.errors import RepositoryUnreachableError
from datum.host.program import run_program
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from tests.remotes.hostile import HostileServer
from tests.remotes.ssh import make_key

BANNER = b"SSH-2.0-OpenSSH_9.2\r\n"


def silent(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


def hanging_after_the_banner(connection: socket.socket) -> None:
    connection.sendall(BANNER)
    silent(connection)


def closing(connection: socket.socket) -> None:
    connection.recv(1)


def closing_after_the_banner(connection: socket.socket) -> None:
    connection.sendall(BANNER)
    connection.recv(1 << 16)


def endless(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x" * 1000 + b"\r\n")


def noise(connection: socket.socket) -> None:
    connection.sendall(BANNER)
    while True:
        connection.sendall(b"\x00\x00\x10\x00" * 1000)


def web(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize(
    ("script", "codes"),
    [
        (silent, {"remote-timeout"}),
        (hanging_after_the_banner, {"remote-timeout"}),
        (closing, {"remote-closed-early"}),
        (closing_after_the_banner, {"remote-closed-early"}),
        (endless, {"remote-closed-early", "encryption-failed"}),
        (noise, {"remote-closed-early", "encryption-failed"}),
        (web, {"remote-closed-early"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_pretends_to_be_a_server_is_unreachable(
    tmp_path: Path, script: Callable[[socket.socket], None], codes: set[str]
) -> None:
    """Within the deadline, with a reason."""
    make_key(tmp_path / "key")
    (tmp_path / "known_hosts").touch()
    with HostileServer(script) as server, Mirror.open(tmp_path / "state", run_program) as mirror:
        remote = Remote(
            server.url("ssh"), key_file=str(tmp_path / "key"), known_hosts_file=str(tmp_path / "known_hosts")
        )
        with pytest.raises(RepositoryUnreachableError) as caught:
            mirror.ask(remote, "main", timeout=2.5 if "remote-timeout" in codes else 30)
    (found,) = caught.value.diagnostics
    assert found.code in codes, found
    assert remote.url in found.detail
