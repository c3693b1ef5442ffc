"""The account under which foreign servers are talked to: it writes the quarantine, reads the mirror, and nothing else.

Effects: owners and modes below the folders it is given; copies what that account fetched; removes all it left.
Holds only if nothing of that account runs any more when its door returns: the door's to promise.
"""

import errno
import os
import re
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, NoReturn, Protocol, Self

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryUnreachableError
from datum.provider.host import Command, HostError, ProgramRunner
from datum.repository.https import HELPER
from datum.repository.packs import pack_fault
from datum.repository.remote import Remote
from datum.repository.route import Download
from datum.repository.sharing import is_passable, show_all
from datum.repository.store import create_store, name_commit, remove_store
from datum.repository.transport import INCOMING

_OWN_FOLDER: Final = 0o700
_OWN_FILE: Final = 0o400
_PACK: Final = re.compile(r"pack-[0-9a-f]{40}\.pack")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What is no regular file must not hang the pass.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_COPY: Final = frozenset({errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF, errno.EPERM})
_CHUNK: Final = 1 << 20
_TEST_SECONDS: Final = 20.0
PROGRAMS: Final = str(Path(__file__).parent)
"""Where the programs of datum's own are that git runs, and their configuration."""
_NEEDED: Final = (("gitconfig", "-r"), (f"git-remote-{HELPER}", "-x"), ("look.py", "-r"))


class Door(Protocol):
    """Gives doors through which programs see as little of this host's files as they can do with."""

    def __call__(self, *, writable: Sequence[str] = (), readable: Sequence[str] = ()) -> ProgramRunner:
        """Return one.

        Args:
            writable: folders that programs may write, as far as their account may.
            readable: files and folders that they need, wherever these lie.
        """


@frozen
class SourceAccount:
    """That account, and the door that runs programs under it: what one started has ended when the door returns."""

    uid: int
    gid: int
    run: ProgramRunner
    # None: programs see the files as this process does.
    door: Door | None = None
    # The group by which the mirror is read, one of the account's; None: the account's own.
    readers: int | None = None

    @property
    def readership(self) -> int:
        """The group by which the mirror is read."""
        return self.gid if self.readers is None else self.readers

    def talking_to(self, remote: Remote, *, writable: Sequence[Path] = (), readable: Sequence[Path] = ()) -> Self:
        """Return the account with a door for what talks to one remote.

        It shows the files that the remote's access names, of secrets those alone which such a program reads itself, and
        the given folders.
        """
        return self.seeing(writable=writable, readable=(*map(Path, remote.read_by_programs), *readable))

    def seeing(self, *, writable: Sequence[Path], readable: Sequence[Path]) -> Self:
        """Return the account with a door that shows the given files and folders, and no secret."""
        if self.door is None:
            return self
        return evolve(self, run=self.door(writable=tuple(map(str, writable)), readable=tuple(map(str, readable))))


def check_needed(account: SourceAccount) -> None:
    """Make sure that the account can read what git is configured by: git goes without what it may not read.

    Raises:
        RepositoryUnreachableError: it cannot; told with the folder or file that is shut.
    """
    for name, right in _NEEDED:
        _require(Path(__file__).with_name(name), right, account)


def check_reach(account: SourceAccount, state: Path) -> None:
    """Make sure that the folders above a state directory let the account pass: a fetch lets it into that one itself.

    Raises:
        RepositoryUnreachableError: one does not.
    """
    above = state.absolute().parent
    while not above.is_dir():
        above = above.parent
    _require(above, "-x", account)


def hand_over(quarantine: Path, mirror: Path, account: SourceAccount) -> None:
    """Let the account write one store, and read another that it builds upon, if that and its folder are there.

    The folders that hold them are made passable, not readable, for everybody, where the account may not pass; those
    above are somebody else's.

    Raises:
        RepositoryUnreachableError: a folder above shuts the account out.
    """
    for parent in {quarantine.parent, mirror.parent}:
        if not parent.exists():
            # A plan before enrolment: there is no state directory yet, and none is made.
            continue
        status = parent.stat()
        if not is_passable(status, account.readership):
            parent.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXOTH)
        _require(parent, "-x", account)
    show_all(mirror, account.readership)
    # Nobody else can enter it until it is given away itself, which is last.
    quarantine.chmod(_OWN_FOLDER)
    for folder, folders, names in os.walk(quarantine, topdown=False):
        for name in (*folders, *names):
            os.chown(Path(folder, name), account.uid, account.gid, follow_symlinks=False)
    os.chown(quarantine, account.uid, account.gid, follow_symlinks=False)


def take_back(
    quarantine: Path, account: SourceAccount, download: Download, *, alternate: Path | None, aside: Path
) -> None:
    """Put a store of this process's own in the place of the quarantine, with a copy of the pack that was fetched.

    Nothing else of it is kept, and no file of the account's: one that it holds open would stay its to write. The ref
    is written anew.

    Args:
        quarantine: what `hand_over` gave.
        account: to whom.
        download: what was to be fetched.
        alternate: the store that the new one builds upon.
        aside: where the old one is put before it is removed; after a failure it may still be there.

    Raises:
        OSError: something cannot be written.
        RepositoryUnreachableError: `fetch-not-taken`: what is there is not what a fetch leaves.
    """
    if fault := take_pack(quarantine, account, byte_limit=download.byte_limit, alternate=alternate, aside=aside):
        _not_taken(download, fault)
    name_commit(quarantine, INCOMING, download.commit)


