"""The state of unit files on the disk, in the words of `systemctl is-enabled`."""

from collections.abc import Mapping

import pytest

from datum.provider.host import FileKind, HostError
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.shared.unit_files import UnitFiles, read_install
from datum_providers.shared.units import UnitName

ETC, RUN, LIB = "/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"
INSTALL = "[Install]\nWantedBy=multi-user.target\n"


def files(texts: Mapping[str, str], links: Mapping[str, str]) -> UnitFiles:
    host = FakeHost()
    for path, text in texts.items():
        host.add_file(path, text.encode())
    for path, end in links.items():
        host.add_link(path, end)
    return UnitFiles(host.reader())


@pytest.mark.parametrize(
    ("name", "texts", "links", "state"),
    [
        ("a.service", {}, {}, "not-found"),
        ("a.service", {f"{LIB}/a.service": "x"}, {}, "static"),
        ("a.service", {f"{LIB}/a.service": INSTALL}, {}, "disabled"),
        ("a.service", {f"{LIB}/a.service": "[Install]\nAlso=b.service\n"}, {}, "indirect"),
        ("a.service", {f"{LIB}/a.service": f"{INSTALL}WantedBy=\n"}, {}, "static"),
        ("a.service", {f"{LIB}/a.service": "x", f"{ETC}/a.service.d/i.conf": INSTALL}, {}, "disabled"),
        ("a.service", {f"{LIB}/a.service": "[Unit]\nWantedBy=x\n#[Install]\n"}, {}, "static"),
        (
            "a.service",
            {f"{LIB}/a.service": INSTALL},
            {f"{ETC}/multi-user.target.wants/a.service": f"{LIB}/a.service"},
            "enabled",
        ),
        (
            "a.service",
            {f"{LIB}/a.service": INSTALL},
            {f"{ETC}/x.target.requires/a.service": "../a.service"},
            "enabled",
        ),
        (
            "a.service",
            {f"{LIB}/a.service": INSTALL},
            {f"{RUN}/multi-user.target.wants/a.service": f"{LIB}/a.service"},
            "enabled-runtime",
        ),
        # A link of the distribution's own is no enablement of the administrator's.
        (
            "a.service",
            {f"{LIB}/a.service": "x"},
            {f"{LIB}/multi-user.target.wants/a.service": "../a.service"},
            "static",
        ),
        (
            "a.service",
            {f"{LIB}/a.service": "[Install]\nAlias=b.service\n"},
            {f"{ETC}/b.service": f"{LIB}/a.service"},
            "enabled",
        ),
        ("b.service", {f"{LIB}/a.service": INSTALL}, {f"{LIB}/b.service": "a.service"}, "alias"),
        ("a.service", {f"{LIB}/a.service": INSTALL}, {f"{ETC}/other.service": f"{LIB}/a.service"}, "indirect"),
        ("a.service", {"/opt/a.service": INSTALL}, {f"{ETC}/a.service": "/opt/a.service"}, "linked"),
        ("a.service", {"/opt/a.service": INSTALL}, {f"{RUN}/a.service": "/opt/a.service"}, "linked-runtime"),
        ("a.service", {f"{LIB}/a.service": INSTALL}, {f"{ETC}/a.service": "/dev/null"}, "masked"),
        ("a.service", {f"{LIB}/a.service": INSTALL}, {f"{RUN}/a.service": "/dev/null"}, "masked-runtime"),
        ("a.service", {f"{LIB}/a.service": INSTALL, f"{ETC}/a.service": ""}, {}, "masked"),
        ("a@x.service", {f"{LIB}/a@.service": INSTALL}, {}, "disabled"),
        (
            "a@x.service",
            {f"{LIB}/a@.service": INSTALL},
            {f"{ETC}/multi-user.target.wants/a@x.service": f"{LIB}/a@.service"},
            "enabled",
        ),
        (
            "a@x.service",
            {f"{LIB}/a@.service": INSTALL},
            {f"{ETC}/multi-user.target.wants/a@y.service": f"{LIB}/a@.service"},
            "disabled",
        ),
        ("a.service", {"/etc/init.d/a": "#!/bin/sh"}, {}, "generated"),
        ("a.socket", {"/etc/init.d/a": "#!/bin/sh"}, {}, "not-found"),
        # A file that is none of a folder's, and a link that leads nowhere.
        ("a.service", {f"{LIB}/a.service": INSTALL, f"{ETC}/x.wants": ""}, {}, "disabled"),
        ("a.service", {}, {f"{ETC}/a.service": "/opt/a.service"}, "linked"),
    ],
)
def test_states_are_those_of_systemctl(
    name: str, texts: Mapping[str, str], links: Mapping[str, str], state: str
) -> None:
    assert files(texts, links).state(UnitName(name)) == state


def test_an_alias_leads_to_its_unit_and_one_of_a_template_to_the_instance() -> None:
    found = files(
        {f"{LIB}/a.service": "x", f"{LIB}/getty@.service": "x"},
        {f"{LIB}/b.service": "a.service", f"{LIB}/autovt@.service": "getty@.service"},
    )
    names = {
        name: found.real_name(UnitName(f"{name}.service")) for name in ("a", "b", "autovt@tty1", "getty@tty1", "c")
    }
    assert names == {
        "a": "a.service",
        "b": "a.service",
        "autovt@tty1": "getty@tty1.service",
        "getty@tty1": "getty@tty1.service",
        "c": "c.service",
    }


def test_links_that_lead_in_a_circle_cannot_be_looked_at() -> None:
    with pytest.raises(HostError, match="lead nowhere"):
        files({}, {f"{ETC}/a.service": "b.service", f"{ETC}/b.service": "a.service"}).state(UnitName("a.service"))


def test_a_device_masks_as_its_link_does() -> None:
    host = FakeHost()
    host.add(f"{ETC}/a.service", FakeFile(FileKind.CHARACTER_DEVICE))
    assert UnitFiles(host.reader()).state(UnitName("a.service")) == "masked"


def test_each_path_is_looked_at_once() -> None:
    host = FakeHost()
    host.add_file(f"{LIB}/a.service", INSTALL.encode())
    host.add_link(f"{ETC}/multi-user.target.wants/a.service", f"{LIB}/a.service")
    look = UnitFiles(host.reader())
    for _ in range(3):
        look.state(UnitName("a.service"))
    looks = [call for call in host.calls if call[0] in {"examine", "list_directory"}]
    assert len(looks) == len(set(looks))


def test_what_is_linked_anywhere() -> None:
    found = files(
        {f"{LIB}/a.service": INSTALL, f"{LIB}/t@.service": INSTALL},
        {f"{ETC}/x.wants/a.service": "/a", f"{RUN}/x.wants/t@one.service": "/t", f"{ETC}/b.service": "/b"},
    )
    linked = {
        name: found.is_linked_anywhere(UnitName(f"{name}.service")) for name in ("a", "t@", "t@one", "t@two", "b")
    }
    assert linked == {"a": True, "t@": True, "t@one": True, "t@two": False, "b": False}


def test_long_lines_go_on() -> None:
    settings: dict[str, list[str]] = {}
    read_install("[Install]\nWantedBy=a.target \\\n  b.target\n; WantedBy=c.target\nAlias\n", settings)
    assert settings == {"WantedBy": ["a.target", "b.target"]}
