"""Talking to a remote, always in a child process that gets no configuration, hook or environment but ours.

Effects: runs `git` through the given door. `ask_remote` sends one `ls-refs` command of git's protocol version 2 to
`git upload-pack`, with the exact names wanted: one process and a few hundred bytes, however many refs are there.
Nothing here imports pygit2: a poll that finds nothing new must not pay for it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn

from attrs import frozen

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryUnreachableError, RevisionNotFoundError, StateError
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.model.revision import Revision
from datum.provider.host import Command, CommandOutcome, HostError, ProgramRunner
from datum.repository.remote import full_names

GIT_ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("gitconfig")),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
INCOMING: Final = "refs/incoming/commit"
ALSO: Final = "refs/incoming/also"
"""The ref of the quarantine store that names what was fetched."""

# Exit codes and signals are looked at here; only a program that could not run at all is the door's to refuse.
_ANY_END: Final = frozenset(range(-64, 256))
_SHOWN_NAMES: Final = 8
_SHOWN_WORDS: Final = 600
_PACKET_HEADER: Final = 4


@frozen
class RemoteRef:
    """One line of a remote's answer."""

    # Object the ref names.
    target: str
    # What an annotated tag stands for, in the end; empty for everything else.
    peeled: str = ""
    # Full name of the ref that a symbolic ref names; empty for everything else.
    symbolic: str = ""


@frozen
class Download:
    """One fetch: what, from where, within which bounds."""

    remote: str
    # As it stands in the configuration; for messages.
    ref: str
    # The very commit that `ask_remote` gave: what the ref names meanwhile does not matter.
    commit: str
    # Seconds.
    timeout: float
    # Bytes of the pack.
    byte_limit: int
    # More commits, wanted together with that one; the remote may have dropped them.
    also: tuple[str, ...] = ()


def ask_remote(run: ProgramRunner, remote: str, ref: str, *, timeout: float) -> Revision:
    """Return the revision that a ref of a remote names; annotated tags are followed to what they stand for.

    Args:
        run: the door for programs.
        remote: a result of `normal_remote`.
        ref: `main` (a branch, a tag, or a name below `refs/`), a full name, or `HEAD`.
        timeout: seconds.

    Raises:
        SettingsError: git has no ref of that form.
        RepositoryUnreachableError: nothing there, no repository, not allowed, too slow, or not understood.
        RevisionNotFoundError: the repository is empty, has no such ref, or has several that are meant by it.
    """
    names = full_names(ref)
    listing = _list_refs(run, remote, names, timeout)
    found = [name for name in names if name in listing]
    if not found:
        raise _gone(remote, ref, _list_refs(run, remote, ("refs/",), timeout))
    if len(found) > 1:
        _not_found(
            "ref-ambiguous",
            "The ref has two meanings.",
            f"'{ref}' names both {' and '.join(found)} in {remote}.",
            f"Write the full name as the ref: {found[0]}.",
        )
    entry = listing[found[0]]
    name = found[0]
    if ref == "HEAD":
        if not entry.symbolic:
            _not_found(
                "remote-head-detached",
                "HEAD of the remote names no branch.",
                f"HEAD of {remote} is detached at commit {entry.target[:12]}: nothing can follow it.",
                "Name a branch as the ref, such as main.",
            )
        name = entry.symbolic
    shown = ref if ref not in {"HEAD", name} else name.removeprefix("refs/heads/")
    return Revision(entry.peeled or entry.target, ref=None if "@" in shown else shown)


def fetch_commit(run: ProgramRunner, store: Path, download: Download) -> None:
    """Fetch one commit with all that it needs and the store's alternates lack, as the ref `INCOMING`.

    git itself checks every object (`fetch.fsckObjects`) and that nothing is missing before it sets the ref.

    Raises:
        RepositoryUnreachableError: it could not be had whole: code `fetch-failed`, or a more exact one.
        StateError: the store cannot be written.
    """
    outcome = _run(
        run,
        download.remote,
        download.timeout,
        # Bounds every file that the child writes; prlimit replaces itself by git.
        (
            *("prlimit", f"--fsize={download.byte_limit}", "--core=0", "--", "git", f"--git-dir={store}"),
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
            *("--no-show-forced-updates", "--", download.remote, f"+{download.commit}:{INCOMING}"),
            *(f"+{commit}:{ALSO}/{commit}" for commit in download.also),
        ),
    )
    if outcome.exit_code:
        _explain_fetch(store, download, outcome)
    if not (store / INCOMING).exists():
        # git warns and exits with 0.
        _unreachable(
            "remote-shallow",
            "The remote is a shallow clone.",
            f"{download.remote} holds only part of its history, so ancestry cannot be judged.",
            "Run 'git fetch --unshallow' there, or name the repository that it was cloned from.",
        )


