"""What resources leave alone below themselves, read from what was observed of them. Pure."""

from collections.abc import Mapping
from typing import Final

from datum.model.identity import ResourceId
from datum.model.observation import Observation, Present
from datum.model.plan import Kept

_KEPT: Final = "kept"
_MORE: Final = "kept_more"


def kept_by(observations: Mapping[ResourceId, Observation]) -> Mapping[ResourceId, Kept]:
    """Return what each resource leaves alone and says so, by id."""
    found: dict[ResourceId, Kept] = {}
    for origin, observation in observations.items():
        if not isinstance(observation, Present) or _KEPT not in observation.detail:
            continue
        paths, more = observation.detail[_KEPT], observation.detail.get(_MORE)
        if isinstance(paths, Mapping):
            words = {path: str(why) for path, why in sorted(paths.items())}
            found[origin] = Kept(words, more if isinstance(more, int) else 0)
    return dict(sorted(found.items()))
