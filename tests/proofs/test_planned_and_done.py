"""What a plan says is what the pass after it does, on a running Debian: every example fleet that needs more than files.

Those of files, below a bare root, are tried in `test_shown_nothing`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.archive import Archive, Deb
from tests.proofs.on_host import FleetOnHost
from tests.proofs.predicted import APP, NEEDLESS, assert_quiet, enrol, plan_and_apply
from tests.proofs.test_shown_nothing import examples, needs_debian

# Devices that no test host has.
UNABLE: Final = ("docs/types/mount.md:mount-", "docs/types/mount.md:mount-below-")
# What the examples suppose: a web server that reads its configuration, and what they say has to go.
FURNISH: Final = """
printf '#!/bin/sh\\n[ -s /etc/nginx/nginx.conf ]\\n' > /usr/sbin/nginx; chmod 0755 /usr/sbin/nginx; mkdir -p /etc/nginx
printf '[Service]\\nExecStart=/bin/sleep infinity\\nExecReload=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' \
    > /usr/lib/systemd/system/nginx.service
useradd mallory
groupadd interns
ip link add eth0.100 type veth peer name other
systemctl daemon-reload
"""


def offer(machine: Booted) -> None:
    """Offer the packages that the examples name."""
    version = machine.run(["dpkg-query", "-W", "-f", "${Version}", "libc6"]).stdout
    libc = Deb("libc6", version, architecture="i386", fields={"Multi-Arch": "same"})
    Archive(machine).publish(
        APP, Deb("datum-agent", "0.2"), Deb("nginx", "1.22.1-9"), Deb("postgresql-15", "15.5-0"), libc
    )


def able() -> list[Any]:
    """Return every host of every fleet that a test host can become, as parameters."""
    return [one for one in examples() if needs_debian(one.values[0]) and not str(one.id).startswith(UNABLE)]


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
    offer(machine)
    enrol(fleet, machine, host=host)
    plan_and_apply(fleet, machine).judge(needless=NEEDLESS)
    assert_quiet(fleet, machine)
