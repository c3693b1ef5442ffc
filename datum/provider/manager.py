"""The service manager of the running system, as providers see it. Protocols and values only.

Words and values are systemd's: org.freedesktop.systemd1(5). There is a manager only where this root is that of the
running system and systemd is its process 1; everywhere else nothing runs, and nothing is owed (design 4.1).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from attrs import field, frozen

if TYPE_CHECKING:
    from datum.provider.host import HostError

NEEDS_RESTART: Final = "needs-restart"
NEEDS_RELOAD: Final = "needs-reload"


@frozen
class UnitFacts:
    """One unit as the manager has it loaded."""

    # `Id`: its own name; another than the one asked for when that is an alias.
    name: str
    # `Names`, aliases included.
    names: frozenset[str] = frozenset()
    # `LoadState`: loaded, not-found, masked, bad-setting, error. Look at it first: the others say nothing without it.
    load: str = "loaded"
    # The manager's words for a load that failed.
    load_error: str = ""
    # `ActiveState` and `SubState`.
    active: str = "inactive"
    sub: str = "dead"
    # `UnitFileState`: enabled, disabled, static, masked, generated, … ; empty where there is no unit file.
    file_state: str = ""
    # `FragmentPath` and `DropInPaths`.
    fragment: str = ""
    drop_ins: tuple[str, ...] = ()
    # `NeedDaemonReload`: what lies on the disk is not what is loaded.
    needs_daemon_reload: bool = False
    can_start: bool = True
    can_reload: bool = False
    # `InvocationID`, hexadecimal; another one means that it was started anew.
    invocation: str = ""
    # `Markers`; None: this manager has none (systemd before 248).
    marks: frozenset[str] | None = frozenset()
    # `Type`, `RemainAfterExit`, `Result`, `NRestarts`, `User` of a service; empty, False and 0 of other units.
    kind: str = ""
    remains: bool = False
    result: str = ""
    restarts: int = 0
    user: str = ""
    # `StateChangeTimestamp`, microseconds since the epoch; 0: never. Of a reload it is the end.
    changed: int = 0
    # `InactiveExitTimestamp` and `ActiveEnterTimestamp`, likewise: when its last start began, and when it was up.
    began: int = 0
    up_since: int = 0
    # `ExecMainStartTimestamp` of a service, likewise; 0 of other units, and where there was no main process.
    main_started: int = 0
    # `TriggeredBy`: sockets, timers and paths that start it.
    triggered_by: tuple[str, ...] = ()
    # `Triggers`: what this socket, timer or path starts; of a socket with Accept=yes its connections, too.
    triggers: tuple[str, ...] = ()
    # Type of the job that is queued or running for it; empty for none.
    job: str = ""


class ManagerReader(Protocol):
    """Asking. Every method raises `HostError` (cause `database`) when the manager does not answer."""

    def units(self, names: Sequence[str]) -> Mapping[str, UnitFacts]:
        """Return what is loaded under each name, in one conversation; a unit that is not there has load `not-found`.

        A name that systemd does not take has load `error`.
        """
        ...

    def instances(self, template: str) -> tuple[str, ...]:
        """Return the names of the loaded instances of a template, `app@one.service` of `app@.service`, sorted.

        What is not loaded does not run.
        """
        ...

    def journal(self, name: str, *, lines: int) -> str:
        """Return the newest lines of the journal of one unit, oldest first; empty when it cannot be read."""
        ...


class ManagerWriter(ManagerReader, Protocol):
    """Doing. Every method waits for its job and raises `HostError` unless that ended `done`."""

    def start(self, name: str) -> None:
        """Start a unit and wait for the job.

        Raises:
            HostError: `job-failed` with the job's result (`failed`, `dependency`, `timeout`, `canceled`, `skipped`).
        """
        ...

    def stop(self, name: str) -> None:
        """Stop a unit, likewise."""
        ...

    def restart(self, name: str) -> None:
        """Restart a unit, likewise; the manager clears its marks."""
        ...

    def start_socket(self, name: str, services: Sequence[str], *, restart: bool) -> Mapping[str, "HostError"]:
        """Start a socket, or restart it, although services of it run: it cannot be bound while they do.

        All jobs are made at once, and the manager does them in the order of the units: the services stop, the socket
        starts, the services start, however the socket ended. Nothing of that is left to the caller, so that nothing
        stays stopped where he ends in the middle.

        Args:
            name: the socket.
            services: those of its services that run.
            restart: whether the socket is to be stopped first where it is active.

        Returns:
            The failures by unit, as `start` raises them; none where every job ended `done`.
        """
        ...

    def reload(self, name: str) -> None:
        """Reload a unit, likewise; the manager clears `needs-reload` when the job begins, even if it fails."""
        ...

    def reset_failed(self, name: str) -> None:
        """Forget that a unit failed, and how often it was started."""
        ...

    def mark(self, name: str, marks: Collection[str]) -> None:
        """Make these the marks of a unit; it keeps none while it is inactive."""
        ...

    def enable(self, names: Sequence[str]) -> None:
        """Enable unit files for good, as systemctl(1) does; a daemon-reload is the caller's."""
        ...

    def disable(self, names: Sequence[str]) -> None:
        """Disable unit files, likewise."""
        ...

    def mask(self, names: Sequence[str]) -> None:
        """Mask unit files for good, likewise."""
        ...

    def unmask(self, names: Sequence[str]) -> None:
        """Unmask unit files, likewise."""
        ...

    def daemon_reload(self) -> None:
        """Have the manager read all unit files again, and wait for it."""
        ...


@frozen
class MountEntry:
    """One mount as mountinfo has it (proc_pid_mountinfo(5)), octal escapes resolved."""

    # Mount point below this root.
    point: str
    # `nfs4`, `ext4`, `tmpfs`.
    kind: str
    source: str
    # Of this mount: `rw`, `nosuid`, `relatime`.
    options: frozenset[str] = frozenset()
    # Of the file system.
    super_options: frozenset[str] = frozenset()
    # Directory of the file system that is shown: `/` but for bind mounts.
    root: str = "/"
    # `major:minor`.
    device: str = field(default="", eq=False)
