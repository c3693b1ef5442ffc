"""What readers and writers of one root share: where it is, how it is walked, what has changed in it so far."""

import io
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Final

from attrs import Factory, define, field

from datum.host.mounts import MountReader
from datum.host.protection import Protection
from datum.host.walk import Walker
from datum.model.content import Content
from datum.model.observation import Cause
from datum.provider.host import Command, CommandOutcome, HostError

if TYPE_CHECKING:
    from datum.host.names import Account

OpenContent = Callable[[Content], BinaryIO]

_NONE_SHARED: Final[Mapping[str, str]] = MappingProxyType({})


@define
class HostRoot:
    """One root. Not for several threads at once."""

    # `/` for the running system, or the DIR of `--root`.
    path: str
    # Effective uid and gid of this process.
    caller: tuple[int, int]
    walker: Walker
    protection: Protection
    # Group, by name or digits, by path of directories that a resource declares writable for it.
    shared: Mapping[str, str]
    # Opens bytes that lie in the tree of a revision.
    from_tree: OpenContent | None
    # Whether anything is run here; not where the tree is nobody's that is trusted.
    runs_programs: bool = True
    mounts: MountReader = field(default=Factory(lambda self: MountReader(self.path), takes_self=True), init=False)
    # How often files were changed here, and programs run, which may have mounted or installed something.
    changes: tuple[int, int] = field(default=(0, 0), init=False)
    # Ends those who look below network and FUSE mounts, and keep directories open there: they saw what was before a
    # change, and a file system of which something is open cannot be unmounted.
    release: Callable[[], None] = field(default=lambda: None, init=False)
    # Whether the pass was told to end.
    is_stopping: Callable[[], bool] = field(default=lambda: False, init=False)

    @classmethod
    def open(
        cls,
        path: str,
        protected: tuple[str, ...] = (),
        from_tree: OpenContent | None = None,
        shared: Mapping[str, str] = _NONE_SHARED,
        *,
        runs_programs: bool = True,
    ) -> "HostRoot":
        """Open a root.

        Raises:
            HostError: it is no directory, or out of reach.
        """
        caller = os.geteuid(), os.getegid()
        walker, protection = Walker.start(path, caller[0]), Protection.of(protected, path)
        return cls(path, caller, walker, protection, shared, from_tree, runs_programs)

    @property
    def is_running_system(self) -> bool:
        """Whether this is the root of the running system."""
        return self.path == "/"

    def note_change(self, *, by_program: bool = False) -> None:
        """Make every reader look again at what a change may have touched."""
        files, programs = self.changes
        self.changes = (files + 1, programs + by_program)
        self.walker.forget()
        self.release()

    def run(
        self,
        command: Command,
        account: "Callable[[str], Account]",
        *,
        read_only: bool,
        late: Callable[[], None] | None = None,
    ) -> CommandOutcome:
        """Run a program in this root.

        Args:
            command: what to run.
            account: returns the account of a name or digits.
            read_only: see `run_program`; such a program has no scope.
            late: see `run_scoped`.

        Raises:
            HostError: see `run_program`; or no programs are run here.
        """
        if not self.runs_programs:
            raise HostError(
                f"'{command.argv[0]}' was not run: no program is run for a revision that is not trusted.",
                code="programs-not-run",
                cause=Cause.DENIED,
                hint="plan a revision that is signed as the fleet demands",
            )
        from datum.host.program import run_program

        user = account(command.user) if command.user else None
        if not read_only:
            self.walker.forget()
            self.release()
        if not command.scope or read_only:
            return run_program(command, root=self.path, read_only=read_only, account=user)
        from datum.host.scope import run_scoped

        return run_scoped(command, root=self.path, account=user, late=late, is_stopping=self.is_stopping)

    def open_content(self, content: Content) -> BinaryIO:
        """Return a stream over bytes.

        Raises:
            HostError: they lie in the tree of a revision, and none is open.
        """
        if content.inline is not None:
            return io.BytesIO(content.inline)
        if self.from_tree is None:
            raise HostError(f"Object {content.blob} cannot be read: no repository is open.", code="content-unreachable")
        return self.from_tree(content)
