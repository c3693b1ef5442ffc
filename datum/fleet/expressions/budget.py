"""Bounds on what one evaluation may take. Pure; a budget is spent, so each evaluation has its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import define

from datum.fleet.expressions.problems import EvaluationError
from datum.model.json import JsonValue

STEPS: Final = 100_000
# A value that an expression makes: its characters, and this much for each item and entry.
SIZE_LIMIT: Final = 4 * 1024 * 1024
_ITEM: Final = 64


@define
class Budget:
    """Steps that are left."""

    left: int = STEPS

    def spend(self, steps: int = 1) -> None:
        """Take steps.

        Raises:
            EvaluationError: there are not as many left.
        """
        self.left -= steps
        if self.left < 0:
            raise EvaluationError("expression-budget", "The evaluation takes more steps than are allowed.")


def check_size(size: int) -> None:
    """Refuse a size beyond the bound.

    Raises:
        EvaluationError: it is.
    """
    if size > SIZE_LIMIT:
        raise EvaluationError(
            "expression-budget", f"A value becomes larger than {SIZE_LIMIT} characters, or {SIZE_LIMIT // _ITEM} items."
        )


def steps_of(value: JsonValue) -> int:
    """Return what making a value costs, beside the one step that everything costs.

    Raises:
        EvaluationError: it is larger than the bound; that is found without walking the rest of it.
    """
    size = 0
    waiting = [iter((value,))]
    while waiting:
        item = next(waiting[-1], _END)
        if item is _END:
            waiting.pop()
            continue
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            size += _ITEM * len(item)
            waiting.append(_entries(item))
        elif isinstance(item, Sequence):
            size += _ITEM * len(item)
            waiting.append(iter(item))
        check_size(size)
    return size // _ITEM


_END: Final = object()


def _entries(value: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    for key, item in value.items():
        yield key
        yield item
