"""First contact: what a host without a pointer may trust, and how lost state is told from a fresh host (design 3.5).

A missing pointer is first contact, which needs the pinned anchor or an explicit `datum init`. With `trust.anchor` a
pass makes it by itself, and only where no pass has run before: a report is written by a pass, and a pass has a pointer,
so a report without a pointer is lost state. Who could take both away is root already; what is left then is the anchor,
below which nothing is accepted. Effects: looks for reports; `enrol_by_anchor` writes mirror and pointer.
"""

import stat
import time
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.agent.anchor import require_anchored
from datum.agent.reports import list_reports, read_report
from datum.agent.resolver.interface import Manifests
from datum.agent.settings import Settings
from datum.agent.source import from_first
from datum.agent.wiring import enrol_line, not_enrolled
from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import DatumError, StateError
from datum.model.pointer import Pointer
from datum.model.revision import Revision
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from datum.state.pointer_file import read_pointer, write_pointer

LEFT: Final = "left.json"
"""What `datum leave` writes beside the reports: those before it are of an enrolment that was ended on purpose."""


@frozen
class Lost:
    """What shows that this host was enrolled before, although it has no pointer."""

    # The newest report.
    report: Path
    # What it enforced, `sha1:<hex>`; empty where it does not say.
    enforced: str = ""


def lost_state(settings: Settings) -> Lost | None:
    """Return what tells of an enrolment that this host, which has no pointer, had; None: nothing does."""
    reports = list_reports(settings.reports_dir)
    newest = reports[-1] if reports else None
    if newest is None or _written(newest.path) <= _written(settings.reports_dir / LEFT):
        return None
    return Lost(newest.path, _enforced(settings, newest.id))


def _written(path: Path) -> int:
    """Return when a regular file was written, in nanoseconds; -1 where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return -1
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else -1


def _enforced(settings: Settings, report: str) -> str:
    try:
        pointer = read_report(settings.reports_dir, report).get("pointer")
    except DatumError:
        return ""
    after = pointer.get("after") if isinstance(pointer, dict) else None
    accepted = after.get("accepted") if isinstance(after, dict) else None
    return accepted if isinstance(accepted, str) else ""


def require_contact(settings: Settings) -> None:
    """Make sure that a host without a pointer may make first contact in this pass.

    Raises:
        SettingsError: `not-enrolled`: nothing pins what it may trust.
        StateError: `state-lost`: it was enrolled before.
    """
    if settings.anchor is None or settings.is_offline:
        raise not_enrolled(settings)
    lost = lost_state(settings)
    if lost is not None:
        raise StateError(_lost(settings, lost))


def _lost(settings: Settings, lost: Lost) -> Diagnostic:
    enforced = _commit(lost.enforced)
    known = f" It had accepted {lost.enforced}." if enforced else ""
    return Diagnostic(
        code="state-lost",
        summary="The state of this host is lost.",
        detail=f"There is no pointer at {settings.pointer_path}, and {lost.report} tells of a pass: this is no first "
        f"contact.{known} What was enforced may still be on the host, and the floor against older revisions is gone.",
        hint="restore the pointer from a backup; or enrol the host anew, from what it had accepted on: "
        + enrol_line(settings, anchor=enforced or str(settings.anchor and settings.anchor.commit)),
        location=SourceLocation(str(settings.pointer_path)),
    )


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
