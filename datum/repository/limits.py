"""What is read whole from a fleet repository, what is streamed, and what is too large. Pure."""

from typing import Final

from datum.diagnostics import Diagnostic
from datum.errors import FleetError

OBJECT_LIMIT: Final = 256 << 20
"""Bytes of what is read whole: a manifest, template, folder or commit. Files that are only copied may be larger."""

WHOLE_LIMIT: Final = 8 << 20
"""Bytes of a file that is read whole to be copied; a larger one is streamed. `gitconfig` has it for git itself."""


def too_large(what: str, size: int) -> FleetError:
    """Return the error on an object that no pass reads whole."""
    return FleetError(
        Diagnostic(
            code="object-too-large",
            summary="A file of the repository is too large to be read whole.",
            detail=f"{what} has {size} bytes; at most {OBJECT_LIMIT} are read.",
            hint="Manifests, templates and folders are read whole and must be small; a `source` may have any size.",
        )
    )
