"""Names of units that are for the agent alone: those that run passes, and those of which it has none yet. Pure."""

from typing import Final

SERVICE: Final = "datum.service"
TIMER: Final = "datum.timer"
BOOT_TIMER: Final = "datum-boot.timer"
SHIPPED: Final = (SERVICE, TIMER, BOOT_TIMER)
"""All that run passes; `datum.timer` brings `datum-boot.timer` along when it is enabled or disabled."""

RESERVED: Final = ("datum-notify.service", "datum-lifeline.service")
"""Names that no other unit may take: of what tells people of passes, and of what undoes a change that shut them out."""

_STEMS: Final = tuple(name.rpartition(".")[0] for name in RESERVED)


def is_reserved(stem: str) -> bool:
    """Whether a unit would stand in for a reserved one, start it or change it.

    Args:
        stem: its name without its suffix, of whatever kind it is: a timer starts the service of its name. One that ends
            with `-` is that of drop-ins for all that begin so.
    """
    return stem.partition("@")[0] in _STEMS or (stem.endswith("-") and any(name.startswith(stem) for name in _STEMS))
