"""Names of remotes and refs: what may stand in the configuration, and how it is shown. Pure."""

import enum
import os
import re
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from attrs import frozen

from datum.diagnostics import Diagnostic
from datum.errors import SettingsError

_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
# git's own short form of ssh: a colon before the first slash.
_SCP: Final = re.compile(r"[^/:]+:")
_HIDDEN: Final = re.compile(r"[?#]")
# In what would be a path: a URL with a slash too much, as `//ann:word@host/fleet`.
_PASSWORD: Final = re.compile(r":.*@")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
# No name that a program could take for an option.
_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?\.?|[0-9a-f:.]*:[0-9a-f:.]*")
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PORTS: Final = {"https": 443, "ssh": 22}
# Of proxies: curl takes 1080 for each where none is said, and of HTTP nobody expects that.
_PROXY_PORTS: Final = {"http": 80, "socks5h": 1080}
_PROXIES: Final = "http://HOST:PORT or socks5h://HOST:PORT"
_PORT_LIMIT: Final = 1 << 16
# Not protected against who is on the way: he could change what this host is told to be.
_OPEN_SCHEMES: Final = frozenset({"git", "http", "ftp"})
# What git-check-ref-format refuses.
_BAD_REF: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/]|(^|/)\.|/$|\.$|\.lock(/|$)|^@$")
# Bytes. A ref is a file, and has to fit into one line of git's protocol.
_REF_LIMIT: Final = 1024
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FORMS: Final = "Write https://HOST/PATH, ssh://USER@HOST/PATH, or the absolute path of a repository on this host."


class Transport(enum.StrEnum):
    """How a remote is reached."""

    FILE = "file"
    HTTPS = "https"
    SSH = "ssh"


@frozen
class Remote:
    """One place that the fleet repository can be had from, and what it takes to get in there."""

    # A result of `normal_remote`: never with credentials, so it may be shown.
    url: str
    # https: the only authorities that are trusted; empty: those of the system. Paths are those of this machine.
    ca_file: str = ""
    # https: holds a token and nothing else.
    token_file: str = ""
    # https: the user that the token is sent with.
    token_user: str = "git"  # noqa: S105  # a name
    # https: a result of `normal_proxy`.
    proxy: str = ""
    # https: who this host is to the proxy; the file holds the password. Both or neither.
    proxy_user: str = ""
    proxy_password_file: str = ""
    # https: who this host is to the server: certificates in PEM form, the own one first, and its key. Both or neither.
    cert_file: str = ""
    cert_key_file: str = ""
    # ssh: the private key.
    key_file: str = ""
    # ssh: the keys of the servers, in the form of known_hosts, `@cert-authority` lines included.
    known_hosts_file: str = ""
    # ssh: a result of `normal_jump`: the host through which the remote is reached, with the same key and known hosts.
    jump: str = ""

    @property
    def transport(self) -> Transport:
        """How it is reached."""
        scheme = _SCHEME.match(self.url)
        return Transport(scheme["scheme"]) if scheme else Transport.FILE

    @property
    def secrets(self) -> tuple[str, ...]:
        """The files that nobody but this host may read."""
        return tuple(
            path for path in (self.token_file, self.proxy_password_file, self.cert_key_file, self.key_file) if path
        )

    @property
    def read_by_programs(self) -> tuple[str, ...]:
        """The files that git or ssh read themselves; what the others hold is handed to them."""
        files = (self.ca_file, self.cert_file, self.cert_key_file, self.key_file, self.known_hosts_file)
        return tuple(path for path in files if path)

    def __str__(self) -> str:
        return self.url


@frozen
class Address:
    """The end of a connection."""

    host: str
    port: int
    # Empty: not said.
    user: str = ""


def address(url: str) -> Address:
    """Return where a result of `normal_remote`, `normal_proxy` or `normal_jump` leads to."""
    parts = urlsplit(url if "://" in url else f"ssh://{url}")
    return Address(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0), parts.username or "")


