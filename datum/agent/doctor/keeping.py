"""What datum keeps on this host: state directory, pointer, mirror, quarantined revisions, the lock.

Effects: reads the state directory.
"""

import os
import stat
from collections.abc import Iterator
from typing import Final

from attrs import evolve, frozen

from datum.agent.doctor.clock import span
from datum.agent.doctor.disk import size
from datum.agent.doctor.finding import Facts, Finding, State, counted, fault, from_diagnostics, not_checked, ok, warning
from datum.agent.doctor.given import Given
from datum.agent.doctor.shelter import is_refusal, without_rights
from datum.agent.first_contact import unenrolled
from datum.agent.hints import init_line
from datum.agent.wiring import enrol_line, own_pointer
from datum.errors import PermissionRefusedError, SettingsError, StateError
from datum.model.pointer import Pointer
from datum.model.revision import Revision
from datum.repository.mirror import MAX_PACKS, Mirror
from datum.repository.store import find_leftovers, is_store, pack_count, store_size
from datum.state.lock import LOCK
from datum.state.pointer_file import check_binding, read_pointer
from datum.state.progress import RUN, Progress, read_progress
from datum.state.transitions import unseal
from datum.state.turns import is_held

# Seconds after which whoever holds the lock deserves a look.
_LONG: Final = 3600
_TRAIL_LONG: Final = 32
_LOOK: Final = "datum status"


@frozen
class Kept:
    """What reading the pointer gave."""

    finding: Finding
    pointer: Pointer | None = None
    # Whether it was read, or is known not to be there.
    is_known: bool = False


def read_kept(given: Given) -> Kept:
    """Read the pointer, and judge it."""
    path = given.state_dir / "pointer.json"
    try:
        pointer = own_pointer(given.settings) if given.settings else read_pointer(path)
    except (PermissionRefusedError, StateError) as error:
        if is_refusal(error) and not given.is_root:
            return Kept(without_rights("pointer", what=str(path)))
        return Kept(from_diagnostics("pointer", State.FAULT, error.diagnostics, {"path": str(path)}))
    if pointer is None:
        if given.settings is not None and isinstance(lost := unenrolled(given.settings), StateError):
            return Kept(from_diagnostics("pointer", State.FAULT, lost.diagnostics, {"path": str(path)}), is_known=True)
        line = enrol_line(given.settings) if given.settings else init_line("URL", "NAME", given.where)
        missing = evolve(
            fault("pointer", f"There is no pointer at {path}: this host is not enrolled.", line),
            codes=("not-enrolled",),
        )
        return Kept(missing, is_known=True)
    return Kept(_judge(given, pointer), pointer, is_known=True)


def _judge(given: Given, pointer: Pointer) -> Finding:
    facts = pointer_facts(pointer)
    settings = given.settings
    if settings is not None:
        bound = unseal(pointer, settings.host) if given.is_running_system else pointer
        try:
            check_binding(bound, None, settings.host)
        except SettingsError as error:
            return from_diagnostics("pointer", State.FAULT, error.diagnostics, facts)
    return judge_pointer(pointer, is_running_system=given.is_running_system)


def pointer_facts(pointer: Pointer) -> Facts:
    """Return what a pointer says."""
    enforced = pointer.enforced
    return {
        "fleet": pointer.fleet,
        "host": str(pointer.host),
        "accepted": _key(pointer.accepted),
        "enforced": _key(enforced.revision if enforced else None),
        "converged": _key(pointer.converged),
        "trail": len(pointer.trail),
        "is_sealed": pointer.sealed,
    }


def _key(revision: Revision | None) -> str | None:
    return revision.key if revision else None


def judge_pointer(pointer: Pointer, *, is_running_system: bool) -> Finding:
    """Say what a pointer that can be used says of this host."""
    facts = pointer_facts(pointer)
    enforced = pointer.enforced
    if pointer.trial is not None:
        text = f"The trial of {pointer.trial.short} is not confirmed, and no pass confirmed or undid it yet."
        return warning("pointer", text, "datum apply", facts)
    if len(pointer.trail) > _TRAIL_LONG:
        text = f"{len(pointer.trail)} revisions may still have something on this host; of 64 the oldest is dropped."
        return warning("pointer", text, "datum orphans says what keeps them", facts)
    if enforced is None:
        return ok("pointer", "This host is enrolled, and nothing is enforced yet.", facts)
    sealed = (
        " It was written below another root; the next pass here unseals it."
        if pointer.sealed and is_running_system
        else ""
    )
    return ok("pointer", f"Of this host and fleet; {enforced.revision.short} is enforced.{sealed}", facts)


def look_at_quarantined(given: Given) -> Iterator[Finding]:
    """List what is never a target again."""
    pointer = given.pointer
    if pointer is None:
        yield not_checked("quarantined-revisions", "There is no pointer that can be used.")
    elif pointer.quarantined:
        names = tuple(revision.key for revision in pointer.quarantined)
        shown = ", ".join(revision.short for revision in pointer.quarantined)
        cure = "let a revision follow that mends what they broke"
        yield warning("quarantined-revisions", f"Quarantined here: {shown}.", cure, {"revisions": names})
    else:
        yield ok("quarantined-revisions", "None.")


def look_at_directory(given: Given) -> Iterator[Finding]:
    """Look at the state directory itself."""
    folder = given.state_dir
    try:
        status = folder.stat()
    except FileNotFoundError:
        yield not_checked("state-directory", f"{folder} does not exist: nothing was kept here yet.")
        return
    facts: Facts = {"path": str(folder), "mode": f"{stat.S_IMODE(status.st_mode):04o}", "uid": status.st_uid}
    if not stat.S_ISDIR(status.st_mode):
        yield fault("state-directory", f"{folder} is no directory.", f"mv {folder} {folder}.aside", facts)
        return
    yield judge_directory(str(folder), status, facts, frozenset({0, os.geteuid()}))


