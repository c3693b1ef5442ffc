"""Whether what lies on the disk of a unit is what the service manager has loaded. Pure."""

from typing import Final

from datum.model.observation import NotApplicable
from datum.provider.manager import UnitFacts

NO_MANAGER: Final = NotApplicable("no-manager")

DOWN: Final = frozenset({"inactive", "failed"})
"""States of a unit of which nothing runs, and nothing waits to be started."""

CURRENT: Final = "current"
STALE: Final = "stale"

# What the manager says of a unit whose files it read and does not take: nothing of them is in effect.
_REFUSED: Final = frozenset({"bad-setting", "error"})


def loaded_state(*units: UnitFacts) -> str:
    """Return the value of `loaded` of units that are one thing; `bad-setting` or `error` where one was not taken."""
    refused = next((facts.load for facts in units if facts.load in _REFUSED), None)
    if refused is not None:
        return refused
    is_stale = any(facts.needs_daemon_reload or facts.load == "not-found" for facts in units)
    return STALE if is_stale else CURRENT
