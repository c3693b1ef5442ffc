"""An ssh server: sshd in a one-shot host, one process for each connection that comes in on the loopback of this one."""

import contextlib
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import define, field

from tests.harness.oneshot import Oneshot
from tests.harness.spec import ENVIRONMENT
from tests.remotes.listening import Listening

INNER_PORT: Final = 2222
_CONFIG: Final = """\
HostKey /etc/ssh/test_host_key
AuthorizedKeysFile /etc/ssh/test_authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PrintMotd no
PidFile none
LogLevel ERROR
"""


def make_key(path: Path, *, kind: str = "ed25519") -> str:
    """Make a pair of keys and return the public one, without a comment."""
    argv = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(path)]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return path.with_suffix(".pub").read_text().strip()


def fingerprint(path: Path) -> str:
    """Return the fingerprint of a pair of keys."""
    done = subprocess.run(["ssh-keygen", "-l", "-f", str(path)], capture_output=True, check=True, text=True)
    return done.stdout.split()[1]


@define
class SshServer(Listening):
    """Lets the holder of a key in as root; a context manager."""

    host: Oneshot
    # Of this machine: the server's pair of keys, and the public key of who may come in.
    host_key: Path
    authorized: str
    # More of sshd's configuration; it comes first, so it counts.
    config: str = ""
    connections: int = 0
    _children: list["subprocess.Popen[bytes]"] = field(factory=list)

    def __enter__(self) -> Self:
        self.configure()
        self.host.run(["mkdir", "-p", "/run/sshd"])
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        for child in self._children:
            child.kill()
            child.wait()

    def configure(self) -> None:
        """Write what the next connection is to meet."""
        self.host.write("/etc/ssh/test_host_key", self.host_key.read_bytes(), mode=0o600)
        certificate = self.host_key.with_name(f"{self.host_key.name}-cert.pub")
        more = ""
        if certificate.exists():
            self.host.write("/etc/ssh/test_host_key-cert.pub", certificate.read_bytes())
            more = "HostCertificate /etc/ssh/test_host_key-cert.pub\n"
        self.host.write("/etc/ssh/test_authorized_keys", self.authorized + "\n", mode=0o600)
        self.host.write("/etc/ssh/test_config", self.config + more + _CONFIG)

    def start_inside(self) -> None:
        """Have a server of its own listen on `INNER_PORT` inside the host, where only a jump leads."""
        self.host.run(["mkdir", "-p", "/run/sshd"])
        self.host.run(["/usr/sbin/sshd", "-f", "/etc/ssh/test_config", "-p", str(INNER_PORT)])

    def url(self, path: str = "/srv/fleet") -> str:
        """Return the URL of a repository of the host."""
        return f"ssh://root@localhost:{self.port}{path}"

    def line(self, public: str = "") -> str:
        """Return the line of known_hosts for this server, with another key than its own if one is given."""
        return f"[localhost]:{self.port} {public or self.host_key.with_suffix('.pub').read_text().strip()}\n"

    def _take(self, connection: socket.socket) -> None:
        self.connections += 1
        argv = [*self.host._way_in(), "/usr/sbin/sshd", "-i", "-f", "/etc/ssh/test_config"]
        with connection, contextlib.suppress(OSError):
            end = connection.fileno()
            self._children.append(
                subprocess.Popen(argv, stdin=end, stdout=end, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
            )
