"""Whole passes over commands: they run while their guards ask for it, and the guards are asked again afterwards."""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.passes.looks import (
    accounts,
    assert_settled,
    kept,
    names,
    needs_root,
    owner,
    planned,
    refused_for,
    reported,
    said,
)
from tests.passes.scene import Resources, Scene, install

pytestmark = needs_root

NANOSECOND: Final = 1_700_000_000_000_000_000


@pytest.fixture(autouse=True)
def _shell(scene: Scene) -> None:
    """A program runs below the root, with what is installed there."""
    install(scene, "/bin/sh")


def sh(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def touch(name: str) -> list[str]:
    """Give a command that leaves a word of its own on the host, each time."""
    return sh(f"echo ran >> /srv/{name}")


def age(scene: Scene, path: str, nanoseconds: int) -> None:
    if not scene.at(path).exists():
        scene.write(path, "x\n")
    os.utime(scene.at(path), ns=(NANOSECOND, NANOSECOND + nanoseconds))


SATISFIED: Final[Mapping[str, Mapping[str, Any]]] = {
    "creates": {"creates": "/srv/in/there"},
    "creates-dangling": {"creates": "/srv/in/dangling"},
    "creates-folder": {"creates": "/srv/in"},
    "unless": {"unless": sh("exit 0")},
    "only-if": {"only_if": sh("exit 1")},
    "only-if-125": {"only_if": sh("exit 125")},
    "newer": {"inputs": ["/srv/in/1"], "outputs": ["/srv/in/2", "/srv/in/3"]},
    "equal": {"inputs": ["/srv/in/1", "/srv/in/2"], "outputs": ["/srv/in/3", "/srv/in/again"]},
    "one-decides": {"unless": sh("exit 0"), "only_if": ["/not/there"], "creates": "/srv/none"},
}
NEEDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "needs-creates": {"creates": "/srv/needs-creates"},
    "needs-unless": {"unless": sh("[ -e /srv/needs-unless ]")},
    "needs-only-if": {"only_if": sh("[ ! -e /srv/needs-only-if ]")},
    "needs-output": {"inputs": ["/srv/in/1"], "outputs": ["/srv/needs-output"]},
    "needs-newer": {"inputs": ["/srv/in/2", "/srv/in/1"], "outputs": ["/srv/needs-newer"]},
    "needs-folder": {"inputs": ["/srv/in"], "outputs": ["/srv/needs-folder"]},
    "needs-all": {"creates": "/srv/needs-all", "unless": sh("exit 7"), "only_if": sh("exit 0")},
}
NO_WORD: Final[Mapping[str, Mapping[str, Any]]] = {
    "misspelt": {"unless": ["/bin/no-such-program"]},
    "misspelt-in-a-shell": {"unless": sh("no-such-program")},
    "cannot-run": {"only_if": sh("exit 126")},
    "killed": {"unless": sh("kill -9 $$")},
    "no-input": {"inputs": ["/srv/none"], "outputs": ["/srv/in/1"]},
    "one-cannot-say": {"creates": "/srv/none", "unless": sh("exit 127")},
}


