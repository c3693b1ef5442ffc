"""Many cases in one fleet and on one host: each has a unit of its own, and all of them share the passes."""

import json
from collections.abc import Mapping, Sequence

from attrs import frozen

from tests.proofs.owed_cases import Case
from tests.proofs.owed_host import LOADED, Done, OwedHost


@frozen
class Outcome:
    """What the second pass came to for one case."""

    case: Case
    # What the unit noted of it, and what the manager showed before and after.
    does: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]
    shown: str
    # Marks and refreshes that were planned, that were tried, that changed something.
    planned: tuple[str, ...]
    tried: tuple[str, ...]
    applied: tuple[str, ...]
    # What one more pass tried of all that the case declares, and what the unit noted of that.
    again: tuple[str, ...]
    did_again: tuple[str, ...]


@frozen
class Batch:
    """What the passes over all cases came to."""

    outcomes: Mapping[str, Outcome]
    # The plan before the second pass, that pass, and one more.
    planned: Done
    done: Done
    again: Done
    # How often the manager loaded its units in the second pass.
    loads: int

    @classmethod
    def run(cls, host: OwedHost, cases: Sequence[Case], *, is_seen: bool = True) -> "Batch":
        """Enforce all first revisions, do what somebody does, enforce the second ones, and make one more pass.

        A host that is not seen gets no first pass.
        """
        cases_by_name = [(case, f"app{number:02}x") for number, case in enumerate(cases)]
        if is_seen:
            host.apply(merged({name: named(case.first, name) for case, name in cases_by_name}))
        for case, name in cases_by_name:
            host.sh(f"{case.by_hand}".replace("app", name) or "true")
        before = {name: host.shown(name) for _, name in cases_by_name}
        for _, name in cases_by_name:
            host.sh(f"[ ! -e /run/{name}.log ] || : > /run/{name}.log")
        host.sh(f"rm -f {LOADED}")
        host.declare(merged({name: named(case.then, name) for case, name in cases_by_name}))
        planned, done = host.plan(), host.apply(code=None)
        loads = host.loaded()
        noted = {name: host.log(name) for _, name in cases_by_name}
        after = {name: host.shown(name) for _, name in cases_by_name}
        shown = {name: host.sh(case.shows[0].replace("app", name)) for case, name in cases_by_name}
        again = host.apply(code=None)
        outcomes = {
            case.name: Outcome(
                case,
                tuple(noted[name]),
                before[name],
                after[name],
                shown[name],
                planned.owed_by(f"service:{name}"),
                done.owed_by(f"service:{name}"),
                tuple(operation for one, operation in done.owed if (one, operation) in done.applied and name in one),
                tuple(operation for one, operation in again.operations if name in one),
                tuple(host.log(name)),
            )
            for case, name in cases_by_name
        }
        return cls(outcomes, planned, done, again, loads)


def named(resources: object, name: str) -> dict[str, dict[str, object]]:
    """Return resources of `app` as those of another unit."""
    found = json.loads(json.dumps(resources).replace("app", name))
    assert isinstance(found, dict)
    return found


def merged(parts: Mapping[str, Mapping[str, dict[str, object]]]) -> dict[str, dict[str, object]]:
    """Return what several units declare as one."""
    return {origin: about for part in parts.values() for origin, about in part.items()}
