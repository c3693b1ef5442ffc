"""Programs and libraries that datum runs or loads, and whether they are new enough. Effects: runs each once."""

import platform
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import frozen

from datum.agent.doctor.finding import Facts, Finding, fault, ok, warning
from datum.agent.doctor.given import Given
from datum.provider.host import Command, HostError, ProgramRunner
from datum.repository.remote import Transport

CHECK: Final = "program-version"
NAMES: Final = (CHECK,)

_SECONDS: Final = 10.0
_ANY_END: Final = frozenset(range(-64, 256))
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)+|(?<=systemd )\d+")


@frozen
class Needed:
    """One program or library."""

    name: str
    # How it tells its version.
    argv: tuple[str, ...]
    # The oldest that will do; empty: any.
    least: str = ""
    # What needs it, for the text.
    use: str = ""
    # Package of Debian that brings it.
    package: str = ""
    # Whether passes can do without it.
    is_optional: bool = False


_GIT: Final = Needed("git", ("git", "--version"), "2.31", "it is the transport", "git")
_SSH: Final = Needed("ssh", ("ssh", "-V"), "7.3", "remotes over ssh are reached by it", "openssh-client")
_STDBUF: Final = Needed("stdbuf", ("stdbuf", "--version"), "", "git's helper for https runs below it", "coreutils")
_PRLIMIT: Final = Needed(
    "prlimit", ("prlimit", "--version"), "", "it bounds what a server can make git use", "util-linux"
)
_SETPRIV: Final = Needed(
    "setpriv", ("setpriv", "--version"), "", "it takes rights from what talks to servers", "util-linux"
)
_SYSTEMD: Final = Needed(
    "systemd", ("systemctl", "--version"), "248", "it holds what restarts are owed", "systemd", is_optional=True
)
_DPKG: Final = Needed("dpkg", ("dpkg", "--version"), "", "packages are installed by it", "dpkg", is_optional=True)
_APT: Final = Needed("apt", ("apt-get", "--version"), "", "packages are installed by it", "apt", is_optional=True)


def needed_by(given: Given) -> tuple[Needed, ...]:
    """Return what this host needs, by how its remotes are reached."""
    remotes = given.settings.remotes if given.settings else ()
    ways = {remote.transport for remote in remotes}
    by_way: Mapping[Transport, tuple[Needed, ...]] = {
        Transport.HTTPS: (_STDBUF, _SETPRIV),
        Transport.SSH: (_SSH, _SETPRIV),
        Transport.FILE: (),
    }
    more = dict.fromkeys(each for way in sorted(ways) for each in by_way[way])
    return (_GIT, _PRLIMIT, *more, _SYSTEMD, _DPKG, _APT)


def look(given: Given) -> Iterator[Finding]:
    """Look at datum and what it loads, then at each program."""
    yield ok(CHECK, f"datum {given.ports.agent}.", {"version": given.ports.agent}, of="datum")
    yield judge_python(platform.python_version())
    yield judge_libraries(_libgit2)
    for needed in needed_by(given):
        yield judge_program(needed, said_by(given.ports.run, needed.argv))
    if any(each.transport is Transport.HTTPS for each in (given.settings.remotes if given.settings else ())):
        yield judge_backend(backend_of(given.ports.run))


def _libgit2() -> Mapping[str, str]:
    from datum.repository.libraries import library_versions

    return library_versions()


def said_by(run: ProgramRunner, argv: tuple[str, ...]) -> str | None:
    """Return what a program says of its version, from whichever stream; None: it cannot be run."""
    try:
        outcome = run(Command(argv, timeout=_SECONDS, success=_ANY_END))
    except HostError:
        return None
    return (outcome.stdout or outcome.stderr).decode(errors="replace")


def judge_python(version: str) -> Finding:
    """Say whether Python is new enough."""
    facts: Facts = {"version": version}
    if numbers(version) < (3, 11):
        return fault(CHECK, f"Python {version}; 3.11 or later is needed.", "install a newer one", facts, of="python")
    return ok(CHECK, f"Python {version}.", facts, of="python")


def judge_libraries(read: Callable[[], Mapping[str, str]]) -> Finding:
    """Say whether the library that reads repositories can be loaded."""
    try:
        versions = read()
    except Exception as error:  # noqa: BLE001  # a library that is broken may raise anything
        text = f"pygit2 cannot be loaded ({error}), so no revision can be read."
        return fault(CHECK, text, "install this agent anew: its libraries belong together", of="pygit2")
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    return ok(CHECK, f"{text}.", dict(versions), of="pygit2")


def judge_program(needed: Needed, said: str | None) -> Finding:
    """Say whether a program is there, and new enough.

    Args:
        needed: which.
        said: what it says of its version; None: it cannot be run.
    """
    cure = f"apt-get install {needed.package}"
    if said is None:
        text = f"{needed.name} cannot be run: {needed.use}."
        if needed.is_optional:
            return warning(CHECK, text, f"{cure}; without it what needs it is not applicable here", of=needed.name)
        return fault(CHECK, text, cure, of=needed.name)
    found = _NUMBER.search(said.replace("_", " "))
    version = found[0] if found else ""
    facts: Facts = {"version": version, "least": needed.least}
    if needed.least and version and numbers(version) < numbers(needed.least):
        text = f"{needed.name} {version}; {needed.least} or later is needed: {needed.use}."
        return fault(CHECK, text, f"upgrade it: {cure}", facts, of=needed.name)
    if needed.least and not version:
        text = f"{needed.name} does not say its version; {needed.least} or later is needed: {needed.use}."
        return warning(CHECK, text, f"{' '.join(needed.argv)} should say it; {cure}", facts, of=needed.name)
    return ok(CHECK, f"{needed.name} {version or 'of an unknown version'}.", facts, of=needed.name)


def numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers, for comparison."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def backend_of(run: ProgramRunner) -> str | None:
    """Return the TLS library that git's helper for https is linked to; None: that cannot be told."""
    where = said_by(run, ("git", "--exec-path"))
    linked = said_by(run, ("ldd", f"{where.strip()}/git-remote-https")) if where else None
    found = re.search(r"libcurl-?(\w*)\.so", linked or "")
    return None if found is None else (found[1] or "openssl")


def judge_backend(backend: str | None) -> Finding:
    """Tell by which library git speaks TLS: its words on certificates are that one's."""
    if backend is None:
        cure = "apt-get install git; git --exec-path is where its helper lies"
        return warning(CHECK, "By which library git speaks TLS could not be told.", cure, of="git-https")
    return ok(CHECK, f"git speaks TLS by curl with {backend}.", {"backend": backend}, of="git-https")
