"""The text of files of the repository, put beside the changes that would write them, for the diff. Pure."""

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from datum.diagnostics import SourceLocation
from datum.errors import FleetError, RepositoryError
from datum.model.content import Content
from datum.model.graph import ResourceGraph
from datum.model.plan import Action, Change, Plan
from datum.model.source import SourceTree

TEXT_LIMIT: Final = 64 << 10
"""Bytes; a larger file is shown by its object id."""

DIFF_LIMIT: Final = 20
"""Changes of one resource that are shown as diffs; a folder may have thousands."""

TOLD_LIMIT: Final = 200
"""Resources whose changes are shown as diffs: nobody reads ten thousand, and each report would hold them."""


def illustrate(plan: Plan, tree: SourceTree, graph: ResourceGraph) -> Plan:
    """Return the plan with `after_text` filled in where a change names a blob of the tree.

    Raises:
        FleetError: such a blob is no file's content: a pointer of git LFS (design 3.1).
    """
    actions: list[Action] = []
    told = 0
    for action in plan.actions:
        bare = [index for index, change in enumerate(action.changes) if _is_bare(change)][:DIFF_LIMIT]
        told += bool(bare)
        actions.append(_illustrate(action, bare, tree, graph, is_told=told <= TOLD_LIMIT) if bare else action)
    return evolve(plan, actions=tuple(actions))


def _illustrate(
    action: Action, bare: Sequence[int], tree: SourceTree, graph: ResourceGraph, *, is_told: bool
) -> Action:
    """Fill in the texts of these changes; where they are not told, see only that each is a file's content."""
    changes = list(action.changes)
    try:
        for index in bare:
            changes[index] = _fill(changes[index], tree, is_told=is_told)
    except FleetError as error:
        wanted = (f"{action.resource} wants it", _place(action, graph))
        raise FleetError(*(evolve(item, related=(*item.related, wanted)) for item in error.diagnostics)) from error
    return evolve(action, changes=tuple(changes)) if is_told else action


def _place(action: Action, graph: ResourceGraph) -> SourceLocation:
    """Return where the file is named; where the resource stands, if the field has no place of its own."""
    resource = graph.nodes[action.resource].resource
    origin = resource.origins.get("source")
    return origin.winner.location if origin else resource.location


def _is_bare(change: Change) -> bool:
    """Whether its text lies in the repository, and somebody wants to see it: what is new in a folder is only named."""
    is_new_part = change.before is None and change.name.startswith("./")
    return bool(change.after_blob) and change.after_text is None and not (change.sensitive or is_new_part)


def _fill(change: Change, tree: SourceTree, *, is_told: bool) -> Change:
    try:
        with tree.open_blob(change.after_blob) as stream:
            if not is_told:
                return change
            data = stream.read(TEXT_LIMIT + 1)
    except RepositoryError:
        return change
    return evolve(change, after_text=as_text(data))


def text_of(tree: SourceTree, content: Content) -> str | None:
    """Return what a content says, whether or not its bytes lie in the tree; None for what people could not read."""
    if content.inline is not None:
        return as_text(content.inline)
    try:
        with tree.open_blob(content.blob) as stream:
            return as_text(stream.read(TEXT_LIMIT + 1))
    except (FleetError, RepositoryError):
        return None


def as_text(data: bytes) -> str | None:
    """Return bytes as the text that people may see, None for what is binary or too large."""
    if len(data) > TEXT_LIMIT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
