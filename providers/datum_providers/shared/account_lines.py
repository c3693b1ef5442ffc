"""Lines that an interrupted shadow tool leaves behind of an account or group that is gone.

userdel(8) writes passwd first, then shadow, group, gshadow, subuid and subgid; groupdel(8) group, then gshadow. No tool
of theirs takes up what another left: they refuse a name that passwd, or group, does not have. What is left hands its
subordinate ids, and a second range of them, to the next account of that name.
"""

import shlex
from typing import Final

from datum.model.observation import Cause
from datum.provider.host import Command, FileFacts, HostError, HostReader, HostWriter
from datum_providers.shared.account_files import GSHADOW, LIMIT, SHADOW, AccountFiles, parse_passwd
from datum_providers.shared.account_tools import run_command

SUBUID: Final = "/etc/subuid"
SUBGID: Final = "/etc/subgid"
FORMER: Final = "/etc/passwd-"

_TIMEOUT: Final = 60.0
# Runs as the editor of vipw(8), and so under the lock of all account files; the last argument is vipw's copy of passwd,
# which stays as it is. What is written stands under the name that the shadow tools use on the way.
_EDIT: Final = (
    "set -e; export LC_ALL=C; for file; do of=/etc/passwd; "
    "case $file in *.edit) continue;; */gshadow) of=/etc/group;; esac; "
    'grep -aqs "^$0:" "$file" || continue; '
    '! grep -aqs "^$0:" "$of" || { echo "$of has that name again" >&2; exit 1; }; '
    'cp -a "$file" "$file+"; sed "/^$0:/d" "$file" > "$file+"; sync "$file+"; mv -f "$file+" "$file"; done; sync /etc'
)

PATHS_OF_GROUP: Final = (GSHADOW,)
"""The files in which lines of a group that is gone are nobody's."""


def subordinate_names(reader: HostReader) -> frozenset[str]:
    """Return the names that have subordinate ids.

    Raises:
        HostError: a file of them cannot be read.
    """
    found: set[str] = set()
    for path in (SUBUID, SUBGID):
        if isinstance(reader.examine(path), FileFacts):
            text = reader.read_file(path, limit=LIMIT).decode("utf-8", "surrogateescape")
            found.update(line.partition(":")[0] for line in text.splitlines())
    return frozenset(found)


def has_left_group(reader: HostReader, files: AccountFiles, name: str) -> bool:
    """Whether the group of a user who is gone is one that userdel(8) would have taken along, had it not been killed.

    The copy of passwd from before its last change tells: there it was the primary group of that account. Nobody may
    be in it by now.

    Raises:
        HostError: that copy cannot be read, for another reason than that this process may not.
    """
    group = files.groups.get(name)
    if name in files.users or group is None or group.members or files.users_of_group(group.gid):
        return False
    try:
        if not isinstance(reader.examine(FORMER), FileFacts):
            return False
        line = parse_passwd(reader.read_file(FORMER, limit=LIMIT)).get(name)
    except HostError as error:
        if error.cause is not Cause.DENIED:
            raise
        return False
    return line is not None and line.gid == group.gid


def paths_of_user(files: AccountFiles, name: str) -> tuple[str, ...]:
    """Return the files in which lines of a user who is gone are nobody's."""
    return (SHADOW, SUBUID, SUBGID, *(() if name in files.groups else PATHS_OF_GROUP))


def forget(writer: HostWriter, name: str, paths: tuple[str, ...]) -> None:
    """Remove the lines of a name that is none any more, in the lock of the shadow tools.

    Args:
        writer: of the root.
        name: a name of an account.
        paths: the files.

    Raises:
        HostError: see `run_tool`.
    """
    pattern = "".join(f"[{sign}]" if sign in ".$" else sign for sign in name)
    editor = shlex.join(("sh", "-c", _EDIT, pattern, *paths))
    run_command(writer, Command(("vipw", "--quiet"), _TIMEOUT, environment={"VISUAL": editor}))
