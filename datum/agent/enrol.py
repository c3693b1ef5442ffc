"""`datum init`: writes the configuration and enrols this host (design 3.5, 6).

First contact is this explicit act: the pointer it writes names fleet and host and no revision yet; the first pass
accepts one, which has to be the anchor or to descend from it. In the order of `prepare`, `look`, `enrol`: the first
writes nothing, the second fetches into a temporary folder, the third writes mirror, configuration and pointer, in that
order, so that a kill leaves what the next `init` completes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, frozen

from datum.agent.anchor import require_anchored
from datum.agent.commands import temporary_folder
from datum.agent.config_file import parse_config
from datum.agent.configuration import Told, anchored, composed, differences, renamed, write_configuration
from datum.agent.first_contact import obtain, refuse_lost
from datum.agent.hints import completed
from datum.agent.places import below, from_here
from datum.agent.ports import Ports
from datum.agent.remotes import LIST, Said
from datum.agent.settings import Options, Settings, config_path, config_said, refuse_shared, root_of, settings_from
from datum.agent.source import from_first
from datum.agent.unusable import check_anchor, host_name, nobody_renamed, refuse_keyless, refuse_unnamed, refuse_unused
from datum.agent.wiring import enrol_line, require_rights, source_account
from datum.diagnostics import Diagnostic
from datum.errors import SettingsError, StateError
from datum.model.identity import HostName
from datum.model.pointer import Pointer
from datum.model.revision import CommitInfo, Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Transport, normal_remote
from datum.state.lock import JoinedPass, acquire
from datum.state.pointer_file import check_binding, read_pointer, write_pointer
from datum.state.transitions import rename as rename_host


@frozen
class Intent:
    """What `init` is about to do; nothing is done yet."""

    told: Told
    # As they will be.
    settings: Settings
    # The options that lead later commands there, with what the configuration does not say.
    options: Options
    # What the configuration file holds now; None: there is none.
    found: str | None
    # The name this host had (design 3.5 X); empty when it is not renamed.
    rename: str
    # Whether this host has accepted a revision: the anchor has done its work then.
    has_accepted: bool
    # What `prepare` was told, with what a person confirmed since: it is asked again where the file has changed.
    asked: Told
    said_options: Options
    # Whether the configuration file says nothing yet, or is not there.
    is_unwritten: bool

    @property
    def is_remote(self) -> bool:
        """Whether somebody else than this host says what the repository holds."""
        return any(remote.transport is not Transport.FILE for remote in self.settings.remotes)

    @property
    def needs_trust(self) -> bool:
        """Whether what the source names is to be accepted and nothing says which revision it must descend from."""
        return self.settings.anchor is None and not self.has_accepted

    def trusting(self, revision: Revision) -> "Intent":
        """Return this intent with an anchor that a person confirmed."""
        told = evolve(self.told, anchor=revision.commit)
        asked = evolve(self.asked, anchor=revision.commit)
        return evolve(self, told=told, asked=asked, settings=evolve(self.settings, anchor=Revision(revision.commit)))


@frozen
class Seen:
    """What the source names now, and what it is to this host."""

    revision: Revision
    info: CommitInfo
    fleet: str
    # How many resources it declares for this host.
    resources: int


@frozen
class Enrolment:
    """What `init` did."""

    settings: Settings
    # The first pass enforces it.
    seen: Seen
    # False when this host was enrolled so already.
    is_new: bool
    # Whether the anchor is what the source named just now: nobody said one.
    is_pinned: bool
    # Whether a pass has accepted a revision here before.
    has_accepted: bool = False


def prepare(told: Told, options: Options, *, rename: str = "") -> Intent:
    """Check what was told against what is there.

    Args:
        told: what is to be written; paths of its access as the configuration holds them.
        options: `config`, `state_dir` and `root` count.
        rename: the name this host had; empty when it is not renamed.

    Raises:
        UsageError: repository or host is said nowhere, or cannot be one.
        SettingsError: the configuration is wrong, or says otherwise.
        StateError: the pointer cannot be used, or is lost and nobody said an anchor.
    """
    asked, said_options = told, options
    if options.state_dir:
        refuse_shared(options.state_dir, root_of(options))
    said, path = config_said(options), config_path(options)
    repos = tuple(dict.fromkeys(normal_remote(from_here(repo)) for repo in told.repos))
    told = evolve(told, repos=repos, state_dir=options.state_dir or "")
    options = _completing(said, told, options)
    refuse_unnamed(said, told, options)
    if rename:
        host_name(rename, "--rename")
    check_anchor(told.anchor)
    found = read_found(path)
    if not said.values:
        settings = _composed_settings(told, options)
    else:
        settings = _settled(said, told, options, is_renamed=bool(rename))
    refuse_unused(told, settings)
    require_rights(settings)
    with completed(enrol_line(settings)):
        pointer = read_pointer(settings.pointer_path)
    if pointer is None:
        _require_new(told, settings, rename)
    has_accepted = pointer is not None and pointer.accepted is not None
    is_unwritten = not said.values
    if told.anchor and settings.anchor != Revision(told.anchor):
        if not is_unwritten and settings.anchor is not None and has_accepted:
            raise _otherwise(path, (f"anchor {settings.anchor.commit}",), "")
        settings = evolve(settings, anchor=Revision(told.anchor))
    elif settings.anchor is not None:
        told = evolve(told, anchor=told.anchor if is_unwritten else "")
    return Intent(told, settings, options, found, rename, has_accepted, asked, said_options, is_unwritten)


def _require_new(told: Told, settings: Settings, rename: str) -> None:
    """Make sure that a host without a pointer is enrolled as what it is."""
    if not told.anchor:
        refuse_lost(settings)
    if rename:
        raise nobody_renamed(rename, settings)


def read_found(path: Path) -> str | None:
    """Return what the configuration file holds; None: there is none."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


