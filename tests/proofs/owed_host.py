"""One booted Debian for many cases of what a service owes: each begins as the host was enrolled, with a unit `app`.

The unit notes what it reads at each start and reload, before its job is done, so a note that is missing was never made.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.git_repository import GitRepository
from tests.harness.booted import Booted
from tests.harness.keeper import make_cgroup, remove_cgroup
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost
from tests.proofs.stage import UNLIMITED

Resources = Mapping[str, Mapping[str, Any]]

CONF: Final = "/etc/app.conf"
MORE: Final = "/etc/app.more"
UNIT_FILE: Final = "/etc/systemd/system/app.service"
OWN: Final = "etc/datum var/lib/datum var/log/datum"
REFRESHES: Final = ("reload", "restart")
_SHOWN: Final = "ActiveState,SubState,InvocationID,NRestarts,Markers,NeedDaemonReload"
_KEPT: Final = "/srv/enrolled.tar"
LOG: Final = "/run/app.log"
LOADED: Final = "/run/daemon-reloads"
# A job that the manager was told of just before a kill goes on without the agent.
SETTLE: Final = 'while [ -n "$(systemctl list-jobs --no-legend)" ]; do sleep 0.02; done'
# Whoever tells the manager to load its units runs it once (systemd.generator(7)).
_GENERATOR: Final = "/etc/systemd/system-generators/count-reloads"
_CLEAN: Final = f"""
systemctl stop 'app*' 'other*'; systemctl unmask --quiet 'app*'
find /etc/systemd/system -name 'app*' -delete -o -name 'other*' -delete
rm -rf /etc/app* /etc/systemd/system/app* /usr/lib/systemd/system/app* /run/app* /run/other* /srv/app*
systemctl daemon-reload; systemctl reset-failed; rm -f {LOADED}
"""


def unit_text(*, more: str = "", reloads: bool = True, name: str = "app") -> str:
    """Return a unit that notes each start and reload, with the configuration that it reads."""
    note = f'"$(cat {CONF})" >> /run/{name}.log'
    reload = f"ExecReload=/bin/sh -c '[ ! -e /run/{name}.broken ] && echo reload {note}'\n" if reloads else ""
    start = f"ExecStartPre=/bin/sh -c 'echo start {note}'\nExecStart=/bin/sleep infinity\n"
    return f"[Service]\n{start}{reload}{more}[Install]\nWantedBy=multi-user.target\n"


def app(text: str = "one", /, *, unit: str = "", **about: Any) -> dict[str, dict[str, Any]]:
    """Return what declares the service with its configuration and unit file; what is None is not declared of it."""
    service = {"running": True, "settle": 0.1, "restart_on": [f"file:{CONF}"], **about}
    return {
        f"file:{CONF}": {"content": f"{text}\n", "mode": "0644"},
        "unit:app.service": {"content": unit or unit_text()},
        "service:app": {name: value for name, value in service.items() if value is not None},
    }


@frozen
class Done:
    """A pass, or a plan, and what it said."""

    code: int
    # The report, or the plan.
    told: dict[str, Any]
    said: str

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What was done or is planned, in its order."""
        found: list[dict[str, Any]] = self.told["resources"]
        return found

    @property
    def operations(self) -> list[tuple[str, str]]:
        """What is to be done or was tried, in its order: ids with operations."""
        return [(entry["id"], entry["operation"]) for entry in self.entries if entry["operation"]]

    @property
    def owed(self) -> list[tuple[str, str]]:
        """Marks and refreshes alone."""
        return [(name, operation) for name, operation in self.operations if operation in {"mark", *REFRESHES}]

    def owed_by(self, name: str) -> tuple[str, ...]:
        """Return the marks and refreshes of one service, in their order."""
        return tuple(operation for one, operation in self.owed if one == name)

    @property
    def applied(self) -> list[tuple[str, str]]:
        """What changed something, in its order."""
        done = [entry for entry in self.entries if entry["outcome"] == "applied"]
        return [(entry["id"], entry["operation"]) for entry in done]

    def entry(self, name: str, *operations: str) -> dict[str, Any]:
        """Return the only entry of a resource, among those of some operations where they are given."""
        found = [
            entry for entry in self.entries if entry["id"] == name and entry["operation"] in (operations or [name])
        ]
        found = found if operations else [entry for entry in self.entries if entry["id"] == name]
        assert len(found) == 1, (name, operations, self.said)
        return found[0]


