"""Where sshd(8) looks for the keys of a user: `AuthorizedKeysFile` of sshd_config(5). Reads the host.

The configuration is read as sshd reads it: the first value of a keyword counts, `Include` stands for the files it
names, and what a `Match` that fits says counts before what holds for all. Only where it cannot be told from the name of
the user whether one fits, sshd itself is asked (`sshd -T`); where it does not answer, what holds for all is taken: the
very pass may be about to repair its configuration.
"""

import re
from typing import Final

from attrs import field, frozen

from datum.model.observation import Cause
from datum.provider.host import Command, HostError, HostReader
from datum.provider.paths import normal_path, parents
from datum_providers.authorized_key.sshd_config import DEFAULT, KEYWORD, KeysFile, read_config

_TIMEOUT: Final = 20.0
_ANY: Final = frozenset(range(256))
_TOKEN: Final = re.compile(r"%(.?)")


@frozen
class Sshd:
    """The configuration of sshd during one observation; each question is asked once."""

    reader: HostReader
    _known: dict[str, str | None] = field(factory=dict, init=False)
    _read: list[KeysFile] = field(factory=list, init=False)

    def path_for(self, user: str, uid: int | None, home: str) -> str:
        """Return the file in which the keys of a user stand.

        Raises:
            HostError: the configuration cannot be read, sshd cannot be asked, or no file is named for this user.
        """
        found = self._config()
        pattern = found.pattern_for(user)
        if pattern is None:
            # Of a user who is not there sshd says nothing.
            pattern = (self._asked(user) if uid is not None else None) or found.pattern
        return expand(pattern, user, uid, home)

    def is_strict(self) -> bool:
        """Whether sshd refuses files of keys that somebody else could exchange (`StrictModes`).

        Raises:
            HostError: the configuration cannot be read.
        """
        return self._config().is_strict

    def _config(self) -> KeysFile:
        if not self._read:
            self._read.append(read_config(self.reader))
        return self._read[0]

    def _asked(self, user: str) -> str | None:
        """Return what sshd says; None where there is none, or its configuration is one that it refuses."""
        if user not in self._known:
            said = self._said_of(user)
            lines = (line.split() for line in (said or "").splitlines())
            values = [words[1] for words in lines if words[:1] == [KEYWORD] and words[1:]]
            self._known[user] = None if said is None else values[0] if values else DEFAULT
        return self._known[user]

    def _said_of(self, user: str) -> str | None:
        about = f"user={user},host=localhost,addr=127.0.0.1"
        command = Command(("/usr/sbin/sshd", "-T", "-C", about), _TIMEOUT, success=_ANY)
        try:
            outcome = self.reader.query(command)
        except HostError as error:
            if error.diagnostics[0].code == "program-missing":
                return None
            raise
        return None if outcome.exit_code else outcome.stdout.decode("utf-8", "replace")


def expand(pattern: str, user: str, uid: int | None, home: str) -> str:
    """Return the path that a pattern means for a user.

    Raises:
        HostError: it means none.
    """
    if pattern.lower() == "none":
        raise _no_file(f"AuthorizedKeysFile is none, so sshd takes no keys of {user} from a file.")
    tokens = {"%": "%", "h": home, "u": user, "U": "" if uid is None else str(uid)}

    def meant(found: re.Match[str]) -> str:
        if found[1] not in tokens:
            raise _no_file(f"AuthorizedKeysFile is '{pattern}', and %{found[1]} stands for nothing.")
        return tokens[found[1]]

    text = _TOKEN.sub(meant, pattern)
    try:
        return normal_path(text if text.startswith("/") else f"{home}/{text}")
    except ValueError as error:
        raise _no_file(f"AuthorizedKeysFile is '{pattern}': {error}.") from error


def _no_file(why: str) -> HostError:
    return HostError(
        why,
        code="no-keys-file",
        cause=Cause.OTHER,
        hint="declare `path` of the key, or AuthorizedKeysFile in /etc/ssh/sshd_config",
    )


def is_below_home(path: str, home: str) -> bool:
    """Whether a path lies below a home, whose user then makes it."""
    return home != "/" and home in parents(path)
