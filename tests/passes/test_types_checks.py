"""Whole passes with sets of every type: what a check sees, what stays when it refuses, what everybody else sees."""

import threading
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.passes.looks import (
    assert_settled,
    mode,
    mounted,
    names,
    needs_root,
    planned,
    refused_for,
    reported,
    said,
    untimed,
    written,
)
from tests.passes.scene import Resources, Scene, install

pytestmark = needs_root

CHECK: Final = "check:set"
SEES: Final = """
set -e
read word < /etc/set.conf; echo "the word is $word"
[ -L /srv/set.link ]; read linked < /srv/set.link; [ "$linked" = "$word" ]
[ -d /srv/set.d ]; [ ! -e /srv/set.old ]; [ ! -e /srv/set.gone/x ]
read leaf < /srv/set.tree/sub/leaf; [ "$leaf" = "$word" ]
[ "$word" = good ]
"""
MEMBERS: Final = (
    "directory:/srv/set.d",
    "directory:/srv/set.gone",
    "file:/etc/set.conf",
    "file:/srv/set.gone/x",
    "file:/srv/set.old",
    "file:/srv/set.d/in",
    "link:/srv/set.link",
    "tree:/srv/set.tree",
)


def sh(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def whole(word: str, **more: Any) -> dict[str, dict[str, Any]]:
    """Declare a set of every type that can be guarded, with removals in it, and what requires it."""
    return {
        CHECK: {"run": sh(SEES), "guards": list(MEMBERS), **more},
        "file:/etc/set.conf": {"content": f"{word}\n", "mode": "0640"},
        "link:/srv/set.link": {"target": f"set.tree/{word}"},
        "directory:/srv/set.d": {"mode": "0750"},
        "file:/srv/set.d/in": {"content": word},
        "file:/srv/set.old": {"absent": True},
        "file:/srv/set.gone/x": {"absent": True},
        "directory:/srv/set.gone": {"absent": True},
        "tree:/srv/set.tree": {"source": f"files/{word}", "exclusive": True},
        "file:/srv/requires-it": {"content": word, "requires": ["link:/srv/set.link"]},
    }


FILES: Final[dict[str, str | bytes]] = {
    f"files/{word}/{name}": f"{word}\n" for word in ("good", "bad") for name in (word, "sub/leaf")
}


@pytest.fixture
def ready(scene: Scene) -> Scene:
    """Give a host with the old state of the set, on which checks can run."""
    install(scene, "/bin/sh")
    scene.repository.commit(FILES)
    scene.write("/etc/set.conf", "old\n")
    scene.write("/srv/set.old", "old\n")
    scene.write("/srv/set.gone/x", "old\n")
    scene.write("/srv/set.tree/stray", "old\n")
    scene.at("/srv/set.link").symlink_to("set.old")
    return scene


def test_a_refused_set_leaves_every_byte_and_the_next_revision_goes_on(ready: Scene) -> None:
    """Files, links, directories, trees, and what is to go: all of it, or none."""
    ready.commit(whole("bad"))
    assert ready.init().code == 0
    before = untimed(ready.host())
    ran = ready.apply(code=1)
    assert untimed(ready.host()) == before
    found = reported(ready)
    assert {name: found[name]["outcome"] for name in MEMBERS} == dict.fromkeys(MEMBERS, "failed")
    assert {found[name]["refused_by"] for name in MEMBERS} == {CHECK}
    assert found["file:/srv/requires-it"]["outcome"] == "skipped"
    assert ran.out.count("the word is bad") == 1
    assert ready.report["outcome"] == "failed"
    ready.apply(code=1)
    assert untimed(ready.host()) == before
    ready.commit(whole("good"))
    ready.apply()
    (check,) = ready.report["checks"]
    assert (check["outcome"], sorted(check["candidates"])) == ("passed", sorted(MEMBERS))
    assert ready.read("/srv/set.link") == "good\n"
    assert (mode(ready.at("/etc/set.conf")), mode(ready.at("/srv/set.d"))) == ("0640", "0750")
    assert names(ready, "/srv") == ["requires-it", "set.d", "set.link", "set.tree"]
    assert names(ready, "/srv/set.tree") == ["good", "sub"]
    assert_settled(ready)
    assert ready.report["checks"] == []
    ready.write("/srv/set.tree/sub/leaf", "hacked\n")
    ready.apply()
    (check,) = ready.report["checks"]
    assert (check["outcome"], check["candidates"]) == ("passed", ["tree:/srv/set.tree"])
    assert ready.read("/srv/set.tree/sub/leaf") == "good\n"


def test_a_repaired_set_is_refused_where_it_makes_no_sense_any_more(ready: Scene) -> None:
    """Drift of one member is judged with what stands beside it."""
    ready.enrolled(whole("good"))
    ready.at("/bin/sh").rename(ready.at("/bin/sh.away"))
    ready.write("/etc/set.conf", "hacked\n")
    before = untimed(ready.host())
    ready.apply(code=1)
    assert untimed(ready.host()) == before
    assert ready.report["checks"][0]["outcome"] == "not_run"
    assert ready.outcomes()["file:/etc/set.conf"] == "failed"


@pytest.mark.parametrize("how", ["hazard", "protect", "audit", "unobservable", "impossible"])
def test_one_member_that_cannot_be_done_holds_up_the_set(ready: Scene, how: str) -> None:
    """The others are skipped by it, and no check runs."""
    wanted = whole("good")
    culprit = "file:/etc/set.conf"
    if how in {"hazard", "protect"}:
        ready.at("/etc/set.conf").unlink()
        ready.write("/etc/set.conf/precious", "x\n")
        wanted[culprit] |= {"allow": ["data_loss"], "protect": True} if how == "protect" else {}
    elif how == "audit":
        wanted[culprit]["audit"] = True
    elif how == "impossible":
        wanted[culprit]["owner"] = "ghost"
    else:
        culprit = "file:/etc/way/x"
        ready.at("/etc/way").symlink_to("other.d")
        wanted[culprit] = {"content": "x"}
        wanted[CHECK]["guards"] = [*MEMBERS, culprit]
    ready.commit(wanted)
    assert ready.init().code == 0
    before = untimed(ready.host())
    ready.apply(code=1)
    assert untimed(ready.host()) == before
    found = reported(ready)
    expected = {"unobservable": "unobservable", "impossible": "failed"}.get(how, "held")
    assert found[culprit]["outcome"] == expected
    others = [name for name in MEMBERS if name != culprit]
    assert {name: found[name]["outcome"] for name in others} == dict.fromkeys(others, "skipped")
    assert {check["outcome"] for check in ready.report["checks"]} <= {"not_run"}


def test_a_member_over_a_limit_or_with_a_failed_prerequisite_holds_up_the_set(ready: Scene) -> None:
    ready.commit(whole("good"), limits={"removals": 0})
    assert ready.init().code == 0
    before = untimed(ready.host())
    ready.apply(code=1)
    assert untimed(ready.host()) == before
    found = reported(ready)
    assert {found[name]["outcome"] for name in MEMBERS} == {"held", "skipped"}
    assert found["file:/srv/set.old"]["hold"]["limit"] == "removals"
    assert found["link:/srv/set.link"]["outcome"] == "skipped"
    wanted = whole("good")
    wanted["link:/srv/set.link"]["requires"] = ["file:/etc/before"]
    ready.commit({**wanted, "file:/etc/before": {"content": "x", "owner": "ghost"}})
    ready.apply(code=1)
    assert untimed(ready.host()) == before
    found = reported(ready)
    assert {name: found[name]["outcome"] for name in MEMBERS} == dict.fromkeys(MEMBERS, "skipped")


def watched(scene: Scene, act: Callable[[], object]) -> set[tuple[str | None, str | None]]:
    """Return what another program saw of two paths while something went on."""
    seen: set[tuple[str | None, str | None]] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add((scene.read("/etc/one"), scene.read("/etc/two")))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        act()
    finally:
        done.set()
        thread.join()
    return seen


def test_everybody_else_sees_the_old_set_while_a_check_runs(scene: Scene) -> None:
    """A refused one is never seen; neither by its bytes nor by a name that programs read."""
    install(scene, "/bin/sh")
    install(scene, "/bin/sleep")
    check = sh('read a < /etc/one; read b < /etc/two; sleep 0.4; [ "$a" = "$b" ]')

    def pair(one: str, two: str) -> Resources:
        return {
            "file:/etc/one": {"content": f"{one}\n"},
            "file:/etc/two": {"content": f"{two}\n"},
            CHECK: {"run": check, "guards": ["file:/etc/one", "file:/etc/two"]},
        }

    scene.enrolled(pair("1", "1"))
    scene.commit(pair("2", "3"))
    assert watched(scene, lambda: scene.apply(code=1)) == {("1\n", "1\n")}
    scene.commit(pair("4", "4"))
    seen = watched(scene, scene.apply)
    assert {one for one, _ in seen} | {two for _, two in seen} <= {"1\n", "4\n"}
    assert (scene.read("/etc/one"), scene.read("/etc/two")) == ("4\n", "4\n")


def test_checks_that_share_a_member_judge_one_set(scene: Scene) -> None:
    """One refuses: neither set is put in place, and each check says for itself."""
    install(scene, "/bin/sh")

    def wanted(other: str) -> Resources:
        return {
            "file:/etc/a": {"content": "new\n"},
            "file:/etc/b": {"content": "new\n"},
            "file:/etc/c": {"content": f"{other}\n"},
            "check:one": {
                "run": sh("read x < /etc/a; read y < /etc/b; [ $x = $y ]"),
                "guards": ["file:/etc/a", "file:/etc/b"],
            },
            "check:two": {
                "run": sh("read x < /etc/b; read y < /etc/c; [ $x = $y ]"),
                "guards": ["file:/etc/b", "file:/etc/c"],
            },
        }

    scene.commit(wanted("odd"))
    assert scene.init().code == 0
    before = untimed(scene.host())
    scene.apply(code=1)
    assert untimed(scene.host()) == before
    assert scene.outcomes()["file:/etc/a"] == "failed"
    outcomes = {check["id"]: check["outcome"] for check in scene.report["checks"]}
    assert outcomes["check:two"] == "refused"
    scene.commit(wanted("new"))
    scene.apply()
    assert {check["outcome"] for check in scene.report["checks"]} == {"passed"}
    assert_settled(scene)


def test_what_a_check_requires_is_there_before_it_judges(scene: Scene) -> None:
    """A program that the same pass brings, and a folder that is no member of the set."""
    install(scene, "/bin/sh")
    scene.at("/usr").mkdir(exist_ok=True)
    judge = "#!/bin/sh\nread word < /srv/new/conf && [ $word = good ]\n"
    wanted: dict[str, dict[str, Any]] = {
        CHECK: {"run": ["/usr/judge"], "guards": ["file:/srv/new/conf"], "requires": ["file:/usr/judge"]},
        "file:/usr/judge": {"content": judge, "mode": "0755"},
        "directory:/srv/new": {},
        "file:/srv/new/conf": {"content": "bad\n"},
    }
    scene.commit(wanted)
    assert scene.init().code == 0
    order = list(planned(scene))
    assert order.index("file:/usr/judge") < order.index("file:/srv/new/conf")
    scene.apply(code=1)
    assert scene.outcomes() == {
        "directory:/srv/new": "applied", "file:/usr/judge": "applied", "file:/srv/new/conf": "failed", CHECK: "failed",
    }  # fmt: skip
    assert names(scene, "/srv/new") == []
    scene.commit({**wanted, "file:/srv/new/conf": {"content": "good\n"}})
    scene.apply()
    assert scene.read("/srv/new/conf") == "good\n"
    assert_settled(scene)


def test_what_a_check_writes_is_thrown_away_and_no_answer_in_time_is_a_refusal(scene: Scene) -> None:
    install(scene, "/bin/sh")
    install(scene, "/bin/sleep")
    for name in ("run", "tmp"):
        scene.at(f"/{name}").mkdir(exist_ok=True)
    scribble = "for d in /run /tmp /var; do echo x > $d/scribble || exit 1; done; "
    check = {
        "run": sh(scribble + 'echo "$APP"; sleep $(read s < /etc/wait; echo $s); exit 0'),
        "guards": ["file:/etc/wait"],
        "timeout": 1,
    }
    environment = {"environment": {"APP": "a word"}}
    scene.commit({CHECK: {**check, **environment}, "file:/etc/wait": {"content": "60\n"}})
    assert scene.init().code == 0
    scene.apply(code=1)
    assert scene.read("/etc/wait") is None
    assert scene.outcomes()["file:/etc/wait"] == "failed"
    assert "a word" in said(reported(scene)["file:/etc/wait"])
    scene.commit({CHECK: {**check, **environment}, "file:/etc/wait": {"content": "0\n"}})
    scene.apply()
    assert [path for path in scene.everything() if "scribble" in path] == []


@pytest.mark.parametrize("is_new", [True, False])
def test_all_but_the_candidates_is_read_only_for_a_check(scene: Scene, is_new: bool) -> None:
    """Also where a candidate has a new name, in the folder beside it."""
    install(scene, "/bin/sh")
    if not is_new:
        scene.write("/etc/a", "old\n")
    script = (
        "(echo x > /etc/scribble) && exit 9; (echo x > /srv/scribble) && exit 9; (echo x > /etc/a) && exit 9; exit 0"
    )
    scene.commit({CHECK: {"run": sh(script), "guards": ["file:/etc/a"]}, "file:/etc/a": {"content": "a\n"}})
    assert scene.init().code == 0
    ran = scene.run("apply")
    assert [path for path in scene.everything() if "scribble" in path] == []
    assert (ran.code, scene.read("/etc/a")) == (0, "a\n"), ran


def test_a_file_with_a_program_of_its_own_in_a_set_is_judged_by_both(scene: Scene) -> None:
    install(scene, "/bin/sh")

    def wanted(word: str, other: str) -> Resources:
        return {
            "file:/etc/a": {"content": f"{word}\n", "validate": [*sh('read w < "$1"; [ $w != ugly ]'), "sh", "{path}"]},
            "file:/etc/b": {"content": f"{other}\n"},
            CHECK: {
                "run": sh("read a < /etc/a; read b < /etc/b; [ $a = $b ]"),
                "guards": ["file:/etc/a", "file:/etc/b"],
            },
        }

    scene.enrolled(wanted("nice", "nice"))
    before = untimed(scene.host())
    for words in (("ugly", "ugly"), ("fine", "other")):
        scene.commit(wanted(*words))
        scene.apply(code=1)
        assert untimed(scene.host()) == before
    scene.commit(wanted("fine", "fine"))
    scene.apply()
    assert scene.read("/etc/b") == "fine\n"


def test_a_set_over_several_mounts_and_onto_a_mounted_file_is_one_set(scene: Scene) -> None:
    """New names on a file system of its own, and a file that cannot be renamed over: all of it, or none."""
    install(scene, "/bin/sh")
    scene.at("/srv/m").mkdir()
    scene.write("/etc/hosts", "")
    outside = scene.folder / "outside"
    outside.write_text("old\n", encoding="utf-8")
    members = ["file:/etc/hosts", "file:/etc/x", "file:/srv/m/x", "directory:/srv/m/sub", "file:/srv/m/sub/x"]
    script = 'set -e; for f in /etc/hosts /etc/x /srv/m/x /srv/m/sub/x; do read w < $f; [ "$w" = good ]; done'

    def wanted(word: str) -> Resources:
        files = {name: {"content": f"{word}\n"} for name in members if name.startswith("file")}
        return {CHECK: {"run": sh(script), "guards": members}, "directory:/srv/m/sub": {}, **files}

    with (
        mounted("-t", "tmpfs", "-o", "mode=755", "none", str(scene.at("/srv/m"))),
        mounted("--bind", str(outside), str(scene.at("/etc/hosts"))),
    ):
        scene.commit(wanted("bad"))
        assert scene.init().code == 0
        before = untimed(scene.host())
        ran = scene.apply(code=1)
        assert untimed(scene.host()) == before, ran.out
        assert scene.report["checks"][0]["outcome"] == "refused", ran.out
        assert outside.read_text(encoding="utf-8") == "old\n"
        scene.commit(wanted("good"))
        scene.apply()
        assert outside.read_text(encoding="utf-8") == "good\n"
        assert scene.read("/srv/m/sub/x") == "good\n"
        assert_settled(scene)


def test_an_ordinary_user_has_sets_judged_below_a_root_of_his_own(user_scene: Scene) -> None:
    """And runs commands there: with namespaces of his own, or told why not."""
    scene = user_scene
    install(scene, "/bin/sh")
    scene.give()
    check = {"run": sh("read a < /etc/a; read b < /etc/b; [ $a = $b ]"), "guards": ["file:/etc/a", "file:/etc/b"]}

    def wanted(one: str, two: str) -> Resources:
        return {
            CHECK: check,
            "file:/etc/a": {"content": f"{one}\n"},
            "file:/etc/b": {"content": f"{two}\n"},
            "command:c": {"run": sh("read a < /etc/a; echo $a > /srv/c"), "inputs": ["/etc/a"], "outputs": ["/srv/c"]},
        }

    scene.commit(wanted("1", "1"))
    assert scene.init().code == 0
    ran = scene.apply()
    assert (scene.read("/etc/b"), scene.read("/srv/c")) == ("1\n", "1\n"), ran
    before = untimed(scene.host())
    scene.commit(wanted("2", "3"))
    scene.apply(code=1)
    assert scene.report["checks"][0]["outcome"] == "refused"
    assert {path: seen[-1] for path, seen in untimed(scene.host()).items()} == {
        path: seen[-1] for path, seen in before.items()
    }


def test_a_dropped_check_leaves_nothing_behind(scene: Scene) -> None:
    """Its members are resources as before."""
    install(scene, "/bin/sh")
    one: dict[str, dict[str, Any]] = {"file:/etc/a": {"content": "a\n"}}
    scene.enrolled({**one, CHECK: {"run": sh("exit 0"), "guards": ["file:/etc/a"]}})
    scene.at("/bin/sh").unlink()
    head = scene.commit({"file:/etc/a": {"content": "b\n"}})
    scene.apply()
    assert (scene.read("/etc/a"), scene.trail, scene.report["checks"]) == ("b\n", [head], [])


def test_mistakes_in_declarations_leave_the_host_alone(scene: Scene) -> None:
    run = {"run": ["/bin/sh"]}
    a: dict[str, dict[str, Any]] = {"file:/etc/a": {"content": "a\n"}}
    guards = {"guards": ["file:/etc/a"]}
    assert refused_for(scene, {**a, CHECK: run})
    assert refused_for(scene, {**a, CHECK: guards})
    assert refused_for(scene, {**a, CHECK: {**run, "guards": ["file:/etc/b"]}}) == {"unknown-reference"}
    assert refused_for(scene, {CHECK: {"absent": True}}) == {"cannot-be-absent"}
    command: Resources = {"command:x": {**run, "creates": "/x"}, CHECK: {**run, "guards": ["command:x"]}}
    assert refused_for(scene, command) == {"cannot-be-checked"}
    cycle: Resources = {
        "file:/etc/a": {"content": "a\n"},
        "file:/etc/b": {"content": "b\n", "requires": ["file:/etc/between"]},
        "file:/etc/between": {"content": "x\n", "requires": ["file:/etc/a"]},
        CHECK: {**run, "guards": ["file:/etc/a", "file:/etc/b"]},
    }
    assert refused_for(scene, cycle) == {"dependency-cycle"}


def test_a_new_tree_is_there_as_a_whole_or_not_at_all(scene: Scene) -> None:
    """A set over a tree alone, on a host where nothing of it is yet."""
    install(scene, "/bin/sh")
    check = {"run": sh("read w < /srv/new/sub/leaf; [ $w = good ]"), "guards": ["tree:/srv/new"]}
    written(scene, {CHECK: check, "tree:/srv/new": {"source": "files/bad"}}, FILES)
    assert scene.init().code == 0
    scene.apply(code=1)
    assert names(scene, "/srv") == []
    scene.commit({CHECK: check, "tree:/srv/new": {"source": "files/good"}})
    scene.apply()
    assert scene.read("/srv/new/good") == "good\n"
    assert_settled(scene)
