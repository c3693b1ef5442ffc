"""The changelog is kept by hand, for operators (Keep a Changelog 1.1)."""

import re
from typing import Final

from tests.architecture.tracked import ROOT

KINDS: Final = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def unreleased() -> str:
    """Return what the changelog says of what is not released yet."""
    text = (ROOT / "CHANGELOG.md").read_text()
    match = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL)
    assert match is not None, "CHANGELOG.md has no [Unreleased]"
    return match[1]


def test_unreleased_says_something() -> None:
    assert re.search(r"^- \S", unreleased(), re.MULTILINE)


def test_every_kind_of_change_is_one_of_the_format() -> None:
    assert set(re.findall(r"^### (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)) <= KINDS
