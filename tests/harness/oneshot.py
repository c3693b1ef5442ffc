"""A fresh root of a real Debian in milliseconds: no service manager, thrown away after use."""

from collections.abc import Sequence
from typing import Final

from tests.harness import image
from tests.harness.machine import Machine
from tests.harness.network import Network
from tests.harness.spec import Bind

NAME: Final = "oneshot"


class Oneshot(Machine):
    """Own mount, process, IPC, name and network namespaces over a clean copy of the image.

    It lives, and keeps what commands did to its files, until it is closed. ``/run`` and ``/tmp``
    lie on its disk, so ``changes()`` shows what is left there too.
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
        """Make one.

        ``size`` limits its disk, and ``lossy`` lets ``cut`` lose what is not synced; ``suite`` says which Debian.
        It is on ``network`` where that is given, at the place of its name.
        """
        super().__init__(
            binds=binds, size=size, name=name, lossy=lossy, with_systemd=False, suite=suite, network=network
        )