def _completing(said: Said, told: Told, options: Options) -> Options:
    """Return the options of later commands: repository and host only where an existing configuration lacks them."""
    bare = Options(config=options.config, state_dir=options.state_dir, root=options.root)
    if not said.values:
        return bare
    has_repo = said.text("repo") or any(key.startswith(LIST) for key in said.values)
    repo = None if has_repo or not told.repos else told.repos[0]
    return evolve(bare, repo=repo, host=None if said.text("host") else told.host or None)


def _composed_settings(told: Told, options: Options) -> Settings:
    """Return the settings of a configuration that is to be written."""
    for url in told.repos:
        refuse_keyless(url, told)
    try:
        return settings_from(parse_config(composed(told), str(config_path(options))), options)
    except SettingsError as error:
        # It has no place: it is not there yet.
        raise SettingsError(*(evolve(item, location=None) for item in error.diagnostics)) from error


def _settled(said: Said, told: Told, options: Options, *, is_renamed: bool) -> Settings:
    """Return the settings of the configuration that is there, which must not say otherwise."""
    root = root_of(options)
    settings = settings_from(said, evolve(options, state_dir=None))
    if is_renamed and told.host:
        settings = evolve(settings, host=HostName(told.host))
    found = list(differences(settings, told, lambda name: str(below(root, name)), said))
    if options.state_dir and settings.state_dir != below(root, options.state_dir) and "state_dir" in said.values:
        found.append(f"state_dir {said.text('state_dir')}")
    if found:
        is_renamed = bool(told.host) and told.host != str(settings.host)
        raise _otherwise(config_path(options), tuple(found), str(settings.host) if is_renamed else "")
    return settings_from(said, evolve(options, host=told.host) if is_renamed and told.host else options)


def _otherwise(path: Path, found: tuple[str, ...], host: str) -> SettingsError:
    """Return the error of a configuration that says otherwise; `host`: its name there, where that is what differs."""
    return SettingsError(
        Diagnostic(
            code="configured-otherwise",
            summary="This host is configured otherwise.",
            detail=f"{path} says {'; '.join(found)}.",
            hint="change that file by hand, or leave the option out"
            + (f"; if the host was renamed add --rename {host}" if host else ""),
        )
    )


def look(intent: Intent, ports: Ports) -> Seen:
    """Return what the source names now; what is fetched for it is dropped.

    Raises:
        RepositoryError: the source gives no revision, or one that the anchor refuses.
        FleetError: the revision declares nothing that can be enforced on this host.
        StateError: there is no temporary folder.
    """
    with _passing_mirror(intent.settings, ports) as mirror:
        return _seen(mirror, intent.settings, ports, None, is_first=not intent.has_accepted)


def names(intent: Intent, ports: Ports) -> None:
    """Make sure that a source names something by the ref of this host; nothing is fetched.

    Raises:
        RevisionNotFoundError: it has no such ref; the detail says which it has.
        RepositoryUnreachableError: no source can be asked.
        StateError: there is no temporary folder.
    """
    settings = intent.settings
    with _passing_mirror(settings, ports) as mirror:
        from_first(settings.remotes, lambda one: mirror.ask(one, settings.ref, timeout=settings.source_timeout))


@contextmanager
def _passing_mirror(settings: Settings, ports: Ports) -> Iterator[Mirror]:
    """Give a mirror that leaves nothing: what is fetched for it is dropped.

    Raises:
        StateError: there is no temporary folder.
    """
    with (
        temporary_folder() as place,
        Mirror.open(
            settings.state_dir,
            ports.run,
            open_objects=ports.manifests.objects,
            temporary=Path(place),
            account=source_account(settings),
        ) as mirror,
    ):
        yield mirror


