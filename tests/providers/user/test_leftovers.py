"""What an interrupted userdel or groupdel left of an account that is gone is seen, and goes under their own lock."""

from typing import Any, Final

import pytest

from datum.model.observation import Absent, Present
from datum.model.plan import Change, Operation, Step
from datum.provider.contract import AnyProvider
from datum.provider.host import FileKind
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.group.provider import GroupProvider
from datum_providers.user.provider import UserProvider
from tests.providers.index import Index
from tests.providers.shadow_tools import GROUP, SHADOW, add_shadow_tools

USER: Final = UserProvider()
GROUPS: Final = GroupProvider()
SWEEP: Final = Step(Operation.DELETE, (Change("residue", before=True, after=None),))
GSHADOW: Final = "root:*::\nmail:*::\nsudo:*::\nwww-data:!::\n"
NAME: Final = "a.b$"
# Lines of other names, which a pattern might take for it, among those of the name.
LEFT: Final = {
    "/etc/shadow": f"{SHADOW}axb$:!:1::::::\n{NAME}:$y$old:1::::::\n{NAME}c:!:1::::::\n",
    "/etc/subuid": f"{NAME}:100000:65536\nx{NAME}:165536:65536\n",
    "/etc/subgid": f"{NAME}:100000:65536\n{NAME}:165536:65536\n",
    "/etc/gshadow": f"{GSHADOW}{NAME}:!::\n",
}


def host_with(*paths: str, **files: str) -> FakeHost:
    host = FakeHost()
    add_shadow_tools(host, **files)
    for path in paths:
        host.add_file(path, LEFT[path].encode())
    return host


def see(provider: AnyProvider, host: FakeHost, **attributes: Any) -> Any:
    return provider.observe(host.reader(), {NAME: provider.parse(NAME, attributes)})[NAME]


@pytest.mark.parametrize("path", LEFT)
def test_each_of_the_files_tells_of_a_user_who_is_gone(path: str) -> None:
    assert see(USER, host_with(path)) == Absent({"residue": True})


def test_it_goes_and_nothing_else_does() -> None:
    host = host_with(*LEFT)
    USER.apply(host.writer(), USER.parse(NAME, {}), SWEEP)
    assert [entry.subject for entry in host.journal] == ["vipw --quiet"]
    kept = {
        path: [line for line in text.splitlines() if not line.startswith(f"{NAME}:")] for path, text in LEFT.items()
    }
    assert {path: host.files[path].data.decode().splitlines() for path in LEFT} == kept
    assert see(USER, host) == Absent()


def test_the_line_of_a_group_that_is_there_is_no_leftover() -> None:
    host = host_with("/etc/gshadow", group=f"{GROUP}{NAME}:x:1500:\n")
    assert see(USER, host) == Absent()
    assert isinstance(see(GROUPS, host), Present)


def test_of_a_group_gshadow_tells() -> None:
    host = host_with(*LEFT)
    assert see(GROUPS, host) == Absent({"residue": True})
    GROUPS.apply(host.writer(), GROUPS.parse(NAME, {}), SWEEP)
    assert see(GROUPS, host) == Absent()
    assert host.files["/etc/shadow"].data.decode() == LEFT["/etc/shadow"]


class Gone(Index):
    """A graph that wants no user: each that is declared is declared absent."""

    def keys(self, kind: str) -> tuple[str, ...]:
        return () if kind == "user" else super().keys(kind)


def absent_user(**group: str) -> Any:
    """Return what declares the user absent, beside a declaration of the group of its name where one is given."""
    beside = {f"group:{NAME}": said for said in group.values()}
    return USER.relate(USER.parse(NAME, {}), Gone.of({f"user:{NAME}": "absent", **beside}))


FORMER: Final = f"root:x:0:0::/:/bin/sh\n{NAME}:x:1500:1500::/:/bin/sh\n"


def host_of_killed_userdel(*, group: str = "x:1500:", former: str = FORMER) -> FakeHost:
    """Return a host on which userdel came as far as passwd and shadow, and whose account had no subordinate ids."""
    host = host_with(group=f"{GROUP}{NAME}:{group}\n")
    host.add_file("/etc/passwd-", former.encode())
    return host


def test_the_group_of_a_user_who_is_gone_is_left_and_goes() -> None:
    host, wanted = host_of_killed_userdel(), absent_user()
    assert USER.observe(host.reader(), {NAME: wanted})[NAME] == Absent({"residue": True})
    USER.apply(host.writer(), wanted, SWEEP)
    assert [entry.subject for entry in host.journal] == [f"groupdel {NAME}", "vipw --quiet"]
    assert USER.observe(host.reader(), {NAME: wanted})[NAME] == Absent()
    assert NAME not in host.files["/etc/group"].data.decode()


@pytest.mark.parametrize(
    "host",
    [
        host_of_killed_userdel(group="x:1500:www-data"),
        host_of_killed_userdel(group="x:33:"),
        host_of_killed_userdel(former="root:x:0:0::/:/bin/sh\n"),
        host_of_killed_userdel(former=FORMER.replace(":1500:1500:", ":1500:33:")),
    ],
    ids=["somebody-is-in-it", "somebodys-primary-one", "of-no-account", "of-another-group"],
)
def test_a_group_that_userdel_would_have_kept_is_no_leftover(host: FakeHost) -> None:
    assert USER.observe(host.reader(), {NAME: absent_user()})[NAME] == Absent()


@pytest.mark.parametrize("said", ["present", "absent"])
def test_a_group_that_is_declared_is_no_leftover_nor_is_that_of_a_user_who_is_wanted(said: str) -> None:
    host = host_of_killed_userdel()
    assert USER.observe(host.reader(), {NAME: absent_user(group=said)})[NAME] == Absent()
    assert see(USER, host) == Absent()


def test_without_the_copy_of_passwd_nothing_tells_of_a_group_unless_other_lines_are_left() -> None:
    host = host_of_killed_userdel()
    del host.files["/etc/passwd-"]
    assert USER.observe(host.reader(), {NAME: absent_user()})[NAME] == Absent()
    host.add_file("/etc/subuid", LEFT["/etc/subuid"].encode())
    writer = host.writer()
    USER.apply(writer, absent_user(), SWEEP)
    assert [entry.subject for entry in host.journal] == ["vipw --quiet"]
    (remark,) = writer.remarks
    assert remark == (
        f"The group {NAME} is still there, and nothing tells whether it was that of the account: declare "
        f"'group:{NAME}' with 'absent: true', or leave it."
    )


def test_who_is_there_is_not_asked_for() -> None:
    """The files of subordinate ids are read where somebody is missing only."""
    host = host_with(*LEFT, passwd=f"root:x:0:0::/:/bin/sh\n{NAME}:x:1500:0::/:/bin/sh\n")
    assert isinstance(see(USER, host), Present)
    assert not {"/etc/subuid", "/etc/subgid"} & {subject for _, subject in host.calls}


def test_where_a_home_could_be_taken_away_is_known_before_it_is_made() -> None:
    host = host_with(passwd="root:x:0:0::/:/bin/sh\ncarol:x:1000:1000::/:/bin/sh\n")
    host.add("/srv", FakeFile(FileKind.DIRECTORY, "0755", 1000, 1000))
    host.add_directory("/srv/x")
    (folder,) = see(USER, host, home="/srv/home").unsafe
    assert folder.path == "/srv"
    assert not see(USER, host, home="/srv/home", create_home=False).unsafe
    assert not see(USER, host, home="/srv/home", uid=1000).unsafe
    assert not see(USER, host, home="/srv/x").unsafe
