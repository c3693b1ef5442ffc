"""What apt and dpkg are told, and what they answer: arguments, environment, output. Pure.

The output is that of apt 2.6 in the locale C.UTF-8. Only `apt-get` and `apt-cache` are used, whose output is an
interface (apt(8)).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import field, frozen

from datum.model.result import FailureCause
from datum_providers.package.versions import Wanted, key_of

APT_GET: Final = "/usr/bin/apt-get"
APT_CACHE: Final = "/usr/bin/apt-cache"
APT_CONFIG: Final = "/usr/bin/apt-config"
APT_MARK: Final = "/usr/bin/apt-mark"
DPKG: Final = "/usr/bin/dpkg"

SCOPE: Final = "datum-apt"
"""Name of the transient scopes in which what must not end in the middle runs (`Command.scope`)."""

MARKER: Final = "DATUM_TRANSACTION"
"""Variable of the environment by which maintainer scripts of our own transactions are known."""

ENVIRONMENT: Final[Mapping[str, str]] = {
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBIAN_PRIORITY": "critical",
    # Kept files of ucf(1), which is no part of dpkg and asks for itself.
    "UCF_FORCE_CONFFOLD": "1",
    "APT_LISTCHANGES_FRONTEND": "none",
    "APT_LISTBUGS_FRONTEND": "none",
    # It asks at a terminal, and restarts services that the fleet did not ask to be restarted.
    "NEEDRESTART_MODE": "l",
    "NEEDRESTART_SUSPEND": "1",
    MARKER: "1",
}

DPKG_OPTIONS: Final = ("--force-confdef", "--force-confold")

ANSWERS: Final = frozenset({0, 100})
"""Exit codes of apt: done, and an error that its output explains."""

LOCK_OPTION: Final = "DPkg::Lock::Timeout"

# No names are patterns, nothing goes unasked, whatever the host's own configuration says.
_ALWAYS: Final = (
    "APT::Cmd::Pattern-Only=true",
    "APT::Get::AutomaticRemove=false",
    "APT::Install-Suggests=false",
    "APT::Color=0",
)
_DOING: Final = (
    "Dpkg::Use-Pty=0",
    "Acquire::Retries=2",
    *(f"Dpkg::Options::={option}" for option in DPKG_OPTIONS),
)


def _apt_get(options: Iterable[str], words: Iterable[str]) -> tuple[str, ...]:
    settings = (word for option in options for word in ("-o", option))
    return (APT_GET, "-q", *settings, *words)


def simulation(verb: str, names: Iterable[str], *, recommends: bool, flags: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the program that says what a transaction would do; it needs no lock, and asks nothing."""
    return _apt_get(_ALWAYS, ("-s", *flags, _recommending(recommends), verb, *names))


