"""A look at each hop on the way to a server, run as a program of its own under the account of the source.

Effects: one connection, without any credentials, and one line of JSON on stdout. It decides nothing: whether a remote
can be used is what asking it says; this tells what was met on the way. Nothing of an answer's body is read.
"""

import contextlib
import http.client
import json
import socket
import ssl
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

_SECONDS: Final = 10


def look(host: str, port: int, url: str, ca_file: str, proxy: str) -> Mapping[str, Any]:
    """Return what was met on the way; a hop that was not come to is not in it.

    Args:
        host: whose name is looked up: of the remote, its proxy, or its jump host.
        port: likewise.
        url: `https://HOST[:PORT]/PATH`, which is talked to; empty: nothing is connected to.
        ca_file: the authorities that are trusted; empty: those of the system.
        proxy: `http://HOST:PORT`, or empty.

    Returns:
        `addresses`, `peer`, `certificate`, `tls`, `status`, `date` and `now`: the moment of this host at which the
        answer with this date was there; `error`: the system's words where it ended.
    """
    seen: dict[str, Any] = {}
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        seen["addresses"] = list(dict.fromkeys(address[0] for *_, address in found))
        if url:
            connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
            with contextlib.closing(connection):
                _talk(connection, urlsplit(url), ca_file, proxy, seen)
    except (OSError, http.client.HTTPException, ValueError) as error:
        seen["error"] = str(getattr(error, "strerror", None) or error)
    return seen


def _talk(
    connection: http.client.HTTPConnection, url: SplitResult, ca_file: str, proxy: str, seen: dict[str, Any]
) -> None:
    """Connect, through the proxy if there is one, then speak TLS: in this order, so that what holds is known."""
    name = url.hostname or ""
    if proxy:
        connection.set_tunnel(name, url.port or http.client.HTTPS_PORT)
    connection.connect()
    seen["peer"] = connection.sock.getpeername()[0]
    context = ssl.create_default_context(cafile=ca_file or None)
    secured = context.wrap_socket(connection.sock, server_hostname=name)
    connection.sock = secured
    seen |= {"certificate": secured.getpeercert(), "tls": secured.version()}
    headers = {"Host": url.netloc, "Git-Protocol": "version=2"}
    connection.request("GET", f"{url.path}/info/refs?service=git-upload-pack", headers=headers)
    answer = connection.getresponse()
    now = time.time()  # noqa: TID251  # this is a program of its own, which tells when it looked
    seen |= {"status": answer.status, "date": answer.headers.get("Date", ""), "now": now}


def main(arguments: Sequence[str]) -> None:
    """Look, and print what was seen."""
    host, port, url, ca_file, proxy = arguments
    json.dump(look(host, int(port), url, ca_file, proxy), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