def test_each_guard_says_whether_a_command_runs(scene: Scene) -> None:
    """Satisfied: nothing is run; needed: it runs once; no word: it does not run, and what requires it is skipped."""
    for number in (1, 2, 3):
        age(scene, f"/srv/in/{number}", number)
    age(scene, "/srv/in/again", 2)
    age(scene, "/srv/needs-newer", 1)
    age(scene, "/srv/needs-folder", 1)
    scene.write("/srv/in/there", "")
    os.utime(scene.at("/srv/in/there"), ns=(0, 0))
    scene.at("/srv/in/dangling").symlink_to("/none")
    wanted: dict[str, Mapping[str, Any]] = {
        f"command:{name}": {"run": touch(name), **guards} for name, guards in {**SATISFIED, **NEEDED, **NO_WORD}.items()
    }
    wanted["file:/srv/needs-misspelt"] = {"content": "x", "requires": ["command:misspelt"]}
    wanted["file:/srv/needs-satisfied"] = {"content": "x", "requires": ["command:unless"]}
    scene.commit(wanted)
    assert scene.init().code == 0
    before = scene.host()
    found = planned(scene)
    assert scene.host() == before
    assert {name for name, entry in found.items() if entry["operation"] == "create" and name.startswith("command")} == {
        f"command:{name}" for name in NEEDED
    }
    assert {name for name, entry in found.items() if entry["outcome"] == "unobservable"} == {
        f"command:{name}" for name in NO_WORD
    }
    scene.apply(code=1)
    assert scene.report["outcome"] == "incomplete"
    assert names(scene, "/srv") == sorted(["in", "needs-satisfied", *NEEDED])
    assert {name: scene.read(f"/srv/{name}") for name in NEEDED} == {
        name: "x\nran\n" if name in {"needs-newer", "needs-folder"} else "ran\n" for name in NEEDED
    }
    assert scene.outcomes() == {
        **{f"command:{name}": "applied" for name in NEEDED},
        **{f"command:{name}": "unobservable" for name in NO_WORD},
        "file:/srv/needs-misspelt": "skipped",
        "file:/srv/needs-satisfied": "applied",
    }
    assert "/srv/none" in said(reported(scene)["command:no-input"])
    scene.commit(
        {
            name: fields
            for name, fields in wanted.items()
            if name.removeprefix("command:") not in NO_WORD and "misspelt" not in name
        }
    )
    scene.apply()
    assert_settled(scene)
    assert scene.read("/srv/needs-creates") == "ran\n"


KEY: Final = "file:/etc/app.key"
RING: Final = "command:ring"


def keyring(content: str, **more: Any) -> dict[str, dict[str, Any]]:
    script = 'read key < /etc/app.key; echo "ring of $key" > /etc/app.ring; echo made'
    return {
        KEY: {"content": f"{content}\n", **more},
        RING: {"run": sh(script), "inputs": ["/etc/app.key"], "outputs": ["/etc/app.ring"]},
        "file:/srv/after": {"content": "x\n", "requires": [RING]},
    }


def test_a_command_follows_its_input_in_the_same_pass(scene: Scene) -> None:
    """Nothing is left for a second pass; a change of rights runs nothing."""
    scene.commit(keyring("one"))
    assert scene.init().code == 0
    assert list(planned(scene)) == [KEY, RING, "file:/srv/after"]
    scene.apply()
    assert scene.read("/etc/app.ring") == "ring of one\n"
    assert "made" in said(reported(scene)[RING])
    assert_settled(scene)
    scene.commit(keyring("two"))
    found = planned(scene)
    assert (found[RING]["operation"], found[RING]["label"]) == ("create", "drift"), "it is wanted as before"
    scene.apply()
    assert scene.read("/etc/app.ring") == "ring of two\n"
    assert_settled(scene)
    ring = scene.at("/etc/app.ring").stat()
    scene.commit(keyring("two", mode="0600"))
    scene.apply()
    assert scene.outcomes() == {KEY: "applied", RING: "already"}
    assert scene.at("/etc/app.ring").stat().st_mtime_ns == ring.st_mtime_ns
    scene.write("/etc/app.key", "hacked\n")
    scene.apply()
    assert scene.read("/etc/app.ring") == "ring of two\n"
    assert scene.outcomes()[RING] == "applied", "the input is newer, and nobody remembers what it was"
    assert_settled(scene)


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "changed"])
def test_a_plan_says_after_what_a_command_is_known(scene: Scene, is_first: bool) -> None:
    """For people and for programs (design 1.3)."""
    scene.commit(keyring("one"))
    assert scene.init().code == 0
    if not is_first:
        scene.apply()
        scene.commit(keyring("two"))
    assert f"known after {KEY}" in scene.run("plan").out
    assert KEY in json.dumps(planned(scene)[RING])


