"""What a fake host consists of: files, accounts, programs, faults, and a record of what was done. In memory only."""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import define, field, frozen

from datum.host.failures import host_error
from datum.provider.host import Command, CommandOutcome, DirectoryWrite, FileKind, FileWrite, HostError, LinkWrite
from datum.provider.manager import MountEntry
from datum.provider.paths import is_below, parents
from datum.testing.units import FakeUnits

OTHERS_WRITE: Final = 0o022
STICKY: Final = 0o1000


def system_error(number: int, path: str, doing: str = "look at") -> HostError:
    """Return the error that the real host makes of a system call's `errno`.

    Args:
        number: such as `errno.EIO`.
        path: what it concerns.
        doing: the verb of the sentence.
    """
    return host_error(OSError(number, ""), doing, path)


@define
class FakeFile:
    """What stands at one path."""

    kind: FileKind = FileKind.REGULAR
    # Four octal digits.
    mode: str = "0644"
    uid: int = 0
    gid: int = 0
    data: bytes = b""
    links: int = 1
    is_mount_point: bool = False
    # EPERM for every change, as with `chattr +i`.
    is_immutable: bool = False
    # Text of a symbolic link.
    link: str = ""
    # Nanoseconds since the epoch.
    modified: int = 0


@frozen
class JournalEntry:
    """One change that was done, or tried: a call of a method of `HostWriter` that reached the host."""

    method: str
    # Path, or the joined argv of a program.
    subject: str
    # What `write_file`, `write_link` or `make_directory` was given.
    wanted: FileWrite | LinkWrite | DirectoryWrite | None = None
    # What `set_attributes` was given, only what was not None.
    attributes: Mapping[str, str | int] = field(factory=dict)
    # What `remove_directory` was given.
    takes: tuple[str, ...] = ()
    # As whom a program ran; empty: as the caller.
    user: str = ""
    # `Command.scope` of a program.
    scope: str = ""
    # What `mark` was given, sorted.
    marks: tuple[str, ...] = ()
    # What `set_kernel_value` was given.
    value: bytes = b""


@define
class Fault:
    """One thing that goes wrong."""

    error: BaseException
    # `*` is any.
    method: str = "*"
    subject: str = "*"
    # How many calls that match go well before.
    skip: int = 0
    # How many calls go wrong; None is every one.
    times: int | None = None
    # The method does its work first, and raises then.
    after: bool = False

    def hits(self, method: str, subject: str, *, after: bool) -> bool:
        """Whether this call goes wrong; counts it."""
        if self.after is not after or self.times == 0:
            return False
        if self.method not in {"*", method} or self.subject not in {"*", subject}:
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


# Judges a candidate: argv (with its path put in) and bytes; the complaint, or empty when it passes.
Check = Callable[[tuple[str, ...], bytes], str]
# Answers one command line.
Answer = Callable[["FakeWorld"], CommandOutcome]
# Plays a program: it may look at all that it was given, and change the world.
Player = Callable[["FakeWorld", Command], CommandOutcome]
# What happens when a program that ran in a scope ends.
Ending = Callable[["FakeWorld"], None]


@define
class FakeKey:
    """One file below /proc/sys."""

    # As it is read, newline included.
    data: bytes
    # What a write makes of it: what is read afterwards, or the `errno` of a refusal. None: the value with a newline.
    writes: Callable[[bytes], bytes | int] | None = None
    # EACCES for every look, as with a key of mode 0200.
    is_write_only: bool = False
    # EROFS for every write, as with /proc/sys in a container.
    is_read_only: bool = False


@define
class FakeWorld:
    """The host itself; readers and writers look at one of these."""

    files: dict[str, FakeFile] = field(factory=dict)
    # Paths beside which a leftover of a killed write stands.
    residues: set[str] = field(factory=set)
    # Directory to the fields that the file system mounted there cannot hold.
    without: dict[str, frozenset[str]] = field(factory=dict)
    # Well-known links that the host normalises: `/var/run` to `/run`.
    aliases: dict[str, str] = field(factory=dict)
    users: dict[str, int] = field(factory=dict)
    groups: dict[str, int] = field(factory=dict)
    # Path to the package that owns it.
    packages: dict[str, str] = field(factory=dict)
    blobs: dict[str, bytes] = field(factory=dict)
    queries: dict[tuple[str, ...], Answer] = field(factory=dict)
    programs: dict[tuple[str, ...], Answer] = field(factory=dict)
    # Programs that are played, by the last component of the first of argv: those that only ask, and those that do.
    asking_players: dict[str, Player] = field(factory=dict)
    players: dict[str, Player] = field(factory=dict)
    # The service manager, its units included.
    manager: FakeUnits = field(factory=FakeUnits)
    # Keys of the kernel by absolute path.
    kernel: dict[str, FakeKey] = field(factory=dict)
    # What is mounted, in the order of mounting.
    mounts: list[MountEntry] = field(factory=list)
    # Scopes that are alive, and what happens at their end; None: they do not end while somebody waits.
    scopes: dict[str, Ending | None] = field(factory=dict)
    # Keys that `once` was asked for in this pass.
    asked: set[str] = field(factory=set)
    # By the program's name, first of argv.
    checks: dict[str, Check] = field(factory=dict)
    faults: list[Fault] = field(factory=list)
    journal: list[JournalEntry] = field(factory=list)
    # Every call of every method, with its subject.
    calls: list[tuple[str, str]] = field(factory=list)

    def real(self, path: str) -> str:
        """Return a path with the well-known links in it followed."""
        for link, place in self.aliases.items():
            if is_below(path, link):
                return place + path[len(link) :]
        return path

    def add(self, path: str, file: FakeFile) -> None:
        """Put something at a path, and directories above it where there are none."""
        for folder in reversed(parents(path)[:-1]):
            self.files.setdefault(folder, FakeFile(FileKind.DIRECTORY, "0755"))
        self.files[path] = file

    def is_mount_point(self, path: str) -> bool:
        """Whether something is mounted on a path without well-known links."""
        found = self.files.get(path)
        return (found is not None and found.is_mount_point) or any(entry.point == path for entry in self.mounts)

    def below(self, path: str) -> list[str]:
        """Return all that lies below a path without well-known links, sorted."""
        return sorted(other for other in self.files if other != path and is_below(other, path))

    def remove(self, path: str) -> None:
        """Let nothing stand at a path and below it, no leftovers neither."""
        self.residues -= {other for other in self.residues if is_below(other, path)}
        for gone in (*self.below(path), path):
            self.files.pop(gone, None)

    def enter(self, method: str, subject: str) -> None:
        """Record a call; raise what shall go wrong before its work."""
        self.calls.append((method, subject))
        self._raise(method, subject, after=False)

    def leave(self, method: str, subject: str) -> None:
        """Raise what shall go wrong after its work."""
        self._raise(method, subject, after=True)

    def _raise(self, method: str, subject: str, *, after: bool) -> None:
        for fault in self.faults:
            if fault.hits(method, subject, after=after):
                raise fault.error
