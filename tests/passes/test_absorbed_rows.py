"""Rows of what neighbouring systems do, where packages, services, units, accounts and files are concerned."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.plugin import AgentBind
from tests.harness.strace import Strace
from tests.passes.scene import Scene, run
from tests.proofs.odd_words import ODD
from tests.proofs.on_host import disk
from tests.proofs.owed_host import CONF, UNIT_FILE, OwedHost, app, owed_host, unit_text
from tests.proofs.stage import UNLIMITED

CLOSED: Final = {"failed", "unverified", "skipped", "held", "busy", "unobservable"}
INSTALL: Final = "[Install]\nWantedBy=multi-user.target\n"


@pytest.fixture(scope="module")
def shared(host_image: Path, agent_bind: AgentBind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwedHost]:
    with owed_host(agent_bind, tmp_path_factory.mktemp("rows")) as host:
        yield host


@pytest.fixture
def host(shared: OwedHost) -> OwedHost:
    return shared.fresh()


def refused(scene: Scene, files: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is found of a fleet, nothing of which reaches a host."""
    scene.commit_files({path: json.dumps(content) for path, content in files.items()})
    before = scene.everything()
    ran = scene.run("plan", "--repo", scene.url, "--host", "web1", "--json")
    assert ran.code == 65, ran
    assert scene.everything() == before
    found: list[dict[str, Any]] = ran.json["error"]["diagnostics"]
    return found


HEAD: Final = {"datum": 1, "fleet": "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11", "layers": ["role"]}


def test_e7_what_cannot_converge_has_an_outcome_and_a_reason(host: OwedHost) -> None:
    """Nothing stays in progress: not a unit or package that nobody has, nor what waits for one, nor what is held."""
    resources: dict[str, dict[str, Any]] = {
        "service:nowhere": {"running": True},
        "service:systemd-journald": {"enabled": True},
        "package:nowhere": {},
        "file:/etc/after": {"content": "", "requires": ["package:nowhere"]},
        "file:/etc/of-nobody": {"content": "", "owner": "nobody-knows"},
        "service:cron": {"running": False},
        "user:root": {"absent": True},
        "file:/etc/fine": {"content": ""},
    }
    done = host.apply(resources, code=1)
    left = {entry["id"]: entry for entry in done.entries if entry["outcome"] in CLOSED}
    assert left.keys() == resources.keys() - {"file:/etc/fine"}
    for name, entry in left.items():
        hold = entry["hold"] or {"detail": ""}
        reason = "".join([entry["detail"], hold["detail"], *(one["detail"] for one in entry["diagnostics"])])
        assert reason or entry["blocked_by"], name
    assert left["file:/etc/after"]["blocked_by"] == "package:nowhere"
    assert left["service:cron"]["hold"]["reason"] == "hazard"
    assert host.sh("cat /etc/fine; systemctl is-active cron") == "active"
    again = host.apply(code=1)
    assert {entry["id"] for entry in again.entries if entry["outcome"] in CLOSED} == left.keys()


def test_e7_what_a_host_is_follows_from_its_report_and_changes_nothing(host: OwedHost) -> None:
    host.begin(app())
    before = disk(host.machine)
    for words in (["status", "--json"], ["status", "--resources"], ["plan", "--json"], ["report", "--json"]):
        host.fleet.datum(host.machine, *words)
    assert disk(host.machine) == before
    assert host.log() == []


def test_e8_a_unit_has_arguments_instances_and_commands_before_it_as_its_user(host: OwedHost) -> None:
    """No shell reads what is no shell's; what comes before and after the start runs as the unit's user and group."""
    shell = ["/bin/sh", "-c"]
    arguments = {
        "start": [*shell, 'printf "<%s>" "$@" > /tmp/app-$0.part; mv /tmp/app-$0.part /tmp/app-$0.said; exec sleep 9d'],
        "pre_start": [*shell, "id -un > /tmp/app-$0.before"],
        "post_start": [*shell, "id -gn > /tmp/app-$0.after"],
        "odd": [word.replace("${", "$${") for word in ODD],
    }
    text = (
        "[Service]\nUser=games\nGroup=mail\n"
        "ExecStartPre=${var.pre_start | systemd_words} %i\n"
        "ExecStart=${var.start | systemd_words} %i ${var.odd | systemd_words}\n"
        "ExecStartPost=${var.post_start | systemd_words} %i\n"
        f"{INSTALL}"
    )
    job = {"on_calendar": ["daily"], "argv": ["/usr/bin/printf", "%s|", "a b", "$HOME", "`id`", ";", "100%", "'"]}
    instances = {"for_each": {"one": True, "two": False}, "running": True, "enabled": "${each.value}", "settle": 0.1}
    host.fleet.commit(
        {"unit:app@.service": {"content": text}, "service:app@${each.key}": instances, "timer:app": job},
        host={"variables": arguments},
        fleet=UNLIMITED,
    )
    done = host.apply()
    assert done.told["outcome"] == "converged"
    assert host.sh("systemctl is-active app@one app@two") == "active\nactive"
    assert host.sh("systemctl is-enabled app@one app@two || :") == "enabled\ndisabled"
    assert host.sh("cat /tmp/app-one.before /tmp/app-two.before") == "games\ngames"
    assert host.sh("cat /tmp/app-one.after /tmp/app-two.after") == "mail\nmail"
    host.sh("for one in one two; do until [ -e /tmp/app-$one.said ]; do sleep 0.1; done; done")
    said = host.sh("cat /tmp/app-one.said /tmp/app-two.said")
    assert said == "".join(f"<{word}>" for word in ODD) * 2
    host.sh("systemctl start --wait app.service")
    assert host.sh("journalctl -u app.service -o cat -t printf --no-pager") == "a b|$HOME|`id`|;|100%|'|"
    host.sh("systemctl stop app@one app@two; rm -f /tmp/app-*")


