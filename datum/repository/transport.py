"""Talking to a remote, always in a child process that gets no configuration, hook or environment but ours.

Effects: runs `git`, or `ssh`, through the given door. `ask_remote` sends one `ls-refs` command of git's protocol 2 with
the exact names wanted: one process and a few hundred bytes, however many refs are there. Nothing here imports pygit2:
a poll that finds nothing new must not pay for it.
"""

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryUnreachableError, RevisionNotFoundError
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.model.revision import Revision
from datum.provider.host import Command, CommandOutcome, HostError, ProgramRunner
from datum.repository.explain import SPEAK_2, no_ref, not_understood, unanswered, unfetched, without_protocol_2
from datum.repository.packets import Listing, RemoteRef, parse_listing, refs_request
from datum.repository.remote import Remote, Transport, full_names, is_full_name
from datum.repository.route import FETCH_MEMORY, GIT_ENVIRONMENT, Download, Route, bounded, confined, file_route

if TYPE_CHECKING:
    from datum.repository.access import Reader

INCOMING: Final = "refs/incoming/commit"
ALSO: Final = "refs/incoming/also"
"""The ref of the quarantine store that names what was fetched."""

# Exit codes and signals are looked at here; only a program that could not run at all is the door's to refuse.
_ANY_END: Final = frozenset(range(-64, 256))
_SHOWN_NAMES: Final = 8
_SHOWN_LETTERS: Final = 100
_PROGRAMS: Final = "Install what is missing: apt install git coreutils util-linux openssh-client."
# What a program says that is to become another one, and cannot.
_NO_PROGRAM: Final = re.compile(
    r"(?:setpriv|prlimit|stdbuf): failed to (?:execute|run command) \W?(?P<name>[\w./+-]+)\W?: (?P<why>.*)"
    r"|error: cannot run (?P<git>[^\s:]+): (?P<reason>.*)"
    r"|(?P<line>git: 'remote-https' is not a git command.*|stdbuf: failed to find .*)"
)
_NO_SUCH: Final = "No such file or directory"
_LATE: Final = {
    True: "Look whether the file system it lies on hangs, or allow more time.",
    False: "Look whether the server and the network to it are well, or allow more time: source.timeout.",
}


def ask_remote(
    run: ProgramRunner, remote: Remote, ref: str, *, timeout: float, reader: "Reader | None" = None
) -> Revision:
    """Return the revision that a ref of a remote names; annotated tags are followed to what they stand for.

    Args:
        run: the door for programs.
        remote: whom to ask.
        ref: `main` (a branch, a tag, or a name below `refs/`), a full name, or `HEAD`.
        timeout: seconds.
        reader: under which account programs run; None: as this process.

    Raises:
        SettingsError: git has no ref of that form.
        RepositoryUnreachableError: nothing there, no repository, not allowed, too slow, or not understood.
        RevisionNotFoundError: the repository is empty, has no such ref, or has several that are meant by it.
    """
    names = full_names(ref)
    route = route_to(remote, reader)
    start = time.monotonic()
    listing = _list_refs(run, route, names, timeout)
    found = [name for name in names if name in listing]
    if not found:
        sample = _list_refs(run, route, ("refs/",), timeout, spent=time.monotonic() - start, is_sample=True)
        raise _gone(remote, ref, sample)
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
        if not is_full_name(name):
            # It is kept and shown.
            raise no_ref(remote, name)
    shown = ref if ref not in {"HEAD", name} else name.removeprefix("refs/heads/")
    return Revision(entry.peeled or entry.target, ref=None if "@" in shown else shown)


def fetch_commit(run: ProgramRunner, store: Path, download: Download, *, reader: "Reader | None" = None) -> None:
    """Fetch one commit with all that it needs and the store's alternates lack, as the ref `INCOMING`.

    git itself checks every object (`fetch.fsckObjects`) and that nothing is missing before it sets the ref.

    Raises:
        RepositoryUnreachableError: it could not be had whole: code `fetch-failed`, or a more exact one.
        StateError: the store cannot be written.
    """
    route = route_to(download.remote, reader)
    outcome = _run(
        run,
        route,
        download.timeout,
        (
            # Every file that the child writes is bounded.
            *(*bounded(download.remote, FETCH_MEMORY, f"--fsize={download.byte_limit}"), "git", f"--git-dir={store}"),
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
            *("--no-show-forced-updates", "--", route.url, f"+{download.commit}:{INCOMING}"),
            *(f"+{commit}:{ALSO}/{commit}" for commit in download.also),
        ),
        left=download.left(),
    )
    if outcome.exit_code:
        raise unfetched(run, store, download, route.discreet(outcome))
    if not os.path.lexists(store / INCOMING):
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
    argv = (*confined(FETCH_MEMORY), "git", f"--git-dir={store}", "repack", "-a", "-d", "-k", "-n", "-q")
    try:
        outcome = run(Command(argv, timeout=timeout, environment=GIT_ENVIRONMENT, success=_ANY_END))
    except HostError:
        return False
    return outcome.exit_code == 0


def route_to(remote: Remote, reader: "Reader | None" = None) -> Route:
    """Return the way to a remote, for programs that run under an account.

    Raises:
        RepositoryUnreachableError: a file that it needs cannot be used.
    """
    # What no remote needs is not imported: a poll that finds nothing new is to cost nothing.
    match remote.transport:
        case Transport.FILE:
            return file_route(remote)
        case Transport.HTTPS:
            from datum.repository.https import https_route

            return https_route(remote, reader)
        case Transport.SSH:
            from datum.repository.ssh import ssh_route

            return ssh_route(remote, reader)


