"""Types of several files: what a removal that was struck has left is told from what somebody changed."""

import pytest

from datum.model.json import JsonValue
from datum.model.plan import Change
from datum.provider.parted import PartedProvider
from datum_providers.package_source.provider import PackageSourceProvider
from datum_providers.timer.provider import TimerProvider


@pytest.mark.parametrize(
    ("provider", "name", "before", "is_missing"),
    [
        (TimerProvider(), "kind", "none", True),
        (TimerProvider(), "service", None, True),
        (TimerProvider(), "enabled", False, True),
        (TimerProvider(), "running", False, True),
        (TimerProvider(), "loaded", "stale", True),
        (TimerProvider(), "enabled", "masked", False),
        (TimerProvider(), "timer", "blob:0", False),
        (TimerProvider(), "service_kind", "directory", False),
        (TimerProvider(), "mode", "0600", False),
        (PackageSourceProvider(), "kind", "none", True),
        (PackageSourceProvider(), "uris", None, True),
        (PackageSourceProvider(), "uris", ["https://example.org"], False),
        (PackageSourceProvider(), "enabled", False, False),
        (PackageSourceProvider(), "key", "sha256:0", False),
    ],
)
def test_what_is_missing_is_a_part_that_was_removed(
    provider: PartedProvider[object], name: str, before: JsonValue, is_missing: bool
) -> None:
    assert isinstance(provider, PartedProvider)
    assert provider.is_missing(Change(name, before, "wanted")) is is_missing
