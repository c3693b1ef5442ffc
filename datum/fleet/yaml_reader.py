"""Reads one YAML text into nodes with places. Pure; never raises; collects.

Rules, stricter than YAML: one document; UTF-8, printable; no tags, no merge keys, no directives but `%YAML 1.2`; keys
are strings and distinct; an anchor is set once, and aliases may not multiply what the text holds beyond a bound; depth
and size are bounded. What a scalar without quotes means stands in `plain_scalars`.
"""

import re
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from attrs import frozen
from yaml.error import Mark, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from datum.diagnostics import Diagnostic, SourceLocation
from datum.fleet.nodes import SIZE_LIMIT, ListNode, MapNode, Node, Scalar
from datum.fleet.plain_scalars import read_plain

_Start: TypeAlias = ScalarEvent | SequenceStartEvent | MappingStartEvent

DEPTH_LIMIT: Final = 64
# Nodes that all aliases of a file may add together.
ALIAS_LIMIT: Final = 100_000

# YAML 1.2, c-printable, without the byte order mark, and without the line ends of YAML 1.1 that YAML 1.2 dropped.
_UNPRINTABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_TAB: Final = re.compile(r"#[^\r\n]*|\t")
_OPEN_EXPRESSION: Final = re.compile(r"\$\{")

SUMMARIES: Final = MappingProxyType(
    {
        "yaml-alias": "An alias cannot be followed.",
        "yaml-alias-bomb": "Aliases make the file far larger than its text.",
        "yaml-control-character": "The file holds a character that YAML does not allow.",
        "yaml-directive": "The file has a directive.",
        "yaml-documents": "The file holds more than one document.",
        "yaml-duplicate-key": "A key stands twice in one map.",
        "yaml-key-not-string": "A key is no string.",
        "yaml-merge-key": "Merge keys are not used.",
        "yaml-no-parser": "The YAML parser is missing.",
        "yaml-not-utf8": "The file is not UTF-8.",
        "yaml-syntax": "The file is not YAML.",
        "yaml-tab": "A tab stands where YAML allows spaces only.",
        "yaml-tag": "Tags are not used.",
        "yaml-too-deep": "Maps and lists are nested too deeply.",
        "yaml-too-large": "The file is too large.",
    }
)


def read_yaml(data: bytes, file: str) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    """Read the one document of a file.

    Args:
        data: the bytes of the file.
        file: its path, for places.

    Returns:
        The document, None if the file holds none or cannot be read to its end; and what is wrong with it, in the order
        of the text. Of a key that stands twice the first is kept.
    """
    try:
        return _read(data, file)
    except _UnreadableError as error:
        return None, error.diagnostics


