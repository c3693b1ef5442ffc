"""What the programs say when a server cannot be talked to, as what happened and what can be done. Pure."""

import enum
import re
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic
from datum.provider.host import CommandOutcome
from datum.repository.remote import Remote, Transport, address

_SHOWN_WORDS: Final = 600
_NOISE: Final = re.compile(r"debug\d: |OpenSSH_|Authenticated to |Transferred: |Bytes per second: |@{9}")


class _Speaker(enum.Enum):
    """Who can have said a line."""

    # git or ssh, nobody else.
    PROGRAM = enum.auto()
    # ssh, or a server whose key is a pinned one, before it lets this host in: its banner.
    GREETED = enum.auto()
    # The server.
    SERVER = enum.auto()


_OWN: Final = frozenset({_Speaker.PROGRAM})
_GREETING: Final = frozenset({_Speaker.PROGRAM, _Speaker.GREETED})
_SERVER: Final = frozenset({_Speaker.SERVER})


@frozen
class _Failure:
    # Matches what was said; of all failures the first that fits counts.
    words: re.Pattern[str]
    code: str
    summary: str
    hint: str
    # Whose lines it is looked for in.
    of: frozenset[_Speaker]


def _failure(words: str, code: str, summary: str, hint: str, *, of: frozenset[_Speaker] = _OWN) -> _Failure:
    return _Failure(re.compile(words), code, summary, hint, of)


