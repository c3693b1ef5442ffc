"""This machine, or an image of one, as the engine gets it: readers and writers of one root."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from datum.host.mounts import MountTable
from datum.host.reader import LocalReader
from datum.host.root import HostRoot, OpenContent

if TYPE_CHECKING:
    from datum.host.slow import SlowReader
    from datum.host.staging import StagingWriter
    from datum.host.writer import LocalWriter

__all__ = ["LocalHost", "LocalReader"]

# Seconds for one look below a network or FUSE mount.
_SLOW_DEADLINE: Final = 10.0
_NONE_SHARED: Final[Mapping[str, str]] = MappingProxyType({})


class LocalHost:
    """One root. Not for several threads at once; `close` it, or use it in a `with` statement."""

    def __init__(
        self,
        root: str = "/",
        protected: tuple[str, ...] = (),
        open_content: OpenContent | None = None,
        *,
        shared: Mapping[str, str] = _NONE_SHARED,
        runs_programs: bool = True,
        asked: set[str] | None = None,
    ) -> None:
        """Open the root.

        Args:
            root: `/` for the running system, or the DIR of `--root`.
            protected: absolute paths of the state directory, the configuration and trust (design 3.4), as paths of
                this machine or below the root.
            open_content: opens bytes that lie in the tree; without it only inline content can be written.
            shared: the group, by name or digits, by path of directories that a resource declares writable for it.
                Names are looked up in this root when a write depends on them.
            runs_programs: whether `query` and `run` run anything.
            asked: the keys that `HostReader.once` was asked for, where a pass opens several hosts; it is added to.
                None: this host is all that the pass opens.

        Raises:
            HostError: the root is no directory, or out of reach.
        """
        self._root: Final = HostRoot.open(root, protected, open_content, shared, runs_programs=runs_programs)
        self._slow: SlowReader | None = None
        self._asked: Final = set() if asked is None else asked
        self._tell: Callable[[str], None] | None = None

    def tell_waiting(self, tell: Callable[[str], None]) -> None:
        """Have `tell` called with the unit of each scope that a look waits for, before that."""
        self._tell = tell

    def heed_stopping(self, is_stopping: Callable[[], bool]) -> None:
        """Have what may take long ask whether the pass was told to end."""
        self._root.is_stopping = is_stopping

    def reader(self) -> LocalReader:
        """Return a reader that has seen nothing yet."""
        self._root.walker.forget()
        reader = LocalReader(self._root, self._slow_reader)
        reader.share_asked(self._asked)
        reader.tell_waiting(self._tell)
        reader.heed_stopping(self._root.is_stopping)
        return reader

    def writer(self) -> "LocalWriter":
        """Return a writer for one action."""
        # A pass with nothing to do has none, and starts the sooner.
        from datum.host.writer import LocalWriter

        writer = LocalWriter(self._root, self._slow_reader, self.staging)
        writer.share_asked(self._asked)
        return writer

    def staging(self) -> "StagingWriter":
        """Return a writer for one set of changes that checks judge before it is made."""
        from datum.host.staging import StagingWriter

        writer = StagingWriter(self._root, self._slow_reader)
        writer.share_asked(self._asked)
        return writer

    def close(self) -> None:
        """Close what is open; readers and writers are of no use then."""
        self._root.walker.close()
        if self._slow is not None:
            self._slow.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _slow_reader(self, mounts: MountTable) -> "SlowReader":
        """Return who looks below network and FUSE mounts; its children, and what it gave up, outlive one reader."""
        if self._slow is None:
            from datum.host.slow import SlowReader

            path, shared = self._root.path, self._root.shared
            # The child closes every descriptor, so it opens the root itself.
            self._slow = SlowReader(lambda: LocalReader(HostRoot.open(path, shared=shared), None), _SLOW_DEADLINE)
            self._root.release = self._slow.close
        self._slow.mount_of = mounts.slow_mount
        return self._slow
