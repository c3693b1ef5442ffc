"""What the home of an interrupted account gets, and where one is refused."""

from typing import Final

import pytest

from datum.model.result import FailureCause
from datum.provider.host import Exposure, FileKind, HostError, Missing
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.shared.account_files import PasswdLine
from datum_providers.user.home import fill_home, home_mode, is_begun, require_safe

LINE: Final = PasswdLine("deploy", "x", 1005, 1006, "", "/home/deploy", "/bin/sh")


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    for folder in ("/etc", "/etc/skel", "/home", "/home/deploy"):
        host.add_directory(folder)
    host.add_file("/etc/login.defs", b"UMASK 027\n")
    return host


def test_it_gets_the_skeleton_as_its_users(host: FakeHost) -> None:
    host.add("/etc/skel/.config", FakeFile(FileKind.DIRECTORY, "0750"))
    host.add("/etc/skel/.config/run", FakeFile(mode="0755", data=b"#!/bin/sh\n"))
    host.add_file("/etc/skel/.profile", b"new\n")
    host.add_link("/etc/skel/.again", "/etc/skel/.profile")
    host.add_link("/etc/skel/.away", "/etc/skeleton")
    host.add("/etc/skel/pipe", FakeFile(FileKind.FIFO, "0600"))
    host.add_file("/home/deploy/.profile", b"half")
    host.add("/home/deploy/.config", FakeFile(FileKind.DIRECTORY, "0700"))
    fill_home(host.writer(), LINE)
    found = {path: host.files[path] for path in host.files if path.startswith("/home/deploy")}
    assert {(file.uid, file.gid) for file in found.values()} == {(1005, 1006)}
    assert {path.removeprefix("/home/deploy"): (file.mode, file.data or file.link) for path, file in found.items()} == {
        "": ("0750", ""),
        "/.config": ("0750", ""),
        "/.config/run": ("0755", b"#!/bin/sh\n"),
        "/.profile": ("0644", b"new\n"),
        "/.again": ("0777", "/home/deploy/.profile"),
        "/.away": ("0777", "/etc/skeleton"),
    }


def test_what_is_no_directory_in_its_place_gives_way(host: FakeHost) -> None:
    host.add_directory("/etc/skel/.config")
    host.add_link("/home/deploy/.config", "/etc")
    fill_home(host.writer(), LINE)
    assert host.files["/home/deploy/.config"].kind is FileKind.DIRECTORY


@pytest.mark.parametrize(
    ("file", "begun"),
    [
        (FakeFile(FileKind.DIRECTORY, "0000"), True),
        (FakeFile(FileKind.DIRECTORY, "0755", 1005, 1006), True),
        (FakeFile(FileKind.DIRECTORY, "0755", 1007, 1006), False),
        (FakeFile(FileKind.SYMLINK, "0777", link="/etc"), False),
    ],
)
def test_only_a_directory_of_its_own_or_of_roots_was_begun_for_it(host: FakeHost, file: FakeFile, begun: bool) -> None:
    host.add("/home/deploy", file)
    assert is_begun(host.reader(), LINE) is begun


def test_its_mode_is_that_of_new_homes(host: FakeHost) -> None:
    assert home_mode(host.reader()) == "0750"
    host.add_file("/etc/login.defs", b"UMASK 027\n  HOME_MODE\t0700\n")
    assert home_mode(host.reader()) == "0700"
    del host.world.files["/etc/login.defs"]
    assert home_mode(host.reader()) == "0755"


@pytest.mark.parametrize(
    ("owner", "uid", "is_refused"), [(None, 5, True), (7, 5, True), (5, 5, False), (7, None, True)]
)
def test_a_place_that_others_can_change_is_refused(owner: int | None, uid: int | None, is_refused: bool) -> None:
    place = Missing("/srv/x", exposures=(Exposure("/srv", "belongs to carol", "chown root /srv", owner),))
    require_safe("/srv/x", Missing("/srv/x"), uid)
    if not is_refused:
        require_safe("/srv/x", place, uid)
        return
    with pytest.raises(HostError, match="belongs to carol") as caught:
        require_safe("/srv/x", place, uid)
    assert (caught.value.failure, caught.value.diagnostics[0].code) == (FailureCause.IMPOSSIBLE, "unsafe-path")
