"""Clearing the leftover of a killed write: what still has the name that a new file, link or directory has before its
rename, or that what it replaced has until it is removed.
"""

import os
import stat
from collections.abc import Collection

from datum.host.failures import unsafe_path
from datum.host.identity import acting_as
from datum.host.place import Place
from datum.host.trees import Removal, Survey, Tree, check_taken
from datum.provider.host import HostError


def check_leftover(place: Place, name: str, owners: Collection[int]) -> None:
    """See that what has the name beside a place is a leftover that may be cleared.

    Raises:
        OSError: it cannot be looked at.
        HostError: it is something else, which nobody may remove unasked.
    """
    _leftover(place, name, owners)


def remove_leftover(place: Place, name: str, owners: Collection[int]) -> None:
    """Remove a leftover beside a place.

    A file or link has to belong to one of the owners and have one link; so does an empty directory. A directory that
    holds something goes, with all that it holds, only where nobody but root and the caller makes names and it is
    theirs; never where something is mounted in it.

    Raises:
        OSError: it cannot be removed.
        HostError: it is no leftover; or the directory cannot be removed.
    """
    tree = _leftover(place, name, owners)
    if tree is not None:
        where = path_beside(place, name)
        Removal(tree, where, is_root=not place.caller[0]).remove(place.folder.fd, name, place.actor)
        return
    with acting_as(place.actor):
        os.unlink(name, dir_fd=place.folder.fd)


def survey_beside(place: Place, name: str) -> Tree | None:
    """Look at all that lies in the directory of this name in a place's folder; None if there is none.

    Raises:
        HostError: it cannot be looked at.
    """
    normal = "/".join((place.folder.path.rstrip("/"), name))
    return Survey(path_beside(place, name), normal, place.mounts, place.makers).look(place.folder.fd, name)


def _leftover(place: Place, name: str, owners: Collection[int]) -> Tree | None:
    """Return what lies in a leftover that is a directory."""
    status = os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False)
    tree: Tree | None = None
    if stat.S_ISDIR(status.st_mode):
        tree = survey_beside(place, name)
        is_ours = tree is not None and (
            (status.st_uid in owners and not tree.entries and not tree.leftovers)
            or (status.st_uid in place.makers and not place.folder.is_exposed)
        )
    else:
        is_kind = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
        # what was put in place before it was judged has its place, too (see `checked`)
        is_alone = status.st_nlink == 1 or (place.existing is not None and os.path.samestat(status, place.existing))
        is_ours = is_kind and status.st_uid in owners and is_alone
    if not is_ours:
        raise _no_leftover(place, name, status)
    if tree is not None:
        check_taken(tree, path_beside(place, name), None)
    return tree


def path_beside(place: Place, name: str) -> str:
    """Return the path of a name in a place's folder, for people."""
    return f"{place.path.rpartition('/')[0]}/{name}"


def _no_leftover(place: Place, name: str, status: os.stat_result) -> HostError:
    where = path_beside(place, name)
    return unsafe_path(
        f"'{where}' has the name that something new needs before it is renamed, and is no leftover of such a write: "
        f"{stat.filemode(status.st_mode)}, uid {status.st_uid}, {status.st_nlink} links.",
        hint=f"look at it, then remove '{where}'",
    )