@frozen
class OwedHost:
    """The host, and the fleet that it is enrolled in."""

    machine: Booted
    fleet: FleetOnHost
    repository: GitRepository
    base: str

    def fresh(self) -> "OwedHost":
        """Put the host back to where it was enrolled, without the unit and its files."""
        self.repository.git("reset", "--quiet", "--hard", self.base)
        self.repository.git("clean", "--quiet", "-d", "--force")
        self.sh(f"{_CLEAN} cd /; rm -rf {OWN}; tar -xf {_KEPT}")
        return self

    def declare(self, resources: Resources, *, files: Mapping[str, str | bytes] | None = None) -> None:
        """Commit what the host shall be."""
        self.fleet.commit(resources, files=files or {}, fleet=UNLIMITED)

    def plan(self, *words: str) -> Done:
        """Ask what a pass would do."""
        return self._datum("plan", "--json", *words)

    def apply(self, resources: Resources | None = None, *words: str, code: int | None = 0) -> Done:
        """Declare, where something is given, and make a pass that is to end with a code; None: with any."""
        if resources is not None:
            self.declare(resources)
        done = self._datum("apply", "--json", *words)
        assert code in {None, done.code}, f"the pass ended with {done.code}\n{done.said}"
        return done

    def begin(self, resources: Resources, *, files: Mapping[str, str | bytes] | None = None) -> None:
        """Enforce a first revision, and forget what the unit noted and how often the manager loaded its units."""
        self.declare(resources, files=files)
        self.apply()
        self.log()
        self.loaded()

    def quiet(self) -> None:
        """See that one more pass has nothing to do, and does nothing."""
        before = self.shown()
        done = self.apply()
        assert done.operations == [], done.said
        assert done.told["outcome"] == "converged"
        assert (self.shown(), self.log()) == (before, [])

    def log(self, name: str = "app") -> list[str]:
        """Return what a unit noted since this was asked for last."""
        return self.sh(f"cat /run/{name}.log; : > /run/{name}.log").splitlines()

    def loaded(self) -> int:
        """Return how often the manager loaded its units since this was asked for last."""
        return len(self.sh(f"cat {LOADED}; rm -f {LOADED}").splitlines())

    def shown(self, name: str = "app") -> dict[str, str]:
        """Return what the manager says of the unit's present life."""
        said = self.sh(f"systemctl show -p {_SHOWN} {name}")
        return dict(line.split("=", 1) for line in said.splitlines())

    def markers(self, name: str = "app") -> set[str]:
        """Return the marks of a unit."""
        return set(self.shown(name)["Markers"].split())

    def sh(self, script: str, *, timeout: float = 60) -> str:
        """Run a script that may fail; return what it printed."""
        return self.machine.run(["sh", "-c", script], check=False, timeout=timeout).stdout.strip()

    def _datum(self, *words: str) -> Done:
        done = self.machine.run([*self.fleet.argv, *words], env=self.fleet.env, check=False, timeout=180)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        told = json.loads(done.stdout) if done.stdout.lstrip().startswith("{") else {}
        return Done(done.returncode, told, said)


@contextmanager
def owed_host(agent: AgentBind, folder: Path) -> Iterator[OwedHost]:
    """Boot one and enrol it in a fleet that declares nothing for it yet."""
    try:
        remove_cgroup(make_cgroup())
    except OSError as error:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up(f"booted test hosts need a cgroup2 hierarchy that root may write: {error}")
    fleet = FleetOnHost(folder, agent)
    base = fleet.commit({"file:/etc/nothing": {"content": ""}}, fleet=UNLIMITED)
    with Booted(binds=(*agent.binds, fleet.bind)) as machine:
        fleet.enrol(machine)
        machine.run(["mkdir", "-p", str(Path(_GENERATOR).parent)])
        machine.write(_GENERATOR, f"#!/bin/sh\necho loaded >> {LOADED}\n", mode=0o755)
        machine.run(["sh", "-c", f"cd /; tar -cf {_KEPT} $(ls -d {OWN} 2>/dev/null)"])
        yield OwedHost(machine, fleet, GitRepository(folder / "fleet"), base)
