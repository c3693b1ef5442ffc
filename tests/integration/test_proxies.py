"""The mirror through proxies: with a password, of SOCKS, and to servers that want a certificate of this host."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from attrs import define, evolve

from datum.errors import RepositoryUnreachableError, SettingsError
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.provider.host import Command, CommandOutcome
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote, normal_proxy
from tests.git_repository import GitRepository
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer
from tests.remotes.proxy import Proxy, SocksProxy

PASSWORD = "p4ss:w@rd/of %the? täst"
USER = "web 1"
# A server of TLS 1.3 refuses when the client has begun to talk already: what it says may be lost with the connection.
REFUSED = {"client-certificate-refused", "remote-closed-early"}


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@define
class Net:
    """A repository behind a server, and the mirror of a host that knows a proxy's password."""

    folder: Path
    server: HttpsServer
    remote: Remote
    mirror: Mirror
    commands: list[Command]

    def ask(self, *, timeout: float = 20) -> Revision:
        return self.mirror.ask(self.remote, "main", timeout=timeout)

    def fetch(self, revision: Revision) -> None:
        self.mirror.fetch(self.remote, "main", revision, timeout=20, byte_limit=10_000_000)

    def take(self) -> Revision:
        revision = self.ask()
        self.fetch(revision)
        self.mirror.promote(revision)
        return revision

    def through(self, url: str, *, password: str = PASSWORD) -> None:
        (self.folder / "password").write_text(f"{password}\n")
        (self.folder / "password").chmod(0o600)
        where = str(self.folder / "password")
        self.remote = evolve(self.remote, proxy=url, proxy_user=USER, proxy_password_file=where)

    def refusal(self, act: Callable[[], object] | None = None) -> Any:
        """Return the one diagnostic of a remote that cannot be used; no secret is in it."""
        with pytest.raises(RepositoryUnreachableError) as caught:
            (act or self.ask)()
        (found,) = caught.value.diagnostics
        assert found.hint
        assert not secrets_in(repr(found))
        return found


def secrets_in(text: str) -> list[str]:
    """Return the forms of the password that a text holds."""
    forms = (PASSWORD, quote(PASSWORD, safe=""), quote(PASSWORD), json.dumps(PASSWORD), PASSWORD.encode().hex())
    return [form for form in forms if form in text]


@pytest.fixture
def net(tmp_path: Path, authority: Authority) -> Iterator[Net]:
    GitRepository(tmp_path / "srv" / "fleet").commit({"fleet.yaml": "one\n"}, "first")
    commands: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        commands.append(command)
        return run_program(command)

    with (
        HttpsServer(tmp_path / "srv", authority.issue("localhost")) as server,
        Mirror.open(tmp_path / "state", run) as mirror,
    ):
        remote = Remote(server.url(), ca_file=str(authority.path))
        yield Net(tmp_path, server, remote, mirror, commands)


# Passwords


def test_a_proxy_with_a_password_lets_through(net: Net) -> None:
    """At once: no request goes there without it first. The password stands in no command line."""
    with Proxy(credentials=f"{USER}:{PASSWORD}") as proxy:
        net.through(proxy.url)
        net.take()
    assert len(proxy.asked) == 2
    assert not any(secrets_in(" ".join(command.argv)) for command in net.commands)
    assert not any("proxy-authorization" in request.headers for request in net.server.requests)


def test_a_server_learns_nothing_of_the_proxys_password(net: Net) -> None:
    with Proxy(credentials=f"{USER}:{PASSWORD}") as proxy:
        net.through(proxy.url)
        net.ask()
    assert not any(secrets_in(repr(request.headers)) for request in net.server.requests)


def test_a_proxy_that_offers_tickets_first_gets_the_password(net: Net) -> None:
    """Of all that is offered curl would take what needs a ticket, which no host has."""
    challenge = 'Negotiate\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Basic realm="x"'
    with Proxy(credentials=f"{USER}:{PASSWORD}", challenge=challenge) as proxy:
        net.through(proxy.url)
        net.take()


@pytest.mark.parametrize("password", ["wrong", "p4ss"])
def test_a_wrong_password_is_told(net: Net, password: str) -> None:
    with Proxy(credentials=f"{USER}:{PASSWORD}") as proxy:
        net.through(proxy.url, password=password)
        found = net.refusal()
        assert found.code == "proxy-login-refused"
        assert "source.proxy_password_file" in found.hint
        assert password not in f"{found.detail} {found.hint}".replace("proxy_password", "")
        assert len(proxy.asked) == 1, "a wrong password is not tried again: some proxies shut out who does"


