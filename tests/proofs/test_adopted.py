"""What stands on a running Debian is adopted as declarations that leave it as it is: one of each type."""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.enrolled import Enrolled, fleet_and_machine
from tests.proofs.on_host import others_changed
from tests.proofs.predicted import RESTLESS
from tests.proofs.stage import UNLIMITED

KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIvVRUcBvbXkHdYbbhGJ9aHWkqqg5rA1cD1Zy3E9mO9q"
NAME: Final = base64.b64encode(hashlib.sha256(base64.b64decode(KEY.split()[1])).digest()).decode().rstrip("=")
SOURCE: Final = "Types: deb\nURIs: copy:/srv/none\nSuites: stable\nComponents: main\nEnabled: no\nLanguages: none\n"
UNIT: Final = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
# As an administrator does it.
BY_HAND: Final = f"""
groupadd --gid 4000 web
useradd --create-home --uid 4001 --groups web,mail --shell /bin/bash --comment 'The app' deploy
install -d -m 0700 -o deploy -g deploy /home/deploy/.ssh
echo 'no-pty {KEY} laptop' > /home/deploy/.ssh/authorized_keys
chown deploy: /home/deploy/.ssh/authorized_keys
apt-mark hold cron
printf '{SOURCE}' > /etc/apt/sources.list.d/app.sources
mkdir /srv/cache; echo 'tmpfs /srv/cache tmpfs size=1m,mode=0755 0 0' >> /etc/fstab; mount /srv/cache
printf 'MAILTO=""\\n30 4 * * * root true\\n' > /etc/cron.d/app
echo web1 > /etc/hostname; hostname web1; echo 'PRETTY_HOSTNAME="The web"' > /etc/machine-info
ln -sf ../usr/share/zoneinfo/Asia/Kolkata /etc/localtime; echo Asia/Kolkata > /etc/timezone
mkdir /etc/systemd/system/app.service.d; printf '{UNIT}' > /etc/systemd/system/app.service
printf '[Service]\\nNice=3\\n' > /etc/systemd/system/app.service.d/own.conf
systemctl daemon-reload; systemctl enable --now app
"""
# What is there of these types only as they write it.
BY_DATUM: Final[dict[str, dict[str, Any]]] = {
    "sysctl:net/ipv4/ip_default_ttl": {"value": "70"},
    "timer:job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/echo", "a b"], "user": "games", "persistent": True},
}
ADOPTED: Final[dict[str, dict[str, Any]]] = {
    **BY_DATUM,
    f"authorized_key:deploy/SHA256:{NAME}": {"key": KEY, "options": ["no-pty"], "comment": "laptop"},
    "cron:app": {"content": 'MAILTO=""\n30 4 * * * root true\n'},
    "group:web": {"gid": 4000},
    "hostname:host": {"static": "web1", "pretty": "The web"},
    "mount:/srv/cache": {"source": "tmpfs", "fstype": "tmpfs", "options": ["size=1m", "mode=0755"]},
    "package:cron": {"hold": True},
    "package_source:app": {
        "types": ["deb"],
        "uris": ["copy:/srv/none"],
        "suites": ["stable"],
        "components": ["main"],
        "options": {"languages": "none"},
        "enabled": False,
    },
    "service:app": {"running": True, "enabled": True},
    "timezone:host": {"zone": "Asia/Kolkata"},
    "unit:app.service": {"content": UNIT},
    "unit:app.service/own": {"content": "[Service]\nNice=3\n"},
    "user:deploy": {
        "uid": 4001,
        "group": "deploy",
        "groups": ["mail", "web"],
        "comment": "The app",
        "home": "/home/deploy",
        "shell": "/bin/bash",
        "locked": True,
    },
}


def test_what_is_there_is_adopted_as_it_is_and_a_pass_over_it_has_nothing_to_do(
    make_booted: Callable[..., Booted], agent_bind: AgentBind, tmp_path: Path
) -> None:
    host = Enrolled(*fleet_and_machine(make_booted, agent_bind, tmp_path))
    host.machine.run(["sh", "-ec", BY_HAND])
    host.become(BY_DATUM)
    said = json.loads(host.fleet.datum(host.machine, "adopt", "--json", *ADOPTED))
    found = said["resources"]
    for name in ADOPTED:
        assert found[name] == ADOPTED[name], name
    before = host.machine.changes()
    host.fleet.commit(found, fleet=UNLIMITED)
    assert "nothing to do" in host.fleet.datum(host.machine, "apply")
    assert [name for name in others_changed(host.machine, before, ()) if not name.startswith(RESTLESS)] == []
