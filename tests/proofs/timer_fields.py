"""As `fields`, for timers, which need a running system."""

from collections.abc import Mapping
from typing import Any, Final

from tests.proofs.fields import Proof

_PLACE: Final = "/etc/systemd/system"
_JOB: Final[dict[str, Any]] = {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"]}


def _timer(line: str, **about: Any) -> Proof:
    """Return the proof of a field that is one setting of the timer, which systemd has read."""
    name, _, value = line.partition("=")
    file, loaded = f"{_PLACE}/@NAME@.timer", "systemctl show -p ActiveState,NeedDaemonReload --value @NAME@.timer"
    show = f"sed -n 's/^{name}=//p' {file}; {loaded}"
    spoil = f"sed -i '/^{name}=/d' {file}; systemctl daemon-reload"
    return Proof({"timer:@NAME@": {**_JOB, **about}}, show, f"{value} active no", spoil)


def _service(script: str, shown: str, **about: Any) -> Proof:
    """Return the proof of a field that is seen by what the service does when it is started."""
    argv = about.pop("argv", ["/bin/sh", "-c", f"({script}) > AT/out"])
    spoil = f"printf '[Service]\\nType=oneshot\\nExecStart=/bin/rm -f AT/out\\n' > {_PLACE}/@NAME@.service"
    resources: dict[str, dict[str, Any]] = {
        "directory:AT": {"mode": "1777"},
        "timer:@NAME@": {**_JOB, "argv": argv, **about},
    }
    show = "rm -f AT/out; systemctl start @NAME@.service; cat AT/out"
    return Proof(resources, show, shown, f"{spoil}; systemctl daemon-reload")


TIMER_FIELDS: Final[Mapping[str, Proof]] = {
    "timer.on_calendar": _timer("OnCalendar=Mon *-*-* 05:30", on_calendar=["Mon *-*-* 05:30"]),
    "timer.on_boot": _timer("OnBootSec=90000s", on_boot=90000),
    "timer.on_unit_active": _timer("OnUnitActiveSec=86400500000us", on_unit_active=86400.5),
    "timer.persistent": _timer("Persistent=yes", persistent=True),
    "timer.randomized_delay": _timer("RandomizedDelaySec=600s", randomized_delay=600),
    "timer.accuracy": _timer("AccuracySec=1s", accuracy=1),
    "timer.description": _timer("Description=The job", description="The job"),
    "timer.argv": _service(
        "", "<$HOME> <%n>", argv=["/bin/sh", "-c", 'printf "<%s> " "$@" > AT/out', "sh", "$HOME", "%n"],
    ),
    "timer.user": _service("id -un", "games", user="games"),
    "timer.environment": _service('echo "$A"', "one two", environment={"A": "one two"}),
    "timer.working_directory": _service("pwd", "/usr/share", working_directory="/usr/share"),
    "timer.running": Proof(
        {"timer:@NAME@": {**_JOB, "running": False}},
        "systemctl is-active @NAME@.timer; systemctl is-enabled @NAME@.timer", "inactive disabled",
        "systemctl enable --now @NAME@.timer",
    ),
}  # fmt: skip
