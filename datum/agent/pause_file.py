"""What `pause.yaml` says: written by `datum pause`, and readable, and writable, by a person. Effects: reads that file.

A file that cannot be used is an error of the configuration (exit 78), and the host stays untouched: somebody wanted it
to be left alone, and what else he wanted is not known.
"""

from pathlib import Path
from typing import Final

from datum.agent.resolver.own import read_here
from datum.agent.settings import Settings
from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import SettingsError
from datum.fleet.nodes import ListNode, MapNode, ReadYaml, Scalar
from datum.model.identity import ResourceId
from datum.model.moment import format_moment, parse_moment
from datum.model.pause import LONGEST, Pause
from datum.state.pause import UnusablePauseError, read_pause_bytes

_KEYS: Final = ("who", "reason", "since", "until", "only")
_NEEDED: Final = _KEYS[:-1]
_DAY: Final = 24 * 3600


def load_pause(settings: Settings, read: ReadYaml = read_here) -> Pause | None:
    """Return the pause of this host, in force or not; None where nobody made one.

    Raises:
        SettingsError: the file is there and cannot be used.
    """
    path = settings.pause_path
    try:
        data = read_pause_bytes(path)
    except UnusablePauseError as error:
        raise damaged(SourceLocation(str(path)), f"{path} cannot be used: {error}", settings.where) from error
    return None if data is None else decode_pause(data, path, settings.where, read)


def damaged(place: SourceLocation, what: str, where: str) -> SettingsError:
    """Return the error on a file that cannot be used."""
    return SettingsError(
        Diagnostic(
            location=place,
            code="pause-damaged",
            summary="The pause of this host cannot be read, so nothing is done.",
            detail=f"{what}. Somebody wanted this host to be left alone, and it is.",
            hint=f"datum resume{where} removes it; datum pause{where} puts another one in its place",
        )
    )


def encode_pause(pause: Pause) -> bytes:
    """Return the bytes of the file: equal pauses give equal bytes."""
    lines = [
        "# Written by datum pause; datum resume ends it.",
        f"who: {_quoted(pause.who)}",
        f"reason: {_quoted(pause.reason)}",
        f"since: {_quoted(format_moment(pause.since))}",
        f"until: {_quoted(format_moment(pause.until))}",
    ]
    if pause.only:
        lines.append(f"only: [{', '.join(_quoted(str(one)) for one in pause.only)}]")
    return "\n".join([*lines, ""]).encode()


def _quoted(text: str) -> str:
    """Return a YAML double-quoted scalar of one line (YAML 1.2, 7.3.1): what no reader agrees about as its escape."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in {'"', "\\"}:
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def decode_pause(data: bytes, path: Path, where: str, read: ReadYaml = read_here) -> Pause:
    """Return what the bytes of the file say.

    Raises:
        SettingsError: it is no such file, or says what no pause can be; with the place.
    """
    node, findings = read(data, str(path))
    for found in findings:
        raise damaged(found.location or SourceLocation(str(path)), f"{found.summary} {found.detail}".strip("."), where)
    if not isinstance(node, MapNode):
        raise damaged(SourceLocation(str(path), 1, 1), f"{path} is no map of keys", where)
    return _Reader(node, path, where).pause()


class _Reader:
    """Reads the one map of the file."""

    def __init__(self, node: MapNode, path: Path, where: str) -> None:
        self._node = node
        self._path = path
        self._where = where

    def pause(self) -> Pause:
        for key, place in self._node.key_locations.items():
            if key not in _KEYS:
                raise damaged(place, f"'{key}' is no key; there are {', '.join(_KEYS)}", self._where)
        for key in _NEEDED:
            if key not in self._node.items:
                raise damaged(SourceLocation(str(self._path), 1, 1), f"'{key}' is not said", self._where)
        since, until = self._moment("since"), self._moment("until")
        if not since < until <= since + LONGEST:
            what = f"'until' is later than 'since', and by {LONGEST // _DAY} days at most"
            raise damaged(self._place("until"), what, self._where)
        return Pause(self._text("who"), self._text("reason"), since, until, self._only())

    def _place(self, key: str) -> SourceLocation:
        return self._node.items[key].location

    def _text(self, key: str) -> str:
        node = self._node.items[key]
        if not isinstance(node, Scalar) or node.value is None or not node.text.strip():
            raise damaged(node.location, f"'{key}' is a text, and no empty one", self._where)
        return node.text

    def _moment(self, key: str) -> int:
        text = self._text(key)
        try:
            return parse_moment(text)
        except ValueError as error:
            raise damaged(self._place(key), f"'{key}': {error}", self._where) from error

    def _only(self) -> tuple[ResourceId, ...]:
        node = self._node.items.get("only")
        if node is None:
            return ()
        if not isinstance(node, ListNode) or not node.items:
            what = "'only' is a list of resources, and no empty one: without it the whole host is paused"
            raise damaged(node.location, what, self._where)
        found = set()
        for item in node.items:
            try:
                one = ResourceId.parse(item.text if isinstance(item, Scalar) else "")
                Pause.check_name(one)
                found.add(one)
            except ValueError as error:
                raise damaged(item.location, f"'only': {error}", self._where) from error
        return tuple(sorted(found))
