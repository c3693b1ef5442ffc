"""What is loaded before an action may replace it."""

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from datum.agent.preload import DEFERRED, load_rest, modules_of
from datum.registry.discover import find_providers

OURS: Final = ("datum", "datum_providers")


def deferred_imports(source: Path) -> Iterator[str]:
    """Yield what functions of a file import when they run, but for what only a type checker reads."""
    for function in ast.walk(ast.parse(source.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module


def sources() -> Iterator[Path]:
    for module in (*modules_of("datum"), *modules_of("datum_providers")):
        found = importlib.util.find_spec(module)
        assert found is not None
        assert found.origin is not None
        yield Path(found.origin)


def test_everything_that_is_imported_late_is_loaded_early() -> None:
    """Of the agent itself all modules are; of others, those that are named."""
    late = {module for source in sources() for module in deferred_imports(source)}
    others = {module for module in late if module.partition(".")[0] not in {*OURS, "typer"}}
    loaded = {*DEFERRED, *(name.rpartition(".")[0] for name in DEFERRED)}
    assert others - loaded - {"_typeshed", "yaml._yaml", "jeepney"} == set()
    ours = {module for module in late if module.partition(".")[0] in OURS}
    assert ours - {*modules_of("datum"), *modules_of("datum_providers")} <= {"datum.cli.app"}


@pytest.mark.parametrize("module", DEFERRED)
def test_what_is_named_is_there(module: str) -> None:
    assert importlib.util.find_spec(module) is not None


def test_nothing_of_datum_is_read_from_the_disk_after_it() -> None:
    """In a process of its own, since this one has loaded everything."""
    script = (
        "import sys\n"
        "from datum.registry.discover import find_providers\n"
        "from datum.agent.preload import load_rest, modules_of\n"
        "load_rest(find_providers().values(), reads_revisions=True)\n"
        "wanted = {*modules_of('datum'), *modules_of('datum_providers')}\n"
        "print(sorted(wanted - set(sys.modules)))\n"
        "print('typer' in sys.modules, 'datum.testing' in sys.modules, 'datum.__main__' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nFalse False False\n"


def test_a_module_that_cannot_be_imported_is_left_to_who_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datum.agent.preload.DEFERRED", ("no_such_module_anywhere", "json"))
    load_rest(find_providers().values(), reads_revisions=True)
