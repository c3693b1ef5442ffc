"""As whom the programs of a service unit run, and which paths they are told of, from its files alone. Pure.

Nothing is said of a unit that shows its programs other files than the host's, gives them rights of root, or hands the
choice to PAM; nor of commands that run as root or become it. Source of the rules: systemd.exec(5), systemd.service(5).
"""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from datum.model.access import Consumer, Wish
from datum_providers.shared.unit_text import assignments, plain

ROOT: Final = frozenset({"root", "0"})

_SECTION: Final = "Service"
_COMMANDS: Final = re.compile(r"Exec(?:Condition|Start|Stop|Reload)(?:Pre|Post)?")
# With these a unit's programs see other files than the host has, or are somebody whom the unit does not name.
_ELSEWHERE: Final = frozenset({
    "RootDirectory", "RootImage", "BindPaths", "BindReadOnlyPaths", "TemporaryFileSystem", "MountImages",
    "ExtensionImages", "ExtensionDirectories", "PAMName",
})  # fmt: skip
# Read, or opened, by the manager itself: with its own rights.
_OF_MANAGER: Final = frozenset({
    "EnvironmentFile", "LoadCredential", "LoadCredentialEncrypted", "OpenFile",
    "StandardInput", "StandardOutput", "StandardError",
})  # fmt: skip
_UNITS: Final = ("/etc/systemd", "/run/systemd", "/usr/lib/systemd", "/lib/systemd")
# Directories that the manager hands to the account, and what lies in them.
_OWN: Final = {
    "StateDirectory": "/var/lib",
    "CacheDirectory": "/var/cache",
    "LogsDirectory": "/var/log",
    "RuntimeDirectory": "/run",
}
_READING: Final = re.compile(r"~|CAP_(?:DAC_OVERRIDE|DAC_READ_SEARCH|SETUID|SETGID)")
_BECOMING: Final = frozenset({"sudo", "su", "doas", "pkexec", "runuser", "run0", "systemd-run", "setpriv"})
_PREFIXES: Final = "@-:+!|"
_AS_ROOT: Final = frozenset("+!")
_WRITTEN: Final = re.compile(r">\s*\S+")
_PATH: Final = re.compile(r"(?<![^\s=:,;'\"()<|&])/[^\s=:,;'\"()<>|&]*")
_PATTERN: Final = re.compile(r"[%*?\[]")
_TRUE: Final = frozenset({"1", "yes", "y", "true", "t", "on"})


@frozen
class _Settings:
    """What all files of one unit say together: each key with its values, an empty one takes back those before."""

    values: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "_Settings":
        values: dict[str, list[str]] = {}
        for text in texts:
            for section, key, value in assignments(text):
                if section == _SECTION and value:
                    values.setdefault(key, []).append(value)
                elif section == _SECTION:
                    values.pop(key, None)
        return cls(values)

    def last(self, key: str) -> str:
        return self.values.get(key, [""])[-1]

    def words(self, key: str) -> tuple[str, ...]:
        return tuple(word for value in self.values.get(key, ()) for word in value.split())

    def is_true(self, key: str) -> bool:
        return self.last(key).lower() in _TRUE


@frozen
class _Command:
    """One program with its arguments."""

    key: str
    words: tuple[str, ...]
    # The prefixes of systemd before the program, without quotes.
    prefixes: str = ""

    @property
    def is_of_root(self) -> bool:
        """Whether it runs as root, or may become root."""
        names = {name for word in self.words for name in re.split(r"[\s/;&|()]+", word)}
        return bool(_AS_ROOT & set(self.prefixes)) or bool(_BECOMING & names)


