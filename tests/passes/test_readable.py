"""Files that a program cannot read as the account that it runs as: told by `validate`, and only where all is declared.

M13 of what others do: a credential was written root-owned, unreadable by the account that needs it, and the only sign
was a line of a log, thousands of times.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.git_repository import GitRepository
from tests.passes.scene import FLEET_ID, run

HEAD: Final = {"datum": 1, "fleet": FLEET_ID, "layers": ["role"]}
CODE: Final = "unreadable-by-account"
CONF: Final = "file:/etc/app.conf"
Declared = dict[str, Any]


def unit(settings: str = "User=app\n", start: str = "ExecStart=/usr/bin/app --config=/etc/app.conf\n") -> Declared:
    return {"unit:app.service": {"content": f"[Unit]\nDescription=app\n[Service]\n{settings}{start}"}}


def conf(mode: str | None = "0600", **fields: Any) -> Declared:
    return {CONF: {"content": "password\n", **({"mode": mode} if mode else {}), **fields}}


OTHER_START: Final = "ExecStart=/usr/bin/app\n"
LISTS: Final = {"service:app": {"running": True, "restart_on": [CONF]}}

# What a host declares, what is found of, and what the hint says.
FOUND: Final[Mapping[str, tuple[Declared, str, str]]] = {
    "root's, whose owner nobody declares": ({**unit(), **conf()}, CONF, "file:/etc/app.conf: owner: app"),
    "root's by name": ({**unit(), **conf(owner="root", group="root")}, CONF, "owner: app"),
    "of another user": ({**unit(), **conf(owner="games")}, CONF, "owner: app"),
    "of root's group": ({**unit(), **conf("0640")}, CONF, "owner: app"),
    "with a group of the unit": (
        {**unit("User=app\nGroup=games\n"), **conf()},
        CONF,
        'file:/etc/app.conf: group: games, mode: "0640"',
    ),
    "with a declared user": ({**unit(), **conf(), "user:app": {}}, CONF, 'group: app, mode: "0640"'),
    "with the user's declared group": (
        {**unit(), **conf(), "user:app": {"group": "staff"}},
        CONF,
        'group: staff, mode: "0640"',
    ),
    "in a group without the right": (
        {**unit("User=app\nGroup=games\n"), **conf("0604", group="games")},
        CONF,
        'mode: "0644"',
    ),
    "its own, without the right": ({**unit(), **conf("0200", owner="app")}, CONF, 'mode: "0600"'),
    "no member of the group": (
        {**unit(), **conf("0640", group="keys"), "user:app": {}, "group:keys": {}},
        CONF,
        "make app a member of keys, or write SupplementaryGroups=keys",
    ),
    "not among the members": (
        {**unit("User=app\nGroup=app\n"), **conf("0640", group="keys"), "group:keys": {"members": ["games"]}},
        CONF,
        "make app a member of keys",
    ),
    "a dynamic account": (
        {**unit("DynamicUser=yes\n"), **conf()},
        CONF,
        "LoadCredential=NAME:PATH",
    ),
    "by number": (
        {**unit("User=900\n"), **conf(owner="app"), "user:app": {"uid": 901}},
        CONF,
        "owner: 900",
    ),
    "by a drop-in": (
        {**unit(""), **conf(), "unit:app.service/user": {"content": "[Service]\nUser=app\n"}},
        CONF,
        "owner: app",
    ),
    "a command before the start": (
        {**unit(start=f"ExecStartPre=/usr/bin/test -r /etc/app.conf\n{OTHER_START}"), **conf()},
        CONF,
        "owner: app",
    ),
    "within a line of a shell": (
        {**unit(start="ExecStart=/bin/sh -c 'cat /etc/app.conf && exec sleep 9'\n"), **conf()},
        CONF,
        "owner: app",
    ),
    "a program that may not be run": (
        {**unit(start="ExecStart=/opt/app\n"), "file:/opt/app": {"content": "", "mode": "0744"}},
        "file:/opt/app",
        "owner: app",
    ),
    "a working directory": (
        {
            **unit(f"User=app\nWorkingDirectory=/srv/app\n{OTHER_START}", ""),
            "directory:/srv/app": {"mode": "0700"},
        },
        "directory:/srv/app",
        "owner: app",
    ),
    "below a directory that is closed": (
        {**unit(start="ExecStart=/usr/bin/app /etc/app/a\n"), "directory:/etc/app": {"mode": "0700"},
         "file:/etc/app/a": {"content": ""}},
        "directory:/etc/app",
        "owner: app",
    ),
    "listed by the service": ({**unit(start=OTHER_START), **conf(), **LISTS}, CONF, "owner: app"),
    "a job of a timer": (
        {"timer:job": {"on_calendar": ["daily"], "argv": ["/usr/bin/job", "/etc/app.conf"], "user": "app"}, **conf()},
        CONF,
        "owner: app",
    ),
}  # fmt: skip

SILENT: Final[Mapping[str, Declared]] = {
    "runs as root": {**unit(""), **conf()},
    "runs as root by name": {**unit("User=root\n"), **conf()},
    "runs as root by number": {**unit("User=0\n"), **conf()},
    "runs as another of number 0": {**unit("User=toor\n"), **conf(owner="games"), "user:toor": {"uid": 0}},
    "the user is taken back": {**unit("User=app\nUser=\n"), **conf()},
    "its own": {**unit(), **conf(owner="app")},
    "its own by number": {**unit("User=900\n"), **conf(owner="app"), "user:app": {"uid": 900}},
    "of a number nobody declares": {**unit(), **conf(owner="900")},
    "for all": {**unit(), **conf("0644")},
    "no mode declared": {**unit(), **conf(None)},
    "mode not looked at": {**unit(), **conf(unmanaged=["mode"])},
    "owner not looked at": {**unit(), **conf(unmanaged=["owner"])},
    "a file that Datum does not make": {**unit(), CONF: {"mode": "0600"}},
    "absent": {**unit(), CONF: {"absent": True}},
    "of its group": {**unit("User=app\nGroup=games\n"), **conf("0640", group="games")},
    "of one more group": {**unit("User=app\nSupplementaryGroups=a b\n"), **conf("0640", group="b")},
    "of the user's group": {**unit(), **conf("0640", group="keys"), "user:app": {"groups": ["keys"]}, "group:keys": {}},
    "of the user's primary group": {**unit(), **conf("0640", group="keys"), "user:app": {"group": "keys"}},
    "of the group of the user's name": {**unit(), **conf("0640", group="app"), "user:app": {}},
    "among the members": {**unit(), **conf("0640", group="keys"), "group:keys": {"members": ["app"]}},
    "of a group by number": {
        **unit("User=app\nGroup=keys\n"), **conf("0640", group="905"), "group:keys": {"gid": 905}
    },
    "a user that shall not be": {**unit(), **conf("0640", group="keys"), "user:app": {"absent": True}},
    "members that nobody declares": {**unit(), **conf("0640", group="keys")},
    "a primary group that nobody declares": {**unit(), **conf("0640", group="keys"), "group:keys": {"members": []}},
    "a user of an instance": {
        "unit:app@.service": {"content": "[Service]\nUser=%i\nExecStart=/usr/bin/app /etc/app.conf\n"}, **conf()
    },
    "read by the manager": {**unit("User=app\nEnvironmentFile=-/etc/app.conf\n", OTHER_START), **conf(), **LISTS},
    "a credential": {**unit("User=app\nLoadCredential=key:/etc/app.conf\n", OTHER_START), **conf(), **LISTS},
    "one of a pattern": {**unit("User=app\nEnvironmentFile=/etc/*.conf\n", OTHER_START), **conf(), **LISTS},
    "listed, and a command of root may read it": {
        **unit(start=f"ExecStartPre=+/usr/local/bin/prepare\n{OTHER_START}"), **conf(), **LISTS
    },
    "listed, and not started": {
        **unit(start=OTHER_START), **conf(), "service:app": {"running": False, "restart_on": [CONF]}
    },
    "told to a command of root": {**unit(start=f"ExecStartPre=+/bin/cat /etc/app.conf\n{OTHER_START}"), **conf()},
    "told to one without the account": {**unit(start=f"ExecStartPre=!/bin/cat /etc/app.conf\n{OTHER_START}"), **conf()},
    "made readable by a command of root": {
        **unit(start="ExecStartPre=+/bin/chown app /etc/app.conf\nExecStart=/usr/bin/app /etc/app.conf\n"), **conf()
    },
    "by way of sudo": {**unit(start="ExecStart=/usr/bin/sudo /bin/cat /etc/app.conf\n"), **conf()},
    "only the start is the user's": {
        **unit(start=f"PermissionsStartOnly=yes\nExecStartPre=/bin/cat /etc/app.conf\n{OTHER_START}"), **conf()
    },
    "a capability reads all": {**unit("User=app\nAmbientCapabilities=CAP_DAC_READ_SEARCH\n"), **conf()},
    "another tree": {**unit("User=app\nRootDirectory=/srv/root\n"), **conf()},
    "what is written": {**unit(start="ExecStart=/bin/sh -c 'date > /etc/app.conf'\n"), **conf()},
    "the manager's directory": {
        **unit("User=app\nStateDirectory=app\n", "ExecStart=/usr/bin/app /var/lib/app/a\n"),
        "file:/var/lib/app/a": {"content": "", "mode": "0600"},
    },
    "a working directory it can do without": {
        **unit("User=app\nWorkingDirectory=-/srv/app\n", OTHER_START), "directory:/srv/app": {"mode": "0700"}
    },
    "a unit of which not all is declared": {"unit:app.service/user": {"content": "[Service]\nUser=app\n"}, **conf()},
    "one instance is another's": {
        "unit:app@.service": {"content": "[Service]\nUser=app\nExecStart=/usr/bin/app /etc/app.conf\n"},
        "unit:app@a.service/root": {"content": "[Service]\nUser=root\n"},
        **conf(),
    },
    "no service": {
        "unit:app.socket": {"content": "[Socket]\nListenStream=1\n[Service]\nUser=app\nExecStart=/a /etc/app.conf\n"},
        **conf(),
    },
}  # fmt: skip


def slug(words: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in words.lower())


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Give everything that is found in a fleet in which each case is one host."""
    fleet = GitRepository(tmp_path_factory.mktemp("readable"))
    hosts = {name: case[0] for name, case in FOUND.items()} | dict(SILENT)
    files = {f"hosts/{slug(name)}.yaml": json.dumps({"resources": declared}) for name, declared in hosts.items()}
    fleet.commit({"fleet.yaml": json.dumps(HEAD), **files})
    ran = run("validate", "--fleet", str(fleet.path), "--json")
    assert [one for one in ran.json["diagnostics"] if one["severity"] == "error"] == []
    found: list[dict[str, Any]] = ran.json["diagnostics"]
    assert len(ran.json["hosts"]) == len(hosts)
    return found


