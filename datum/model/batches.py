"""What is done together: marks, and the actions directly after them that they are for. Pure."""

from collections.abc import Sequence

from attrs import frozen

from datum.model.plan import Action, Operation


@frozen
class Batch:
    """Neighbours of the plan whose turn comes at once."""

    # How many actions stand before the first mark.
    first: int
    # `mark` actions, each of a service that lists something of the group.
    marks: tuple[Action, ...]
    # One action, or all of one transaction; empty where marks stand by themselves: before the restart of their own
    # service, which owes it then, and at the end.
    group: tuple[Action, ...]

    @property
    def start(self) -> int:
        """How many actions stand before the group."""
        return self.first + len(self.marks)

    @property
    def actions(self) -> tuple[Action, ...]:
        """All of it, in the order of the plan."""
        return (*self.marks, *self.group)


def batches_of(actions: Sequence[Action]) -> list[Batch]:
    """Divide a plan: adjacent actions of one transaction, any other action by itself, each with the marks before it."""
    found: list[Batch] = []
    number = 0
    while number < len(actions):
        first = number
        while number < len(actions) and actions[number].operation is Operation.MARK:
            number += 1
        start = number
        if first < start < len(actions) and actions[first].resource == actions[start].resource:
            found.append(Batch(first, (actions[first],), ()))
            first += 1
        while number < len(actions) and _belongs(actions[start], actions[number], is_first=number == start):
            number += 1
        found.append(Batch(first, tuple(actions[first:start]), tuple(actions[start:number])))
    return found


def _belongs(first: Action, action: Action, *, is_first: bool) -> bool:
    return is_first or bool(first.transaction and first.transaction == action.transaction)
