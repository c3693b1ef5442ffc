"""What a plan says is what the pass after it does, on a running Debian: every example fleet that needs more than files.

Those of files, below a bare root, are tried in `test_shown_nothing`.
"""

import json
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Self

import pytest
from attrs import frozen

from tests.docs.test_examples import DEFAULT_FLEET
from tests.harness.booted import Booted
from tests.harness.changes import Change, Kind
from tests.harness.plugin import AgentBind
from tests.proofs.archive import Archive, Deb
from tests.proofs.debian_scenarios import SETTINGS
from tests.proofs.on_host import LOOPS, FleetOnHost, others_changed
from tests.proofs.paths_of_types import paths_of
from tests.proofs.predicted import APP, NEEDLESS, RESTLESS, assert_quiet, enrol, plan_and_apply
from tests.proofs.test_shown_nothing import examples, needs_debian

# What the examples suppose: a web server that reads its configuration, what they say has to go.
FURNISH: Final = """
printf '#!/bin/sh\\n[ -s /etc/nginx/nginx.conf ]\\n' > /usr/sbin/nginx; chmod 0755 /usr/sbin/nginx; mkdir -p /etc/nginx
printf '[Service]\\nExecStart=/bin/sleep infinity\\nExecReload=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' \
    > /usr/lib/systemd/system/nginx.service
useradd mallory
groupadd interns
ip link add eth0.100 type veth peer name other
systemctl daemon-reload
"""
# And those that mount something: an image of a disk.
DISK: Final = f"{LOOPS}; truncate -s 16M /srv/data.img; mkfs.ext4 -q /srv/data.img"


def offer(machine: Booted) -> None:
    """Offer the packages that the examples name."""
    version = machine.run(["dpkg-query", "-W", "-f", "${Version}", "libc6"]).stdout
    libc = Deb("libc6", version, architecture="i386", fields={"Multi-Arch": "same"})
    Archive(machine).publish(
        APP, Deb("datum-agent", "0.2"), Deb("nginx", "1.22.1-9"), Deb("postgresql-15", "15.5-0"), libc
    )


@frozen
class Known:
    """What a host says of its packages and accounts."""

    # Paths that packages brought; where one comes or goes, they may change.
    packaged: frozenset[str]
    homes: Mapping[str, str]

    @classmethod
    def of(cls, machine: Booted) -> Self:
        # The lists may name a path by a directory that is a link, as /lib.
        script = "cd /var/lib/dpkg/info; cat *.list; cat *.list | sort -u | xargs -d '\\n' realpath -qm"
        listed = machine.run(["sh", "-c", script]).stdout
        accounts = (line.split(":") for line in machine.read("/etc/passwd").decode().splitlines())
        return cls(frozenset(listed.splitlines()), {account[0]: account[5] for account in accounts})


def others(machine: Booted, before: Mapping[str, Change], known: Known, resources: Collection[str]) -> dict[str, Kind]:
    """Return what changed on the disk and belongs to none of these resources; `known` is what was so before."""
    now = Known.of(machine)
    patterns = paths_of(resources, {**known.homes, **now.homes})
    found = others_changed(machine, before, known.packaged ^ now.packaged)
    return {
        path: kind
        for path, kind in found.items()
        if not path.startswith(RESTLESS) and not any(fnmatchcase(path, pattern) for pattern in patterns)
    }


def able() -> list[Any]:
    """Return every host of every fleet that a bare root cannot become, and one of most types, as parameters."""
    manifest = json.dumps({"resources": SETTINGS.first})
    settings: dict[str, str | bytes] = {"fleet.yaml": DEFAULT_FLEET, "hosts/web1.yaml": manifest}
    return [one for one in examples() if needs_debian(one.values[0])] + [pytest.param(settings, "web1", id="settings")]


@pytest.mark.parametrize(("files", "host"), able())
def test_what_was_planned_was_done_and_nothing_else(
    make_booted: Callable[..., Booted],
    agent_bind: AgentBind,
    tmp_path: Path,
    files: Mapping[str, str | bytes],
    host: str,
) -> None:
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit({}, files=files)
    machine = make_booted(binds=(fleet.bind,))
    machine.run(["sh", "-ec", FURNISH])
    if any("/srv/data.img" in str(content) for content in files.values()):
        machine.run(["sh", "-ec", DISK])
    offer(machine)
    enrol(fleet, machine, host=host)
    before, known = machine.changes(), Known.of(machine)
    done = plan_and_apply(fleet, machine)
    done.judge(needless=NEEDLESS)
    assert others(machine, before, known, [entry["id"] for entry in done.done]) == {}
    assert_quiet(fleet, machine)
