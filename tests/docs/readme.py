"""The lines by which README gets a host into a fleet, for tests that type them.

A console block behind `<!-- on a host: NAME -->` is one way in; a backslash at the end of a line goes on in the next.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Final

from tests.architecture.tracked import ROOT

README: Final = (ROOT / "README.md").read_text()
_BLOCK: Final = re.compile(r"^<!-- on a host: (\w+) -->\n\n```console\n(.+?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS: Final = dict(_BLOCK.findall(README))


def lines_of(name: str) -> tuple[str, ...]:
    """Return the commands of a block, each in one line."""
    lines = BLOCKS[name].replace("\\\n", "").splitlines()
    assert all(line.startswith("$ ") for line in lines), lines
    return tuple(line.removeprefix("$ ") for line in lines)


def line_of(name: str) -> str:
    """Return the command of a block that has one."""
    (line,) = lines_of(name)
    return line


def words_of(line: str, values: Mapping[str, str]) -> list[str]:
    """Return the words of a command, with values in the place of what stands for them; each of these must be there."""
    words = shlex.split(line)
    assert set(values) <= set(words), line
    return [values.get(word, word) for word in words]
