"""What a provider may do to a host: read (`HostReader`) and write (`HostWriter`). Protocols and values only.

Paths are absolute, lexically normal, and below the root of the pass: with `--root DIR` the path `/etc/motd`
means `DIR/etc/motd`, and no provider can tell. No method follows a symbolic link in any component, except
well-known root-owned links that the host normalises first (`/var/run`, `/lib`; design 4.7).
"""

import enum
from collections.abc import Mapping
from typing import BinaryIO, ClassVar, Protocol

from attrs import field, frozen

from datum.diagnostics import Diagnostic
from datum.errors import DatumError, ExitCode
from datum.model.content import Content
from datum.model.observation import Cause, Machine, Scope, Unobservable
from datum.model.result import FailureCause
from datum.provider.manager import ManagerReader, ManagerWriter, MountEntry


class HostError(DatumError):
    """Something could not be read or done on the host; caught per resource."""

    exit_code: ClassVar[ExitCode] = ExitCode.SOFTWARE

    def __init__(  # noqa: PLR0913  # named parts of one diagnostic, each with a default
        self,
        detail: str,
        *,
        code: str = "host-error",
        cause: Cause = Cause.OTHER,
        failure: FailureCause = FailureCause.OTHER,
        hint: str = "",
        discounted: bool = False,
        summary: str = "The host refused.",
    ) -> None:
        """Describe one failure.

        Args:
            detail: full sentence with the path or program and the system's own words.
            code: kebab-case code of the diagnostic.
            cause: why, when this happened while observing.
            failure: why, when this happened while applying.
            hint: what a person can do about it.
            discounted: see `Unobservable.discounted`.
            summary: fixed text of the code.
        """
        super().__init__(Diagnostic(code=code, summary=summary, detail=detail, hint=hint))
        self.detail = detail
        self.cause = cause
        self.failure = failure
        self.discounted = discounted

    def unobservable(self) -> Unobservable:
        """Return this failure as an answer of `observe`."""
        scope = Scope.HOST if self.cause.is_sickness and not self.discounted else Scope.RESOURCE
        return Unobservable(self.cause, self.detail, scope=scope, discounted=self.discounted)


class FileKind(enum.StrEnum):
    """What stands at a path."""

    REGULAR = "regular"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    BLOCK_DEVICE = "block_device"
    CHARACTER_DEVICE = "character_device"


@frozen
class Exposure:
    """A directory on the way to a path through which somebody else could turn a write elsewhere (design 4.7)."""

    folder: str
    # What is wrong with it, as a predicate: `is writable by everybody`.
    why: str
    # What a person can do about it.
    hint: str
    # Uid of its owner, whose own things may be written below it all the same; None: nobody's may.
    owner: int | None = None

    def sentence(self, path: str) -> str:
        """Return what is wrong, said of a path below it."""
        return f"'{self.folder}', on the way to '{path}', {self.why}."


@frozen
class FileFacts:
    """What one look at a path found."""

    kind: FileKind
    # Four octal digits, setuid, setgid and sticky included: `0644`, `4755`.
    mode: str
    uid: int
    gid: int
    # Bytes.
    size: int
    # Object id git would give the bytes; empty unless asked for, or not a regular file.
    blob: str = ""
    links: int = 1
    # Something is mounted on this very path.
    is_mount_point: bool = False
    # A leftover of a killed write stands beside it (design 4.7).
    has_residue: bool = False
    # Device and inode, `8:1/1234`; empty when the file has other links.
    identity: str = ""
    # Fields that this file system cannot hold (`owner`, `mode`), as on vfat.
    without: frozenset[str] = frozenset()
    # Text of a symbolic link, as it stands there; empty for anything else.
    link: str = ""
    # Time of the last change of its bytes, nanoseconds since the epoch.
    modified: int = 0
    # What keeps anything from being written at the path, from the root down.
    exposures: tuple[Exposure, ...] = ()


@frozen
class Below:
    """What lies in a directory, however deep, on its own file system and on those mounted in it."""

    # Absolute, sorted; what is mounted on is named, and nothing in it.
    paths: tuple[str, ...] = ()
    # The directory itself and paths below it on which something is mounted.
    mounts: tuple[str, ...] = ()
    # Leftovers of killed writes that may be removed unasked: they go with their directory, and are none of `paths`.
    leftovers: tuple[str, ...] = ()