def _seen(mirror: Mirror, settings: Settings, ports: Ports, known: Pointer | None, *, is_first: bool) -> Seen:
    revision, _ = from_first(settings.remotes, lambda remote: obtain(mirror, remote, settings))
    if is_first:
        require_anchored(mirror, revision, settings.anchor)
    tree = mirror.tree(revision)
    fleet = ports.manifests.header(tree).fleet
    if known is not None:
        check_binding(known, fleet, settings.host)
    manifest = ports.manifests.manifest(tree, settings.host)
    return Seen(revision, mirror.describe(revision), fleet, len(manifest.resources))


def enrol(intent: Intent, ports: Ports, *, wait: float | None) -> Enrolment:
    """Write the configuration and the pointer under the pass lock; nothing else on the host is touched.

    Args:
        intent: a result of `prepare`.
        ports: the effects.
        wait: seconds for which to wait for a running pass; None waits until it ended.

    Raises:
        SettingsError: the host is enrolled otherwise.
        RepositoryError: the source gives no revision, or one that the anchor refuses.
        FleetError: the revision declares nothing that can be enforced on this host.
        StateError: something cannot be written.
    """
    settings = intent.settings
    turn = acquire(settings.state_dir, "init", wait=wait)
    if isinstance(turn, JoinedPass):
        raise StateError(*_raced(settings).diagnostics)
    with turn, completed(enrol_line(settings)):
        return _enrol(intent, ports)


def _enrol(intent: Intent, ports: Ports) -> Enrolment:
    settings = intent.settings
    if read_found(settings.config) != intent.found:
        # Another init or leave ended meanwhile: what was told is judged anew against what is there now.
        intent = prepare(intent.asked, intent.said_options, rename=intent.rename)
        if intent.settings.state_dir != settings.state_dir or (intent.needs_trust and intent.is_remote):
            raise _raced(settings)
        settings = intent.settings
    before = read_pointer(settings.pointer_path)
    known = before
    if known is not None and intent.rename and known.host != settings.host:
        known = rename_host(known, host_name(intent.rename, "--rename"), settings.host)
    if known is not None:
        check_binding(known, None, settings.host)
    is_first = known is None or known.accepted is None
    account = source_account(settings)
    with Mirror.open(settings.state_dir, ports.run, open_objects=ports.manifests.objects, account=account) as mirror:
        seen = _seen(mirror, settings, ports, known, is_first=is_first)
        if is_first:
            mirror.promote(seen.revision)
    # What a person wrote without an anchor gets none unasked.
    is_pinned = is_first and settings.anchor is None and intent.is_unwritten
    if is_pinned:
        intent = intent.trusting(seen.revision)
    _write(intent)
    known = known or Pointer(seen.fleet, settings.host)
    if known != before:
        write_pointer(settings.pointer_path, known)
    return Enrolment(intent.settings, seen, known != before, is_pinned, has_accepted=not is_first)


@contextmanager
def still_enrolled(settings: Settings, *, wait: float | None) -> Iterator[None]:
    """Hold the pass lock over a host that is enrolled: what is done inside is not done to one that left meanwhile.

    Args:
        settings: of the enrolment.
        wait: seconds for which to wait for a running pass; None waits until it ended.

    Raises:
        StateError: `init-raced`.
    """
    _require_there(settings)
    turn = acquire(settings.state_dir, "timer", wait=wait)
    if isinstance(turn, JoinedPass):
        raise _raced(settings)
    with turn:
        _require_there(settings)
        yield


def _require_there(settings: Settings) -> None:
    if not (settings.pointer_path.exists() and settings.config.exists()):
        raise _raced(settings)


def _write(intent: Intent) -> None:
    """Write the configuration; one that is there only gets the new name and the anchor that was asked for."""
    path, told, found = intent.settings.config, intent.told, intent.found
    if found is None or intent.is_unwritten:
        # Comments of a person stay.
        data = composed(evolve(told, host=str(intent.settings.host)))
        write_configuration(path, (found or "").rstrip().encode() + b"\n" * bool((found or "").strip()) + data)
        return
    text = renamed(found, intent.settings.host) if intent.rename else found
    if told.anchor:
        text = anchored(text, told.anchor, path)
    if text != found:
        write_configuration(path, text.encode())


def _raced(settings: Settings) -> StateError:
    return StateError(
        Diagnostic(
            code="init-raced",
            summary="This host was enrolled or left its fleet just now.",
            detail=f"Another datum init or datum leave used {settings.state_dir} at the same time.",
            hint="datum status shows what it did; run datum init again if this host is to be enrolled",
        )
    )
