"""Lines with styles, written to a terminal in colour and to everything else as plain text.

What comes from a host or a repository is cleaned first: a file's content must not drive the reader's terminal.
"""

import json
import sys
from typing import Final, TextIO

from datum.model.json import JsonValue

_VISIBLE: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if code != ord("\t")}


def clean(text: str) -> str:
    """Return text of one line with every control character made visible."""
    if text.isprintable():
        return text
    return text.translate(_VISIBLE).encode("utf-8", "backslashreplace").decode()


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
