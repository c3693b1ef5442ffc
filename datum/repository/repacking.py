"""The packs of the mirror made one: by git under the account of the source, where there is one.

Effects: writes the mirror, and the work folders it is given; runs git through the doors it is given. What foreign
servers sent is unpacked here, by the program that unpacked it when it was fetched, with no more rights than then.
"""

import heapq
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from datum.errors import RepositoryUnreachableError
from datum.provider.host import Command, HostError, ProgramRunner
from datum.repository.packs import names_of
from datum.repository.route import FETCH_MEMORY, GIT_ENVIRONMENT, confined
from datum.repository.sharing import show
from datum.repository.store import create_store, drop_packs, merge_store, packs_of, remove_store
from datum.repository.transport import repack

if TYPE_CHECKING:
    from datum.repository.account import SourceAccount

_SECONDS: Final = 600.0
# Bytes that a pack may have more than those that it is made of: what was a delta in one may be whole in it.
_MORE: Final = 16 << 20


def repack_mirror(
    run: ProgramRunner, mirror: Path, account: "SourceAccount | None", *, work: Path, aside: Path
) -> bool:
    """Make one pack of the packs of the mirror, whether or not a ref reaches the objects. False: it did not work.

    A kill, a full disk, or an account that gives something else back costs disk space only: no pack is removed before
    one is in the mirror that has all of its names.

    Args:
        run: the door for programs of this process's own, for a host without that account.
        mirror: the store.
        account: who makes the pack; None: this process.
        work: where a store for that account is made, beside the mirror.
        aside: where it is put meanwhile.

    Raises:
        OSError: what is left of the work cannot be removed.
    """
    if account is None:
        return repack(run, mirror, timeout=_SECONDS)
    try:
        return _repack_as(account, mirror, work, aside)
    except (HostError, RepositoryUnreachableError, OSError):
        return False
    finally:
        remove_store(work)
        remove_store(aside)


def _repack_as(account: "SourceAccount", mirror: Path, work: Path, aside: Path) -> bool:
    from datum.repository.account import hand_over, take_pack

    old = packs_of(mirror)
    limit = sum(path.stat().st_size for path in old) + _MORE
    create_store(work, alternate=mirror)
    hand_over(work, mirror, account)
    argv = (
        *(*confined(FETCH_MEMORY, f"--fsize={limit}"), "git", f"--git-dir={work}", "pack-objects"),
        *("--quiet", "--stdin-packs", "--", str(work / "objects/pack/pack")),
    )
    stdin = "".join(f"{pack.name}\n" for pack in old).encode()
    run = account.seeing(writable=[work], readable=[mirror]).run
    run(Command(argv, timeout=_SECONDS, stdin=stdin, environment=GIT_ENVIRONMENT))
    if take_pack(work, account, byte_limit=limit, alternate=None, aside=aside):
        return False
    made = packs_of(work)
    if len(made) != 1 or not _has_all(made[0], old):
        return False
    for path in made[0].parent.iterdir():
        # Who reads the mirror meanwhile finds it when the others are gone.
        show(path, mirror.stat().st_gid)
    merge_store(work, mirror)
    drop_packs(mirror, keep=made[0].name)
    return True


def _has_all(pack: Path, others: Sequence[Path]) -> bool:
    """Whether the index of a pack has each name that those of others have."""
    there = names_of(pack.with_suffix(".idx"))
    last = b""
    with suppress(StopIteration):
        for name in heapq.merge(*(names_of(other.with_suffix(".idx")) for other in others)):
            while last < name:
                last = next(there)
            if last != name:
                return False
        return True
    return False
