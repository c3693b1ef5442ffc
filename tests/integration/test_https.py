"""The mirror against git servers over https: real ones, wrong ones and hostile ones."""

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve

from datum.errors import DatumError, RepositoryUnreachableError, RevisionNotFoundError
from datum.host.names import Account
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.provider.host import Command, CommandOutcome
from datum.repository.access import check_key, read_token
from datum.repository.account import SourceAccount
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from tests.git_repository import GitRepository
from tests.remotes.certificates import Authority
from tests.remotes.folder import open_folder
from tests.remotes.hostile import CAPABILITIES, HostileServer, head, packet, read_request
from tests.remotes.https import HttpsServer
from tests.remotes.proxy import Proxy

LIMIT = 10_000_000
NOBODY = 65534
TOKEN = "t0ken-of-the-tests"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def certificate(authority: Authority) -> Path:
    return authority.issue("localhost")


@define
class Net:
    """A repository behind a server, and the mirror of a host."""

    folder: Path
    repository: GitRepository
    server: HttpsServer
    remote: Remote
    mirror: Mirror
    commands: list[Command]

    def ask(self, ref: str = "main", *, timeout: float = 20) -> Revision:
        return self.mirror.ask(self.remote, ref, timeout=timeout)

    def fetch(self, revision: Revision, *, limit: int = LIMIT, timeout: float = 20) -> None:
        self.mirror.fetch(self.remote, "main", revision, timeout=timeout, byte_limit=limit)

    def mirror_argv(self) -> tuple[str, ...]:
        """Return the command line of a question."""
        self.ask()
        return self.commands[-1].argv

    def refusal(self, act: Callable[[], object] | None = None) -> Any:
        """Return the one diagnostic of a remote that cannot be used."""
        with pytest.raises(RepositoryUnreachableError) as caught:
            (act or self.ask)()
        return told(caught)


def told(error: pytest.ExceptionInfo[DatumError]) -> Any:
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.summary
    assert diagnostic.detail
    assert diagnostic.hint
    return diagnostic


@pytest.fixture
def net(tmp_path: Path, authority: Authority, certificate: Path) -> Iterator[Net]:
    repository = GitRepository(tmp_path / "srv" / "fleet")
    repository.commit({"fleet.yaml": "one\n"}, "first")
    commands: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        commands.append(command)
        return run_program(command)

    with HttpsServer(tmp_path / "srv", certificate) as server, Mirror.open(tmp_path / "state", run) as mirror:
        remote = Remote(server.url(), ca_file=str(authority.path))
        yield Net(tmp_path, repository, server, remote, mirror, commands)


# What works


def test_a_revision_is_asked_for_fetched_and_kept(net: Net) -> None:
    net.repository.git("tag", "-a", "-m", "x", "v1")
    revision = net.ask()
    assert str(revision) == f"main@sha1:{net.repository.head}"
    assert net.ask("v1").commit == net.ask("HEAD").commit == revision.commit
    net.fetch(revision)
    net.mirror.promote(revision)
    assert net.mirror.tree(revision).read("fleet.yaml") == b"one\n"
    second = Revision(net.repository.commit({"fleet.yaml": "two\n"}))
    net.fetch(net.ask())
    net.mirror.promote(second)
    assert net.mirror.is_descendant(second, revision)


def test_a_lost_ref_is_told_with_those_that_are_there(net: Net) -> None:
    with pytest.raises(RevisionNotFoundError, match="It has main") as caught:
        net.ask("gone")
    assert told(caught).code == "ref-gone"


def test_an_unchanged_poll_is_two_requests_however_many_refs_are_there(net: Net) -> None:
    """At most 2 KB of heads and bodies."""
    head = net.repository.head
    lines = "".join(f"{head} refs/heads/b{number:05}\n" for number in range(10_000))
    (net.repository.path / ".git/packed-refs").write_text(lines)
    assert net.ask().commit == head
    assert [request.method for request in net.server.requests] == ["GET", "POST"]
    assert net.server.moved < 2000


