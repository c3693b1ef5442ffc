"""What sshd_config(5) says of `AuthorizedKeysFile` and `StrictModes`. Reads the host."""

import posixpath
import re
import shlex
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from datum.provider.globs import compile_globs
from datum.provider.host import FileFacts, FileKind, HostReader
from datum.provider.paths import normal_path

CONFIG: Final = "/etc/ssh/sshd_config"
DEFAULT: Final = ".ssh/authorized_keys"
"""Where keys stand if nothing says otherwise."""

KEYWORD: Final = "authorizedkeysfile"
"""In the small letters in which `sshd -T` writes it."""

_STRICT: Final = "strictmodes"
_KEYWORDS: Final = frozenset({KEYWORD, _STRICT})
_OFF: Final = frozenset({"no", "false"})
_FOLDER: Final = "/etc/ssh"
_LIMIT: Final = 1 << 20
_DEPTH: Final = 16
_HOPS: Final = 8
_WILD: Final = frozenset("*?[")
_NAME: Final = re.compile(r"[^=\s]+")


@frozen
class Match:
    """The criteria of the `Match` lines that a value stands below."""

    # Lists of patterns as they stand there: each of them has to fit the name of the user.
    users: tuple[str, ...] = ()
    # There are others, of which the name says nothing.
    has_others: bool = False

    def fits(self, user: str) -> bool | None:
        """Whether they fit a user; None: the name alone does not say."""
        if not all(_fits(patterns, user) for patterns in self.users):
            return False
        return None if self.has_others else True


@frozen
class KeysFile:
    """What the configuration says of all users, and of some."""

    # For all users, its first pattern: `%h/.ssh/authorized_keys`, `none`.
    pattern: str = DEFAULT
    # In their order; the first that fits counts.
    matches: tuple[tuple[Match, str], ...] = ()
    # Files that somebody else could exchange are refused.
    is_strict: bool = True

    def pattern_for(self, user: str) -> str | None:
        """Return the pattern of a user; None where it cannot be told from the name."""
        for match, pattern in self.matches:
            fits = match.fits(user)
            if fits is not False:
                return pattern if fits else None
        return self.pattern


def read_config(reader: HostReader) -> KeysFile:
    """Return what the configuration of a host says; where there is none, what sshd does then.

    Raises:
        HostError: it cannot be read.
    """
    found = list(_values(reader, CONFIG, None, 0))
    values = [(match, value) for match, keyword, value in found if keyword == KEYWORD]
    pattern = next((value for match, value in values if match is None), DEFAULT)
    # No Match may speak of it.
    strict = next((value for _, keyword, value in found if keyword == _STRICT), "yes")
    matches = tuple((match, value) for match, value in values if match is not None)
    return KeysFile(pattern, matches, strict.lower() not in _OFF)


def _values(reader: HostReader, path: str, outer: Match | None, depth: int) -> Iterator[tuple[Match | None, str, str]]:
    """Yield what stands in a file and those it includes; a `Match` ends with the file in which it stands."""
    path = _end_of_links(reader, path)
    facts = reader.examine(path)
    if not isinstance(facts, FileFacts) or facts.kind is not FileKind.REGULAR:
        return
    inner = outer
    for line in reader.read_file(path, limit=_LIMIT).decode("utf-8", "replace").splitlines():
        keyword, *arguments = _words(line) or [""]
        match keyword.lower():
            case "match":
                inner = _match(outer, arguments)
            case known if known in _KEYWORDS and arguments:
                yield inner, known, arguments[0]
            case "include" if depth < _DEPTH:
                for included in (name for pattern in arguments for name in _named(reader, pattern)):
                    yield from _values(reader, included, inner, depth + 1)


def _match(outer: Match | None, arguments: list[str]) -> Match:
    users = list(outer.users) if outer is not None else []
    has_others = outer is not None and outer.has_others
    words = [part for word in arguments for part in _parted(word)]
    while words:
        criterion = words.pop(0).lower()
        if criterion == "all":
            continue
        value = words.pop(0) if words else ""
        if criterion == "user":
            users.append(value)
        else:
            has_others = True
    return Match(tuple(users), has_others)


def _parted(word: str) -> list[str]:
    """Return `User=name` as two words."""
    name, equals, value = word.partition("=")
    return [name, value] if equals and _NAME.fullmatch(name) else [word]


def _fits(patterns: str, user: str) -> bool:
    """Whether a list of patterns fits, as ssh_config(5) has it: one that is negated ends it, wherever it stands."""
    is_named = False
    for pattern in patterns.split(","):
        if _pattern(pattern.removeprefix("!")).fullmatch(user):
            if pattern.startswith("!"):
                return False
            is_named = True
    return is_named


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in text))


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
    """Return the files that an `Include` names, as glob(7) finds them: in their order, and no hidden ones unasked."""
    path = pattern if pattern.startswith("/") else f"{_FOLDER}/{pattern}"
    found = [""]
    for name in (part for part in path.split("/") if part):
        found = [f"{folder}/{entry}" for folder in found for entry in _entries(reader, folder, name)]
    return found


def _entries(reader: HostReader, folder: str, name: str) -> list[str]:
    if not _WILD & set(name):
        return [name]
    facts = reader.examine(folder or "/")
    if not isinstance(facts, FileFacts) or facts.kind is not FileKind.DIRECTORY:
        return []
    try:
        matches = compile_globs([name])
    except ValueError:
        # For glob(7) it is a name then.
        return [name]
    entries = sorted(reader.list_directory(folder or "/"))
    return [entry for entry in entries if matches(entry) and entry.startswith(".") <= name.startswith(".")]


def _end_of_links(reader: HostReader, path: str) -> str:
    """Return the file that links lead to, as `/etc/crypto-policies` has them."""
    for _ in range(_HOPS):
        facts = reader.examine(path)
        if not isinstance(facts, FileFacts) or facts.kind is not FileKind.SYMLINK:
            break
        try:
            path = normal_path(posixpath.normpath(posixpath.join(posixpath.dirname(path), facts.link)))
        except ValueError:
            break
    return path
