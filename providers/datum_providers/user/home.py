"""The home of an account whose making was interrupted. Changes the host.

It may be its user's already, who may have processes by another name of the same number: so nothing here goes by a path
that is looked up twice. Each change is one of the host's own, which walks from the root, follows no link, refuses a
directory on the way that a third one can write, and works below the home as its user.
"""

import re
from collections.abc import Callable
from typing import Final

from attrs import frozen

from datum.model.content import Content
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import (
    DirectoryWrite,
    FileFacts,
    FileKind,
    FileWrite,
    HostError,
    HostReader,
    HostWriter,
    LinkWrite,
    Missing,
)
from datum_providers.shared.account_files import PasswdLine

_SKELETON: Final = "/etc/skel"
_LOGIN_DEFS: Final = "/etc/login.defs"
_LIMIT: Final = 1 << 20
_ENTRIES: Final = 10_000
# Bytes of one file of the skeleton.
_FILE_LIMIT: Final = 64 << 20
_MODE: Final = re.compile(rb"(?m)^[ \t]*(HOME_MODE|UMASK)[ \t]+0*([0-7]{1,4})\b")
_ALL: Final = 0o777
_UMASK: Final = 0o022


def is_begun(reader: HostReader, line: PasswdLine) -> bool:
    """Whether the home is one that useradd(8) began: a directory of root's, or the account's own by then.

    Raises:
        HostError: it cannot be looked at.
    """
    facts = reader.examine(line.home)
    return isinstance(facts, FileFacts) and facts.kind is FileKind.DIRECTORY and facts.uid in {0, line.uid}


def require_safe(path: str, missing: Missing, uid: int | None) -> None:
    """Refuse a place in which useradd(8), which goes by paths, could be led to another one than it made.

    Raises:
        HostError: somebody else than root and the account can write in a directory on the way.
    """
    found = next((one for one in missing.exposures if one.owner is None or one.owner != uid), None)
    if found is not None:
        raise HostError(
            found.sentence(path),
            code="unsafe-path",
            cause=Cause.UNSAFE_PATH,
            failure=FailureCause.IMPOSSIBLE,
            hint=found.hint,
        )


def fill_home(writer: HostWriter, line: PasswdLine) -> None:
    """Have the home hold what useradd(8) puts there, which passes over one that it finds; then it is its user's.

    Raises:
        HostError: it failed, or somebody else could have turned it elsewhere.
    """
    home = _Home(writer, line)
    for path in writer.below(_SKELETON, limit=_ENTRIES).paths:
        facts = writer.examine(path)
        if isinstance(facts, FileFacts) and facts.kind in home.putters:
            home.putters[facts.kind](path, facts)
    writer.set_attributes(line.home, mode=home_mode(writer), uid=line.uid, gid=line.gid)


@frozen
class _Home:
    """Where things of the skeleton are put, as their user's."""

    writer: HostWriter
    line: PasswdLine

    @property
    def putters(self) -> dict[FileKind, Callable[[str, FileFacts], None]]:
        """How what is copied is put there; devices and the like are not."""
        return {
            FileKind.DIRECTORY: self._directory,
            FileKind.REGULAR: self._file,
            FileKind.SYMLINK: self._link,
        }

    def _directory(self, path: str, facts: FileFacts) -> None:
        place, found = self._place(path), self.writer.examine(self._place(path))
        if isinstance(found, FileFacts) and found.kind is FileKind.DIRECTORY:
            self.writer.set_attributes(place, mode=facts.mode, uid=self.line.uid, gid=self.line.gid)
            return
        is_other = isinstance(found, FileFacts)
        self.writer.make_directory(place, DirectoryWrite(facts.mode, self.line.uid, self.line.gid, replaces=is_other))

    def _file(self, path: str, facts: FileFacts) -> None:
        content = Content.from_bytes(self.writer.read_file(path, limit=_FILE_LIMIT))
        wanted = FileWrite(content, facts.mode, self.line.uid, self.line.gid, takes=())
        self.writer.write_file(self._place(path), wanted)

    def _link(self, path: str, facts: FileFacts) -> None:
        # As useradd has it: a link into the skeleton is one into the home.
        target = self._place(facts.link) if f"{facts.link}/".startswith(f"{_SKELETON}/") else facts.link
        self.writer.write_link(self._place(path), LinkWrite(target, self.line.uid, self.line.gid, takes=()))

    def _place(self, path: str) -> str:
        return self.line.home + path.removeprefix(_SKELETON)


def home_mode(reader: HostReader) -> str:
    """Return the mode of a new home, as login.defs(5) says it."""
    if not isinstance(reader.examine(_LOGIN_DEFS), FileFacts):
        return f"{_ALL & ~_UMASK:04o}"
    said = {name: int(digits, 8) for name, digits in _MODE.findall(reader.read_file(_LOGIN_DEFS, limit=_LIMIT))}
    return f"{said.get(b'HOME_MODE', _ALL & ~said.get(b'UMASK', _UMASK)):04o}"
