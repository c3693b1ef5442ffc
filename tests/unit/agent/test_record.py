"""`plan --record` and `plan --observed`: the same bytes anywhere, and nothing that is not a record (design 1.3)."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve

from datum.agent.planning import Planned
from datum.agent.record import record_plan, replay_plan
from datum.cli.effects import make_ports
from datum.errors import UsageError
from datum.model.identity import ResourceId
from datum.model.json import canonical_json
from datum.model.observation import Absent
from datum.model.plan import Label
from datum.model.revision import Revision
from datum.model.source import SourceTree
from datum.planner.inputs import Unresolved
from datum.planner.plan import plan_pass
from datum.report.plan_json import plan_to_json
from datum.repository.worktree import clone_tree
from tests.passes.scene import DROP_IN, Scene, run

KEPT = f"file:{DROP_IN}/kept"
RESOURCES: Final[Mapping[str, Mapping[str, Any]]] = {
    "file:/etc/a": {"content": "a\n", "mode": "0640"},
    "file:/etc/b": {"source": "files/b", "requires": ["file:/etc/a"]},
    "file:/etc/loop/x": {"content": "x\n"},
    "file:/etc/same": {"content": "same\n"},
    "file:/etc/late": {"content": "${machine.arch}\n"},
    "file:/etc/never": {"content": "${machine.addresses.nope}\n"},
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Give a host with an orphan, drift, something in sync, something unobservable, and late values."""
    made = Scene(tmp_path_factory.mktemp("record"))
    made.repository.commit({"files/b": "from the repository\n"})
    made.enrolled({KEPT: {"content": "old\n"}, "file:/etc/same": {"content": "same\n"}})
    made.commit(RESOURCES)
    made.write("/etc/a", "other\n")
    (made.root / "etc/loop").symlink_to("loop")
    return made


@pytest.fixture(scope="module")
def record(scene: Scene) -> Any:
    """Give the record of the plan."""
    file = scene.folder / "record.json"
    assert scene.run("plan", "--record", str(file)).code == 0
    return json.loads(file.read_text())


def replayed(scene: Scene, record: Any) -> Any:
    file = scene.folder / "changed.json"
    file.write_text(json.dumps(record))
    return run("plan", "--observed", str(file), "--fleet", scene.url, "--json")


def tree_of(scene: Scene) -> Any:
    def tree(revision: Revision) -> SourceTree:
        return clone_tree(Path(scene.url), revision.commit)

    return tree


def test_replay_gives_the_same_bytes(scene: Scene, record: Any) -> None:
    """As JSON and for people, without the host: it is gone by then."""
    planned = scene.run("plan", "--json")
    shown = scene.run("plan")
    assert {entry["operation"] for entry in planned.json["resources"]} >= {"create", "update", "delete"}
    assert {entry["outcome"] for entry in planned.json["resources"]} >= {None, "unobservable", "held"}
    gone = scene.root.rename(scene.folder / "gone")
    try:
        assert replayed(scene, record).out == planned.out
        file = scene.folder / "changed.json"
        assert run("plan", "--observed", str(file), "--fleet", scene.url).out == shown.out
    finally:
        gone.rename(scene.root)


def test_record_holds_the_plan_itself(record: Any) -> None:
    """And every input by name."""
    assert record["format"] == "datum.record/5"
    assert record["plan"]["plan_id"].startswith("sha256:")
    assert set(record["observations"]) == set(RESOURCES)
    assert set(record["orphans"]) == {KEPT}
    assert len(record["trail"]) == 1
    assert record["converged"].startswith("sha1:")


def test_replay_of_a_first_plan(tmp_path: Path) -> None:
    """Without trail, orphans, and converged."""
    made = Scene(tmp_path)
    made.commit({"file:/etc/a": {"content": "a\n"}})
    assert made.init().code == 0
    file = tmp_path / "record.json"
    planned = made.run("plan", "--json", "--record", str(file))
    record = json.loads(file.read_text())
    assert (record["trail"], record["converged"], record["orphans"]) == ([], None, {})
    assert replayed(made, record).out == planned.out


def test_replay_when_the_target_has_converged(tmp_path: Path) -> None:
    """Drift of the enforced revision keeps its label."""
    made = Scene(tmp_path)
    made.enrolled({"file:/etc/a": {"content": "a\n"}})
    made.write("/etc/a", "drifted\n")
    file = tmp_path / "record.json"
    planned = made.run("plan", "--json", "--record", str(file))
    assert [entry["label"] for entry in planned.json["resources"]] == ["drift"]
    assert replayed(made, json.loads(file.read_text())).out == planned.out


def replayed_twice(scene: Scene, planned: Planned) -> tuple[bytes, bytes]:
    """Return a plan as JSON, and what its record gives in the clone."""
    ports = make_ports()
    record = json.loads(canonical_json(record_plan(planned, _pointer(scene), ports)))
    again = replay_plan(record, tree_of(scene), ports)
    return tuple(canonical_json(plan_to_json(one.plan)) for one in (planned, again))  # type: ignore[return-value]


