"""`datum init` against a real sshd: a deploy key that is made, keys of the server that are shown and asked about."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from attrs import define

from tests.git_repository import GitRepository
from tests.harness import image
from tests.harness.oneshot import Oneshot
from tests.harness.spec import Bind
from tests.passes.scene import FLEET_ID, argv
from tests.passes.terminal import Terminal
from tests.remotes.folder import open_folder
from tests.remotes.ssh import SshServer, fingerprint, make_key

MAKE: Final = "Make a key at /etc/datum/ssh_key? [y/N]: "
REGISTERED: Final = "Enter when it is registered: "
PINNED: Final = "Are these the keys of that server? [y/N]: "
TRUST: Final = "Trust this commit as the anchor of this host? [y/N]: "


@define
class Site:
    """A server of the fleet, and the root of a host that nobody enrolled."""

    root: Path
    repository: GitRepository
    server: SshServer
    host_key: Path

    def command(self, *words: str) -> list[str]:
        where = ("--root", str(self.root), "--repo", self.server.url(), "--host", "web1")
        return [*argv(), "init", *where, *words]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            self.command(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=env
        )

    def register(self, public: str) -> None:
        """Let the holder of a key in."""
        self.server.authorized = public
        self.server.configure()

    @property
    def key(self) -> Path:
        return self.root / "etc/datum/ssh_key"

    @property
    def known_hosts(self) -> Path:
        return self.root / "etc/datum/known_hosts"

    @property
    def config(self) -> Path:
        return self.root / "etc/datum/agent.yaml"


@pytest.fixture
def site(make_oneshot: Callable[..., Oneshot]) -> Iterator[Site]:
    with open_folder() as folder:
        repository = GitRepository(folder / "srv" / "fleet")
        head = {"datum": 1, "agent": ">=0.1", "fleet": FLEET_ID, "layers": []}
        repository.commit({"fleet.yaml": json.dumps(head), "hosts/web1.yaml": "{}"})
        host = make_oneshot(suite=image.TRIXIE, binds=(Bind(str(folder / "srv"), "/srv"),))
        make_key(folder / "host_key")
        (folder / "root").mkdir()
        with SshServer(host, folder / "host_key", "", "AcceptEnv GIT_PROTOCOL\n") as server:
            yield Site(folder / "root", repository, server, folder / "host_key")


def test_at_a_terminal_key_and_server_are_made_known_on_the_way(site: Site) -> None:
    """The public key is shown and waited for; the fingerprint that is shown is that of the server."""
    with Terminal(site.command("--trust-on-first-use"), {"PYTHONDONTWRITEBYTECODE": "1"}) as terminal:
        terminal.answer(MAKE, "y")
        shown = terminal.expect(REGISTERED)
        public = next(line.strip() for line in shown.splitlines() if "ssh-ed25519" in line)
        assert public == site.key.with_name("ssh_key.pub").read_text().strip()
        assert public.endswith("datum@web1")
        site.register(public)
        terminal.press(b"\n")
        assert fingerprint(site.host_key) in terminal.expect(PINNED)
        terminal.press(b"y\n")
        assert site.repository.head in terminal.expect(TRUST)
        terminal.press(b"y\n")
        assert terminal.end() == 0, terminal.said
    assert site.key.stat().st_mode & 0o777 == 0o600
    assert site.known_hosts.read_text().split()[1:3] == site.server.line().split()[1:3]
    text = site.config.read_text()
    assert "key_file: '/etc/datum/ssh_key'" in text
    assert "known_hosts_file: '/etc/datum/known_hosts'" in text
    assert subprocess.run([*argv(), "apply", "--root", str(site.root)], check=False).returncode == 0


def test_keys_of_a_server_that_are_not_confirmed_are_not_pinned(site: Site) -> None:
    key = site.root / "key"
    make_key(key)
    with Terminal(site.command("--key-file", "/key", "--trust-on-first-use")) as terminal:
        terminal.answer(PINNED, "")
        assert terminal.end() == 64
        assert "not-confirmed" in terminal.said
    assert not site.known_hosts.exists()
    assert not site.config.exists()


def test_without_a_terminal_a_made_key_ends_with_its_public_half(site: Site) -> None:
    """The same line again, once it is registered, enrols."""
    site.known_hosts.parent.mkdir(parents=True)
    site.known_hosts.write_text(site.server.line())
    words = ("--make-key", "--known-hosts-file", "/etc/datum/known_hosts", "--anchor", site.repository.head)
    first = site.run(*words, "--json")
    (found,) = json.loads(first.stdout)["error"]["diagnostics"]
    assert (first.returncode, found["code"]) == (64, "deploy-key-made")
    public = site.key.with_name("ssh_key.pub").read_text().strip()
    assert public in found["detail"]
    assert not site.config.exists()
    early = site.run(*words)
    assert early.returncode == 69
    assert not site.config.exists()
    site.register(public)
    done = site.run(*words)
    assert done.returncode == 0, done.stderr
    assert site.key.with_name("ssh_key.pub").read_text().strip() == public


def test_the_command_in_the_hint_gets_the_keys_of_the_server(site: Site) -> None:
    make_key(site.root / "key")
    ran = site.run("--key-file", "/key", "--anchor", site.repository.head, "--json")
    (found,) = json.loads(ran.stdout)["error"]["diagnostics"]
    assert (ran.returncode, found["code"]) == (64, "init-needs-known-hosts")
    words, _, target = found["hint"].partition(";")[0].partition(" > ")
    assert target == "/etc/datum/known_hosts"
    assert shutil.which("ssh-keyscan")
    scanned = subprocess.run(shlex.split(words), capture_output=True, text=True, check=True).stdout
    lines = [line.split()[1:3] for line in scanned.splitlines() if not line.startswith("#")]
    assert site.server.line().split()[1:3] in lines