def transaction(
    verb: str, names: Iterable[str], *, recommends: bool, seconds: int, flags: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the program that does it, waiting so many seconds for dpkg's lock."""
    options = (*_ALWAYS, *_DOING, f"{LOCK_OPTION}={seconds}")
    return _apt_get(options, ("-y", *flags, _recommending(recommends), verb, *names))


def update() -> tuple[str, ...]:
    """Return the program that fetches the lists of what archives offer."""
    return _apt_get((*_ALWAYS, "Acquire::Retries=2"), ("update",))


def configuring() -> tuple[str, ...]:
    """Return the program that goes on where dpkg was interrupted."""
    return (DPKG, *DPKG_OPTIONS, "--configure", "-a")


def _recommending(recommends: bool) -> str:  # noqa: FBT001 - a policy, passed on
    return "--install-recommends" if recommends else "--no-install-recommends"


_ACTION: Final = re.compile(r"^(Inst|Remv|Purg) (\S+)", re.MULTILINE)
_UNKNOWN: Final = re.compile(r"^E: Unable to locate package (\S+)", re.MULTILINE)
_NO_CANDIDATE: Final = re.compile(r"^E: Package '(\S+)' has no installation candidate", re.MULTILINE)
_PROVIDED: Final = re.compile(r"^Package (\S+) is a virtual package provided by:\n((?:  .*\n)+)", re.MULTILINE)


REPAIR: Final = "--fix-broken"
"""With `install` and no names: what packages that are there lack is brought."""

AGAIN: Final = "--reinstall"
"""With `install`: a version that is there is unpacked once more."""

_LACKING: Final = "apt --fix-broken install"


@frozen
class Simulated:
    """What a transaction would do."""

    # None: apt cannot say, since something it was asked for is not offered, or cannot be had together.
    installs: frozenset[str] | None = None
    removes: frozenset[str] = frozenset()
    # Names that no list of this host has.
    unknown: frozenset[str] = frozenset()
    # Virtual packages and what provides them, as far as apt says it.
    provided: Mapping[str, tuple[str, ...]] = field(factory=dict)
    # What apt says where it cannot.
    complaint: str = ""
    # It refuses everything while packages that are there lack others.
    is_broken: bool = False


def parse_simulation(exit_code: int, stdout: str, stderr: str) -> Simulated:
    """Read what `simulation` prints."""
    provided = {name: tuple(sorted(_names(lines))) for name, lines in _PROVIDED.findall(stdout)}
    unknown = frozenset(_UNKNOWN.findall(stderr))
    if exit_code:
        for name in _NO_CANDIDATE.findall(stderr):
            provided.setdefault(name, ())
        complaint, is_broken = words_of(stdout, stderr), _LACKING in stderr
        return Simulated(None, frozenset(), unknown, provided, complaint, is_broken)
    actions = _ACTION.findall(stdout)
    installs = frozenset(name for what, name in actions if what == "Inst")
    return Simulated(installs, frozenset(name for what, name in actions if what != "Inst"), unknown, provided)


def _names(lines: str) -> Iterable[str]:
    return {line.split()[0] for line in lines.splitlines() if line.strip()}


@frozen
class Offer:
    """What archives offer of one package."""

    # Empty: none, as for a virtual package or one that is pinned away.
    candidate: str = ""
    # Newest first as apt lists them; what only the host itself still has is not among them.
    versions: tuple[str, ...] = ()

    def choose(self, wanted: Wanted | None) -> str:
        """Return the version to install: the candidate where it is wanted, else the newest that is; empty for none."""
        if wanted is None:
            return self.candidate
        if self.candidate and wanted.admits(self.candidate):
            return self.candidate
        return max(filter(wanted.admits, self.versions), key=key_of, default="")


_VERSION: Final = re.compile(r" (?:\*\*\*|   ) (\S+) -?\d+")
_ORIGIN: Final = re.compile(r" +-?\d+ (.*)")
_CANDIDATE: Final = "  Candidate: "
_NONE: Final = "(none)"
_OWN: Final = "/var/lib/dpkg/status"


def parse_policy(stdout: str) -> Mapping[str, Offer]:
    """Read what `apt-cache policy` prints; names that apt does not know are missing."""
    offers: dict[str, Offer] = {}
    for block in re.split(r"\n(?=\S)", stdout):
        lines = block.splitlines()
        if not lines or not lines[0].endswith(":"):
            continue
        candidate = next((line[len(_CANDIDATE) :] for line in lines if line.startswith(_CANDIDATE)), _NONE)
        versions = tuple(_offered(lines))
        offers[lines[0][:-1]] = Offer(candidate if candidate != _NONE else "", versions)
    return offers


def _offered(lines: Iterable[str]) -> Iterable[str]:
    """Yield each version that an archive offers."""
    current = ""
    for line in lines:
        if found := _VERSION.fullmatch(line):
            current = found[1]
        elif current and (origin := _ORIGIN.fullmatch(line)) and origin[1] != _OWN:
            yield current
            current = ""


_LOCKED: Final = re.compile(
    r"could not get lock|unable to acquire the dpkg frontend lock|unable to lock|was locked by .* process\b",
    re.IGNORECASE,
)
# dpkg names the process since 1.22: `locked by apt-get process`, before that `locked by another process`.
_HOLDER: Final = re.compile(r"held by process (\d+ \([^)]*\)|\d+)|locked by (.+) process with pid (\d+)")
_FETCH: Final = re.compile(r"failed to fetch|unable to fetch|could not resolve|could not connect", re.IGNORECASE)
_FULL: Final = re.compile(r"no space left on device|enough free space", re.IGNORECASE)
_READ_ONLY: Final = re.compile(r"read-only file system", re.IGNORECASE)
_TOLD: Final = re.compile(r"^(E:|dpkg: error|dpkg: warning: .*unrecoverable)")
# What apt and dpkg say themselves. dpkg says why in the next line, which it indents by one space.
_OWN_WORDS: Final = re.compile(
    r"^(?:[EW]: .*|dpkg: (?:error|unrecoverable fatal error)\b.*(?:\n [^ \n].*)?)$", re.MULTILINE
)


def _own_words(text: str) -> str:
    """Return the lines that are no words of a maintainer script, which may say anything of locks and networks."""
    return "\n".join(_OWN_WORDS.findall(text))


def cause_of(text: str) -> FailureCause:
    """Return why apt or dpkg failed, from all that was printed: from their own errors and warnings in it."""
    said = _own_words(text)
    kinds = (
        (_LOCKED, FailureCause.BUSY),
        (_FULL, FailureCause.NO_SPACE),
        (_READ_ONLY, FailureCause.READ_ONLY),
        (_FETCH, FailureCause.NETWORK),
    )
    return next((cause for pattern, cause in kinds if pattern.search(said)), FailureCause.OTHER)


def holder_of(text: str) -> str:
    """Return who holds a lock: number and name of the process, as far as it is said; empty if it is not.

    apt names it in what it says while it waits, and not in the error that follows.
    """
    waiting = "\n".join(line for line in text.splitlines() if line.lstrip("\r").startswith("Waiting for cache lock:"))
    found = _HOLDER.search(f"{_own_words(text)}\n{waiting}")
    if found is None:
        return ""
    return found[1] or (found[3] if found[2] == "another" else f"{found[3]} ({found[2]})")


_WORDS: Final = 2000
_LINES: Final = 12


def words_of(stdout: str, stderr: str) -> str:
    """Return why apt or dpkg failed in its own words: its errors, and the last of what it printed before."""
    lines = [line.rstrip() for line in (*stdout.splitlines(), *stderr.splitlines()) if line.strip()]
    told = [line for line in lines if _TOLD.match(line)]
    last = [line for line in lines[-_LINES:] if line not in told]
    return "\n".join((*last, *dict.fromkeys(told)))[-_WORDS:]
