"""The source, hop by hop: every remote is really asked, under the account that passes ask under.

Effects: connections; what is new is fetched into a temporary folder, as `datum plan` does it.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from datum.agent.accounts import AccountFacts, source_account_facts
from datum.agent.commands import temporary_folder
from datum.agent.doctor.clock import judge_commit, judge_source, moment_of, seconds_between
from datum.agent.doctor.finding import Facts, Finding, State, from_diagnostics, not_checked, ok, warning
from datum.agent.doctor.given import Given
from datum.agent.doctor.hops import REVISION, Asked, Way, eased, hops_of, judge_way
from datum.agent.doctor.shelter import sheltered, without_rights
from datum.agent.settings import Settings
from datum.agent.source import Consulted, Source, is_behind
from datum.agent.wiring import source_account
from datum.errors import DatumError, FleetError, RepositoryError
from datum.model.pointer import Pointer
from datum.model.revision import Revision, SourceStatus
from datum.model.source import SourceTree
from datum.provider.host import Command, CommandOutcome, ProgramRunner
from datum.repository.account import SourceAccount
from datum.repository.heard import first_hop, look_at_hops, pinned_keys, what_was_heard
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote, Transport

_FILES: Final = (
    "token_file",
    "proxy_password_file",
    "cert_file",
    "cert_key_file",
    "ca_file",
    "key_file",
    "known_hosts_file",
)


Resolve = Callable[[SourceTree, Revision], tuple[Finding, ...]]


@frozen
class Consultation:
    """What was found of the source, and of the newest acceptable revision."""

    findings: tuple[Finding, ...]
    # Of what it declares; None: no remote has an acceptable one.
    fleet: tuple[Finding, ...] | None = None


def look_at_account(given: Given) -> Iterator[Finding]:
    """Look at the account under which foreign servers are talked to."""
    settings = given.settings
    if settings is None:
        yield not_checked("source-account", "The configuration is wrong.")
    elif all(remote.transport is Transport.FILE for remote in settings.remotes):
        yield ok("source-account", "No server is talked to: every remote is a path on this host.")
    elif given.is_running_system and not given.is_root:
        yield without_rights("source-account")
    else:
        yield judge_account(source_account_facts(settings), is_running_system=given.is_running_system)


def judge_account(found: AccountFacts, *, is_running_system: bool) -> Finding:
    """Say as whom foreign servers are talked to, and whether that account gets at what it needs."""
    facts: Facts = {"name": found.name, "is_there": found.is_there}
    if found.findings:
        return from_diagnostics("source-account", State.FAULT, found.findings, facts)
    if not is_running_system:
        return ok("source-account", "Below another root servers are talked to as who runs this.", facts)
    if found.name == "root":
        text = "Servers are talked to as root: source.account says so."
        return warning("source-account", text, "make an account for it, and remove source.account", facts)
    if not found.is_there:
        text = f"There is no account {found.name}: servers are talked to as root."
        cure = f"useradd --system --no-create-home --shell /usr/sbin/nologin {found.name}"
        return warning("source-account", text, cure, facts)
    return ok("source-account", f"{found.name} is there, gets at what it needs, and can be enclosed.", facts)


class Recorder:
    """A door for programs that remembers how they ended."""

    def __init__(self, run: ProgramRunner) -> None:
        self._run = run
        self.outcomes: list[CommandOutcome] = []

    def __call__(self, command: Command) -> CommandOutcome:
        """Run it, and remember."""
        outcome = self._run(command)
        self.outcomes.append(outcome)
        return outcome


@frozen
class _Doors:
    """By which means remotes are asked, and what they were heard to say."""

    account: SourceAccount | None
    run: ProgramRunner
    recorders: list[Recorder]

    def recorded_account(self) -> SourceAccount | None:
        """Return the account with doors that remember."""
        account = self.account
        if account is None:
            return None
        door = account.door

        def recorded(*, writable: Sequence[str] = (), readable: Sequence[str] = ()) -> ProgramRunner:
            assert door is not None  # noqa: S101  # it is given only where there is one
            return self.recorded(door(writable=writable, readable=readable))

        return evolve(account, run=self.recorded(account.run), door=recorded if door else None)

    def recorded(self, run: ProgramRunner) -> Recorder:
        """Return a door that remembers."""
        self.recorders.append(Recorder(run))
        return self.recorders[-1]

    def heard(self) -> list[CommandOutcome]:
        """Return how all programs ended since this was asked last."""
        found = [outcome for recorder in self.recorders for outcome in recorder.outcomes]
        for recorder in self.recorders:
            recorder.outcomes.clear()
        return found


def names_of(given: Given) -> tuple[str, ...]:
    """Return the checks that the remotes of a configuration have."""
    remotes = given.settings.remotes if given.settings else ()
    return tuple(dict.fromkeys(hop for remote in remotes for hop in hops_of(remote)))


def not_asked(given: Given, why: str) -> Iterator[Finding]:
    """Yield that no remote was asked."""
    if given.settings is None:
        yield not_checked(REVISION, "The configuration is wrong, so it is not known where to ask.")
    for remote in given.settings.remotes if given.settings else ():
        yield from (not_checked(hop, why, of=remote.url) for hop in hops_of(remote))


class Inquiry:
    """Asks the remotes of one host."""

    def __init__(self, given: Given, settings: Settings, resolve: Resolve) -> None:
        """Take what to look at.

        Args:
            given: as all groups are.
            settings: of this host.
            resolve: judges what the first acceptable revision declares, while it can be read.
        """
        self._given = given
        self._settings = settings
        self._resolve = resolve
        self._pointer = given.pointer or Pointer("", settings.host)
        self._fleet: tuple[Finding, ...] | None = None

    def ask(self) -> Consultation:
        """Ask every remote, and judge each hop; one that cannot be asked takes no other one along."""
        doors = _Doors(source_account(self._settings), self._given.ports.run, [])
        ways: dict[str, Way] = {}
        found: dict[str, tuple[Finding, ...]] = {}
        with temporary_folder() as folder:
            for remote in self._settings.remotes:
                look = partial(self._look, remote, doors, Path(folder), ways)
                hops = sheltered(hops_of(remote), look, is_root=self._given.is_root)
                found[remote.url] = tuple(each if each.of else evolve(each, of=remote.url) for each in hops)
        good = [url for url, way in ways.items() if way.asked.status is SourceStatus.OK]
        findings = [
            each for url, hops in found.items() for each in eased(hops, has_other=bool(good) and url not in good)
        ]
        return Consultation((*findings, *(each for way in ways.values() for each in _clock(way))), self._fleet)

    def _look(self, remote: Remote, doors: _Doors, folder: Path, ways: dict[str, Way]) -> Iterator[Finding]:
        if not self._given.is_root and any(map(_is_shut, remote.secrets)):
            yield from (without_rights(hop, of=remote.url, what="What this remote needs") for hop in hops_of(remote))
            return
        ways[remote.url] = self._ask(remote, doors, folder)
        yield from judge_way(ways[remote.url])

    def _ask(self, remote: Remote, doors: _Doors, folder: Path) -> Way:
        """Ask one remote; whatever comes of it is part of the way."""
        self._given.ports.progress(f"asking {remote.url}", 0, 0, None)
        seen: Mapping[str, object] = {}
        pinned: tuple[str, ...] = ()
        if remote.transport is not Transport.FILE:
            run = doors.account.talking_to(remote).run if doors.account else doors.run
            seen = look_at_hops(run, remote)
        if remote.transport is Transport.SSH:
            pinned = pinned_keys(doors.run, remote)
        asked = self._consult(remote, doors, folder)
        heard = what_was_heard(remote, seen, doors.heard(), pinned)
        return Way(remote, heard, asked, self._given.ports.started, files_of(remote))

    def _consult(self, remote: Remote, doors: _Doors, folder: Path) -> Asked:
        settings = evolve(self._settings, repo=remote.url, remotes=(remote,), rev=None, is_offline=False)
        # Where nothing was kept yet, or it may not be looked at, there is no mirror to build upon.
        has_state = self._given.is_pointer_known and settings.state_dir.is_dir()
        state = settings.state_dir if has_state else folder
        with Mirror.open(
            state,
            doors.recorded(doors.run),
            open_objects=self._given.ports.manifests.objects,
            temporary=folder,
            account=doors.recorded_account(),
        ) as mirror:
            ports = self._given.ports
            source = Source(settings, mirror, self._pointer, ports.agent, is_lasting=False, manifests=ports.manifests)
            try:
                consulted = source.consult()
            except FleetError as error:
                # Its header cannot be read, so it cannot be told whether it concerns this fleet.
                return Asked(SourceStatus.REFUSED, error.diagnostics)
            except DatumError as error:
                return Asked(SourceStatus.UNREACHABLE, error.diagnostics)
            if self._fleet is None and consulted.offered is not None and consulted.offered.acceptable:
                revision = consulted.offered.revision
                self._fleet = self._resolve(mirror.tree(revision), revision)
            return self._asked(remote, consulted, mirror)

    def _asked(self, remote: Remote, consulted: Consulted, mirror: Mirror) -> Asked:
        report = consulted.report
        revision = report.revision
        if revision is None:
            return Asked(report.status, report.diagnostics)
        info = None
        with suppress(RepositoryError):
            info = mirror.describe(revision)
        return Asked(
            report.status,
            report.diagnostics,
            revision,
            info.committed_at if info else "",
            info.committer if info else "",
            is_quarantined=self._pointer.is_quarantined(revision),
            is_behind=self._is_behind(remote, consulted, mirror),
            is_floor_known=self._given.is_pointer_known,
        )

    def _is_behind(self, remote: Remote, consulted: Consulted, mirror: Mirror) -> bool:
        """Whether a remote that stands in for the first one only has not got what was accepted."""
        revision, accepted = consulted.report.revision, self._pointer.accepted
        codes = {item.code for item in consulted.evidence}
        if remote == self._settings.remotes[0] or revision is None or accepted is None or codes != {"not-a-descendant"}:
            return False
        return is_behind(mirror, revision, accepted)


def _is_shut(path: str) -> bool:
    """Whether this process may not read a file that may well be there."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY))
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _clock(way: Way) -> Iterator[Finding]:
    """Yield what a remote says of the clock, where it says anything."""
    host = first_hop(way.remote).host if way.remote.transport is not Transport.FILE else way.remote.url
    if way.heard.ahead is not None:
        yield judge_source(host, ahead=way.heard.ahead, what="The clock of")
        return
    moment = moment_of(way.asked.committed_at)
    if moment is not None and way.asked.revision is not None:
        yield judge_commit(host, way.asked.revision.short, ahead=seconds_between(way.now, moment))


def files_of(remote: Remote) -> Facts:
    """Return mode and owner of each file that a remote's access names."""
    found: dict[str, str] = {}
    for path in (getattr(remote, name) for name in _FILES):
        if path:
            found[path] = _rights(Path(path))
    return found


def _rights(path: Path) -> str:
    try:
        status = path.stat()
    except OSError as error:
        return error.strerror or str(error)
    return f"mode {stat.S_IMODE(status.st_mode):04o}, user {status.st_uid}, group {status.st_gid}"
