"""`datum init`: writes the configuration and enrols this host (design 3.5, 6).

First contact is this explicit act: the pointer it writes names fleet and host and no revision yet; the first pass
accepts one. Effects: configuration, state directory, mirror.
"""

import os
import time
from pathlib import Path

from attrs import frozen

from datum.agent.hints import completed, init_line, whereabouts
from datum.agent.ports import Ports
from datum.agent.settings import DEFAULT_REF, Options, Settings, config_path, read_settings, root_of
from datum.agent.source import from_first
from datum.agent.wiring import enrol_line, require_rights, source_account
from datum.diagnostics import Diagnostic
from datum.errors import SettingsError, StateError, UsageError
from datum.fleet.header import read_header
from datum.fleet.resolve import resolve_manifest
from datum.host.output import open_output
from datum.model.identity import HostName
from datum.model.pointer import Pointer
from datum.model.revision import Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from datum.state.lock import JoinedPass, acquire
from datum.state.pointer_file import check_binding, read_pointer, write_pointer
from datum.state.transitions import rename as rename_host


@frozen
class Enrolment:
    """What `init` did."""

    settings: Settings
    fleet: str
    # What the source names now; the first pass enforces it.
    revision: Revision
    # How many resources it declares for this host.
    resources: int
    # False when this host was enrolled so already.
    is_new: bool


def enrol(options: Options, ports: Ports, *, has_timer: bool, rename: str = "", wait: float | None) -> Enrolment:
    """Write the configuration and the pointer; nothing on the host is touched.

    Args:
        options: repository and host are needed.
        ports: the effects.
        has_timer: whether a timer is asked for, which this version has not.
        rename: the name this host had (design 3.5 X); empty when it is enrolled anew.
        wait: seconds for which to wait for a running pass; None waits until it ended.

    Raises:
        UsageError: repository or host are not said, or the timer is asked for.
        SettingsError: the host is enrolled otherwise, or configured otherwise.
        RepositoryError: the source gives no revision.
        FleetError: the revision declares nothing that can be enforced on this host.
    """
    if has_timer:
        raise UsageError(
            Diagnostic(
                code="not-in-this-version",
                summary="This version ships no timer.",
                detail="datum init can only enrol; running passes regularly is left to you.",
                hint="add --no-timer, and run 'datum apply' from a timer or cron of your own",
            )
        )
    where = whereabouts(root=root_of(options), config=options.config, state_dir=options.state_dir)
    if not options.repo or not options.host:
        raise UsageError(
            Diagnostic(
                code="init-needs-repo-and-host",
                summary="init needs a repository and a host name.",
                detail="Neither is guessed: the host name decides what is enforced here.",
                hint=init_line(options.repo or "URL", options.host or "NAME", where),
            )
        )
    path = config_path(options)
    if not rename:
        _refuse_other_configuration(path, options)
    settings = read_settings(options, needs_file=False)
    require_rights(settings)
    turn = acquire(settings.state_dir, "init", wait=wait)
    if isinstance(turn, JoinedPass):
        raise StateError(*_raced(settings).diagnostics)
    with turn, completed(enrol_line(settings)):
        return _enrol(_Intent(settings, path, options.state_dir, rename), ports)


@frozen
class _Intent:
    """What is to be written where."""

    settings: Settings
    config: Path
    # As the option said it, so that later commands need none.
    state_dir: str | None
    rename: str


def _enrol(intent: _Intent, ports: Ports) -> Enrolment:
    settings = intent.settings
    before = read_pointer(settings.pointer_path)
    known = before
    if known is not None and intent.rename and known.host != settings.host:
        known = rename_host(known, _host(intent.rename), settings.host)
    if known is not None:
        check_binding(known, None, settings.host)
    account = source_account(settings)
    with Mirror.open(settings.state_dir, ports.run, open_output=open_output, account=account) as mirror:
        revision, _ = from_first(settings.remotes, lambda remote: _obtain(mirror, remote, settings))
        tree = mirror.tree(revision)
        fleet = read_header(tree).fleet
        if known is not None:
            check_binding(known, fleet, settings.host)
        manifest = resolve_manifest(tree, settings.host, ports.providers, agent_version=ports.agent)
        mirror.promote(revision)
    _write_configuration(intent)
    known = known or Pointer(fleet, settings.host)
    if known != before:
        write_pointer(settings.pointer_path, known)
    return Enrolment(settings, fleet, revision, len(manifest.resources), known != before)


def _obtain(mirror: Mirror, remote: Remote, settings: Settings) -> Revision:
    """Return what a remote names, fetched."""
    end = time.monotonic() + settings.source_timeout
    revision = mirror.ask(remote, settings.ref, timeout=settings.source_timeout)
    if not mirror.has(revision):
        left = max(end - time.monotonic(), 0)
        mirror.fetch(remote, settings.ref, revision, timeout=left, byte_limit=settings.source_bytes)
    return revision


def _raced(settings: Settings) -> StateError:
    return StateError(
        Diagnostic(
            code="init-raced",
            summary="Another init of this host ended just now.",
            detail=f"It used {settings.state_dir}.",
            hint="datum status shows what it did",
        )
    )


def _refuse_other_configuration(path: Path, options: Options) -> None:
    """Refuse to overwrite a configuration that says something else."""
    if not path.exists():
        return
    said = read_settings(Options(config=options.config, root=options.root))
    wanted = read_settings(options)
    if (said.repo, said.ref, said.host) != (wanted.repo, options.ref or said.ref, wanted.host):
        raise SettingsError(
            Diagnostic(
                code="configured-otherwise",
                summary="This host is configured otherwise.",
                detail=f"{path} says repo {said.repo}, ref {said.ref}, host {said.host}.",
                hint=f"change that file by hand; if the host was renamed add --rename {said.host}",
            )
        )


def _host(text: str) -> HostName:
    try:
        return HostName(text)
    except ValueError as error:
        raise UsageError(
            Diagnostic(code="bad-host-name", summary="This is no host name.", detail=f"--rename: {error}.")
        ) from error


def _renamed(path: Path, host: HostName) -> list[str] | None:
    """Return the lines of the configuration with another host name; None when it names none, or is not there."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    if not any(line.startswith("host:") for line in lines):
        return None
    return [f"host: {quoted(str(host))}" if line.startswith("host:") else line for line in lines]


def _write_configuration(intent: _Intent) -> None:
    """Write the file atomically, 0644, unless it is there: what a person wrote stays, but for a host's old name."""
    path, settings = intent.config, intent.settings
    lines = _renamed(path, settings.host) if intent.rename else None
    if lines is None and path.exists():
        return
    lines = lines or [
        "# What this host enforces; written by datum init, yours to change.",
        f"repo: {quoted(settings.repo)}",
        f"ref: {quoted(settings.ref or DEFAULT_REF)}",
        f"host: {quoted(str(settings.host))}",
        *([f"state_dir: {quoted(intent.state_dir)}"] if intent.state_dir else []),
        "trust:",
        "  # This version verifies no signatures; who can write the repository can change this host.",
        "  policy: none",
    ]
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.part")
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "w") as stream:
            stream.write("\n".join(lines) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise StateError(
            Diagnostic(
                code="config-unwritable",
                summary="The configuration cannot be written.",
                detail=f"{path}: {error.strerror}.",
                hint="make room or rights for it, and run init again",
            )
        ) from error


def quoted(text: str) -> str:
    """Return a YAML single-quoted scalar (YAML 1.2, 7.3.2)."""
    return "'" + text.replace("'", "''") + "'"
