"""Passes that are killed between what they write and what they ask of a running manager; the next one finishes.

A unit between file and daemon-reload, a service between enabling and starting, a mount between its line and mount(8), a
mask and a timer before their jobs. How many calls the agent makes to the manager differs from run to run: where one of
them is struck, the next is tried until the host is left as it was to be.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.plugin import AgentBind
from tests.harness.strace import Call, own_calls, parse
from tests.proofs.owed_host import CONF, OWN, SETTLE, OwedHost, app, owed_host
from tests.proofs.owed_strikes import LOG, inject, strace

PLACE: Final = "/etc/systemd/system"
FIRST: Final[dict[str, Any]] = {"service:cron": {"running": True, "enabled": True}}
SECOND: Final[dict[str, Any]] = {
    **app(enabled=True),
    "timer:app-job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"]},
    "mount:/srv/app": {"source": "tmpfs", "fstype": "tmpfs"},
    "service:cron": {"running": False, "enabled": "masked", "allow": ["outage"]},
}
_UNITS: Final = "app cron app-job.timer srv-app.mount"
_SHOW: Final = f"""
systemctl is-active {_UNITS}; systemctl is-enabled app cron app-job.timer; findmnt -n -o FSTYPE /srv/app
grep -c /srv/app /etc/fstab; systemctl show -p NeedDaemonReload --value app app-job.timer srv-app.mount
find /etc /srv -name '*datum~*'
"""
SHOWN: Final = "active inactive active active enabled masked enabled tmpfs 1 no no no"
# Says how far a pass came: the last of these, in the order in which it does them.
STEPS: Final = {
    "line": "grep -q /srv/app /etc/fstab",
    "mount point": "[ -d /srv/app ]",
    "mounted": "findmnt /srv/app",
    "unit": f"[ -e {PLACE}/app.service ]",
    "enabled": f"[ -L {PLACE}/multi-user.target.wants/app.service ]",
    "started": "systemctl is-active app",
    "stopped": "! systemctl is-active cron",
    "masked": f"[ -L {PLACE}/cron.service ]",
    "timer": f"[ -e {PLACE}/app-job.timer ]",
    "timer enabled": f"[ -L {PLACE}/timers.target.wants/app-job.timer ]",
    "timer started": "systemctl is-active app-job.timer",
}
_PROGRESS: Final = "\n".join(f"if {test} > /dev/null; then echo '{step}'; fi" for step, test in STEPS.items())
TRIES: Final = 20
_KEPT: Final = "/srv/first.tar"
_RESET: Final = f"""
systemctl unmask --quiet cron; umount /srv/app; rmdir /srv/app; systemctl stop app app-job.timer
rm -rf /{OWN.replace(" ", " /")} {PLACE} {CONF} /etc/.*datum~* /srv/.*datum~* /run/app.log
tar -C / -xf {_KEPT}; systemctl daemon-reload; systemctl start cron
"""


@frozen
class Scene:
    """A host at its first revision, and the calls that the agent itself makes on its way to the second."""

    host: OwedHost
    calls: tuple[Call, ...]

    @classmethod
    def prepare(cls, host: OwedHost) -> "Scene":
        host.begin(FIRST)
        host.sh(f"cd /; tar -cf {_KEPT} {OWN} etc/fstab {PLACE.lstrip('/')}")
        host.declare(SECOND)
        done = strace(host, ["-f", "-y", "-s", "400"])
        assert done.returncode == 0, done.stdout + done.stderr
        return cls(host, tuple(own_calls(parse(host.machine.read(LOG).decode(errors="replace")))))

    def after(self, place: int, *names: str, text: str = "") -> int:
        """Return where the next call of one of these names is that says something."""
        found = (at for at in range(place + 1, len(self.calls)) if self.calls[at].name in names)
        return next(at for at in found if text in self.calls[at].arguments)

    def renamed(self, name: str) -> int:
        """Return where a file comes to its place."""
        return self.after(0, "renameat", text=f'"{name}"')

    def between(self, begin: str, end: str, start: int) -> int:
        """Return a call to the manager in the middle between two, which say these words."""
        first = self.after(start, "sendto", text=begin)
        sent = [at for at in range(first, self.after(first, "sendto", text=end)) if self.calls[at].name == "sendto"]
        return sent[len(sent) // 2]

    def kill(self, place: int, shift: int) -> str:
        """Reset the host, kill the pass at a call, or so many later, and say how far it came."""
        self.host.sh(_RESET)
        strace(self.host, inject(self.calls[place], "signal=KILL", shift))
        self.host.sh(SETTLE)
        return (self.host.sh(_PROGRESS).splitlines() or [""])[-1]

    def leave(self, step: str, place: int) -> None:
        """Kill the pass so that this step is the last that is done."""
        shift, order = 0, list(STEPS)
        for tried in range(1, TRIES + 1):
            if (found := self.kill(place, shift)) == step:
                print(f"{step}: left at try {tried}")
                return
            print(f"{step}: {shift} later it is {found or 'nothing'}")
            assert self.calls[place].name == "sendto", f"{step}: {found}"
            shift += 3 if not found or order.index(found) < order.index(step) else -2
        pytest.fail(f"no pass was left at {step}")


@pytest.fixture
def scene(host_image: Path, agent_bind: AgentBind, tmp_path: Path) -> Iterator[Scene]:
    with owed_host(agent_bind, tmp_path) as host:
        yield Scene.prepare(host)


def shown(host: OwedHost) -> str:
    return " ".join(host.sh(_SHOW).split())


def places(scene: Scene) -> dict[str, int]:
    """Return where to strike, by the last step that is done then."""
    unit, timer = scene.renamed("app.service"), scene.renamed("app-job.timer")
    return {
        "line": scene.after(scene.renamed("fstab"), "fsync"),
        "mount point": scene.after(scene.renamed("fstab"), "clone"),
        "unit": scene.after(unit, "fsync"),
        "enabled": scene.between("EnableUnitFiles", "StartUnit\\0", unit),
        "stopped": scene.between("StopUnit\\0", "MaskUnitFiles", unit),
        "timer": scene.after(timer, "fsync"),
        "timer enabled": scene.between("EnableUnitFiles", "StartUnit\\0", timer),
    }


def test_a_pass_that_is_killed_between_file_and_manager_is_finished_by_the_next(scene: Scene) -> None:
    host = scene.host
    for step, place in places(scene).items():
        scene.leave(step, place)
        done = host.apply(code=None)
        assert (done.code, shown(host)) == (0, SHOWN), f"{step}: {done.said}"
    host.log()
    host.quiet()