_NAME: Final = (
    "remote-name-unknown",
    "The remote's name is not known.",
    "Look for a typing error, or at the resolver.",
)
_SILENT: Final = (
    "remote-not-listening",
    "Nothing answers at the remote's address.",
    "Look whether the server runs, and whether a firewall lets this host through.",
)
_CLOSED: Final = (
    "remote-closed-early",
    "The remote ended the conversation.",
    "The next pass tries again; if it stays so the log of the server says why.",
)
_MISSING: Final = (
    "repository-missing",
    "There is nothing at the remote.",
    "Look for a typing error; some servers say so of repositories that may not be seen, too.",
)
_EXPOSED_KEY: Final = (
    "source-file-exposed",
    "A secret of the source may be read by others.",
    "chmod 600 the key; with an account of the source: owner root, the group of that account, mode 640.",
)
_UNREADABLE_KEY: Final = (
    "source-file-unreadable",
    "A file that the source needs cannot be read.",
    "Let source.key_file be a private key without a passphrase; source.account, if there is one, must read both files.",
)
_REPOSITORY: Final = r"does not appear to be a git repository|[Rr]epository not found|No such (project|repository)"
_PROXY_FAILED: Final = _failure(
    r"Could not resolve proxy|HTTP code \d+ from proxy|CONNECT tunnel failed|Proxy CONNECT aborted|SOCKS",
    "proxy-failed",
    "The proxy does not lead to the remote.",
    "Look at source.proxy and at the proxy, and whether it lets this host through to the remote.",
)
_HTTPS: Final = (
    _failure(
        r"HTTP code 407 from proxy|CONNECT tunnel failed, response 407|rejected by the SOCKS5 server"
        r"|No authentication method was acceptable",
        "proxy-login-refused",
        "The proxy does not let this host through.",
        "Name the user and the file of the password as source.proxy_user and source.proxy_password_file; over HTTP the "
        "password is sent as Basic, and in no other way.",
    ),
    _PROXY_FAILED,
    _failure(r"Could not resolve host", *_NAME),
    _failure(r"Failed to connect to|Couldn't connect to server|Connection timed out", *_SILENT),
    _failure(
        r"Operation too slow|Operation timed out",
        "remote-timeout",
        "The remote did not answer in time.",
        "Look whether the server and the network to it are well.",
    ),
    _failure(
        r"does not match target host ?name|certificate is not valid for|no alternative certificate subject name",
        "certificate-of-another",
        "The remote shows the certificate of another name.",
        "Write the name that the certificate is for, or let the server show the right one; somebody may be between.",
    ),
    _failure(
        r"certificate has expired|expiration date",
        "certificate-expired",
        "The remote's certificate has expired.",
        "Renew it on the server, and look at this host's clock.",
    ),
    _failure(
        r"[Cc]ertificate (is )?required|No required SSL certificate was sent|bad certificate|alert certificate"
        r"|unknown ca|A TLS fatal alert has been received",
        "client-certificate-refused",
        "The remote wants a certificate of this host.",
        "Name a certificate that the server's authority has issued, and its key, as source.cert_file and "
        "source.cert_key_file.",
    ),
    _failure(
        r"certificate verification failed|SSL certificate|certificate signer|unable to get local issuer",
        "certificate-untrusted",
        "The remote's certificate is of an authority that is not trusted.",
        "Name the file of its authority as source.ca_file, or install that in the system; somebody may be between.",
    ),
    _failure(
        r"error reading X\.509 key or certificate|unable to (set private key|use client certificate)|could not load PEM"
        r"|private key .* does not match|unable to set up client cert",
        "source-file-unreadable",
        "A file that the source needs cannot be read.",
        "Let source.cert_file be certificates and source.cert_key_file the key of the first, without a passphrase, "
        "both in PEM form; source.account, if there is one, must read both files.",
    ),
    _failure(
        r"error setting certificate (verify|file)|error reading ca cert|Error (while )?reading .*CA|SSL CA cert",
        "source-file-unreadable",
        "A file that the source needs cannot be read.",
        "Let source.ca_file be a file of certificates in PEM form that the account of the source can read.",
    ),
    _failure(
        r"Authentication failed|could not read Username|returned error: 401",
        "login-refused",
        "The remote does not let this host in.",
        "Name a file with a valid token as source.token_file, and the user it is for as source.token_user.",
    ),
    _failure(
        r"returned error: 403",
        "access-refused",
        "The remote refuses this repository to this host.",
        "Allow the owner of the token to read the repository.",
    ),
    _failure(r"repository '.*' not found|returned error: (404|410)", *_MISSING),
    _failure(
        r"returned error: 3\d\d|unable to update url base from redirection",
        "remote-redirects",
        "The remote sends elsewhere.",
        "If that is the place, write it into the configuration: a host is never led to another server by an answer.",
    ),
    _failure(
        r"is this a git repository|invalid server response|unexpected http code",
        "remote-not-git",
        "What answers is no git server.",
        "Look at the URL: it is that of git clone, not of the page of a repository.",
    ),
    _failure(
        r"returned error: \d+",
        "remote-fails",
        "The remote answers with an error.",
        "The next pass tries again; if it stays so the log of the server says why.",
    ),
    _failure(
        r"[Oo]ut of memory",
        "remote-talks-too-much",
        "The remote sent more than a program may keep in memory.",
        "Look at the server: an answer to this question is short.",
    ),
    _failure(
        r"transfer closed|Empty reply|Recv failure|hung up|curl (18|56)|early EOF|expected flush|unexpected EOF"
        r"|non-properly terminated|recv error|unexpected eof|Connection reset|Broken pipe|is not connected",
        *_CLOSED,
    ),
    _failure(
        r"SSL|TLS|handshake",
        "encryption-failed",
        "The remote and this host agree on no encryption.",
        "Look whether the port is one of https, and which versions of TLS the server allows.",
    ),
    _failure(_REPOSITORY, *_MISSING, of=_SERVER),
)
_SSH: Final = (
    _failure(
        r"^@ +WARNING: (REMOTE HOST IDENTIFICATION HAS CHANGED|REVOKED HOST KEY)"
        r"|^Host key for .* has changed|^The .* host key for .* is marked as revoked",
        "host-key-changed",
        "The server shows another key than the pinned one.",
        "Ask whoever runs the server, not the server: if the key was replaced, pin the new one in "
        "source.known_hosts_file; otherwise somebody is between.",
    ),
    _failure(r"are too open|bad permissions", *_EXPOSED_KEY, of=_GREETING),
    _failure(r"^Load key|error in libcrypto", *_UNREADABLE_KEY, of=_GREETING),
    _failure(r"^debug1: load_hostkeys: fopen .*: Permission denied", *_UNREADABLE_KEY),
    _failure(
        r"^No .* host key is known|^Host key verification failed|^Host certificate",
        "host-key-unknown",
        "The key of the server is not pinned.",
        "Ask whoever runs the server for its key, and write its line into source.known_hosts_file.",
    ),
    _failure(
        r"^[^ ]*: Permission denied \(|^Received disconnect .*Too many authentication failures",
        "login-refused",
        "The remote does not let this host in.",
        "Let the server know the public part of source.key_file as a deploy key that may read.",
        of=_GREETING,
    ),
    _failure(r"Could not resolve hostname", *_NAME),
    _failure(r"connect to host .* port|stdio forwarding failed|Connection timed out", *_SILENT),
    _failure(_REPOSITORY, *_MISSING, of=_SERVER),
    _failure(
        r"not found$|command not found|[Uu]nrecognized command|is not allowed|not permitted",
        "remote-not-git",
        "What answers is no git server.",
        "Look whether git is installed there, and whether the account may run git-upload-pack.",
        of=_SERVER,
    ),
    _failure(
        r"^Unable to negotiate|no matching (host key|key exchange|cipher|MAC)|Bad packet length|authentication code",
        "encryption-failed",
        "The remote and this host agree on no encryption.",
        "Look whether the port is one of ssh, and which algorithms the server offers.",
    ),
    _failure(
        r"[Cc]onnection (closed|reset|to .* closed)|kex_exchange|Broken pipe|hung up|early EOF|Timeout, server"
        r"|^Received disconnect",
        *_CLOSED,
        of=frozenset(_Speaker),
    ),
)
_GREETED: Final = "debug1: SSH2_MSG_SERVICE_ACCEPT received"
_LET_IN: Final = "Authenticated to "
# ssh names the file, which a server does not know.
_OF_A_KEY: Final = re.compile(r"Load key|Permissions .* too open")
# All that follows may be a server's.
_HANDED_ON: Final = re.compile(r"(fatal: |error: )?remote error: ")
# In lines of ssh's own: what stands behind it is a server's.
_FOREIGN: Final = re.compile(
    r"^(debug1: kex_exchange_identification: banner line \d+|debug1: Remote protocol version|Received disconnect from"
    r"|Unable to negotiate with .*? no matching [A-Za-z ]+ found\.).*"
)
# An error packet (gitprotocol-pack).
_ERROR: Final = re.compile(rb"[0-9a-f]{4}ERR ([^\n\0]{1,400})")
_SERVER_KEY: Final = re.compile(r"^debug1: Server host (?:key|certificate): (.*?)\s*$", re.MULTILINE)
_SENT_KEY: Final = re.compile(
    r"^The fingerprint for the .* key sent by the remote host is\s+(SHA256:\S+?)\.?\s", re.MULTILINE
)


