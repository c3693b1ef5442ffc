"""What no resource may touch: the state directory, the agent's configuration and trust (design 3.4, ADR 0010).

A path is told by its spelling, and what it leads to by device and inode, so that links and bind mounts do not help.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import frozen

from datum.host.walk import Trail
from datum.provider.host import HostError
from datum.provider.paths import is_below

_Identity: TypeAlias = "tuple[int, int]"


@frozen
class Protection:
    """The protected paths of one root."""

    # As seen below the root, every spelling.
    _paths: tuple[str, ...]
    # Where they are on this machine.
    _places: tuple[str, ...]

    @classmethod
    def of(cls, paths: tuple[str, ...], root: str) -> "Protection":
        """Protect these paths.

        Args:
            paths: absolute. Each counts as a path of this machine and as a path below the root: with `--root` the
                state lies below it, and naming it either way protects it.
            root: root of the pass.
        """
        base = os.path.realpath(root).rstrip("/")
        places: set[str] = set()
        for path in paths:
            # One that names the root is a path of this machine, and none below the root again.
            for place in (path,) if is_below(path, base or "/") else (path, base + path):
                places.update((os.path.normpath(place), os.path.realpath(place)))
        below = {place[len(base) :] for place in places if place.startswith(base + "/")}
        return cls(tuple(sorted(below | {os.path.normpath(path) for path in paths})), tuple(sorted(places)))

    def check(
        self,
        trail: Trail,
        existing: os.stat_result | None,
        *,
        spelling: Callable[[str], str],
        is_mount_point: Callable[[str], bool],
        takes_name: bool,
    ) -> None:
        """Refuse a write or removal that would reach something protected.

        Args:
            trail: the way to the path.
            existing: what stands at its end.
            spelling: replaces well-known links in a path.
            is_mount_point: whether something is mounted on a path below the root.
            takes_name: whether what stands there would lose its name, which for a parent takes all below along.

        Raises:
            HostError: `protected-path`.
        """
        for path in self._paths:
            normal = spelling(path)
            if is_below(trail.normal, normal) or (takes_name and is_below(normal, trail.normal)):
                raise _refusal(trail.path, path)
        guarded = dict(self._identities())
        for identity in _identities_on(trail, existing):
            if identity in guarded:
                raise _refusal(trail.path, guarded[identity])
        self._check_within(trail, existing, is_mount_point)

    def _check_within(
        self, trail: Trail, existing: os.stat_result | None, is_mount_point: Callable[[str], bool]
    ) -> None:
        """Look inside what is protected, when the path could lead there: through a mount, or by a hard link."""
        mounted = [_identity(folder.status) for folder in trail.folders if is_mount_point(folder.path)]
        may_be_other = existing is not None and (
            is_mount_point(trail.normal) or (existing.st_nlink > 1 and not stat.S_ISDIR(existing.st_mode))
        )
        if existing is not None and may_be_other:
            mounted.append(_identity(existing))
        wanted = set(mounted)
        if not wanted:
            return
        for place, identity in self._contents({device for device, _ in wanted}):
            if identity in wanted:
                raise _refusal(trail.path, place)

    def _identities(self) -> Iterator[tuple[_Identity, str]]:
        # By plain calls: all of them are asked for every change.
        for place in self._places:
            try:
                status = os.lstat(place)
                yield _identity(status), place
                if stat.S_ISLNK(status.st_mode):
                    yield _identity(os.stat(place)), place  # noqa: PTH116
            except OSError:
                continue

    def _contents(self, devices: set[int]) -> Iterator[tuple[str, _Identity]]:
        """Return all that lies in protected directories on these devices."""
        for place in self._places:
            for folder, folders, files in os.walk(place):
                for name in (*folders, *files):
                    path = f"{folder}/{name}"
                    with contextlib.suppress(OSError):
                        identity = _identity(os.lstat(path))
                        if identity[0] in devices:
                            yield path, identity


def _identities_on(trail: Trail, existing: os.stat_result | None) -> Iterator[_Identity]:
    for folder in trail.folders:
        yield _identity(folder.status)
    if existing is not None:
        yield _identity(existing)


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino


def _refusal(path: str, protected: str) -> HostError:
    return HostError(
        f"'{path}' leads to '{protected}', which belongs to the agent itself and is no target of any resource.",
        code="protected-path",
        hint="take the resource out of the manifest; `datum init` and `agent.yaml` configure the agent",
    )
