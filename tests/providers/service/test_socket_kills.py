"""An agent that is killed while it starts a socket whose service runs: nothing stays stopped."""

from typing import Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python
from tests.proofs.owed_host import SETTLE

_AGENT: Final = """
    import os
    from datum.model.plan import OWES, Change, Operation, Step
    from datum_providers.service.provider import ServiceProvider
    STEPS = {
        "start": Step(Operation.UPDATE, (Change("running", False, True),)),
        "restart": Step(Operation.REFRESH_RESTART, (Change(OWES, "restart", None),)),
    }
    agent = os.fork()
    if not agent:
        provider = ServiceProvider()
        provider.apply(writer, provider.parse("app.socket", {"running": True}), STEPS["%s"])
        os._exit(0)
    while not os.path.exists("/run/stopping"):
        time.sleep(0.05)
    os.kill(agent, 9)
    answer = os.waitstatus_to_exitcode(os.waitpid(agent, 0)[1])
"""
_SOCKET: Final = "[Socket]\nListenStream=/run/app.sock\nService=back.service\n"
# It is slow to stop.
_SERVICE: Final = """\
[Service]
ExecStart=/bin/sleep infinity
ExecStop=/bin/sh -c 'touch /run/stopping; while [ ! -e /run/go ]; do sleep 0.05; done'
"""


@pytest.mark.parametrize(
    ("how", "before", "between"),
    [("start", "back.service", "inactive"), ("restart", "app.socket back.service", "active")],
)
def test_a_service_that_nobody_declares_runs_again(
    booted: Booted, agent_bind: AgentBind, how: str, before: str, between: str
) -> None:
    """Killed while that service is stopping: no later pass could know that it ran before."""

    def sh(script: str) -> str:
        return booted.run(["sh", "-c", script], check=False).stdout.strip()

    def shown(name: str, what: str) -> str:
        return sh(f"systemctl show --value -p {what} {name}")

    booted.write("/etc/systemd/system/app.socket", _SOCKET)
    booted.write("/etc/systemd/system/back.service", _SERVICE)
    sh(f"systemctl daemon-reload && systemctl start {before}")
    began = shown("back.service", "InvocationID"), shown("app.socket", "InvocationID")
    assert python(booted, agent_bind, _AGENT % how) == -9
    assert (shown("back.service", "ActiveState"), shown("app.socket", "ActiveState")) == ("deactivating", between)
    sh(f"touch /run/go; {SETTLE}")
    assert sh("systemctl is-active app.socket back.service") == "active\nactive"
    assert shown("back.service", "InvocationID") != began[0]
    assert shown("app.socket", "InvocationID") != began[1]
