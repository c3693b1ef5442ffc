"""A value that no log, diff, plan, report, traceback or argv shows. Pure."""

from typing import Final

from attrs import field, frozen

HIDDEN: Final = "(secret)"


@frozen(repr=False, str=False)
class Secret:
    """Bytes that are only ever handed to a provider's `apply`; shown as `(secret)`."""

    reveal: bytes = field(repr=False)

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")
