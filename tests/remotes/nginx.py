"""A git server as most are: nginx with TLS, and git's `http-backend` behind fcgiwrap. Unprivileged, on the loopback."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import define, field, frozen

from tests.remotes import debian

HOST: Final = "localhost"
NOBODY: Final = 65534
BACKEND: Final = "/usr/lib/git-core/git-http-backend"
_SECONDS: Final = 10
_CONFIG: Final = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  log_format counted '$status $request_length $bytes_sent $request_method $request_uri $http_transfer_encoding '
                     '$http_content_encoding';
  access_log {folder}/access.log counted;
  client_body_temp_path {folder}/body;
  fastcgi_temp_path {folder}/fastcgi;
  proxy_temp_path {folder}/proxy;
  scgi_temp_path {folder}/scgi;
  uwsgi_temp_path {folder}/uwsgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/certificate.pem;
    {server}
    location / {{
      {location}
      fastcgi_pass unix:{backend};
      fastcgi_param SCRIPT_FILENAME {program};
      fastcgi_param GIT_PROJECT_ROOT {repositories};
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param GIT_CONFIG_COUNT 1;
      fastcgi_param GIT_CONFIG_KEY_0 safe.directory;
      fastcgi_param GIT_CONFIG_VALUE_0 *;
      fastcgi_param PATH_INFO $uri;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param REMOTE_USER $remote_user;
      {protocol}
    }}
  }}
}}
"""
_PROTOCOL: Final = "fastcgi_param GIT_PROTOCOL $http_git_protocol;"
# nginx hands on each header by itself, too, and git looks at that since 2.34.
_NO_PROTOCOL: Final = 'fastcgi_param HTTP_GIT_PROTOCOL "";'


@frozen
class Served:
    """One request that was answered, as the log has it."""

    status: int
    # Bytes of head and body, without TLS.
    received: int
    sent: int
    method: str
    target: str
    # Of the request's body; `-`: none.
    transfer: str
    content: str


@define
class NginxServer:
    """Serves the repositories below a folder that everybody can enter; a context manager."""

    repositories: Path
    # Key and certificate in one file.
    certificate: Path
    # More of the configuration, of the server and of the one location.
    server: str = ""
    location: str = ""
    # Whether the client's wish for protocol 2 reaches git.
    passes_protocol: bool = True
    # What fcgiwrap runs.
    backend: str = BACKEND
    folder: Path = field(init=False)
    _listener: socket.socket = field(init=False)
    _backend: socket.socket = field(init=False)
    _programs: list["subprocess.Popen[bytes]"] = field(factory=list)
    _is_stopped: bool = False

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="datum-nginx."))
        # The cache is one user's alone, and these programs are run as another one.
        unpacked = self.folder / "unpacked"
        shutil.copytree(debian.find_or_unpack() / "usr", unpacked / "usr", symlinks=True)
        shutil.copyfile(self.certificate, self.folder / "certificate.pem")
        # Nothing is waited for: who comes before the programs are there waits in line.
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._backend = socket.socket(socket.AF_UNIX)
        self._backend.bind(str(self.folder / "backend"))
        self._backend.listen()
        self.configure()
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(self.folder)], check=True)
        environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": debian.libraries(unpacked)}
        nginx = (debian.program("nginx", unpacked), "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"))
        # It takes over a socket that listens already, as it does from an older nginx.
        inherited = self._listener.fileno()
        words = str(self.folder / "error.log")
        self._start(None, *nginx, "-e", words, environment={**environment, "NGINX": f"{inherited};"})
        # As FastCGI has it: the socket that listens is its stdin.
        self._start(self._backend, debian.program("fcgiwrap", unpacked), "-f", "-c", "2", environment=environment)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        has_run = self._is_stopped or self._programs[0].poll() is None
        self.stop()
        said = (self.folder / "error.log").read_text()
        shutil.rmtree(self.folder)
        # One that a wrong configuration ended looks to clients as one that hangs.
        assert has_run, said

    def configure(self) -> None:
        """Write what nginx is started with."""
        (self.folder / "nginx.conf").write_text(
            _CONFIG.format(
                folder=self.folder,
                port=self.port,
                server=self.server,
                location=self.location,
                backend=self.folder / "backend",
                program=self.backend,
                repositories=self.repositories,
                protocol=_PROTOCOL if self.passes_protocol else _NO_PROTOCOL,
            )
        )

    def stop(self) -> None:
        """End both programs; done again it does nothing."""
        self._is_stopped = True
        for program in self._programs:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGTERM)
                try:
                    program.wait(_SECONDS)
                except subprocess.TimeoutExpired:
                    os.killpg(program.pid, signal.SIGKILL)
                    program.wait()
        self._listener.close()
        self._backend.close()

    def stop_backend(self) -> None:
        """End what runs git; nginx stays."""
        os.killpg(self._programs[1].pid, signal.SIGKILL)
        self._programs[1].wait()
        self._backend.close()

    def served(self) -> list[Served]:
        """End the server, and return what it answered."""
        self.stop()
        lines = [line.split() for line in (self.folder / "access.log").read_text().splitlines()]
        return [Served(int(line[0]), int(line[1]), int(line[2]), *line[3:]) for line in lines]

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._listener.getsockname()[1])

    def url(self, name: str = "fleet", host: str = HOST) -> str:
        """Return the URL of a repository of the folder."""
        return f"https://{host}:{self.port}/{name}"

    def _start(self, stdin: socket.socket | None, *argv: str, environment: dict[str, str]) -> None:
        drop = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups") if os.geteuid() == 0 else ()
        with (self.folder / "words.log").open("ab") as words:
            self._programs.append(
                subprocess.Popen(
                    [*drop, *argv],
                    stdin=subprocess.DEVNULL if stdin is None else stdin.fileno(),
                    stdout=words,
                    stderr=words,
                    env=environment,
                    pass_fds=[self._listener.fileno()],
                    start_new_session=True,
                )
            )
