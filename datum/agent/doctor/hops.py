"""Which hop on the way to a remote holds, and which one does not: judged by what asking came to. Pure.

Asking is the truth: the hop that a failure names is the one that is broken, those before it hold, and those behind it
were not come to. What was met on the way only adds to that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Final

from attrs import evolve, field, frozen

from datum.agent.doctor.clock import moment_of, seconds_between, span
from datum.agent.doctor.finding import (
    Facts,
    Finding,
    State,
    counted,
    fault,
    from_diagnostics,
    not_checked,
    ok,
    warning,
)
from datum.diagnostics import Diagnostic
from datum.model.revision import Revision, SourceStatus
from datum.repository.heard import Heard, first_hop
from datum.repository.remote import Remote, Transport

REVISION: Final = "remote-revision"
_END: Final = ("remote-ref", "remote-fetch", REVISION)
_WAY: Final[Mapping[Transport, tuple[str, ...]]] = {
    Transport.FILE: ("remote-repository", "remote-protocol", *_END),
    Transport.HTTPS: (
        *("remote-files", "remote-name", "remote-connection", "remote-certificate", "remote-answer", "remote-login"),
        *("remote-repository", "remote-protocol", *_END),
    ),
    Transport.SSH: (
        *("remote-files", "remote-name", "remote-connection", "remote-host-key", "remote-login", "remote-answer"),
        *("remote-repository", "remote-protocol", *_END),
    ),
}
_BY_CODE: Final[Mapping[str, str]] = {
    "source-file-unreadable": "remote-files",
    "source-file-exposed": "remote-files",
    "token-malformed": "remote-files",
    "password-malformed": "remote-files",
    "remote-name-unknown": "remote-name",
    "remote-not-listening": "remote-connection",
    "proxy-failed": "remote-proxy",
    "proxy-login-refused": "remote-proxy",
    "certificate-of-another": "remote-certificate",
    "certificate-expired": "remote-certificate",
    "certificate-untrusted": "remote-certificate",
    "encryption-failed": "remote-certificate",
    "host-key-changed": "remote-host-key",
    "host-key-unknown": "remote-host-key",
    "login-refused": "remote-login",
    "client-certificate-refused": "remote-login",
    "access-refused": "remote-repository",
    "repository-missing": "remote-repository",
    "repository-denied": "remote-repository",
    "repository-invalid": "remote-repository",
    "remote-without-protocol-2": "remote-protocol",
    "remote-not-git": "remote-protocol",
    "remote-malformed": "remote-protocol",
    "remote-list-too-long": "remote-protocol",
    "repository-empty": "remote-ref",
    "ref-gone": "remote-ref",
    "ref-ambiguous": "remote-ref",
    "remote-head-detached": "remote-ref",
    "remote-shallow": "remote-fetch",
    "revision-vanished": "remote-fetch",
    "fetch-failed": "remote-fetch",
    "fetch-too-big": "remote-fetch",
    "fetch-object-refused": "remote-fetch",
    "fetch-not-taken": "remote-fetch",
    "state-not-writable": "remote-fetch",
}
"""What each failure of asking says of the way. What is not here ends the conversation somewhere: `remote-answer`."""

_SOON_DAYS: Final = 21
_DAY: Final = 86400
_NOT_COME_TO: Final = "It was not come to."


@frozen
class Asked:
    """What asking a remote for its ref, and fetching what is new, came to."""

    status: SourceStatus
    diagnostics: tuple[Diagnostic, ...] = ()
    revision: Revision | None = None
    # Of the revision: when it was committed (ISO 8601), and by whom; empty where that is not known.
    committed_at: str = ""
    committer: str = ""
    is_quarantined: bool = False
    # It stands in for another one, and has not yet what was accepted here.
    is_behind: bool = False
    # Whether what was accepted here is known, so that it can be told whether the revision follows it.
    is_floor_known: bool = True


@frozen
class Way:
    """Everything that is known of one remote."""

    remote: Remote
    heard: Heard
    asked: Asked
    # ISO 8601.
    now: str
    # Mode and owner of each file that its access names.
    files: Facts = field(factory=dict)

    @property
    def seconds(self) -> float:
        """The moment, in seconds since 1970."""
        return datetime.fromisoformat(self.now).timestamp()


def hops_of(remote: Remote) -> tuple[str, ...]:
    """Return the hops of a remote in the order in which they are come to."""
    hops = _WAY[remote.transport]
    if not remote.proxy:
        return hops
    start = hops.index("remote-name")
    return (*hops[:start], "remote-proxy", *hops[start + 2 :])


def failed_hop(remote: Remote, asked: Asked) -> str:
    """Return the hop that asking did not get past; empty: it got past all."""
    if asked.status is SourceStatus.OK:
        return ""
    if asked.status is SourceStatus.REFUSED:
        return REVISION
    hops = hops_of(remote)
    named = [_BY_CODE.get(item.code, "remote-answer") for item in asked.diagnostics]
    hop = named[0] if named else "remote-answer"
    if hop in hops:
        return hop
    # ssh has no certificate and a path no answer: what comes next in their way.
    return "remote-host-key" if "remote-host-key" in hops and hop == "remote-certificate" else _first_of(hops)


def _first_of(hops: Sequence[str]) -> str:
    return "remote-answer" if "remote-answer" in hops else hops[0]


def judge_way(way: Way) -> Iterator[Finding]:
    """Yield a finding for each hop."""
    hops = hops_of(way.remote)
    failed = failed_hop(way.remote, way.asked)
    place = hops.index(failed) if failed else len(hops)
    # A conversation that ends somewhere does not say that what lies before it holds.
    is_told = failed != "remote-answer"
    for number, hop in enumerate(hops):
        if number == place:
            yield _failure(hop, way)
        elif number < place and (is_told or _is_met(hop, way)):
            yield _GOOD[hop](way)
        else:
            yield not_checked(hop, _NOT_COME_TO, of=way.remote.url)


def _failure(hop: str, way: Way) -> Finding:
    facts: Facts = {**_facts(hop, way), **_revision_facts(way)} if hop == REVISION else _facts(hop, way)
    state = State.WARNING if way.asked.is_behind else State.FAULT
    if not way.asked.diagnostics:
        return fault(hop, "Asking it failed without a word.", "datum plan says more", facts, of=way.remote.url)
    return from_diagnostics(hop, state, way.asked.diagnostics, facts, of=way.remote.url)


def _is_met(hop: str, way: Way) -> bool:
    """Whether what was met on the way shows that a hop holds."""
    heard = way.heard
    met = {
        "remote-files": True,
        "remote-name": bool(heard.addresses),
        "remote-proxy": bool(heard.certificate),
        "remote-connection": bool(heard.peer),
        "remote-certificate": bool(heard.certificate),
        "remote-host-key": heard.is_let_in,
        "remote-login": heard.is_let_in,
    }
    return met.get(hop, False)


def _facts(hop: str, way: Way) -> Facts:
    heard, to = way.heard, first_hop(way.remote)
    if hop == "remote-files":
        return way.files
    if hop == "remote-name":
        return {"name": to.host, "addresses": heard.addresses}
    if hop in {"remote-connection", "remote-proxy"}:
        return {"host": to.host, "port": to.port, "peer": heard.peer}
    if hop == "remote-certificate" and heard.certificate is not None:
        shown = heard.certificate
        return {
            "subject": shown.subject,
            "issuer": shown.issuer,
            "names": shown.names,
            "expires": _date(shown.expires),
            "days_left": _days(shown.expires, way),
            "tls": shown.tls,
        }
    if hop == "remote-host-key":
        return {"offered": heard.offered_keys, "pinned": heard.pinned_keys}
    if hop == "remote-answer" and heard.status:
        return {"http_status_without_credentials": heard.status}
    return {}


def _good_files(way: Way) -> Finding:
    if not way.files:
        return ok("remote-files", "It needs none.", of=way.remote.url)
    text = ", ".join(f"{path} ({what})" for path, what in way.files.items())
    return ok("remote-files", f"As they should be: {text}.", way.files, of=way.remote.url)


def _good_name(way: Way) -> Finding:
    to, addresses = first_hop(way.remote), way.heard.addresses
    shown = f"{to.host} is {', '.join(addresses[:4])}." if addresses else f"{to.host} has an address."
    return ok("remote-name", shown, _facts("remote-name", way), of=way.remote.url)


def _good_proxy(way: Way) -> Finding:
    return ok("remote-proxy", f"{way.remote.proxy} leads there.", _facts("remote-proxy", way), of=way.remote.url)


def _good_connection(way: Way) -> Finding:
    to, jump = first_hop(way.remote), way.remote.jump
    through = f", the jump host {jump} on the way" if jump else ""
    peer = way.heard.peer or to.host
    text = f"{peer} takes connections on port {to.port}{through}."
    return ok("remote-connection", text, _facts("remote-connection", way), of=way.remote.url)


def _good_certificate(way: Way) -> Finding:
    facts, shown = _facts("remote-certificate", way), way.heard.certificate
    if shown is None or not shown.expires:
        text = "It is of a trusted authority and for this name; when it expires could not be seen."
        return ok("remote-certificate", text, facts, of=way.remote.url)
    days = _days(shown.expires, way)
    left = counted(days, "day")
    text = f"Issued by {shown.issuer or 'a trusted authority'}, expires on {_date(shown.expires)}, in {left}."
    if days <= _SOON_DAYS:
        return warning("remote-certificate", text, "renew it on the server before that", facts, of=way.remote.url)
    return ok("remote-certificate", text, facts, of=way.remote.url)


def _good_key(way: Way) -> Finding:
    facts, offered = _facts("remote-host-key", way), way.heard.offered_keys
    others = max(len(way.heard.pinned_keys) - 1, 0)
    more = f" {others} more pinned." if others else ""
    shown = f"It shows {offered[-1]}, which is pinned." if offered else "It shows a key that is pinned."
    return ok("remote-host-key", f"{shown}{more}", facts, of=way.remote.url)


def _good_answer(way: Way) -> Finding:
    return ok("remote-answer", "It answers, in time.", _facts("remote-answer", way), of=way.remote.url)


def _good_protocol(way: Way) -> Finding:
    """Say what is spoken: over https it is protocol 2 and nothing else, otherwise an older one is understood, too."""
    is_2 = way.remote.transport is Transport.HTTPS
    text = "It speaks protocol 2 of git." if is_2 else "It speaks git's protocol."
    return ok("remote-protocol", text, of=way.remote.url)


def _good_ref(way: Way) -> Finding:
    revision = way.asked.revision
    name = f" names {revision.short}" if revision else " is there"
    return ok("remote-ref", f"{(revision and revision.ref) or 'The ref'}{name}.", of=way.remote.url)


def _good_revision(way: Way) -> Finding:
    """Say what is offered; that it is acceptable was judged."""
    asked, facts = way.asked, _revision_facts(way)
    revision = asked.revision
    if revision is None or not asked.is_floor_known:
        text = "Whether it is acceptable is not known: what was accepted here could not be read."
        return not_checked(REVISION, text, of=way.remote.url, cure="see the pointer")
    by = f", by {asked.committer}" if asked.committer else ""
    text = f"{revision.short}{by}, {_age(way)}"
    if asked.is_quarantined:
        cure = "let a revision follow that mends what it broke"
        return warning(REVISION, f"{text}, is quarantined on this host.", cure, facts, of=way.remote.url)
    return ok(REVISION, f"{text}, is acceptable.", facts, of=way.remote.url)


def _revision_facts(way: Way) -> Facts:
    revision = way.asked.revision
    return {
        "revision": revision.key if revision else None,
        "committed_at": way.asked.committed_at,
        "committer": way.asked.committer,
    }


def _age(way: Way) -> str:
    moment = moment_of(way.asked.committed_at)
    if moment is None:
        return "of an unknown age"
    age = -seconds_between(way.now, moment)
    return f"{span(age)} old" if age >= 0 else f"dated {span(-age)} ahead"


def _days(moment: float, way: Way) -> int:
    return int((moment - way.seconds) // _DAY)


def _date(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).date().isoformat()  # noqa: UP017  # as elsewhere


def _good(hop: str, text: str) -> Callable[[Way], Finding]:
    return lambda way: ok(hop, text, of=way.remote.url)


_GOOD: Final[Mapping[str, Callable[[Way], Finding]]] = {
    "remote-files": _good_files,
    "remote-name": _good_name,
    "remote-proxy": _good_proxy,
    "remote-connection": _good_connection,
    "remote-certificate": _good_certificate,
    "remote-host-key": _good_key,
    "remote-answer": _good_answer,
    "remote-login": _good("remote-login", "It lets this host in."),
    "remote-repository": _good("remote-repository", "There is a repository, and this host may read it."),
    "remote-protocol": _good_protocol,
    "remote-ref": _good_ref,
    "remote-fetch": _good("remote-fetch", "All of the revision is here, or could be fetched."),
    REVISION: _good_revision,
}


def eased(findings: Sequence[Finding], *, has_other: bool) -> tuple[Finding, ...]:
    """Return what was found of one remote; a fault of it is a warning where another remote is had instead."""
    if not has_other:
        return tuple(findings)
    return tuple(
        evolve(each, state=State.WARNING, found=f"{each.found} Another remote is had instead.")
        if each.state is State.FAULT
        else each
        for each in findings
    )
