"""What a unit file names comes before it: accounts, files of environment, directories, programs."""

import pytest

from datum.model.content import Content, blob_id
from datum.model.graph import DependencyKind
from datum.model.manifest import AttributeValue
from datum_providers.service.provider import ServiceProvider
from datum_providers.unit.needs import needed_by
from datum_providers.unit.provider import UnitProvider
from tests.providers.index import index_of

PROVIDER = UnitProvider()
SYSTEM = "/etc/systemd/system"
TEXT = """\
[Unit]
User=not-here
[Service]
User=app
Group=web
EnvironmentFile=/etc/app.env
EnvironmentFile=-/etc/default/app
WorkingDirectory=/srv/app
ExecStart=/opt/app/bin/app --all
"""
DECLARED = {
    "user app": "user:app",
    "group web": "group:web",
    "path /etc/app.env": "file:/etc/app.env",
    "path /etc/default/app": "file:/etc/default/app",
    "path /srv/app": "directory:/srv/app",
    "path /opt/app/bin/app": "file:/opt/app/bin/app",
}


def edges(name: str = "app.service", **attributes: AttributeValue) -> list[tuple[str, str, bool]]:
    found = PROVIDER.edges(PROVIDER.parse(name, attributes), index_of(DECLARED))
    assert all((edge.kind is DependencyKind.AFTER) is edge.soft for edge in found)
    return [(str(edge.target), edge.reason, edge.soft) for edge in found]


ALL = [
    ("user:app", "user of the unit", False),
    ("group:web", "group of the unit", False),
    ("file:/etc/app.env", "environment file", False),
    ("file:/etc/default/app", "environment file", True),
    ("directory:/srv/app", "working directory", False),
    ("file:/opt/app/bin/app", "program", False),
]


def test_what_a_unit_file_names_comes_first() -> None:
    assert edges(content=TEXT) == ALL
    head, tail = TEXT[:40].encode(), TEXT[40:].encode()
    assert edges(parts=(Content.from_bytes(head), Content.from_bytes(tail))) == ALL


def test_a_drop_in_names_things_for_its_unit() -> None:
    assert edges("app.service/own", content="[Service]\nUser=app\n") == [("user:app", "user of the unit", False)]


def test_a_file_of_the_repository_is_not_read() -> None:
    assert edges(source=Content(blob_id(TEXT.encode()), source="files/app.service")) == []
    assert edges() == []


def test_what_is_named_twice_is_waited_for_once_and_firmly() -> None:
    text = "[Service]\nEnvironmentFile=-/etc/app.env\nEnvironmentFile=/etc/app.env\nEnvironmentFile=-/etc/app.env\n"
    assert edges(content=text) == [("file:/etc/app.env", "environment file", False)]


def test_a_service_is_not_restarted_after_a_change_of_its_environment_file() -> None:
    provider = ServiceProvider()
    index = index_of({**DECLARED, f"path {SYSTEM}/app.service": "unit:app.service"})
    service = provider.relate(provider.parse("app", {}), index)
    assert {str(edge.target) for edge in provider.edges(service, index)} == {
        "unit:app.service",
        "file:/etc/default/app",
    }
    assert provider.triggers(service) == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("User=one\nUser=two", ["user two"]),
        ("User=one\nUser=", []),
        ("User=one\nUser=%i", []),
        ("User=50%%", ["user 50%"]),
        ("EnvironmentFile=/a\nEnvironmentFile=/b", ["path /a", "path /b"]),
        ("EnvironmentFile=/a\nEnvironmentFile=\nEnvironmentFile=/b", ["path /b"]),
        ("EnvironmentFile=/etc/app/*.env", []),
        ("EnvironmentFile=%E/app", []),
        ("EnvironmentFile=-/a//b/", ["path /a/b?"]),
        ("WorkingDirectory=~", []),
        ("WorkingDirectory=-/a", ["path /a?"]),
        ("ExecStart=/a b\nExecStart=/c", ["path /a", "path /c"]),
        ("ExecStart=/a b\nExecStart=", []),
        ("ExecStart=app --all", []),
        ("ExecStart=-/a", ["path /a?"]),
        ("ExecStart=@!!/a name", ["path /a"]),
        ('ExecStart=:+"/a b" c', ["path /a b"]),
        ("ExecStart='/a b'", ["path /a b"]),
        ('ExecStart="/a b"c', []),
        ("ExecStart=/a\\x20b", []),
        ("ExecStart=/opt/%i", []),
        (
            "ExecStartPre=/a\nExecStopPost=/b\nExecCondition=/c\nExecReload=/d",
            ["path /a", "path /b", "path /c", "path /d"],
        ),
        ("ExecPaths=/a", []),
        ("ExecStart=\\\n# why\n  /a \\\n  --all\nUser=app", ["path /a", "user app"]),
        ("#User=one\n;User=two\n\nUser = app ", ["user app"]),
        ("User=app\n[Install]\nGroup=web", ["user app"]),
    ],
)
def test_settings_are_read_as_the_manager_reads_them(text: str, found: list[str]) -> None:
    needed = needed_by(f"[Service]\n{text}\n")
    assert [f"{one.target.kind} {one.target.key}{'?' * one.may_be_missing}" for one in needed] == found


def test_accounts_of_a_socket_are_its_own() -> None:
    text = "[Socket]\nSocketUser=app\nSocketGroup=web\nUser=other\nExecStartPre=/bin/a\n"
    assert [str(one.target) for one in needed_by(text)] == ["user app", "group web", "user other", "path /bin/a"]