def consumer_of(unit: str, texts: Sequence[str]) -> Consumer | None:
    """Return as whom a service unit runs what; None where that is root, or not to be known from its files.

    Args:
        unit: stem of its name, which is that of a dynamic account without a name.
        texts: of its file and of its drop-ins, in the order in which they are read.
    """
    settings = _Settings.of(texts)
    is_dynamic = settings.is_true("DynamicUser")
    account = plain(settings.last("User")) if settings.last("User") or not is_dynamic else unit
    if not account or account in ROOT or _is_beyond(settings):
        return None
    groups = [plain(word) for word in settings.words("SupplementaryGroups")]
    group = plain(settings.last("Group"))
    if "" in groups or (settings.last("Group") and not group):
        return None
    commands = _commands(settings)
    is_all_known = commands is not None and not any(one.is_of_root for one in commands)
    return Consumer(
        account,
        is_dynamic,
        group or None,
        tuple(groups),
        tuple(_wishes(settings, commands or ())),
        reads_listed=is_all_known and bool(commands),
        spared=frozenset(_spared(settings)),
    )


def _is_beyond(settings: _Settings) -> bool:
    capabilities = settings.words("AmbientCapabilities")
    return bool(_ELSEWHERE & settings.values.keys()) or any(map(_READING.match, capabilities))


def _commands(settings: _Settings) -> tuple[_Command, ...] | None:
    """Return every command; None where one of them cannot be read with certainty."""
    found: list[_Command] = []
    starts_as_root = settings.is_true("PermissionsStartOnly")
    for key, values in settings.values.items():
        for value in values if _COMMANDS.fullmatch(key) else ():
            try:
                words = shlex.split(value) if "\\" not in value else []
            except ValueError:
                words = []
            if not words:
                return None
            found.extend(_split(key, words, "+" if starts_as_root and key != "ExecStart" else ""))
    return tuple(found)


def _split(key: str, words: Sequence[str], prefix: str) -> Iterator[_Command]:
    """Yield the commands of one line: a lone `;` stands between two."""
    own: list[str] = []
    for word in (*words, ";"):
        if word != ";":
            own.append(word)
            continue
        if own:
            program = own[0].lstrip(_PREFIXES)
            yield _Command(key, (program, *own[1:]), prefix + own[0][: len(own[0]) - len(program)])
        own = []


def _wishes(settings: _Settings, commands: Sequence[_Command]) -> Iterator[Wish]:
    # What a command of root is told of may be made readable by it.
    seen_to = {path for command in commands if command.is_of_root for word in command.words for path in _paths(word)}
    spared = (*_own_directories(settings), *seen_to)
    found = [*_of_commands(one for one in commands if not one.is_of_root), *_of_folder(settings)]
    yield from dict.fromkeys(wish for wish in found if not any(_is_in(wish.path, folder) for folder in spared))


def _of_commands(commands: Iterable[_Command]) -> Iterator[Wish]:
    for command in commands:
        said_in = f"{command.key}="
        program, *arguments = command.words
        if "@" in command.prefixes:
            arguments = arguments[1:]
        yield from (Wish(path, said_in, is_program=True) for path in _paths(program))
        yield from (Wish(path, said_in) for word in arguments for path in _paths(word))


def _paths(word: str) -> Iterator[str]:
    for found in _PATH.findall(_WRITTEN.sub(" ", word)):
        if path := plain(found):
            yield posixpath.normpath(path)


def _of_folder(settings: _Settings) -> Iterator[Wish]:
    # One that begins with `-` may be out of reach: the programs start without it.
    folder = plain(settings.last("WorkingDirectory"))
    if folder.startswith("/"):
        yield Wish(posixpath.normpath(folder), "WorkingDirectory=")


def _spared(settings: _Settings) -> Iterator[str]:
    yield from _UNITS
    yield from _own_directories(settings)
    for key in _OF_MANAGER:
        for value in settings.values.get(key, ()):
            yield from (_known_part(posixpath.normpath(path)) for path in _PATH.findall(value.lstrip("-")))


def _known_part(path: str) -> str:
    """Return a path up to the directory that holds the first name with a pattern or a specifier in it."""
    known = _PATTERN.split(path, maxsplit=1)[0]
    return path if known == path else posixpath.dirname(known)


def _own_directories(settings: _Settings) -> tuple[str, ...]:
    return tuple(
        posixpath.join(above, word.partition(":")[0]) for key, above in _OWN.items() for word in settings.words(key)
    )


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
