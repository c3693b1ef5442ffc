"""Lines with styles, written to a terminal in colour and to everything else as plain text.

What comes from a host or a repository is cleaned first: a file's content must not drive the reader's terminal.
"""

import json
import sys
from typing import Final, TextIO

from datum.model.json import JsonValue

_SPACES: Final = frozenset({"\t", "\u3000"})


def clean(text: str) -> str:
    """Return text of one line with everything made visible that a terminal would obey or hide.

    Control characters and escape sequences, marks that turn the direction of writing, halves of surrogate pairs,
    other spaces than the usual ones: each becomes its escape.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _SPACES else _escape(ord(char)) for char in text)


def _escape(code: int) -> str:
    if code <= 0xFF:  # noqa: PLR2004  # what two digits can say
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004  # four digits


class Paper:
    """Collects styled pieces of lines; `print_to` writes them.

    Styles are rich's words: `bold`, `green`, `dim`.
    """

    def __init__(self) -> None:
        self.lines: list[list[tuple[str, str]]] = []

    def line(self, *pieces: str | tuple[str, str]) -> None:
        """Add a line; a piece is text, or text and its style."""
        self.lines.append(
            [(clean(piece), "") if isinstance(piece, str) else (clean(piece[0]), piece[1]) for piece in pieces]
        )

    def indent(self, other: "Paper", margin: str) -> None:
        """Add the lines of another paper behind a margin."""
        self.lines.extend([(margin, ""), *line] for line in other.lines)

    @property
    def is_blank(self) -> bool:
        """Whether nothing was added."""
        return not self.lines

    def print_to(self, stream: TextIO) -> None:
        """Write all lines."""
        if self.is_blank:
            return
        if not stream.isatty():
            stream.writelines("".join(text for text, _ in line).rstrip() + "\n" for line in self.lines)
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(file=stream, highlight=False, soft_wrap=True)
        for line in self.lines:
            console.print(Text.assemble(*line))


def print_json(value: JsonValue) -> None:
    """Write a result for programs to stdout: sorted keys, one trailing newline."""
    from datum.model.json import thaw

    json.dump(thaw(value), sys.stdout, ensure_ascii=True, sort_keys=True, indent=2)
    sys.stdout.write("\n")
