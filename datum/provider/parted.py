"""The part of the contract for what consists of several things that go one after the other. Protocols.

Beside `datum.provider.contract`, whose rules hold here: `is_missing` is pure.
"""

from typing import Protocol, runtime_checkable

from datum.model.plan import Change
from datum.provider.contract import DesiredT, Provider


@runtime_checkable
class PartedProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose removal takes several steps, and whose parts are fields and not paths below it.

    What differs from a declaration by missing parts alone is what a removal that was struck has left: the next pass
    removes the rest (design 4.3).
    """

    def is_missing(self, change: Change) -> bool:
        """Return whether a difference, as `plan` answers it, is a part that is not there."""
        ...
