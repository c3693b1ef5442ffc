"""Which resource comes after which without being told (design 4.5): each pair with its reason, in `graph` and `why`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.git_repository import GitRepository
from tests.passes.scene import FLEET_ID, HOST, run

UNIT: Final = "[Service]\nExecStart=/bin/sleep 1\n"
TEXT: Final = {"content": ""}
SOURCE: Final = {"uris": ["https://deb.example.com"], "suites": ["./"], "options": {"Trusted": True}}
KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIvVRUcBvbXkHdYbbhGJ9aHWkqqg5rA1cD1Zy3E9mO9q"
MOUNT: Final = {"source": "tmpfs", "fstype": "tmpfs"}
JOB: Final = {"schedule": "@daily", "command": "x"}
TIMER: Final = {"on_calendar": ["daily"], "argv": ["/srv/x"]}
HARD: Final = "requires"
SOFT: Final = "after"
Declared = Mapping[str, Mapping[str, Any]]

# Source, target, the source's own fields, the target's, kind, reason.
PAIRS: Final[list[tuple[str, str, Mapping[str, Any], Mapping[str, Any], str, str]]] = [
    ("file:/srv/a/b/c", "directory:/srv/a", TEXT, {}, HARD, "parent directory"),
    ("directory:/srv/a/b", "directory:/srv/a", {}, {}, HARD, "parent directory"),
    ("link:/srv/a/b", "directory:/srv/a", {"target": "c"}, {}, HARD, "parent directory"),
    ("unit:app.service", "directory:/etc/systemd/system", {"content": UNIT}, {}, HARD, "parent directory"),
    (
        "unit:app.service/x",
        "directory:/etc/systemd/system/app.service.d",
        {"content": UNIT},
        {},
        HARD,
        "parent directory",
    ),
    ("cron:job", "directory:/etc/cron.d", JOB, {}, HARD, "parent directory"),
    ("timer:job", "directory:/etc/systemd/system", TIMER, {}, HARD, "parent directory"),
    ("package_source:app", "directory:/etc/apt/sources.list.d", SOURCE, {}, HARD, "parent directory"),
    ("sysctl:vm/swappiness", "directory:/etc/sysctl.d", {"value": 1}, {}, HARD, "parent directory"),
    ("file:/srv/a", "user:app", {**TEXT, "owner": "app"}, {}, HARD, "owner"),
    ("file:/srv/a", "group:app", {**TEXT, "group": "app"}, {}, HARD, "group"),
    ("directory:/srv/a", "user:app", {"owner": "app"}, {}, HARD, "owner"),
    ("directory:/srv/a", "group:app", {"group": "app"}, {}, HARD, "group"),
    ("link:/srv/a", "user:app", {"target": "b", "owner": "app"}, {}, HARD, "owner"),
    ("user:app", "group:web", {"group": "web"}, {}, HARD, "primary group"),
    ("user:app", "group:web", {"groups": ["web"]}, {}, HARD, "group"),
    ("group:web", "user:app", {"members": ["app"]}, {}, HARD, "member"),
    ("user:app", "directory:/srv/people", {"home": "/srv/people/app"}, {}, SOFT, "directory of the home"),
    ("authorized_key:app/laptop", "user:app", {"key": KEY}, {}, HARD, "user"),
    ("cron:job", "user:app", {**JOB, "user": "app"}, {}, HARD, "user"),
    ("timer:job", "user:app", {**TIMER, "user": "app"}, {}, HARD, "user"),
    ("timer:job", "file:/srv/x", TIMER, TEXT, HARD, "program"),
    ("command:c", "user:app", {"run": ["true"], "creates": "/srv/c", "user": "app"}, {}, HARD, "user"),
    ("file:/etc/nginx/conf.d/a.conf", "package:nginx", TEXT, {}, SOFT, "package of its name"),
    ("file:/etc/default/nginx", "package:nginx", TEXT, {}, SOFT, "package of its name"),
    ("directory:/etc/nginx", "package:nginx", {}, {}, SOFT, "package of its name"),
    ("link:/etc/nginx/sites-enabled/a", "package:nginx", {"target": "b"}, {}, SOFT, "package of its name"),
    ("service:nginx", "package:nginx", {"running": True}, {}, SOFT, "package of its name"),
    ("service:app", "unit:app.service", {"running": True}, {"content": UNIT}, HARD, "unit file"),
    ("service:app", "unit:app.service/x", {"running": True}, {"content": UNIT}, HARD, "drop-in"),
    ("service:app", "service:app.socket", {"running": True}, {"running": True}, SOFT, "its socket"),
    ("unit:app.service/x", "unit:app.service", {"content": UNIT}, {"content": UNIT}, SOFT, "unit file"),
    ("package:app", "package_source:app", {}, SOURCE, HARD, "package source"),
    ("package:app", "file:/etc/apt/preferences.d/app", {}, TEXT, SOFT, "apt configuration"),
    ("package:app", "user:app", {}, {}, SOFT, "account of the same name"),
    ("file:/srv/data/a", "mount:/srv/data", TEXT, MOUNT, HARD, "mount above"),
    ("directory:/srv/data/a", "mount:/srv/data", {}, MOUNT, HARD, "mount above"),
    ("mount:/srv/data/inner", "mount:/srv/data", MOUNT, MOUNT, HARD, "mount above"),
    ("directory:/srv/data", "mount:/srv/data", {}, MOUNT, HARD, "mount above"),
    ("mount:/srv/data", "directory:/srv", MOUNT, {}, HARD, "parent directory"),
    ("user:app", "mount:/srv/data", {"home": "/srv/data/app"}, MOUNT, HARD, "mount of the home"),
    ("cron:job", "mount:/etc", JOB, MOUNT, HARD, "mount above"),
    ("timer:job", "mount:/etc", TIMER, MOUNT, HARD, "mount above"),
    ("package_source:app", "mount:/etc", SOURCE, MOUNT, HARD, "mount above"),
    ("unit:app.service", "mount:/etc", {"content": UNIT}, MOUNT, HARD, "mount above"),
    ("service:app", "file:/srv/a", {"running": True, "restart_on": ["file:/srv/a"]}, TEXT, SOFT, "restart_on"),
    ("service:app", "file:/srv/a", {"running": True, "reload_on": ["file:/srv/a"]}, TEXT, SOFT, "reload_on"),
]


def fleet_of(folder: Path, resources: Declared) -> tuple[str, ...]:
    """Return the options that name a fleet with these resources."""
    repository = GitRepository(folder / "fleet")
    repository.commit(
        {
            "fleet.yaml": json.dumps({"datum": 1, "fleet": FLEET_ID, "layers": []}),
            f"hosts/{HOST}.yaml": json.dumps({"resources": resources}),
        }
    )
    return ("--fleet", str(repository.path), "--host", HOST)


def told(*words: str) -> Any:
    ran = run(*words, "--json")
    assert ran.code == 0, ran
    return ran.json


def edges(graph: Mapping[str, Any], source: str, target: str) -> list[tuple[str, str]]:
    """Return kind and reason of every edge from one resource to another."""
    found = [edge for edge in graph["dependencies"] if (edge["source"], edge["target"]) == (source, target)]
    return [(edge["kind"], edge["reason"]) for edge in found]


@pytest.mark.parametrize(
    ("source", "target", "about", "other", "kind", "reason"),
    PAIRS,
    ids=[f"{pair[0]}-{pair[1]}-{pair[5]}" for pair in PAIRS],
)
def test_a_pair_has_its_edge_with_its_reason(
    tmp_path: Path, source: str, target: str, about: Mapping[str, Any], other: Mapping[str, Any], kind: str, reason: str
) -> None:
    where = fleet_of(tmp_path, {source: about, target: other})
    graph = told("graph", *where)
    assert (kind, reason) in edges(graph, source, target)
    assert edges(graph, target, source) == []
    assert graph["order"].index(target) < graph["order"].index(source)
    assert edges(told("why", source, *where), source, target) == edges(graph, source, target)
    line = f"  {kind} {target}  {reason}"
    assert line in run("graph", *where).out.splitlines()
    assert line in run("why", source, *where).out.splitlines()
