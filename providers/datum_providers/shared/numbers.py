"""Numbers of accounts that a manifest gives, and those that the tools choose. Pure."""

from collections.abc import Iterator

from datum.model.graph import DependencyKind, Target
from datum.provider.contract import ImplicitEdge, TargetIndex


def after_the_numbered(index: TargetIndex, space: str) -> Iterator[ImplicitEdge]:
    """Yield the edges of an account without a number to all that have one, so that it gets none of theirs.

    Args:
        index: of the graph.
        space: `uid` or `gid`.
    """
    for key in index.keys(space):
        holder = index.holder(Target(space, key))
        if holder is not None:
            yield ImplicitEdge(holder, "its number is given", DependencyKind.AFTER, soft=True)
