"""Whether there is a service manager. Effects: one look at /run."""

import os
from typing import Final

_BOOTED: Final = "/run/systemd/system"


def is_booted() -> bool:
    """Whether systemd is process 1 of the running system, as sd_booted(3) tells it."""
    return os.path.isdir(_BOOTED)  # noqa: PTH112 - asked for every observation of every service
