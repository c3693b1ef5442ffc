"""Words of the command line that Typer cannot read by itself."""

import pytest

from datum.cli.arguments import read_allowance
from datum.errors import UsageError


def test_allowance() -> None:
    """A number of removals, for a plan that was looked at."""
    assert read_allowance("", has_plan=False) is None
    assert read_allowance("removals=40", has_plan=True) == 40


@pytest.mark.parametrize(
    "text", ["removals", "removals=", "removals=-1", "removals=x", "restarts=1", "removals=1 ", "1"]
)
def test_other_forms_are_refused(text: str) -> None:
    """With the form that is expected."""
    with pytest.raises(UsageError) as caught:
        read_allowance(text, has_plan=True)
    assert caught.value.diagnostics[0].code == "bad-allowance"


def test_a_limit_is_raised_for_one_plan_only() -> None:
    """Without `--expect` nobody saw what is allowed."""
    with pytest.raises(UsageError) as caught:
        read_allowance("removals=1", has_plan=False)
    assert caught.value.diagnostics[0].code == "allowance-without-plan"