def test_what_the_host_could_not_resolve_is_not_resolved_in_a_clone_either(scene: Scene, record: Any) -> None:
    """What converged last decides labels, limits and restarts for evidence; the trail decides what may be removed."""
    given = replay_plan(record, tree_of(scene), make_ports()).given
    gone = {**given.observed.observations, ResourceId.parse("file:/etc/same"): Absent()}
    given = evolve(given, observed=evolve(given.observed, observations=gone))
    assert Label.DRIFT in {action.label for action in plan_pass(given).actions}
    blind = evolve(given, converged=None)
    assert Label.DRIFT not in {action.label for action in plan_pass(blind).actions}
    one, other = replayed_twice(scene, Planned(plan_pass(blind), blind))
    assert one == other
    unknown = tuple(Unresolved(entry.revision, "Its type is gone.") for entry in given.trail)
    lost = evolve(blind, trail=unknown, orphans={})
    one, other = replayed_twice(scene, Planned(plan_pass(lost), lost))
    assert one == other


def test_what_the_host_resolved_and_the_clone_lacks_is_said(scene: Scene, record: Any) -> None:
    ran = replayed(scene, {**record, "trail": [], "orphans": {}, "converged": f"sha1:{'1' * 40}"})
    assert ran.code == 66, ran


def refused(scene: Scene, record: Any) -> Any:
    """Return the one diagnostic of a refusal; exit 64."""
    ran = replayed(scene, record)
    assert ran.code == 64, ran
    (found,) = ran.json["error"]["diagnostics"]
    return found


def test_each_key_that_is_missing_is_refused(scene: Scene, record: Any) -> None:
    """None of them has a default."""
    for name in record:
        missing = {key: value for key, value in record.items() if key != name}
        assert refused(scene, missing)["code"] == "bad-record", name
    assert set(WRONG) == set(record)


PAUSE: Final = {
    "who": "a", "reason": "b", "since": "2026-11-29T12:00:00Z", "until": "2026-11-29T13:00:00Z", "only": ["file:/a"],
}  # fmt: skip
WRONG: Final[Mapping[str, tuple[Any, ...]]] = {
    "format": (5, None, [], "x"),
    "versions": (5, None, "x", []),
    "revision": (5, None, [], "x", ""),
    "host": (5, None, [], {}, ""),
    "trail": (5, None, "x", [5], {"x": 5}),
    "converged": (5, True, [], "x"),
    "is_retry": (5, None, "true", []),
    "allowed": (True, 1.5, "x", [], None, {"x": 1}, {"removals": True}, {"removals": -1}, {"removals": "1"}),
    "machine": (5, None, "x", [5]),
    "observations": (5, None, "x", [], {}, {"x": 5}),
    "orphans": (5, None, "x", [], {"x": 5}),
    "plan": (5, None, "x", []),
    "now": (5, None, "x", [], "2026-11-29"),
    "pause": (
        5,
        True,
        "x",
        [],
        {},
        {"who": "a"},
        {**PAUSE, "who": 5},
        {**PAUSE, "until": 5},
        {**PAUSE, "only": 5},
        {**PAUSE, "only": ["x"]},
    ),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_each_key_of_a_wrong_kind_is_refused(scene: Scene, record: Any, name: str, value: Any) -> None:
    """A kind that is nearly right is wrong."""
    assert refused(scene, {**record, name: value})["code"] == "bad-record"


@pytest.mark.parametrize(
    "path",
    [
        ("trail", 0, "revision"),
        ("trail", 0, "host"),
        ("trail", 0, "unresolved"),
        ("orphans", KEPT, "package"),
        ("orphans", KEPT, "sights"),
        ("orphans", KEPT, "sights", 0, "revision"),
        ("orphans", KEPT, "sights", 0, "observation"),
        ("observations", "file:/etc/a"),
        ("observations", "file:/etc/a", "present"),
        ("observations", "file:/etc/a", "detail"),
        ("observations", "file:/etc/a", "identity"),
        ("observations", "file:/etc/a", "holds"),
        ("observations", "file:/etc/a", "mounts"),
        ("observations", "file:/etc/a", "obstacles"),
        ("observations", "file:/etc/b", "absent"),
        ("observations", "file:/etc/loop/x", "unobservable", "cause"),
        ("observations", "file:/etc/loop/x", "unobservable", "detail"),
        ("observations", "file:/etc/loop/x", "unobservable", "scope"),
        ("observations", "file:/etc/loop/x", "unobservable", "discounted"),
    ],
)
def test_each_inner_key_that_is_missing_is_refused(scene: Scene, record: Any, path: tuple[Any, ...]) -> None:
    """Nothing in it has a default."""
    broken = copy.deepcopy(record)
    inner = broken
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    assert refused(scene, broken)["code"] == "bad-record"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("trail", 0, "revision"), "main"),
        (("trail", 0, "host"), "No Host"),
        (("trail", 0, "unresolved"), 5),
        (("orphans", KEPT, "sights"), []),
        (("orphans", KEPT, "package"), 5),
        (("orphans", "nothing"), {"package": None, "sights": []}),
        (("observations", "file:/etc/a"), []),
        (("observations", "file:/etc/a", "present"), []),
        (("observations", "file:/etc/a", "detail"), "x"),
        (("observations", "file:/etc/a", "holds"), "x"),
        (("observations", "file:/etc/a", "mounts"), [5]),
        (("observations", "file:/etc/a", "obstacles"), "x"),
        (("observations", "file:/etc/loop/x", "unobservable", "cause"), "tired"),
        (("observations", "file:/etc/loop/x", "unobservable", "scope"), "world"),
        (("revision",), "0" * 40),
        (("host",), "Web One"),
    ],
)
def test_each_inner_value_of_a_wrong_kind_is_refused(
    scene: Scene, record: Any, path: tuple[Any, ...], value: Any
) -> None:
    """A closed set is closed, a name is a name."""
    broken = copy.deepcopy(record)
    inner = broken
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    assert refused(scene, broken)["code"] == "bad-record"