def judge_directory(folder: str, status: os.stat_result, facts: Facts, owners: frozenset[int]) -> Finding:
    """Say whether somebody else can put another pointer or mirror there."""
    group = 0 if status.st_gid in {0, os.getegid()} else stat.S_IWGRP
    if status.st_uid not in owners or status.st_mode & (stat.S_IWOTH | group):
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        text = f"{folder} has mode {mode} and is of the user {status.st_uid}: others can exchange what is in it."
        return fault("state-directory", text, f"find out who did; then chown root {folder}; chmod go-w {folder}", facts)
    return ok("state-directory", f"{folder}, which nobody else can write.", facts)


@frozen
class MirrorFacts:
    """What lies in the mirror."""

    is_there: bool
    packs: int = 0
    bytes: int = 0
    # Files that a dead process left.
    leftovers: tuple[str, ...] = ()
    # Revisions that the pointer names and the mirror has not, or not whole.
    missing: tuple[str, ...] = ()
    is_busy: bool = False


def look_at_mirror(given: Given) -> Iterator[Finding]:
    """Look at the mirror: the revisions that the pointer names, and what dead processes left."""
    folder = given.state_dir / "mirror.git"
    if not is_store(folder):
        yield judge_mirror(MirrorFacts(is_there=False), has_pointer=given.pointer is not None)
        return
    missing: tuple[str, ...] = ()
    if given.pointer is not None and given.reader_error is None:
        # Never used as a context: it has nothing to discard, and would write.
        mirror = Mirror(given.state_dir, given.ports.run, open_objects=given.ports.manifests.objects)
        missing = tuple(one.short for one in named_revisions(given.pointer) if not mirror.is_sound([one]))
        mirror.discard()
    leftovers = tuple(find_leftovers(folder))
    if (given.state_dir / "quarantine").exists():
        leftovers += ("quarantine",)
    found = MirrorFacts(
        is_there=True,
        packs=pack_count(folder),
        bytes=store_size(folder),
        leftovers=leftovers,
        missing=missing,
        is_busy=is_held(given.state_dir / LOCK),
    )
    yield judge_mirror(found, has_pointer=given.pointer is not None)


def named_revisions(pointer: Pointer) -> tuple[Revision, ...]:
    """Return what a pointer names and a pass may read."""
    trail = [entry.revision for entry in pointer.trail]
    return tuple(dict.fromkeys(one for one in (*trail, pointer.accepted, pointer.previous) if one is not None))


def judge_mirror(found: MirrorFacts, *, has_pointer: bool) -> Finding:
    """Say whether the mirror can be enforced from; a cache costs time only, so nothing of it is a fault."""
    if not found.is_there:
        if not has_pointer:
            return not_checked("mirror", "There is none yet; the first contact makes it.")
        text = "There is no mirror: while the source cannot be reached nothing can be enforced."
        return warning("mirror", text, "datum apply fetches it anew")
    facts: Facts = {
        "packs": found.packs,
        "bytes": found.bytes,
        "leftovers": found.leftovers,
        "missing_revisions": found.missing,
    }
    held = f"{counted(found.packs, 'pack')}, {size(found.bytes)}"
    if found.missing:
        text = f"{', '.join(found.missing)} {_are(found.missing)} not whole in the mirror ({held})."
        return warning("mirror", text, "datum apply fetches anew what the source still has", facts)
    if found.leftovers and not found.is_busy:
        text = f"A dead process left {counted(len(found.leftovers), 'file')} in the mirror ({held})."
        return warning("mirror", text, "datum apply removes them", facts)
    if found.packs > MAX_PACKS:
        text = f"The mirror has {held}, and was to be repacked at more than {MAX_PACKS}."
        return warning("mirror", text, "make room; the next fetch tries again", facts)
    return ok("mirror", f"Sound: {held}.", facts)


def _are(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"


def look_at_lock(given: Given) -> Iterator[Finding]:
    """Look who holds the lock, and for how long."""
    if not (given.state_dir / RUN).exists():
        yield ok("pass-lock", "No pass runs.")
        return
    progress = read_progress(given.state_dir)
    is_taken = is_held(given.state_dir / LOCK)
    yield judge_lock(progress, is_taken=is_taken, now=given.ports.monotonic())


def judge_lock(progress: Progress | None, *, is_taken: bool, now: float) -> Finding:
    """Say who holds the lock.

    Args:
        progress: of the pass that runs.
        is_taken: whether somebody holds the lock, shown or not.
        now: seconds on the monotonic clock.
    """
    if progress is None:
        found = "Somebody holds it, and does not show what for." if is_taken else "No pass runs."
        return ok("pass-lock", found, {"is_held": is_taken})
    lasted = max(now - progress.started, 0)
    facts: Facts = {"is_held": True, "pid": progress.pid, "stage": progress.stage, "seconds": round(lasted)}
    doing = f"{progress.stage} {progress.action}".strip()
    text = f"The pass of process {progress.pid} has held it for {span(lasted)}: {doing}."
    if lasted > _LONG:
        return warning(
            "pass-lock",
            text,
            f"look at what it does: {_LOOK}{'' if not progress.pid else f'; ps -p {progress.pid}'}",
            facts,
        )
    return ok("pass-lock", text, facts)
