"""Which resource comes after which without being told (design 4.5): each pair with its reason, in `graph` and `why`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.git_repository import GitRepository
from tests.passes.scene import FLEET_ID, HOST, run

FIXTURES: Final = Path(__file__).resolve().parents[2] / "fixtures"
UNIT: Final = "[Service]\nExecStart=/bin/sleep 1\n"
SOCKET: Final = "[Socket]\nListenStream=/run/app\n"
TEXT: Final = {"content": ""}
SOURCE: Final = {"uris": ["https://deb.example.com"], "suites": ["./"], "options": {"Trusted": True}}
KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIvVRUcBvbXkHdYbbhGJ9aHWkqqg5rA1cD1Zy3E9mO9q"
MOUNT: Final = {"source": "tmpfs", "fstype": "tmpfs"}
JOB: Final = {"schedule": "@daily", "command": "x"}
TIMER: Final = {"on_calendar": ["daily"], "argv": ["/srv/x"]}
TREE: Final = {"source": "files/app"}
OWN_KEY: Final = {
    "key": (FIXTURES / "keys/one.asc").read_text(),
    "fingerprint": "9615110E7436A7571E7F8D4B7B9D2E3E3411DC26",
}
HARD: Final = "requires"
SOFT: Final = "after"
Declared = Mapping[str, Mapping[str, Any]]


def naming(line: str, section: str = "Service") -> Mapping[str, Any]:
    """Return a unit file with one line more."""
    return {"content": f"[{section}]\n{line}\n"}


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
    ("authorized_key:app", "authorized_key:app/laptop", {"exclusive": True}, {"key": KEY}, HARD, "key that stays"),
    ("cron:job", "user:app", {**JOB, "user": "app"}, {}, HARD, "user"),
    ("timer:job", "user:app", {**TIMER, "user": "app"}, {}, HARD, "user"),
    ("timer:job", "file:/srv/x", TIMER, TEXT, HARD, "program"),
    ("command:c", "user:app", {"run": ["true"], "creates": "/srv/c", "user": "app"}, {}, HARD, "user"),
    ("file:/etc/nginx/conf.d/a.conf", "package:nginx", TEXT, {}, SOFT, "package of its name"),
    ("file:/etc/default/nginx", "package:nginx", TEXT, {}, SOFT, "package of its name"),
    ("directory:/etc/nginx", "package:nginx", {}, {}, SOFT, "package of its name"),
    ("link:/etc/nginx/sites-enabled/a", "package:nginx", {"target": "b"}, {}, SOFT, "package of its name"),
    ("service:nginx", "package:nginx", {"running": True}, {}, SOFT, "package of its name"),
    ("service:nginx", "file:/etc/nginx/nginx.conf", {"running": True}, TEXT, SOFT, "configuration of its name"),
    ("service:nginx", "directory:/etc/nginx", {"running": True}, {}, SOFT, "configuration of its name"),
    ("service:app@one", "file:/etc/default/app", {"enabled": True}, TEXT, SOFT, "configuration of its name"),
    ("service:ntp", "link:/etc/ntp.conf", {"running": True}, {"target": "x"}, SOFT, "configuration of its name"),
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
    ("tree:/srv/app", "directory:/srv", TREE, {}, HARD, "parent directory"),
    ("tree:/srv/app", "user:web", {**TREE, "owner": "web"}, {}, HARD, "owner"),
    ("tree:/srv/app", "group:web", {**TREE, "group": "web"}, {}, HARD, "group"),
    ("tree:/srv/app", "package:app", TREE, {}, SOFT, "package of its name"),
    ("tree:/srv/data/app", "mount:/srv/data", TREE, MOUNT, HARD, "mount above"),
    ("link:/srv/a", "file:/srv/b", {"target": "b"}, TEXT, SOFT, "target"),
    ("link:/srv/a", "group:app", {"target": "b", "group": "app"}, {}, HARD, "group"),
    ("link:/srv/data/a", "mount:/srv/data", {"target": "b"}, MOUNT, HARD, "mount above"),
    ("unit:app.service", "user:app", naming("User=app"), {}, HARD, "user of the unit"),
    ("unit:app.service", "group:app", naming("Group=app"), {}, HARD, "group of the unit"),
    ("unit:app.socket", "user:app", naming("SocketUser=app", "Socket"), {}, HARD, "user of the unit"),
    ("unit:app.socket", "group:app", naming("SocketGroup=app", "Socket"), {}, HARD, "group of the unit"),
    ("unit:app.service", "file:/srv/e", naming("EnvironmentFile=/srv/e"), TEXT, HARD, "environment file"),
    ("unit:app.service", "file:/srv/e", naming("EnvironmentFile=-/srv/e"), TEXT, SOFT, "environment file"),
    ("unit:app.service", "directory:/srv/w", naming("WorkingDirectory=/srv/w"), {}, HARD, "working directory"),
    ("unit:app.service", "directory:/srv/w", naming("WorkingDirectory=-/srv/w"), {}, SOFT, "working directory"),
    ("unit:app.service", "file:/srv/x", naming("ExecStart=/srv/x --serve"), TEXT, HARD, "program"),
    ("unit:app.service", "link:/srv/x", naming("ExecStartPre=+/srv/x"), {"target": "y"}, HARD, "program"),
    ("unit:app.service", "file:/srv/x", naming("ExecStartPre=-/srv/x"), TEXT, SOFT, "program"),
    ("unit:app.service/x", "user:app", naming("User=app"), {}, HARD, "user of the unit"),
    ("unit:app.service/x", "file:/srv/x", naming("ExecStart=/srv/x"), TEXT, HARD, "program"),
    ("unit:app.socket", "unit:app.service", {"content": SOCKET}, {"content": UNIT}, SOFT, "what the socket starts"),
    (
        "unit:app.timer",
        "unit:app.service",
        naming("OnCalendar=daily", "Timer"),
        {"content": UNIT},
        SOFT,
        "what the timer starts",
    ),
    ("unit:app.service", "package:app", {"content": UNIT}, {}, SOFT, "package of its name"),
    ("unit:app@.service/x", "package:app", {"content": UNIT}, {}, SOFT, "package of its name"),
    ("service:app@one", "unit:app@.service", {"running": True}, {"content": UNIT}, HARD, "unit file"),
    ("service:app@one", "unit:app@.service/x", {"running": True}, {"content": UNIT}, HARD, "drop-in"),
    ("timer:job", "directory:/srv/w", {**TIMER, "working_directory": "/srv/w"}, {}, HARD, "working directory"),
    ("cron:app", "package:app", JOB, {}, SOFT, "package of its name"),
    ("package_source:app", "file:/srv/k.gpg", {**SOURCE, "signed_by": "/srv/k.gpg"}, TEXT, HARD, "keyring"),
    ("package_source:app", "directory:/etc/apt/keyrings", {**SOURCE, **OWN_KEY}, {}, HARD, "parent directory"),
    ("package:app", "group:app", {}, {}, SOFT, "account of the same name"),
    ("package:app", "directory:/etc/apt/apt.conf.d", {}, {}, SOFT, "apt configuration"),
    ("user:app", "group:web", {"group": "900"}, {"gid": 900}, HARD, "primary group"),
    ("user:app", "group:app", {}, {}, HARD, "primary group"),
    ("user:app", "user:web", {}, {"uid": 900}, SOFT, "its number is given"),
    ("group:app", "group:web", {}, {"gid": 900}, SOFT, "its number is given"),
    ("authorized_key:app/laptop", "directory:/home/app/.ssh", {"key": KEY}, {}, HARD, "parent directory"),
    ("authorized_key:app/laptop", "mount:/home", {"key": KEY}, MOUNT, HARD, "mount above"),
    ("sysctl:vm/swappiness", "file:/etc/sysctl.d/a.conf", {"value": 1}, TEXT, SOFT, "read at boot"),
    ("sysctl:vm/swappiness", "mount:/etc", {"value": 1}, MOUNT, HARD, "mount above"),
    ("hostname:host", "directory:/etc", {"static": "a"}, {}, HARD, "parent directory"),
    ("hostname:host", "mount:/etc", {"static": "a"}, MOUNT, HARD, "mount above"),
    ("timezone:host", "directory:/etc", {"zone": "UTC"}, {}, HARD, "parent directory"),
    ("timezone:host", "mount:/etc", {"zone": "UTC"}, MOUNT, HARD, "mount above"),
    ("timezone:host", "package:tzdata", {"zone": "UTC"}, {}, SOFT, "zones"),
    ("timezone:host", "file:/usr/share/zoneinfo/X", {"zone": "X"}, TEXT, SOFT, "zones"),
    (
        "mount:/srv/a",
        "directory:/srv/b",
        {"source": "/srv/b", "fstype": "none", "options": ["bind"]},
        {},
        HARD,
        "source",
    ),
    (
        "mount:/srv/a",
        "mount:/srv/b",
        {"source": "/srv/b", "fstype": "none", "options": ["bind"]},
        MOUNT,
        HARD,
        "mount of the source",
    ),
    ("mount:/srv/a", "package:nfs-common", {"source": "nas:/a", "fstype": "nfs4"}, {}, SOFT, "knows the type"),
    ("command:c", "file:/srv/i", {"run": ["true"], "inputs": ["/srv/i"], "outputs": ["/srv/o"]}, TEXT, HARD, "input"),
    ("command:c", "directory:/srv", {"run": ["true"], "creates": "/srv/o"}, {}, HARD, "parent directory"),
    ("command:c", "directory:/srv", {"run": ["true"], "creates": "/o", "directory": "/srv"}, {}, HARD, "directory"),
    ("command:c", "file:/srv/x", {"run": ["/srv/x"], "creates": "/srv/o"}, TEXT, HARD, "program"),
    ("command:c", "file:/srv/x", {"run": ["true"], "unless": ["/srv/x"]}, TEXT, HARD, "program"),
    ("check:c", "file:/srv/a", {"run": ["true"], "guards": ["file:/srv/a"]}, TEXT, HARD, "guards"),
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
            "files/app/a": "",
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
    ids=[f"{pair[0]}-{pair[1]}-{pair[5]}-{number}" for number, pair in enumerate(PAIRS)],
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


# The same the other way round where both are to be gone: source, target, kind, reason.
TURNED: Final[list[tuple[str, str, str, str]]] = [
    ("file:/srv/a/b", "directory:/srv/a", HARD, "parent directory"),
    ("directory:/srv/a/b", "directory:/srv/a", HARD, "parent directory"),
    ("link:/srv/a/b", "directory:/srv/a", HARD, "parent directory"),
    ("tree:/srv/a/b", "directory:/srv/a", HARD, "parent directory"),
    ("cron:job", "directory:/etc/cron.d", HARD, "parent directory"),
    ("timer:job", "directory:/etc/systemd/system", HARD, "parent directory"),
    ("package_source:app", "directory:/etc/apt/sources.list.d", HARD, "parent directory"),
    ("sysctl:vm/swappiness", "directory:/etc/sysctl.d", HARD, "parent directory"),
    ("unit:app.service/x", "directory:/etc/systemd/system/app.service.d", HARD, "parent directory"),
    ("file:/srv/data/a", "mount:/srv/data", HARD, "mount above"),
    ("mount:/srv/data/inner", "mount:/srv/data", HARD, "mount above"),
    ("mount:/srv/data", "directory:/srv/data", HARD, "mount point"),
    ("user:app", "mount:/home", HARD, "mount of the home"),
    ("user:app", "group:app", HARD, "primary group"),
    ("package:app", "package_source:app", HARD, "package source"),
    ("package:app", "user:app", SOFT, "account of the same name"),
    ("file:/etc/nginx/a", "package:nginx", SOFT, "package of its name"),
    ("service:nginx", "package:nginx", SOFT, "package of its name"),
    ("service:nginx", "file:/etc/nginx/a", SOFT, "configuration of its name"),
    ("unit:nginx.service/x", "package:nginx", SOFT, "package of its name"),
    ("service:app", "unit:app.service", HARD, "unit file"),
    ("service:app", "unit:app.service/x", HARD, "drop-in"),
    ("service:app", "service:app.socket", SOFT, "its socket"),
    ("unit:app.socket", "unit:app.service", SOFT, "what the socket starts"),
    ("unit:app.service/x", "unit:app.service", SOFT, "unit file"),
]


@pytest.mark.parametrize(
    ("source", "target", "kind", "reason"), TURNED, ids=[f"{pair[0]}-{pair[1]}-{pair[3]}" for pair in TURNED]
)
def test_what_goes_goes_in_reverse(tmp_path: Path, source: str, target: str, kind: str, reason: str) -> None:
    """A service before its unit, what lies in a directory before that."""
    where = fleet_of(tmp_path, {source: {"absent": True}, target: {"absent": True}})
    graph = told("graph", *where)
    assert edges(graph, target, source) == [(kind, f"{reason}, removed in reverse")]
    assert edges(graph, source, target) == []
    assert graph["order"].index(source) < graph["order"].index(target)
    line = f"  {kind} {source}  {reason}, removed in reverse"
    assert line in run("why", target, *where).out.splitlines()
