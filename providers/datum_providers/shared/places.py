"""What a path says: whether what stands there may be removed by dropping it, and whether a way in hangs on it. Pure."""

import re
from collections.abc import Collection
from typing import Final

from datum.provider.contract import Removal
from datum.provider.own_units import SHIPPED
from datum.provider.paths import is_below
from datum_providers.shared.spellings import WELL_KNOWN_LINKS

# Directories meant to be dropped into, beside every `*.d` (design 4.3).
_DROP_IN: Final = frozenset(
    {
        "/etc/apache2/conf-available",
        "/etc/apache2/conf-enabled",
        "/etc/apache2/sites-available",
        "/etc/apache2/sites-enabled",
        "/etc/apt/keyrings",
        "/etc/containers/systemd",
        "/etc/cron.daily",
        "/etc/cron.hourly",
        "/etc/cron.monthly",
        "/etc/cron.weekly",
        "/etc/cron.yearly",
        "/etc/nginx/sites-available",
        "/etc/nginx/sites-enabled",
        "/etc/systemd/network",
        "/etc/systemd/system",
        "/etc/systemd/user",
        "/usr/local/share/ca-certificates",
        "/usr/share/keyrings",
    }
)

_AGENT: Final = (
    "/etc/datum",
    *sorted(f"/etc/systemd/system/{unit}{folder}" for unit in SHIPPED for folder in ("", ".d")),
    "/var/lib/datum",
)

# Never removed by dropping: accounts, hosts, fstab, nsswitch, resolv.conf, ssh, pam, boot, the agent.
_NEVER_REMOVED: Final = (
    *_AGENT,
    "/boot",
    "/etc/fstab",
    "/etc/group",
    "/etc/gshadow",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/pam.conf",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/security",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/subgid",
    "/etc/subuid",
)

# A wrong byte in one of these can shut everyone out: sshd, sudo, PAM, accounts, name services, network, firewall,
# and the agent, without which nothing is repaired.
_ACCESS: Final = (
    *_AGENT,
    "/etc/NetworkManager",
    "/etc/group",
    "/etc/gshadow",
    "/etc/hosts.allow",
    "/etc/hosts.deny",
    "/etc/iptables",
    "/etc/netplan",
    "/etc/network",
    "/etc/nftables.conf",
    "/etc/nftables.d",
    "/etc/nsswitch.conf",
    "/etc/pam.conf",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/security",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/sudo.conf",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/systemd/network",
    "/etc/ufw",
)
# What only outgoing connections of ssh read.
_SSH_CLIENT: Final = ("/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d", "/etc/ssh/ssh_known_hosts")


def _at(places: Collection[str]) -> re.Pattern[str]:
    """Return what matches one of these places and all below it, in one step: every path of a tree is asked for."""
    return re.compile(rf"(?:{'|'.join(map(re.escape, places))})(?:/|\Z)")


_AT_AGENT: Final = _at(_AGENT)
_AT_NEVER_REMOVED: Final = _at(_NEVER_REMOVED)
_AT_ACCESS: Final = _at(_ACCESS)
_AT_SSH_CLIENT: Final = _at(_SSH_CLIENT)


def removal_of(path: str, *, is_in_exclusive: bool = False) -> Removal:
    """Return what happens to the file or link at a path when it is no longer declared and nothing else is said.

    Args:
        path: in normal form.
        is_in_exclusive: its directory is declared as exclusive.
    """
    folder = path.rpartition("/")[0]
    if is_kept_for_ever(path):
        return Removal.NEVER
    return Removal.DELETE if is_in_exclusive or is_drop_in(folder) else Removal.KEEP


def removal_of_directory(path: str, *, is_in_exclusive: bool = False) -> Removal:
    """As `removal_of`, for a directory: what is meant to be dropped into is not meant to be dropped."""
    if is_kept_for_ever(path) or path.endswith("/.ssh") or any(is_below(place, path) for place in _NEVER_REMOVED):
        return Removal.NEVER
    return Removal.DELETE if is_in_exclusive else Removal.KEEP


def is_kept_for_ever(path: str) -> bool:
    """Whether a path is one of the few that are never removed without being named."""
    is_way_in = path.rpartition("/")[0].endswith("/.ssh")
    return bool(_AT_NEVER_REMOVED.match(path)) or is_way_in or path in WELL_KNOWN_LINKS or is_of_agent(path)


def is_of_agent(path: str) -> bool:
    """Whether a path is the agent's own, wherever the service manager links its units from."""
    is_unit = path.rpartition("/")[2] in SHIPPED and is_below(path, "/etc/systemd/system")
    return bool(_AT_AGENT.match(path)) or is_unit


def is_drop_in(folder: str) -> bool:
    """Whether a directory is there to be dropped into."""
    return folder.endswith((".d", "/.ssh")) or folder in _DROP_IN


def guards_access(path: str) -> bool:
    """Whether a change of the file at a path can shut people or the agent out."""
    if _AT_SSH_CLIENT.match(path):
        return False
    return bool(_AT_ACCESS.match(path)) or path.rpartition("/")[0].endswith("/.ssh")


def guards_access_as_directory(path: str) -> bool:
    """Whether a change of the directory at a path can: then also what lies below it counts."""
    return guards_access(path) or path.endswith("/.ssh") or any(is_below(place, path) for place in _ACCESS)


def guards_access_below(path: str) -> bool:
    """Whether another owner of what stands at a path can: sshd takes no keys from a home that is a stranger's."""
    return path == "/root" or guards_access_as_directory(path)