def test_e8_a_oneshot_that_ends_is_no_service_that_runs(host: OwedHost) -> None:
    """It is refused with what to declare; one that remains is started once."""
    start = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo start once >> /run/app.log'\n"
    service = {"service:app": {"running": True}}
    done = host.apply({"unit:app.service": {"content": start}, **service}, code=1)
    assert "Declare a command" in done.said
    host.fresh()
    host.apply({"unit:app.service": {"content": f"{start}RemainAfterExit=yes\n"}, **service})
    assert host.log() == ["start once"]
    host.quiet()


def test_e9_two_that_hold_one_path_are_refused_with_both_places(scene: Scene) -> None:
    resources = {"unit:app.service": {"content": unit_text()}, f"file:{UNIT_FILE}": {"content": unit_text()}}
    files = {
        "fleet.yaml": HEAD,
        "hosts/web1.yaml": {"layers": {"role": "a"}},
        "layers/role/a.yaml": {"resources": resources},
    }
    (found,) = refused(scene, files)
    assert found["code"] == "duplicate-target"
    places = [found["location"], *(one["location"] for one in found["related"])]
    assert len(places) == 2
    assert all(place["file"] == "layers/role/a.yaml" for place in places)


def test_e9_a_crash_between_write_and_restart_loses_no_restart(host: OwedHost) -> None:
    """The restart is a state of the unit: the pass after it does what is owed, once."""
    host.begin(app())
    host.declare(app("two"))
    strace = Strace(host.machine, host.fleet.env)
    # The rename has happened; what comes next is the folder's own sync.
    strace.inject([*host.fleet.argv, "apply"], "fsync", signal="KILL", path="/etc")
    assert host.sh(f"cat {CONF}") == "two"
    assert host.log() == []
    assert host.markers() == {"needs-restart"}
    host.apply()
    assert host.log() == ["start two"]
    host.quiet()


def test_h6_what_an_action_concerns_is_observed_after_it(host: OwedHost) -> None:
    """The report's last word comes from another look, and the next plan sees what somebody did meanwhile."""
    host.begin(app())
    done = host.apply(app("two"))
    assert done.told["left_over"] == []
    assert done.applied == [("service:app", "mark"), (f"file:{CONF}", "update"), ("service:app", "restart")]
    host.sh("systemctl stop app; systemctl disable app")
    seen = host.plan().entry("service:app", "create")
    changes = {change["field"]: (change["before"], change["after"]) for change in seen["changes"]}
    assert changes["running"] == (False, True)


def test_h6_the_state_of_every_service_is_shown_and_nothing_is_changed(host: OwedHost) -> None:
    """Whether it runs, is enabled, and owes something; what a pass would do about it."""

    def standing() -> dict[str, Any]:
        # What journald still had to write is no change of whoever looks.
        return {path: seen for path, seen in disk(host.machine).items() if not path.startswith("/var/log/journal")}

    def service() -> dict[str, Any]:
        before = standing()
        told = json.loads(host.fleet.datum(host.machine, "status", "--resources", "--json"))
        assert standing() == before
        found: dict[str, Any] = {one["id"]: one for one in told["resources"]}["service:app"]
        return found

    host.begin(app(enabled=True))
    seen = service()
    assert (seen["in_sync"], seen["actions"]) == (True, [])
    assert {name: seen["fields"][name] for name in ("running", "enabled", "owes")} == {
        "running": True, "enabled": True, "owes": None,
    }  # fmt: skip
    host.sh("systemctl set-property --runtime app Markers=needs-restart; systemctl disable app")
    seen = service()
    assert seen["in_sync"] is False
    assert (seen["fields"]["enabled"], seen["fields"]["owes"]) == (False, "restart")
    assert [action["operation"] for action in seen["actions"]] == ["update", "restart"]
    host.sh("systemctl stop app")
    assert service()["fields"]["running"] is False
    assert host.log() == []


