"""What StrictModes of sshd_config(5) refuses: keys that somebody else could exchange. Reads the host.

The rule is that of `safe_path` of Debian's sshd: the file, and every directory on the way to it from the home on (from
the root on, where it lies elsewhere), belongs to root or the user, and nobody else may write to it. A group of the user
alone is nobody else there; other builds of sshd have no such exception.
"""

from typing import Final

from attrs import frozen

from datum.model.observation import FieldValue
from datum.provider.host import FileFacts, HostReader
from datum.provider.paths import parents
from datum_providers.authorized_key.sshd import is_below_home
from datum_providers.shared.account_files import AccountFiles, PasswdLine

OTHERS_WRITE: Final = 0o022
_ANYBODY_WRITES: Final = 0o002
OPEN_FOLDER: Final = "folder_writable_by_others"
"""The directory of the file, where it is one that is made along with it: those rights are taken."""

REFUSED: Final = "sshd_refuses"
"""By path, why sshd takes no key from below it: what somebody has to decide."""


@frozen
class Strict:
    """What sshd asks of the files of one user."""

    accounts: AccountFiles
    user: PasswdLine
    # That counts: the target may declare another one than the host has.
    home: str

    def refused(self, reader: HostReader, path: str, facts: FileFacts | None) -> dict[str, FieldValue]:
        """Return because of what sshd takes no key from a file, besides the rights of others to write to it.

        Args:
            reader: of the host.
            path: of the file.
            facts: of the file; None where it is not there.

        Raises:
            HostError: a directory on the way cannot be looked at.
        """
        found: dict[str, str] = {}
        fields: dict[str, FieldValue] = {}
        if facts is not None and self._is_strange(facts):
            found[path] = f"belongs to user {facts.uid}"
        for folder in _way(path, self.home):
            about = reader.examine(folder)
            if not isinstance(about, FileFacts):
                continue
            if self._is_strange(about):
                found[folder] = f"belongs to user {about.uid}"
            elif is_made_along(folder, self.home):
                fields |= {OPEN_FOLDER: folder} if int(about.mode, 8) & OTHERS_WRITE else {}
            elif self._is_open(about):
                found[folder] = "can be written by others than its owner"
        return {**fields, REFUSED: found} if found else fields

    def _is_strange(self, facts: FileFacts) -> bool:
        return facts.uid not in {0, self.user.uid}

    def _is_open(self, facts: FileFacts) -> bool:
        writable = int(facts.mode, 8) & OTHERS_WRITE
        return bool(writable & _ANYBODY_WRITES) or bool(writable and not self._is_alone_in(facts.gid))

    def _is_alone_in(self, gid: int) -> bool:
        """Whether a group has members, and none but this user."""
        users, groups = self.accounts.users, self.accounts.groups
        named = {name for line in groups.values() if line.gid == gid for name in line.members}
        primary = {line.name for line in users.values() if line.gid == gid and line.uid != self.user.uid}
        has_own = bool(named) or self.user.gid == gid
        return has_own and not primary and named <= {self.user.name}


def is_made_along(folder: str, home: str) -> bool:
    """Whether a directory lies right in the home, as `.ssh` does."""
    return parents(folder)[:1] == (home,)


def _way(path: str, home: str) -> tuple[str, ...]:
    above = parents(path)
    return above[: above.index(home) + 1] if is_below_home(path, home) else above
