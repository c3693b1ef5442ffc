"""A plan and the pass after it: what was said that would be done, and what was done."""

import json
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.harness.machine import Machine
from tests.proofs.archive import Deb
from tests.proofs.on_host import PLACE, FleetOnHost, disk, read_own_paths

FIXTURES: Final = Path(__file__).resolve().parents[2] / "fixtures/fleets"
# What a running host writes by itself.
RESTLESS: Final = ("/var/log/journal", "/var/lib/systemd", "/var/tmp")
# Done by another action before their turn comes, as the documentation says: the command finds what it creates, and
# userdel takes the group of the user's name along.
NEEDLESS: Final = ("command:certificate", "group:mallory")
UNIT: Final = """\
[Unit]
Description=An application

[Service]
User=app
ExecStart=/bin/sh -c 'cat /etc/app/conf.d/*; exec sleep infinity'

[Install]
WantedBy=multi-user.target
"""
# As debhelper writes them: the account first, then the unit is enabled and started.
POSTINST: Final = """#!/bin/sh -e
getent passwd app >/dev/null || useradd --system --user-group --home-dir /srv/app app
deb-systemd-helper enable app.service >/dev/null
[ ! -d /run/systemd/system ] || { systemctl daemon-reload; deb-systemd-invoke start app.service >/dev/null || true; }
"""
APP: Final = Deb(
    "app",
    fields={"Depends": "init-system-helpers"},
    control={"postinst": POSTINST, "conffiles": "/etc/app/conf.d/default.conf\n"},
    files={"/lib/systemd/system/app.service": UNIT, "/etc/app/conf.d/default.conf": "from the package\n"},
)


def fleet_files(name: str) -> dict[str, str | bytes]:
    """Return the files of one fleet of `fixtures/fleets`."""
    folder = FIXTURES / name
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@frozen
class Fidelity:
    """What a plan said, and what the report of the pass after it says; both as entries in their order."""

    planned: list[dict[str, Any]]
    done: list[dict[str, Any]]

    @property
    def operations(self) -> list[tuple[str, str]]:
        """Return what was done or tried, in its order."""
        return [(entry["id"], entry["operation"]) for entry in self.done if entry["operation"]]

    def entry(self, name: str, operation: str) -> dict[str, Any]:
        """Return what was planned for a resource by one operation."""
        found = [entry for entry in self.planned if (entry["id"], entry["operation"]) == (name, operation)]
        assert len(found) == 1, (name, operation, self.planned)
        return found[0]

    def judge(self, *, needless: Collection[str] = ()) -> None:
        """The sets are equal, in one order; what came to nothing had been announced.

        Announced is what is `known after` others, a mark, which an inactive unit does not take, and what is said to be
        needless.
        """
        to_do = [entry for entry in self.planned if entry["operation"]]
        assert [_about(entry) for entry in to_do] == [_about(entry) for entry in self.done if entry["operation"]]
        for entry in self.done:
            if not entry["operation"]:
                continue
            is_announced = bool(entry["known_after"]) or entry["operation"] == "mark" or entry["id"] in needless
            assert entry["outcome"] == "applied" or (is_announced and entry["outcome"] == "already"), entry


def _about(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    fields = tuple((change["field"], change["after"]) for change in entry["changes"])
    return entry["id"], entry["operation"], fields, tuple(entry["known_after"]), tuple(entry["takes"])


def enrol(fleet: FleetOnHost, machine: Machine, *words: str, host: str = "web1") -> None:
    """Enrol a host of any name."""
    fleet.datum(machine, "init", "--repo", PLACE, "--host", host, "--no-timer", *words)


def plan_and_apply(fleet: FleetOnHost, machine: Machine, *words: str) -> Fidelity:
    """Plan, and apply that very plan."""
    plan = json.loads(fleet.datum(machine, "plan", "--json", *words))
    done = json.loads(fleet.datum(machine, "apply", "--json", "--expect", plan["plan_id"], *words))
    return Fidelity(plan["resources"], done["resources"])


def assert_quiet(fleet: FleetOnHost, machine: Machine, root: str = "") -> None:
    """One more pass has an empty plan, says so in one line, and writes nothing."""
    words = ("--root", root) if root else ()
    assert json.loads(fleet.datum(machine, "plan", "--json", *words))["actions"] == 0
    before = quiet_disk(machine, root)
    said = fleet.datum(machine, "apply", *words)
    assert "nothing to do" in said
    assert len(said.splitlines()) == 1, said
    assert quiet_disk(machine, root) == before


def quiet_disk(machine: Machine, root: str = "") -> dict[str, Any]:
    """Return everything on the disk, with times, but what a pass and a running host write without anything to do."""
    own = read_own_paths()
    return {
        path: about
        for path, about in disk(machine).items()
        if not path.startswith(RESTLESS) and not any(fnmatchcase(path.removeprefix(root), one) for one in own)
    }