def test_a_lost_ref_among_very_many_is_told(net: Net) -> None:
    """More than are read: some are shown."""
    head = net.repository.head
    lines = "".join(f"{head} refs/heads/b{number:05}\n" for number in range(30_000))
    (net.repository.path / ".git/packed-refs").write_text(lines)
    with pytest.raises(RevisionNotFoundError, match=r"It has b00000, .*and \d+ more") as caught:
        net.ask("gone")
    assert told(caught).code == "ref-gone"


def test_the_token_is_sent_at_once_and_stands_in_no_command_line(net: Net) -> None:
    net.server.credentials = f"deploy:{TOKEN}"
    (net.folder / "token").write_text(f"{TOKEN}\n")
    (net.folder / "token").chmod(0o600)
    net.remote = evolve(net.remote, token_file=str(net.folder / "token"), token_user="deploy")
    net.fetch(net.ask())
    assert len(net.server.requests) == 4
    assert not any(TOKEN in part for command in net.commands for part in command.argv)


def test_a_proxy_is_used_and_does_not_see_the_token(net: Net) -> None:
    net.server.credentials = f"git:{TOKEN}"
    (net.folder / "token").write_text(TOKEN)
    (net.folder / "token").chmod(0o600)
    with Proxy() as proxy:
        net.remote = evolve(net.remote, token_file=str(net.folder / "token"), proxy=proxy.url)
        net.fetch(net.ask())
    assert proxy.asked
    assert all("uthorization" not in head for head in proxy.asked)
    assert all(head.startswith("CONNECT localhost:") for head in proxy.asked)


