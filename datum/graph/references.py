"""What is said of a reference that names nothing, whichever field it stands in. Pure."""

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.manifest import Resource


def unresolved(resource: Resource, says: str, location: SourceLocation | None) -> Diagnostic:
    """Return the error for a reference to what nothing of this host declares.

    Args:
        resource: whose declaration refers to it.
        says: how, and to what: `guards file:/etc/motd`.
        location: where.
    """
    return Diagnostic(
        location=location,
        code="unresolved-reference",
        summary="A reference names nothing.",
        detail=f"{resource.id} {says}, which this host does not declare.",
        resource=str(resource.id),
    )
