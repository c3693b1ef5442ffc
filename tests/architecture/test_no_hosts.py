"""Nothing in the repository names the host of a package registry, or a place of the machine it was written on."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.tracked import ROOT, tracked_files

# In pieces, so that this file does not hold what it looks for.
_HOSTS: Final = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pypi", "python", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("crates", "io"),
        ("rubygems", "org"),
        ("proxy", "golang", "org"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("conda", "anaconda", "org"),
    )
)
# Not part of a longer path or of an expression: `{tmp}/work/` and `/proc/1/root/` are no places of a machine.
_PLACES: Final = re.compile(r"(?<![\w./})-])/(?:" + "|".join(("wo" + "rk", "ho" + "me")) + r")/[a-z]")
# Root's own folder is a place on every host; what lies in it here is meant by nobody.
_ROOTS_FOLDER: Final = re.compile(r"(?<![\w./})-])/ro" + r"ot/(?!\.ssh\b)[A-Za-z.]")


def text_of(path: Path) -> str:
    """Return the text of a file; empty for a binary one."""
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def findings_in(text: str) -> list[str]:
    """Return what a text should not hold."""
    hosts = [host for host in _HOSTS if host in text]
    return hosts + [match[0] for pattern in (_PLACES, _ROOTS_FOLDER) for match in pattern.finditer(text)]


def test_no_registry_host_and_no_place_of_a_machine_is_named() -> None:
    found = {
        str(path.relative_to(ROOT)): findings
        for path in tracked_files()
        if (findings := findings_in(text_of(path))) and not _is_example_home(path, findings)
    }
    assert not found


def _is_example_home(path: Path, findings: list[str]) -> bool:
    """Home directories of made-up users are what tests and examples of accounts are about."""
    return all(finding.startswith("/ho" + "me/") for finding in findings) and path.suffix in {".py", ".md", ".yaml"}


@pytest.mark.parametrize(
    "text",
    ["see /wo" + "rk/main/x", "'/ro" + "ot/build'", "https://files.pytho" + "nhosted.org/x", "/ho" + "me/dev/x"],
)
def test_they_would_be_found(text: str) -> None:
    assert findings_in(text)


@pytest.mark.parametrize("text", ["/bench/results/wo" + "rk/", "/proc/1/ro" + "ot/run", "/ro" + "ot/.ssh/config"])
def test_paths_that_only_look_like_it_are_left_alone(text: str) -> None:
    assert not findings_in(text)
