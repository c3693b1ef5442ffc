"""What programs say, in the words of versions that the tests' machine need not have; real ones in tests/integration."""

import pytest

from datum.provider.host import CommandOutcome
from datum.repository.failures import certificate_failure, network_failure, shown_words
from datum.repository.remote import Remote

HTTPS = Remote("https://git.example.org/fleet")
SSH = Remote("ssh://git@git.example.org/fleet", key_file="/k", known_hosts_file="/h")
UNABLE = "fatal: unable to access 'https://git.example.org/fleet/': "


def outcome(words: str, code: int = 128) -> CommandOutcome:
    return CommandOutcome(code, b"", words.encode())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (UNABLE + "Could not resolve host: git.example.org", "remote-name-unknown"),
        (UNABLE + "Could not resolve proxy: proxy", "proxy-failed"),
        (
            UNABLE + "Failed to connect to git.example.org port 443 after 2 ms: Couldn't connect to server",
            "remote-not-listening",
        ),
        (
            UNABLE + "Failed to connect to git.example.org port 443 after 9 ms: Could not connect to server",
            "remote-not-listening",
        ),
        (UNABLE + "SSL certificate problem: certificate has expired", "certificate-expired"),
        (UNABLE + "SSL certificate problem: unable to get local issuer certificate", "certificate-untrusted"),
        (UNABLE + "SSL certificate problem: self-signed certificate", "certificate-untrusted"),
        (UNABLE + "server certificate verification failed. CAfile: none CRLfile: none", "certificate-untrusted"),
        (
            UNABLE + "SSL certificate verification failed: certificate has expired (CAfile: none, CRLfile: none)",
            "certificate-expired",
        ),
        (
            UNABLE + "SSL: no alternative certificate subject name matches target host name 'git.example.org'",
            "certificate-of-another",
        ),
        (
            UNABLE + "SSL: certificate subject name (x) does not match target hostname 'git.example.org'",
            "certificate-of-another",
        ),
        (UNABLE + "CONNECT tunnel failed, response 407", "proxy-login-refused"),
        (UNABLE + "Received HTTP code 407 from proxy after CONNECT", "proxy-login-refused"),
        (UNABLE + "User was rejected by the SOCKS5 server (1 1).", "proxy-login-refused"),
        (UNABLE + "CONNECT tunnel failed, response 502", "proxy-failed"),
        (UNABLE + "Can't complete SOCKS5 connection to git.example.org. (5)", "proxy-failed"),
        (UNABLE + "error reading X.509 key or certificate file", "source-file-unreadable"),
        (UNABLE + "GnuTLS recv error (-12): A TLS fatal alert has been received.", "client-certificate-refused"),
        (
            UNABLE + "The requested URL returned error: 400 No required SSL certificate was sent",
            "client-certificate-refused",
        ),
        (UNABLE + "Received HTTP code 403 from proxy after CONNECT", "proxy-failed"),
        (UNABLE + "The requested URL returned error: 403", "access-refused"),
        (UNABLE + "The requested URL returned error: 302", "remote-redirects"),
        (UNABLE + "The requested URL returned error: 502", "remote-fails"),
        ("fatal: Authentication failed for 'https://git.example.org/fleet/'", "login-refused"),
        (
            "fatal: could not read Username for 'https://git.example.org': terminal prompts disabled",
            "login-refused",
        ),
        ("fatal: repository 'https://git.example.org/fleet/' not found", "repository-missing"),
        (UNABLE + "gnutls_handshake() failed: An unexpected TLS packet was received.", "encryption-failed"),
        (UNABLE + "error:0A00010B:SSL routines::wrong version number", "encryption-failed"),
        ("error: RPC failed; curl 18 transfer closed with outstanding read data remaining", "remote-closed-early"),
        (UNABLE + "GnuTLS recv error (-110): The TLS connection was non-properly terminated.", "remote-closed-early"),
        ("fatal: Out of memory, realloc failed", "remote-talks-too-much"),
        (UNABLE + "Problem with the SSL CA cert (path? access rights?)", "source-file-unreadable"),
        (UNABLE + "Operation too slow. Less than 1 bytes/sec transferred the last 60 seconds", "remote-timeout"),
    ],
)
def test_words_over_https(words: str, code: str) -> None:
    found = network_failure(HTTPS, outcome(words))
    assert found is not None
    assert found.code == code
    assert HTTPS.url in found.detail