def test_a_password_that_is_missing_is_told(net: Net) -> None:
    with Proxy(credentials=f"{USER}:{PASSWORD}") as proxy:
        net.remote = evolve(net.remote, proxy=proxy.url)
        found = net.refusal()
    assert found.code == "proxy-login-refused"
    assert "407" in found.detail


def test_a_fetch_that_the_proxy_refuses_is_told(net: Net) -> None:
    with Proxy(credentials=f"{USER}:{PASSWORD}") as proxy:
        net.through(proxy.url)
        revision = net.ask()
        proxy.credentials = "somebody:else"
        assert net.refusal(partial(net.fetch, revision)).code == "proxy-login-refused"


def test_a_certificate_is_looked_at_through_the_proxy(net: Net, authority: Authority) -> None:
    """Why it fails is seen by a second look, which the proxy lets through as well."""
    with (
        HttpsServer(net.folder / "srv", authority.issue("localhost", days=-1)) as server,
        Proxy(credentials=f"{USER}:{PASSWORD}") as proxy,
    ):
        net.remote = evolve(net.remote, url=server.url())
        net.through(proxy.url)
        assert net.refusal().code == "certificate-expired"
    assert not any(secrets_in(" ".join(command.argv)) for command in net.commands)


def test_files_of_passwords_that_cannot_be_used_are_told(net: Net) -> None:
    """Before anybody is talked to."""
    with Proxy(credentials=f"{USER}:{PASSWORD}") as proxy:
        net.through(proxy.url)
        password = net.folder / "password"
        for content, mode, code in (
            (b"x", 0o644, "source-file-exposed"),
            (b"x", 0o640, "source-file-exposed"),
            (b"", 0o600, "password-malformed"),
            (b"\n", 0o600, "password-malformed"),
            (b"a\nb\n", 0o600, "password-malformed"),
            (b"a\r\nX-Header: b", 0o600, "password-malformed"),
            (b"a\0b", 0o600, "password-malformed"),
            (b"\xff\xfe", 0o600, "password-malformed"),
            (b"x" * 5000, 0o600, "password-malformed"),
        ):
            password.write_bytes(content)
            password.chmod(mode)
            found = net.refusal()
            assert found.code == code
            assert str(password) in found.detail
        password.unlink()
        assert net.refusal().code == "source-file-unreadable"
        assert not proxy.asked


# SOCKS


@pytest.mark.parametrize("credentials", ["", f"{USER}:{PASSWORD}"])
def test_a_proxy_of_socks_is_used(net: Net, credentials: str) -> None:
    """It looks up the name, not this host."""
    with SocksProxy(credentials=credentials) as proxy:
        if credentials:
            net.through(proxy.url)
        net.remote = evolve(net.remote, proxy=proxy.url)
        net.take()
    assert set(proxy.asked) == {("localhost", net.server.port)}


def test_a_proxy_of_socks_that_refuses_is_told(net: Net) -> None:
    with SocksProxy(refusal=5) as proxy:
        net.remote = evolve(net.remote, proxy=proxy.url)
        assert net.refusal().code == "proxy-failed"
    with SocksProxy(credentials=f"{USER}:{PASSWORD}") as proxy:
        net.remote = evolve(net.remote, proxy=proxy.url)
        assert net.refusal().code == "proxy-login-refused"
        net.through(proxy.url, password="wrong")
        assert net.refusal().code == "proxy-login-refused"
    net.remote = evolve(net.remote, proxy="socks5h://127.0.0.1:1", proxy_user="", proxy_password_file="")
    assert net.refusal().code == "proxy-failed"


def test_an_untrusted_certificate_behind_socks_is_told(net: Net) -> None:
    with SocksProxy() as proxy:
        net.remote = evolve(net.remote, proxy=proxy.url, ca_file="")
        assert net.refusal().code == "certificate-untrusted"


