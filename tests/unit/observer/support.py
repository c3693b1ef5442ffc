"""Types that answer as a test says, and a look at them."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Resource
from datum.model.observation import Observation, Present
from datum.observer.observe import Look
from datum.provider.contract import AnyProvider
from datum.provider.host import HostReader
from datum.testing.host import FakeHost
from tests.unit.fakes import Folder, Leaf, Want, graph_of

Observe = Callable[[HostReader, Mapping[str, Want]], Any]

READER: Final[HostReader] = FakeHost().reader()
SOUND: Final = Present({"value": "x"})


class SeenLeaf(Leaf):
    """A leaf that answers as a test says."""

    def __init__(self, answer: Observe) -> None:
        self._answer = answer

    def observe(self, reader: HostReader, desired: Mapping[str, Want]) -> Mapping[str, Observation]:
        answers: Mapping[str, Observation] = self._answer(reader, desired)
        return answers


class SeenFolder(Folder):
    """A folder that answers as a test says."""

    def __init__(self, answer: Observe) -> None:
        self._answer = answer

    def observe(self, reader: HostReader, desired: Mapping[str, Want]) -> Mapping[str, Observation]:
        answers: Mapping[str, Observation] = self._answer(reader, desired)
        return answers


def no_deadline(_seconds: float) -> AbstractContextManager[None, None]:
    return nullcontext()


def answering(answers: Mapping[str, Observation]) -> Observe:
    """Answer from a mapping; what it does not name is in sync."""
    return lambda _reader, desired: {name: answers.get(name, SOUND) for name in desired}


def look(*, leaf: Observe | None = None, folder: Observe | None = None, **others: Any) -> Look:
    """Return a look; a type whose answers are not said is in sync."""
    providers: Mapping[str, AnyProvider] = {
        "leaf": SeenLeaf(leaf or answering({})),
        "folder": SeenFolder(folder or answering({})),
    }
    return Look(**{"providers": providers, "reader": READER, "deadline": no_deadline, **others})


def nodes_of(resources: Iterable[Resource]) -> Mapping[ResourceId, Node]:
    return graph_of(*resources).nodes
