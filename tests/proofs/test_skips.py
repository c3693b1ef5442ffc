"""Where root runs the tests and CI is true, nothing is skipped that is not listed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.harness.plugin import ALLOWED_SKIPS

ROOT: Final = Path(__file__).resolve().parents[2]
LISTED: Final = min(ALLOWED_SKIPS)
TESTS: Final = f"""
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")

def test_runs():
    pass

def test_listed():
    pytest.skip({LISTED!r})

@pytest.mark.skipif(True, reason="no such file system")
def test_marked():
    pass

@pytest.fixture
def mounted():
    pytest.skip("nothing can be mounted here")

def test_of_a_fixture(mounted):
    pass

def test_in_its_body():
    pytest.skip("no such device")

@pytest.mark.xfail(reason="known", strict=True)
def test_known():
    assert False
"""
MODULE: Final = "import pytest\npytest.skip('no such library', allow_module_level=True)\n"


def counts(folder: Path, environment: dict[str, str]) -> tuple[dict[str, int], str]:
    """Run these tests; return how many came to what, and what was printed."""
    options = ["-p", "tests.harness.plugin", "-p", "no:cacheprovider", "-q", "-ra", "-c", "/dev/null"]
    argv = [sys.executable, "-m", "pytest", *options, "--continue-on-collection-errors", "-o", "markers=host"]
    argv += [f"--rootdir={folder}", str(folder)]
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    told = done.stdout.splitlines()[-1].partition(" in ")[0]
    return {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", told)}, done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user skips what needs root")
def test_a_skipped_test_fails_where_ci_is_true_and_root_runs_it_unless_its_reason_is_listed(tmp_path: Path) -> None:
    (tmp_path / "test_single.py").write_text(TESTS)
    (tmp_path / "test_whole.py").write_text(MODULE)
    free = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    found, _ = counts(tmp_path, free)
    assert found == {"passed": 1, "skipped": 5, "xfailed": 1}
    found, said = counts(tmp_path, {**free, "CI": "true"})
    assert found == {"passed": 1, "skipped": 1, "xfailed": 1, "failed": 1, "error": 3}, said
    for reason in ("no such file system", "no such device", "nothing can be mounted here", "no such library"):
        assert f"for no reason that is listed: {reason}" in said