def test_what_keeps_something_from_being_removed_is_in_the_record(scene: Scene, record: Any) -> None:
    """It decides what is impossible, and which orphans stay."""
    changed = copy.deepcopy(record)
    changed["orphans"][KEPT]["sights"][0]["observation"]["obstacles"] = ["It is in use."]
    rules = [{one["id"]: one["rule"] for one in replayed(scene, some).json["orphans"]} for some in (record, changed)]
    assert rules == [{KEPT: "removable"}, {KEPT: "obstacle"}]


@pytest.mark.parametrize("value", [None, [], 5, "x", {}, {"format": "datum.record/1"}])
def test_what_is_no_record_is_refused(scene: Scene, value: Any) -> None:
    """By its format, before anything else."""
    found = refused(scene, value)
    assert found["code"] == "bad-record"
    assert "datum.record/5" in found["detail"]


def test_a_file_that_is_no_json_or_not_there_is_refused(scene: Scene) -> None:
    """With the reason."""
    file = scene.folder / "broken.json"
    for text in ("{", "", "\udcff"):
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        ran = run("plan", "--observed", str(file), "--fleet", scene.url, "--json")
        assert (ran.code, ran.json["error"]["diagnostics"][0]["code"]) == (64, "bad-record")
    ran = run("plan", "--observed", str(file.with_name("none")), "--fleet", scene.url)
    assert ran.code == 64
    assert "No such file" in ran.err


@pytest.mark.parametrize("name", ["datum", "file", "other"])
def test_records_of_other_versions_are_refused(scene: Scene, record: Any, name: str) -> None:
    """A plan is a function of them: agent, each type, and which types there are."""
    found = refused(scene, {**record, "versions": {**record["versions"], name: "0.0.0"}})
    assert found["code"] == "other-versions"
    assert f"{name} is " in found["detail"]
    fewer = {key: value for key, value in record["versions"].items() if key != name}
    if name != "other":
        assert refused(scene, {**record, "versions": fewer})["code"] == "other-versions"


def test_another_python_is_no_other_version(scene: Scene, record: Any) -> None:
    """The same bytes come from any that runs this datum."""
    assert replayed(scene, {**record, "versions": {**record["versions"], "python": "3.99"}}).code == 0


def test_a_revision_that_is_not_in_the_clone_is_said(scene: Scene, record: Any) -> None:
    """66: the target is not there."""
    ran = replayed(scene, {**record, "revision": f"sha1:{'1' * 40}"})
    assert ran.code == 66, ran


def test_fields_that_cannot_be_seen_or_do_not_apply_are_kept(scene: Scene, record: Any) -> None:
    """They come back as what they were."""
    changed = copy.deepcopy(record)
    fields = changed["observations"]["file:/etc/a"]["present"]
    changed["observations"]["file:/etc/a"] |= {"holds": ["/etc/a/x", "/etc/a/y"], "mounts": ["/etc/a/y"]}
    fields["mode"] = {"$not_applicable": "no-modes"}
    fields["content"] = {"$unobservable": {"cause": "denied", "detail": "No.", "scope": "resource", "discounted": True}}
    ports = make_ports()
    planned = replay_plan(changed, tree_of(scene), ports)
    assert not [action for action in planned.plan.actions if str(action.resource) == "file:/etc/a"]
    again = record_plan(planned, _pointer(scene), ports)
    assert again["observations"] == changed["observations"]


def _pointer(scene: Scene) -> Any:
    from datum.state.pointer_file import read_pointer

    return read_pointer(scene.pointer_path)


def test_refusals_are_usage_errors(scene: Scene) -> None:
    """Nobody else is to blame."""
    with pytest.raises(UsageError):
        replay_plan({}, tree_of(scene), make_ports())
