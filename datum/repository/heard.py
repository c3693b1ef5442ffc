"""What was met on the way to a server: by a look at its hops, and by what ssh tells while it asks.

Effects: runs the look under the account of the source; reads which keys are pinned.
"""

import email.utils
import json
import re
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from datum.provider.host import Command, CommandOutcome, HostError, ProgramRunner
from datum.repository.remote import Address, Remote, Transport, address
from datum.repository.route import NO_HOME

_LOOK_SECONDS: Final = 25.0
_KEY_SECONDS: Final = 10.0
_SERVER_KEY: Final = re.compile(r"^debug1: Server host (?:key|certificate): (\S+ SHA256:\S+)", re.MULTILINE)
_SENT_KEY: Final = re.compile(
    r"^The fingerprint for the (\S+) key sent by the remote host is\s+(SHA256:[^\s.]+)", re.MULTILINE
)
_CONNECTED: Final = re.compile(
    r"^debug1: Connecting to \S+ \[(\S+)\] port \d+\.\r?\n(?:debug1: fd .*\n)*debug1: Connection established\.",
    re.MULTILINE,
)
_LET_IN: Final = re.compile(r"^Authenticated to ", re.MULTILINE)
_FINGERPRINT: Final = re.compile(r"SHA256:\S+")
_SHOWN: Final = 200


@frozen
class Certificate:
    """What a server over https showed, and what the trusted authorities vouch for."""

    subject: str = ""
    issuer: str = ""
    names: tuple[str, ...] = ()
    # Seconds since the epoch at which it expires.
    expires: float = 0.0
    tls: str = ""


@frozen
class Heard:
    """Everything that is known of the way; what is empty was not come to, or is not told by this transport."""

    addresses: tuple[str, ...] = ()
    # The address that took the connection.
    peer: str = ""
    certificate: Certificate | None = None
    # HTTP status of an answer without credentials; 0: none.
    status: int = 0
    # Seconds by which the clock of the server is ahead of this host's; None: it tells none.
    ahead: float | None = None
    # ssh: kinds and fingerprints, as `ED25519 SHA256:…`.
    offered_keys: tuple[str, ...] = ()
    pinned_keys: tuple[str, ...] = ()
    is_let_in: bool = False
    # The system's words where the look ended before its end.
    error: str = field(default="")


def first_hop(remote: Remote) -> Address:
    """Return what this host connects to: the remote, its proxy or its jump host."""
    return address(remote.proxy or remote.jump or remote.url)


def look_at_hops(run: ProgramRunner, remote: Remote) -> Mapping[str, Any]:
    """Return what the look of `hops.py` saw; only `error` where it could not be run, or was too slow."""
    to = first_hop(remote)
    # Of what needs a password, or is no proxy of HTTP, nothing more is to be seen without one; ssh tells the rest.
    is_talked_to = (
        remote.transport is Transport.HTTPS and not remote.proxy_user and not remote.proxy.startswith("socks")
    )
    url = remote.url if is_talked_to else ""
    program = str(Path(__file__).with_name("hops.py"))
    argv = (sys.executable, "-I", program, to.host, str(to.port), url, remote.ca_file, remote.proxy)
    try:
        seen = json.loads(run(Command(argv, timeout=_LOOK_SECONDS, environment={"HOME": NO_HOME})).stdout)
    except (HostError, ValueError) as error:
        return {"error": str(error)[:_SHOWN]}
    return seen if isinstance(seen, dict) else {}


def pinned_keys(run: ProgramRunner, remote: Remote) -> tuple[str, ...]:
    """Return the fingerprints that known_hosts has for a server over ssh; none where they cannot be told."""
    to = address(remote.url)
    name = to.host if to.port == 22 else f"[{to.host}]:{to.port}"  # noqa: PLR2004  # the port of ssh
    argv = ("ssh-keygen", "-l", "-F", name, "-f", remote.known_hosts_file)
    with suppress(HostError):
        return _fingerprints(run(Command(argv, timeout=_KEY_SECONDS)).stdout.decode(errors="replace"))
    return ()


def _fingerprints(text: str) -> tuple[str, ...]:
    """Return kinds and fingerprints of what `ssh-keygen -l -F` prints: `host ED25519 SHA256:… `."""
    found: list[str] = []
    for line in text.splitlines():
        words = line.split()
        place = next((number for number, word in enumerate(words) if _FINGERPRINT.fullmatch(word)), 0)
        if place and not line.startswith("#"):
            found.append(f"{words[place - 1]} {words[place]}")
    return tuple(found)


def what_was_heard(
    remote: Remote, seen: Mapping[str, Any], asked: Sequence[CommandOutcome], pinned: Sequence[str]
) -> Heard:
    """Return what a look saw and what ssh told, together.

    Args:
        remote: the remote.
        seen: of `look_at_hops`; data of another process.
        asked: how the programs ended that asked.
        pinned: of `pinned_keys`.
    """
    words = "\n".join(outcome.stderr.decode(errors="replace") for outcome in asked)
    is_ssh = remote.transport is Transport.SSH
    # What stands behind is the server's.
    own = _LET_IN.split(words, maxsplit=1)[0] if is_ssh else ""
    sent = [" ".join(pair) for pair in _SENT_KEY.findall(own)]
    connected = _CONNECTED.search(own)
    date, now = _moment(str(seen.get("date") or "")), seen.get("now")
    return Heard(
        addresses=_texts(seen.get("addresses")),
        peer=str(seen.get("peer") or (connected[1] if connected else "")),
        certificate=_certificate(seen),
        status=seen["status"] if isinstance(seen.get("status"), int) else 0,
        ahead=date - now if date is not None and isinstance(now, float) else None,
        offered_keys=tuple(dict.fromkeys([*_SERVER_KEY.findall(own), *sent])),
        pinned_keys=tuple(pinned),
        is_let_in=is_ssh and bool(_LET_IN.search(words)),
        error=str(seen.get("error") or "")[:_SHOWN],
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _moment(date: str) -> float | None:
    """Return the seconds since the epoch of a header `Date`; None for what is none."""
    with suppress(ValueError, TypeError):
        return email.utils.parsedate_to_datetime(date).timestamp()
    return None


def _certificate(seen: Mapping[str, Any]) -> Certificate | None:
    """Return a certificate in the form of `ssl.SSLSocket.getpeercert`."""
    found = seen.get("certificate")
    if not isinstance(found, Mapping) or not found:
        return None
    expires = 0.0
    with suppress(ValueError, TypeError):
        expires = float(ssl.cert_time_to_seconds(str(found.get("notAfter"))))
    names = tuple(str(pair[1]) for pair in found.get("subjectAltName") or () if len(pair) > 1)
    return Certificate(
        _name(found.get("subject")), _name(found.get("issuer")), names, expires, str(seen.get("tls") or "")
    )


def _name(value: object) -> str:
    """Return the common name, else the organisation, of a distinguished name."""
    pairs: dict[str, str] = {}
    for group in value if isinstance(value, list) else ():
        pairs |= {str(pair[0]): str(pair[1]) for pair in group if len(pair) > 1}
    return (pairs.get("commonName") or pairs.get("organizationName") or "")[:_SHOWN]
