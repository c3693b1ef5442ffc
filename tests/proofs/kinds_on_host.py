"""The scenario of every writing operation of every type, on a Debian of its own for each strike, at its root.

The first revision is enforced once; what that left is put into each further Debian from an archive.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import SOURCES, AgentBind
from tests.harness.spec import Bind
from tests.proofs.on_host import FleetOnHost
from tests.proofs.scenarios import KINDS
from tests.proofs.stage import UNLIMITED, Stage, State

TESTS: Final = Path(__file__).resolve().parents[1]
_KEPT: Final = "/mnt/kept"
_BETWEEN: Final = "from pathlib import Path; from tests.proofs.scenarios import KINDS; KINDS.between(Path('/'))"
# Where the scenario puts all that it has, and nothing else of the image changes.
_PLACES: Final = ("etc", "srv")
_FLEET: Final = "srv/fleet"
_XATTRS: Final = ("--xattrs", "--xattrs-include=user.*")


def states(machine: Machine) -> dict[str, State]:
    """Return every entry of the places in which the scenario plays, by its path relative to the root."""
    found: dict[str, State] = {}
    for place in _PLACES:
        top = machine.path / place
        below = [path for path in top.iterdir() if str(path.relative_to(machine.path)) != _FLEET]
        for path in [each for one in below for each in (one, *(() if one.is_symlink() else one.rglob("*")))]:
            state = State.read(path)
            if state is not None:
                found[str(path.relative_to(machine.path))] = state
    return {path: state for path, state in found.items() if not path.startswith("etc/datum")}


@frozen
class KindsOnHost:
    """A fleet at its second revision, and hosts that enforce the first."""

    fleet: FleetOnHost
    make: Callable[..., Oneshot]
    archive: Bind
    stage: Stage

    @classmethod
    def prepare(
        cls, make: Callable[..., Oneshot], agent: AgentBind, folder: Path, **options: object
    ) -> "tuple[KindsOnHost, Oneshot]":
        """Return it with one host, which has both revisions behind it."""
        fleet = FleetOnHost(folder, agent)
        (folder / "kept").mkdir()
        archive = Bind(str(folder / "kept"), _KEPT, read_only=False)
        fleet.commit(KINDS.first, files=KINDS.first_files, fleet=UNLIMITED)
        tests = Bind(str(TESTS), f"{SOURCES}/tests")
        machine = make(binds=(fleet.bind, archive, tests), **options)
        machine.run(["mkdir", "-p", "/etc/set.d", "/etc/orphan.d"])
        fleet.enrol(machine)
        fleet.datum(machine, "apply")
        machine.run([agent.argv[0], "-c", _BETWEEN], env=agent.env)
        old = states(machine)
        names = sorted(path.lstrip("/") for path in machine.changes() if not path.startswith(("/tmp", "/mnt", "/opt")))
        names = [name for name in names if name != _FLEET and (machine.path / name).lstat()]
        tar = [
            "tar",
            "-C",
            "/",
            "--format=posix",
            "--numeric-owner",
            *_XATTRS,
            "--no-recursion",
            "-cf",
            f"{_KEPT}/old.tar",
            "-T",
            "-",
        ]
        machine.run(tar, input="\n".join(names))
        fleet.shape(links=KINDS.links, gone=("files",))
        fleet.commit(KINDS.second, files=KINDS.second_files, host={"contribute": KINDS.contribute}, fleet=UNLIMITED)
        fleet.datum(machine, "apply")
        new = states(machine)
        every = sorted({*old, *new})
        before, after = ({path: seen.get(path) for path in every} for seen in (old, new))
        return cls(fleet, make, archive, Stage(folder, before, after, frozenset(), frozenset(), KINDS)), machine

    def fresh(self, **options: object) -> Oneshot:
        """Return a host that enforces the first revision, before the pass to the second."""
        machine = self.make(binds=(self.fleet.bind, self.archive), **options)
        machine.run(["tar", "-C", "/", *_XATTRS, "--numeric-owner", "-xpf", f"{_KEPT}/old.tar"])
        return machine
