"""A second look at a server over https, run as a program of its own where git's words do not say what is wrong.

Effects: reads from stdin what to say to the proxy; one connection, with no other credentials, and one line of JSON on
stdout. Nothing of the answer's body is read.
"""

import http.client
import json
import ssl
import sys
from collections.abc import Mapping, Sequence
from typing import Final

_SECONDS: Final = 10


def look(url: str, ca_file: str, proxy: str, login: str = "") -> Mapping[str, str]:
    """Return what a look shows: `problem` of the certificate, or the `location` that the server sends to.

    Args:
        url: `https://HOST[:PORT]/PATH`.
        ca_file: the authorities that are trusted; empty: those of the system.
        proxy: `http://HOST:PORT`, or empty.
        login: what the proxy is told of who asks; empty: nothing.
    """
    host, _, path = url.removeprefix("https://").partition("/")
    connection = http.client.HTTPSConnection(
        proxy.removeprefix("http://") or host,
        timeout=_SECONDS,
        context=ssl.create_default_context(cafile=ca_file or None),
    )
    if proxy:
        # The port of a tunnel has no default.
        name, colon, port = host.rpartition(":")
        is_port = bool(colon) and port.isdecimal()
        connection.set_tunnel(
            name if is_port else host,
            int(port) if is_port else http.client.HTTPS_PORT,
            {"Proxy-Authorization": login} if login else {},
        )
    try:
        connection.request("GET", f"/{path}/info/refs?service=git-upload-pack", headers={"Git-Protocol": "version=2"})
        return {"location": connection.getresponse().headers.get("Location", "")}
    except ssl.SSLCertVerificationError as error:
        return {"problem": error.verify_message}
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        connection.close()


def main(arguments: Sequence[str], login: str) -> None:
    """Look, and print what was seen."""
    url, ca_file, proxy = arguments
    json.dump(look(url, ca_file, proxy, login), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdin.read())
