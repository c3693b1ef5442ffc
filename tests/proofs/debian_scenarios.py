"""Scenarios of types whose programs only a Debian has, on a layer over its image.

`ACCOUNTS`: users, groups and keys, made, changed and removed. `SETTINGS`: units and services, timers, cron, sources of
packages, kernel keys, mounts, host name and time zone.
"""

from pathlib import Path
from typing import Any, Final

from tests.proofs.stage import Scenario

Resources = dict[str, dict[str, Any]]

_HASH: Final = "$6$saltsalt$" + "a" * 86
_OTHER_HASH: Final = "$y$j9T$saltsalt$" + "b" * 43
_KEYS: Final = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIvVRUcBvbXkHdYbbhGJ9aHWkqqg5rA1cD1Zy3E9mO9q",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB",
)
_GONE: Final = {"absent": True, "allow": ["access_loss"]}
# The files of accounts with what the shadow tools lay beside them, and homes.
_OF_SHADOW_TOOLS: Final = (
    r"etc/(passwd|group|shadow|gshadow|subuid|subgid)(.lock)?|etc/.pwd.lock"
    r"|home(/.*)?|var/log/(lastlog|faillog)|var/mail(/.*)?|var/spool/mail(/.*)?"
)
_FIXTURES: Final = Path(__file__).resolve().parents[2] / "fixtures"
_ARCHIVE_KEYS: Final = {name: (_FIXTURES / "keys" / f"{name}.asc").read_text() for name in ("one", "two")}
_UNIT: Final = "[Unit]\nDescription={}\n\n[Service]\nExecStart=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n"


def _nothing(root: Path) -> None:
    """Leave the host alone."""


def _first_accounts() -> Resources:
    return {
        "user:changed": {"comment": "old", "shell": "/bin/sh", "uid": 4001, "password": _HASH},
        "user:removed": {"uid": 4002},
        "user:owner": {"uid": 4003},
        "group:renumbered": {"gid": 4010, "members": ["games"]},
        "group:removed": {"gid": 4011},
        "authorized_key:owner/changed": {"key": _KEYS[0]},
        "authorized_key:changed/dropped": {"key": _KEYS[0]},
        "authorized_key:changed/kept": {"key": _KEYS[1]},
    }


def _second_accounts() -> Resources:
    return {
        "group:crew": {"gid": 4012, "members": ["games", "news"]},
        "group:system": {"system": True},
        "user:made": {
            "comment": "Dëploy",
            "groups": ["made-by", "mail"],
            "password": _HASH,
            "locked": True,
            "expires": "2031-12-31",
            "max_days": 90,
        },
        "group:made-by": {"gid": 4013},
        "user:system": {"system": True, "group": "system"},
        "user:changed": {
            "comment": "new",
            "shell": "/bin/bash",
            "uid": 4001,
            "password": _OTHER_HASH,
            "groups": ["made-by"],
            "max_days": 30,
        },
        "user:removed": _GONE,
        "user:owner": {"uid": 4003},
        "group:renumbered": {"gid": 4014, "members": ["games", "news"]},
        "group:removed": _GONE,
        "authorized_key:owner/changed": {"key": _KEYS[0], "options": ["no-pty"]},
        "authorized_key:made/key": {"key": _KEYS[1]},
        "authorized_key:changed/kept": {"key": _KEYS[1]},
    }


def _source(key: str, **fields: Any) -> dict[str, Any]:
    return {
        "uris": ["https://deb.example.com/debian"],
        "suites": ["stable"],
        "components": ["main"],
        "key": key,
        **fields,
    }


def _first_settings() -> Resources:
    return {
        "unit:changed.service": {"content": _UNIT.format("old")},
        "unit:removed.service": {"content": _UNIT.format("removed")},
        "service:changed": {"enabled": False},
        "service:removed": {"enabled": True},
        "service:cron": {"enabled": True},
        "timer:changed-job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"]},
        "timer:dropped-job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"]},
        "cron:changed": {"schedule": "30 4 * * *", "command": "/bin/true"},
        "cron:dropped": {"schedule": "30 4 * * *", "command": "/bin/true"},
        "sysctl:net/ipv4/ip_forward": {"value": 0},
        "sysctl:net/ipv4/tcp_syncookies": {"value": 1},
        "mount:/srv/changed": {"source": "tmpfs", "fstype": "tmpfs", "pass": 0},
        "mount:/srv/dropped": {"source": "tmpfs", "fstype": "tmpfs"},
        "package_source:changed": _source(_ARCHIVE_KEYS["one"]),
        "package_source:dropped": _source(_ARCHIVE_KEYS["one"]),
        "hostname:host": {"static": "old", "pretty": "old name"},
        "timezone:host": {"zone": "Etc/UTC"},
    }


def _second_settings() -> Resources:
    return {
        "unit:changed.service": {"content": _UNIT.format("new")},
        "unit:made.service": {"content": _UNIT.format("made")},
        "unit:cron.service/made": {"content": "[Service]\nNice=5\n"},
        "service:changed": {"enabled": True},
        "service:made": {"enabled": True},
        "service:cron": {"enabled": "masked", "allow": ["outage"]},
        "timer:changed-job": {"on_calendar": ["*-*-* 05:30"], "argv": ["/bin/true"]},
        "timer:made-job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"]},
        "cron:changed": {"schedule": "30 5 * * *", "command": "/bin/true"},
        "cron:made": {"schedule": "@daily", "command": "/bin/true"},
        "sysctl:net/ipv4/ip_forward": {"value": 1},
        "sysctl:kernel/pid_max": {"value": 65536},
        "mount:/srv/changed": {"source": "tmpfs", "fstype": "tmpfs", "pass": 2},
        "mount:/srv/made": {"source": "tmpfs", "fstype": "tmpfs"},
        "package_source:changed": _source(_ARCHIVE_KEYS["two"], enabled=False),
        "package_source:made": _source(_ARCHIVE_KEYS["one"]),
        "hostname:host": {"static": "new", "pretty": "new name"},
        "timezone:host": {"zone": "Europe/Berlin"},
    }


ACCOUNTS: Final = Scenario(
    "accounts", _first_accounts(), _second_accounts(), _nothing, on_debian=True, stepwise=_OF_SHADOW_TOOLS
)
SETTINGS: Final = Scenario(
    "settings",
    _first_settings(),
    _second_settings(),
    _nothing,
    on_debian=True,
    stepwise=r"etc/fstab|etc/rc\d\.d/.*|etc/systemd/system/(.*/)?\.#.*",
)
