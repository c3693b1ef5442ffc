"""Reads git objects through pygit2, whose own values stay in here. The only module that imports it.

Effects: reads. pygit2 checks the hash of every object it reads; it gets no configuration but the store's own. What is
too large to be held comes as a stream from the git program, which pygit2 has no match for.
"""

import functools
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, cast

import pygit2
from pygit2.enums import ConfigLevel, ObjectType, RepositoryOpenFlag

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryError, RevisionNotFoundError
from datum.model.revision import CommitInfo, Revision
from datum.provider.host import Command, HostError
from datum.repository.blob import OpenOutput, blob_stream
from datum.repository.limits import OBJECT_LIMIT, WHOLE_LIMIT, too_large
from datum.repository.route import GIT_ENVIRONMENT
from datum.repository.tree import GitTree

_ISO: Final = "%Y-%m-%dT%H:%M:%SZ"
# `:/words` and `^{/words}` take any commit that says the words; `:path` reads an index.
_SEARCH: Final = re.compile(r":|\^\{/")
_SHOWN: Final = 80
# Seconds without a byte of a large object: a disk that hangs, or git busy with a long chain of deltas.
_STREAM_SECONDS: Final = 120.0
_FAILURES: Final = (pygit2.GitError, KeyError, ValueError, OSError)


