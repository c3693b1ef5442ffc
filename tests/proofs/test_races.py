"""A local user who races with the agent in a running Debian (design 4.7): for each writing operation of every type.

The user owns the directories in which the resources stand. In the first tests a window is won each time: the agent is
stopped at an exact system call, and names are exchanged there (`racing/stepper.py`). Then luck decides, as it does for
a real attacker, many times.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.changes import Change
from tests.harness.machine import Machine
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.proofs.on_host import FleetOnHost, others_changed, reports
from tests.proofs.racing.cells import (
    BASE, CREW, FILES, GID, OPERATIONS, RACES, SECRET, UID, declare, lay_out_cell, lay_out_vault, races_of,
)
from tests.proofs.stage import FLEET

PROGRAMS: Final = "/opt/racing"
UNLIMITED: Final = {"limits": {"removals": "none", "replaces": "none", "changed": "none"}}


class Yard:
    """A running Debian with a user who races, and a fleet that writes in that user's directories."""

    def __init__(self, folder: Path, agent: AgentBind, boot: Callable[..., Booted]) -> None:
        self.fleet = FleetOnHost(folder, agent)
        self.fleet.commit({}, files=self.files)
        programs = Bind(str(Path(__file__).with_name("racing")), PROGRAMS)
        self.machine = boot(binds=(self.fleet.bind, programs))
        self.machine.run(["groupadd", "--gid", str(CREW), "crew"])
        self.machine.run(["useradd", "--uid", str(UID), "--user-group", "--groups", "crew", "mallory"])
        self.fleet.enrol(self.machine)
        self.lay_out([[BASE, "directory", "", 0o755, UID, GID], *lay_out_vault()])

    @property
    def files(self) -> dict[str, str]:
        return {**FILES, "fleet.yaml": json.dumps({**FLEET, **UNLIMITED})}

    def program(self, name: str, *words: str) -> list[str]:
        return ["/usr/bin/python3", "-B", f"{PROGRAMS}/{name}.py", *words]

    def lay_out(self, lines: Iterable[list[Any]]) -> None:
        self.machine.run(self.program("lay_out"), input="".join(f"{json.dumps(line)}\n" for line in lines))

    def cells(self, cells: Mapping[str, str]) -> None:
        """Make cells, and declare what is in them."""
        self.lay_out(line for cell, name in cells.items() for line in lay_out_cell(cell, name))
        resources = {key: value for cell, name in cells.items() for key, value in declare(cell, name).items()}
        self.fleet.commit(resources, files=self.files)

    def step(self, argv: Collection[str], strikes: Mapping[str, Any]) -> dict[str, Any]:
        request = {"argv": [*argv], "base": BASE, "uid": UID, "gid": GID, "strikes": strikes}
        done = self.machine.run(self.program("stepper"), input=json.dumps(request), env=self.fleet.env)
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def yard(tmp_path: Path, agent_bind: AgentBind, make_booted: Callable[..., Booted]) -> Yard:
    return Yard(tmp_path, agent_bind, make_booted)


def touched(place: str, calls: list[list[str]]) -> list[int]:
    return [at for at, (name, *paths) in enumerate(calls) if name and any(p == place or p.startswith(place + "/") for p in paths)]

def test_dry(yard: Yard) -> None:
    import time
    t = time.time()
    cells = {name: name for name in OPERATIONS}
    yard.cells(cells)
    done = yard.step([*yard.fleet.argv, "apply"], {})
    print("step", time.time() - t, done["code"], done["said"][-100:]); t = time.time()
    cells = {}
    strikes = {}
    for cell, calls in sorted(done["calls"].items()):
        if cell in OPERATIONS:
            print(cell, len(calls), [(i, *c) for i, c in enumerate(calls) if c[0]])
            for race in races_of(OPERATIONS[cell]):
                one, other = RACES[race]
                ats = touched(one, calls)
                if race.startswith(("above", "parent")):
                    ats = sorted({*ats[:1], *ats[-1:]})
                for at in ats:
                    new = f"{cell}.{at}.{race}"
                    cells[new] = cell
                    strikes[new] = {"at": at, "lasts": False, "swap": [f"{BASE}/{new}/{one}", f"{BASE}/{new}/{other}"]}
    import random, os
    print(len(cells))
    if os.environ.get("ONLY"):
        keep = [k for k in cells if os.environ["ONLY"] in k]
    else:
        keep = random.Random(3).sample(sorted(cells), 300)
    cells = {k: cells[k] for k in keep}; strikes = {k: strikes[k] for k in keep}
    yard.cells(cells)
    print("cells", time.time() - t); t = time.time()
    before = yard.machine.changes()
    done = yard.step([*yard.fleet.argv, "apply"], strikes)
    print("step", time.time() - t, done["code"], done["said"][-1000:]); t = time.time()
    print({p: k for p, k in others_changed(yard.machine, before, ()).items() if not p.startswith(BASE)})
    print("strikes", len(strikes), "reached", len(done["struck"]), "struck", sum(done["struck"].values()))
    rep = reports(yard.machine)[-1]
    open("/tmp/rep.json","w").write(json.dumps(rep, indent=1))
    assert 0