def network_failure(remote: Remote, outcome: CommandOutcome) -> Diagnostic | None:
    """Return what happened, as far as it was between this host and a server; None: that is not to be told."""
    lines = list(_lines(remote, outcome))
    for fitting in _failures(remote.transport):
        if any(speaker in fitting.of and fitting.words.search(line) for speaker, line in lines):
            said = "\n".join(line for speaker, line in lines if speaker is _Speaker.PROGRAM)
            failure = _of_the_proxy(remote, fitting, said)
            detail = f"{remote}: {shown_words(outcome)}{_key(failure, said)}"
            return Diagnostic(code=failure.code, summary=failure.summary, detail=detail, hint=failure.hint)
    return None


def certificate_failure(remote: Remote, problem: str) -> Diagnostic:
    """Return the failure of a certificate by what the TLS library of Python says of it."""
    said = f"SSL certificate problem: {problem}"
    code, summary, hint = next(
        (failure.code, failure.summary, failure.hint) for failure in _HTTPS if failure.words.search(said)
    )
    return Diagnostic(code=code, summary=summary, detail=f"{remote}: {problem}.", hint=hint)


def shown_words(outcome: CommandOutcome) -> str:
    """Return what a program said, on one line."""
    lines = (line.strip() for line in _said(outcome).splitlines())
    text = " / ".join(line for line in lines if line and not _NOISE.match(line))[:_SHOWN_WORDS]
    return text or f"(nothing; exit code {outcome.exit_code})"


def _said(outcome: CommandOutcome) -> str:
    """Return the words of a program, and those that a server says in git's protocol."""
    error = _ERROR.search(outcome.stdout)
    words = outcome.stderr.decode(errors="replace")
    return f"{words}\nremote: {error[1].decode(errors='replace')}" if error else words


def _lines(remote: Remote, outcome: CommandOutcome) -> Iterator[tuple[_Speaker, str]]:
    """Yield each line that was said, and who can have said it.

    ssh tells where a server gets the word: its banner comes after its key was found to be a pinned one, and what it
    runs after this host was let in. git marks the first line of what a server has it say, and not those behind it.
    """
    speaker = _Speaker.PROGRAM
    for text in _said(outcome).split("\n"):
        line = text.rstrip("\r")
        if remote.transport is Transport.SSH:
            if line == _GREETED and speaker is _Speaker.PROGRAM:
                speaker = _Speaker.GREETED
            elif line.startswith(_LET_IN):
                speaker = _Speaker.SERVER
        elif _HANDED_ON.match(line):
            speaker = _Speaker.SERVER
        is_marked = line.startswith("remote:") or (_OF_A_KEY.match(line) and remote.key_file not in line)
        yield (
            _Speaker.SERVER if is_marked else speaker,
            _FOREIGN.sub(r"\1", line) if speaker is _Speaker.PROGRAM else line,
        )


def _failures(transport: Transport) -> Iterable[_Failure]:
    match transport:
        case Transport.FILE:
            return ()
        case Transport.HTTPS:
            return _HTTPS
        case Transport.SSH:
            return _SSH


def _of_the_proxy(remote: Remote, failure: _Failure, said: str) -> _Failure:
    """Return the failure of the proxy where it is that which nothing was heard of."""
    if remote.proxy and failure.code == "remote-not-listening" and f"to {address(remote.proxy).host} port" in said:
        return evolve(_PROXY_FAILED, words=failure.words)
    return failure


def _key(failure: _Failure, said: str) -> str:
    """Return the sentence on the key that the last server showed."""
    if not failure.code.startswith("host-key-"):
        return ""
    found = _SENT_KEY.findall(said) or _SERVER_KEY.findall(said)
    return f" The server shows {found[-1]}." if found else ""