def repack(run: ProgramRunner, store: Path, *, timeout: float) -> bool:
    """Make one pack of all packs of a store, whether or not a ref reaches the objects. False: it did not work.

    Nothing is removed before the new pack is complete, so being killed costs disk space only.
    """
    argv = ("git", f"--git-dir={store}", "repack", "-a", "-d", "-k", "-n", "-q")
    try:
        outcome = run(Command(argv, timeout=timeout, environment=GIT_ENVIRONMENT, success=_ANY_END))
    except HostError:
        return False
    return outcome.exit_code == 0


def _run(run: ProgramRunner, remote: str, timeout: float, argv: tuple[str, ...], stdin: bytes = b"") -> CommandOutcome:
    environment = {**GIT_ENVIRONMENT, "GIT_PROTOCOL": "version=2"}
    try:
        return run(Command(argv, timeout=timeout, stdin=stdin, environment=environment, success=_ANY_END))
    except HostError as error:
        if Cause.DEADLINE is error.cause or FailureCause.DEADLINE is error.failure:
            raise RepositoryUnreachableError(
                Diagnostic(
                    code="remote-timeout",
                    summary="The remote did not answer in time.",
                    detail=f"{remote} was given {timeout:g} seconds.",
                    hint="Look whether the file system it lies on hangs, or allow more time.",
                )
            ) from error
        raise RepositoryUnreachableError(
            Diagnostic(
                code="git-not-runnable",
                summary="The git program cannot be run.",
                detail=error.detail,
                hint="Install git and util-linux: apt install git util-linux."
                if error.diagnostics[0].code == "program-missing"
                else "Remove what the system names; the next pass tries again.",
            )
        ) from error


def _list_refs(run: ProgramRunner, remote: str, prefixes: tuple[str, ...], timeout: float) -> Mapping[str, RemoteRef]:
    lines = ["command=ls-refs", None, "peel", "symrefs", *(f"ref-prefix {name}" for name in prefixes)]
    request = b"".join(b"0001" if line is None else _packet(line) for line in lines) + b"0000" + b"0000"
    outcome = _run(run, remote, timeout, ("git", "upload-pack", "--", remote), request)
    text = outcome.stdout
    try:
        parts = list(_answers(text))
    except ValueError:
        _unreachable(
            "remote-malformed",
            "The remote's answer is not understood.",
            f"git upload-pack of {remote} did not answer in git's protocol: {_words(outcome)}",
            "Look at the repository with git ls-remote.",
        )
    if b"object-format=sha256" in parts[0]:
        _unreachable(
            "not-in-this-version",
            "SHA-256 repositories are not in this version.",
            f"{remote} names its objects by SHA-256; this version reads repositories that use SHA-1.",
            "Make the repository with git init --object-format=sha1.",
        )
    if outcome.exit_code:
        _explain_ask(remote, outcome)
    return dict(_remote_ref(line) for line in (parts[1] if len(parts) > 1 else ()))


def _packet(line: str) -> bytes:
    data = line.encode(errors="surrogateescape") + b"\n"
    return f"{len(data) + _PACKET_HEADER:04x}".encode() + data


def _answers(data: bytes) -> Iterator[tuple[bytes, ...]]:
    """Split into answers, each of which ends with a flush packet; one that was cut off ends where it was cut."""
    answer: list[bytes] = []
    at = 0
    while at < len(data):
        size = int(data[at : at + _PACKET_HEADER], 16)
        if not size:
            yield tuple(answer)
            answer.clear()
        elif size < _PACKET_HEADER:
            raise ValueError(size)
        else:
            answer.append(data[at + _PACKET_HEADER : at + size].rstrip(b"\n"))
        at += max(size, _PACKET_HEADER)
    yield tuple(answer)


