"""Words of the command line that Typer cannot read by itself."""

import pytest

from datum.cli.arguments import read_allowances
from datum.errors import UsageError
from datum.model.manifest import LimitClass


def test_limits_are_raised_by_class_for_a_plan_that_was_looked_at() -> None:
    """In one order, so that equal requests are equal."""
    assert read_allowances([], has_plan=False) == {}
    texts = ["changed=80%", "removals=40", "replaces=0"]
    wanted = {LimitClass.REMOVALS: 40, LimitClass.REPLACES: 0, LimitClass.CHANGED: 80}
    for order in (texts, texts[::-1]):
        found = read_allowances(order, has_plan=True)
        assert list(found.items()) == list(wanted.items())


def refused(*texts: str) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        read_allowances(texts, has_plan=True)
    (found,) = caught.value.diagnostics
    assert found.code == "bad-allowance"
    return found.detail, found.hint


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("removals", "'removals=N', 'replaces=N', 'restarts=N', 'package_removals=N', 'changed=N%'"),
        ("removals=", "'removals=N' is"),
        ("removals=-1", "'removals=N' is"),
        ("removals=x", "'removals=N' is"),
        ("removals=1 ", "'removals=N' is"),
        ("removals=1%", "'removals=N' is"),
        ("removals=\u0664", "'removals=N' is"),
        ("replaces=none", "'replaces=N' is"),
        ("changed=80", "'changed=N%' is"),
        ("changed=101%", "100%"),
        ("restarts=1%", "'restarts=N' is"),
        ("package_removals=", "'package_removals=N' is"),
        ("refreshes=1", "'refreshes' is no class"),
        ("1", "is expected"),
        ("=1", "'' is no class"),
    ],
)
def test_other_forms_are_refused_with_the_right_one(text: str, form: str) -> None:
    detail, _ = refused(text)
    assert text in detail
    assert form in detail


def test_a_class_that_is_nearly_one_is_suggested() -> None:
    assert refused("removal=1")[1] == "did you mean 'removals=N'?"
    assert refused("change=5%")[1] == "did you mean 'changed=N%'?"


def test_a_class_is_raised_once() -> None:
    assert "'removals' is there twice" in refused("removals=1", "removals=2")[0]


def test_a_limit_is_raised_for_one_plan_only() -> None:
    """Without `--expect` nobody saw what is allowed."""
    with pytest.raises(UsageError) as caught:
        read_allowances(["removals=1", "changed=80%"], has_plan=False)
    (found,) = caught.value.diagnostics
    assert found.code == "allowance-without-plan"
    assert "--allow removals=1 --allow changed=80% --expect" in found.hint
