"""Keys of ssh that enrolling needs: a deploy key, the keys of a server, this host's own public key.

Effects: runs ssh-keygen and ssh-keyscan, writes the files of a deploy key.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.diagnostics import Diagnostic
from datum.errors import StateError
from datum.provider.host import Command, HostError, ProgramRunner
from datum.repository.remote import Address, address
from datum.state.folders import make_folders, sync_folder

KEY_FILE: Final = "/etc/datum/ssh_key"
KNOWN_HOSTS: Final = "/etc/datum/known_hosts"
HOST_KEY: Final = "/etc/ssh/ssh_host_ed25519_key.pub"
"""Of this host, as Debian's openssh-server makes it (sshd_config(5), HostKey)."""

_SECONDS: Final = 30.0
_SCAN_SECONDS: Final = 20.0
_LINE_LIMIT: Final = 16_384
# Type and key as sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT", has them; a marker before the name makes more of a line.
_KEY: Final = re.compile(rb"[a-z0-9][a-z0-9@.-]{0,63} [A-Za-z0-9+/]{16,12000}={0,2}")
_MOST_KEYS: Final = 16
_PORT: Final = 22
_ANY_END: Final = frozenset(range(-64, 256))


@frozen
class Made:
    """A deploy key."""

    # One line: `ssh-ed25519 AAAA… comment`.
    public: str
    # False: it was there already.
    is_new: bool


def make_key(path: Path, run: ProgramRunner, *, comment: str, group: int | None) -> Made:
    """Make sure that an ed25519 key without a passphrase lies at a path; one that is there stays.

    The private key is made beside its place and renamed: after a kill there is none, or a whole one.

    Args:
        path: of the private key; the public one is `PATH.pub`.
        run: the door for programs.
        comment: of the public key.
        group: whose members may read it, that of the account of the source; None: root alone.

    Raises:
        StateError: `key-not-made`.
    """
    is_new = not os.path.lexists(path)
    try:
        if is_new:
            _make(path, run, comment, group)
        return Made(public_key(path, run), is_new)
    except (OSError, HostError) as error:
        said = error.detail if isinstance(error, HostError) else f"{error.filename or path}: {error.strerror}."
        raise StateError(
            Diagnostic(
                code="key-not-made",
                summary="The deploy key could not be made.",
                detail=f"{path}: {said}",
                hint="install openssh-client and make room; or make a key by hand and name it with --key-file",
            )
        ) from error


def _make(path: Path, run: ProgramRunner, comment: str, group: int | None) -> None:
    make_folders(path.parent)
    part = path.with_name(f".{path.name}.part")
    public = part.with_name(f"{part.name}.pub")
    for leftover in (part, public):
        leftover.unlink(missing_ok=True)
    run(Command(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(part)), timeout=_SECONDS))
    if group is not None:
        os.chown(part, -1, group)
        part.chmod(0o640)
    descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    # The private key last: with it the pair is there.
    public.replace(path.with_name(f"{path.name}.pub"))
    part.replace(path)
    sync_folder(path.parent)


def public_key(path: Path, run: ProgramRunner) -> str:
    """Return the public key of a private one, from the file beside it where there is one.

    ssh-keygen refuses a private key that a group may read, as that of the account may.

    Raises:
        HostError: it is none, or ssh-keygen cannot read it.
        OSError: the file beside it cannot be read.
    """
    beside = path.with_name(f"{path.name}.pub")
    if beside.is_file() and path.is_file():
        return beside.read_text("utf-8", "replace")[:_LINE_LIMIT].strip()
    outcome = run(Command(("ssh-keygen", "-y", "-P", "", "-f", str(path)), timeout=_SECONDS))
    return outcome.stdout.decode("utf-8", "replace").strip()


def fingerprint(path: Path, run: ProgramRunner) -> str:
    """Return the fingerprint of a key, `SHA256:…`; empty where there is none."""
    with suppress(HostError):
        outcome = run(Command(("ssh-keygen", "-l", "-f", str(path)), timeout=_SECONDS))
        words = outcome.stdout.decode("utf-8", "replace").split()
        return next((word for word in words if word.startswith("SHA256:")), "")
    return ""


def host_key(path: Path) -> str:
    """Return the public key of this host without its comment; empty where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as stream:
            words = stream.read(_LINE_LIMIT).decode("ascii").split()
    except (OSError, UnicodeDecodeError):
        return ""
    return " ".join(words[:2]) if words[:1] == ["ssh-ed25519"] and len(words) > 1 else ""


@frozen
class ServerKeys:
    """What a server says its keys are: a claim of whoever answers there."""

    server: Address
    # In the form of known_hosts: for each of the fingerprints one key of that server, and nothing else.
    lines: bytes
    # As `ssh-keygen -l` prints them: `256 SHA256:… host (ED25519)`.
    fingerprints: tuple[str, ...]


def scan_command(url: str) -> str:
    """Return the command that shows the keys of the server of an ssh remote."""
    server = address(url)
    return f"ssh-keyscan -p {server.port} {server.host} > {KNOWN_HOSTS}"


def scan(url: str, run: ProgramRunner) -> ServerKeys:
    """Ask the server of an ssh remote for its keys.

    What asks is not believed: a line that is no key of that server, or has no fingerprint to be shown, is dropped.

    Args:
        url: a result of `normal_remote`, of ssh.
        run: the door for programs; that of the account of the source where there is one.

    Raises:
        StateError: `server-keys-unknown`: it gives none.
    """
    server = address(url)
    # It talks to whoever answers: what it runs may gain no rights.
    argv = ("setpriv", "--no-new-privs", "ssh-keyscan", "-T", "10", "-p", str(server.port), server.host)
    try:
        outcome = run(Command(argv, timeout=_SCAN_SECONDS, success=_ANY_END))
        shown = {line: _shown(line, run) for line in _keys_of(server, outcome.stdout)}
        prints = {line: found[0] for line, found in shown.items() if len(found) == 1}
        if prints:
            return ServerKeys(server, b"".join(prints), tuple(prints.values()))
        said = outcome.stderr.decode("utf-8", "replace").strip() or "nothing"
    except HostError as error:
        said = error.detail
    raise StateError(
        Diagnostic(
            code="server-keys-unknown",
            summary="The keys of the server cannot be had.",
            detail=f"{server.host}, port {server.port}, gives no keys to ssh-keyscan: {said}",
            hint="look at name, port and network; or have the keys from whoever runs it, and name their file with "
            "--known-hosts-file",
        )
    )


def _keys_of(server: Address, said: bytes) -> list[bytes]:
    """Return the lines of ssh-keyscan that are keys of the asked server."""
    name = server.host if server.port == _PORT else f"[{server.host}]:{server.port}"
    begin = name.encode() + b" "
    lines = [line for line in said.split(b"\n") if line.startswith(begin) and _KEY.fullmatch(line[len(begin) :])]
    return [line + b"\n" for line in dict.fromkeys(lines)][:_MOST_KEYS]


def _shown(line: bytes, run: ProgramRunner) -> list[str]:
    """Return what ssh-keygen has to show of a line: nothing, if that is no key to it."""
    outcome = run(Command(("ssh-keygen", "-l", "-f", "-"), timeout=_SECONDS, stdin=line, success=_ANY_END))
    return outcome.stdout.decode("utf-8", "replace").splitlines() if not outcome.exit_code else []