@frozen
class Missing:
    """Nothing stands at a path."""

    # The topmost component of the path that does not exist; the path itself when its directory does.
    first: str
    has_residue: bool = False
    # As `FileFacts.exposures`, of the directories that are there.
    exposures: tuple[Exposure, ...] = ()


@frozen
class Command:
    """A program and its arguments; never a shell string."""

    argv: tuple[str, ...]
    # Seconds; the program and what it started are killed then.
    timeout: float
    stdin: bytes = b""
    # Added to the fixed environment (PATH, LC_ALL=C.UTF-8, HOME).
    environment: Mapping[str, str] = field(factory=dict)
    # Exit codes that count as success.
    success: frozenset[int] = frozenset({0})
    directory: str = "/"
    # Name or digits of the user of this root as whom it runs, with that user's groups; empty: as this process.
    user: str = ""
    # A name: it must not end in the middle (dpkg). `HostWriter.run` runs it in a transient scope whose name begins with
    # this one where there is a service manager; it writes its output to a file, and neither the end of this process nor
    # a signal to it ends it; after `timeout` it is still waited for, and a remark says so. A second one of the name is
    # refused while one runs (`scope-in-use`). Empty: an ordinary program.
    scope: str = ""


@frozen
class CommandOutcome:
    """How a program ended. Output is cut after a bound, which `is_cut` says."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    is_cut: bool = False


class ProgramRunner(Protocol):
    """The door through which programs are run."""

    def __call__(self, command: Command) -> CommandOutcome:
        """Run it to its end.

        Raises:
            HostError: it could not be started, ran too long, or ended with an exit code that is no success.
        """
        ...


@frozen
class FileWrite:
    """One regular file as it shall stand at its path."""

    content: Content
    # Four octal digits. None: as the file it replaces, else 0644.
    mode: str | None = None
    # Numeric. None: as the file it replaces, else the caller.
    uid: int | None = None
    gid: int | None = None
    # Program that sees the candidate at its path before the host does (design 4.2); `{path}` is replaced.
    validate: tuple[str, ...] = ()
    # Seconds.
    validate_timeout: float = 60.0
    # What of another kind stands there gives way, together with exactly these paths below it. None: it is refused.
    takes: tuple[str, ...] | None = None


@frozen
class LinkWrite:
    """One symbolic link as it shall stand at its path."""

    # Its text, unresolved; what it leads to need not exist.
    target: str
    # Numeric. None: the caller.
    uid: int | None = None
    gid: int | None = None
    # As `FileWrite.takes`.
    takes: tuple[str, ...] | None = None


@frozen
class DirectoryWrite:
    """One directory that is not there yet."""

    # Four octal digits. None: 0755.
    mode: str | None = None
    # Numeric. None: the caller.
    uid: int | None = None
    gid: int | None = None
    # Something of another kind stands there and gives way. False: it is refused.
    replaces: bool = False


class HostReader(Protocol):
    """Looking. Every method raises `HostError` for what cannot be looked at, and never changes the host."""

    @property
    def is_running_system(self) -> bool:
        """Whether the root is that of the running system (no `--root`)."""
        ...

    @property
    def caller(self) -> tuple[int, int]:
        """The uid and gid of this process: the owner of files that declare none."""
        ...

    def examine(self, path: str, *, blob: str = "") -> FileFacts | Missing:
        """Look at a path without following a link; `blob`: `sha1` or `sha256` to hash a regular file's bytes."""
        ...

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return at most `limit` bytes of a regular file."""
        ...

    def list_directory(self, path: str, *, leftovers: bool = False) -> tuple[str, ...]:
        """Return the names in a directory, sorted, without leftovers of killed writes; `leftovers`: only theirs."""
        ...

    def below(self, path: str, *, limit: int) -> Below:
        """Return all that lies in a directory; nothing if there is no directory. Never looks into a mount.

        Raises:
            HostError: `too-many-entries`: there are more than `limit`; or it cannot be looked at.
        """
        ...

    def user_id(self, name: str) -> int | None:
        """Return the uid of a user of this root, None if there is none of that name."""
        ...

    def group_id(self, name: str) -> int | None:
        """Return the gid of a group of this root, None if there is none of that name."""
        ...

    def user_name(self, uid: int) -> str:
        """Return the name of a uid of this root, or its digits."""
        ...

    def group_name(self, gid: int) -> str:
        """Return the name of a gid of this root, or its digits."""
        ...

    def package_of(self, path: str) -> str | None:
        """Return the name of the installed package that owns a path, from dpkg's file lists and diversions."""
        ...

    def machine(self) -> Machine:
        """Return what this machine is."""
        ...

    def query(self, command: Command) -> CommandOutcome:
        """Run a program that only asks; it runs with everything read-only where the system allows that."""
        ...

    def manager(self) -> ManagerReader | None:
        """Return the service manager of the running system; None where there is none, as below another root."""
        ...

    def kernel_value(self, path: str) -> bytes | None:
        """Return what stands in a file below /proc/sys, None if the kernel has no such key.

        Raises:
            HostError: it cannot be read, as a key that can only be written (cause `denied`).
        """
        ...

    def mount_entries(self) -> tuple[MountEntry, ...]:
        """Return what is mounted on the running system, in the order of mounting; nothing below another root."""
        ...

    def await_scope(self, name: str, seconds: float) -> bool:
        """Wait until no program runs in a scope of this name (`Command.scope`), at most so long; return whether that is
        so. What a program left behind is not waited for.
        """
        ...

    def once(self, key: str) -> bool:
        """Return True the first time that a key is asked for in this pass, by whatever reader or writer of it.

        For what costs too much to be tried twice in a pass, as fetching lists from an archive that is out of reach:
        who gets True does it, and nobody tries again, whatever became of it. Nothing of this outlives the pass. A key
        begins with the name of the type that asks: `package.update`.
        """
        ...