class _UnreadableError(Exception):
    """Reading cannot go on."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics


def _problem(code: str, location: SourceLocation, detail: str, hint: str = "", **more: SourceLocation) -> Diagnostic:
    related = tuple((name, place) for name, place in more.items())
    return Diagnostic(code=code, location=location, summary=SUMMARIES[code], detail=detail, hint=hint, related=related)


def _read(data: bytes, file: str) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    text = _decode(data, file)
    try:
        from yaml._yaml import CParser
    except ImportError as error:
        detail = f"PyYAML is not installed with its C parser (libyaml): {error}."
        hint = "Install a wheel of PyYAML, or python3-yaml of the distribution."
        raise _UnreadableError(_problem("yaml-no-parser", SourceLocation(file), detail, hint)) from error
    composer = _Composer(CParser(text).get_event, file)
    try:
        node = composer.document()
    except YAMLError as error:
        raise _UnreadableError(*composer.diagnostics, explain(error, text, file)) from error
    except _UnreadableError as error:
        raise _UnreadableError(*composer.diagnostics, *error.diagnostics) from error
    if "\t" in text:
        composer.diagnostics.extend(_tabs(text, composer.spans, file))
    return node, tuple(composer.diagnostics)


def _tabs(text: str, spans: list[tuple[int, int, bool]], file: str) -> Iterator[Diagnostic]:
    """Find tabs outside of quotes, blocks and comments: readers disagree about them, and people do not see them."""
    found: list[int] = []
    end = 0
    for start, after, is_plain in (*spans, (len(text), len(text), True)):
        found.extend(match.start() for match in _TAB.finditer(text, end, start) if match[0] == "\t")
        if is_plain:
            found.extend(place for place in range(start, after) if text[place] == "\t")
        end = after
    for place in found:
        detail = "A tab may stand inside of quotes, of a block of text, and of a comment only."
        hint = "Replace the tab by spaces, or quote the text."
        yield _problem("yaml-tab", _place_after(text[:place], file), detail, hint)


def _decode(data: bytes, file: str) -> str:
    if len(data) > SIZE_LIMIT:
        detail = f"It has {len(data)} bytes; {SIZE_LIMIT} are allowed."
        raise _UnreadableError(_problem("yaml-too-large", SourceLocation(file), detail, "Split the file."))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        detail = f"Byte {error.start} (counted from 0) is 0x{data[error.start]:02x}: {error.reason}."
        raise _UnreadableError(
            _problem("yaml-not-utf8", _place_after(before, file), detail, "Save the file as UTF-8.")
        ) from error
    text = text.removeprefix("\ufeff")
    found = _UNPRINTABLE.search(text)
    if found:
        code = ord(found[0])
        detail = f"U+{code:04X} may not stand in YAML."
        escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004
        hint = f'Write it as an escape between double quotes: "{escape}"'
        raise _UnreadableError(
            _problem("yaml-control-character", _place_after(text[: found.start()], file), detail, hint)
        )
    return text


def _place_after(before: str, file: str) -> SourceLocation:
    """Return the place of the character that follows a text."""
    lines = re.split(r"\r\n|\r|\n", before.removeprefix("\ufeff"))
    return SourceLocation(file, len(lines), len(lines[-1]) + 1)


def explain(error: YAMLError, text: str, file: str) -> Diagnostic:
    """Return what the parser found as one diagnostic."""
    mark = getattr(error, "problem_mark", None)
    what: str = getattr(error, "problem", None) or str(error)
    context: str | None = getattr(error, "context", None)
    if mark is None:
        return _problem("yaml-syntax", SourceLocation(file), f"The parser says: {what}.")
    location = SourceLocation(file, mark.line + 1, mark.column + 1)
    if text[mark.index : mark.index + 1] == "\t" or " tab " in what:
        detail = "YAML is indented by spaces; a tab may stand inside of a text only."
        return _problem("yaml-tab", location, detail, "Replace the tab by spaces.")
    if "nesting depth" in what:
        return _problem("yaml-too-deep", location, f"More than {DEPTH_LIMIT} levels are not read.")
    detail = f"The parser says: {context}, {what}." if context else f"The parser says: {what}."
    lines = re.split(r"\r\n|\r|\n", text)
    hint = ""
    if mark.line < len(lines) and _OPEN_EXPRESSION.search(lines[mark.line]):
        hint = "YAML ends a value at `: `, ` #`, and between { } at } and commas: quote a string that holds ${ … }."
    start = getattr(error, "context_mark", None)
    begun = {"begun here": SourceLocation(file, start.line + 1, start.column + 1)} if start is not None else {}
    return _problem("yaml-syntax", location, detail, hint, **begun)


@frozen
class _Anchored:
    """What an alias stands for."""

    node: Node
    # Nodes in it, itself included.
    size: int
    # 0 for a scalar.
    height: int


class _Composer:
    """Makes nodes of the parser's events."""

    def __init__(self, get_event: Callable[[], Event | None], file: str) -> None:
        self.diagnostics: list[Diagnostic] = []
        # Where each scalar starts and ends, counted in characters, and whether it is plain.
        self.spans: list[tuple[int, int, bool]] = []
        self._get_event = get_event
        self._file = file
        # None while the anchored node is being read.
        self._anchors: dict[str, _Anchored | None] = {}
        # Nodes read so far, those of aliases included.
        self._count = 0
        self._from_aliases = 0
        # Height of the deepest node since it was last reset.
        self._deepest = 0

    def document(self) -> Node | None:
        """Return the document, None if there is none.

        Raises:
            YAMLError: the text is not YAML.
            _UnreadableError: it breaks a rule after which there is nothing to read.
        """
        self._next()
        start = self._next()
        if isinstance(start, StreamEndEvent):
            return None
        self._check_directives(cast("DocumentStartEvent", start))
        node = self._node(self._next(), 0)
        self._next()
        more = self._next()
        if not isinstance(more, StreamEndEvent):
            self._add("yaml-documents", more, "A second document starts here.", "Put it into a file of its own.")
        return node

    def _check_directives(self, start: DocumentStartEvent) -> None:
        if start.tags:
            self._add("yaml-directive", start, "%TAG says how to read tags, and tags are not used.", "Remove the line.")
        if start.version not in {None, (1, 2)}:
            detail = "Files are read as YAML 1.2."
            self._add("yaml-directive", start, detail, "Remove the %YAML line.")

    def _place(self, event: Event) -> SourceLocation:
        mark = cast("Mark", event.start_mark)
        return SourceLocation(self._file, mark.line + 1, mark.column + 1)

    def _add(self, code: str, event: Event, detail: str, hint: str = "", **more: SourceLocation) -> None:
        self.diagnostics.append(_problem(code, self._place(event), detail, hint, **more))

    def _fail(self, code: str, event: Event, detail: str, hint: str = "") -> _UnreadableError:
        return _UnreadableError(_problem(code, self._place(event), detail, hint))

    def _next(self) -> Event:
        """Return the next event; the last one, the end of the stream, is never passed."""
        return cast("Event", self._get_event())

    def _node(self, event: Event, depth: int) -> Node:
        """Read the node that the event starts."""
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        start = cast("_Start", event)
        if depth > DEPTH_LIMIT:
            raise self._fail("yaml-too-deep", start, f"More than {DEPTH_LIMIT} levels are not read.")
        self._deepest = max(self._deepest, depth)
        self._count += 1
        if start.tag is not None:
            detail = f"{start.tag} says how to read a value; a manifest holds plain JSON values."
            self._add("yaml-tag", start, detail, "Remove the tag; quote the value if a string is meant.")
        if start.anchor is not None:
            return self._anchor(start, start.anchor, depth)
        return self._content(start, depth)

    def _content(self, start: _Start, depth: int) -> Node:
        if isinstance(start, ScalarEvent):
            return self._scalar(start)
        if isinstance(start, MappingStartEvent):
            return self._map(start, depth)
        items: list[Node] = []
        while not isinstance(item := self._next(), SequenceEndEvent):
            items.append(self._node(item, depth + 1))
        return ListNode(tuple(items), self._place(start))

    def _scalar(self, event: ScalarEvent) -> Scalar:
        text = event.value
        start, end = cast("Mark", event.start_mark).index, cast("Mark", event.end_mark).index
        self.spans.append((start, end, not event.style))
        if event.style:
            return Scalar(text, text, self._place(event))
        value, ambiguity = read_plain(text)
        return Scalar(value, text, self._place(event), is_plain=True, ambiguity=ambiguity)

    def _map(self, start: MappingStartEvent, depth: int) -> MapNode:
        items: dict[str, Node] = {}
        places: dict[str, SourceLocation] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._key(self._node(event, depth + 1), event)
            value = self._node(self._next(), depth + 1)
            if key is None:
                continue
            if key in items:
                self._add("yaml-duplicate-key", event, f"'{key}' stands here again.", first=places[key])
                continue
            items[key] = value
            places[key] = self._place(event)
        return MapNode(MappingProxyType(items), MappingProxyType(places), self._place(start))

    def _key(self, node: Node, event: Event) -> str | None:
        """Return the key as a string; None after noting that it is none."""
        if not isinstance(node, Scalar) or isinstance(event, AliasEvent):
            what = "A map" if isinstance(node, MapNode) else "A list" if isinstance(node, ListNode) else "An alias"
            self._add("yaml-key-not-string", event, f"{what} is used as a key.", "Write the key as a string.")
        elif node.is_plain and node.text == "<<":
            hint = "Say the values in a layer or a variable, or write them out."
            self._add("yaml-merge-key", event, "<< is no part of YAML 1.2.", hint)
        elif node.ambiguity or not isinstance(node.value, str):
            why = node.ambiguity or f"'{node.text}' without quotes is no string"
            self._add("yaml-key-not-string", event, f"{why}.", f'Quote it: "{node.text}":')
        else:
            return node.value
        return None

    def _anchor(self, start: _Start, name: str, depth: int) -> Node:
        if name in self._anchors:
            self._add("yaml-alias", start, f"The anchor &{name} is set a second time.", "Give it another name.")
        self._anchors[name] = None
        count, deepest, self._deepest = self._count, self._deepest, depth
        node = self._content(start, depth)
        self._anchors[name] = _Anchored(node, self._count - count + 1, self._deepest - depth)
        self._deepest = max(deepest, self._deepest)
        return node

    def _alias(self, event: AliasEvent, depth: int) -> Node:
        name = str(event.anchor)
        target = self._anchors.get(name)
        if target is None:
            where = "stands inside of what it names" if name in self._anchors else "names no anchor before it"
            raise self._fail("yaml-alias", event, f"*{name} {where}.")
        if depth + target.height > DEPTH_LIMIT:
            raise self._fail("yaml-too-deep", event, f"With this alias there are more than {DEPTH_LIMIT} levels.")
        self._deepest = max(self._deepest, depth + target.height)
        self._count += target.size
        self._from_aliases += target.size
        if self._from_aliases > ALIAS_LIMIT:
            detail = f"The aliases up to here stand for more than {ALIAS_LIMIT} values."
            raise self._fail("yaml-alias-bomb", event, detail, "Write the values out, or use variables.")
        return target.node
