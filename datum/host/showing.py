"""Show candidates to a program before the host sees them (design 4.2). Effects: a child in namespaces of its own.

Nothing of it is visible outside of that child, and all of it ends with that child, however it ends. It keeps a check
from changing the host by the way; it is no security boundary, since a check that runs as root may undo it.
"""

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from attrs import field, frozen

from datum.host import namespaces
from datum.host.child import Ended, PreparationError, run_prepared
from datum.host.mounts import MountTable
from datum.host.program import how_it_ended, not_started
from datum.provider.host import Command
from datum.provider.paths import is_below, parents

OUTPUT_LIMIT: Final = 16 * 1024
"""Characters kept of what a check wrote."""

# Programs may write there while they check; it is thrown away.
_SCRATCH: Final = ("/run", "/tmp", "/var")  # noqa: S108 - shown to a program, never used by this one
# Likewise where these are file systems of their own; other mounts below stay read-only.
_SCRATCH_MOUNTS: Final = ("/run/lock", "/var/cache", "/var/lib", "/var/log", "/var/tmp")  # noqa: S108 - as above


@frozen
class ShownCandidate:
    """A file, link or directory stands at its path."""

    # Absolute, below the root, well-known links replaced.
    path: str
    # Where it waits on the host, likewise.
    hidden: str


@frozen
class ShownRemoval:
    """Nothing stands there."""

    # As above.
    path: str


@frozen
class ShownAttributes:
    """What stands there has another owner or mode."""

    # As above.
    path: str
    # Permission bits; None: as they are.
    mode: int | None
    uid: int | None
    gid: int | None


Shown: TypeAlias = "ShownCandidate | ShownRemoval | ShownAttributes"
"""One change as the program sees it."""


@frozen
class Outcome:
    """What the program said."""

    # Exit code 0, and only that.
    passed: bool
    # For people, bounded: what the program wrote, and how it ended if it did not pass.
    output: str
    # It wrote nothing: the output only tells how it ended.
    is_silent: bool = field(default=False, kw_only=True)
    # Set when the candidates could not be shown here, with the call that was refused: write, check, restore instead.
    reason_unavailable: str = ""


def run_shown(root: str, command: Command, changes: Sequence[Shown], *, is_online: bool = False) -> Outcome:
    """Run a program that sees every change, in their order, and nothing else changed.

    It sees every file system read-only, the candidates included, but for throw-away copies of /run, /tmp and /var. An
    ordinary user stands as root there.

    Args:
        root: root of the pass, and the program's.
        command: what to run; its directory is `/`.
        changes: what it shall see.
        is_online: whether it has a network.

    Raises:
        HostError: the program could not be started.
    """
    prepare = partial(_show_all, root, changes, is_online=is_online)
    try:
        ended = run_prepared(command, prepare, is_root=True, kill_rest=True)
    except PreparationError as error:
        return Outcome(passed=False, output="", reason_unavailable=error.reason)
    except (OSError, ValueError) as error:
        raise not_started(command, error) from error
    is_silent = not (ended.stdout_tail.strip() or ended.stderr_tail.strip())
    passed = ended.exit_code == 0 and not ended.is_late
    return Outcome(passed=passed, output=said_by(command, ended), is_silent=is_silent)


def said_by(command: Command, ended: Ended) -> str:
    """Return what a program wrote, the end of it where it is much, and how it ended unless that was well."""
    parts = [
        (head if head.endswith(tail) else tail).decode("utf-8", "replace").strip()
        for head, tail in ((ended.stdout, ended.stdout_tail), (ended.stderr, ended.stderr_tail))
    ]
    if ended.is_late:
        parts.append(f"It ran longer than {command.timeout:g} s and was killed.")
    elif ended.exit_code:
        parts.append(f"It {how_it_ended(ended.exit_code)}.")
    text = "\n".join(part for part in parts if part)
    return text if len(text) <= OUTPUT_LIMIT else f"…{text[-OUTPUT_LIMIT:]}"


@frozen
class _Scene:
    """The root as the child has it."""

    # Of the root before anything was laid over it.
    table: MountTable
    # Directories under a throw-away overlay; what the i-th hides shows at `i/lower` of the working directory.
    overlays: tuple[str, ...]

    def find(self, path: str) -> str:
        """Return where something on the host is reached now."""
        for number, folder in reversed(list(enumerate(self.overlays))):
            if is_below(path, folder) and _own(self.table, path) == _own(self.table, folder):
                return f"{number}/lower{path if folder == '/' else path[len(folder) :]}"
        return path


