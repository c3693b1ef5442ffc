"""The host's copy of the fleet repository: `mirror.git`, and `quarantine` for what is not accepted yet.

Effects: writes below the given folder, or below `temporary` alone; runs git through the given door. Without
`temporary` the caller holds the pass lock: what a dead process left is swept when the mirror is opened. Objects come
before the refs that name them, and refs are dropped last, so a kill at any instant costs time only.
"""

import contextlib
import functools
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from attrs import evolve

from datum.diagnostics import Diagnostic
from datum.errors import InternalError, RepositoryError, RepositoryUnreachableError, RevisionNotFoundError
from datum.model.revision import CommitInfo, Revision
from datum.model.source import SourceTree
from datum.provider.host import ProgramRunner
from datum.repository import store
from datum.repository.remote import Remote, Transport
from datum.repository.route import Download
from datum.repository.sharing import borrowed
from datum.repository.store import state_errors
from datum.repository.transport import INCOMING, ask_remote, fetch_commit

if TYPE_CHECKING:
    # Importing pygit2 costs more than a poll that finds nothing new.
    from datum.repository.account import SourceAccount
    from datum.repository.blob import OpenOutput
    from datum.repository.reading import Objects, OpenObjects

MAX_PACKS: Final = 20
"""With more packs than this the mirror is repacked (design 3.1)."""

ADVICE: Final = "The next pass that reaches the remote fetches the revision anew; nothing has to be done by hand."
"""What a person can do when an object of a mirror is missing or damaged."""


