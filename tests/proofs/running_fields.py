"""As `fields`, for types whose fields need a running system: what a schema claims as `booted-bookworm`."""

from collections.abc import Mapping
from typing import Any, Final

from tests.proofs.fields import Proof
from tests.proofs.timer_fields import TIMER_FIELDS

_UNIT: Final = "/etc/systemd/system/@NAME@.service"
_INSTALL: Final = "[Install]\nWantedBy=multi-user.target\n"
_COPY: Final = "cp /srv/@NAME@ /srv/@NAME@.read"
_START: Final = f"[Service]\nExecStart=/bin/sh -c '{_COPY}; exec sleep infinity'\n"
_RELOAD: Final = f"[Service]\nExecStart=/bin/sleep infinity\nExecReload={_COPY.replace('cp', '/bin/cp', 1)}\n"
_READ: Final = "cat AT.read"

UNIT_FILES: Final[Mapping[str, str | bytes]] = {
    "files/app.service": b"[Service]\nExecStart=/bin/sleep 1\n",
    "templates/app.service": "[Service]\nExecStart=/bin/echo {{ host.name }}\n",
}


def _service(show: str, shown: str, spoil: str, text: str = _START, **about: Any) -> Proof:
    resources: dict[str, dict[str, Any]] = {
        "file:/srv/@NAME@": {"content": "text\n"},
        "unit:@NAME@.service": {"content": text + _INSTALL, "requires": ["file:/srv/@NAME@"]},
        "service:@NAME@": {"settle": 0.1, **about},
    }
    return Proof(resources, show, shown, spoil)


def _unit(shown: str, **about: Any) -> Proof:
    return Proof({"unit:@NAME@.service": about}, f"cat {_UNIT}", shown, f"echo '#' >> {_UNIT}")


_DROP_IN: Final = f"{_UNIT}.d/own.conf"

RUNNING_FIELDS: Final[Mapping[str, Proof]] = {
    **TIMER_FIELDS,
    "service.running": _service("systemctl is-active @NAME@", "active", "systemctl stop @NAME@", running=True),
    "service.enabled": _service("systemctl is-enabled @NAME@", "enabled", "systemctl disable @NAME@", enabled=True),
    "service.restart_on": _service(
        _READ, "text", "echo spoilt > AT; systemctl restart @NAME@; sleep 0.2",
        running=True, restart_on=["file:/srv/@NAME@"],
    ),
    "service.reload_on": _service(
        "cat AT", "text", "echo spoilt > AT; systemctl reload @NAME@; rm AT.read",
        text=_RELOAD, running=True, reload_on=["file:/srv/@NAME@"],
    ),
    "service.when_stale": _service(
        _READ, "text", "rm AT.read; sleep 0.1; touch AT",
        running=True, restart_on=["file:/srv/@NAME@"], when_stale="restart",
    ),
    "service.settle": _service(
        "systemctl is-active @NAME@", "active", "systemctl stop @NAME@", running=True, settle=0.3,
    ),
    "unit.content": _unit("[Service] ExecStart=/bin/sleep 2", content="[Service]\nExecStart=/bin/sleep 2\n"),
    "unit.source": _unit("[Service] ExecStart=/bin/sleep 1", source="files/app.service"),
    "unit.template": _unit("[Service] ExecStart=/bin/echo web1", template="templates/app.service"),
    "unit.parts": _unit(
        "[Service] ExecStart=/bin/sleep 1 Nice=3",
        parts=[{"source": "files/app.service"}, {"content": "Nice=3\n"}],
    ),
    "unit.on_change": Proof(
        {
            "file:/srv/@NAME@": {"content": "text\n"},
            "unit:@NAME@.service": {"content": _RELOAD, "requires": ["file:/srv/@NAME@"]},
            "unit:@NAME@.service/own": {"content": "[Service]\nNice=3\n", "on_change": "reload"},
            "service:@NAME@": {"running": True, "settle": 0.1},
        },
        "systemctl show -p Nice --value @NAME@", "3",
        f"printf '[Service]\\nNice=4\\n' > {_DROP_IN}; systemctl daemon-reload",
    ),
}  # fmt: skip

# What was done beside the repair, after everything was spoilt: a script, and what it prints then.
REPAIRED: Final[Mapping[str, tuple[str, str]]] = {
    "service.reload_on": (_READ, "text"),
    "unit.on_change": (_READ, "text"),
}
