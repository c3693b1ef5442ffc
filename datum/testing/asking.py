"""Hypothesis strategies for who asks for passes, and for what people pause."""

from hypothesis import strategies as st

from datum.model.identity import ResourceId
from datum.model.pause import EVERY, LONGEST, Pause
from datum.model.trigger import Asked, Trigger, TriggerKind
from datum.testing.strategies import resource_ids

triggers = st.builds(
    Trigger, st.sampled_from(TriggerKind), st.just("") | st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
)
"""Who asked for a pass."""

requests = st.builds(Asked, triggers, st.just("") | st.just("2026-11-29T03:15:00Z"), st.integers(0, 2**22))
"""Requests for a pass."""


def _pause(who: str, reason: str, since: int, length: int, only: frozenset[ResourceId]) -> Pause:
    return Pause(who, reason, since, since + length, tuple(sorted(only)))


# A pause names one resource by its whole name, or all of a type.
_plain = resource_ids.filter(lambda one: EVERY not in one.name)
_whole_types = resource_ids.map(lambda one: ResourceId(one.type, EVERY))

_SAID = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)

pauses = st.builds(
    _pause,
    _SAID,
    _SAID,
    st.integers(0, 2**32),
    st.integers(1, LONGEST),
    st.frozensets(_plain | _whole_types, max_size=3),
)
"""Pauses of a host, or of some resources and types."""