def of_host(told: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    own = f"hosts/{slug(name)}.yaml"
    return [one for one in told if one["location"]["file"] == own and one["code"] == CODE]


@pytest.mark.parametrize("name", FOUND)
def test_m13_what_an_account_cannot_read_is_told_with_what_to_write(told: list[dict[str, Any]], name: str) -> None:
    _, resource, hint = FOUND[name]
    (found,) = of_host(told, name)
    assert (found["severity"], found["resource"]) == ("warning", resource)
    assert hint in found["hint"]
    assert found["location"]["line"]
    assert all(place["location"]["line"] for place in found["related"])
    assert "password" not in json.dumps(found)


@pytest.mark.parametrize("name", SILENT)
def test_m13_nothing_is_told_where_it_can_be_read_or_not_all_is_declared(told: list[dict[str, Any]], name: str) -> None:
    assert of_host(told, name) == []


def test_a_warning_names_both_places_and_is_no_error(tmp_path: Path) -> None:
    fleet = GitRepository(tmp_path)
    host = (
        "resources:\n"
        "  unit:app.service:\n"
        "    source: files/app.service\n"
        "  file:/etc/app.conf:\n"
        "    content: a\n"
        '    mode: "0600"\n'
        "  service:app:\n"
        "    running: true\n"
        "    reload_on: [file:/etc/app.conf]\n"
    )
    text = "[Service]\nUser=app\nExecStart=/usr/bin/app\n"
    fleet.commit({"fleet.yaml": json.dumps(HEAD), "hosts/web1.yaml": host, "files/app.service": text})
    ran = run("validate", "--fleet", str(tmp_path))
    assert ran.code == 0
    sentence = (
        "file:/etc/app.conf is declared with mode 0600, owner root and group root (owner and group as it is made, "
        "since none is declared). unit:app.service runs as app, and what it runs lists it: that account cannot read it."
    )
    assert ran.out.splitlines() == [
        "hosts/web1.yaml:6:11: warning[unreadable-by-account]: A program cannot read what it is told to.",
        f"  {sentence}",
        "  hosts/web1.yaml:3:13: unit:app.service is declared here",
        "  hosts/web1.yaml:9:16: service:app lists it here",
        "  try: file:/etc/app.conf: owner: app",
        "Sound: 1 host, 3 resources.",
    ]
