"""What is asked of the objects of a repository, whoever reads them. Protocols only."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from datum.model.revision import CommitInfo, Revision
from datum.model.source import SourceTree


class Objects(Protocol):
    """The objects of one repository and its alternates. Commits are named by their whole ids.

    Every method but `use` and `close` raises `RepositoryError` where an object is missing or damaged.
    """

    @property
    def readers(self) -> int | None:
        """The group that a repository has to be shown to before it is read; None: this process reads it."""
        ...

    def use(self, path: Path) -> None:
        """Read from another repository from now on, or from this one as it is now; trees stay readable."""
        ...

    def close(self) -> None:
        """Give up open files; the next read opens them again."""
        ...

    def kind(self, object_id: str) -> str | None:
        """Return `commit`, `tree`, `blob` or `tag`; None if there is no such object."""
        ...

    def require_commit(self, commit: str) -> None:
        """Make sure that a commit is there and that it is one, or raise as `root_tree` does."""
        ...

    def is_complete(self, commit: str) -> bool:
        """Whether every folder and file of a commit is there. The bytes of files are not read."""
        ...

    def is_descendant(self, commit: str, ancestor: str) -> bool:
        """Whether a commit is another one, or has it in its history. One that is not there is in no history."""
        ...

    def lineage(self, commit: str, oldest: str, limit: int) -> tuple[str, ...]:
        """Return a commit and its first parents down to `oldest`, newest first; at most `limit`."""
        ...

    def describe(self, commit: str) -> CommitInfo:
        """Return what a commit says of itself."""
        ...

    def resolve(self, text: str) -> Revision:
        """Return the commit that a person means, or raise `RevisionNotFoundError`."""
        ...

    def tree(self, revision: Revision) -> SourceTree:
        """Return the files of a revision; a missing or damaged object may also show later, when it is read."""
        ...


OpenObjects: TypeAlias = Callable[[Path], Objects]
"""Opens a repository for reading, or one that is made later."""
