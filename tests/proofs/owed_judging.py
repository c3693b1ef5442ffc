"""What must hold after a pass was killed that changes a listed file: the service reads it, and is not disturbed twice.

Struck is the agent at one of its calls between mark and end of the refresh (design 4.1); `bench/faults` strikes at all.
"""

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from tests.harness.strace import Call
from tests.proofs.owed_host import CONF, SETTLE, OwedHost
from tests.proofs.owed_strikes import Scene, declare

# By the name of the scene what the service declares besides.
OWED: Final[Mapping[str, Mapping[str, Any]]] = {
    "restarts": {},
    "reloads": {"restart_on": [], "reload_on": [f"file:{CONF}"]},
}
_RELOADED: Final = "reload two"
_STARTED: Final = "start two"
_BOTH_OWED: Final = frozenset({"needs-reload", "needs-restart"})


@frozen
class Verdict:
    """What became of the host."""

    call: Call
    # Whether the pass came to that call.
    is_struck: bool
    # How far the struck pass came.
    after: str
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        place = f"{self.call.name} {self.call.nth} ({self.call.arguments[:120]})"
        return f"killed at {place}: {self.after}; then {'; '.join(self.wrong)}"


def prepare(host: OwedHost, name: str) -> Scene:
    """Return the host at its first revision, and the trace of the pass to the second."""
    lists = OWED[name]
    return Scene.prepare(host.fresh(), declare("one", **lists), declare("two", **lists))


def how_far(host: OwedHost) -> str:
    """Return in short how far a pass came: what is on the disk, what is owed, what the service did."""
    conf = host.sh(f"cat {CONF}")
    marks = " ".join(sorted(host.markers())) or "nothing"
    return f"{conf} on the disk, {marks} owed, the service did {host.sh('cat /run/app.log') or 'nothing'}"


def judge(scene: Scene, name: str, call: Call, *, is_quiet: bool = True) -> Verdict:
    """Kill the pass at one call, make the next one, and say what does not hold; `is_quiet`: and one more."""
    host = scene.reset()
    is_struck = scene.kill(call)
    host.sh(SETTLE)
    after, marks = how_far(host), host.markers()
    done = host.apply(code=None)
    did = host.log()
    found = (done.code, done.told.get("outcome"), host.markers(), host.shown()["ActiveState"], host.sh(f"cat {CONF}"))
    wrong = []
    if found != (0, "converged", set(), "active", "two"):
        told = [one for entry in done.told.get("resources", ()) for one in entry["diagnostics"]]
        wrong.append(f"the next pass ended with {found} {told}")
    if did not in _allowed(name, marks):
        wrong.append(f"the service did {did}")
    if is_quiet and not wrong:
        try:
            host.quiet()
        except AssertionError as error:
            wrong.append(f"one more pass is not quiet: {error}")
    return Verdict(call, is_struck, after, tuple(wrong))


def _allowed(name: str, marks: set[str]) -> tuple[list[str], ...]:
    """Return what the service may have done in all.

    Before the manager is told, a reload is owed; once it began, only a restart is sure to read what is there.
    """
    if name == "restarts":
        return ([_STARTED],)
    return ([_RELOADED],) if marks in (set(), _BOTH_OWED) else ([_RELOADED], [_RELOADED, _STARTED])
