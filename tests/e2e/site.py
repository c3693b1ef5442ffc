"""A site as an operator would build one: a git server, and bare hosts that are enrolled by the lines of README."""

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from tests.docs.readme import line_of, words_of
from tests.git_repository import GitRepository
from tests.harness import image
from tests.harness.booted import Booted
from tests.harness.network import Network
from tests.harness.plugin import LIBRARIES, AgentBind
from tests.harness.spec import Bind
from tests.remotes.certificates import Authority

SERVER: Final = "git"
SERVER_NAME: Final = "git.example.org"
FLEET: Final = {
    "datum": 1,
    "agent": ">=0.1",
    "fleet": "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11",
    "layers": ["base"],
    "limits": {"changed": "none"},
}
REPORTS: Final = "var/log/datum/reports"
PATIENCE: Final = 240.0
"""Seconds for what the timer has to bring about: far more than it takes, also where many tests share a processor."""

TOKEN: Final = "t0ken-of-the-site"
# Where README has the repository, for https below what is served.
_REPOSITORY: Final = "/infra/fleet.git"
_SERVED: Final = "/srv"
_TESTS: Final = "/opt/tests"
_PACKAGE: Final = "/srv/datum-agent.deb"
_CERTIFICATE: Final = "/srv/certificate.pem"
# Runs on the server, until it is killed.
_HTTPS: Final = f"""
import signal
from pathlib import Path
from tests.remotes.https import HttpsServer

with HttpsServer(
    Path("{_SERVED}"), Path("{_CERTIFICATE}"), credentials="git:{TOKEN}", address=("0.0.0.0", 443)
):
    print(flush=True)
    signal.pause()
"""
# As an operator may, with `systemctl edit datum.timer`: a pass after a second, and each time one second after the last.
_AT_ONCE: Final = "RandomizedDelaySec=0\nAccuracySec=50ms\n"
_FAST: Final = {
    "datum.timer": f"[Timer]\nOnCalendar=\nOnActiveSec=1s\nOnUnitInactiveSec=1s\n{_AT_ONCE}",
    "datum-boot.timer": f"[Timer]\nOnBootSec=\nOnBootSec=0\n{_AT_ONCE}",
}

Resources = Mapping[str, Mapping[str, Any]]


@define
class Site:
    """The server, the author's clone, and how hosts get onto the network; ends with the test."""

    folder: Path
    network: Network
    # Boots a Debian that has nothing of ours.
    make_bare: Callable[..., Booted]
    agent: AgentBind
    author: GitRepository = field(init=False)
    authority: Authority = field(init=False)
    server: Booted = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.author = GitRepository(self.folder / "fleet")
        self.authority = Authority(self.folder / "authority")

    def serve(self) -> None:
        """Boot the server: sshd of a Debian 13 with a user `git`, and git's http-backend behind TLS."""
        binds = (
            Bind(str(self.author.path), _REPOSITORY),
            Bind(str(self.author.path), f"{_SERVED}{_REPOSITORY}"),
            Bind(str(Path(__file__).parents[1]), f"{_TESTS}/tests"),
            *(bind for bind in self.agent.binds if bind.target == LIBRARIES),
        )
        self.server = self.make_bare(suite=image.TRIXIE, name=SERVER, network=self.network, binds=binds)
        self.server.write(_CERTIFICATE, self.authority.issue(SERVER_NAME).read_bytes(), mode=0o600)
        script = (
            "useradd --create-home --shell /usr/bin/git-shell git; install -d -o git -g git -m 700 /home/git/.ssh\n"
            # The author's clone belongs to nobody of this host.
            "git config --system safe.directory '*'\n"
            "echo 'AcceptEnv GIT_PROTOCOL' > /etc/ssh/sshd_config.d/git.conf; systemctl restart ssh.service"
        )
        self.server.run(["sh", "-ec", script])
        env = f"PYTHONPATH={_TESTS}:{LIBRARIES}"
        self.server.run(["systemd-run", "--quiet", "--unit=https", "--setenv", env, "/usr/bin/python3", "-c", _HTTPS])

    def enrol_over_ssh(self, name: str, **options: Any) -> "Host":
        """Enrol a bare host with a deploy key of its own, pinned keys of the server, and an anchor."""
        host = self._bare(name, **options)
        host.machine.write("/etc/datum/known_hosts", self.server_keys)
        # The server cannot know the key yet; then the same line again.
        said = self._enrol(host, "ssh", code=64)
        found = re.search(r"ssh-ed25519 \S+", said)
        assert found is not None, said
        self.let_in(found[0])
        self._enrol(host, "ssh")
        return host

    def enrol_over_https(self, name: str, **options: Any) -> "Host":
        """Enrol a bare host with a token, an authority of the site's own, and an anchor."""
        host = self._bare(name, **options)
        host.machine.write("/etc/datum/token", TOKEN, mode=0o600)
        host.machine.write("/etc/datum/ca.pem", self.authority.path.read_bytes())
        self._enrol(host, "https")
        return host

    def _enrol(self, host: "Host", way: str, *, code: int = 0) -> str:
        """Run what README says for this way into a fleet; return what it said."""
        values = {"web1": host.name, "COMMIT": self.author.head}
        return host.datum(*words_of(line_of(way), values)[1:], code=code)

    def _bare(
        self, name: str, *, deb: Path | None = None, before: Callable[[Booted], object] = lambda _: None, **options: Any
    ) -> "Host":
        """Boot a bare host that has the agent's package, or else its command and nothing more of it."""
        binds = self.agent.binds if deb is None else (Bind(str(deb), _PACKAGE),)
        machine = self.make_bare(name=name, network=self.network, binds=binds, **options)
        before(machine)
        if deb is None:
            self._give_command(machine)
        else:
            machine.run(["apt-get", "install", "--yes", _PACKAGE], timeout=PATIENCE)
        machine.run(["mkdir", "-p", "/etc/datum"])
        host = Host(machine, name)
        host.hurry()
        return host

    def _give_command(self, machine: Booted) -> None:
        words = " ".join(map(shlex.quote, self.agent.argv))
        env = " ".join(f"{key}={shlex.quote(value)}" for key, value in self.agent.env.items())
        machine.write("/usr/bin/datum", f'#!/bin/sh\nexec env {env} {words} "$@"\n', mode=0o755)

    def let_in(self, public_key: str) -> None:
        """Let the holder of a deploy key read the repository."""
        self.server.run(["tee", "-a", "/home/git/.ssh/authorized_keys"], input=f"restrict {public_key}\n")

    @property
    def server_keys(self) -> str:
        """A line of known_hosts, as whoever runs the server says it."""
        kind, key = self.server.read("/etc/ssh/ssh_host_ed25519_key.pub").decode().split()[:2]
        return f"{SERVER_NAME} {kind} {key}\n"

    def commit(self, base: Resources, **hosts: Resources) -> str:
        """Declare resources of every host and of single ones; return the commit."""
        files: dict[str, str | bytes] = {
            "fleet.yaml": json.dumps(FLEET),
            "layers/base/default.yaml": json.dumps({"resources": base}),
        }
        files |= {f"hosts/{name}.yaml": json.dumps({"resources": found}) for name, found in hosts.items()}
        return self.author.commit(files)


