"""First contact: what a host without a pointer may trust, and how lost state is told from a fresh host (design 3.5).

A missing pointer is first contact, which needs the pinned anchor or an explicit `datum init`. With `trust.anchor` a
pass makes it by itself, and only where no pass has run before: a report is written by a pass, and a pass has a pointer,
so a report without a pointer is lost state, unless a leave ended that enrolment. Who could take both away is root
already; what is left then is the anchor, below which nothing is accepted. Effects: looks for reports;
`enrol_by_anchor` writes mirror and pointer.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from datum.agent.anchor import require_anchored
from datum.agent.hints import completed
from datum.agent.left import read_record
from datum.agent.reports import KnownReport, find_reports, read_report
from datum.agent.resolver.interface import Manifests
from datum.agent.settings import Settings
from datum.agent.source import from_first
from datum.agent.wiring import enrol_line, not_enrolled, own_pointer
from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import DatumError, SettingsError, StateError
from datum.model.pointer import Pointer
from datum.model.revision import Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from datum.state.pointer_file import check_binding, read_pointer, write_pointer
from datum.state.transitions import unseal


@frozen
class Lost:
    """What shows that this host was enrolled before, although it has no pointer."""

    # The newest report.
    report: Path
    # What a report says that it had accepted, `sha1:<hex>`; empty: nothing, None: no report that can be read says it.
    accepted: str | None = None
    # Whether the newest report says that; else it may have accepted more since.
    is_newest: bool = True


def lost_state(settings: Settings) -> Lost | None:
    """Return what tells of an enrolment that this host, which has no pointer, had; None: nothing does.

    Raises:
        StateError: `reports-unreadable`: whether something does is not known.
    """
    folder = settings.reports_dir
    try:
        reports = find_reports(folder)
    except OSError as error:
        raise StateError(
            Diagnostic(
                code="reports-unreadable",
                summary="Whether the state of this host is lost cannot be told.",
                detail=f"There is no pointer at {settings.pointer_path}, and the reports in {folder} cannot be read "
                f"({error.strerror}): they would tell whether passes ran here.",
                hint=f"let {folder} be a folder that can be read, or restore the pointer from a backup",
                location=SourceLocation(str(folder)),
            )
        ) from error
    record = read_record(folder)
    covered = record.reports if record is not None else frozenset()
    # Those that a leave names are of an enrolment that was ended on purpose, whatever the clock says.
    own = [one for one in reports if one.path.name not in covered]
    return _told(folder, own) if own else None


def _told(folder: Path, reports: Sequence[KnownReport]) -> Lost:
    newest = reports[-1]
    for one in reversed(reports):
        accepted = _accepted(folder, one.id)
        # That an older pass had accepted nothing says nothing of later ones.
        if accepted or (accepted is not None and one is newest):
            return Lost(newest.path, accepted, is_newest=one is newest)
    return Lost(newest.path)


def _accepted(folder: Path, report: str) -> str | None:
    """Return what a pass had accepted at its end; empty: nothing, None: its report does not say it."""
    try:
        pointer = read_report(folder, report).get("pointer")
    except DatumError:
        return None
    after = pointer.get("after") if isinstance(pointer, dict) else None
    if not isinstance(after, dict):
        return None
    accepted = after.get("accepted")
    if accepted is None:
        return ""
    return accepted if isinstance(accepted, str) and _commit(accepted) else None


def load_pointer(settings: Settings) -> Pointer:
    """Return the pointer, bound to this host.

    Raises:
        SettingsError: this host is not enrolled, or under another name.
        StateError: the pointer is damaged, or lost.
    """
    pointer = own_pointer(settings)
    if pointer is None:
        raise unenrolled(settings)
    if settings.is_running_system:
        pointer = unseal(pointer, settings.host)
    with completed(enrol_line(settings)):
        check_binding(pointer, None, settings.host)
    return pointer


def unenrolled(settings: Settings) -> SettingsError | StateError:
    """Return the error of a host that has no pointer: what tells of lost state is said before a first contact is."""
    try:
        lost = lost_state(settings)
    except StateError as error:
        return error
    return StateError(_lost(settings, lost)) if lost is not None else not_enrolled(settings)


def require_contact(settings: Settings) -> None:
    """Make sure that a host without a pointer may make first contact in this pass.

    Raises:
        SettingsError: `not-enrolled`: nothing pins what it may trust.
        StateError: `state-lost`: it was enrolled before; or `reports-unreadable`.
    """
    if settings.anchor is None or settings.is_offline:
        raise unenrolled(settings)
    refuse_lost(settings)


def refuse_lost(settings: Settings) -> None:
    """Refuse a first contact that nobody said an anchor for, where the state of this host is lost.

    Raises:
        StateError: `state-lost`, or `reports-unreadable`.
    """
    lost = lost_state(settings)
    if lost is not None:
        raise StateError(_lost(settings, lost))


def _lost(settings: Settings, lost: Lost) -> Diagnostic:
    known, way = _way_back(settings, lost)
    return Diagnostic(
        code="state-lost",
        summary="The state of this host is lost.",
        detail=f"There is no pointer at {settings.pointer_path}, and {lost.report} tells of a pass: this is no first "
        f"contact. {known} What was enforced may still be on the host, and the floor against older revisions is gone.",
        hint=f"restore the pointer from a backup; or {way}",
        location=SourceLocation(str(settings.pointer_path)),
    )


def _way_back(settings: Settings, lost: Lost) -> tuple[str, str]:
    """Return what had been accepted, in words, and the way to enrol from there; nothing that no report says."""
    anew = "enrol the host anew, from what it had accepted on: "
    if lost.accepted is None:
        line = enrol_line(settings, anchor="COMMIT")
        return "What it had accepted, no report says that can be read.", f"find that out, and {anew}{line}"
    if not lost.accepted:
        line = enrol_line(settings, anchor=settings.anchor.commit if settings.anchor else "COMMIT")
        return "It had accepted nothing.", f"enrol the host anew: {line}"
    line = enrol_line(settings, anchor=_commit(lost.accepted))
    if lost.is_newest:
        return f"It had accepted {lost.accepted}.", anew + line
    known = f"It had accepted {lost.accepted} once, and may have accepted more since: later reports cannot be read."
    return known, f"{anew}if nothing newer is known, {line}"


def _commit(text: str) -> str:
    try:
        return Revision.parse(text).commit
    except ValueError:
        return ""


def enrol_by_anchor(settings: Settings, mirror: Mirror, manifests: Manifests) -> None:
    """Write the first pointer of a host whose configuration pins an anchor. The caller holds the pass lock.

    Raises:
        RepositoryError: the source gives no revision, or one that neither is the anchor nor descends from it.
        FleetError: it names no fleet.
        StateError, SettingsError: see `require_contact`.
    """
    if read_pointer(settings.pointer_path) is not None:
        return
    require_contact(settings)
    revision, _ = from_first(settings.remotes, lambda remote: obtain(mirror, remote, settings))
    require_anchored(mirror, revision, settings.anchor)
    fleet = manifests.header(mirror.tree(revision)).fleet
    mirror.promote(revision)
    write_pointer(settings.pointer_path, Pointer(fleet, settings.host))


def obtain(mirror: Mirror, remote: Remote, settings: Settings) -> Revision:
    """Return what a remote names, fetched."""
    end = time.monotonic() + settings.source_timeout
    revision = mirror.ask(remote, settings.ref, timeout=settings.source_timeout)
    if not mirror.has(revision):
        left = max(end - time.monotonic(), 0)
        mirror.fetch(remote, settings.ref, revision, timeout=left, byte_limit=settings.source_bytes)
    return revision
