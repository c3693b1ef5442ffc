"""Names of units that are for the agent alone, and that it has none of yet. Pure."""

from typing import Final

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
