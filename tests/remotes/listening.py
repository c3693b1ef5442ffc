"""What all servers of the tests do: they listen on a port of the loopback, and hand each connection on."""

import socket
import threading
from types import TracebackType
from typing import Self

from attrs import define, field


@define
class Listening:
    """Serves each connection in a thread of its own; a context manager."""

    _listener: socket.socket = field(init=False)
    _thread: threading.Thread = field(init=False)

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing alone does not wake who waits for a connection.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        raise NotImplementedError