class Mirror:
    """Asks the remote, fetches into quarantine, promotes, and reads revisions. Use as a context manager.

    What is fetched is readable at once. Trees stay readable until the mirror is closed, also across `promote`.
    """

    def __init__(
        self,
        folder: Path,
        run: ProgramRunner,
        *,
        open_output: "OpenOutput | None" = None,
        temporary: Path | None = None,
        account: "SourceAccount | None" = None,
        open_objects: "OpenObjects | None" = None,
    ) -> None:
        self._run = run
        self._account = account
        self._open_objects = open_objects
        self._is_account_checked = False
        self._open_output = open_output
        self._is_temporary = temporary is not None
        self._mirror = folder / "mirror.git"
        self._aside = folder / "mirror.old"
        self._quarantine = (temporary or folder) / "quarantine"
        # Where a quarantine that the account wrote is put while a pack is taken from it.
        self._taken = (temporary or folder) / "quarantine.old"
        # The quarantine holds what this object fetched.
        self._has_fetched = False
        # Nothing of the mirror is built upon any more; the next `promote` replaces it.
        self._is_reset = False

    @classmethod
    def open(
        cls,
        folder: Path,
        run: ProgramRunner,
        *,
        open_output: "OpenOutput | None" = None,
        temporary: Path | None = None,
        account: "SourceAccount | None" = None,
        open_objects: "OpenObjects | None" = None,
    ) -> Self:
        """Return the mirror of a state directory; it is made by the first `promote`.

        Args:
            folder: the state directory.
            run: the door for programs.
            open_output: the door for those with large output; without it large files are read whole.
            temporary: the caller's folder for all that is written; in `folder` nothing changes then, not even rights.
            account: under which foreign servers are talked to; None: under this process's own.
            open_objects: how objects are read; None: by this process, with `open_output`.

        Raises:
            StateError: what a dead process left cannot be removed; or the temporary folder takes no copy.
        """
        mirror = cls(
            folder, run, open_output=open_output, temporary=temporary, account=account, open_objects=open_objects
        )
        if temporary is None:
            mirror._settle()
        else:
            mirror._borrow(temporary)
        return mirror

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def ask(self, remote: Remote, ref: str, *, timeout: float) -> Revision:
        """Return the revision that a ref of the remote names. See `transport.ask_remote`."""
        account = self._account_for(remote)
        return ask_remote(account.run if account else self._run, remote, ref, timeout=timeout, reader=account)

    def fetch(
        self,
        remote: Remote,
        ref: str,
        revision: Revision,
        *,
        timeout: float,
        byte_limit: int,
        also: Iterable[Revision] = (),
    ) -> None:
        """Fetch a revision that `ask` gave, whole, into quarantine. A damaged mirror is not built upon.

        Args:
            remote: where from.
            ref: for messages.
            revision: what to fetch, wherever the ref stands now.
            timeout: seconds, for all that is tried.
            byte_limit: bytes that the fetched pack may have.
            also: revisions to be had together with it if the remote has all of them; else none of them is.

        Raises:
            RepositoryUnreachableError: see `transport.fetch_commit`.
            RevisionNotFoundError: what the ref names is no commit.
            StateError: the quarantine cannot be written.
        """
        download = Download(remote, ref, revision.commit, timeout, byte_limit, end=time.monotonic() + timeout)
        more = tuple(one.commit for one in also if one != revision)
        if more:
            with contextlib.suppress(RepositoryUnreachableError):
                self._fetch(evolve(download, also=more))
                return
        self._fetch(download)

    def _fetch(self, download: Download) -> None:
        self.discard()
        if not self.is_sound(map(Revision, self._kept())):
            self.reset()
        try:
            self._download(download)
        except RepositoryUnreachableError as error:
            if self._is_reset or error.diagnostics[0].code != "fetch-failed":
                raise
            # What came may build on bytes of the mirror that are damaged, which `is_sound` does not read.
            self.reset()
            self._download(download)
        try:
            self._objects.require_commit(download.commit)
        except RepositoryError:
            self.discard()
            raise

    def promote(self, revision: Revision) -> None:
        """Move what was fetched into the mirror and keep the revision there; `keep` later decides anew.

        Done again after a kill it does the rest; without a fetch before it only keeps the revision.

        Raises:
            RepositoryError: the revision is neither fetched nor in the mirror.
            StateError: the mirror cannot be written.
        """
        self._require_lasting()
        # A ref to what is not there would spoil the mirror.
        self._objects.require_commit(revision.commit)
        with state_errors(self._mirror):
            if self._has_fetched and (self._is_reset or not store.is_store(self._mirror)):
                store.keep_commits(self._quarantine, [revision.commit])
                (self._quarantine / INCOMING).unlink()
                self._close()
                store.replace_store(self._quarantine, self._mirror, aside=self._aside)
            elif self._has_fetched:
                store.merge_store(self._quarantine, self._mirror)
            self._has_fetched = self._is_reset = False
            self._reopen()
            store.keep_commits(self._mirror, [revision.commit])
            store.remove_store(self._quarantine)
            if store.pack_count(self._mirror) > MAX_PACKS:
                from datum.repository.repacking import repack_mirror  # One that fails is tried again.

                repack_mirror(self._run, self._mirror, self._account, work=self._quarantine, aside=self._taken)
                self._reopen()

    def discard(self) -> None:
        """Drop what was fetched and not promoted, and close files."""
        self._close()
        if self._has_fetched:
            self._has_fetched = False
            with state_errors(self._quarantine):
                store.remove_store(self._quarantine)
        self._reopen()

    def keep(self, revisions: Iterable[Revision]) -> None:
        """Hold on to exactly these revisions, as far as the mirror has them; equal sets write nothing.

        Raises:
            StateError: the mirror cannot be written.
        """
        self._require_lasting()
        if not store.is_store(self._mirror):
            return
        wanted = {revision.commit for revision in revisions}
        kept = self._kept()
        # git refuses to repack a store with a ref to what is not there.
        present = wanted & kept | {commit for commit in wanted - kept if self.has(Revision(commit))}
        with state_errors(self._mirror):
            store.keep_commits(self._mirror, present)
            store.release_commits(self._mirror, kept - present)

    def _kept(self) -> frozenset[str]:
        with state_errors(self._mirror):
            return store.kept_commits(self._mirror)

    def reset(self) -> None:
        """Build on nothing of the mirror: the next fetch gets everything, and its promotion replaces the mirror.

        Until then the old mirror stays and is read, in case the remote cannot be reached.
        """
        self.discard()
        self._is_reset = True

    def is_sound(self, revisions: Iterable[Revision]) -> bool:
        """Whether the mirror has these revisions with every folder and file. The bytes of files are not read."""
        try:
            return all(self._objects.is_complete(revision.commit) for revision in revisions)
        except RepositoryError:
            return False

    def has(self, revision: Revision) -> bool:
        """Whether this commit is in the mirror, even one that was reset, or was fetched."""
        if not self._has_fetched and not store.is_store(self._mirror):
            return False
        try:
            return self._objects.kind(revision.commit) == "commit"
        except RepositoryError:
            return False

    def is_descendant(self, revision: Revision, ancestor: Revision) -> bool:
        """Whether a revision is the other one or has it in its history.

        Raises:
            RepositoryError: the revision or a part of its history is missing or damaged.
        """
        return self._objects.is_descendant(revision.commit, ancestor.commit)

    def tree(self, revision: Revision) -> SourceTree:
        """Return the files of a revision; a missing or damaged object may also show later, when it is read.

        Raises:
            RepositoryError: the commit is missing or damaged.
        """
        return self._objects.tree(revision)

    def resolve(self, rev_text: str) -> Revision:
        """Return the commit that a person means by `main@sha1:<hex>`, or a whole or abbreviated commit id.

        Raises:
            RevisionNotFoundError: no commit, or several, have that name.
            RepositoryError: the mirror is damaged.
        """
        if not self._has_fetched and not store.is_store(self._mirror):
            raise RevisionNotFoundError(
                Diagnostic(
                    code="revision-missing",
                    summary="There is no such revision.",
                    detail=f"'{rev_text}' cannot be known: nothing was fetched into {self._mirror.parent} yet.",
                    hint="Run datum plan without --offline once.",
                )
            )
        return self._objects.resolve(rev_text)

    def lineage(self, revision: Revision, oldest: Revision, *, limit: int) -> tuple[Revision, ...]:
        """Return a revision and its first parents down to the oldest, newest first; at most `limit`.

        Raises:
            RepositoryError: the revision is missing or damaged.
        """
        return tuple(Revision(commit) for commit in self._objects.lineage(revision.commit, oldest.commit, limit))

    def describe(self, revision: Revision) -> CommitInfo:
        """Return what a revision says of itself.

        Raises:
            RepositoryError: the commit is missing or damaged.
        """
        return self._objects.describe(revision.commit)

    @functools.cached_property
    def _objects(self) -> "Objects":
        if self._open_objects is not None:
            return self._open_objects(self._place)
        from datum.repository.objects import ObjectReader

        return ObjectReader(self._place, advice=ADVICE, open_output=self._open_output)

    @property
    def _place(self) -> Path:
        return self._quarantine if self._has_fetched else self._mirror

    def _reopen(self) -> None:
        if "_objects" in self.__dict__:
            self._objects.use(self._place)

    def _close(self) -> None:
        if "_objects" in self.__dict__:
            self._objects.close()

    def _download(self, download: Download) -> None:
        if not store.is_store(self._mirror):
            self._is_reset = True
        with state_errors(self._quarantine):
            self._remove_quarantine()
            store.create_store(self._quarantine, alternate=self._alternate)
        try:
            self._fetch_commit(download)
        except BaseException:
            with state_errors(self._quarantine):
                self._remove_quarantine()
            raise
        self._has_fetched = True
        self._reopen()

    def _fetch_commit(self, download: Download) -> None:
        account = self._account_for(download.remote)
        if account is None:
            fetch_commit(self._run, self._quarantine, download)
            return
        from datum.repository.account import hand_over, take_back

        with state_errors(self._quarantine):
            hand_over(self._quarantine, self._mirror, account)
        narrowed = account.talking_to(download.remote, writable=[self._quarantine], readable=[self._mirror])
        fetch_commit(narrowed.run, self._quarantine, download, reader=account)
        with state_errors(self._quarantine):
            take_back(self._quarantine, account, download, alternate=self._alternate, aside=self._taken)

    def _account_for(self, remote: Remote) -> "SourceAccount | None":
        """Return whom a remote is talked to as: a path on this host may be one that only this process can read."""
        if remote.transport is Transport.FILE or self._account is None:
            return None
        if not self._is_account_checked:
            from datum.repository.account import check_needed

            check_needed(self._account)
            self._is_account_checked = True
        return self._account.talking_to(remote)

    def _remove_quarantine(self) -> None:
        store.remove_store(self._quarantine)
        store.remove_store(self._taken)

    @property
    def _alternate(self) -> Path | None:
        return None if self._is_reset else self._mirror

    def _settle(self) -> None:
        with state_errors(self._mirror):
            self._remove_quarantine()
            store.restore_store(self._mirror, aside=self._aside)
            store.sweep_store(self._mirror)

    def _borrow(self, temporary: Path) -> None:
        """Build upon a copy where those who are to read the mirror may not: letting them in would be a trace."""
        if not store.is_store(self._mirror):
            return
        readers = self._account.readership if self._account else self._objects.readers
        if readers is not None:
            self._mirror = borrowed(self._mirror, temporary, readers)
            self._reopen()

    def _require_lasting(self) -> None:
        if self._is_temporary:
            raise InternalError(
                Diagnostic(
                    code="internal-error",
                    summary="This is a bug in datum.",
                    detail="A command that leaves no trace tried to write the mirror.",
                    hint="Report it.",
                )
            )
