"""The anchor: the commit that what is accepted first has to be, or to descend from (design 3.5). Reads the mirror."""

from typing import Final

from attrs import evolve

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryError, RevisionRefusedError
from datum.model.revision import Revision
from datum.repository.mirror import Mirror

ADVICE: Final = (
    "find out whether the repository is the right one, and whether the branch was rewritten; correct the anchor "
    "(trust.anchor, --anchor) only by a clone that you trust"
)
_NEARER: Final = "pin a later commit as the anchor (trust.anchor, --anchor), taken from a clone that you trust"


def require_anchored(mirror: Mirror, revision: Revision, anchor: Revision | None) -> None:
    """Refuse a first revision that neither is the anchor nor descends from it; without an anchor nothing is refused.

    Raises:
        RevisionRefusedError: `not-anchored`, with what both commits say of themselves; or `descent-too-long`.
    """
    if not is_anchored(mirror, revision, anchor):
        raise RevisionRefusedError(
            Diagnostic(
                code="not-anchored",
                summary="The revision is refused.",
                detail=f"{revision}: {unanchored(mirror, revision, anchor)}",
                hint=ADVICE,
            )
        )


def is_anchored(mirror: Mirror, revision: Revision, anchor: Revision | None) -> bool:
    """Whether a revision is the anchor or descends from it.

    Raises:
        RevisionRefusedError: `descent-too-long`: it descends from too far away for a proof.
    """
    if anchor is None or revision == anchor:
        return True
    try:
        return mirror.is_descendant(revision, anchor)
    except RevisionRefusedError as error:
        # Nothing is accepted yet that a commit between both could follow.
        raise RevisionRefusedError(*(evolve(item, hint=_NEARER) for item in error.diagnostics)) from error


def unanchored(mirror: Mirror, revision: Revision, anchor: Revision | None) -> str:
    """Return the sentences on a revision that does not descend from the anchor."""
    return (
        "It neither is the anchor that this host pins nor descends from it. "
        f"Offered: {evidence(mirror, revision)}. Anchor: {evidence(mirror, anchor) if anchor else 'none'}."
    )


def evidence(mirror: Mirror, revision: Revision) -> str:
    """Return what a commit says of itself; its id alone where it is not there."""
    try:
        found = mirror.describe(revision)
    except RepositoryError:
        return f"{revision.commit} (not in the repository)"
    return f"{revision.commit} '{found.subject}' by {found.committer}, {found.committed_at}"
