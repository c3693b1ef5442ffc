"""Errors hold diagnostics and an exit code, and do nothing."""

import ast
import os
from pathlib import Path

import pytest

import datum.diagnostics
import datum.errors
from datum.diagnostics import Diagnostic
from datum.errors import SIGNAL_BASE, DatumError, ExitCode


def every_error(kind: type[DatumError] = DatumError) -> list[type[DatumError]]:
    """Return all classes of the tree that the module itself has."""
    below = [found for one in kind.__subclasses__() if one.__module__ == "datum.errors" for found in every_error(one)]
    return [kind, *below]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("UsageError", 64),
        ("SettingsError", 78),
        ("RepositoryError", 69),
        ("RepositoryUnreachableError", 69),
        ("RevisionNotFoundError", 66),
        ("RevisionRefusedError", 76),
        ("FleetError", 65),
        ("HostNotInFleetError", 68),
        ("ObservationError", 71),
        ("ProviderError", 70),
        ("ProviderContractError", 70),
        ("StateError", 74),
        ("PassInProgressError", 75),
        ("PermissionRefusedError", 77),
        ("InternalError", 70),
    ],
)
def test_each_error_has_the_exit_code_of_the_design(name: str, code: int) -> None:
    assert getattr(datum.errors, name).exit_code == code


def test_no_error_is_left_out_above() -> None:
    assert len(every_error()) == 16


def test_the_exit_codes_are_those_of_sysexits() -> None:
    assert {code.name: int(code) for code in ExitCode if code >= 64} == {
        name.removeprefix("EX_"): getattr(os, name)
        for name in dir(os)
        if name.startswith("EX_") and name.removeprefix("EX_") in ExitCode.__members__ and name != "EX_OK"
    }
    assert [int(code) for code in (ExitCode.OK, ExitCode.LEFT, ExitCode.CHANGES, ExitCode.WAITING)] == [0, 1, 2, 3]
    assert SIGNAL_BASE == 128


def test_the_text_of_an_error_is_that_of_its_diagnostics() -> None:
    found = [Diagnostic(code=f"bad-{number}", summary=f"Sum {number}", detail=f"Detail {number}.") for number in (1, 2)]
    error = DatumError(*found)
    assert error.diagnostics == tuple(found)
    assert str(error) == "Sum 1: Detail 1.; Sum 2: Detail 2."
    assert str(DatumError()) == ""


@pytest.mark.parametrize("module", [datum.errors, datum.diagnostics], ids=["errors", "diagnostics"])
def test_the_lowest_modules_import_nothing_of_datum_at_run_time(module: object) -> None:
    path = Path(str(getattr(module, "__file__", "")))
    imports = [node for node in ast.parse(path.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in imports if isinstance(node, ast.ImportFrom)]
    assert names
    assert not [name for name in names if name.partition(".")[0] == "datum"]
