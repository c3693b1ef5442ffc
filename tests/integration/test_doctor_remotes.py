"""`datum doctor` against real servers over TLS and ssh: which hop is broken, and what was met on the way."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import define

from tests.git_repository import GitRepository
from tests.harness import image
from tests.harness.oneshot import Oneshot
from tests.harness.spec import Bind
from tests.passes.scene import HOST, STATE, Scene, snapshot
from tests.remotes.certificates import Authority
from tests.remotes.folder import open_folder
from tests.remotes.https import HttpsServer
from tests.remotes.listening import Listening
from tests.remotes.proxy import Proxy
from tests.remotes.ssh import SshServer, fingerprint, make_key

A: Final = {"file:/etc/a": {"content": "a\n"}}
B: Final = {"file:/etc/a": {"content": "b\n"}}
TOKEN: Final = "t0ken-of-the-tests"
TAKES_PROTOCOL: Final = "AcceptEnv GIT_PROTOCOL\n"

Hops = Mapping[str, Mapping[str, Any]]


def diagnose(scene: Scene) -> Hops:
    """Return what was found of the only remote, and of the clock of its source."""
    ran = scene.run("doctor", "--json")
    assert "Traceback" not in ran.err
    assert TOKEN not in ran.out
    return {each["check"]: each for each in ran.json["checks"] if each["group"] in {"source", "clock"}}


def broken(found: Hops) -> list[str]:
    """Return the hops that are faults."""
    return [name for name, each in found.items() if each["state"] == "fault"]


def told(found: Hops, *names: str) -> list[str]:
    return [found[name]["state"] for name in names]


def configure(scene: Scene, access: Mapping[str, str]) -> None:
    scene.write("/etc/datum/agent.yaml", json.dumps({"host": HOST, "source": {"remotes": [access]}}))


# https


@define
class Tls:
    """A host whose fleet is behind TLS and a token, and what its configuration says of it."""

    scene: Scene
    authority: Authority
    stack: ExitStack
    access: dict[str, str]
    server: HttpsServer

    def serve(self, certificate: Path, **more: Any) -> None:
        """Have another server in place of the one before."""
        server = HttpsServer(self.scene.folder, certificate, credentials=f"git:{TOKEN}", **more)
        self.server = self.stack.enter_context(server)
        self.say(url=self.server.url())

    def say(self, **access: str) -> None:
        """Configure the remote anew."""
        self.access |= access
        configure(self.scene, self.access)


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[Tls]:
    scene = Scene(tmp_path)
    scene.enrolled(A)
    scene.commit(B)
    authority = Authority(tmp_path / "authority")
    scene.write("/etc/datum/ca.pem", authority.path.read_text())
    scene.write("/etc/datum/token", f"{TOKEN}\n")
    scene.at("/etc/datum/token").chmod(0o600)
    with ExitStack() as stack:
        access = {"ca_file": "/etc/datum/ca.pem", "token_file": "/etc/datum/token"}
        made = Tls(scene, authority, stack, access, None)  # type: ignore[arg-type]  # set by what follows
        made.serve(authority.issue("localhost", days=90))
        yield made


def test_over_https_every_hop_is_told_with_what_was_met(tls: Tls) -> None:
    found = diagnose(tls.scene)
    assert not broken(found)
    way = ("remote-files", "remote-name", "remote-connection", "remote-certificate", "remote-answer", "remote-login")
    assert set(told(found, *way, "remote-repository", "remote-protocol", "remote-ref", "remote-revision")) == {"ok"}
    assert "127.0.0.1" in found["remote-name"]["facts"]["addresses"]
    assert found["remote-connection"]["facts"]["peer"] == "127.0.0.1"
    shown = found["remote-certificate"]["facts"]
    assert (shown["issuer"], shown["names"], shown["tls"]) == ("Authority of the tests", ["localhost"], "TLSv1.3")
    assert shown["days_left"] in {88, 89, 90}
    assert {what[:9] for what in found["remote-files"]["facts"].values()} == {"mode 0600", "mode 0644"}
    assert found["clock-of-source"]["state"] == "ok"
    assert "authorization" not in tls.server.requests[0].headers, "the look has no credentials"


def test_over_https_no_trace_is_left(tls: Tls) -> None:
    """What is new was fetched, and is gone; the mirror has not got it."""
    before = snapshot(tls.scene.root)
    assert told(diagnose(tls.scene), "remote-fetch") == ["ok"]
    assert len(tls.server.requests) > 3
    assert snapshot(tls.scene.root) == before


def test_a_certificate_that_expires_soon_is_a_warning(tls: Tls) -> None:
    tls.serve(tls.authority.issue("localhost", days=5))
    found = diagnose(tls.scene)["remote-certificate"]
    assert (found["state"], found["facts"]["days_left"] in {4, 5}) == ("warning", True)
    assert "in 4 days" in found["found"] or "in 5 days" in found["found"]


@pytest.mark.parametrize(
    ("spoil", "hop", "words"),
    [
        (lambda tls: tls.say(ca_file=""), "remote-certificate", ""),
        (lambda tls: tls.serve(tls.authority.issue("localhost", days=-1)), "remote-certificate", "expired"),
        (lambda tls: tls.serve(tls.authority.issue("other.example")), "remote-certificate", "another name"),
        (lambda tls: tls.say(url="https://no-such-name.invalid/fleet"), "remote-name", "not known"),
        (lambda tls: tls.say(url=tls.server.url("nothing")), "remote-repository", "nothing at the remote"),
        (lambda tls: tls.scene.write("/etc/datum/token", "wrong"), "remote-login", "does not let this host in"),
        (lambda tls: tls.scene.at("/etc/datum/token").chmod(0o644), "remote-files", "has mode 0644"),
        (lambda tls: tls.scene.at("/etc/datum/token").unlink(), "remote-files", "No such file"),
        (lambda tls: tls.scene.at("/etc/datum/ca.pem").write_text("x"), "", "ca"),
        (lambda tls: tls.scene.repository.git("branch", "--move", "main", "trunk"), "remote-ref", "It has trunk"),
        (lambda tls: tls.say(proxy="http://127.0.0.1:1"), "remote-proxy", "does not lead"),
    ],
    ids=["ca", "expired", "name", "resolver", "repository", "token", "exposed", "missing", "no-ca", "ref", "proxy"],
)
def test_over_https_the_broken_hop_is_the_fault(tls: Tls, spoil: Callable[[Tls], object], hop: str, words: str) -> None:
    """What lies before it holds, what lies behind it was not come to."""
    if hop == "remote-certificate" and not words:
        other = Authority(tls.scene.folder / "other", "Another authority")
        tls.scene.write("/etc/datum/ca.pem", other.path.read_text())
        words = "not trusted"
    else:
        spoil(tls)
    found = diagnose(tls.scene)
    (name,) = broken(found)
    assert name == hop or not hop
    assert words in found[name]["found"].replace(tls.scene.url, "")
    assert found[name]["cure"]
    hops = [check for check in found if check.startswith("remote-")]
    place = hops.index(name)
    assert set(told(found, *hops[:place])) <= {"ok", "not_checked"}
    assert set(told(found, *hops[place + 1 :])) <= {"not_checked"}
    if name != "remote-answer":
        assert set(told(found, *hops[:place])) <= {"ok"}


def test_through_a_proxy_the_certificate_is_seen(tls: Tls) -> None:
    with Proxy() as proxy:
        tls.say(proxy=proxy.url)
        found = diagnose(tls.scene)
        assert not broken(found)
        assert told(found, "remote-proxy", "remote-certificate", "remote-revision") == ["ok"] * 3
        assert found["remote-certificate"]["facts"]["issuer"] == "Authority of the tests"
        proxy.refusal = "407 Proxy Authentication Required"
        assert broken(diagnose(tls.scene)) == ["remote-proxy"]


def test_the_clock_of_a_server_is_compared(tls: Tls) -> None:
    def yesterday(handler: Any) -> bool:
        handler.date_time_string = lambda *_: "Thu, 01 Jan 2026 00:00:00 GMT"
        return False

    tls.serve(tls.authority.issue("localhost"), instead=yesterday)
    found = diagnose(tls.scene)
    assert broken(found) == ["clock-of-source"]
    assert "behind that of this host" in found["clock-of-source"]["found"]


class Silent(Listening):
    """Takes connections and says nothing."""

    def _serve(self, connection: Any) -> None:
        with connection, suppress(OSError):
            while connection.recv(1 << 16):
                pass


def test_of_a_server_that_hangs_what_was_seen_is_told(tls: Tls) -> None:
    """It takes a connection and nothing more: name and connection hold, and of the rest nothing is known."""
    with Silent() as server:
        tls.say(url=f"https://localhost:{server.port}/fleet")
        text = tls.scene.at("/etc/datum/agent.yaml").read_text()
        said = json.loads(text)
        said["source"]["timeout"] = 1
        tls.scene.write("/etc/datum/agent.yaml", json.dumps(said))
        found = diagnose(tls.scene)
    assert broken(found) == ["remote-answer"]
    assert found["remote-answer"]["codes"] == ["remote-timeout"]
    assert told(found, "remote-name", "remote-connection", "remote-certificate") == ["ok", "ok", "not_checked"]


# ssh


@define
class Ssh:
    """A host whose fleet is behind sshd."""

    scene: Scene
    folder: Path
    server: SshServer
    repository: GitRepository


@pytest.fixture
def ssh(make_oneshot: Callable[..., Oneshot]) -> Iterator[Ssh]:
    with open_folder() as folder:
        scene = Scene(folder / "scene")
        scene.enrolled(A)
        scene.commit(B)
        host = make_oneshot(suite=image.TRIXIE, binds=(Bind(scene.url, "/srv/fleet"),))
        make_key(folder / "host_key")
        key = make_key(folder / "key")
        with SshServer(host, folder / "host_key", key, TAKES_PROTOCOL) as server:
            host.run(["git", "config", "--system", "--add", "safe.directory", "*"])
            scene.write("/etc/datum/key", (folder / "key").read_text())
            scene.at("/etc/datum/key").chmod(0o600)
            scene.write("/etc/datum/known_hosts", server.line())
            configure(
                scene,
                {"url": server.url(), "key_file": "/etc/datum/key", "known_hosts_file": "/etc/datum/known_hosts"},
            )
            yield Ssh(scene, folder, server, scene.repository)


def test_over_ssh_every_hop_is_told_with_the_keys(ssh: Ssh) -> None:
    other = make_key(ssh.folder / "other")
    ssh.scene.write("/etc/datum/known_hosts", ssh.server.line() + ssh.server.line(other))
    before = snapshot(ssh.scene.root)
    found = diagnose(ssh.scene)
    assert not broken(found)
    way = ("remote-files", "remote-name", "remote-connection", "remote-host-key", "remote-login", "remote-answer")
    assert set(told(found, *way, "remote-repository", "remote-ref", "remote-fetch", "remote-revision")) == {"ok"}
    keys = found["remote-host-key"]["facts"]
    assert keys["offered"] == [f"ssh-ed25519 {fingerprint(ssh.folder / 'host_key')}"]
    assert {line.split()[1] for line in keys["pinned"]} == {
        fingerprint(ssh.folder / "host_key"),
        fingerprint(ssh.folder / "other"),
    }
    assert found["clock-of-source"]["state"] == "ok"
    assert snapshot(ssh.scene.root) == before


def another_key(ssh: Ssh) -> None:
    ssh.scene.write("/etc/datum/known_hosts", ssh.server.line(make_key(ssh.folder / "other")))


def nothing_pinned(ssh: Ssh) -> None:
    ssh.scene.write("/etc/datum/known_hosts", "")


def not_let_in(ssh: Ssh) -> None:
    ssh.server.authorized = make_key(ssh.folder / "stranger")
    ssh.server.configure()


def open_key(ssh: Ssh) -> None:
    ssh.scene.at("/etc/datum/key").chmod(0o644)


def no_branch(ssh: Ssh) -> None:
    ssh.repository.git("branch", "--move", "main", "trunk")


@pytest.mark.parametrize(
    ("spoil", "hop"),
    [
        (another_key, "remote-host-key"),
        (nothing_pinned, "remote-host-key"),
        (not_let_in, "remote-login"),
        (open_key, "remote-files"),
        (no_branch, "remote-ref"),
    ],
)
def test_over_ssh_the_broken_hop_is_the_fault(ssh: Ssh, spoil: Callable[[Ssh], None], hop: str) -> None:
    spoil(ssh)
    found = diagnose(ssh.scene)
    assert broken(found) == [hop]
    hops = [check for check in found if check.startswith("remote-")]
    place = hops.index(hop)
    assert set(told(found, *hops[:place])) <= {"ok"}
    assert set(told(found, *hops[place + 1 :])) <= {"not_checked"}
    assert found[hop]["cure"]
    if hop == "remote-host-key":
        assert fingerprint(ssh.folder / "host_key") in found[hop]["found"]
    if spoil is another_key:
        assert fingerprint(ssh.folder / "other") in str(found[hop]["facts"]["pinned"])


def test_nobody_listens_over_ssh(ssh: Ssh) -> None:
    said = ssh.scene.at("/etc/datum/agent.yaml").read_text().replace(str(ssh.server.port), "1")
    ssh.scene.write("/etc/datum/agent.yaml", said)
    found = diagnose(ssh.scene)
    assert broken(found) == ["remote-connection"]
    assert told(found, "remote-name", "remote-host-key") == ["ok", "not_checked"]


def test_the_mirror_is_as_it_was(ssh: Ssh) -> None:
    assert diagnose(ssh.scene)["remote-fetch"]["state"] == "ok"
    assert not (ssh.scene.root / STATE / "quarantine").exists()
