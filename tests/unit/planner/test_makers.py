"""Who is waited for, where several may bring what a step needs (design 1.3)."""

from typing import Any

import pytest

from datum.model.graph import Target
from datum.model.manifest import Resource
from datum.model.observation import Observation
from datum.model.plan import Plan, VerdictKind
from tests.unit.fakes import HIDDEN, IN_SYNC, OTHER, action_of, declare, plan_of, rid

UNIT = "unit:nginx.service"
NEEDY: dict[str, Any] = {"needs": [UNIT]}


def waits_for(*resources: Resource, **others: Any) -> str:
    """Return what a step is waited for with, that needs a unit; every other resource comes before."""
    plan = plan_of(*resources, declare("user:needy", **NEEDY, **others))
    (found,) = action_of(plan, "user:needy").known_after
    return str(found)


ANYTHING: dict[str, Any] = {"may_make": ["unit:*"]}


@pytest.mark.parametrize(
    ("resources", "others", "expected"),
    [
        ([declare("fake:a", may_make=[UNIT]), declare("fake:b", makes=[UNIT])], {}, "fake:b"),
        ([declare("fake:a", **ANYTHING), declare("fake:b", may_make=[UNIT])], {}, "fake:b"),
        ([declare("fake:a", **ANYTHING), declare("fake:b", **ANYTHING)], {}, "fake:a"),
        ([declare("fake:a", **ANYTHING), declare("fake:nginx", **ANYTHING)], {}, "fake:nginx"),
        ([declare("fake:a", **ANYTHING), declare("fake:nginx:i386", **ANYTHING)], {}, "fake:nginx:i386"),
        ([declare("fake:nginx", **ANYTHING), declare("fake:z", **ANYTHING)], {"after": ["fake:z"]}, "fake:z"),
        ([declare("fake:nginx", **ANYTHING), declare("fake:z", **ANYTHING)], {"requires": ["fake:z"]}, "fake:z"),
        (
            [declare("fake:m", requires=["fake:z"]), declare("fake:nginx", **ANYTHING), declare("fake:z", **ANYTHING)],
            {"requires": ["fake:m"]},
            "fake:z",
        ),
        ([declare("fake:nginx", **ANYTHING), declare("fake:z", may_make=[UNIT])], {"after": ["fake:nginx"]}, "fake:z"),
        ([declare("fake:a", may_make=["path:*"]), declare("fake:b", **ANYTHING)], {}, "fake:b"),
    ],
    ids=[
        *("certain", "exact", "first", "named", "named-without-architecture", "after", "required"),
        *("required-over-another", "exact-before-after", "its-space"),
    ],
)
def test_the_likeliest_is_waited_for(resources: list[Resource], others: dict[str, list[str]], expected: str) -> None:
    assert waits_for(*resources, **others) == expected


@pytest.mark.parametrize(
    ("maker", "folder", "others", "expected"),
    [
        ({"makes": ["path:/srv/data"]}, {"requires": ["fake:mount"]}, {}, ["fake:mount"]),
        ({"makes": ["path:/srv/data"]}, {}, {}, []),
        ({"makes": ["path:/srv"]}, {"requires": ["fake:mount"]}, {}, []),
        ({"may_make": ["path:/srv/data"]}, {"requires": ["fake:mount"]}, {}, []),
        ({"makes": ["path:/srv/data"]}, {"requires": ["fake:mount"], "value": "x"}, {"folder:/srv/data": OTHER}, []),
    ],
    ids=["made", "not-required", "another-path", "perhaps", "there"],
)
def test_what_another_action_makes_first_is_known_after_it(
    maker: dict[str, Any], folder: dict[str, Any], others: dict[str, Observation], expected: list[str]
) -> None:
    """The directory of a mount point is there when its turn comes."""
    plan = plan_of(declare("fake:mount", **maker), declare("folder:/srv/data", **folder), seen=others)
    assert list(map(str, action_of(plan, "folder:/srv/data").known_after)) == expected


def test_what_may_bring_anything_of_another_space_brings_nothing() -> None:
    plan = plan_of(declare("fake:a", may_make=["path:*"]), declare("user:needy", **NEEDY))
    assert verdict(plan) is VerdictKind.IMPOSSIBLE


def verdict(plan: Plan) -> VerdictKind:
    return plan.verdicts[rid("user:needy")].kind


def test_what_is_stuck_is_waited_for_only_where_nothing_else_may_bring_it() -> None:
    stuck = declare("fake:b", makes=[UNIT], audit=True)
    assert waits_for(declare("fake:a", **ANYTHING), stuck) == "fake:a"
    plan = plan_of(
        stuck,
        declare("fake:c", requires=["fake:0"], **ANYTHING),
        declare("fake:0"),
        declare("user:needy", **NEEDY),
        seen={"fake:0": HIDDEN},
    )
    assert verdict(plan) is VerdictKind.SKIPPED
    assert plan.verdicts[rid("user:needy")].blocked_by == rid("fake:b")


def test_what_is_in_sync_brings_nothing_any_more() -> None:
    plan = plan_of(declare("fake:a", **ANYTHING), declare("user:needy", **NEEDY), seen={"fake:a": IN_SYNC})
    assert verdict(plan) is VerdictKind.IMPOSSIBLE


def test_nothing_brings_what_nothing_can() -> None:
    """Not even what may bring anything: the words are those of the need."""
    plan = plan_of(declare("fake:a", may_make=["nothing:*", "nothing:"]), declare("user:needy", needs=["nothing:"]))
    assert plan.verdicts[rid("user:needy")].detail == f"There is no {Target('nothing', '')}."
