"""`datum leave`: takes this host out of its fleet, and says what stays and what to revoke (design 6).

What datum put on the host stays, and so do reports. In this order, under the pass lock: the record of what stays, the
timer, the pointer, the rest of the state, the configuration; a kill at any instant leaves what the next `leave` ends,
which tells by the record what the first one would have told. Nothing is removed from a folder that bears no mark of
datum's, whatever its names are. Effects: those files; systemctl through the program door.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from attrs import asdict, evolve, field, frozen

from datum.agent.configuration import remove_configuration
from datum.agent.keys import HOST_KEY, fingerprint, host_key
from datum.agent.left import Access, Record, complete_record, read_record, write_record
from datum.agent.pause_file import load_pause
from datum.agent.places import below
from datum.agent.ports import Ports
from datum.agent.reports import LEFT
from datum.agent.settings import STATE_DIR, Options, Settings, config_path, config_said, settings_from
from datum.agent.wiring import require_rights
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, SettingsError, StateError
from datum.model.json import JsonValue
from datum.model.pause import Pause
from datum.model.pointer import Pointer, TrailEntry
from datum.model.revision import Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Transport
from datum.repository.store import is_made_here
from datum.state.lock import LOCK, JoinedPass, acquire
from datum.state.pointer_file import read_pointer
from datum.state.progress import QUEUE, RUN, is_of_run
from datum.state.turns import is_of_queue

# All that datum keeps in its state directory, in the order in which it goes.
_STATE: Final = ("pointer.json", "pause.yaml", "quarantine", "quarantine.old", "mirror.old", "mirror.git")
_PART: Final = ".pointer.json."


class Timer:
    """What runs passes; the default is for hosts that have none of ours."""

    def on(self, settings: Settings) -> tuple[str, ...]:  # noqa: ARG002  # for those that have some
        """Return the units that are enabled or active, which `stop` disables."""
        return ()

    def stop(self, settings: Settings) -> tuple[str, ...]:  # noqa: ARG002  # for those that have some
        """Switch it off, remove what `init` wrote for it, and return the paths that went."""
        return ()


@frozen
class Leaving:
    """What leaving comes to, before or after it."""

    settings: Settings
    is_configured: bool
    pointer: Pointer | None
    # The name that this host has in its fleet, and that fleet; empty where nothing says it.
    host: str
    fleet: str
    # Ids of what the revisions of the trail declared for this host; None: they cannot be resolved any more.
    stays: tuple[str, ...] | None
    accesses: tuple[Access, ...]
    # `ssh-ed25519 AAAA…`, empty where there is none.
    host_key: str
    # Of files that are no longer there after leaving.
    removed: tuple[str, ...] = ()
    # What lies in the state directory and is not datum's; the directory itself where a person put a link there.
    foreign: tuple[str, ...] = field(default=())
    # Whether the state directory bears a mark of datum's; nothing of it goes else.
    is_own: bool = True
    # What datum keeps in the state directory.
    parts: tuple[str, ...] = ()
    # A pause that goes along.
    pause: Pause | None = None
    # Units that are disabled.
    timers: tuple[str, ...] = ()

    @property
    def record(self) -> Path:
        """Where it is written what stays."""
        return self.settings.reports_dir / LEFT


def survey(options: Options, ports: Ports) -> Leaving | None:
    """Return what leaving would come to; None where nothing shows that this host was ever enrolled.

    Raises:
        PermissionRefusedError: this is the running system, and the caller is not root.
        SettingsError: the configuration is wrong.
        StateError: the pointer cannot be used.
    """
    settings, is_configured = _settings(options)
    require_rights(settings)
    pointer = read_pointer(settings.pointer_path)
    # Of a leave that was killed: it names what cannot be found out any more.
    record = read_record(settings.reports_dir) if pointer is None else None
    record = record if record is not None and not record.is_complete else None
    is_own = _is_own(settings, pointer, record)
    parts = _parts(settings.state_dir) if is_own else ()
    if not is_configured and not parts:
        return None
    accesses = _accesses(settings, ports) if is_configured else []
    told = record.accesses if record is not None else ()
    return Leaving(
        settings,
        is_configured,
        pointer,
        str(pointer.host) if pointer else record.host if record else "",
        pointer.fleet if pointer else record.fleet if record else "",
        record.stays if record is not None else _stays(settings, pointer, ports),
        tuple(dict.fromkeys((*accesses, *told))),
        host_key(below(settings.root, HOST_KEY)),
        foreign=_foreign(settings.state_dir, is_own=is_own),
        is_own=is_own,
        parts=parts,
        pause=_pause(settings) if is_own else None,
    )


def _is_own(settings: Settings, pointer: Pointer | None, record: Record | None) -> bool:
    """Whether the state directory is datum's: a person may have named one that holds something else."""
    is_usual = settings.state_dir == below(settings.root, STATE_DIR)
    is_left = record is not None and record.state_dir == str(settings.state_dir)
    return pointer is not None or is_usual or is_left or is_made_here(settings.state_dir / "mirror.git")


