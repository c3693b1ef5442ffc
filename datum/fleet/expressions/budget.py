"""Bounds on what one evaluation may take. Pure; a budget is spent, so each evaluation has its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import define

from datum.fleet.expressions.problems import EvaluationError
from datum.model.json import JsonValue

STEPS: Final = 100_000
# Characters, or items of a list, that making them costs one step more.
_PER_STEP: Final = 64
# Characters and items of a value that an expression makes.
SIZE_LIMIT: Final = 4 * 1024 * 1024


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


def steps_of(value: object) -> int:
    """Return what making a value costs beside the one step that everything costs."""
    return len(value) // _PER_STEP if isinstance(value, (str, tuple)) else 0


def check_size(size: int) -> None:
    """Refuse a size beyond the bound.

    Raises:
        EvaluationError: it is.
    """
    if size > SIZE_LIMIT:
        raise EvaluationError("expression-budget", f"A value becomes larger than {SIZE_LIMIT} characters and items.")


def bounded(value: JsonValue) -> JsonValue:
    """Return the value if it is within the bound; it takes no more time than the bound allows.

    Raises:
        EvaluationError: it is larger.
    """
    size = 0
    waiting = [iter((value,))]
    while waiting:
        item = next(waiting[-1], _END)
        if item is _END:
            waiting.pop()
            continue
        size += 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            waiting.append(_entries(item))
        elif isinstance(item, Sequence):
            waiting.append(iter(item))
        check_size(size)
    return value


_END: Final = object()


def _entries(value: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    for key, item in value.items():
        yield key
        yield item
