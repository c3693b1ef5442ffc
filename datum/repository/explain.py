"""Why a remote gave no answer, or not all of a revision.

Effects: looks at a path, at what a fetch has left, and once more at a server.
"""

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from datum.diagnostics import Diagnostic
from datum.errors import DatumError, RepositoryUnreachableError, StateError
from datum.provider.host import CommandOutcome, ProgramRunner
from datum.repository.failures import network_failure, shown_words
from datum.repository.remote import Remote, Transport
from datum.repository.route import Download

_SHOWN: Final = 100
SPEAK_2: Final = {
    Transport.FILE: "Look at the repository with git ls-remote",
    Transport.HTTPS: "The server needs git 2.18 or later, and a web server that hands the header Git-Protocol to it",
    Transport.SSH: "Let the server take the variable: AcceptEnv GIT_PROTOCOL in its sshd_config, and git 2.18 or later",
}
"""What a server needs to be asked for one ref."""


def unanswered(run: ProgramRunner, remote: Remote, outcome: CommandOutcome) -> RepositoryUnreachableError:
    """Return why there was no answer to a question."""
    if remote.transport is Transport.FILE:
        return _no_repository(Path(remote.url), outcome)
    found = _network(run, remote, outcome)
    if found is not None:
        return found
    if outcome.exit_code:
        return _malformed(remote, outcome)
    return _unreachable(
        "remote-closed-early",
        "The remote ended the conversation.",
        f"{remote} sent {len(outcome.stdout)} bytes, less than it announced.",
        "The next pass tries again; if it stays so the log of the server says why.",
    )


def _network(run: ProgramRunner, remote: Remote, outcome: CommandOutcome) -> RepositoryUnreachableError | None:
    """Return what happened on the way to a server; None: nothing that is known."""
    found = network_failure(remote, outcome)
    if found is None:
        return None
    if remote.transport is Transport.HTTPS:
        from datum.repository.https import explained

        found = explained(run, remote, found)
    return RepositoryUnreachableError(found)


def not_understood(run: ProgramRunner, remote: Remote, outcome: CommandOutcome) -> RepositoryUnreachableError:
    """Return why an answer is not in git's protocol."""
    return _network(run, remote, outcome) or _malformed(remote, outcome)


def no_ref(remote: Remote, name: str) -> RepositoryUnreachableError:
    """Return the error on a name that git gives to no ref."""
    return _unreachable(
        "remote-malformed",
        "The remote's answer is not understood.",
        f"HEAD of {remote} leads to {name[:_SHOWN]!a}, which is no name of a ref that can be written down.",
        "Look at the repository with git ls-remote, or name a branch as the ref.",
    )


def _malformed(remote: Remote, outcome: CommandOutcome) -> RepositoryUnreachableError:
    return _unreachable(
        "remote-malformed",
        "The remote's answer is not understood.",
        f"{remote} did not answer in git's protocol: {shown_words(outcome)}",
        "Look at the repository with git ls-remote.",
    )


def without_protocol_2(remote: Remote) -> RepositoryUnreachableError:
    """Return the error on a server over https that wants to speak an older protocol."""
    return _unreachable(
        "remote-without-protocol-2",
        "The remote does not speak protocol 2 of git.",
        f"{remote} answers, and not in protocol 2, the only one that is spoken over https: in older ones what a server "
        "sends can be neither bounded nor checked.",
        f"{SPEAK_2[Transport.HTTPS]}; or look whether the URL is that of git clone.",
    )


def _no_repository(path: Path, outcome: CommandOutcome) -> RepositoryUnreachableError:
    """Say why git found no repository: only now is the path looked at, by way of opening what git opens."""
    try:
        names = {child.name for child in path.iterdir()}
        place = path / ".git" if ".git" in names else path
        (place / "HEAD").read_bytes()
    except FileNotFoundError:
        if not path.exists():
            return _unreachable(
                "repository-missing",
                "There is nothing at the remote.",
                f"{path} does not exist.",
                "Look for a typing error, or for a file system that is not mounted.",
            )
    except PermissionError as error:
        return _unreachable(
            "repository-denied",
            "The remote may not be read.",
            f"{error.filename} may not be read by this user: {error.strerror}.",
            "Allow this user to read the repository and every directory above it.",
        )
    except OSError:
        # A file, a loop of links: no repository, as git says.
        pass
    return _unreachable(
        "repository-invalid",
        "The remote is no repository.",
        f"{path} is no git repository, or a damaged one. git says: {shown_words(outcome)}",
        "Name the directory of a repository: the one that holds .git, or HEAD, objects and refs.",
    )


