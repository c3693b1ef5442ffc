"""Carry out one step on one mount: fstab, then the manager, then what is mounted. Changes the host."""

from typing import Final

from attrs import evolve

from datum.model.content import Content
from datum.model.plan import Operation, Step, sweeps
from datum.model.result import FailureCause
from datum.provider.host import Command, DirectoryWrite, FileFacts, FileKind, FileWrite, HostError, HostWriter
from datum_providers.mount.busy import users_of
from datum_providers.mount.desired import DesiredMount
from datum_providers.mount.devices import topmost
from datum_providers.mount.fstab import FSTAB, FstabEntry, first_of, with_entry, without_point
from datum_providers.mount.look import read_fstab
from datum_providers.mount.options import is_bind, remount_options
from datum_providers.mount.steps import exchanges, remounts

TIMEOUT: Final = 150.0
"""Seconds: mount.nfs(8) tries for two minutes."""

_LINE: Final = frozenset({"persistent", "source", "fstype", "options", "dump", "pass"})
# Exit code of umount(8): it was refused.
_FAILED: Final = 32
_STACK: Final = 16


def apply_mount(writer: HostWriter, desired: DesiredMount, step: Step) -> None:
    """Do the step.

    systemd must have read a changed fstab before anything is mounted or unmounted, or it may undo it (systemd 3568).

    Raises:
        HostError: it failed.
    """
    if step.operation is Operation.DELETE:
        _remove(writer, desired, step)
        return
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        writer.remove_residue(FSTAB)
    if changed & _LINE:
        _write_line(writer, desired)
    manager = writer.manager()
    # Without one nothing of what runs is ours, below another root least of all: there the line is all.
    if manager is not None and changed != {"residue"}:
        manager.daemon_reload()
        _follow(writer, desired, step)


def _follow(writer: HostWriter, desired: DesiredMount, step: Step) -> None:
    """Have what is mounted follow the declaration."""
    mounted = next((change.after for change in step.changes if change.name == "mounted"), None)
    is_exchanged = exchanges(desired, step)
    if mounted is False or is_exchanged:
        _unmount(writer, desired.point)
    if mounted is True or is_exchanged:
        _mount(writer, desired)
    elif remounts(desired, step):
        _run_mount(writer, desired, remount_options(_options(writer, desired), desired.fstype or ""))


def _remove(writer: HostWriter, desired: DesiredMount, step: Step) -> None:
    """Unmount all that is stacked on the point, then drop its lines: a busy file system leaves everything as it was."""
    if sweeps(step.changes):
        writer.remove_residue(FSTAB)
        return
    if writer.manager() is not None:
        for _ in range(_STACK):
            if topmost(writer.mount_entries(), desired.point) is None:
                break
            _unmount(writer, desired.point)
    _edit(writer, desired, None)
    _reload(writer)


def _write_line(writer: HostWriter, desired: DesiredMount) -> None:
    _, data = read_fstab(writer)
    old = first_of(data, desired.point)
    _edit(writer, desired, _entry(desired, old) if desired.persistent else None)


def _entry(desired: DesiredMount, old: FstabEntry | None) -> FstabEntry:
    """Return the line that is wanted; what is not declared is as it was."""
    base = old if old is not None else FstabEntry("", desired.point, "")
    return evolve(
        base,
        point=desired.point,
        source=desired.source if desired.source is not None else base.source,
        fstype=desired.fstype if desired.fstype is not None else base.fstype,
        options=desired.options if desired.options is not None else base.options,
        dump=desired.dump if desired.dump is not None else base.dump,
        passno=desired.passno if desired.passno is not None else base.passno,
    )


def _edit(writer: HostWriter, desired: DesiredMount, wanted: FstabEntry | None) -> None:
    """Write fstab with or without the line."""
    facts, data = read_fstab(writer)
    after = without_point(data, desired.point) if wanted is None else with_entry(data, wanted)
    if after != data:
        mode = facts.mode if isinstance(facts, FileFacts) else None
        writer.write_file(FSTAB, FileWrite(Content.from_bytes(after), mode))


def _reload(writer: HostWriter) -> None:
    manager = writer.manager()
    if manager is not None:
        manager.daemon_reload()


def _mount(writer: HostWriter, desired: DesiredMount) -> None:
    _make_point(writer, desired)
    _run_mount(writer, desired, _options(writer, desired))


def _options(writer: HostWriter, desired: DesiredMount) -> tuple[str, ...]:
    """Return the options that are declared, else those of fstab."""
    if desired.options is not None or not desired.persistent:
        return desired.options or ()
    line = first_of(read_fstab(writer)[1], desired.point)
    return line.options if line is not None else ()


def _make_point(writer: HostWriter, desired: DesiredMount) -> None:
    """Make the mount point, a directory, or a file where one is shown there; say what it hides."""
    facts = writer.examine(desired.point)
    if isinstance(facts, FileFacts):
        if facts.kind is FileKind.DIRECTORY and writer.list_directory(desired.point):
            writer.remark(f"What lies in the directory {desired.point} is hidden by what is mounted there now.")
        return
    path = desired.source or ""
    source = writer.examine(path) if desired.is_bind and path.startswith("/") else None
    if isinstance(source, FileFacts) and source.kind is FileKind.REGULAR:
        writer.write_file(desired.point, FileWrite(Content.from_bytes(b"")))
    else:
        writer.make_directory(desired.point, DirectoryWrite())


def _run_mount(writer: HostWriter, desired: DesiredMount, options: tuple[str, ...]) -> None:
    """Run mount(8) with everything said, so that it reads nothing of it out of fstab."""
    if desired.source is None or desired.fstype is None:
        raise HostError(f"Nothing says what is to be mounted on {desired.point}.", failure=FailureCause.IMPOSSIBLE)
    words = tuple(option for option in options if not _is_unknown_to_mount(option))
    kind = () if is_bind(options) or "remount" in options else ("-t", desired.fstype)
    chosen = ("-o", ",".join(words)) if words else ()
    writer.run(Command(("mount", *kind, *chosen, "--", desired.source, desired.point), TIMEOUT))


def _is_unknown_to_mount(option: str) -> bool:
    """Whether an option says when fstab is followed, and nothing of the mount."""
    return option in {"auto", "noauto", "fail", "nofail"} or option.startswith(("x-systemd.", "comment="))


def _unmount(writer: HostWriter, point: str) -> None:
    """Unmount what is on top; never lazily, since what is in use would go on unseen.

    The path is not looked up by umount(8), which would wait for a server or a program that does not answer.
    """
    argv = ("umount", "--no-canonicalize", "--", point)
    done = writer.run(Command(argv, TIMEOUT, success=frozenset({0, _FAILED})))
    if done.exit_code == _FAILED:
        words = done.stderr.decode("utf-8", "replace").strip()
        is_busy = "busy" in words
        used = users_of(writer, point) if is_busy else ""
        raise HostError(
            f"'{point}' cannot be unmounted: {words}. {used}".rstrip(),
            code="program-failed",
            failure=FailureCause.BUSY if is_busy else FailureCause.OTHER,
            hint="end what uses it" if is_busy else "",
            summary="A program failed.",
        )
