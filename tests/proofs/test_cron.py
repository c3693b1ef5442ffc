"""Files of cron on a booted Debian: what its cron makes of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost

# What cron would take for the end of the command, for an escape, for a comment, for a variable.
ODD: Final = '100% a\\b # c "d" $A'
COMMAND: Final = f"printf '\\%s|\\%s|\\%s' '{ODD}' \"$A\" \"$(id -un)\" > /srv/out/said; echo > /srv/out/done"


def test_cron_runs_what_is_declared_as_whom_it_is_declared(
    make_booted: Callable[..., Booted], agent_bind: AgentBind, tmp_path: Path
) -> None:
    fleet = FleetOnHost(tmp_path, agent_bind)
    machine = make_booted(binds=(fleet.bind,))
    job = {
        "schedule": "@reboot",
        "command": COMMAND.replace("\\%", "%"),
        "user": "job",
        "environment": {"A": "'b' $A %"},
    }
    fleet.commit({"user:job": {"system": True}, "directory:/srv/out": {"owner": "job"}, "cron:job": job})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    # A boot is what cron takes for one: there is no note yet that it has run since.
    start = "rm -f /run/crond.reboot; systemctl restart cron; until [ -e /srv/out/done ]; do sleep 0.1; done"
    machine.run(["sh", "-c", start], timeout=60)
    assert machine.read("/srv/out/said").decode() == f"{ODD}|'b' $A %|job"
    assert "nothing to do" in fleet.datum(machine, "apply")
    fleet.commit({"user:job": {"system": True}})
    fleet.datum(machine, "apply")
    assert machine.run(["ls", "/etc/cron.d/job"], check=False).returncode != 0