def normal_remote(text: str) -> str:
    """Return the normal form of a remote: an absolute path, or an `https://` or `ssh://` URL.

    Raises:
        SettingsError: it is anything else, or holds credentials. No message shows these.
    """
    scheme = _SCHEME.match(text)
    name = scheme["scheme"].lower() if scheme else ""
    if name in {Transport.HTTPS, Transport.SSH}:
        return _normal_url(text, name)
    path = _file_path(text) if name == Transport.FILE else text
    if _CONTROL.search(path):
        raise _malformed("The remote holds a control character.", _FORMS)
    if name and name != Transport.FILE:
        raise _other_transport(text, name)
    if not name and _SCP.match(text):
        raise _malformed(
            f"'{shown_remote(text)}' is neither a path nor a URL; in git's short form of ssh its place is not clear.",
            _FORMS,
        )
    if not path.startswith("/"):
        raise SettingsError(
            Diagnostic(
                code="remote-relative",
                summary="The remote is a relative path.",
                detail=f"'{shown_remote(text)}' depends on the directory that the agent is started in.",
                hint="Write the absolute path of the repository, or a file:// URL.",
            )
        )
    if _PASSWORD.search(path):
        raise _malformed(
            f"'{shown_remote(path)}' would be a path on this host, and holds what looks like a password.", _FORMS
        )
    return "/" + "/".join(part for part in path.split("/") if part not in {"", "."})


def normal_proxy(text: str) -> str:
    """Return the normal form of a proxy: `http://HOST:PORT`, or `socks5h://HOST:PORT`; the port is always there.

    Raises:
        SettingsError: it is anything else. No message shows credentials.
    """
    parts = _split(text, "The proxy", _PROXIES)
    scheme = parts.scheme.lower()
    if scheme not in _PROXY_PORTS or parts.path.strip("/"):
        names = "; with socks5 this host would look up names" if scheme == "socks5" else ""
        raise _malformed(f"The proxy is no URL of the form {_PROXIES}{names}.", f"Write {_PROXIES}.")
    if "@" in parts.netloc:
        raise _malformed(
            "The proxy's URL holds credentials, and a URL is shown and logged.",
            "Write the password into a file that only root can read, and name user and file: source.proxy_user, "
            "source.proxy_password_file.",
        )
    return f"{scheme}://{_host(parts)}:{parts.port or _PROXY_PORTS[scheme]}"


def normal_jump(text: str) -> str:
    """Return the normal form of a jump host, `[USER@]HOST[:PORT]`.

    Raises:
        SettingsError: it is anything else.
    """
    parts = _split(f"ssh://{text}", "The jump host", "USER@HOST:PORT")
    if parts.path or parts.password is not None:
        raise _malformed("The jump host is not of the form USER@HOST:PORT.", "Write USER@HOST or USER@HOST:PORT.")
    return _user(parts) + _host_and_port(parts)


def ssh_path(url: str) -> str:
    """Return the path that an ssh remote names, as git hands it to the server."""
    path = unquote(urlsplit(url).path, errors="surrogateescape")
    return path[1:] if path.startswith("/~") else path


def _normal_url(text: str, scheme: str) -> str:
    parts = _split(text, "The remote", f"{scheme}://HOST/PATH")
    if parts.password is not None or (scheme == Transport.HTTPS and "@" in parts.netloc):
        raise SettingsError(
            Diagnostic(
                code="remote-has-credentials",
                summary="The remote holds credentials.",
                detail=f"The URL of {shown_remote(text)} holds credentials, and a URL is shown and logged.",
                hint="Write the token into a file that only root can read, and name it: source.token_file."
                if scheme == Transport.HTTPS
                else "Make a key for this host, and name its file: source.key_file.",
            )
        )
    path = unquote(parts.path, errors="surrogateescape")
    if not path.strip("/") or _CONTROL.search(path) or not parts.path.isascii():
        raise _malformed(
            f"'{shown_remote(text)}' names no repository of the server, or holds what a URL must write with %.",
            f"Write {scheme}://HOST/PATH.",
        )
    return f"{scheme}://{_user(parts)}{_host_and_port(parts)}{parts.path.rstrip('/')}"


