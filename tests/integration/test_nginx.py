"""The mirror against nginx with git's http-backend: the server that most repositories over https stand behind."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve

from datum.errors import RepositoryUnreachableError, RevisionNotFoundError
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from tests.git_repository import GitRepository
from tests.harness.image import ImageError
from tests.remotes import debian
from tests.remotes.certificates import Authority
from tests.remotes.folder import open_folder
from tests.remotes.nginx import NginxServer, Served

LIMIT = 100_000_000
TOKEN = "t0ken-of-the-tests"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def certificate(authority: Authority) -> Path:
    return authority.issue("localhost")


@pytest.fixture(autouse=True, scope="session")
def unpacked() -> None:
    try:
        debian.find_or_unpack()
    except ImageError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@define
class Net:
    """A repository that nginx can serve, and the mirror of a host."""

    folder: Path
    repository: GitRepository
    authority: Authority
    certificate: Path
    mirror: Mirror
    remote: Remote

    @contextmanager
    def serving(self, **how: Any) -> Iterator[NginxServer]:
        """Serve the repository, as the mirror's remote from then on."""
        with NginxServer(self.folder / "srv", self.certificate, **how) as server:
            self.remote = Remote(server.url(), ca_file=str(self.authority.path))
            yield server

    def shown_authority(self) -> Path:
        """Return a copy of the authority that nginx may read."""
        return Path(shutil.copyfile(self.authority.path, self.folder / "shown.pem"))

    def ask(self, ref: str = "main", *, timeout: float = 20) -> Revision:
        return self.mirror.ask(self.remote, ref, timeout=timeout)

    def take(self, *, limit: int = LIMIT) -> Revision:
        revision = self.ask()
        self.mirror.fetch(self.remote, "main", revision, timeout=60, byte_limit=limit)
        self.mirror.promote(revision)
        return revision

    def refusal(self, act: Callable[[], object] | None = None) -> Any:
        """Return the one diagnostic of a remote that cannot be used."""
        with pytest.raises(RepositoryUnreachableError) as caught:
            (act or self.ask)()
        (found,) = caught.value.diagnostics
        assert found.summary
        assert found.hint
        return found


@pytest.fixture
def net(authority: Authority, certificate: Path) -> Iterator[Net]:
    with open_folder() as folder:
        repository = GitRepository(folder / "srv" / "fleet")
        repository.commit({"fleet.yaml": "one\n"}, "first")
        with Mirror.open(folder / "state", run_program) as mirror:
            yield Net(folder, repository, authority, certificate, mirror, Remote("https://localhost/not-served"))


def posted(served: list[Served]) -> list[Served]:
    return [one for one in served if one.method == "POST"]


def test_a_revision_is_asked_for_fetched_and_kept(net: Net) -> None:
    net.repository.git("tag", "-a", "-m", "x", "v1")
    with net.serving():
        first = net.take()
        assert net.ask("v1").commit == net.ask("HEAD").commit == first.commit
        net.repository.commit({"fleet.yaml": "two\n"})
        second = net.take()
        with pytest.raises(RevisionNotFoundError, match="It has main"):
            net.ask("gone")
    assert net.mirror.tree(second).read("fleet.yaml") == b"two\n"
    assert net.mirror.is_descendant(second, first)


def test_an_unchanged_poll_is_two_requests_however_many_refs_are_there(net: Net) -> None:
    """At most 2 KB of heads and bodies, what nginx adds to them included."""
    head = net.repository.head
    lines = "".join(f"{head} refs/heads/b{number:05}\n" for number in range(10_000))
    (net.repository.path / ".git/packed-refs").write_text(lines)
    with net.serving() as server:
        assert net.ask().commit == head
        served = server.served()
    assert [one.method for one in served] == ["GET", "POST"]
    assert sum(one.received + one.sent for one in served) < 2048


def test_a_server_that_drops_the_wish_for_protocol_2_is_told(net: Net) -> None:
    """It is what a configuration without that one line does."""
    with net.serving(passes_protocol=False):
        found = net.refusal()
    assert found.code == "remote-without-protocol-2"
    assert "Git-Protocol" in found.hint


def test_a_token_lets_in(net: Net) -> None:
    """At once: no request is answered with 401 first."""
    password = subprocess.run(["openssl", "passwd", "-apr1", TOKEN], capture_output=True, check=True, text=True).stdout
    users = net.folder / "users"
    users.write_text(f"deploy:{password}")
    token = net.folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with net.serving(location=f'auth_basic "fleet"; auth_basic_user_file {users};') as server:
        assert net.refusal().code == "login-refused"
        net.remote = evolve(net.remote, token_file=str(token), token_user="deploy")
        net.take()
        token.write_text("another")
        assert net.refusal().code == "login-refused"
        statuses = [one.status for one in server.served()]
    assert statuses == [401, 200, 200, 200, 200, 401]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (403, "access-refused"),
        (404, "repository-missing"),
        (413, "remote-fails"),
        (429, "remote-fails"),
        (500, "remote-fails"),
        (503, "remote-fails"),
    ],
)
def test_each_refusal_is_told_for_what_it_is(net: Net, status: int, code: str) -> None:
    with net.serving(location=f"return {status};"):
        found = net.refusal()
    assert found.code == code
    assert str(status) in found.detail or code == "repository-missing"


def test_a_backend_that_is_gone_is_told(net: Net) -> None:
    with net.serving() as server:
        revision = net.ask()
        server.stop_backend()
        assert net.refusal().code == "remote-fails"
        found = net.refusal(lambda: net.mirror.fetch(net.remote, "main", revision, timeout=20, byte_limit=LIMIT))
    assert found.code == "remote-fails"
    assert "502" in found.detail


