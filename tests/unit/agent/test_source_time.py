"""What is asked and fetched from one remote has one end."""

import time
from types import SimpleNamespace
from typing import Any

from datum.agent.source import Source
from datum.model.revision import Revision
from datum.repository.remote import Remote

REMOTE = Remote("/srv/fleet")
REVISION = Revision("a" * 40)


class Mirror:
    """Has nothing, answers after a while, and remembers the seconds that it was given."""

    def __init__(self) -> None:
        self.given: list[float] = []

    def ask(self, _remote: Remote, _ref: str, *, timeout: float) -> Revision:
        self.given.append(timeout)
        time.sleep(0.02)
        return REVISION

    def fetch(self, _remote: Remote, _ref: str, _revision: Revision, *, timeout: float, **_more: object) -> None:
        self.given.append(timeout)

    def is_sound(self, _revisions: object) -> bool:
        return False


def test_a_fetch_has_what_the_question_left() -> None:
    mirror = Mirror()
    settings: Any = SimpleNamespace(ref="main", remotes=(REMOTE,), source_timeout=30.0, source_bytes=1)
    pointer: Any = SimpleNamespace(accepted=None)
    source = Source(settings, mirror, pointer, "0")  # type: ignore[arg-type]
    assert source._reach(REMOTE) == (REMOTE, REVISION)
    asked, fetched = mirror.given
    assert asked == 30.0
    assert fetched <= 29.98