def _remote_ref(line: bytes) -> tuple[str, RemoteRef]:
    target, name, *attributes = line.decode(errors="surrogateescape").split(" ")
    values = dict(attribute.split(":", 1) for attribute in attributes)
    return name, RemoteRef(target, values.get("peeled", ""), values.get("symref-target", ""))


def _gone(remote: str, ref: str, listing: Mapping[str, RemoteRef]) -> RevisionNotFoundError:
    names = [name.removeprefix("refs/heads/") for name in sorted(listing)]
    if not names:
        return RevisionNotFoundError(
            Diagnostic(
                code="repository-empty",
                summary="The repository is empty.",
                detail=f"{remote} has no branch and no tag yet.",
                hint=f"Push the fleet there: git push {remote} {ref}.",
            )
        )
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return RevisionNotFoundError(
        Diagnostic(
            code="ref-gone",
            summary="The ref is not there.",
            detail=f"{remote} has no branch or tag '{ref}'. It has {', '.join(names[:_SHOWN_NAMES])}{more}.",
            hint="Push the branch again, or name another one as the ref.",
        )
    )


def _explain_ask(remote: str, outcome: CommandOutcome) -> NoReturn:
    """Say why git found no repository: only now is the path looked at, by way of opening what git opens."""
    path = Path(remote)
    try:
        names = {child.name for child in path.iterdir()}
        place = path / ".git" if ".git" in names else path
        (place / "HEAD").read_bytes()
    except FileNotFoundError:
        if not path.exists():
            _unreachable(
                "repository-missing",
                "There is nothing at the remote.",
                f"{remote} does not exist.",
                "Look for a typing error, or for a file system that is not mounted.",
            )
    except PermissionError as error:
        _unreachable(
            "repository-denied",
            "The remote may not be read.",
            f"{error.filename} may not be read by this user: {error.strerror}.",
            "Allow this user to read the repository and every directory above it.",
        )
    except OSError:
        # A file, a loop of links: no repository, as git says.
        pass
    _unreachable(
        "repository-invalid",
        "The remote is no repository.",
        f"{remote} is no git repository, or a damaged one. git says: {_words(outcome)}",
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


def _explain_fetch(store: Path, download: Download, outcome: CommandOutcome) -> NoReturn:
    sizes = [file.stat().st_size for file in (store / "objects" / "pack").glob("*")]
    if max(sizes, default=0) >= download.byte_limit:
        _unreachable(
            "fetch-too-big",
            "The revision is bigger than allowed.",
            f"What {download.ref} of {download.remote} needs takes more than {download.byte_limit} bytes.",
            "If the repository really is that big, raise the limit of bytes of the source.",
        )
    for reason in (b"No space left on device", b"Read-only file system", b"Disk quota exceeded"):
        if reason in outcome.stderr:
            raise StateError(
                Diagnostic(
                    code="state-not-writable",
                    summary="The state directory cannot be written.",
                    detail=f"{store}: {reason.decode()}.",
                    hint="Make room, or make the file system writable.",
                )
            )
    for words, code, summary, hint in _FETCH_FAILURES:
        if words in outcome.stderr:
            _unreachable(code, summary, f"Fetching {download.ref} from {download.remote}: {_words(outcome)}", hint)
    _unreachable(
        "fetch-failed",
        "The revision could not be fetched whole.",
        f"Fetching {download.commit[:12]} ({download.ref}) from {download.remote}: {_words(outcome)}",
        "Run git fsck in the remote; a copy of the repository that is whole can replace it.",
    )


def _words(outcome: CommandOutcome) -> str:
    """Return what the program said, on one line."""
    lines = outcome.stderr.decode(errors="replace").splitlines()
    text = " / ".join(line.strip() for line in lines if line.strip())[:_SHOWN_WORDS]
    return text or f"(nothing; exit code {outcome.exit_code})"


def _unreachable(code: str, summary: str, detail: str, hint: str) -> NoReturn:
    raise RepositoryUnreachableError(Diagnostic(code=code, summary=summary, detail=detail, hint=hint))


def _not_found(code: str, summary: str, detail: str, hint: str) -> NoReturn:
    raise RevisionNotFoundError(Diagnostic(code=code, summary=summary, detail=detail, hint=hint))
