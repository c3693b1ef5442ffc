"""Of whose directories and groups sshd takes keys, as Debian's sshd has it."""

import pytest

from datum.model.observation import FieldValue
from datum.testing.host import FakeHost
from datum_providers.authorized_key.strict import Strict
from datum_providers.shared.account_files import AccountFiles, parse_group, parse_passwd

PASSWD = b"root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\nyou:x:1001:1001::/home/you:/bin/sh\n"
FILE = "/home/me/.ssh/authorized_keys"
OPEN = {"sshd_refuses": {"/home/me": "can be written by others than its owner"}}


def seen(mode: str, *, gid: int = 1000, uid: int = 1000, passwd: str = "", group: str = "") -> dict[str, FieldValue]:
    """Return what is refused of a home."""
    accounts = AccountFiles(parse_passwd(PASSWD + passwd.encode()), parse_group(group.encode()), None)
    host = FakeHost()
    host.add_directory("/home/me", mode=mode, uid=uid, gid=gid)
    host.add_directory("/home/me/.ssh", mode="0700", uid=1000)
    return Strict(accounts, accounts.users["me"], "/home/me").refused(host.reader(), FILE, None)


@pytest.mark.parametrize("mode", ["0755", "0700", "1775", "0770"])
def test_rights_of_a_group_of_the_user_alone_are_taken(mode: str) -> None:
    assert seen(mode) == {}
    assert seen(mode, group="me:x:1000:me\n") == {}
    assert seen(mode, gid=5, group="other:x:5:me\n") == {}


@pytest.mark.parametrize("mode", ["0757", "0702", "1777"])
def test_rights_of_anybody_are_not(mode: str) -> None:
    assert seen(mode) == OPEN


@pytest.mark.parametrize(
    ("gid", "passwd", "group"),
    [
        (1000, "", "me:x:1000:you\n"),
        (1000, "", "me:x:1000:me,you\n"),
        (1000, "too:x:1002:1000::/:/bin/sh\n", ""),
        (5, "", "other:x:5:you\n"),
        (5, "", "other:x:5:\n"),
        (5, "", ""),
    ],
)
def test_rights_of_a_group_of_others_or_of_nobody_are_not(gid: int, passwd: str, group: str) -> None:
    assert seen("0775", gid=gid, passwd=passwd, group=group) == OPEN
    assert seen("0755", gid=gid, passwd=passwd, group=group) == {}


def test_what_is_neither_roots_nor_the_users_is_refused() -> None:
    assert seen("0700", uid=0) == {}
    assert seen("0700", uid=1001) == {"sshd_refuses": {"/home/me": "belongs to user 1001"}}
