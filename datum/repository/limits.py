"""What is too large to be read from a fleet repository. Pure."""

from typing import Final

from datum.diagnostics import Diagnostic
from datum.errors import FleetError

OBJECT_LIMIT: Final = 256 << 20
"""Bytes of one file, folder or commit; what is larger is read by no part of datum."""


def too_large(what: str, size: int) -> FleetError:
    """Return the error on an object that no pass reads."""
    return FleetError(
        Diagnostic(
            code="object-too-large",
            summary="A file of the repository is too large.",
            detail=f"{what} has {size} bytes; at most {OBJECT_LIMIT} are read.",
            hint="Keep large artefacts out of the fleet repository.",
        )
    )