def test_m9_what_a_declaration_needs_follows_from_it_and_is_judged_for_every_host(scene: Scene) -> None:
    """Before anything is delivered: a service that lists what no resource is, on whichever host."""
    lists = {"service:app": {"running": True, "restart_on": ["file:/etc/app.conf"]}}
    has = {"file:/etc/app.conf": {"content": ""}}
    scene.commit_files(
        {
            "fleet.yaml": json.dumps(HEAD),
            "layers/role/app.yaml": json.dumps({"resources": lists}),
            "hosts/web1.yaml": json.dumps({"layers": {"role": "app"}, "resources": has}),
            "hosts/web2.yaml": json.dumps({"layers": {"role": "app"}}),
            "hosts/web3.yaml": json.dumps({"layers": {"role": "app"}}),
        }
    )
    ran = run("validate", "--fleet", scene.url, "--json")
    assert ran.code == 65
    assert '"unknown-reference"' in ran.out
    assert ran.json["hosts"] == ["web1"], "the only one that is sound"


def test_m9_what_nothing_declares_is_told_where_that_can_be_known(scene: Scene) -> None:
    """What is named as needed and declared nowhere on that host is an error; an account declared absent a warning.

    A unit, package or account that the system brings is declared nowhere: of those the plan of a host says it.
    """
    named = {
        "service:app": {"running": True, "requires": ["package:app", "unit:app.service"], "after": ["user:app"]},
        "unit:other.service": {"content": "[Service]\nUser=gone\nExecStart=/bin/sleep 9\n"},
        "file:/etc/of-gone": {"content": "", "owner": "gone", "group": "gone"},
        "user:gone": {"absent": True},
        "group:gone": {"absent": True},
    }
    scene.commit_files(
        {
            "fleet.yaml": json.dumps(HEAD),
            "hosts/web1.yaml": json.dumps({"resources": {"service:app": named.pop("service:app")}}),
            "hosts/web2.yaml": json.dumps({"resources": named}),
        }
    )
    ran = run("validate", "--fleet", scene.url, "--json")
    assert ran.code == 65
    found = [(one["code"], one["resource"], one["severity"]) for one in ran.json["diagnostics"]]
    assert found.count(("unknown-reference", "service:app", "error")) == 3
    assert sorted(one for one in found if one[0] != "unknown-reference") == [
        ("needs-what-is-absent", "file:/etc/of-gone", "warning"),
        ("needs-what-is-absent", "file:/etc/of-gone", "warning"),
        ("needs-what-is-absent", "unit:other.service", "warning"),
    ]


def test_m9_a_service_waits_for_its_package_unit_and_account_without_being_told(scene: Scene) -> None:
    resources: dict[str, dict[str, Any]] = {
        "package:app": {},
        "user:app": {"group": "app"},
        "group:app": {},
        "file:/usr/local/bin/app": {"content": "", "mode": "0755"},
        "file:/etc/app.conf": {"content": "", "owner": "app", "group": "app"},
        "unit:app.service": {"content": "[Service]\nUser=app\nExecStart=/usr/local/bin/app\n"},
        "service:app": {"running": True, "restart_on": ["file:/etc/app.conf"]},
    }
    scene.commit(resources)
    edges = run("graph", "--fleet", scene.url, "--json").json["dependencies"]
    known = {(edge["source"], edge["target"], edge["kind"]) for edge in edges}
    assert known >= {
        ("service:app", "package:app", "after"),
        ("service:app", "unit:app.service", "requires"),
        ("service:app", "file:/etc/app.conf", "after"),
        ("unit:app.service", "user:app", "requires"),
        ("unit:app.service", "file:/usr/local/bin/app", "requires"),
        ("file:/etc/app.conf", "user:app", "requires"),
        ("file:/etc/app.conf", "group:app", "requires"),
        ("user:app", "group:app", "requires"),
    }


def test_m10_equal_declarations_of_two_modules_are_one_and_others_are_refused(scene: Scene) -> None:
    def fleet(*others: Mapping[str, Any]) -> dict[str, Any]:
        files: dict[str, Any] = {"fleet.yaml": HEAD, "hosts/web1.yaml": {"layers": {"role": ["a", "b"]}}}
        for name, resources in zip("ab", others, strict=True):
            files[f"layers/role/{name}.yaml"] = {"resources": resources}
        return files

    one = {
        "package:app": {"version": ">=1"},
        "file:/etc/app.conf": {"mode": "0640", "content": "one\n"},
        "unit:app.service": {"content": unit_text()},
        "user:app": {"shell": "/bin/sh"},
    }
    other = {
        "package:app": {"version": ">=2"},
        "file:/etc/app.conf": {"mode": "0640", "content": "other\n"},
        "unit:app.service": {"content": "x\n"},
        "user:app": {"shell": "/bin/bash"},
    }
    found = refused(scene, fleet(one, other))
    assert sorted((each["code"], each["resource"]) for each in found) == [("conflict", name) for name in sorted(one)]
    for each in found:
        files = {each["location"]["file"], *(place["location"]["file"] for place in each["related"])}
        assert files == {"layers/role/a.yaml", "layers/role/b.yaml"}
    scene.commit_files({path: json.dumps(content) for path, content in fleet(one, one).items()})
    ran = run("render", "web1", "--fleet", scene.url, "--json")
    assert ran.code == 0
    assert set(ran.json["resources"]) == set(one)