# What git says, for what reason, and what a person can do. The first that fits.
_FETCH_FAILURES: Final = (
    (
        b"not our ref",
        "revision-vanished",
        "The revision is not there any more.",
        "It was replaced meanwhile, and the next pass asks again; or the ref names what is not there (git show-ref).",
    ),
    (
        b"fsck error",
        "fetch-object-refused",
        "The remote holds an object that is malformed.",
        "Run git fsck --strict there, and rewrite the commit that brought the object.",
    ),
)
# Bytes: written to see whether that works, and left for all but root where a disk is not full.
_WRITTEN: Final = 64 << 10
_ROOM: Final = 4 << 20
_DISK: Final = (b"No space left on device", b"Read-only file system", b"Disk quota exceeded")


def unfetched(run: ProgramRunner, store: Path, download: Download, outcome: CommandOutcome) -> DatumError:
    """Return why a fetch into a store failed: a `StateError` where the store cannot be written."""
    if _largest(store / "objects" / "pack") >= download.byte_limit:
        return _unreachable(
            "fetch-too-big",
            "The revision is bigger than allowed.",
            f"What {download.ref} of {download.remote} needs takes more than {download.byte_limit} bytes.",
            "If the repository really is that big, raise the limit of bytes of the source.",
        )
    # A server that has no room, or says so, is no reason to end the pass: words do no more than have this looked at.
    unwritable = _unwritable(store.parent) if any(reason in outcome.stderr for reason in _DISK) else ""
    if unwritable:
        return StateError(
            Diagnostic(
                code="state-not-writable",
                summary="The state directory cannot be written.",
                detail=f"{store}: {unwritable}.",
                hint="Make room, or make the file system writable.",
            )
        )
    for words, code, summary, hint in _FETCH_FAILURES:
        if words in outcome.stderr:
            return _unreachable(
                code, summary, f"Fetching {download.ref} from {download.remote}: {shown_words(outcome)}", hint
            )
    found = _network(run, download.remote, outcome)
    if found is not None:
        return found
    if download.remote.transport is Transport.HTTPS and not outcome.stderr and outcome.exit_code > 0:
        # What our helper refuses git leaves without a word.
        return without_protocol_2(download.remote)
    return _unreachable(
        "fetch-failed",
        "The revision could not be fetched whole.",
        f"Fetching {download.commit[:12]} ({download.ref}) from {download.remote}: {shown_words(outcome)}",
        "Run git fsck in the remote; a copy of the repository that is whole can replace it.",
    )


def _largest(folder: Path) -> int:
    """Return the size of the largest file in a folder that anything may have been done to."""
    largest = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                largest = max(largest, entry.stat(follow_symlinks=False).st_size)
    return largest


def _unwritable(folder: Path) -> str:
    """Return why nothing can be written to a folder; empty: it can."""
    try:
        # Never a name that somebody else can have put there.
        with tempfile.TemporaryFile(dir=folder, buffering=0) as stream:
            stream.write(bytes(_WRITTEN))
            os.fsync(stream.fileno())
            status = os.fstatvfs(stream.fileno())
    except OSError as error:
        return error.strerror or str(error)
    # What git could not write it may have removed.
    return os.strerror(errno.ENOSPC) if status.f_bavail * status.f_frsize < _ROOM else ""


def _unreachable(code: str, summary: str, detail: str, hint: str) -> RepositoryUnreachableError:
    return RepositoryUnreachableError(Diagnostic(code=code, summary=summary, detail=detail, hint=hint))
