"""What only a running system has: a service manager, kernel keys, mounts. Effects: reads only.

Another root has none of it: there is no manager, no key and no mount, and nothing runs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from datum.host.booted import is_booted
from datum.provider.manager import ManagerReader, MountEntry


class RunningReader(ABC):
    """The part of `HostReader` that looks at what runs."""

    _tell: Callable[[str], None] | None = None
    _is_stopping: Callable[[], bool] | None = None

    def tell_waiting(self, tell: Callable[[str], None] | None) -> None:
        """Have `tell` called with the unit of each scope that is waited for, before that."""
        self._tell = tell

    def heed_stopping(self, is_stopping: Callable[[], bool]) -> None:
        """Have what is waited for ask whether the pass was told to end; then it waits no longer."""
        self._is_stopping = is_stopping

    @property
    @abstractmethod
    def is_running_system(self) -> bool:
        """Whether the root is that of the running system (no `--root`)."""

    def manager(self) -> ManagerReader | None:
        """Return the service manager of the running system; None where systemd is not process 1, or below another root.

        It is not asked yet: each of its methods tells where it does not answer.
        """
        if not self.is_running_system or not is_booted():
            return None
        # jeepney costs milliseconds that a pass without services need not pay
        from datum.host.manager import LocalManagerReader

        return LocalManagerReader()

    def kernel_value(self, path: str) -> bytes | None:
        """Return what stands in a key of the kernel, None if it has no such key, or below another root.

        Raises:
            HostError: see `read_kernel_value`.
        """
        from datum.host.kernel import check_kernel_path, read_kernel_value

        if self.is_running_system:
            return read_kernel_value(path)
        check_kernel_path(path)
        return None

    def mount_entries(self) -> tuple[MountEntry, ...]:
        """Return what is mounted on the running system, in the order of mounting; nothing below another root.

        Raises:
            HostError: there is no readable /proc.
        """
        from datum.host.mounts import mount_entries, read_mountinfo

        return mount_entries(read_mountinfo()) if self.is_running_system else ()

    def await_scope(self, name: str, seconds: float) -> bool:
        """Wait until no program runs in a scope of this name, at most so long; return whether that is so.

        There are none where systemd is not process 1, and below another root.

        Raises:
            HostError: the service manager does not answer (cause `database`).
        """
        if not self.is_running_system or not is_booted():
            return True
        from datum.host.scope import await_scope

        return await_scope(name, seconds, self._tell, self._is_stopping or (lambda: False))