def _run(
    run: ProgramRunner, route: Route, timeout: float, argv: tuple[str, ...], *, left: float, stdin: bytes = b""
) -> CommandOutcome:
    """Run a program within what is left of the seconds that its remote was given."""
    environment = {**route.environment, "GIT_PROTOCOL": "version=2"}
    try:
        outcome = run(Command(argv, timeout=left, stdin=stdin, environment=environment, success=_ANY_END))
    except HostError as error:
        if Cause.DEADLINE is error.cause or FailureCause.DEADLINE is error.failure:
            raise RepositoryUnreachableError(
                Diagnostic(
                    code="remote-timeout",
                    summary="The remote did not answer in time.",
                    detail=f"{route.remote} was given {round(timeout, 1):g} seconds.",
                    hint=_LATE[route.remote.transport is Transport.FILE],
                )
            ) from error
        if error.diagnostics[0].code == "program-not-enclosed":
            raise RepositoryUnreachableError(*error.diagnostics) from error
        raise _not_runnable(error.detail, is_missing=error.diagnostics[0].code == "program-missing") from error
    _refuse_missing_program(outcome)
    return outcome


def _refuse_missing_program(outcome: CommandOutcome) -> None:
    """Raise where a program did not become the one that talks: so no other had the word before it."""
    first = outcome.stderr.decode(errors="replace").partition("\n")[0]
    found = _NO_PROGRAM.fullmatch(first) if outcome.exit_code else None
    if found is None:
        return
    name, why = (found["name"] or found["git"], found["why"] or found["reason"])
    raise _not_runnable(
        f"{name} cannot be run: {why}." if name else f"{first.rstrip('.')}.", is_missing=not name or why == _NO_SUCH
    )


def _not_runnable(detail: str, *, is_missing: bool) -> RepositoryUnreachableError:
    return RepositoryUnreachableError(
        Diagnostic(
            code="git-not-runnable",
            summary="A program that talks to the remote cannot be run.",
            detail=detail,
            hint=_PROGRAMS if is_missing else "Remove what the system names; the next pass tries again.",
        )
    )


def _list_refs(
    run: ProgramRunner,
    route: Route,
    prefixes: tuple[str, ...],
    timeout: float,
    *,
    spent: float = 0,
    is_sample: bool = False,
) -> Mapping[str, RemoteRef]:
    """Return the refs that begin so; of a sample as many as arrive."""
    request = route.greeting + refs_request(prefixes) + route.farewell
    outcome = _run(run, route, timeout, route.ask, left=max(timeout - spent, 0), stdin=request)
    remote = route.remote
    try:
        listing = _listing(route, outcome)
    except ValueError:
        raise not_understood(run, remote, route.discreet(outcome)) from None
    if listing.is_sha256:
        _unreachable(
            "not-in-this-version",
            "SHA-256 repositories are not in this version.",
            f"{remote} names its objects by SHA-256; this version reads repositories that use SHA-1.",
            "Make the repository with git init --object-format=sha1.",
        )
    # Both streams have one bound: that which was cut is the longer one.
    is_cut = outcome.is_cut and len(outcome.stdout) >= len(outcome.stderr)
    if is_cut and is_sample and listing.is_narrow:
        return listing.refs
    if is_cut and not listing.is_whole:
        _unreachable(
            "remote-list-too-long",
            "The remote sends more refs than can be read.",
            f"{remote} sent {len(outcome.stdout)} bytes of refs and more: it does not speak protocol 2 of git, in "
            "which one ref can be asked for."
            if not listing.is_narrow
            else f"{remote} sent {len(outcome.stdout)} bytes of refs and more for the one that was asked for.",
            f"{SPEAK_2[remote.transport]}.",
        )
    if not listing.is_whole or (outcome.exit_code and listing.is_narrow):
        raise unanswered(run, remote, route.discreet(outcome))
    return listing.refs


def _listing(route: Route, outcome: CommandOutcome) -> Listing:
    """Return what a remote said.

    Raises:
        RepositoryUnreachableError: git's helper had to fall back to an older protocol, which is not spoken here.
        ValueError: it is not understood.
    """
    text = outcome.stdout
    if route.greeting:
        if text.startswith(b"fallback"):
            raise without_protocol_2(route.remote)
        # The helper's own answer, an empty line, stands before the server's.
        text = text.removeprefix(b"\n")
    return parse_listing(text)


def _gone(remote: Remote, ref: str, listing: Mapping[str, RemoteRef]) -> RevisionNotFoundError:
    # In an older protocol HEAD is told unasked.
    names = [name.removeprefix("refs/heads/") for name in sorted(listing) if name != "HEAD"]
    if not names:
        return RevisionNotFoundError(
            Diagnostic(
                code="repository-empty",
                summary="The repository is empty.",
                detail=f"{remote} has no branch and no tag yet.",
                hint=f"Push the fleet there: git push {remote} {ref}.",
            )
        )
    shown = ", ".join(map(_shown_name, names[:_SHOWN_NAMES]))
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return RevisionNotFoundError(
        Diagnostic(
            code="ref-gone",
            summary="The ref is not there.",
            detail=f"{remote} has no branch or tag '{ref}'. It has {shown}{more}.",
            hint="Push the branch again, or name another one as the ref.",
        )
    )


def _shown_name(name: str) -> str:
    """Return a name that a server says: short, and of letters that can be shown."""
    text = "".join(letter if letter.isprintable() else "?" for letter in name)
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}..."


def _unreachable(code: str, summary: str, detail: str, hint: str) -> NoReturn:
    raise RepositoryUnreachableError(Diagnostic(code=code, summary=summary, detail=detail, hint=hint))


def _not_found(code: str, summary: str, detail: str, hint: str) -> NoReturn:
    raise RevisionNotFoundError(Diagnostic(code=code, summary=summary, detail=detail, hint=hint))
