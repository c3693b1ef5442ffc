"""What cannot be looked at because a link stands where a directory will be: it is not there once that is made. Pure."""

from collections.abc import Container

from datum.model.graph import Node
from datum.model.observation import Absent, Cause, Observation, Scope, Unobservable
from datum.provider.paths import parents


def foreseen_absent(node: Node, observation: Observation, folders: Container[str]) -> Absent | None:
    """Return what a resource is in directories that are made anew; None where that is not known.

    Args:
        node: wanted; what is to be absent is not foreseen.
        observation: as things are.
        folders: paths of directories that are made where something else stands.
    """
    if not isinstance(observation, Unobservable) or observation.scope is not Scope.RESOURCE:
        return None
    if observation.cause is not Cause.LOOP or node.resource.absent:
        return None
    above = folders_of(node)
    if not above or any(folder not in folders for folder in above):
        return None
    # As a reader answers for a path in a directory that is not there.
    return Absent({"missing_parent": above[0]})


def folders_of(node: Node) -> tuple[str, ...]:
    """Return the directories that the paths of a resource lie in, but for what lies in one of its own."""
    paths = {target.key for target in node.targets if target.kind == "path"}
    return tuple(parents(path)[0] for path in sorted(paths) if path != "/" and paths.isdisjoint(parents(path)))
