"""Packages without which a host is not reached, or does not start. Pure."""

import re
from typing import Final

# What people and the agent come in by, and what that rests on.
_ACCESS: Final = re.compile(
    r"openssh-server|ssh|sudo|libpam[a-z0-9-]*|libnss-[a-z0-9-]+|ifupdown[a-z0-9-]*|isc-dhcp-client|dhcpcd[a-z0-9-]*"
    r"|network-manager|netplan\.io|netplan-generator|systemd[a-z0-9-]*|dbus[a-z0-9-]*|iproute2|netbase|nftables|iptables"
    r"|ufw|firewalld|wireguard-tools|openvpn|python3|python3\.[0-9]+|python3-minimal|python3\.[0-9]+-minimal|passwd|login"
    r"|cloud-init|sssd[a-z0-9-]*"
)
_BOOT: Final = re.compile(
    r"linux-image-[a-z0-9.+-]+|grub[a-z0-9-]*|shim[a-z0-9-]*|initramfs-tools[a-z0-9-]*|dracut[a-z0-9-]*|init|udev"
    r"|cryptsetup[a-z0-9-]*|lvm2|mdadm|dpkg|apt|firmware-[a-z0-9-]+"
)


def guards_access(name: str) -> bool:
    """Whether people or the agent may be shut out when a package goes."""
    return bool(_ACCESS.fullmatch(name.partition(":")[0]))


def is_kept_for_ever(name: str) -> bool:
    """Whether a package is never removed without being named."""
    plain = name.partition(":")[0]
    return bool(_ACCESS.fullmatch(plain) or _BOOT.fullmatch(plain))
