"""As whom the programs of declared service units run, from unit files and drop-ins together. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from datum.model.access import Access, Consumer
from datum.model.content import Content
from datum_providers.shared.consumers import consumer_of
from datum_providers.unit.desired import DesiredUnit


def access_of_units(
    desired: Mapping[str, DesiredUnit], text_of: Callable[[Content], str | None]
) -> Mapping[str, tuple[Access, ...]]:
    """Return what runs as another account than root, by the unit file that brings it."""
    found = {name: _consumer(one, desired.values(), text_of) for name, one in desired.items() if not one.drop_in}
    return {name: (consumer,) for name, consumer in found.items() if consumer is not None}


def _consumer(
    unit: DesiredUnit, units: Iterable[DesiredUnit], text_of: Callable[[Content], str | None]
) -> Consumer | None:
    if unit.unit.suffix != "service":
        return None
    files = _files(unit, units)
    texts = tuple(_texts(files or (), text_of))
    return consumer_of(unit.unit.stem, texts) if files is not None and len(texts) == len(files) else None


def _files(unit: DesiredUnit, units: Iterable[DesiredUnit]) -> Sequence[DesiredUnit] | None:
    """Return a unit file and its drop-ins in the order in which they are read.

    None where another drop-in says something of the unit, or of one instance of it alone.
    """
    own = []
    for other in units:
        is_wider = other.unit.stem.endswith("-") and unit.unit.stem.startswith(other.unit.stem)
        if other.drop_in and (is_wider or other.unit.template == unit.unit.full):
            return None
        if other.drop_in and other.unit == unit.unit:
            own.append(other)
    return [unit, *sorted(own, key=lambda one: one.drop_in)]


def _texts(files: Iterable[DesiredUnit], text_of: Callable[[Content], str | None]) -> Iterator[str]:
    """Yield the texts that can be had."""
    for one in files:
        text = text_of(one.content) if one.content is not None else None
        if text is not None:
            yield text
