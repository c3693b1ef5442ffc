"""Users and groups of a root."""

import grp
import os
import pwd

import pytest

from datum.host.names import Account, NameTable, parse_group, parse_passwd
from datum.model.observation import Cause
from datum.provider.host import HostError

PASSWD = b"root:x:0:0:root:/root:/bin/bash\nweb:x:33:44::/var/www:/bin/sh\nweb:x:99:99::/:/bin/sh\nalias:x:33:1::/:\n"
GROUP = b"root:x:0:\nwww:x:44:alice,bob\nother:x:44:\nwww:x:45:\n"


def table(passwd: bytes | None = PASSWD, group: bytes | None = GROUP, *, asks_nss: bool = False) -> NameTable:
    return NameTable.read({"/etc/passwd": passwd, "/etc/group": group}.get, asks_nss=asks_nss)


def test_first_line_of_a_name_or_number_counts() -> None:
    found = table()
    assert found.user_id("web") == 33
    assert found.user_name(33) == "web"
    assert found.primary_group(33) == 44
    assert found.group_id("www") == 44
    assert found.group_name(44) == "www"


def test_unknown_names_are_none_and_unknown_numbers_are_digits() -> None:
    found = table(None, None)
    assert found.user_id("web") is None
    assert found.group_id("www") is None
    assert found.user_name(7) == "7"
    assert found.group_name(7) == "7"
    assert found.primary_group(7) is None


def test_what_is_no_account_is_passed_over() -> None:
    data = (
        b"+nis::::::\n-no:x:1:1::/:\n# x\nshort:x:1\nbad:x:one:1::/:\nbad2:x:1:one::/:\n:x:1:1::/:\n\nok:x:5:6::/:/x\n"
    )
    assert [account.name for account in parse_passwd(data)] == ["ok"]
    assert parse_group(b"bad:x:one:\nok:x:5:\nshort\n") == [("ok", 5)]


def test_names_that_are_no_utf8_survive() -> None:
    assert table(b"caf\xe9:x:5:6::/:/x\n").user_id("caf\udce9") == 5


def test_account_of_a_name_or_digits_has_its_groups() -> None:
    """Those whose lines list the name, and the primary one; a name that looks like digits is a name."""
    found = table(
        b"web:x:33:44::/var/www:/bin/sh\nbare:x:34:45:::\n33:x:35:46::/:\n",
        b"a:x:7:bob,web\nb:x:8:web,\nbad:x:no:web\n",
    )
    assert found.account("web") == Account("web", 33, 44, "/var/www", (7, 8, 44))
    assert found.account("34") == Account("bare", 34, 45, "/", (45,))
    assert found.account("33") == Account("33", 35, 46, "/", (46,))
    for user in ("gone", "36", "", "-34", "³⁴"):
        assert found.account(user) is None


def test_on_the_running_system_nss_adds_groups_of_one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid, 900] if name == "web" else [])
    assert table(b"web:x:33:44::/:\n", b"", asks_nss=True).account("web") == Account("web", 33, 44, "/", (44, 900))

    def broken(*_: object) -> list[int]:
        raise OSError

    monkeypatch.setattr(os, "getgrouplist", broken)
    assert table(b"web:x:33:44::/:\n", b"", asks_nss=True).account("web") == Account("web", 33, 44, "/", (44,))


def test_running_system_asks_nss_once_for_what_the_files_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def user(key: object) -> pwd.struct_passwd:
        asked.append(key)
        if key == "gone":
            raise KeyError(key)
        return pwd.struct_passwd(("ldap", "x", 5000, 5001, "", "/", "/bin/sh"))

    def group(key: object) -> grp.struct_group:
        asked.append(key)
        return grp.struct_group(("staff", "x", 6000, []))

    monkeypatch.setattr(pwd, "getpwnam", user)
    monkeypatch.setattr(pwd, "getpwuid", user)
    monkeypatch.setattr(grp, "getgrnam", group)
    monkeypatch.setattr(grp, "getgrgid", group)
    found = table(asks_nss=True)
    for _ in range(2):
        assert found.user_id("ldap") == 5000
        assert found.user_id("gone") is None
        assert found.user_id("root") == 0
        assert found.user_name(5000) == "ldap"
        assert found.primary_group(5000) == 5001
        assert found.group_id("staff") == 6000
        assert found.group_name(6000) == "staff"
    assert asked == ["ldap", "gone", 5000, "staff", 6000]


@pytest.mark.parametrize(
    ("cause", "seen"), [(Cause.OTHER, Cause.DATABASE), (Cause.IO, Cause.IO), (Cause.DENIED, Cause.DENIED)]
)
def test_unreadable_accounts_make_the_database_unobservable(cause: Cause, seen: Cause) -> None:
    def fail(_: str) -> bytes:
        raise HostError("It broke.", cause=cause)

    with pytest.raises(HostError) as caught:
        NameTable.read(fail, asks_nss=False)
    assert caught.value.cause is seen
    assert "It broke." in caught.value.detail
