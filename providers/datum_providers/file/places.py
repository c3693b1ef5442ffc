"""What a path says of a file: whether it may be removed by dropping it, and whether a way in hangs on it. Pure."""

from typing import Final

from datum.provider.contract import Removal
from datum.provider.paths import is_below

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
    "/etc/systemd/system/datum.service",
    "/etc/systemd/system/datum.service.d",
    "/etc/systemd/system/datum.timer",
    "/etc/systemd/system/datum.timer.d",
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


def removal_of(path: str) -> Removal:
    """Return what happens to the file at a path when it is no longer declared and nothing else is said."""
    folder = path.rpartition("/")[0]
    if _is_at(path, _NEVER_REMOVED) or folder.endswith("/.ssh"):
        return Removal.NEVER
    return Removal.DELETE if folder.endswith(".d") or folder in _DROP_IN else Removal.KEEP


def guards_access(path: str) -> bool:
    """Whether a change of the file at a path can shut people or the agent out."""
    if _is_at(path, _SSH_CLIENT):
        return False
    return _is_at(path, _ACCESS) or path.rpartition("/")[0].endswith("/.ssh")


def _is_at(path: str, places: tuple[str, ...]) -> bool:
    return any(is_below(path, place) for place in places)
