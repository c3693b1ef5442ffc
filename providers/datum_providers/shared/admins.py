"""Groups that make somebody an administrator. Pure."""

from typing import Final

ADMIN_GROUPS: Final = frozenset({"root", "sudo", "wheel", "admin"})
"""On the distributions that have them: Debian and Ubuntu `sudo`, Fedora `wheel`, older Ubuntu `admin`."""
