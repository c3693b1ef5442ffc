"""Links that are cut while a revision comes: told in time, nothing of it is left, and the next pass has all of it."""

import os
import re
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from datum.errors import RepositoryUnreachableError
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from tests.git_repository import GitRepository
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer
from tests.remotes.proxy import Proxy

ROOT = Path(__file__).parents[2]
SIZE = 2 << 20
# Closing with it on and no time to linger resets the connection: socket(7).
RESET = struct.pack("ii", 1, 0)


@define
class Link(Proxy):
    """A link that is cut when so many bytes have gone through it; how, is the name of a method."""

    how: str = "closed"
    limit: int = 1 << 20
    _held: list[socket.socket] = field(factory=list)

    def _move(self, client: socket.socket, server: socket.socket) -> None:
        """Carry bytes as ever, up to the limit."""
        count, listening = 0, {client: server, server: client}
        for side in listening:
            side.setblocking(False)
        while count < self.limit:
            for side, other in listening.items():
                try:
                    data = side.recv(1 << 14)
                except BlockingIOError:
                    continue
                if not data:
                    return
                count += len(data)
                other.setblocking(True)
                other.sendall(data)
                other.setblocking(False)
            time.sleep(0.0001)
        getattr(self, self.how)(client)

    def closed(self, client: socket.socket) -> None:
        """As a server that restarts."""
        client.shutdown(socket.SHUT_RDWR)

    def reset(self, client: socket.socket) -> None:
        """As a firewall that forgot the connection."""
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    def silent(self, client: socket.socket) -> None:
        """As a cable that was pulled: nobody hears of it."""
        client.setblocking(True)
        while client.recv(1 << 14):
            pass


@define
class Net:
    """A repository behind a server, and the mirror of a host."""

    state: Path
    repository: GitRepository
    remote: Remote
    mirror: Mirror

    def fetch(self, revision: Revision, *, timeout: float = 20) -> None:
        self.mirror.fetch(self.remote, "main", revision, timeout=timeout, byte_limit=100_000_000)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def net(tmp_path: Path, authority: Authority) -> Iterator[Net]:
    repository = GitRepository(tmp_path / "srv" / "fleet")
    repository.commit({"fleet.yaml": "one\n"}, "first")
    with (
        HttpsServer(tmp_path / "srv", authority.issue("localhost")) as server,
        Mirror.open(tmp_path / "state", run_program) as mirror,
    ):
        yield Net(tmp_path / "state", repository, Remote(server.url(), ca_file=str(authority.path)), mirror)


@pytest.mark.parametrize(
    ("how", "codes"),
    [
        ("closed", {"remote-closed-early", "fetch-failed"}),
        ("reset", {"remote-closed-early", "fetch-failed"}),
        ("silent", {"remote-timeout"}),
    ],
)
def test_a_link_that_is_cut_in_the_middle_of_a_pack(net: Net, how: str, codes: set[str]) -> None:
    first = net.mirror.ask(net.remote, "main", timeout=20)
    net.fetch(first)
    net.mirror.promote(first)
    net.repository.commit({"large": os.urandom(SIZE)})
    second = net.mirror.ask(net.remote, "main", timeout=20)
    direct = net.remote
    with Link(how=how) as link:
        net.remote = evolve(direct, proxy=link.url)
        with pytest.raises(RepositoryUnreachableError) as caught:
            net.fetch(second, timeout=3)
    assert caught.value.diagnostics[0].code in codes
    assert sorted(path.name for path in net.state.iterdir()) == ["mirror.git"]
    assert net.mirror.is_sound([first])
    net.remote = direct
    net.fetch(second)
    net.mirror.promote(second)
    assert len(net.mirror.tree(second).read("large")) == SIZE


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_a_link_that_is_cut_in_a_question(net: Net, how: str) -> None:
    with Link(how=how, limit=600) as link:
        net.remote = evolve(net.remote, proxy=link.url)
        with pytest.raises(RepositoryUnreachableError) as caught:
            net.mirror.ask(net.remote, "main", timeout=20)
    (found,) = caught.value.diagnostics
    assert found.code in {"remote-closed-early", "encryption-failed"}, found.detail


def test_a_server_that_is_exchanged_between_question_and_fetch(net: Net, tmp_path: Path) -> None:
    """Another one answers at the same address: its certificate is looked at in each connection."""
    revision = net.mirror.ask(net.remote, "main", timeout=20)
    other = Authority(tmp_path / "other", "Another one")
    with HttpsServer(tmp_path / "srv", other.issue("localhost")) as server:
        net.remote = evolve(net.remote, url=server.url())
        with pytest.raises(RepositoryUnreachableError) as caught:
            net.fetch(revision)
        assert not server.requests
    assert caught.value.diagnostics[0].code == "certificate-untrusted"


def test_every_fault_that_the_record_lists_has_its_test() -> None:
    """Each line names tests by file and name, and all of them are there."""
    text = (ROOT / "adr/0045-transports.md").read_text()
    named: list[Any] = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(named) > 20
    for file, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / file).read_text(), re.MULTILINE), f"{file}::{name}"