# How a proxy is written


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("http://Proxy.example:3128/", "http://proxy.example:3128"),
        ("HTTP://proxy.example", "http://proxy.example:80"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("socks5h://proxy.example", "socks5h://proxy.example:1080"),
        ("socks5h://proxy.example:9050", "socks5h://proxy.example:9050"),
    ],
)
def test_the_port_of_a_proxy_is_always_said(text: str, normal: str) -> None:
    """Where none is, curl takes 1080 for all of them."""
    assert normal_proxy(text) == normal == normal_proxy(normal)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"http://ann:{'word'}@proxy:3128", "source.proxy_password_file"),
        ("socks5://proxy:1080", "socks5h"),
        ("socks4://proxy:1080", "socks5h"),
        ("https://proxy:3128", "http://HOST:PORT"),
        ("http://proxy:3128/path", "http://HOST:PORT"),
        ("proxy:3128", "http://HOST:PORT"),
    ],
)
def test_other_proxies_are_refused_with_what_to_write(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normal_proxy(text)
    (found,) = caught.value.diagnostics
    assert words in f"{found.detail} {found.hint}"
    assert "word@" not in f"{found.detail} {found.hint}"


# Certificates of this host


@pytest.fixture
def guarded(net: Net, authority: Authority) -> Iterator[Net]:
    """Give a server that lets nobody in without a certificate of its authority."""
    with HttpsServer(net.folder / "srv", authority.issue("localhost"), clients=authority.path) as server:
        net.remote = evolve(net.remote, url=server.url())
        yield net


def own(net: Net, authority: Authority) -> tuple[Path, Path]:
    """Return a certificate of this host and its key."""
    both = authority.issue("web1").read_text()
    certificate, key = net.folder / "web1.crt", net.folder / "web1.key"
    certificate.write_text("".join(re.findall(r"-----BEGIN CERT.*?-----END CERTIFICATE-----\n", both, re.DOTALL)))
    key.write_text("".join(re.findall(r"-----BEGIN PRIV.*?-----END PRIVATE KEY-----\n", both, re.DOTALL)))
    key.chmod(0o600)
    return certificate, key


def test_a_certificate_of_this_host_lets_in(guarded: Net, authority: Authority) -> None:
    certificate, key = own(guarded, authority)
    guarded.remote = evolve(guarded.remote, cert_file=str(certificate), cert_key_file=str(key))
    guarded.take()


def test_a_server_that_wants_a_certificate_is_told(guarded: Net) -> None:
    found = guarded.refusal()
    assert found.code in REFUSED
    assert ("source.cert_file" in found.hint) == (found.code == "client-certificate-refused")


def test_a_certificate_of_another_authority_is_told(guarded: Net) -> None:
    certificate, key = own(guarded, Authority(guarded.folder / "other", "Another one"))
    guarded.remote = evolve(guarded.remote, cert_file=str(certificate), cert_key_file=str(key))
    assert guarded.refusal().code in REFUSED


def test_certificates_that_cannot_be_used_are_told(guarded: Net, authority: Authority) -> None:
    certificate, key = own(guarded, authority)
    other = own(guarded, Authority(guarded.folder / "other", "Another one"))[1].read_text()
    good = evolve(guarded.remote, cert_file=str(certificate), cert_key_file=str(key))
    guarded.remote = evolve(good, cert_file=str(guarded.folder / "none"))
    assert guarded.refusal().code == "source-file-unreadable"
    guarded.remote = good
    key.chmod(0o644)
    assert guarded.refusal().code == "source-file-exposed"
    key.chmod(0o600)
    # Which of the two a pair that is none comes to is for the TLS library to say.
    for text, codes in (("no key\n", {"source-file-unreadable"}), (other, {"source-file-unreadable", *REFUSED})):
        key.write_text(text)
        found = guarded.refusal()
        assert found.code in codes, found.detail


# What is said back


def test_a_secret_that_is_said_back_is_not_shown(net: Net) -> None:
    """As servers do that mean to help, and proxies; in plain and as it was sent."""
    net.server.credentials = "git:another"
    token = net.folder / "token"
    token.write_text("t0ken-of-the-tests")
    token.chmod(0o600)
    sent = base64.b64encode(b"git:t0ken-of-the-tests").decode()

    def echo(handler: Any) -> bool:
        words = f"no such token: t0ken-of-the-tests, from {handler.headers['Authorization']}\n"
        handler.answer(403, {"Content-Type": "text/plain"}, words.encode())
        return True

    net.server.instead = echo
    net.remote = evolve(net.remote, token_file=str(token))
    for act in (net.ask, partial(net.fetch, Revision("1" * 40))):
        found = net.refusal(act)
        assert found.code == "access-refused"
        assert "no such token: ***, from Basic ***" in found.detail
        assert "t0ken" not in repr(found)
        assert sent not in repr(found)
    with Proxy(refusal=f"403 {quote(PASSWORD)}") as proxy:
        net.through(proxy.url)
        assert net.refusal().code == "proxy-failed"
