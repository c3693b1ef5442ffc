"""What readers and writers of one root share: where it is, how it is walked, what has changed in it so far."""

import io
import os
from collections.abc import Callable, Mapping
from typing import BinaryIO

from attrs import define, field

from datum.host.protection import Protection
from datum.host.walk import Walker
from datum.model.content import Content
from datum.provider.host import HostError

OpenContent = Callable[[Content], BinaryIO]


@define
class HostRoot:
    """One root. Not for several threads at once."""

    # `/` for the running system, or the DIR of `--root`.
    path: str
    # Effective uid and gid of this process.
    caller: tuple[int, int]
    walker: Walker
    protection: Protection
    # Gid by path of directories that a resource declares writable for that group.
    shared: Mapping[str, int]
    # Opens bytes that lie in the tree of a revision.
    from_tree: OpenContent | None
    # How often files were changed here, and programs run, which may have mounted or installed something.
    changes: tuple[int, int] = field(default=(0, 0), init=False)

    @classmethod
    def open(
        cls, path: str, protected: tuple[str, ...], from_tree: OpenContent | None, shared: Mapping[str, int]
    ) -> "HostRoot":
        """Open a root.

        Raises:
            HostError: it is no directory, or out of reach.
        """
        caller = os.geteuid(), os.getegid()
        return cls(path, caller, Walker.start(path, caller[0]), Protection.of(protected, path), shared, from_tree)

    @property
    def is_running_system(self) -> bool:
        """Whether this is the root of the running system."""
        return self.path == "/"

    def note_change(self, *, by_program: bool = False) -> None:
        """Make every reader look again at what a change may have touched."""
        files, programs = self.changes
        self.changes = (files + 1, programs + by_program)
        self.walker.forget()

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