def _pause(settings: Settings) -> Pause | None:
    try:
        return load_pause(settings)
    except SettingsError:
        return None


def _settings(options: Options) -> tuple[Settings, bool]:
    """Return where things lie, and whether there is a configuration: it need not say which repository or host."""
    said = config_said(options)
    bare = Options(config=options.config, state_dir=options.state_dir, root=options.root)
    has_repo = any(key == "repo" or key.startswith("source.remotes") for key in said.values)
    # Neither is used: nothing is asked of a source, and the pointer knows the host.
    whole = evolve(bare, repo=None if has_repo else "/", host=None if said.text("host") else "unknown")
    return settings_from(said, whole), config_path(options).exists()


def _stays(settings: Settings, pointer: Pointer | None, ports: Ports) -> tuple[str, ...] | None:
    if pointer is None:
        return None
    ids: set[str] = set()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="datum-leave-") as folder,
            Mirror.open(
                settings.state_dir, ports.run, open_objects=ports.manifests.objects, temporary=Path(folder)
            ) as mirror,
        ):
            for entry in pointer.trail:
                ids |= _declared(mirror, entry, ports)
    except (DatumError, OSError):
        return None
    return tuple(sorted(ids))


def _declared(mirror: Mirror, entry: TrailEntry, ports: Ports) -> set[str]:
    tree = mirror.tree(entry.revision)
    manifest = ports.manifests.manifest(tree, entry.host)
    return {str(resource.id) for resource in manifest.resources}


def _accesses(settings: Settings, ports: Ports) -> list[Access]:
    found: list[Access] = []
    for remote in settings.remotes:
        if remote.key_file:
            found.append(
                Access("deploy key", remote.key_file, remote.url, fingerprint(Path(remote.key_file), ports.run))
            )
        if remote.token_file:
            found.append(Access("token", remote.token_file, remote.url))
        if remote.transport is Transport.HTTPS and remote.cert_key_file:
            found.append(Access("client certificate", remote.cert_file, remote.url))
        if remote.proxy_password_file:
            found.append(Access("password of the proxy", remote.proxy_password_file, remote.proxy))
    return found


def _parts(state: Path) -> tuple[str, ...]:
    """Return what datum keeps in its state directory, as far as it is there, in the order in which it goes."""
    parts = sorted(path.name for path in state.glob(f"{_PART}*"))
    return tuple(name for name in (*_STATE, *parts, RUN, LOCK) if os.path.lexists(state / name))


def _foreign(state: Path, *, is_own: bool) -> tuple[str, ...]:
    """Return what is not datum's to remove: what it did not put there, and a link that leads to the state."""
    link = (str(state),) if state.is_symlink() else ()
    names = [name for name in _names(state) if is_own or name not in {RUN, LOCK}]
    if not is_own:
        return link or ((str(state),) if names else ())
    own = {*_STATE, LOCK, RUN}
    found = [state / name for name in names if name not in own and not name.startswith(_PART)]
    return (*link, *map(str, (*found, *_foreign_in_run(state / RUN))))


def _foreign_in_run(run: Path) -> tuple[Path, ...]:
    if run.is_symlink():
        return ()
    queue = run / QUEUE
    found = [run / name for name in _names(run) if name != QUEUE and not is_of_run(name)]
    return (*found, *(queue / name for name in _names(queue) if not is_of_queue(name)))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are all there is
    except OSError:
        return []