# What ssh says when its server's key is a pinned one, and when this host was let in.
GREETED = "debug1: Server host key: ssh-ed25519 SHA256:server\ndebug1: SSH2_MSG_SERVICE_ACCEPT received\r\n"
IN = f'{GREETED}Authenticated to git.example.org ([192.0.2.1]:22) using "publickey".\n'
LINES = (
    "debug1: kex_exchange_identification: banner line 0: connect to host x port 1\n"
    "kex_exchange_identification: Connection closed by remote host"
)
CHANGED = (
    "@@@@@@@@@@@@@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@@@@@@@@@@@@@@\n"
    "The fingerprint for the ED25519 key sent by the remote host is\nSHA256:abc+/1.\nHost key verification failed.\n"
)
UNKNOWN = (
    "debug1: Server host key: ssh-ed25519 SHA256:jump\ndebug1: Server host key: ssh-ed25519 SHA256:server\r\n"
    "No ED25519 host key is known for git.example.org and you have requested strict checking.\r\n"
    "Host key verification failed.\r\n"
)


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (CHANGED, "host-key-changed", "SHA256:abc+/1."),
        (UNKNOWN, "host-key-unknown", "ssh-ed25519 SHA256:server."),
        ("@ WARNING: REVOKED HOST KEY DETECTED! @\nHost key verification failed.\n", "host-key-changed", ""),
        (GREETED + "git@git.example.org: Permission denied (publickey).", "login-refused", ""),
        ("git@jump.example.org: Permission denied (publickey).\nConnection closed by UNKNOWN", "login-refused", ""),
        (
            GREETED + 'Load key "/k": Permission denied\r\ngit@h: Permission denied (publickey).',
            "source-file-unreadable",
            "",
        ),
        (
            GREETED + 'Load key "/k": bad permissions\r\ngit@h: Permission denied (publickey).',
            "source-file-exposed",
            "",
        ),
        ("ssh: Could not resolve hostname x: Name or service not known", "remote-name-unknown", ""),
        ("ssh: connect to host x port 22: Connection timed out", "remote-not-listening", ""),
        ("kex_exchange_identification: Connection closed by remote host", "remote-closed-early", ""),
        (IN + "ERROR: Repository not found.\nfatal: Could not read from remote repository.", "repository-missing", ""),
        (IN + "fatal: '/srv/x' does not appear to be a git repository", "repository-missing", ""),
        (IN + "bash: line 1: git-upload-pack: command not found", "remote-not-git", ""),
        (IN + "sh: 1: git-upload-pack: not found", "remote-not-git", ""),
        (
            "Unable to negotiate with 192.0.2.1 port 22: no matching host key type found. Their offer: ssh-rsa",
            "encryption-failed",
            "ssh-rsa",
        ),
    ],
)
def test_words_over_ssh(words: str, code: str, shown: str) -> None:
    """The evidence of a key is its fingerprint; noise of ssh is not shown."""
    found = network_failure(SSH, outcome(words, 255))
    assert found is not None
    assert found.code == code
    assert shown in found.detail
    assert "debug1" not in found.detail
    assert "@@@" not in found.detail


def test_words_that_nobody_knows_are_no_failure() -> None:
    assert network_failure(HTTPS, outcome("fatal: something new")) is None
    assert network_failure(Remote("/srv/fleet"), outcome("Could not resolve host")) is None


def test_a_proxy_that_is_not_there_is_not_the_remote() -> None:
    """The same words, with the name of the proxy."""
    remote = Remote("https://git.example.org/fleet", proxy="http://proxy.example.org:3128")
    words = UNABLE + "Failed to connect to {} port 3128 after 0 ms: Couldn't connect to server"
    found = network_failure(remote, outcome(words.format("proxy.example.org")))
    assert found is not None
    assert found.code == "proxy-failed"
    found = network_failure(remote, outcome(words.format("git.example.org")))
    assert found is not None
    assert found.code == "remote-not-listening"


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        ("certificate has expired", "certificate-expired"),
        ("Hostname mismatch, certificate is not valid for 'git.example.org'.", "certificate-of-another"),
        ("self-signed certificate in certificate chain", "certificate-untrusted"),
        ("unable to get local issuer certificate", "certificate-untrusted"),
        ("something else", "certificate-untrusted"),
    ],
)
def test_words_of_pythons_tls(problem: str, code: str) -> None:
    assert certificate_failure(HTTPS, problem).code == code


def test_an_error_packet_is_what_a_server_says() -> None:
    """It comes on stdout, in git's protocol."""
    said = CommandOutcome(0, b"0020ERR Repository not found", b"")
    found = network_failure(SSH, said)
    assert found is not None
    assert found.code == "repository-missing"
    assert shown_words(said) == "remote: Repository not found"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (GREETED + "Unauthorized access is not permitted\nConnection closed by 192.0.2.1", "remote-closed-early"),
        (GREETED + CHANGED.replace("abc", "EVIL") + "Connection closed by 192.0.2.1", "remote-closed-early"),
        (IN + CHANGED.replace("abc", "EVIL") + "Connection closed by 192.0.2.1", "remote-closed-early"),
        (IN + "git@git.example.org: Permission denied (publickey).\nbash: git: command not found", "remote-not-git"),
        (GREETED + 'Load key "/x": bad permissions\nConnection reset by 192.0.2.1', "remote-closed-early"),
        (
            "debug1: Remote protocol version 2.0, remote software version Could not resolve hostname\n" + LINES,
            "remote-closed-early",
        ),
    ],
)
def test_words_of_an_ssh_server_are_not_those_of_ssh(words: str, code: str) -> None:
    """Its banner comes after the check of its key, and what it runs after the login."""
    found = network_failure(SSH, outcome(words, 255))
    assert found is not None
    assert found.code == code
    assert "The server shows" not in found.detail


@pytest.mark.parametrize("start", ["remote: ", "fatal: remote error: ", "fatal: remote error: a\n"])
def test_words_of_an_https_server_are_not_those_of_git(start: str) -> None:
    """Of several lines git marks the first one only."""
    assert network_failure(HTTPS, outcome(f"{start}SSL certificate problem: certificate has expired")) is None
    found = network_failure(HTTPS, outcome(f"{start}Repository not found"))
    assert found is not None
    assert found.code == "repository-missing"


def test_nothing_said_is_told_by_the_exit_code() -> None:
    assert shown_words(outcome("", 3)) == "(nothing; exit code 3)"
