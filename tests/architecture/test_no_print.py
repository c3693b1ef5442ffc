"""Text is made for people in the views of the command line, and nowhere else (house rules 27 and 39)."""

import ast
from collections.abc import Iterator
from typing import Final

from tests.architecture.tracked import PYTHON_FOLDERS, ROOT, python_files

VIEWS: Final = ROOT / "datum" / "cli" / "views"


def prints_of(source: str) -> Iterator[int]:
    """Yield the line of every call of `print`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno


def test_nothing_prints_outside_of_views() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files(*PYTHON_FOLDERS)
        if not path.is_relative_to(VIEWS)
        for line in prints_of(path.read_text())
    ]
    assert not found, found


def test_a_print_would_be_found() -> None:
    assert list(prints_of("x = 1\nif x:\n    print('hello')\n")) == [3]


def test_the_views_are_where_this_test_looks() -> None:
    assert VIEWS.is_dir()
