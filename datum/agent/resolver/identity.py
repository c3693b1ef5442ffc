"""As whom revisions are read. Effects: asks for one account."""

import pwd
from typing import Final

RESOLVER_ACCOUNT: Final = "datum-resolve"
"""The account under which revisions are read, where it exists."""

UNNAMED: Final = 65529
"""Else this uid and gid: neither Debian (65000-65533, policy 9.2.2) nor systemd (UIDS-GIDS, "unused") gives it away."""


def resolver_ids() -> tuple[int, int]:
    """Return uid and gid; never those of root."""
    try:
        found = pwd.getpwnam(RESOLVER_ACCOUNT)
    except KeyError:
        return UNNAMED, UNNAMED
    return (found.pw_uid, found.pw_gid) if found.pw_uid and found.pw_gid else (UNNAMED, UNNAMED)
