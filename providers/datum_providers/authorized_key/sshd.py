"""Where sshd(8) looks for the keys of a user: `AuthorizedKeysFile` of sshd_config(5). Reads the host.

The configuration is read as sshd reads it: the first value of a keyword counts, `Include` stands for the files it
names, `Match` ends what holds for all. Only where a `Match` says it otherwise is sshd itself asked (`sshd -T`).
"""

import re
import shlex
from collections.abc import Iterator
from typing import Final

from attrs import field, frozen

from datum.model.observation import Cause
from datum.provider.globs import compile_globs
from datum.provider.host import Command, FileFacts, HostError, HostReader
from datum.provider.paths import normal_path, parents

CONFIG: Final = "/etc/ssh/sshd_config"
_DEFAULT: Final = ".ssh/authorized_keys"
_KEYWORD: Final = "authorizedkeysfile"
_LIMIT: Final = 1 << 20
_DEPTH: Final = 16
_TIMEOUT: Final = 20.0
_TOKEN: Final = re.compile(r"%(.?)")
_WILD: Final = frozenset("*?[")


@frozen
class KeysFile:
    """What the configuration says for all users."""

    # Its first pattern: `%h/.ssh/authorized_keys`, `none`.
    pattern: str = _DEFAULT
    # A `Match` says something else for some.
    depends: bool = False


@frozen
class Sshd:
    """The configuration of sshd during one observation; each question is asked once."""

    reader: HostReader
    _known: dict[str, str] = field(factory=dict, init=False)
    _read: list[KeysFile] = field(factory=list, init=False)

    def path_for(self, user: str, uid: int | None, home: str) -> str:
        """Return the file in which the keys of a user stand.

        Raises:
            HostError: the configuration cannot be read, or names no file for this user.
        """
        if not self._read:
            self._read.append(read_config(self.reader))
        found = self._read[0]
        pattern = self._asked(user) if found.depends and uid is not None else found.pattern
        return expand(pattern, user, uid, home)

    def _asked(self, user: str) -> str:
        if user not in self._known:
            about = f"user={user},host=localhost,addr=127.0.0.1"
            command = Command(("/usr/sbin/sshd", "-T", "-C", about), _TIMEOUT)
            said = self.reader.query(command).stdout.decode("utf-8", "replace")
            lines = (line.split() for line in said.splitlines())
            values = [words[1] for words in lines if words[:1] == [_KEYWORD] and words[1:]]
            self._known[user] = values[0] if values else _DEFAULT
        return self._known[user]


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


def read_config(reader: HostReader) -> KeysFile:
    """Return what the configuration of a host says; where there is none, what sshd does then.

    Raises:
        HostError: it cannot be read.
    """
    pattern, depends, in_match = "", False, False
    for keyword, arguments, _ in _statements(reader, CONFIG, 0):
        if keyword == "match":
            in_match = arguments[:1] != ["all"]
        elif keyword == _KEYWORD and arguments:
            depends = depends or in_match
            if not in_match:
                pattern = pattern or arguments[0]
    return KeysFile(pattern or _DEFAULT, depends)


def _statements(reader: HostReader, path: str, depth: int) -> Iterator[tuple[str, list[str], str]]:
    """Yield keyword in small letters, arguments, and file of every statement, in the order in which sshd reads them."""
    if not isinstance(reader.examine(path), FileFacts):
        return
    for line in reader.read_file(path, limit=_LIMIT).decode("utf-8", "replace").splitlines():
        words = _words(line)
        if not words:
            continue
        keyword, arguments = words[0].lower(), words[1:]
        if keyword != "include" or depth >= _DEPTH:
            yield keyword, arguments, path
            continue
        for pattern in arguments:
            for included in _named(reader, pattern):
                yield from _statements(reader, included, depth + 1)


def _words(line: str) -> list[str]:
    """Return keyword and arguments; `Keyword=value` is the same as `Keyword value`."""
    text = line.strip()
    if not text or text.startswith("#"):
        return []
    head = text.split(None, 1)[0]
    if "=" in head:
        text = text.replace("=", " ", 1)
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _named(reader: HostReader, pattern: str) -> list[str]:
    """Return the files that an `Include` names; only its last name has wildcards that are known here."""
    path = pattern if pattern.startswith("/") else f"/etc/ssh/{pattern}"
    folder, _, name = path.rpartition("/")
    if not _WILD & set(name):
        return [path]
    if not isinstance(reader.examine(folder or "/"), FileFacts):
        return []
    matches = compile_globs([name])
    return [f"{folder}/{entry}" for entry in reader.list_directory(folder or "/") if matches(entry)]


def is_below_home(path: str, home: str) -> bool:
    """Whether a path lies below a home, whose user then makes it."""
    return home != "/" and home in parents(path)