def test_a_guard_that_asks_a_program_which_the_same_pass_brings_is_known_after_it(scene: Scene) -> None:
    """No false alarm in the plan; without `requires` nobody could know."""
    tool = "#!/bin/sh\n[ -e /srv/set-up ]\n"
    wanted: Resources = {
        "file:/usr/bin/tool": {"content": tool, "mode": "0755"},
        "command:set-up": {"run": touch("set-up"), "unless": ["/usr/bin/tool"], "requires": ["file:/usr/bin/tool"]},
        "command:not-needed": {"run": touch("never"), "only_if": ["/usr/bin/tool"], "requires": ["command:set-up"]},
        "directory:/usr/bin": {},
    }
    scene.at("/usr").mkdir(exist_ok=True)
    scene.commit(wanted)
    assert scene.init().code == 0
    assert planned(scene)["command:set-up"]["outcome"] is None
    ran = scene.apply(code=1)
    assert scene.read("/srv/set-up") == "ran\n"
    outcomes = scene.outcomes()
    assert (outcomes["command:set-up"], outcomes["command:not-needed"]) == ("applied", "unverified"), ran.out


def test_creates_of_what_an_earlier_resource_brings_is_already_done(scene: Scene) -> None:
    scene.enrolled(
        {
            "file:/srv/pem": {"content": "from the fleet\n"},
            "command:pem": {"run": sh("echo made > /srv/pem"), "creates": "/srv/pem", "requires": ["file:/srv/pem"]},
        }
    )
    assert scene.read("/srv/pem") == "from the fleet\n"
    assert scene.outcomes()["command:pem"] == "already"
    assert_settled(scene)


def test_a_guard_that_still_says_no_is_unverified_and_spreads(scene: Scene) -> None:
    """As a failure does, over `requires` and not over `after`; the next pass tries again."""
    wanted: Resources = {
        "command:idle": {"run": touch("log"), "creates": "/srv/never"},
        "command:untouched": {"run": touch("log"), "inputs": ["/etc/in"], "outputs": ["/etc/out"]},
        "file:/srv/a": {"content": "a", "requires": ["command:idle"]},
        "file:/srv/b": {"content": "b", "after": ["command:idle"]},
    }
    age(scene, "/etc/out", 1)
    age(scene, "/etc/in", 2)
    scene.commit(wanted)
    assert scene.init().code == 0
    for passes in (1, 2):
        scene.apply(code=1)
        found = scene.outcomes()
        assert (found["command:idle"], found["command:untouched"]) == ("unverified", "unverified")
        told = reported(scene)
        assert "guard (/srv/never does not exist → satisfied)" in said(told["command:idle"])
        assert "guard (the output /etc/out is older than the input /etc/in →" in said(told["command:untouched"])
        assert found["file:/srv/a"] == "skipped"
        assert scene.read("/srv/log") == "ran\n" * 2 * passes
    assert scene.report["outcome"] == "failed"
    assert planned(scene)["command:idle"]["label"] == "retry"
    assert names(scene, "/srv") == ["b", "log"]


def test_what_fails_is_told_with_its_last_words_within_bounds(scene: Scene) -> None:
    """An exit code, a signal, a missing program, a deadline; the rest of the pass is done."""
    noise = 'i=0; while [ $i -lt 3000 ]; do echo "noise $i noise noise noise noise noise"; i=$((i+1)); done; '
    install(scene, "/bin/sleep")
    scripts = {
        "code": sh("echo to stdout; echo to stderr >&2; exit 3"),
        "loud": sh(noise + "exit 1"),
        "fine": sh(noise + "echo last; : > /srv/fine"),
        "signal": sh("kill -9 $$"),
        "missing": ["/bin/no-such-program"],
        "by-name": ["no-such-program"],
        "late": sh("(sleep 3; : > /srv/child) & sleep 600"),
    }
    scene.commit(
        {
            **{
                f"command:{name}": {"run": run, "creates": f"/srv/{name}", "timeout": 1}
                for name, run in scripts.items()
            },
            "file:/srv/after": {"content": "x", "requires": ["command:code"]},
            "file:/srv/rest": {"content": "x"},
        }
    )
    assert scene.init().code == 0
    scene.apply(code=1)
    found = reported(scene)
    assert {name: entry["outcome"] for name, entry in found.items()} == {
        **{f"command:{name}": "failed" for name in scripts},
        "command:fine": "applied", "file:/srv/after": "skipped", "file:/srv/rest": "applied",
    }  # fmt: skip
    told = {name: said(found[f"command:{name}"]) for name in scripts}
    assert "to stdout" in told["code"]
    assert "to stderr" in told["code"]
    assert "exit code 3" in told["code"]
    assert "noise 2999" in told["loud"]
    assert "last" in told["fine"]
    assert max(map(len, told.values())) < 10_000
    assert "program-missing" in told["missing"]
    assert "program-missing" in told["by-name"]
    assert "program-deadline" in told["late"]
    assert not any("sleep" in line for line in running(scene)), "it is killed with all that it started"
    assert names(scene, "/srv") == ["fine", "rest"]


def running(scene: Scene) -> list[str]:
    """Return the programs that run below the root."""
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and (process / "root").readlink() == scene.root:
                found.append(str((process / "exe").readlink()))
    return found


def test_a_program_gets_its_user_directory_environment_and_stdin_and_nothing_else(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards get the same, but nothing to read; no shell takes part unless it is named."""
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/leak")
    monkeypatch.setenv("LEAK", "leak")
    accounts(scene)
    install(scene, "/usr/bin/id")
    install(scene, "/usr/bin/env")
    install(scene, "/bin/cat")
    for name in ("work", "plain"):
        scene.at(f"/srv/{name}").mkdir()
    os.chown(scene.at("/srv/work"), 1234, 1235)
    script = "id -u > who; id -g >> who; pwd >> who; env > environment; cat > read; : > done"
    wanted: Resources = {
        "command:full": {
            "run": sh(script),
            "unless": sh('cat; [ "$(id -u) $(pwd) $APP" = "1234 /srv/work of mine" ] && [ -e done ]'),
            "user": "app",
            "directory": "/srv/work",
            "environment": {"APP": "of mine"},
            "stdin": "first\nlast, no newline",
        },
        "command:plain": {
            "run": sh("cat > /srv/plain/read; pwd > /srv/plain/who; env > /srv/plain/environment"),
            "creates": "/srv/plain/environment",
        },
        "command:no-shell": {
            "run": ["/bin/sh", "-c", 'echo "$1" > /srv/plain/word', "sh", "$HOME * | x"],
            "creates": "/srv/plain/word",
        },
    }
    scene.commit(wanted)
    assert scene.init().code == 0
    scene.apply()
    assert scene.read("/srv/work/who") == "1234\n1235\n/srv/work\n"
    assert scene.read("/srv/work/read") == "first\nlast, no newline"
    assert owner(scene.at("/srv/work/read")) == (1234, 1235)
    inside = dict(line.split("=", 1) for line in (scene.read("/srv/work/environment") or "").splitlines())
    assert set(inside) - {"PWD", "OLDPWD", "SHLVL", "_", "USER", "LOGNAME"} == {"PATH", "HOME", "LC_ALL", "APP"}
    assert (inside["APP"], inside["LC_ALL"]) == ("of mine", "C.UTF-8")
    assert (scene.read("/srv/plain/who"), scene.read("/srv/plain/read")) == ("/\n", "")
    assert "leak" not in (scene.read("/srv/plain/environment") or "")
    assert scene.read("/srv/plain/word") == "$HOME * | x\n"
    assert_settled(scene)


def test_a_guard_changes_nothing(scene: Scene) -> None:
    """Neither in a plan nor in a pass: every file system is read-only for it."""
    guard = sh("echo x > /srv/by-guard; echo x > /tmp/by-guard; echo x > /etc/by-guard; exit 1")
    scene.at("/tmp").mkdir(exist_ok=True)
    scene.commit({"command:x": {"run": touch("x"), "unless": guard, "creates": "/srv/x"}})
    assert scene.init().code == 0
    before = scene.everything()
    assert planned(scene)["command:x"]["operation"] == "create"
    assert scene.everything() == before
    scene.apply()
    assert [path for path in scene.host() if "by-guard" in path] == []


def test_what_a_command_provides_can_be_built_on_in_the_same_pass(scene: Scene) -> None:
    """A user for a file, a link, a tree and another command; without a word of it that is impossible."""
    accounts(scene)
    adduser = sh("echo 'new:x:99:98::/:/bin/sh' >> /etc/passwd; echo 'new:x:98:' >> /etc/group")
    make = {"run": adduser, "unless": sh("while IFS=: read n r; do [ $n = new ] && exit 0; done < /etc/passwd; exit 1")}
    wanted: dict[str, dict[str, Any]] = {
        "command:account": make,
        "file:/srv/token": {
            "content": "x",
            "owner": "new",
            "group": "new",
            "mode": "0600",
            "requires": ["command:account"],
        },
        "command:as-new": {
            "run": sh(": > /srv/work/made"),
            "unless": sh("[ -e /srv/work/made ]"),
            "user": "new",
            "directory": "/srv/work",
            "requires": ["command:account"],
        },
        "directory:/srv/work": {"owner": "new", "requires": ["command:account"]},
        "link:/srv/link": {"target": "token", "owner": "new", "group": "new", "requires": ["command:account"]},
        "tree:/srv/tree": {
            "source": "files/tree",
            "group": "new",
            "rules": [{"match": "sub/*", "owner": "new"}],
            "requires": ["command:account"],
        },
    }
    scene.repository.commit({"files/tree/a": "a\n", "files/tree/sub/b": "b\n"})
    scene.commit(wanted)
    assert scene.init().code == 0
    found = planned(scene)
    later = ("file:/srv/token", "directory:/srv/work", "link:/srv/link", "tree:/srv/tree")
    assert {name: found[name]["outcome"] for name in later} == dict.fromkeys(later, "failed")
    wanted["command:account"] = {**make, "provides": ["user:new", "group:new"]}
    scene.commit(wanted)
    found = planned(scene)
    assert {name: entry["outcome"] for name, entry in found.items()} == dict.fromkeys(found, None)
    assert next(iter(found)) == "command:account"
    scene.apply()
    assert owner(scene.at("/srv/token")) == (99, 98)
    assert owner(scene.at("/srv/work/made")) == (99, 98)
    assert owner(scene.at("/srv/link")) == (99, 98)
    assert [owner(scene.at(f"/srv/tree/{name}")) for name in ("", "a", "sub", "sub/b")] == [(0, 98)] * 3 + [(99, 98)]
    assert_settled(scene)


def test_a_command_whose_own_directory_the_pass_makes_comes_after_it(scene: Scene) -> None:
    """Its directory, what it makes and what it reads lie in what is declared, without a word of order."""
    scene.enrolled(
        {
            "command:a-first-by-name": {
                "run": sh("read x < in; echo $x > out/made"),
                "inputs": ["/srv/z/in"],
                "outputs": ["/srv/z/out/made"],
                "directory": "/srv/z",
            },
            "directory:/srv/z": {},
            "directory:/srv/z/out": {},
            "file:/srv/z/in": {"content": "x\n"},
        }
    )
    assert scene.read("/srv/z/out/made") == "x\n"
    assert_settled(scene)


INTRUDED: Final[Mapping[str, tuple[str, dict[str, Any], str]]] = {
    "other-bytes": ("echo theirs > /srv/x", {"file:/srv/x": {"content": "wanted\n"}}, "held"),
    "same-bytes": ("echo wanted > /srv/x", {"file:/srv/x": {"content": "wanted\n", "mode": "0644"}}, "already"),
    "directory": ("mkdir /srv/x", {"file:/srv/x": {"content": "wanted\n"}}, "held"),
    "link": (": > /srv/x", {"link:/srv/x": {"target": "y"}}, "held"),
    "other-kind": ("echo theirs > /srv/x", {"directory:/srv/x": {}}, "held"),
    "stray": ("echo theirs > /srv/x/late", {"directory:/srv/x": {"exclusive": True}}, "held"),
    "dropped": ("echo theirs >> /etc/app.d/dropped", {}, "held"),
    "absent": ("echo theirs > /srv/old/late", {"directory:/srv/old": {"absent": True, "allow": ["data_loss"]}}, "held"),
}


@pytest.mark.parametrize("how", INTRUDED)
def test_what_arrives_between_plan_and_turn_is_not_lost(scene: Scene, how: str) -> None:
    """A program of the same pass is the intruder: nothing stronger is done than was planned (design 1.4)."""
    script, resources, outcome = INTRUDED[how]
    install(scene, "/bin/mkdir")
    scene.write("/srv/old/in", "in\n")
    dropped: dict[str, dict[str, Any]] = {"file:/etc/app.d/dropped": {"content": "dropped\n"}}
    scene.enrolled({"file:/etc/motd": {"content": "x"}, **dropped})
    if how == "stray":
        scene.write("/srv/x/stray", "stray\n")
    wanted: dict[str, dict[str, Any]] = {} if how == "dropped" else dict(dropped)
    wanted["command:intruder"] = {"run": sh(f"{script}; : > /srv/done"), "creates": "/srv/done"}
    for name, fields in resources.items():
        wanted[name] = {**fields, "after": ["command:intruder"]}
        wanted[name] = fields if fields.get("absent") else wanted[name]
    scene.commit({"file:/etc/motd": {"content": "x"}, **wanted})
    ((victim, _),) = resources.items() or dropped.items()
    plan = planned(scene)
    assert plan[victim]["hold"] is None
    if list(plan).index("command:intruder") > list(plan).index(victim):
        pytest.fail(f"the intruder comes too late to be one: {list(plan)}")
    ran = scene.run("apply")
    assert scene.outcomes()[victim] == outcome, ran.out
    if outcome == "held":
        assert ran.code == 1
        assert "held-changed-under-us" in said(reported(scene)[victim])
    theirs = {"other-bytes": "x", "other-kind": "x", "stray": "x/late", "absent": "old/late"}
    if how in theirs:
        assert scene.read(f"/srv/{theirs[how]}") == "theirs\n"
    if how == "stray":
        assert scene.read("/srv/x/stray") == "stray\n"
    if how == "dropped":
        assert scene.read("/etc/app.d/dropped") == "dropped\ntheirs\n"


def test_why_something_is_held_at_its_turn_stands_where_programs_look(scene: Scene) -> None:
    """The report has one field for it, whenever it was decided."""
    run = sh("echo theirs > /srv/x; : > /srv/done")
    wanted = {
        "command:i": {"run": run, "creates": "/srv/done"},
        "file:/srv/x": {"content": "x", "after": ["command:i"]},
    }
    scene.commit(wanted)
    assert scene.init().code == 0
    scene.apply(code=1)
    hold = reported(scene)["file:/srv/x"]["hold"]
    assert hold is not None
    assert hold["reason"] == "changed_under_us"


def test_a_dropped_command_leaves_what_it_did_and_is_not_asked_again(scene: Scene) -> None:
    """Whatever `on_removal` says, and whether or not its guards can still be asked."""
    motd: Resources = {"file:/etc/motd": {"content": "x\n"}}
    done = {"run": touch("done"), "unless": ["/bin/sh", "-c", "[ -e /srv/done ]"], "on_removal": "delete"}
    scene.enrolled({**motd, "command:x": done})
    scene.at("/bin/sh").unlink()
    head = scene.commit(motd)
    scene.apply()
    assert scene.read("/srv/done") == "ran\n"
    assert (scene.trail, scene.pointer["converged"]) == ([head], head)
    assert set(kept(scene)) <= {"command:x"}
    assert_settled(scene)


def test_mistakes_in_declarations_leave_the_host_alone(scene: Scene) -> None:
    run = {"run": ["/bin/sh"]}
    assert refused_for(scene, {"command:x": run}) == {"no-guard"}
    assert refused_for(scene, {"command:x": {"absent": True}}) == {"cannot-be-absent"}
    for more in (
        {"inputs": ["/a"]}, {"outputs": ["/a"]}, {"creates": "a"}, {"creates": "/a", "timeout": 0},
        {"creates": "/a", "provides": ["x:y"]}, {"creates": "/a", "environment": {"A=B": "x"}},
        {"creates": "/a", "directory": "x"},
    ):  # fmt: skip
        assert refused_for(scene, {"command:x": {**run, **more}}), more
    assert refused_for(scene, {"command:a/b": {**run, "creates": "/a"}})
    assert refused_for(scene, {"command:x": {"creates": "/a"}})
