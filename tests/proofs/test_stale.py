"""What something else changed after the start is shown, and acted on only where that is said (design 4.1, rule 7)."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.plugin import AgentBind
from tests.harness.strace import Call, own_calls, parse
from tests.proofs.owed_host import CONF, UNIT_FILE, Done, OwedHost, app, owed_host, unit_text

LISTED: Final = f"file:{CONF}"
RESTART: Final = {"when_stale": "restart"}
RESTARTED: Final = [("service:app", "mark"), ("service:app", "restart")]
_LOG: Final = "/dev/shm/strace.log"
_SECONDS: Final = 60


@pytest.fixture(scope="module")
def shared(host_image: Path, agent_bind: AgentBind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwedHost]:
    with owed_host(agent_bind, tmp_path_factory.mktemp("stale")) as host:
        yield host


@pytest.fixture
def host(shared: OwedHost) -> OwedHost:
    return shared.fresh()


def stale(done: Done, name: str = "service:app") -> list[str]:
    """Return the paths that a plan or report tells of a service."""
    return [one["path"] for entry in done.told["stale"] if entry["id"] == name for one in entry["inputs"]]


def edit(host: OwedHost, path: str = CONF) -> None:
    """Write the same text once more, as an editor does that was left without a change."""
    host.sh(f"cat {path} > /srv/app.text; cat /srv/app.text > {path}")


def test_what_somebody_edits_is_shown_and_nothing_is_done(host: OwedHost) -> None:
    host.begin(app())
    edit(host)
    for done in (host.plan("--detailed-exitcode"), host.apply()):
        assert (done.code, done.operations, stale(done)) == (0, [], [CONF])
    assert done.told["outcome"] == "converged"
    assert (host.log(), host.markers()) == ([], set())
    said = [_said(host, word) for word in ("plan", "apply", "report", "status")]
    assert all(CONF in text for text in said), said
    assert all("systemctl restart app" in text for text in said[:3])
    host.sh("systemctl restart app")
    assert stale(host.apply()) == []


def _said(host: OwedHost, *words: str) -> str:
    done = host.machine.run([*host.fleet.argv, *words], env=host.fleet.env, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_where_it_is_said_it_is_restarted_once(host: OwedHost) -> None:
    host.begin(app(**RESTART))
    before = host.shown()["InvocationID"]
    edit(host)
    plan = host.plan()
    assert (plan.operations, stale(plan)) == (RESTARTED, [CONF])
    assert CONF in plan.entry("service:app", "restart")["detail"]
    done = host.apply()
    assert (done.operations, done.applied, done.told["outcome"]) == (RESTARTED, RESTARTED, "converged")
    assert stale(done) == []
    assert host.log() == ["start one"]
    assert host.shown()["InvocationID"] != before
    assert host.markers() == set()
    host.quiet()


def test_a_limit_holds_the_restart_and_its_mark(host: OwedHost) -> None:
    host.begin(app(**RESTART))
    host.fleet.commit(app(**RESTART), fleet={"limits": {"restarts": 0}})
    edit(host)
    done = host.apply(code=1)
    assert {entry["hold"]["reason"] for entry in done.entries} == {"limit"}
    assert (host.log(), host.markers()) == ([], set())
    plan = host.plan()
    host.apply(None, "--allow", "restarts=1", "--expect", plan.told["plan_id"])
    assert host.log() == ["start one"]


def test_adopting_restarts_nothing_whatever_is_said_and_the_pass_after_it_does(host: OwedHost) -> None:
    host.machine.write(UNIT_FILE, unit_text())
    host.machine.write(CONF, "one\n")
    host.sh(f"chmod 0644 {CONF}; systemctl daemon-reload; systemctl start app; : > /run/app.log")
    edit(host)
    host.declare(app(**RESTART))
    for done in (host.plan(), host.apply()):
        assert (done.operations, stale(done)) == ([], [CONF]), done.said
        assert "adopt" in done.told["stale"][0]["detail"]
    assert done.told["outcome"] == "converged"
    assert (host.log(), host.markers()) == ([], set())
    assert host.apply().operations == RESTARTED
    assert host.log() == ["start one"]
    host.quiet()


def test_a_file_that_is_adopted_restarts_nothing(host: OwedHost) -> None:
    host.begin({**app(**RESTART)})
    host.machine.write("/etc/app.more", "x\n")
    wanted = {**app(restart_on=[LISTED, "file:/etc/app.more"], **RESTART), "file:/etc/app.more": {"content": "x\n"}}
    done = host.apply(wanted)
    assert (done.operations, stale(done), host.log()) == ([], ["/etc/app.more"], [])


def test_what_changes_no_byte_is_no_evidence(host: OwedHost) -> None:
    host.begin(app(**RESTART))
    for script in (
        f"chmod 0600 {CONF}",
        f"chown games {CONF}; chown root {CONF}",
        f"setfacl -m u:games:r {CONF}",
        f"ln {CONF} /etc/app.copy",
        f"cp -a {CONF} /etc/app.backup; tar -cf /srv/app.tar {CONF}",
        f"tar --atime-preserve=replace -cf /srv/app.tar {CONF}; tar --atime-preserve=system -cf /srv/app.tar {CONF}",
        f"cat {CONF}; touch -a {CONF}",
    ):
        host.sh(script)
        done = host.apply()
        assert (stale(done), done.owed, host.log()) == ([], [], []), (script, done.said)
    assert host.sh(f"stat -c %a {CONF}") == "644"


def test_a_time_to_come_is_shown_and_never_acted_on(host: OwedHost) -> None:
    host.begin(app(**RESTART))
    host.sh(f"touch -d tomorrow {CONF}")
    done = host.apply()
    assert (done.operations, stale(done), host.log()) == ([], [CONF], [])
    assert done.told["stale"][0]["inputs"][0]["is_ahead"]


def test_what_the_fleet_changes_is_no_evidence_afterwards(host: OwedHost) -> None:
    host.begin(app(**RESTART))
    done = host.apply(app("two", **RESTART))
    assert (host.log(), stale(done)) == (["start two"], [])
    host.quiet()


def test_a_reload_settles_what_is_listed_for_one(host: OwedHost) -> None:
    def declared(text: str = "one", **about: Any) -> dict[str, dict[str, Any]]:
        return app(text, restart_on=[], reload_on=[LISTED], **about)

    host.begin(declared())
    done = host.apply(declared("two"))
    assert (host.log(), stale(done)) == (["reload two"], [])
    edit(host)
    assert stale(host.apply()) == [CONF]
    host.sh("systemctl reload app")
    assert stale(host.apply()) == []
    edit(host)
    done = host.apply(declared("two", **RESTART))
    assert (done.operations, stale(done)) == (RESTARTED, [])
    assert host.log() == ["reload two", "start two"]
    host.quiet()


def test_its_own_unit_file_and_drop_ins_are_inputs(host: OwedHost) -> None:
    drop_in = {"unit:app.service/own": {"content": "[Service]\nNice=3\n"}}
    waits = {"unit:app.service/later": {"content": "[Service]\nUMask=0022\n", "on_change": "nothing"}}
    host.begin({**app(), **drop_in, **waits})
    assert stale(host.apply()) == []
    paths = [UNIT_FILE, f"{UNIT_FILE}.d/own.conf"]
    for path in (*paths, f"{UNIT_FILE}.d/later.conf"):
        edit(host, path)
    done = host.apply()
    assert stale(done) == paths
    assert (host.log(), host.markers()) == ([], set())


# The gap that rule 1 names.


def test_a_kill_between_a_write_and_the_mark_of_what_was_started_in_between_shows_as_stale(host: OwedHost) -> None:
    """It did not run when it was to be marked; it is started just before the file gets its place, and then all ends."""
    declared: dict[str, Any] = {"running": None, **RESTART}
    host.begin(app(**declared))
    host.sh("systemctl stop app")
    kept = f"etc/datum var/lib/datum {CONF.lstrip('/')}"
    host.declare(app("two", **declared))
    host.sh(f"cd /; tar -cf /srv/before.tar {kept}")
    host.machine.run(_strace(host, "-f", "-y", "-s", "400"), env=host.fleet.env, timeout=180)
    before, after = _around_the_rename(parse(host.machine.read(_LOG).decode(errors="replace")))
    host.sh("cd /; rm -rf etc/datum var/lib/datum; tar -xf /srv/before.tar; : > /run/app.log")
    assert (host.sh(f"cat {CONF}"), host.sh("systemctl is-active app")) == ("one", "inactive")
    _start_and_kill(host, before, after)
    assert (host.sh(f"cat {CONF}"), host.log(), host.markers()) == ("two", ["start one"], set())
    plan = host.plan()
    assert (plan.operations, stale(plan)) == (RESTARTED, [CONF])
    host.apply()
    assert host.log() == ["start two"]
    host.quiet()


def _strace(host: OwedHost, *options: str) -> list[str]:
    return ["strace", "-qq", "-o", _LOG, *options, "--", *host.fleet.argv, "apply"]


def _around_the_rename(calls: list[Call]) -> tuple[Call, Call]:
    """Return a call of the agent just before the file gets its time and place, and one of another name after that."""
    own = own_calls(calls)
    rename = next(n for n, call in enumerate(own) if call.name == "renameat" and '"app.conf"' in f"{call.arguments})")
    stamp = max(n for n, call in enumerate(own[:rename]) if call.name == "utimensat")
    before = own[stamp - 1]
    return before, next(call for call in own[rename + 1 :] if call.name not in {before.name, "renameat"})


def _start_and_kill(host: OwedHost, before: Call, after: Call) -> None:
    """Make the pass: stopped at one call while the unit is started, and killed at another."""
    faults = [
        f"inject={before.name}:signal=STOP:when={before.nth}",
        f"inject={after.name}:signal=KILL:when={after.nth}",
    ]
    argv = _strace(
        host, "-e", f"trace={before.name},{after.name}", *(word for fault in faults for word in ("-e", fault))
    )
    host.sh(f"rm -f {_LOG}")
    with host.machine.popen(argv, env=host.fleet.env) as running:
        end = time.monotonic() + _SECONDS
        while "stopped by SIGSTOP" not in host.sh(f"cat {_LOG}"):
            assert running.poll() is None, "the pass ended before it was stopped"
            assert time.monotonic() < end, "the pass was never stopped"
            time.sleep(0.05)
        host.sh("systemctl start app")
        host.sh("pkill -CONT -x python3")
        running.communicate(timeout=_SECONDS)
    assert running.returncode in {-9, 137}
