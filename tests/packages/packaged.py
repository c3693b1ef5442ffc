"""A running Debian with the agent's package, and the fleet that it follows."""

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.docs.readme import lines_of
from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.proofs.on_host import FleetOnHost, Resources, reports

DEBS: Final = "/srv/debs"
VENV: Final = "/usr/lib/datum/venv"
# Where README has the repository.
README_PLACE: Final = "/srv/fleet.git"
# As an operator of a host types it: what the package put in place, and nothing bound in.
_AGENT: Final = AgentBind((), {}, ("/usr/bin/datum",))
# A command that waits in the middle of a pass until it is let go, and what comes after it.
WAITING: Final[Mapping[str, Mapping[str, Any]]] = {
    "command:wait": {
        "run": ["sh", "-c", "touch /srv/begun; while [ ! -e /srv/go ]; do sleep 0.1; done; touch /srv/done"],
        "unless": ["test", "-e", "/srv/done"],
        "timeout": 300,
    },
    "file:/etc/after": {"content": "after\n", "requires": ["command:wait"]},
}


@frozen
class PackagedHost:
    """The host, and its fleet."""

    machine: Booted
    fleet: FleetOnHost

    def sh(self, script: str) -> str:
        """Return what a script prints, however it ends."""
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()

    def dpkg(self, *words: str, code: int = 0) -> str:
        """Run dpkg and expect how it ends; return what it said."""
        argv = ["dpkg", *(f"{DEBS}/{word}" if word.endswith(".deb") else word for word in words)]
        done = self.machine.run(argv, check=False, timeout=120)
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        return said

    def begin_dpkg(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start dpkg and return at once."""
        return self.machine.popen(["dpkg", *(f"{DEBS}/{word}" if word.endswith(".deb") else word for word in words)])

    def datum(self, *words: str, code: int = 0) -> str:
        """Run the command that the package brought."""
        return self.fleet.datum(self.machine, *words, code=code)

    def enrol(self) -> None:
        """Enrol the host by README's lines, but for that of a plan; it has a token and a key, and keeps /etc/motd."""
        self.fleet.commit({"file:/etc/motd": {"content": "kept\n"}})
        init, _plan, apply = lines_of("pip")[1:]
        for line in (init, apply):
            self.datum(*shlex.split(line)[1:])
        self.machine.write("/etc/datum/token", "secret\n", mode=0o600)
        self.machine.write("/etc/datum/ssh_key", "no key\n", mode=0o600)

    def version(self) -> str:
        """Return what the command says of itself."""
        return self.datum("--version").strip().removeprefix("datum ")

    def versions(self) -> list[str]:
        """Return the versions on the disk."""
        return self.sh("ls /usr/lib/datum/versions").split()

    def timer(self) -> tuple[str, str]:
        """Return whether the timer is enabled, and whether it runs."""
        return self.sh("systemctl is-enabled datum.timer"), self.sh("systemctl is-active datum.timer")

    def kept(self) -> dict[str, bytes]:
        """Return what a removal must not take: configuration, keys and tokens, pointer, mirror, names of reports."""
        # Configuration, token, key, and the mirror.
        places = "/etc/datum /var/lib/datum/mirror.git"
        return {
            "their files": self.sh(f"find {places} -type f -exec sha256sum {{}} + | sort").encode(),
            "their rights": self.sh(f"find {places} -printf '%M %u %g %p\\n' | sort").encode(),
            "token": self.machine.read("/etc/datum/token"),
            "pointer": self.machine.read("/var/lib/datum/pointer.json"),
            "first report": self.sh("ls /var/log/datum/reports | head -n 1").encode(),
        }

    def commit(self, resources: Resources) -> None:
        """Declare what this host shall have beside /etc/motd."""
        self.fleet.commit({"file:/etc/motd": {"content": "kept\n"}, **resources})

    def begin_pass(self) -> "subprocess.Popen[bytes]":
        """Start a pass that waits in its middle, and return when it does."""
        self.commit(WAITING)
        process = self.machine.popen(["/usr/bin/datum", "apply"])
        self.await_true("test -e /srv/begun")
        return process

    def end_pass(self, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
        """Let a pass go on; return its report."""
        self.sh("touch /srv/go")
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (out + err).decode()
        return reports(self.machine)[-1]

    def await_true(self, script: str) -> None:
        """Wait until a script succeeds."""
        end = time.monotonic() + 120
        while self.machine.run(["sh", "-c", script], check=False).returncode:
            assert time.monotonic() < end, script
            time.sleep(0.05)

    def plan_counts(self) -> Any:
        """Return how many of the resources a pass would change."""
        return json.loads(self.datum("plan", "--json"))["counts"]


def make_host(make_booted: Callable[..., Booted], debs: Path, folder: Path) -> PackagedHost:
    """Boot a Debian that sees a folder of packages and a fleet."""
    fleet = FleetOnHost(folder, _AGENT)
    fleet.commit({})
    machine = make_booted(binds=(fleet.bind, Bind(fleet.bind.source, README_PLACE), Bind(str(debs), DEBS)))
    # The timer is switched on and off, and comes in no test's way.
    machine.run(["mkdir", "-p", "/etc/systemd/system/datum.timer.d"])
    machine.write("/etc/systemd/system/datum.timer.d/far.conf", "[Timer]\nOnCalendar=\nOnCalendar=2099-01-01\n")
    return PackagedHost(machine, fleet)
