"""The way to a remote over https: git's own helper, with a configuration that only the environment carries.

Effects: reads the token file; looks at a server once more where it is to be told what is wrong.
"""

import base64
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from attrs import evolve

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryUnreachableError
from datum.provider.host import Command, HostError, ProgramRunner
from datum.repository.access import Reader, check_key, check_readable, read_password, read_token
from datum.repository.failures import certificate_failure
from datum.repository.remote import Remote, shown_remote
from datum.repository.route import ASK_MEMORY, GIT_ENVIRONMENT, NO_HOME, Route, bounded

HELPER: Final = "datum"
"""Scheme of the helper of ours: git runs `git-remote-datum`."""
_LOOK_SECONDS: Final = 20.0
_SHOWN: Final = 300
_SOCKS: Final = "socks"
_PATH: Final = f"{Path(__file__).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def https_route(remote: Remote, reader: Reader | None) -> Route:
    """Return the way to a remote over https.

    The helper asks with two requests: what the server can do, and the refs wanted. It is git's own program, but for its
    stdin: unbuffered, so that what follows the greeting is still there when it turns to it.

    Raises:
        RepositoryUnreachableError: a file that the remote needs cannot be used.
    """
    token = read_token(remote.token_file, reader) if remote.token_file else ""
    password = read_password(remote.proxy_password_file, reader) if remote.proxy_user else ""
    return Route(
        remote,
        (*bounded(remote, ASK_MEMORY), "stdbuf", "-i0", "git", "remote-https", HELPER, remote.url),
        f"{HELPER}::{remote.url}",
        {
            **GIT_ENVIRONMENT,
            "GIT_ALLOW_PROTOCOL": f"{HELPER}:https",
            "HOME": NO_HOME,
            "PATH": _PATH,
            **_as_environment(_configuration(remote, reader, token, password)),
        },
        greeting=b"stateless-connect git-upload-pack\n",
        # A flush more would be one request more.
        farewell=b"",
        secrets=tuple(_forms(remote.token_user, token)) + tuple(_forms(remote.proxy_user, password)),
    )


def explained(run: ProgramRunner, remote: Remote, found: Diagnostic) -> Diagnostic:
    """Return a failure with what only another look at the server shows: why its certificate fails, where it sends to.

    git built with GnuTLS says of every certificate that it failed, and of a redirection that there is one.
    """
    if found.code not in {"certificate-untrusted", "remote-redirects"} or remote.proxy.startswith(_SOCKS):
        return found
    look = (sys.executable, "-I", str(Path(__file__).with_name("look.py")))
    argv = (*bounded(remote, ASK_MEMORY), *look, remote.url, remote.ca_file, remote.proxy)
    try:
        # It is no argument: those are for everybody to read.
        login = _basic(remote.proxy_user, read_password(remote.proxy_password_file, None)) if remote.proxy_user else ""
        command = Command(argv, timeout=_LOOK_SECONDS, environment={"HOME": NO_HOME}, stdin=login.encode())
        seen = json.loads(run(command).stdout)
    except (HostError, RepositoryUnreachableError, ValueError):
        return found
    problem, location = str(seen.get("problem", "")), str(seen.get("location", ""))
    if problem:
        return certificate_failure(remote, problem)
    # It is a foreign text.
    shown = "".join(letter for letter in shown_remote(location) if letter.isprintable())[:_SHOWN]
    return evolve(found, detail=f"{found.detail} It sends to {shown}.") if shown else found


def _configuration(remote: Remote, reader: Reader | None, token: str, password: str) -> Mapping[str, str]:
    said = {
        "http.followRedirects": "false",
        # Bytes a second, and seconds: the helper is to end where nobody is left who ends it at a deadline.
        "http.lowSpeedLimit": "1",
        "http.lowSpeedTime": "60",
        "http.proxy": _proxy(remote, password),
        # The one way that is tried, and at once: of several curl takes what needs tickets before what needs a password.
        "http.proxyAuthMethod": "basic",
        "http.sslVerify": "true",
    }
    if remote.ca_file:
        check_readable(remote.ca_file)
        # Without the second line the authorities of the system are trusted as well.
        said |= {"http.sslCAInfo": remote.ca_file, "http.sslCAPath": NO_HOME}
    if remote.cert_file:
        check_readable(remote.cert_file)
        check_key(remote.cert_key_file, reader)
        said |= {"http.sslCert": remote.cert_file, "http.sslKey": remote.cert_key_file}
    if token:
        said["http.extraHeader"] = f"Authorization: {_basic(remote.token_user, token)}"
    return said


def _proxy(remote: Remote, password: str) -> str:
    """Return the proxy's URL as git takes it apart: user and password in it."""
    if not remote.proxy_user:
        return remote.proxy
    scheme, _, place = remote.proxy.partition("://")
    return f"{scheme}://{quote(remote.proxy_user, safe='')}:{quote(password, safe='')}@{place}"


def _basic(user: str, password: str) -> str:
    """Return the words by which a user is told to a server or proxy."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _forms(user: str, password: str) -> Iterator[str]:
    """Yield each form in which a secret goes over the network, or stands in what git is told."""
    if password:
        yield from (_basic(user, password).partition(" ")[2], quote(password, safe=""), password)


def _as_environment(configuration: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables by which git is configured: they are nobody's to read but this user's and root's."""
    environment = {"GIT_CONFIG_COUNT": str(len(configuration))}
    for number, (key, value) in enumerate(configuration.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment
