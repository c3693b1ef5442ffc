"""What resources leave alone is in the plan, and not in its id."""

from attrs import evolve

from datum.model.observation import Absent, Present, Unobservable
from datum.model.observation import Cause as Why
from datum.model.plan import Kept
from datum.planner.identity import plan_identity
from datum.planner.kept import kept_by
from tests.unit.fakes import rid
from tests.unit.report.samples import plan


def test_what_is_left_alone_is_read_from_the_observations_by_id_and_path() -> None:
    two = {"./b": "keep says so", "./a": "the package app owns it"}
    found = kept_by(
        {
            rid("tree:/z"): Present({}, {"kept": two, "kept_more": 7}),
            rid("tree:/a"): Present({}, {"kept": {"./x": "keep says so"}}),
            rid("file:/plain"): Present({}, {"text": "a"}),
            rid("file:/odd"): Present({}, {"kept": "no map"}),
            rid("file:/absent"): Absent(),
            rid("file:/unseen"): Unobservable(Why.DENIED, "no"),
        }
    )
    assert list(found.items()) == [
        (rid("tree:/a"), Kept({"./x": "keep says so"})),
        (rid("tree:/z"), Kept(two, 7)),
    ]
    assert list(found[rid("tree:/z")].paths) == ["./a", "./b"]


def test_it_changes_no_id_of_a_plan() -> None:
    one = plan()
    assert plan_identity(evolve(one, kept={rid("tree:/a"): Kept({"./x": "why"})})) == plan_identity(one)
