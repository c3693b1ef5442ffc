"""What a failure on the host says as an answer of `observe`."""

import pytest

from datum.model.observation import Cause, Scope, Unobservable
from datum.model.result import FailureCause
from datum.provider.host import HostError


@pytest.mark.parametrize(
    ("cause", "discounted", "scope"),
    [
        (Cause.DENIED, False, Scope.RESOURCE),
        (Cause.IO, False, Scope.HOST),
        (Cause.IO, True, Scope.RESOURCE),
        (Cause.OTHER, True, Scope.RESOURCE),
    ],
)
def test_only_sickness_of_a_local_file_system_reaches_the_host(cause: Cause, discounted: bool, scope: Scope) -> None:
    error = HostError("It failed.", cause=cause, discounted=discounted)
    assert error.unobservable() == Unobservable(cause, "It failed.", scope=scope, discounted=discounted)


def test_a_failure_is_a_diagnostic() -> None:
    error = HostError("It failed.", code="no-space", failure=FailureCause.NO_SPACE, hint="Make room.")
    (found,) = error.diagnostics
    assert (found.code, found.detail, found.hint) == ("no-space", "It failed.", "Make room.")
    assert error.failure is FailureCause.NO_SPACE
    assert "It failed." in str(error)
