"""Every writing operation of every type with `--root`, in a Debian: nothing outside of that root is touched."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.harness.changes import Change, Kind
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import SOURCES, AgentBind
from tests.harness.spec import Bind
from tests.proofs.kinds_on_host import TESTS
from tests.proofs.on_host import PLACE, FleetOnHost
from tests.proofs.scenarios import KINDS
from tests.proofs.stage import HOST, SHELL, UNLIMITED

IMAGE: Final = "/srv/image"
# A root with a shell, for the commands and the check, and with the folders that the scenario takes for granted.
MAKE: Final = f"""
mkdir -p {IMAGE}/etc/cron.d {IMAGE}/etc/set.d {IMAGE}/etc/orphan.d {IMAGE}/srv {IMAGE}/tmp
cp --parents -L $(ldd {SHELL} | grep -o '/[^ ]*') {SHELL} {IMAGE}
"""
BETWEEN: Final = f"from pathlib import Path; from tests.proofs.scenarios import KINDS; KINDS.between(Path('{IMAGE}'))"


def outside(machine: Oneshot) -> dict[str, tuple[Change, int]]:
    """Return the whole disk's difference from a fresh one, with times, but what lies below the root.

    Before it is enrolled a temporary store comes and goes in `/tmp`, as `own-paths.txt` says.
    """
    return {
        path: (change, change.entry.modified if change.entry else 0)
        for path, change in machine.changes().items()
        if not f"{path}/".startswith(f"{IMAGE}/") and (path, change.kind) != ("/tmp", Kind.TOUCHED)
    }


def test_no_operation_of_any_type_reaches_out_of_the_root(
    make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, tmp_path: Path
) -> None:
    """Links, trees, exclusive directories, commands and a check, its mount namespace included, on 60 paths and more."""
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit(KINDS.first, files=KINDS.first_files, fleet=UNLIMITED)
    machine = make_oneshot(binds=(fleet.bind, Bind(str(TESTS), f"{SOURCES}/tests")))
    machine.run(["sh", "-ec", MAKE])
    before = outside(machine)
    fleet.datum(machine, "init", "--repo", PLACE, "--host", HOST, "--no-timer", "--root", IMAGE)
    fleet.datum(machine, "apply", "--root", IMAGE)
    machine.run([agent_bind.argv[0], "-c", BETWEEN], env=agent_bind.env)
    old = {path for path in machine.changes() if path.startswith(f"{IMAGE}/")}
    mounts = machine.run(["cat", "/proc/1/mounts"]).stdout
    fleet.shape(links=KINDS.links, gone=("files",))
    fleet.commit(KINDS.second, files=KINDS.second_files, host={"contribute": KINDS.contribute}, fleet=UNLIMITED)
    said = fleet.datum(machine, "apply", "--root", IMAGE)
    assert "Converged" in said
    assert "passed  check:set" in said
    assert "nothing to do" in fleet.datum(machine, "apply", "--root", IMAGE)
    new = {path for path in machine.changes() if path.startswith(f"{IMAGE}/")}
    assert min(len(new - old), len(old - new)) > 10, (len(new - old), len(old - new))
    for name in ("/srv/by-made", "/srv/by-built", "/srv/created-tree/sub/added", "/etc/set.d/set-new"):
        assert machine.read(f"{IMAGE}{name}")
        assert name not in machine.changes()
    assert outside(machine) == before
    assert machine.run(["cat", "/proc/1/mounts"]).stdout == mounts