def _show_all(root: str, changes: Sequence[Shown], *, is_online: bool) -> None:
    """In the child: make every change show.

    Raises:
        OSError: one cannot be shown.
    """
    table = namespaces.enclose(root, is_offline=not is_online)
    scratch = {folder for folder in _SCRATCH if namespaces.is_directory(folder)}
    scratch.update(folder for folder in _SCRATCH_MOUNTS if table.is_mount_point(folder))
    wanted = {folder for change in changes if (folder := _overlay_for(change, table))}
    scene = _Scene(table, tuple(_uncovered(scratch | wanted, table)))
    for number, folder in enumerate(scene.overlays):
        namespaces.throw_away(folder, str(number), table.below(folder))
    for change in changes:
        _show(change, scene)
    _close(scene, scratch)
    for change in changes:
        if not _is_shown(change, scene):
            # a pass of the check would say nothing about it
            raise OSError(0, f"the candidate does not show at {change.path}")
    os.chdir("/")


def _close(scene: _Scene, scratch: Collection[str]) -> None:
    """Make overlays read-only that are there for a candidate alone; what is for scratch in them stays as it is."""
    closed = [folder for folder in scene.overlays if folder not in scratch]
    for folder in sorted(set(scratch).difference(scene.overlays)):
        if any(is_below(folder, outer) for outer in closed):
            namespaces.bind(folder, folder, recursive=True)
    for folder in closed:
        namespaces.make_read_only(folder, recursive=False)


def _overlay_for(change: Shown, table: MountTable) -> str:
    """Return the existing directory that has to be laid under an overlay for a change; empty: none has to."""
    path = change.path
    if isinstance(change, ShownAttributes):
        # a mount of its own would lie over an overlay of its directory
        is_top = path == "/" or (table.is_mount_point(path) and namespaces.is_directory(path))
        return path if is_top else _nearest_directory(path)
    if isinstance(change, ShownRemoval):
        return _nearest_directory(path) if os.path.lexists(path) else ""
    # a regular file can be mounted over one; all else needs a new name
    return "" if _is_regular(path) and _is_regular(change.hidden) else _nearest_directory(path)


def _show(change: Shown, scene: _Scene) -> None:
    if isinstance(change, ShownCandidate):
        _show_candidate(change, scene)
    elif isinstance(change, ShownRemoval):
        _clear(change.path)
    else:
        os.chown(change.path, _or_keep(change.uid), _or_keep(change.gid), follow_symlinks=False)
        if change.mode is not None:
            Path(change.path).chmod(change.mode)


def _show_candidate(change: ShownCandidate, scene: _Scene) -> None:
    """Mount it over what stands there, or over something empty of its kind; a link is made anew."""
    source = scene.find(change.hidden)
    status = os.lstat(source)
    if not (stat.S_ISREG(status.st_mode) and _is_regular(change.path)):
        _clear(change.path)
        _make(change.path, source, status)
    if not stat.S_ISLNK(status.st_mode):
        namespaces.bind(source, change.path)
    if source != change.hidden and not stat.S_ISDIR(status.st_mode):
        # or its other name would be seen beside it
        Path(change.hidden).unlink(missing_ok=True)


def _make(path: str, source: str, status: os.stat_result) -> None:
    """Make a link like the source, or something empty to mount it on."""
    if stat.S_ISLNK(status.st_mode):
        Path(path).symlink_to(os.readlink(source))  # noqa: PTH115 - the text as it is
    elif stat.S_ISDIR(status.st_mode):
        Path(path).mkdir()
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def _is_shown(change: Shown, scene: _Scene) -> bool:
    """Whether a path shows just that: the very inode, the same text of a link, no name, the attributes asked for."""
    if isinstance(change, ShownRemoval):
        return not os.path.lexists(change.path)
    found = os.lstat(change.path)
    if isinstance(change, ShownAttributes):
        actual = stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid
        wanted = change.mode, change.uid, change.gid
        return all(want in {None, is_now} for want, is_now in zip(wanted, actual, strict=True))
    source = scene.find(change.hidden)
    if stat.S_ISLNK(os.lstat(source).st_mode):
        return stat.S_ISLNK(found.st_mode) and os.readlink(change.path) == os.readlink(source)  # noqa: PTH115 - as above
    return os.path.samestat(found, os.lstat(source))


def _own(table: MountTable, path: str) -> str:
    """Return the path of the mount on which a path lies."""
    holding = table.holding(path)
    return holding.path if holding is not None else "/"


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _nearest_directory(path: str) -> str:
    """Return the deepest directory above a path that exists.

    Raises:
        NotADirectoryError: something else stands there.
    """
    folder = next(folder for folder in parents(path) if os.path.lexists(folder))
    if not namespaces.is_directory(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    return folder


def _clear(path: str) -> None:
    """Remove what stands at a path of an overlay, if anything does; what that is was looked at on the host."""
    if namespaces.is_directory(path):
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


def _or_keep(wanted: int | None) -> int:
    return -1 if wanted is None else wanted


def _uncovered(folders: Iterable[str], table: MountTable) -> list[str]:
    """Return the folders, outer ones first, without those that an overlay over another one covers.

    An overlay covers the rest of its own file system; what is mounted below it is shown as it was.
    """
    found: list[str] = []
    for folder in sorted(folders):
        own = _own(table, folder)
        if not any(is_below(folder, outer) and (own == outer or is_below(outer, own)) for outer in found):
            found.append(folder)
    return found