class ObjectReader:
    """The objects of one repository and its alternates; which one can be changed under the trees that read by it."""

    def __init__(self, path: Path, *, advice: str, open_output: OpenOutput | None = None) -> None:
        """Read from a repository.

        Args:
            path: a bare repository, or the top folder of a clone.
            advice: what a person can do when an object is missing or damaged.
            open_output: the door for programs with large output; without it everything is read whole.
        """
        self.path = path
        self._advice = advice
        self._open_output = open_output
        self._repository: pygit2.Repository | None = None

    @property
    def readers(self) -> None:
        """This process reads, whatever groups there are."""
        return None

    def use(self, path: Path) -> None:
        """Read from another repository from now on, or from this one as it is now."""
        self.close()
        self.path = path

    def close(self) -> None:
        """Give up open files; the next read opens them again."""
        if self._repository is not None:
            self._repository.free()
        self._repository = None

    def read(self, object_id: str) -> bytes:
        """Return the bytes of an object without its header.

        Raises:
            FleetError: it is larger than `OBJECT_LIMIT`.
            RepositoryError: it is missing or damaged.
        """
        # A pack of a few kilobytes can say gigabytes of zeros: asked for before it is read.
        size = self.size(object_id)
        if size > OBJECT_LIMIT:
            raise too_large(f"Object {object_id} in {self.path}", size)
        return self._whole(object_id)

    def _whole(self, object_id: str) -> bytes:
        """Return the bytes of an object whose size is known to be no harm."""
        try:
            return bytes(self._open().odb.read(object_id)[1])
        except _FAILURES as error:
            raise self._broken(object_id, error) from error

    def content(self, object_id: str) -> bytes | BinaryIO:
        """Return the bytes of a file; if there are more than `WHOLE_LIMIT`, a stream over them, to be closed.

        Reading from the stream raises `RepositoryError` where the object turns out to be damaged.

        Raises:
            FleetError: it is larger than `OBJECT_LIMIT`, and there is no door for programs.
            RepositoryError: it is missing or damaged.
        """
        size = self.size(object_id)
        if size <= WHOLE_LIMIT:
            return self._whole(object_id)
        if self._open_output is None:
            return self.read(object_id)
        argv = ("git", f"--git-dir={self._open().path}", "cat-file", "blob", object_id)
        try:
            source = self._open_output(Command(argv, _STREAM_SECONDS, environment=GIT_ENVIRONMENT))
        except HostError as error:
            raise self._broken(object_id, error) from error
        return blob_stream(source, object_id, size, lambda words: self._broken(object_id, ValueError(words)))

    def kind(self, object_id: str) -> str | None:
        """Return `commit`, `tree`, `blob` or `tag`; None if there is no such object.

        Raises:
            FleetError: it is no file, and larger than `OBJECT_LIMIT`.
            RepositoryError: it is damaged, or this is no repository.
        """
        repository = self._open()
        try:
            number, size = repository.odb.read_header(object_id)
            if number == ObjectType.BLOB:
                # Of any size, and nobody asks for what is in it.
                return "blob"
            if size > OBJECT_LIMIT:
                raise too_large(f"Object {object_id} in {self.path}", size)
            return str(repository[object_id].type_str)
        except KeyError:
            return None
        except _FAILURES as error:
            raise self._broken(object_id, error) from error

    def root_tree(self, commit: str) -> str:
        """Return the id of the tree of a commit.

        Raises:
            RepositoryError: the commit is missing or damaged.
        """
        return str(self._commit(commit).tree_id)

    def require_commit(self, commit: str) -> None:
        """Make sure that a commit is there, and that it is one.

        Raises:
            RepositoryError: it is missing or damaged.
            RevisionNotFoundError: it is none.
        """
        self._commit(commit)

    def tree(self, revision: Revision) -> GitTree:
        """Return the files of a revision; a missing or damaged object may also show later, when it is read.

        Raises:
            RepositoryError: the commit is missing or damaged.
        """
        return GitTree(revision, self.root_tree(revision.commit), self)

    def is_complete(self, commit: str) -> bool:
        """Whether every folder and file of a commit is there. The bytes of files are not read.

        Raises:
            RepositoryError: the commit or a folder is missing or damaged.
        """
        return not self.lacks(tuple(self.tree(Revision(commit)).files()))

    def size(self, object_id: str) -> int:
        """Return how many bytes an object has.

        Raises:
            RepositoryError: it is missing or damaged.
        """
        try:
            return int(self._open().odb.read_header(object_id)[1])
        except _FAILURES as error:
            raise self._broken(object_id, error) from error

    def lacks(self, object_ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of the objects that are not there. Nothing is read but the indices."""
        database = self._open().odb
        return tuple(object_id for object_id in object_ids if object_id not in database)

    def is_descendant(self, commit: str, ancestor: str) -> bool:
        """Whether a commit is another one, or has it in its history. One that is not there is in no history.

        Raises:
            RepositoryError: the commit or a part of its history is missing or damaged.
        """
        self._commit(commit)
        if commit == ancestor:
            # libgit2 says that nothing descends from itself.
            return True
        if self.kind(ancestor) is None:
            return False
        try:
            return self._open().descendant_of(commit, ancestor)
        except _FAILURES as error:
            raise self._broken(commit, error) from error

    def lineage(self, commit: str, oldest: str, limit: int) -> tuple[str, ...]:
        """Return a commit and its first parents down to `oldest`, newest first; at most `limit`.

        Raises:
            RepositoryError: the commit is missing or damaged.
        """
        found = [commit]
        while found[-1] != oldest and len(found) < limit:
            parents = self._commit(found[-1]).parent_ids
            if not parents or self.kind(str(parents[0])) is None:
                break
            found.append(str(parents[0]))
        return tuple(found)

    def describe(self, commit: str) -> CommitInfo:
        """Return what a commit says of itself.

        Raises:
            RepositoryError: the commit is missing or damaged.
        """
        found = self._commit(commit)
        lines = found.raw_message.decode(errors="replace").splitlines()
        return CommitInfo(
            author=_person(found.author),
            committer=_person(found.committer),
            committed_at=_iso(found.commit_time),
            subject=lines[0] if lines else "",
        )

    def resolve(self, text: str) -> Revision:
        """Return the commit that a person means: `main@sha1:<hex>`, a whole or abbreviated id, a tag, a branch.

        Raises:
            RevisionNotFoundError: nothing has that name, several things have it, or it is no commit.
            RepositoryError: this is no repository.
        """
        try:
            revision = Revision.parse(text)
        except ValueError:
            return self._look_up(text)
        if self.kind(revision.commit) != "commit":
            raise _not_found("revision-missing", f"There is no commit {revision.commit} in {self.path}.")
        return revision

    def _look_up(self, text: str) -> Revision:
        repository = self._open()
        try:
            names = [name for name in (f"refs/heads/{text}", f"refs/tags/{text}") if name in repository.references]
        except _FAILURES as error:
            # libgit2 has no such ref: not UTF-8, too long.
            raise _not_found("revision-missing", f"'{_start_of(text)}' names no commit in {self.path}.") from error
        if len(names) > 1:
            raise _not_found("ref-ambiguous", f"'{text}' names both {names[0]} and {names[1]} in {self.path}.")
        if _SEARCH.search(text):
            raise _not_found("revision-missing", f"'{text}' searches, and a revision is named.")
        try:
            commit = repository.revparse_single(names[0] if names else text).peel(pygit2.Commit)
        except (*_FAILURES, TypeError) as error:
            if "ambiguous" in str(error):
                raise _not_found(
                    "revision-ambiguous", f"Several objects begin with '{text}': give more digits."
                ) from error
            raise _not_found("revision-missing", f"'{text}' names no commit in {self.path}.") from error
        return Revision(str(commit.id), ref=text if names and "@" not in text else None)

    def head(self) -> str | None:
        """Return the commit of HEAD; None before the first commit.

        Raises:
            RepositoryError: this is no repository.
        """
        repository = self._open()
        if repository.head_is_unborn:
            return None
        return str(repository.head.target)

    def _commit(self, commit: str) -> pygit2.Commit:
        kind = self.kind(commit)
        if kind is None:
            raise self._broken(commit, KeyError(commit))
        if kind != "commit":
            raise RevisionNotFoundError(
                Diagnostic(
                    code="revision-no-commit",
                    summary="The revision is no commit.",
                    detail=f"{commit} is a {kind}.",
                    hint="Name a branch, or a tag that stands for a commit.",
                )
            )
        return cast("pygit2.Commit", self._open()[commit])

    def _open(self) -> pygit2.Repository:
        if self._repository is None:
            _isolate()
            try:
                self._repository = pygit2.Repository(str(self.path), RepositoryOpenFlag.NO_SEARCH)
            except _FAILURES as error:
                raise _no_repository(self.path, str(error)) from error
        return self._repository

    def _broken(self, object_id: str, error: Exception) -> RepositoryError:
        is_missing = isinstance(error, KeyError)
        return RepositoryError(
            Diagnostic(
                code="object-missing" if is_missing else "object-damaged",
                summary="A git object is missing." if is_missing else "A git object cannot be read.",
                detail=f"Object {object_id} in {self.path}" + (" is not there." if is_missing else f": {error}."),
                hint=self._advice,
            )
        )


@functools.cache
def _isolate() -> None:
    """Keep libgit2 from the machine's and the user's configuration, and let root read what a user owns."""
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
    pygit2.settings.owner_validation = False


def _no_repository(path: Path, reason: str) -> RepositoryError:
    if "sha256" in reason or "object format" in reason:
        return RepositoryError(
            Diagnostic(
                code="not-in-this-version",
                summary="SHA-256 repositories are not in this version.",
                detail=f"{path} names its objects by SHA-256; this version reads repositories that use SHA-1.",
                hint="Make the repository with git init --object-format=sha1.",
            )
        )
    return RepositoryError(
        Diagnostic(
            code="repository-invalid",
            summary="This is no git repository.",
            detail=f"{path} cannot be opened as a git repository: {reason}.",
            hint="Name the top folder of a clone, or a bare repository.",
        )
    )


def _not_found(code: str, detail: str) -> RevisionNotFoundError:
    return RevisionNotFoundError(
        Diagnostic(
            code=code,
            summary="The revision is not clear." if "ambiguous" in code else "There is no such revision.",
            detail=detail,
            hint="git log --oneline shows what can be named.",
        )
    )


def _start_of(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _person(signature: pygit2.Signature) -> str:
    name = signature.raw_name.decode(errors="replace")
    return f"{name} <{signature.raw_email.decode(errors='replace')}>"


def _iso(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime(_ISO)
    except (ValueError, OverflowError, OSError):
        return f"@{seconds}"
