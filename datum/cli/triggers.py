"""Who asked for this command: a unit of systemd, which says so, or a person. Effects: the process's own credentials."""

import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from datum.model.trigger import Trigger, TriggerKind

VARIABLE: Final = "DATUM_TRIGGER"
"""Set by the units that begin passes."""

BOOT_TIMER: Final = "datum-boot.timer"
"""The timer that begins the pass at boot; it starts the same service as the regular one."""

_BY_UNITS: Final = {str(kind): kind for kind in (TriggerKind.TIMER, TriggerKind.BOOT)}
_NAME: Final = re.compile(r"[\w.@\\-]{1,64}")
_NOBODY: Final = (1 << 32) - 1
"""The login uid of what no login began (proc_pid_loginuid(5))."""


def read_trigger(environment: Mapping[str, str], *, loginuid: Path = Path("/proc/self/loginuid")) -> Trigger:
    """Return who asks: what a unit says of itself, else the person.

    That is who called sudo, else who logged in, else the user of this process; by name, or by number where there is
    no name. Whoever starts the unit by hand is an operator whom nobody knows.

    Args:
        environment: of this process.
        loginuid: where the kernel says who logged in.
    """
    kind = _BY_UNITS.get(environment.get(VARIABLE, ""))
    if kind is not None:
        return Trigger(_of_unit(kind, environment))
    called = environment.get("SUDO_USER", "")
    if os.geteuid() == 0 and _NAME.fullmatch(called):
        return Trigger(TriggerKind.OPERATOR, called)
    uid = _logged_in(loginuid)
    return Trigger(TriggerKind.OPERATOR, _name_of(os.getuid() if uid is None else uid))


def _of_unit(kind: TriggerKind, environment: Mapping[str, str]) -> TriggerKind:
    """Return what began a unit: its timer is named by systemd, since 252, and none where there was none.

    See systemd.exec(5), TRIGGER_UNIT and SYSTEMD_EXEC_PID: the latter says that this process is what systemd began.
    """
    timer = environment.get("TRIGGER_UNIT", "")
    if timer == BOOT_TIMER:
        return TriggerKind.BOOT
    is_by_hand = not timer and environment.get("SYSTEMD_EXEC_PID") == str(os.getpid())
    return TriggerKind.OPERATOR if is_by_hand else kind


def _logged_in(path: Path) -> int | None:
    """Return who logged in; None where nobody did, or the kernel does not tell."""
    try:
        uid = int(path.read_text())
    except (OSError, ValueError):
        return None
    return None if uid == _NOBODY else uid


def _name_of(uid: int) -> str:
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
    return name if _NAME.fullmatch(name) else str(uid)