def test_nothing_of_the_user_takes_part(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a proxy of the environment, nor a configuration, nor a file of passwords."""
    home = net.folder / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine localhost login ann password word\n")
    (home / ".gitconfig").write_text("[http]\n\tsslVerify = false\n\tproxy = http://127.0.0.1:1\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
    net.ask()
    assert "authorization" not in net.server.requests[0].headers
    net.server.credentials = "ann:word"
    assert net.refusal().code == "login-refused"


def test_no_repository_of_where_programs_start_takes_part(net: Net) -> None:
    """Git would look for one there, and its configuration beats that of the environment."""
    spoilt = GitRepository(net.folder / "spoilt")
    spoilt.git("config", f"http.{net.remote.url}.sslVerify", "false")
    place = str(spoilt.path)

    def run(command: Command) -> CommandOutcome:
        return run_program(evolve(command, directory=place))

    net.remote = evolve(net.remote, ca_file="")
    with Mirror.open(net.folder / "other", run) as net.mirror:
        assert net.refusal().code == "certificate-untrusted"
        assert net.refusal(lambda: net.fetch(Revision(net.repository.head))).code == "certificate-untrusted"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
def test_an_account_that_may_not_read_the_authorities_is_told() -> None:
    with open_folder() as folder:
        authority = Authority(folder / "authority")
        authority.path.chmod(0o600)
        GitRepository(folder / "srv/fleet").commit({"a": "b"})
        door = partial(run_program, account=Account("nobody", NOBODY, NOBODY, groups=(NOBODY,)))
        account = SourceAccount(NOBODY, NOBODY, door)
        with (
            HttpsServer(folder / "srv", authority.issue("localhost")) as server,
            Mirror.open(folder / "state", run_program, account=account) as mirror,
            pytest.raises(RepositoryUnreachableError) as caught,
        ):
            mirror.ask(Remote(server.url(), ca_file=str(authority.path)), "main", timeout=20)
        assert told(caught).code == "source-file-unreadable"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
@pytest.mark.parametrize(
    ("uid", "gid", "mode", "is_good"),
    [
        (0, NOBODY, 0o640, True),
        (0, 0, 0o600, True),
        (NOBODY, 0, 0o600, True),
        (0, 0, 0o640, False),
        (0, 4, 0o640, False),
        (1, 0, 0o600, False),
    ],
)
def test_a_secret_is_roots_or_the_accounts(tmp_path: Path, uid: int, gid: int, mode: int, is_good: bool) -> None:
    """A group that reads it is the account's own; without an account there is none."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    os.chown(token, uid, gid)
    token.chmod(mode)
    account = SourceAccount(NOBODY, NOBODY, run_program)
    for reader in (account, None):
        if is_good and (reader or (uid, mode) == (0, 0o600)):
            assert read_token(str(token), reader) == TOKEN
            check_key(str(token), reader)
            continue
        for use_it in (read_token, check_key):
            with pytest.raises(RepositoryUnreachableError) as caught:
                use_it(str(token), reader)
            assert told(caught).code == "source-file-exposed"


def test_all_tries_of_a_fetch_have_one_end(net: Net) -> None:
    """With and without the lost revisions, with and without the mirror: each has what the one before it left."""
    first = net.ask()
    net.fetch(first)
    net.mirror.promote(first)
    second = Revision(net.repository.commit({"fleet.yaml": "two\n"}))
    given: list[float] = []

    def run(command: Command) -> CommandOutcome:
        given.append(command.timeout)
        time.sleep(0.01)
        return CommandOutcome(128, b"", b"fatal: something new\n")

    with Mirror.open(net.folder / "state", run) as mirror:
        with pytest.raises(RepositoryUnreachableError):
            mirror.fetch(net.remote, "main", second, timeout=20, byte_limit=LIMIT, also=[Revision("1" * 40)])
    assert len(given) > 2
    assert all(later < earlier - 0.009 for earlier, later in itertools.pairwise(given))


# Wrong ones


def test_only_the_named_authority_is_trusted(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it those of the system are; with it these are not."""
    net.remote = evolve(net.remote, ca_file="")
    assert net.refusal().code == "certificate-untrusted"
    other = Authority(net.folder / "other", "Another one")
    net.remote = evolve(net.remote, ca_file=str(other.path))
    found = net.refusal()
    assert found.code == "certificate-untrusted"
    assert "source.ca_file" in found.hint
    # git adds the authorities of the system to the named ones where it is not told another folder for these.
    assert any("http.sslCAPath" in command.environment.values() for command in net.commands)


def test_an_expired_certificate_is_told(net: Net, authority: Authority) -> None:
    with HttpsServer(net.folder / "srv", authority.issue("localhost", days=-1)) as server:
        net.remote = evolve(net.remote, url=server.url())
        assert net.refusal().code == "certificate-expired"


def test_a_certificate_of_another_name_is_told(net: Net, authority: Authority) -> None:
    with HttpsServer(net.folder / "srv", authority.issue("other.example")) as server:
        net.remote = evolve(net.remote, url=server.url())
        found = net.refusal()
    assert found.code == "certificate-of-another"
    assert "other.example" in found.detail


def test_names_and_ports_that_lead_nowhere(net: Net) -> None:
    net.remote = Remote("https://no.such.name.invalid/fleet")
    assert net.refusal().code == "remote-name-unknown"
    net.remote = Remote("https://localhost:1/fleet")
    assert net.refusal().code == "remote-not-listening"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "login-refused"),
        (403, "access-refused"),
        (404, "repository-missing"),
        (410, "repository-missing"),
        (429, "remote-fails"),
        (500, "remote-fails"),
        (503, "remote-fails"),
    ],
)
def test_each_refusal_is_told_for_what_it_is(net: Net, status: int, code: str) -> None:
    def refuse(handler: Any) -> bool:
        handler.answer(status, {}, b"no\n")
        return True

    net.server.instead = refuse
    found = net.refusal()
    assert found.code == code
    assert net.remote.url in found.detail


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("when", ["GET", "POST"])
def test_no_answer_leads_to_another_server(net: Net, status: int, when: str) -> None:
    """It is named where it was sent, and nothing is sent there."""
    with HttpsServer(net.folder / "srv", net.server.certificate) as other:

        def redirect(handler: Any) -> bool:
            if handler.command == when:
                handler.answer(status, {"Location": f"{other.url()}{handler.path.removeprefix('/fleet')}"}, b"")
            return bool(handler.command == when)

        net.server.instead = redirect
        found = net.refusal()
    assert found.code == "remote-redirects"
    assert not other.requests
    if when == "GET":
        assert other.url() in found.detail


def test_a_page_is_no_repository(net: Net) -> None:
    def page(handler: Any) -> bool:
        handler.answer(200, {"Content-Type": "text/html"}, b"<html>\thello</html>")
        return True

    net.server.instead = page
    assert net.refusal().code in {"remote-not-git", "remote-without-protocol-2"}


def test_an_older_protocol_is_not_spoken(net: Net) -> None:
    """Asking says so, and so does fetching from a server that has changed meanwhile."""
    revision = net.ask()
    net.server.passes_protocol = False
    found = net.refusal()
    assert found.code == "remote-without-protocol-2"
    assert "Git-Protocol" in found.hint
    assert net.refusal(lambda: net.fetch(revision)).code == "remote-without-protocol-2"


def test_what_a_server_serves_as_files_is_not_fetched(net: Net) -> None:
    """So objects would come unchecked, and as many as it likes."""
    revision = net.ask()
    net.repository.git("update-server-info")
    git = net.repository.path / ".git"

    def files(handler: Any) -> bool:
        path = git / handler.path.partition("?")[0].removeprefix("/fleet/")
        found = path.is_file()
        handler.answer(200 if found else 404, {"Content-Type": "text/plain"}, path.read_bytes() if found else b"")
        return True

    net.server.instead = files
    assert net.refusal().code == "remote-without-protocol-2"
    assert net.refusal(lambda: net.fetch(revision)).code == "remote-without-protocol-2"
    assert not any("objects" in request.target for request in net.server.requests)


@pytest.mark.parametrize(
    ("refusal", "words"), [("403 Forbidden", "403"), ("502 Bad", "502"), ("504 Gateway Timeout", "504")]
)
def test_a_proxy_that_makes_no_tunnel_is_told(net: Net, refusal: str, words: str) -> None:
    with Proxy(refusal) as proxy:
        net.remote = evolve(net.remote, proxy=proxy.url)
        found = net.refusal()
    assert found.code == "proxy-failed"
    assert words in found.detail


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no.such.name.invalid:3128"])
def test_a_proxy_that_is_not_there_is_told(net: Net, url: str) -> None:
    net.remote = evolve(net.remote, proxy=url)
    assert net.refusal().code == "proxy-failed"


def test_files_that_cannot_be_used_are_told(net: Net) -> None:
    """Before anybody is talked to."""
    token = net.folder / "token"
    with_token = evolve(net.remote, token_file=str(token))
    net.remote = with_token
    assert net.refusal().code == "source-file-unreadable"
    for content, mode, code in (
        (TOKEN, 0o644, "source-file-exposed"),
        (TOKEN, 0o640, "source-file-exposed"),
        (TOKEN, 0o660, "source-file-exposed"),
        ("", 0o600, "token-malformed"),
        ("a\nb", 0o600, "token-malformed"),
        ("a\r\nX-Header: b", 0o600, "token-malformed"),
        ("é", 0o600, "token-malformed"),
        ("x" * 5000, 0o600, "token-malformed"),
    ):
        token.write_text(content)
        token.chmod(mode)
        found = net.refusal()
        assert found.code == code
        assert str(token) in found.detail
    token.unlink()
    os.mkfifo(token)
    assert net.refusal().code == "source-file-unreadable"
    net.remote = evolve(net.remote, ca_file=str(net.folder / "none"))
    assert net.refusal().code == "source-file-unreadable"
    (net.folder / "none").write_text("no certificate\n")
    assert net.refusal().code in {"source-file-unreadable", "certificate-untrusted"}
    assert not net.server.requests


# Hostile ones


def serve(net: Net, script: Callable[[socket.socket], None], *, is_encrypted: bool = True) -> HostileServer:
    """Return a server to be entered, of which the mirror's remote is one from then on."""
    return HostileServer(script, net.server.certificate if is_encrypted else None)


def use(net: Net, server: HostileServer) -> None:
    net.remote = evolve(net.remote, url=server.url())


def forever(connection: socket.socket) -> None:
    """Hold the connection until the client gives it up."""
    while connection.recv(1 << 16):
        pass


def dripping(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(head("advertisement", 1 << 20))
    while True:
        connection.sendall(b"0")
        time.sleep(0.05)


def endless(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(head("advertisement") + CAPABILITIES[:-4])
    while True:
        connection.sendall(packet(b"x" * 60_000) * 100)


@pytest.mark.parametrize("script", [forever, dripping])
def test_a_server_that_hangs_or_drips_ends_with_the_deadline(net: Net, script: Any) -> None:
    """Nothing of the client is left: its group is killed."""
    with serve(net, script) as server:
        use(net, server)
        found = net.refusal(lambda: net.ask(timeout=1.5))
    assert found.code == "remote-timeout"
    assert "1.5 seconds" in found.detail
    assert not left(net.remote.url)


def left(word: str) -> list[str]:
    """Return the command lines of processes that name something."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            lines.append((process / "cmdline").read_bytes().decode(errors="replace"))
    return [line for line in lines if word in line]


def test_a_server_that_takes_no_handshake_ends_with_the_deadline(net: Net) -> None:
    with serve(net, forever, is_encrypted=False) as server:
        use(net, server)
        assert net.refusal(lambda: net.ask(timeout=1.5)).code == "remote-timeout"


def test_a_server_that_speaks_no_tls_is_told(net: Net) -> None:
    with serve(net, lambda connection: connection.sendall(b"SSH-2.0-x\r\n" * 10), is_encrypted=False) as server:
        use(net, server)
        assert net.refusal().code == "encryption-failed"


def test_an_answer_without_end_is_bounded(net: Net) -> None:
    """In memory as well as in time: the program keeps all of it before it looks."""
    assert f"--as={256 << 20}" in net.mirror_argv()
    with serve(net, endless) as server:
        use(net, server)
        assert net.refusal().code == "remote-talks-too-much"


ANSWERS = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "half of what it announced": head("advertisement", 5000) + CAPABILITIES,
    "half a packet": head("advertisement", len(CAPABILITIES) - 10) + CAPABILITIES[:-10],
    "no packets": head("advertisement", 5) + b"zzzzz",
    "an empty answer": head("advertisement", 0),
    "an error of git": head("advertisement", 38) + packet(b"# service=git-upload-pack\n") + b"0000" + b"0000",
    "no HTTP": b"220 mail.example.org ESMTP\r\n" * 5,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_cut_or_none_is_unreachable(net: Net, name: str) -> None:
    """Never a traceback, and never an answer."""

    def script(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(ANSWERS[name])

    with serve(net, script) as server:
        use(net, server)
        found = net.refusal()
    assert found.code in {"remote-closed-early", "remote-not-git", "remote-malformed", "remote-without-protocol-2"}


LISTS = {
    "nothing": b"",
    "half a ref": packet(b"a" * 40 + b" refs/heads/main\n")[:-5],
    "no flush": packet(b"a" * 40 + b" refs/heads/main\n"),
    "no ref": packet(b"hello\n") + b"0000",
    "an error": packet(b"ERR go away\n"),
    "an error of two words": packet(b"ERR denied\n") + b"0000",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_cut_or_none_is_unreachable(net: Net, name: str) -> None:
    """What was announced has to be there to its end: half a list may lack the tag of the same name."""

    def script(connection: socket.socket) -> None:
        while True:
            is_post = read_request(connection).startswith(b"POST")
            body = LISTS[name] if is_post else CAPABILITIES
            connection.sendall(head("result" if is_post else "advertisement", len(body)) + body)

    with serve(net, script) as server:
        use(net, server)
        assert net.refusal().code in {"remote-closed-early", "remote-malformed"}


def test_a_pack_without_end_is_bounded(net: Net) -> None:
    """By the limit of bytes; nothing of it is left."""
    revision = net.ask()

    def script(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(head("advertisement", len(CAPABILITIES)) + CAPABILITIES)
        read_request(connection)
        connection.sendall(head("result") + packet(b"packfile\n"))
        size = 1 << 40
        # A blob of a terabyte, of stored blocks: what is sent is what is written.
        number = bytes([0x30 | (size & 15) | 0x80]) + varint(size >> 4)
        start = b"PACK" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big") + number + b"\x78\x01"
        connection.sendall(packet(b"\x01" + start))
        block = b"\x00" + (60_000).to_bytes(2, "little") + (60_000 ^ 0xFFFF).to_bytes(2, "little") + os.urandom(60_000)
        while True:
            connection.sendall(packet(b"\x01" + block))

    with serve(net, script) as server:
        use(net, server)
        found = net.refusal(lambda: net.fetch(revision, limit=3_000_000))
    assert found.code == "fetch-too-big"
    assert not (net.folder / "state/quarantine").exists()


def varint(number: int) -> bytes:
    """Return a number as a pack's header has it."""
    out = b""
    while number >> 7:
        out += bytes([(number & 0x7F) | 0x80])
        number >>= 7
    return out + bytes([number])


@pytest.mark.parametrize("part", [0.2, 0.6, 0.95])
def test_a_pack_that_is_cut_is_fetched_by_the_next_pass(net: Net, part: float) -> None:
    """Nothing of the half one is in the way."""
    net.repository.commit({"large": os.urandom(200_000)})
    revision = net.ask()

    def cut(handler: Any) -> bool:
        if handler.command != "POST":
            return False
        answer = handler.answer

        def half(status: int, fields: dict[str, str], content: bytes) -> None:
            handler.send_response(status)
            for name, value in {**fields, "Content-Length": str(len(content))}.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(content[: int(len(content) * part)])
            handler.wfile.flush()
            handler.close_connection = True
            handler.answer = answer

        handler.answer = half
        return False

    net.server.instead = cut
    assert net.refusal(lambda: net.fetch(revision)).code in {"remote-closed-early", "fetch-failed"}
    assert not (net.folder / "state/quarantine").exists()
    net.server.instead = None
    net.fetch(revision)
    net.mirror.promote(revision)
    assert len(net.mirror.tree(revision).read("large")) == 200_000


def test_a_shallow_server_is_named(net: Net) -> None:
    net.repository.commit({"a": "b"})
    clone = net.folder / "srv" / "shallow"
    net.repository.git("clone", "--quiet", "--depth=1", f"file://{net.repository.path}", str(clone))
    net.remote = evolve(net.remote, url=net.server.url("shallow"))
    revision = net.ask()
    assert net.refusal(lambda: net.fetch(revision)).code == "remote-shallow"


FULL = {
    "a line of progress": packet(b"packfile\n") + packet(b"\x02fatal: write error: No space left on device\n"),
    "an error beside the pack": packet(b"packfile\n") + packet(b"\x03No space left on device\n"),
    "one of two lines": packet(b"packfile\n") + packet(b"\x03a\nNo space left on device\n"),
    "an error packet": packet(b"ERR upload-pack: No space left on device\n"),
    "two lines in a packet": packet(b"ERR a\nfatal: Read-only file system\n"),
}


@pytest.mark.parametrize("name", FULL)
def test_what_a_server_says_of_disks_is_not_ours(net: Net, name: str) -> None:
    """It would have ended the pass: a full disk of this host is an error of its own (74)."""
    revision = net.ask()

    def script(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(head("advertisement", len(CAPABILITIES)) + CAPABILITIES)
        read_request(connection)
        connection.sendall(head("result", len(FULL[name])) + FULL[name])

    with serve(net, script) as server:
        use(net, server)
        assert net.refusal(lambda: net.fetch(revision)).code != "state-not-writable"


@pytest.mark.parametrize("attribute", ["peeled:XYZ", f"peeled:{'a' * 41}", "peeled:"])
def test_a_garbage_name_of_an_object_is_no_answer(net: Net, attribute: str) -> None:
    """It ended the pass as a fault of datum."""
    line = packet(f"{net.repository.head} refs/heads/main {attribute}\n".encode()) + b"0000"

    def script(connection: socket.socket) -> None:
        while True:
            body = line if read_request(connection).startswith(b"POST") else CAPABILITIES
            connection.sendall(head("result" if body is line else "advertisement", len(body)) + body)

    with serve(net, script) as server:
        use(net, server)
        assert net.refusal().code == "remote-malformed"


def test_malformed_objects_are_refused(net: Net) -> None:
    """Git checks each object of a fetch over https as it does of a path."""
    blob = net.repository.git("hash-object", "-w", "--stdin", stdin=b"x")
    tree = net.repository.git("mktree", "--missing", stdin=f"100644 blob {blob}\t.git\n".encode())
    commit = net.repository.git("commit-tree", tree, "-m", "x")
    net.repository.git("update-ref", "refs/heads/main", commit)
    revision = net.ask()
    assert net.refusal(lambda: net.fetch(revision)).code == "fetch-object-refused"