class HostWriter(HostReader, Protocol):
    """Doing. Every method is one conditional, atomic, synced change, or raises `HostError` and left nothing."""

    def write_file(self, path: str, wanted: FileWrite) -> None:
        """Create or replace a regular file (design 4.7); its directory must exist."""
        ...

    def write_link(self, path: str, wanted: LinkWrite) -> None:
        """Create a symbolic link, or point an existing one elsewhere, in one rename; its directory must exist."""
        ...

    def make_directory(self, path: str, wanted: DirectoryWrite) -> None:
        """Create a directory, with owner and mode before it has its name; its directory must exist."""
        ...

    def set_attributes(
        self,
        path: str,
        *,
        mode: str | None = None,
        uid: int | None = None,
        gid: int | None = None,
        from_anybody: bool = False,
    ) -> None:
        """Change owner, then mode, of what stands at the path, without rewriting it.

        Args:
            path: where.
            mode: four octal digits, None: as it is.
            uid: likewise.
            gid: likewise.
            from_anybody: whether it may be a file that another user placed where others make names, under one name
                and where no sticky bit is: its bytes are nobody's promise, and who has it open may go on writing.
        """
        ...

    def remove_file(self, path: str) -> None:
        """Unlink what stands at the path, anything but a directory, and a leftover beside it."""
        ...

    def remove_directory(self, path: str, *, takes: tuple[str, ...] = ()) -> None:
        """Remove a directory and exactly these paths below it, deepest first; what is gone already is no error.

        Raises:
            HostError: `directory-not-empty`: something else lies in it; or something is mounted there.
        """
        ...

    def remove_residue(self, path: str) -> None:
        """Unlink the leftover of a killed write beside the path."""
        ...

    def run(self, command: Command) -> CommandOutcome:
        """Run a program that may change anything."""
        ...

    def manager(self) -> ManagerWriter | None:
        """Return the service manager of the running system; None where there is none."""
        ...

    def set_kernel_value(self, path: str, value: bytes) -> None:
        """Write to a file below /proc/sys, in one write.

        Raises:
            HostError: the kernel has no such key, or refused the value.
        """
        ...

    def open_content(self, content: Content) -> BinaryIO:
        """Return a stream over the bytes that a `Content` names."""
        ...

    def remark(self, text: str) -> None:
        """Add a remark to the result of the action in hand, such as `not_atomic`."""
        ...
