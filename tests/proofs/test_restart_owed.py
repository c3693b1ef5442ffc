"""A restart is owed, not sent (design 4.1): when a service is marked and refreshed, how often, in which order, and not.

Nothing here is struck; `test_restart_kills` does that.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.plugin import AgentBind
from tests.proofs.owed_batch import Batch, Outcome, merged, named
from tests.proofs.owed_cases import BY_HAND, CHANGES, FOUND, UNITS
from tests.proofs.owed_host import CONF, MORE, REFRESHES, OwedHost, app, owed_host, unit_text

LISTED: Final = [f"file:{CONF}", f"file:{MORE}"]
# Refuses a candidate with this word.
VALIDATE: Final = {"validate": ["/bin/sh", "-c", '! grep -q bad "$1"', "sh", "{path}"]}


@pytest.fixture(scope="module")
def shared(host_image: Path, agent_bind: AgentBind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwedHost]:
    with owed_host(agent_bind, tmp_path_factory.mktemp("owed")) as host:
        yield host


@pytest.fixture
def host(shared: OwedHost) -> OwedHost:
    return shared.fresh()


def two(text: str, more: str, **about: Any) -> dict[str, dict[str, Any]]:
    """Return the service with two listed files."""
    return {**app(text, restart_on=LISTED, **about), f"file:{MORE}": {"content": f"{more}\n"}}


@pytest.fixture(scope="module")
def changes(shared: OwedHost) -> Batch:
    return Batch.run(shared.fresh(), (*CHANGES, *BY_HAND))


@pytest.fixture(scope="module")
def units(shared: OwedHost) -> Batch:
    return Batch.run(shared.fresh(), UNITS)


@pytest.fixture(scope="module")
def found(shared: OwedHost) -> Batch:
    return Batch.run(shared.fresh(), FOUND, is_seen=False)


def judge(outcome: Outcome) -> None:
    """It did what it owed once, as the plan had said, and one more pass did nothing."""
    case, before, after = outcome.case, outcome.before, outcome.after
    assert outcome.does == case.does
    is_started = any(note.startswith("start") for note in case.does)
    if after["ActiveState"] == "active":
        assert (after["InvocationID"] != before["InvocationID"]) == is_started
        assert (after["NRestarts"], after["Markers"], after["NeedDaemonReload"]) == ("0", "", "no")
    assert outcome.planned == outcome.tried
    if not case.does:
        assert outcome.tried == (("mark",) if case.is_marked_in_vain else ())
        assert outcome.applied == ()
    assert outcome.shown == case.shows[1]
    assert (outcome.again, outcome.did_again) == ((), ())


@pytest.mark.parametrize("name", [case.name for case in (*CHANGES, *BY_HAND)])
def test_what_a_change_does_to_the_service_that_lists_it(changes: Batch, name: str) -> None:
    judge(changes.outcomes[name])


@pytest.mark.parametrize("name", [case.name for case in UNITS])
def test_what_a_change_of_unit_files_does_to_their_service(units: Batch, name: str) -> None:
    judge(units.outcomes[name])


@pytest.mark.parametrize("name", [case.name for case in FOUND])
def test_adopting_a_host_restarts_nothing_nor_does_what_shall_not_run_owe_anything(found: Batch, name: str) -> None:
    judge(found.outcomes[name])


@pytest.mark.parametrize("batch", ["changes", "units", "found"])
def test_a_plan_lists_what_the_pass_then_does_and_one_more_has_nothing_to_do(
    batch: str, request: pytest.FixtureRequest
) -> None:
    ran: Batch = request.getfixturevalue(batch)
    assert ran.planned.operations == ran.done.operations
    assert (ran.done.code, ran.done.told["outcome"]) == (0, "converged"), ran.done.said
    assert (ran.again.code, ran.again.operations) == (0, [])


def test_the_manager_loads_its_units_once_where_any_changed_and_else_never(changes: Batch, units: Batch) -> None:
    assert (changes.loads, units.loads) == (0, 1)


def test_a_mark_stands_before_each_change_and_one_refresh_after_the_last(host: OwedHost) -> None:
    host.begin(two("one", "x"))
    done = host.apply(two("two", "y"))
    operations = done.operations
    refresh = operations.index(("service:app", "restart"))
    for listed in LISTED:
        change = operations.index((listed, "update"))
        assert ("service:app", "mark") in operations[:change]
        assert change < refresh
        assert done.entry(listed)["marks"] == [{"id": "service:app", "owes": "restart"}]
    assert [operation for _, operation in done.applied].count("restart") == 1
    assert ("service:app", "restart") in done.applied


def test_a_start_in_the_same_pass_is_all_that_is_done(host: OwedHost) -> None:
    host.begin(two("one", "x"))
    host.sh("systemctl stop app")
    done = host.apply(two("two", "y"))
    assert host.log() == ["start two"]
    assert not {("service:app", refresh) for refresh in REFRESHES} & set(done.applied)
    assert ("service:app", "mark") not in done.applied
    assert host.markers() == set()
    host.quiet()


def test_a_refresh_stands_after_the_last_it_waits_for_and_before_what_requires_the_service(host: OwedHost) -> None:
    """Whatever the alphabet says; also after what a listed resource requires, and after deletions."""
    late = {"file:/etc/app.z": {"content": "x\n"}, "directory:/etc/app.d": {"mode": "0755"}}
    dropped = {"file:/etc/app.d/z": {"content": "x\n"}}
    names = [*LISTED, "file:/etc/app.z"]
    first = {**two("one", "x"), **late, **dropped}
    first["service:app"]["restart_on"] = [*names, "file:/etc/app.d/z"]
    host.begin(first)
    then = {**two("two", "y"), **late, "file:/etc/app.z": {"content": "y\n"}}
    then["service:app"]["restart_on"] = names
    then["file:/etc/app.a"] = {"content": "after the service\n", "requires": ["service:app"]}
    host.declare(then)
    for done in (host.plan(), host.apply()):
        order = [done.operations.index((name, "update")) for name in names]
        order.append(done.operations.index(("file:/etc/app.d/z", "delete")))
        refresh = done.operations.index(("service:app", "restart"))
        assert max(order) < refresh < done.operations.index(("file:/etc/app.a", "create")), done.said
    assert host.log() == ["start two"]
    host.quiet()


def test_a_service_is_restarted_after_one_that_it_lists_was_restarted(host: OwedHost) -> None:
    def declared(text: str, **about: Any) -> dict[str, dict[str, Any]]:
        other = {"running": True, "settle": 0.1, "restart_on": ["service:app"]}
        unit = unit_text(name="other")
        return {**app(text, **about), "unit:other.service": {"content": unit}, "service:other": other}

    host.begin(declared("one"))
    host.sh("rm -f /run/other.log")
    done = host.apply(declared("two"))
    assert (host.log(), host.sh("cat /run/other.log")) == (["start two"], "start two")
    operations = done.operations
    assert operations.index(("service:app", "restart")) < operations.index(("service:other", "restart"))
    host.quiet()
    # Owed for what only it lists, it leaves the other alone.
    host.sh("rm -f /run/other.log")
    host.apply({**declared("two"), "unit:other.service": {"content": unit_text(name="other", more="Nice=3\n")}})
    assert (host.log(), host.sh("cat /run/other.log")) == ([], "start two")


@pytest.mark.parametrize("how", ["failed", "held", "skipped", "unobservable"])
def test_what_a_refresh_waits_for_goes_wrong_and_the_mark_stays_until_a_good_pass(host: OwedHost, how: str) -> None:
    """One listed file is written, another one is not: nothing is refreshed with half of it."""
    host.begin(two("one", "x"))
    stuck, good = two("two", "y"), two("two", "y")
    if how == "failed":
        stuck[f"file:{MORE}"] = {"content": "bad\n", **VALIDATE}
    elif how == "held":
        host.sh(f"rm {MORE}; mkdir {MORE}; touch {MORE}/x")
        good[f"file:{MORE}"]["allow"] = ["data_loss"]
    elif how == "skipped":
        stuck["file:/etc/app.bad"] = {"content": "bad\n", **VALIDATE}
        stuck[f"file:{MORE}"] = {"content": "y\n", "requires": ["file:/etc/app.bad"]}
    else:
        host.sh("ln -s app.loop /etc/app.loop")
        stuck["file:/etc/app.loop/x"] = {"content": "y\n"}
        stuck["service:app"]["restart_on"] = [*LISTED, "file:/etc/app.loop/x"]
    before = host.shown()["InvocationID"]
    done = host.apply(stuck, code=None)
    assert done.code == 1
    assert host.sh(f"cat {CONF}") == "two"
    assert (host.log(), host.shown()["InvocationID"]) == ([], before), done.said
    assert host.markers() == {"needs-restart"}
    found = [entry for entry in done.entries if entry["id"] == "service:app" and entry["operation"] != "mark"]
    assert [entry["outcome"] for entry in found] == ["skipped"], done.said
    assert all(entry["blocked_by"] for entry in found)
    # As long as it goes wrong, nothing changes.
    host.apply(code=1)
    assert (host.log(), host.markers()) == ([], {"needs-restart"})
    host.sh("rm -f /etc/app.loop")
    host.apply(good)
    assert host.log() == ["start two"]
    assert host.markers() == set()
    host.quiet()


def test_a_candidate_that_is_refused_leaves_no_mark(host: OwedHost) -> None:
    def declared(text: str) -> dict[str, dict[str, Any]]:
        return {**app(text), f"file:{CONF}": {"content": f"{text}\n", **VALIDATE}}

    host.begin(declared("one"))
    before = host.shown()
    done = host.apply(declared("bad"), code=1)
    assert (host.log(), host.shown(), host.sh(f"cat {CONF}")) == ([], before, "one")
    assert ("service:app", "mark") not in done.applied
    host.apply(declared("two"))
    assert host.log() == ["start two"]


@pytest.mark.parametrize("word", ["restart_on", "reload_on"])
def test_a_check_that_refuses_a_set_leaves_the_service_unmarked_and_as_it_was(host: OwedHost, word: str) -> None:
    check = {"check:app": {"run": ["/bin/sh", "-c", f"! grep -q bad {CONF} {MORE}"], "guards": LISTED}}
    lists = {"restart_on": [], word: LISTED}
    host.begin({**two("one", "x"), "service:app": {"running": True, "settle": 0.1, **lists}, **check})
    before = host.shown()
    declared = {**two("two", "bad"), "service:app": {"running": True, "settle": 0.1, **lists}, **check}
    done = host.apply(declared, code=1)
    assert (host.log(), host.shown()) == ([], before), done.said
    assert host.sh(f"cat {CONF} {MORE}") == "one\nx"
    assert ("service:app", "mark") not in done.applied


BROKEN: Final = {f"app-{by}-{cause}": (by, cause) for by in ("validate", "check") for cause in ("start", *REFRESHES)}


@pytest.fixture(scope="module")
def broken(shared: OwedHost) -> dict[str, tuple[list[str], ...]]:
    """Break a listed file of each service, for a pass in which each has something else to do; then mend it."""
    host = shared.fresh()
    host.apply(merged({name: named(with_seed("one", *how), name) for name, how in BROKEN.items()}))
    for name, (_, cause) in BROKEN.items():
        host.sh(f"echo bad > /etc/{name}.seed; rm /run/{name}.log; [ {cause} != start ] || systemctl stop {name}")
    host.declare(merged({name: named(with_seed("two", *how), name) for name, how in BROKEN.items()}))
    done = host.apply(code=1)
    found = {
        name: (
            host.log(name),
            [host.shown(name)["ActiveState"], *sorted(host.markers(name))],
            [
                entry["refused_by"]
                for entry in done.entries
                if (entry["id"], entry["outcome"]) == (f"service:{name}", "failed")
            ],
            host.sh(f"echo good again > /etc/{name}.seed").splitlines(),
        )
        for name in BROKEN
    }
    host.apply()
    mended = {name: ([*host.log(name)], [*host.markers(name)]) for name in BROKEN}
    host.quiet()
    return {name: (*found[name], *mended[name]) for name in BROKEN}


def with_seed(text: str, by: str, cause: str) -> dict[str, dict[str, Any]]:
    """Return a service that also lists a seed, which no pass repairs, and what judges that."""
    seed: dict[str, Any] = {"content": "good\n", "seed": True, **(VALIDATE if by == "validate" else {})}
    check = {"check:app": {"run": ["/bin/sh", "-c", "! grep -q bad /etc/app.seed"], "guards": ["file:/etc/app.seed"]}}
    lists = {"restart_on": [f"file:{CONF}", "file:/etc/app.seed"]}
    if cause == "reload":
        lists = {"restart_on": ["file:/etc/app.seed"], "reload_on": [f"file:{CONF}"]}
    declared = app(text)
    declared["service:app"].update(lists)
    return {**declared, "file:/etc/app.seed": seed, **(check if by == "check" else {})}


@pytest.mark.parametrize("name", BROKEN)
def test_a_listed_file_that_somebody_broke_keeps_the_service_from_what_else_it_owes(
    broken: dict[str, tuple[list[str], ...]], name: str
) -> None:
    by, cause = BROKEN[name]
    did, stands, refused_by, _, did_then, owes_then = broken[name]
    assert did == []
    marks = {"start": ["inactive"], "restart": ["active", "needs-restart"]}
    assert stands == marks.get(cause, ["active", "needs-reload", "needs-restart"])
    assert refused_by == [f"check:{name}" if by == "check" else f"file:/etc/{name}.seed"]
    assert (did_then, owes_then) == (["reload two" if cause == "reload" else "start two"], [])


def test_a_failed_reload_stays_owed_as_a_reload(host: OwedHost) -> None:
    declared: dict[str, Any] = {"restart_on": [], "reload_on": [f"file:{CONF}"]}
    host.begin(app(**declared))
    host.sh("touch /run/app.broken")
    before = host.shown()["InvocationID"]
    host.apply(app("two", **declared), code=1)
    assert host.markers() == {"needs-reload", "needs-restart"}
    host.apply(code=1)
    assert host.markers() == {"needs-reload", "needs-restart"}
    host.sh("systemctl daemon-reexec; systemctl daemon-reload; rm /run/app.broken")
    host.apply()
    assert (host.log(), host.shown()["InvocationID"], host.markers()) == (["reload two"], before, set())
    host.quiet()


def test_a_restart_that_is_owed_outlives_daemon_reexec_and_beats_a_later_reload(host: OwedHost) -> None:
    """It was left by a pass that failed; then a revision asks for a reload alone."""

    def declared(text: str, more: str, last: str, **about: Any) -> dict[str, dict[str, Any]]:
        both: dict[str, Any] = {"restart_on": LISTED, "reload_on": ["file:/etc/app.last"]}
        files = {"file:/etc/app.last": {"content": f"{last}\n"}, f"file:{MORE}": {"content": f"{more}\n", **about}}
        return {**app(text, **both), **files}

    host.begin(declared("one", "x", "p"))
    host.apply(declared("two", "bad", "p", **VALIDATE), code=1)
    assert host.markers() == {"needs-restart"}
    host.sh("systemctl daemon-reexec; systemctl daemon-reload")
    assert host.markers() == {"needs-restart"}
    host.apply(declared("two", "x", "q"))
    assert host.log() == ["start two"]
    host.quiet()


@pytest.mark.parametrize("word", ["restart_on", "reload_on"])
def test_a_unit_that_does_not_stay_active_is_refused_with_the_reason(host: OwedHost, word: str) -> None:
    oneshot = "[Service]\nType=oneshot\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    declared = {
        **app(unit=oneshot, running=None, enabled=True, restart_on=None),
        "file:/etc/app.alone": {"content": ""},
    }
    declared["service:app"][word] = [f"file:{CONF}"]
    # Whatever makes the unit stands before; that it does not stay up is seen once it is there.
    host.begin({name: about for name, about in declared.items() if not name.startswith("service:")})
    host.declare(declared)
    planned = host.plan()
    done = host.apply(code=1)
    assert planned.entry("service:app")["outcome"] == done.entry("service:app")["outcome"] == "failed"
    told = planned.entry("service:app")
    reason = " ".join([told["detail"], *(one["summary"] + one["detail"] + one["hint"] for one in told["diagnostics"])])
    assert "command" in reason
    assert word in reason or "stay" in reason
    assert done.owed == []


def test_a_template_is_refused(host: OwedHost) -> None:
    host.declare({**app(), "service:app@": {"running": True, "restart_on": [f"file:{CONF}"]}})
    planned = host.plan()
    assert planned.code == 65, planned.said
    assert "app@" in planned.said
    assert "instance" in planned.said


def test_below_another_root_nothing_is_owed(host: OwedHost) -> None:
    """Not even by the unit of the same name that runs here."""
    host.begin(app())
    host.sh("mkdir -p /srv/app-root/etc/systemd/system")
    place = ["--root", "/srv/app-root"]
    host.machine.run(
        [*host.fleet.argv, "init", "--repo", "/srv/fleet", "--host", "web1", "--no-timer", *place], env=host.fleet.env
    )
    host.apply(app(), *place)
    before = host.shown()
    host.declare(app("two"))
    planned = host.plan(*place)
    done = host.apply(None, *place)
    assert (planned.owed, done.owed) == ([], []), done.said
    assert host.sh("cat /srv/app-root/etc/app.conf") == "two"
    assert (host.log(), host.shown()) == ([], before)
    assert host.apply(None, *place).operations == []


def test_a_service_that_its_new_configuration_breaks_fails_and_is_not_tried_in_every_pass(host: OwedHost) -> None:
    dies = f"if grep -q bad {CONF}; then echo no database here; exit 3; fi; exec sleep infinity"
    dies = f"ExecStart=\nExecStart=/bin/sh -c '{dies}'\n"
    unit = unit_text(more=dies)
    host.begin(app(unit=unit, settle=2))
    before = int(host.sh("date +%s"))
    done = host.apply(app("bad", unit=unit, settle=2), code=1)
    assert "no database here" in done.said
    assert done.entry("service:app", "restart")["outcome"] == "failed"
    starts = len(host.log())
    assert starts == 1
    for _ in range(2):
        done = host.apply(code=None)
        assert done.code in {1, 3}
    # One more for each time that its back-off, 30 s, was over.
    assert len(host.log()) <= (int(host.sh("date +%s")) - before) // 30
    host.apply(app("two", unit=unit, settle=2), code=None)
    host.sh("systemctl reset-failed app")
    host.apply()
    assert host.shown()["ActiveState"] == "active"
    assert host.sh("tail -n 1 /run/app.log") == "start two"
    host.log()
    host.quiet()
