"""How a host is treated, apart from its resources: `expect`, `limits`, `enforcement`, `observe` (design 2.9, 3.5, 4.4).

They stand in fleet.yaml, layer and host files, and merge as fields do: the strongest definition of each wins. Pure.
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from datum.diagnostics import SourceLocation
from datum.fleet.findings import Findings, listing, problem, suggestion
from datum.fleet.limits import limits_of, read_limits
from datum.fleet.merge import Said, merge_says
from datum.fleet.nodes import Node
from datum.fleet.schema import Checker
from datum.fleet.values import Placed
from datum.model.manifest import Enforcement, Expectation, Limits, OnObservationFailure

SETTING_KEYS: Final = ("enforcement", "expect", "limits", "observe")

_EXPECTED: Final = ("arch", "machine_id", "os")


@frozen
class Settings:
    """What the strongest definitions say."""

    expect: Expectation
    limits: Limits
    enforcement: Enforcement
    on_observation_failure: OnObservationFailure
    # Where `enforcement` is said; None where nothing says it.
    enforcement_at: SourceLocation | None


def read_settings(nodes: Mapping[str, Node], checker: Checker) -> Mapping[str, Placed]:
    """Return what one file says, by dotted name (`limits.removals`); what is wrong is noted and left out."""
    said: dict[str, Placed] = {}
    readers: Mapping[str, Callable[[Node, Checker, dict[str, Placed]], None]] = {
        "enforcement": _read_enforcement,
        "expect": _read_expect,
        "limits": read_limits,
        "observe": _read_observe,
    }
    for key, reader in readers.items():
        if key in nodes:
            reader(nodes[key], checker, said)
    return said


def merge_settings(sources: list[tuple[int, str, Mapping[str, Placed]]], findings: Findings) -> Settings:
    """Merge what several files say, strongest first."""
    names = sorted({name for _, _, said in sources for name in said})
    merged: dict[str, Placed] = {}
    for name in names:
        says = [
            Said(rank, layer, said[name].value, said[name].location) for rank, layer, said in sources if name in said
        ]
        merged[name] = merge_says(says, name, findings.add)
    values = {name: placed.value for name, placed in merged.items()}
    expected = {name: str(values[f"expect.{name}"]) for name in _EXPECTED if f"expect.{name}" in values}
    places = [placed.location for name, placed in merged.items() if name.startswith("expect.")]
    return Settings(
        Expectation(expected, _names(values.get("expect.warn")), min(places, default=None)),
        limits_of(values),
        Enforcement(str(values.get("enforcement", Enforcement.ENFORCE))),
        OnObservationFailure(str(values.get("observe.on_failure", OnObservationFailure.AUTO))),
        merged["enforcement"].location if "enforcement" in merged else None,
    )


def _names(value: object) -> frozenset[str]:
    return frozenset(value) if isinstance(value, tuple) else frozenset()


def _read_enforcement(node: Node, checker: Checker, said: dict[str, Placed]) -> None:
    found = checker.choice(node, Enforcement, "enforcement")
    if found is not None:
        said["enforcement"] = Placed(found.value, node.location)


def _read_observe(node: Node, checker: Checker, said: dict[str, Placed]) -> None:
    table = checker.table(node, "observe")
    nodes = checker.keys(table, ("on_failure",), "observe") if table else {}
    if "on_failure" in nodes:
        found = checker.choice(nodes["on_failure"], OnObservationFailure, "observe.on_failure")
        if found is not None:
            said["observe.on_failure"] = Placed(found.value, nodes["on_failure"].location)


def _read_expect(node: Node, checker: Checker, said: dict[str, Placed]) -> None:
    table = checker.table(node, "expect")
    nodes = checker.keys(table, (*_EXPECTED, "warn"), "expect") if table else {}
    for name in _EXPECTED:
        text = checker.text(nodes[name], f"expect.{name}") if name in nodes else None
        if text is not None:
            said[f"expect.{name}"] = Placed(text, nodes[name].location)
    if "warn" in nodes:
        warned = []
        for text, item in checker.texts(nodes["warn"], "expect.warn"):
            if text in _EXPECTED:
                warned.append(text)
            else:
                detail = f"expect.warn names what is only reported: {listing(_EXPECTED)}, not '{text}'."
                hint = suggestion(text, _EXPECTED)
                checker.findings.add(problem("bad-value", item.location, detail, hint=hint))
        said["expect.warn"] = Placed(tuple(sorted(warned)), nodes["warn"].location)