@frozen
class Host:
    """One host of the site."""

    machine: Booted
    name: str

    def datum(self, *words: str, code: int = 0) -> str:
        """Run the command as an operator does, and expect how it ends; return what it said."""
        done = self.machine.run(["datum", *words], check=False, timeout=PATIENCE)
        said = done.stdout + done.stderr
        assert done.returncode == code, f"{words} ended with {done.returncode}\n{said}"
        assert "Traceback" not in said
        return said

    def hurry(self) -> None:
        """Have the timer elapse all the time, as an operator's drop-in may."""
        for unit, text in _FAST.items():
            self.machine.run(["mkdir", "-p", f"/etc/systemd/system/{unit}.d"])
            self.machine.write(f"/etc/systemd/system/{unit}.d/fast.conf", text)
        self.machine.run(["systemctl", "daemon-reload"])

    @property
    def newest(self) -> Mapping[str, Any]:
        """The newest report, looked at from outside; empty where there is none."""
        return next(self._reports(), {})

    @property
    def triggers(self) -> set[str]:
        """What began the passes of which there are reports."""
        return {str(found["trigger"]["kind"]) for found in self._reports()}

    def _reports(self) -> Iterator[Mapping[str, Any]]:
        """Yield the reports, newest first."""
        folder = self.machine.path / REPORTS
        for path in sorted(folder.glob("*.json"), reverse=True):
            # One may be evicted just now.
            with suppress(FileNotFoundError):
                yield json.loads(path.read_bytes())

    def await_report(self, holds: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
        """Wait until the newest report is one of the kind."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.newest
            if found and holds(found):
                return found
            assert time.monotonic() < end, f"no such report of {self.name}: {self._said()}"
            time.sleep(0.05)

    def await_true(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that only the timer's passes bring about; looked at without a pause."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, f"{self.name} does not get there: {self._said()}"

    def sh(self, script: str) -> str:
        """Return what a script prints."""
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()

    def give_servers(self, seconds: int) -> None:
        """Have a pass wait for the source no longer than this, in the file that `init` wrote."""
        path = "/etc/datum/agent.yaml"
        text = self.read(path)
        assert "source:\n" in text, text
        self.machine.write(path, text.replace("source:\n", f"source:\n  timeout: {seconds}\n"))

    def await_commit(self, commit: str, code: int = 0) -> Mapping[str, Any]:
        """Wait until a pass of the timer ended with this revision and this exit code."""
        return self.await_report(lambda found: (revision(found), found["exit_code"]) == (commit, code))

    def read(self, path: str) -> str:
        return self.machine.read(path).decode()

    def _said(self) -> str:
        found = {key: self.newest.get(key) for key in ("outcome", "exit_code", "target", "trigger", "diagnostics")}
        return f"{found}\n{self.machine.run(['journalctl', '-n', '40', '--no-pager'], check=False).stdout}"


def revision(report: Mapping[str, Any]) -> str:
    """Return the commit that a pass enforced."""
    return str(report["target"]).rpartition(":")[2]
