"""Files stay small enough to be read in one sitting (house rule 13); a file that grows past that gets a new room."""

from pathlib import Path
from typing import Final

import pytest

from tests.architecture.tracked import PYTHON_FOLDERS, ROOT, python_files

LINES: Final = 400


@pytest.mark.parametrize("path", python_files(*PYTHON_FOLDERS), ids=lambda path: str(path.relative_to(ROOT)))
def test_file_is_within_its_budget(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LINES, f"{lines} lines; split it by what its parts promise, at most {LINES} each"


def test_the_budget_is_looked_at_somewhere() -> None:
    assert len(python_files(*PYTHON_FOLDERS)) > 50
