"""Enable, disable and mask where there is no service manager: systemctl on the unit files alone. Changes the host."""

from typing import Final

from datum.model.plan import Change
from datum.model.result import FailureCause
from datum.provider.host import Command, HostError, HostWriter
from datum_providers.service.desired import MASKED, DesiredService
from datum_providers.shared.unit_files import UnitFiles

_TIMEOUT: Final = 60.0


def set_on_disk(writer: HostWriter, desired: DesiredService, change: Change | None) -> None:
    """Change the links that say what is started at boot; what runs is nobody's here.

    Raises:
        HostError: the root has no systemctl, or that failed; or something else than that was asked for.
    """
    if change is None:
        raise HostError(
            f"There is no service manager, so nothing can be done to {desired.unit.full} that runs.",
            failure=FailureCause.IMPOSSIBLE,
        )
    name = UnitFiles(writer).real_name(desired.unit)
    if change.before == MASKED:
        systemctl(writer, "unmask", desired.unit.full)
    if change.after is True:
        systemctl(writer, "enable", name)
        return
    if change.before not in (None, MASKED):
        systemctl(writer, "disable", name)
    if change.after == MASKED:
        systemctl(writer, "mask", desired.unit.full)


def systemctl(writer: HostWriter, verb: str, name: str) -> None:
    """Run systemctl on the unit files of this root.

    Raises:
        HostError: it is not there, or failed.
    """
    # Without --root it would ask a manager, which below another root is that of another system.
    writer.run(Command(("systemctl", "--root=/", verb, name), _TIMEOUT))
