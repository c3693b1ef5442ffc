"""`datum leave`: takes this host out of its fleet, and says what stays and what to revoke (design 6).

What datum put on the host stays, and so do reports. In this order, under the pass lock: the record of what stays, the
timer, the pointer, the rest of the state, the configuration; a kill at any instant leaves what the next `leave` ends.
Effects: those files; systemctl through the program door.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, field, frozen

from datum.agent.configuration import remove_configuration, write_whole
from datum.agent.first_contact import LEFT
from datum.agent.keys import HOST_KEY, fingerprint, host_key
from datum.agent.places import below
from datum.agent.ports import Ports
from datum.agent.settings import Options, Settings, config_path, config_said, settings_from
from datum.agent.wiring import require_rights
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, StateError
from datum.model.json import JsonValue, compact_json
from datum.model.pointer import Pointer, TrailEntry
from datum.model.revision import Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Transport
from datum.state.lock import JoinedPass, acquire
from datum.state.pointer_file import read_pointer
from datum.state.progress import RUN

# All that datum keeps in its state directory, in the order in which it goes.
_STATE: Final = ("pointer.json", "pause.yaml", "quarantine", "quarantine.old", "mirror.old", "mirror.git")
_LOCK: Final = "lock"
_PART: Final = ".pointer.json."


class Timer:
    """What runs passes; the default is for hosts that have none of ours."""

    def stop(self, settings: Settings) -> tuple[str, ...]:  # noqa: ARG002  # for those that have some
        """Switch it off, remove what `init` wrote for it, and return the paths that went."""
        return ()


@frozen
class Access:
    """Something that lets this host in somewhere."""

    # `deploy key`, `token`.
    what: str
    # Of the file that stays on this host.
    path: str
    # Where it is to be revoked.
    url: str
    fingerprint: str = ""


@frozen
class Leaving:
    """What leaving comes to, before or after it."""

    settings: Settings
    is_configured: bool
    pointer: Pointer | None
    # Ids of what the revisions of the trail declared for this host; None: they cannot be resolved any more.
    stays: tuple[str, ...] | None
    accesses: tuple[Access, ...]
    # `ssh-ed25519 AAAA…`, empty where there is none.
    host_key: str
    # Of files that are no longer there after leaving.
    removed: tuple[str, ...] = ()
    # What lies in the state directory and is not datum's.
    foreign: tuple[str, ...] = field(default=())

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
    if not is_configured and not any(os.path.lexists(settings.state_dir / name) for name in (*_STATE, _LOCK, RUN)):
        return None
    accesses = tuple(_accesses(settings, ports)) if is_configured else ()
    return Leaving(
        settings,
        is_configured,
        pointer,
        _stays(settings, pointer, ports),
        accesses,
        host_key(below(settings.root, HOST_KEY)),
        foreign=_foreign(settings.state_dir),
    )


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


def _foreign(state: Path) -> tuple[str, ...]:
    try:
        names = sorted(os.listdir(state))  # noqa: PTH208 - names are all there is
    except OSError:
        return ()
    own = {*_STATE, _LOCK, RUN}
    return tuple(str(state / name) for name in names if name not in own and not name.startswith(_PART))


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
    turn = acquire(first.settings.state_dir, "leave", wait=wait)
    if isinstance(turn, JoinedPass):
        return first
    with turn:
        # The pass that was waited for may have moved the pointer.
        found = survey(options, ports)
        return None if found is None else _leave(found, ports, timer)


def _leave(found: Leaving, ports: Ports, timer: Timer) -> Leaving:
    settings, state = found.settings, found.settings.state_dir
    if found.pointer is not None:
        data = _record(found, found.pointer, ports)
        _guarded(found.record, lambda path: write_whole(path, data, mode=0o640))
    removed = list(timer.stop(settings))
    parts = sorted(str(path.name) for path in state.glob(f"{_PART}*"))
    removed += [str(state / name) for name in (*_STATE, *parts) if _remove(state / name)]
    if found.is_configured:
        _guarded(settings.config, remove_configuration)
        removed.append(str(settings.config))
    for name in (RUN, _LOCK):
        _remove(state / name)
    if not _foreign(state):
        _guarded(state, _remove_folder)
        removed.append(str(state))
    return evolve(found, removed=tuple(removed))


def _record(found: Leaving, pointer: Pointer, ports: Ports) -> bytes:
    value: Mapping[str, JsonValue] = {
        "schema_version": 1,
        "host": str(pointer.host),
        "fleet": pointer.fleet,
        "repo": found.settings.repo,
        "left": ports.started,
        "accepted": _key(pointer.accepted),
        "trail": [_key(entry.revision) for entry in pointer.trail],
        "resources": None if found.stays is None else list(found.stays),
    }
    return compact_json(value).encode() + b"\n"


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
