"""What a program cannot read, as far as the graph decides it: whose lists it reads, and what a type may answer."""

from collections.abc import Mapping
from typing import Any

import pytest

from datum.diagnostics import Diagnostic
from datum.errors import ProviderContractError
from datum.graph.access import unreadable
from datum.model.access import Access, Consumer, Rights
from datum.model.manifest import Resource
from tests.unit.fakes import Odd, declare, graph_of
from tests.unit.services import ALL, service

PROGRAM = Consumer("app", reads_listed=True)


def of_root(path: str) -> Rights:
    return Rights(path, "0600", "root", "root")


def judged(*resources: Resource, says: Mapping[str, tuple[Access, ...]]) -> tuple[Diagnostic, ...]:
    """Judge with an `odd` that says this, whatever it is asked for."""
    providers = {**ALL, "odd": Odd(access=lambda *_: says)}
    return unreadable(graph_of(*resources, providers=providers), providers, lambda _: None)


def test_a_program_reads_what_the_services_list_that_require_it_and_no_other_does() -> None:
    files: dict[str, Any] = {path: (of_root(path),) for path in ("/a", "/b")}
    found = judged(
        *(declare(f"odd:{path}") for path in ("/a", "/b", "/program")),
        service("another", restart_on=["odd:/b"]),
        service("app", restart_on=["odd:/a"], requires=["odd:/program"]),
        says={**files, "/program": (PROGRAM,)},
    )
    assert [(one.code, one.resource) for one in found] == [("unreadable-by-account", "odd:/a")]
    assert "service:app lists it here" in [text for text, _ in found[0].related]


def test_an_answer_for_what_was_not_asked_for_is_its_bug() -> None:
    with pytest.raises(ProviderContractError) as caught:
        judged(declare("odd:/a"), declare("odd:/gone", absent=True), says={"/gone": (of_root("/gone"),)})
    (found,) = caught.value.diagnostics
    assert (found.code, found.resource) == ("provider-breach", "odd:/a")
    assert "'access' of odd:/a, answered for /gone, which it was not asked for" in found.detail