def _split(text: str, what: str, form: str) -> SplitResult:
    """Split a URL whose host, port and user can be used.

    Raises:
        SettingsError: they cannot.
    """
    problem = f"{what} '{shown_remote(text)}' is no URL that can be used."
    if _CONTROL.search(text) or " " in text or _HIDDEN.search(text):
        raise _malformed(f"{what} holds a character that no such URL has.", f"Write {form}.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _malformed(problem, f"Write {form}.") from error
    if port == 0 or not _HOST.fullmatch(parts.hostname or ""):
        raise _malformed(problem, f"Write {form}.")
    if parts.scheme.lower() == Transport.SSH and parts.username is not None and not _USER.fullmatch(parts.username):
        raise _malformed(problem, f"Write {form}.")
    return parts


def _user(parts: SplitResult) -> str:
    return f"{parts.username}@" if parts.username else ""


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    return f"[{host}]" if ":" in host else host


def _host_and_port(parts: SplitResult) -> str:
    shown = _host(parts)
    return shown if parts.port in {None, _PORTS[parts.scheme.lower()]} else f"{shown}:{parts.port}"


def _malformed(detail: str, hint: str) -> SettingsError:
    return SettingsError(
        Diagnostic(code="remote-malformed", summary="The remote is not usable.", detail=detail, hint=hint)
    )


def _file_path(url: str) -> str:
    rest = url.split("://", 1)[1]
    if rest.partition("/")[0].lower() not in {"", "localhost"}:
        raise _malformed(
            f"The file URL '{shown_remote(url)}' names a host, and only files of this host can be read.",
            "Write three slashes: file:///srv/fleet.git.",
        )
    return unquote("/" + rest.partition("/")[2], errors="surrogateescape")


def _other_transport(text: str, scheme: str) -> SettingsError:
    why = (
        "nothing protects it: whoever is on the way could change what this host is told to be"
        if scheme in _OPEN_SCHEMES
        else "that is no transport of datum"
    )
    return SettingsError(
        Diagnostic(
            code="transport-refused",
            summary="The transport is refused.",
            detail=f"The remote '{shown_remote(text)}' needs {scheme}, and {why}.",
            hint=_FORMS,
        )
    )


def shown_remote(text: str) -> str:
    """Return a remote as it may be shown: nothing before the last `@`, and neither query nor fragment.

    Of what is no remote neither: people paste what they have, and a URL may be hidden in it.
    """
    scheme = _SCHEME.match(text)
    start = scheme[0] if scheme else ""
    rest, *hidden = _HIDDEN.split(text.removeprefix(start), maxsplit=1)
    if hidden and "@" in hidden[0]:
        # It may be a password with such a character in it, which `rest` begins with.
        rest = "..."
    return start + rest.rpartition("@")[2]


def is_full_name(name: str) -> bool:
    """Whether git has refs of this full name, in a form that can be written down."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    return name.startswith("refs/") and size <= _REF_LIMIT and not _BAD_REF.search(name)


def full_names(ref: str) -> tuple[str, ...]:
    """Return the full names that a ref of the configuration may mean; more than one existing is ambiguous.

    Raises:
        SettingsError: git has no ref of that form.
    """
    if _COMMIT.fullmatch(ref):
        raise SettingsError(
            Diagnostic(
                code="ref-malformed",
                summary="The ref is no ref.",
                detail=f"'{ref}' is the id of a commit, and a source follows a branch or a tag.",
                hint="Name a branch, such as main; --rev pins one commit.",
            )
        )
    if not 0 < len(os.fsencode(ref)) <= _REF_LIMIT or _BAD_REF.search(ref):
        raise SettingsError(
            Diagnostic(
                code="ref-malformed",
                summary="The ref is no ref.",
                detail=f"git has no branch or tag of the form '{ref[:_REF_LIMIT]}'.",
                hint="Name a branch, such as main, or a tag.",
            )
        )
    if ref == "HEAD" or ref.startswith("refs/"):
        return (ref,)
    return (f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/{ref}")
