"""What is told of revisions of the trail that cannot be resolved."""

from datum.agent.memory import unresolved_words
from datum.diagnostics import Severity
from datum.planner.inputs import Unresolved
from tests.unit.fakes import declare, declared_by, revision


def test_each_revision_that_cannot_be_resolved_is_named_with_the_reason() -> None:
    """A warning: the pass goes on, and removes nothing."""
    lost = Unresolved(revision(2), "The type 'slow' is not installed.")
    (found,) = unresolved_words((declared_by(3, declare("fake:a")), lost, declared_by(1, declare("fake:a"))))
    assert (found.code, found.severity) == ("trail-unresolved", Severity.WARNING)
    assert revision(2).short in found.detail
    assert lost.detail in found.detail
