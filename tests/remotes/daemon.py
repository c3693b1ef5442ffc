"""git's own daemon, which anybody on the way can speak for: one process for each connection on the loopback."""

import contextlib
import socket
import subprocess
from pathlib import Path
from types import TracebackType

from attrs import define, field

from tests.remotes.listening import Listening


@define
class GitDaemon(Listening):
    """Serves the repositories below a folder to everybody; a context manager."""

    folder: Path
    connections: int = 0
    _children: list["subprocess.Popen[bytes]"] = field(factory=list)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        for child in self._children:
            child.kill()
            child.wait()

    def url(self, name: str = "fleet") -> str:
        """Return the URL of a repository of the folder."""
        return f"git://127.0.0.1:{self.port}/{name}"

    def _take(self, connection: socket.socket) -> None:
        self.connections += 1
        argv = ["git", "daemon", "--inetd", "--export-all", f"--base-path={self.folder}", str(self.folder)]
        with connection, contextlib.suppress(OSError):
            end = connection.fileno()
            self._children.append(subprocess.Popen(argv, stdin=end, stdout=end, stderr=subprocess.DEVNULL))
