"""A Debian host booted by its own systemd, in about half a second."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.harness import image
from tests.harness.machine import HostError, Machine
from tests.harness.network import Network
from tests.harness.spec import Bind

NAME: Final = "booted"
BOOT_SECONDS: Final = 60.0


class Booted(Machine):
    """systemd as process 1, with a disk and a network that survive a reboot.

    ``/run`` is a tmpfs as everywhere; the disk shows all that the boot itself wrote, so compare
    ``changes()`` of before and after.
    """

    def __init__(
        self,
        *,
        binds: Sequence[Bind] = (),
        size: str = "2g",
        name: str = NAME,
        lossy: bool = False,
        suite: str = image.SUITE,
        network: Network | None = None,
    ) -> None:
        """Boot one and wait until it runs.

        ``size`` limits its disk, and ``lossy`` lets ``cut`` lose what is not synced; ``suite`` says which Debian.
        It is on ``network`` where that is given, at the place of its name.
        """
        super().__init__(
            binds=binds, size=size, name=name, lossy=lossy, with_systemd=True, suite=suite, network=network
        )
        try:
            self._await_booted()
        except BaseException:
            self.close()
            raise

    def boot_id(self) -> str:
        """Return the kernel's name for this boot; every boot has another."""
        return self.read("/proc/sys/kernel/random/boot_id").decode().strip()

    def reboot(self) -> None:
        """Reboot in good order, and wait until the host runs again."""
        self.run(["systemctl", "--no-block", "reboot"])
        self._await_up(BOOT_SECONDS)
        self._await_booted()

    def power_off(self) -> None:
        """Shut the host down in good order; its disk stays, for ``start``."""
        self.run(["systemctl", "--no-block", "poweroff"])
        self._await_down(BOOT_SECONDS)

    def start(self) -> None:
        """Switch the host on again with the disk that it had, and wait until it runs."""
        super().start()
        self._await_booted()

    def _await_booted(self) -> None:
        socket = Path(f"/proc/{self.init.pid}/root/run/systemd/private")
        end = time.monotonic() + BOOT_SECONDS
        while not socket.is_socket():
            if time.monotonic() > end:
                raise HostError(f"{self._spec.name} does not boot:\n{self.console()}")
            time.sleep(0.005)
        done = self.run(["systemctl", "is-system-running", "--wait"], check=False)
        if done.stdout.strip() != "running":
            raise HostError(f"{self._spec.name} is {done.stdout.strip()}:\n{self._failed()}")

    def _failed(self) -> str:
        """Return the units that failed, and the console."""
        listed = ""
        with contextlib.suppress(HostError):
            listed = self.run(["systemctl", "list-units", "--failed", "--plain"]).stdout
        return listed + self.console()