def leave(options: Options, ports: Ports, timer: Timer, *, wait: float | None) -> Leaving | None:
    """Take this host out of its fleet; None where nothing shows that it was ever enrolled.

    Args:
        options: `config`, `state_dir` and `root` count.
        ports: the effects.
        timer: what runs passes here.
        wait: seconds for which to wait for a running pass; None waits until it ended.

    Raises:
        DatumError: see `survey`; or something cannot be removed, and the rest is still there.
    """
    first = survey(options, ports)
    if first is None:
        return None
    state = first.settings.state_dir
    # Of a folder that is not datum's, only what this command is about to make there goes.
    made = {name for name in (RUN, LOCK) if not os.path.lexists(state / name)}
    turn = acquire(state, "leave", wait=wait)
    if isinstance(turn, JoinedPass):
        return first
    with turn:
        # The pass that was waited for may have moved the pointer.
        found = survey(options, ports)
        return None if found is None else _leave(found, ports, timer, made)


def _leave(found: Leaving, ports: Ports, timer: Timer, made: Collection[str]) -> Leaving:
    settings, state = found.settings, found.settings.state_dir
    if found.pointer is not None:
        document = _document(found, found.pointer, ports)
        _guarded(found.record, lambda path: write_record(path.parent, document))
    timers = timer.on(settings)
    removed = list(timer.stop(settings))
    parts = [name for name in found.parts if name not in {RUN, LOCK}]
    removed += [str(state / name) for name in parts if _remove(state / name)]
    if found.is_configured:
        _guarded(settings.config, remove_configuration)
        removed.append(str(settings.config))
    _guarded(found.record, lambda path: complete_record(path.parent))
    removed += _remove_passing(state, {RUN, LOCK} if found.is_own else made)
    if not _foreign(state, is_own=found.is_own) and not state.is_symlink() and not _names(state):
        _guarded(state, _remove_folder)
        removed.append(str(state))
    return evolve(found, removed=tuple(removed), timers=timers)


def _remove_passing(state: Path, names: Collection[str]) -> list[str]:
    """Remove what passes take turns by, by the names that they give; return what went whole."""
    going = [name for name in (RUN, LOCK) if name in names and os.path.lexists(state / name)]
    if RUN in going:
        _guarded(state / RUN, _remove_run)
    if LOCK in going:
        _remove(state / LOCK)
    return [str(state / name) for name in going if not os.path.lexists(state / name)]


def _remove_run(run: Path) -> None:
    if run.is_symlink() or not run.is_dir():
        run.unlink()
        return
    foreign = set(_foreign_in_run(run))
    for folder in (run / QUEUE, run):
        for name in _names(folder):
            if folder / name not in foreign and name != QUEUE:
                (folder / name).unlink(missing_ok=True)
        if not _names(folder):
            _remove_folder(folder)


def _document(found: Leaving, pointer: Pointer, ports: Ports) -> Mapping[str, JsonValue]:
    return {
        "schema_version": 1,
        "host": str(pointer.host),
        "fleet": pointer.fleet,
        "repo": found.settings.repo,
        "left": ports.started,
        "accepted": _key(pointer.accepted),
        "trail": [_key(entry.revision) for entry in pointer.trail],
        "resources": None if found.stays is None else list(found.stays),
        "state_dir": str(found.settings.state_dir),
        "revoke": [asdict(one) for one in found.accesses],
    }


def _key(revision: Revision | None) -> str | None:
    return None if revision is None else revision.key


def _remove(path: Path) -> bool:
    if not os.path.lexists(path):
        return False
    _guarded(path, _remove_whole)
    return True


def _remove_whole(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remove_folder(path: Path) -> None:
    if path.is_dir():
        path.rmdir()


def _guarded(path: Path, act: Callable[[Path], None]) -> None:
    try:
        act(path)
    except OSError as error:
        raise StateError(
            Diagnostic(
                code="leave-incomplete",
                summary="This host has not left yet.",
                detail=f"{error.filename or path}: {error.strerror}.",
                hint="make it possible, and run datum leave again; it does the rest",
            )
        ) from error