def test_a_backend_that_hangs_is_told(net: Net) -> None:
    """By the gateway where that gives up first, by this host's deadline where it does not."""
    hanging = net.folder / "hanging"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o755)
    with net.serving(backend=str(hanging), location="fastcgi_read_timeout 1s;"):
        found = net.refusal()
        assert (found.code, "504" in found.detail) == ("remote-fails", True)
    with net.serving(backend=str(hanging)):
        assert net.refusal(lambda: net.ask(timeout=1.5)).code == "remote-timeout"


def test_a_redirection_is_not_followed(net: Net) -> None:
    """As to the page of a repository, or after it was moved."""
    with NginxServer(net.folder / "srv", net.certificate) as other, net.serving(location=f"return 301 {other.url()};"):
        found = net.refusal()
        assert found.code == "remote-redirects"
        assert other.url() in found.detail
        assert not other.served()


def test_a_server_that_wants_a_certificate(net: Net) -> None:
    """It says so with 400, of which git shows the number only."""
    both = net.authority.issue("web1")
    key = net.folder / "web1.key"
    key.write_bytes(both.read_bytes())
    key.chmod(0o600)
    with net.serving(server=f"ssl_client_certificate {net.shown_authority()}; ssl_verify_client on;"):
        found = net.refusal()
        assert found.code == "remote-fails"
        assert "400" in found.detail
        net.remote = evolve(net.remote, cert_file=str(key), cert_key_file=str(key))
        net.take()


def test_a_page_is_no_repository(net: Net) -> None:
    with net.serving(location='default_type text/html; return 200 "<html>hello</html>";'):
        assert net.refusal().code == "remote-without-protocol-2"


SERVED_AS = {
    "closes after each answer": "keepalive_timeout 0;",
    "closes after each request": "keepalive_requests 1;",
    "ends a body with the connection": "chunked_transfer_encoding off; keepalive_timeout 0;",
    "compresses": "gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;",
    "has no room for answers": "fastcgi_max_temp_file_size 0; fastcgi_buffers 4 4k; fastcgi_busy_buffers_size 8k;",
    "takes requests as they come": "fastcgi_request_buffering off;",
}


@pytest.mark.parametrize("name", SERVED_AS)
def test_servers_are_set_up_in_many_ways(net: Net, name: str) -> None:
    net.repository.commit({"large": os.urandom(300_000), "text": "word " * 100_000})
    with net.serving(server=SERVED_AS[name]):
        revision = net.take()
    assert len(net.mirror.tree(revision).read("large")) == 300_000


def test_a_large_fetch_comes_whole(net: Net) -> None:
    """More than nginx keeps in memory."""
    net.repository.commit({f"large{number}": os.urandom(8 << 20) for number in range(3)})
    with net.serving():
        revision = net.take()
    assert len(net.mirror.tree(revision).read("large2")) == 8 << 20


def long_history(net: Net) -> None:
    """Have the mirror know much that the server does not, which it then tells: a request of more than a kilobyte."""
    for number in range(60):
        net.repository.commit({"fleet.yaml": f"{number}\n"})
    with net.serving():
        net.take()
    net.repository.git("checkout", "--quiet", "--orphan", "other")
    net.repository.commit({"fleet.yaml": "rewritten\n"})
    net.repository.git("branch", "-M", "other", "main")
    net.repository.git("reflog", "expire", "--expire=now", "--all")
    net.repository.git("gc", "--quiet", "--prune=now")


def test_a_long_request_is_compressed_and_taken(net: Net) -> None:
    long_history(net)
    with net.serving() as server:
        net.take()
        assert any(one.content == "gzip" for one in posted(server.served()))


def test_a_server_that_takes_short_requests_only_is_told(net: Net) -> None:
    """A poll goes through; what a fetch tells of the mirror does not."""
    long_history(net)
    with net.serving(server="client_max_body_size 400;"):
        net.ask()
        found = net.refusal(net.take)
    assert found.code == "remote-fails"
    assert "413" in found.detail


def test_a_shallow_server_is_named(net: Net) -> None:
    net.repository.commit({"a": "b"})
    clone = net.folder / "srv" / "shallow"
    net.repository.git("clone", "--quiet", "--depth=1", f"file://{net.repository.path}", str(clone))
    with net.serving() as server:
        net.remote = evolve(net.remote, url=server.url("shallow"))
        assert net.refusal(net.take).code == "remote-shallow"


def test_a_server_that_ends_in_the_middle_of_a_pack_is_told(net: Net) -> None:
    """Git dies there, and nginx says so by what it does not send; the next pass fetches all of it."""
    net.repository.commit({"large": os.urandom(4 << 20)})
    cutting = net.folder / "cutting"
    cutting.write_text("#!/bin/sh\n/usr/lib/git-core/git-http-backend | head -c 1000000\n")
    cutting.chmod(0o755)
    with net.serving():
        revision = net.ask()
    with net.serving(backend=str(cutting)):
        found = net.refusal(lambda: net.mirror.fetch(net.remote, "main", revision, timeout=60, byte_limit=LIMIT))
    assert found.code in {"remote-closed-early", "fetch-failed"}
    assert not (net.folder / "state/quarantine").exists()
    with net.serving():
        assert net.take() == revision


def test_a_name_without_a_repository_is_told(net: Net) -> None:
    with net.serving() as server:
        net.remote = evolve(net.remote, url=server.url("none"))
        assert net.refusal().code == "repository-missing"