def take_pack(quarantine: Path, account: SourceAccount, *, byte_limit: int, alternate: Path | None, aside: Path) -> str:
    """Put a store of this process's own in the place of one that was handed over, with a copy of the pack in it.

    For the arguments see `take_back`.

    Returns:
        Why the pack is not taken; empty: it is, or there is none.

    Raises:
        OSError: something cannot be written.
    """
    remove_store(aside)
    os.chown(quarantine, os.geteuid(), os.getegid(), follow_symlinks=False)
    quarantine.chmod(_OWN_FOLDER)
    quarantine.rename(aside)
    create_store(quarantine, alternate=alternate)
    with ExitStack() as stack:
        packs = _open_packs(aside, stack)
        fault = "" if packs is None else _copy_pack(packs, quarantine / "objects/pack", account, byte_limit)
    if not fault:
        remove_store(aside)
    return fault


def _open_packs(store: Path, stack: ExitStack) -> int | None:
    """Open the folder of the packs; None: there is no such folder, by names that are no links."""
    folder: int | None = None
    for name in (str(store), "objects", "pack"):
        try:
            folder = os.open(name, _FOLDER, dir_fd=folder)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                return None
            raise
        stack.callback(os.close, folder)
    return folder


def _copy_pack(packs: int, target: Path, account: SourceAccount, limit: int) -> str:
    """Copy the one pack and its index; return why that is not done."""
    with os.scandir(packs) as entries:
        left = [
            name
            for name in (entry.name for entry in entries)
            if _PACK.fullmatch(name) and _is_fetched(os.stat(name, dir_fd=packs, follow_symlinks=False), account)
        ]
    if not left:
        return ""
    if len(left) > 1:
        return f"it left {len(left)} packs, and git leaves one"
    pack = left[0]
    index = f"{pack.removesuffix('.pack')}.idx"
    for name in (pack, index):
        if not _copy(name, packs, target / name, account, limit):
            return f"{name} is not there, is no file of the account's own, or is too large"
    fault = pack_fault(target / pack, target / index)
    return f"{pack} is no pack as git writes it: {fault}" if fault else ""


def _is_fetched(status: os.stat_result, account: SourceAccount) -> bool:
    # One with another name is somebody else's, too.
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == account.uid


def _copy(name: str, folder: int, target: Path, account: SourceAccount, limit: int) -> bool:
    """Copy a file of the account's into a new one; whether it is one, and within the limit."""
    try:
        source = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ELOOP, errno.ENXIO}:
            return False
        raise
    try:
        status = os.fstat(source)
        if not _is_fetched(status, account) or status.st_size > limit:
            return False
        copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWN_FILE)
        try:
            _copy_bytes(source, copy, status.st_size)
        finally:
            os.close(copy)
    finally:
        os.close(source)
    return True


def _copy_bytes(source: int, target: int, size: int) -> None:
    """Copy that many bytes, or up to the end; the file system may let both share them."""
    while size:
        try:
            count = os.copy_file_range(source, target, size)
        except OSError as error:
            if error.errno not in _NO_COPY:
                raise
            data = os.read(source, min(size, _CHUNK))
            count = len(data)
            while data:
                data = data[os.write(target, data) :]
        if not count:
            return
        size -= count


def _require(path: Path, right: str, account: SourceAccount) -> None:
    """Make sure that the account has a right to a path: one that the modes do not say is asked for, as by an ACL."""
    shut = _shut(path.absolute(), right, account)
    if shut is None:
        return
    with suppress(HostError):
        account.run(Command(("test", right, str(path)), timeout=_TEST_SECONDS))
        return
    what = "enter" if shut.is_dir() else "read" if right == "-r" else "run"
    raise RepositoryUnreachableError(
        Diagnostic(
            code="source-account-shut-out",
            summary="The account of the source is shut out.",
            detail=f"The account (uid {account.uid}) needs {path} and may not {what} {shut}, which has mode "
            f"{stat.S_IMODE(shut.stat().st_mode):04o}.",
            hint=f"chmod o+{'r' if what == 'read' else 'x'} {shut}, or set source.account to root to talk to servers "
            "as root",
        )
    )


def _shut(path: Path, right: str, account: SourceAccount) -> Path | None:
    """Return the folder on the way, or the file, whose mode does not let the account pass; None: all do."""
    way = {*path.parents, *path.resolve().parents}
    for folder in sorted(way, key=lambda each: (len(each.parts), each)):
        if not _allows(folder.stat(), stat.S_IXOTH, account):
            return folder
    return None if _allows(path.stat(), stat.S_IROTH if right == "-r" else stat.S_IXOTH, account) else path


def _allows(status: os.stat_result, right: int, account: SourceAccount) -> bool:
    if status.st_uid == account.uid:
        right <<= 6
    elif status.st_gid in {account.gid, account.readership}:
        right <<= 3
    return bool(status.st_mode & right)


def _not_taken(download: Download, reason: str) -> NoReturn:
    raise RepositoryUnreachableError(
        Diagnostic(
            code="fetch-not-taken",
            summary="What was fetched is not taken.",
            detail=f"Fetching {download.ref} from {download.remote} as the account of the source: {reason}.",
            hint="No fetch of git leaves that: look at what runs as that account, and whether the server can be "
            "trusted.",
        )
    )