def test_m13_what_a_service_cannot_read_fails_the_pass_with_its_own_words(host: OwedHost) -> None:
    """Not a line of a log, thousands of times: the pass that starts it says it, and does not start it on and on."""
    unit = "[Service]\nUser=games\nExecStart=/bin/sh -c 'cat /etc/app.conf && exec sleep infinity'\n"
    secret = {f"file:{CONF}": {"content": "password\n", "mode": "0600"}}
    done = host.apply({**app(unit=unit), **secret}, code=1)
    entry = done.entry("service:app", "create")
    assert entry["outcome"] == "failed"
    told = "".join(one["detail"] for one in entry["diagnostics"])
    assert "Permission denied" in told
    assert "password" not in told
    # It was to be known before.
    (warned,) = run("validate", "--fleet", str(host.repository.path), "--json").json["diagnostics"]
    assert (warned["code"], warned["resource"]) == ("unreadable-by-account", f"file:{CONF}")
    assert "games" in warned["hint"]
    again = host.apply(code=None)
    assert again.code in {1, 3}
    assert again.entry("service:app", "create")["outcome"] == "busy"
    assert host.sh("journalctl -u app -o cat --no-pager | grep -c 'Permission denied'") == "1"
    # The right owner is what was missing.
    host.sh("systemctl reset-failed app")
    host.apply(
        {**app(unit=unit), f"file:{CONF}": {"content": "password\n", "mode": "0600", "owner": "games"}}, code=None
    )
    assert run("validate", "--fleet", str(host.repository.path), "--json").json["diagnostics"] == []
    host.sh("systemctl start app")
    host.apply()
    assert host.sh("systemctl is-active app") == "active"


def test_m16_restart_on_and_reload_on_do_what_they_say(host: OwedHost) -> None:
    lists: dict[str, Any] = {"restart_on": ["file:/etc/app.more"], "reload_on": [f"file:{CONF}"]}
    more = {"file:/etc/app.more": {"content": "x\n"}}
    host.begin({**app(**lists), **more})
    host.apply({**app("two", **lists), **more})
    assert host.log() == ["reload two"]
    host.apply({**app("two", **lists), "file:/etc/app.more": {"content": "y\n"}})
    assert host.log() == ["start two"]
    host.quiet()


def test_m16_run_once_is_a_command_whose_guard_is_seen_on_the_host(host: OwedHost) -> None:
    once = {
        "command:app": {"run": ["sh", "-c", "echo ran >> /run/app.log; : > /srv/app-done"], "creates": "/srv/app-done"}
    }
    host.apply(once)
    host.apply()
    assert host.log() == ["ran"]
    host.sh("rm /srv/app-done")
    host.apply()
    assert host.log() == ["ran"], "what it made is gone: no record of this pass says otherwise"


def test_m16_while_stopped_stops_changes_and_starts_again_even_when_the_change_fails(host: OwedHost) -> None:
    """Once for all that change; what nothing would start again after a kill cannot be named."""
    around: dict[str, Any] = {"while_stopped": ["service:app"]}
    stops = "ExecStopPost=/bin/sh -c 'echo stop >> /run/app.log'\n"

    def declared(text: str, **about: Any) -> dict[str, Any]:
        resources = app(text, unit=unit_text(more=stops), **about)
        return {
            **resources,
            f"file:{CONF}": {**resources[f"file:{CONF}"], **around},
            "file:/etc/app.more": {"content": f"{text}\n", **around},
        }

    host.begin(declared("one"))
    host.apply(declared("two"))
    assert host.log() == ["stop", "start two"]
    failing = {"command:app": {"run": ["false"], "creates": "/srv/app-made", **around}}
    host.apply({**declared("two"), **failing}, code=1)
    assert host.log() == ["stop", "start two"]
    assert host.sh("systemctl is-active app") == "active"
    host.declare(declared("three", running=None, enabled=True))
    done = host.plan()
    assert done.code == 65
    assert {found["code"] for found in done.told["error"]["diagnostics"]} == {"cannot-be-stopped"}
