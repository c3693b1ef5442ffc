"""A staged set on a whole Debian whose root is an overlay already: seen before it is there, or it is said why not."""

from collections.abc import Callable
from pathlib import Path

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import SOURCES, AgentBind
from tests.harness.spec import Bind

_TESTS = Path(__file__).resolve().parents[1]
_FILL = "from pathlib import Path; from tests.proofs.staged_set import fill; fill(Path('/'))"


def test_a_set_goes_to_a_running_root_that_is_an_overlay(
    make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind
) -> None:
    machine = make_oneshot(binds=(Bind(str(_TESTS), f"{SOURCES}/tests"),))
    python = agent_bind.argv[0]
    machine.run([python, "-c", _FILL], env=agent_bind.env)
    before = machine.changes()
    script = [python, "-m", "tests.proofs.staged_set", "/"]
    refused = machine.run([*script, "refused"], env=agent_bind.env).stdout.split()
    assert refused[:2] == ["staged", "check-failed"]
    assert machine.changes().keys() == before.keys()
    words = machine.run([*script, "twice"], env=agent_bind.env).stdout.split()
    print(f"how the check saw it: {words[3]}")
    assert words[:3] == ["staged", "judged", "committed"]
    assert words[3] in {"shown", "checked_after_writing"}
    assert words[4:] == ["ended", "idle"]
