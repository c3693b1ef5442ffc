"""What the type says of targets, edges, effects, hazards, removal and adoption, and how its tools fail."""

from typing import Any, Final

import pytest

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Cause, Present, Unobservable
from datum.model.plan import Change, Effect, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import DesiredError, ImplicitEdge, OrderedProvider, Removal, Stage
from datum.provider.host import CommandOutcome, HostError
from datum.testing.host import FakeHost
from datum_providers.user.provider import UserProvider
from tests.providers.index import Index
from tests.providers.shadow_tools import GROUP, PASSWD, add_shadow_tools

PROVIDER = UserProvider()
CREATION = Step(Operation.CREATE, (Change("name", None, "deploy"),))


def wanted(**attributes: Any) -> Any:
    return PROVIDER.parse("deploy", attributes)


def index(**holders: str) -> Index:
    found = {}
    for kind_key, origin in holders.items():
        kind, _, key = kind_key.partition("__")
        found[Target(kind, key.replace("_", "/") if kind in {"mount", "path"} else key)] = ResourceId.parse(origin)
    return Index(found)


def test_accounts_go_before_packages() -> None:
    assert isinstance(PROVIDER, OrderedProvider)
    assert PROVIDER.order_stage is Stage.ACCOUNTS


def test_who_says_memberships_is_told_by_targets() -> None:
    assert PROVIDER.targets(wanted()) == (Target("user", "deploy"),)
    targets = PROVIDER.targets(wanted(uid=5, groups=("a",), groups_mode="exact", home="/srv/x"))
    assert {str(target): target.shared for target in targets} == {
        "user deploy": False,
        "uid 5": False,
        "members a": True,
        "memberships deploy": False,
        "home deploy /srv/x": False,
    }


def test_groups_come_first_and_what_the_home_lies_on() -> None:
    found = PROVIDER.edges(
        wanted(group="web", groups=("ops", "mail"), home="/srv/x/y"),
        index(group__web="group:web", group__ops="group:ops", mount___srv="mount:/srv", path___srv="directory:/srv"),
    )
    assert found == (
        ImplicitEdge(ResourceId("group", "web"), "primary group"),
        ImplicitEdge(ResourceId("group", "ops"), "group"),
        ImplicitEdge(ResourceId("mount", "/srv"), "mount of the home"),
        ImplicitEdge(ResourceId("directory", "/srv"), "directory of the home", DependencyKind.AFTER, soft=True),
    )


def test_a_group_of_the_same_name_or_number_is_the_primary_one() -> None:
    found = PROVIDER.edges(wanted(), index(group__deploy="group:deploy"))
    assert found == (ImplicitEdge(ResourceId("group", "deploy"), "primary group"),)
    assert PROVIDER.edges(wanted(group=5), index(gid__5="group:x")) == (
        ImplicitEdge(ResourceId("group", "x"), "primary group"),
    )


def test_a_number_that_is_given_goes_before_one_that_is_chosen() -> None:
    """Else useradd may choose the very number that another declaration gives."""
    (edge,) = PROVIDER.edges(wanted(), index(uid__5="user:five"))
    assert (edge.target, edge.kind, edge.soft) == (ResourceId("user", "five"), DependencyKind.AFTER, True)
    assert PROVIDER.edges(wanted(uid=6), index(uid__5="user:five")) == ()


@pytest.mark.parametrize(
    ("holders", "line", "runs"),
    [
        ({"group__deploy": "group:deploy"}, "deploy:x:1000:", ["usermod --gid 33 --home /nonexistent deploy"]),
        ({"group__deploy": "group:deploy"}, "deploy:x:4000:", []),
        ({"group__mail": "group:mail"}, "deploy:x:1000:", []),
    ],
)
def test_the_group_of_its_name_goes_with_it_unless_it_is_declared(
    holders: dict[str, str], line: str, runs: list[str]
) -> None:
    host = FakeHost()
    host.add_directory("/proc")
    add_shadow_tools(host, passwd=f"{PASSWD}deploy:x:1000:1000::/home/deploy:/bin/sh\n", group=f"{GROUP}{line}\n")
    desired = PROVIDER.relate(wanted(), index(**holders))
    PROVIDER.apply(host.writer(), desired, Step(Operation.DELETE, (Change("name", "deploy", None),)))
    assert [entry.subject for entry in host.journal] == [*runs, "userdel deploy"]
    stays = "mail" not in "".join(holders)
    assert (f"\n{line}\n" in host.files["/etc/group"].data.decode()) is stays


def test_what_is_made() -> None:
    assert PROVIDER.effects(wanted(), CREATION) == (
        Effect(Target("user", "deploy")),
        Effect(Target("group", "deploy")),
        Effect(Target("path", "/home/deploy")),
    )
    assert PROVIDER.effects(wanted(group="web", uid=5, create_home=False), CREATION) == (
        Effect(Target("user", "deploy")),
        Effect(Target("uid", "5")),
    )
    assert PROVIDER.effects(wanted(), Step(Operation.UPDATE, (Change("shell", "a", "b"),))) == ()


@pytest.mark.parametrize(
    ("name", "change", "hazards"),
    [
        ("deploy", Change("locked", before=False, after=True), set()),
        ("root", Change("password", "a", "b"), {Hazard.ACCESS_LOSS}),
        ("root", Change("shell", "/bin/sh", "/bin/false"), {Hazard.ACCESS_LOSS}),
        ("root", Change("comment", "a", "b"), set()),
        ("deploy", Change("groups", ("a", "sudo"), ("a",)), {Hazard.ACCESS_LOSS}),
        ("deploy", Change("groups", ("a", "sudo"), ("b", "sudo")), set()),
        ("deploy", Change("group", "wheel", "users"), {Hazard.ACCESS_LOSS}),
    ],
)
def test_what_a_change_costs(name: str, change: Change, hazards: set[Hazard]) -> None:
    assert PROVIDER.hazards(PROVIDER.parse(name, {}), Step(Operation.UPDATE, (change,))) == hazards


def test_accounts_are_never_removed_by_dropping() -> None:
    assert PROVIDER.removal(wanted()) is Removal.NEVER


def test_what_is_there_is_adopted_but_for_the_password() -> None:
    seen = Present(
        {
            "name": "deploy",
            "uid": 5,
            "group": "a",
            "groups": ("b",),
            "comment": "bytes:e9",
            "home": "/srv/x",
            "shell": "",
            "locked": False,
            "expires": "never",
        }
    )
    assert PROVIDER.adopt("deploy", seen) == {
        "uid": 5,
        "group": "a",
        "groups": ("b",),
        "home": "/srv/x",
        "locked": False,
    }
    with pytest.raises(DesiredError, match="own files") as caught:
        PROVIDER.adopt("ldap", Present({"foreign": True}))
    assert caught.value.code == "cannot-be-adopted"


def failing(outcome: CommandOutcome) -> FakeHost:
    host = FakeHost()
    add_shadow_tools(host, passwd="deploy:x:1000:0::/home/deploy:/bin/sh\n")
    for tool in ("usermod", "chpasswd"):
        host.add_program(tool, lambda _world, _command: outcome)
    return host


def fail(host: FakeHost, *changes: Change, **attributes: Any) -> HostError:
    with pytest.raises(HostError) as caught:
        PROVIDER.apply(host.writer(), wanted(**attributes), Step(Operation.UPDATE, changes))
    return caught.value


SHELL = Change("shell", "/bin/sh", "/bin/bash")


def test_a_lock_of_somebody_else_is_busy_and_is_named() -> None:
    outcome = CommandOutcome(1, b"", b"usermod: cannot lock /etc/passwd; try again later.\n")
    host = failing(outcome)
    error = fail(host, SHELL, shell="/bin/bash")
    assert (error.failure, error.diagnostics[0].code) == (FailureCause.BUSY, "accounts-locked")
    assert "/etc/.pwd.lock is held by another program" in error.detail
    host.add_file("/etc/passwd.lock", b"4711\0")
    assert "/etc/passwd.lock is held by process 4711" in fail(host, SHELL, shell="/bin/bash").detail
    host.add_file("/etc/passwd.lock", b"")
    assert "/etc/passwd.lock is held by another program" in fail(host, SHELL, shell="/bin/bash").detail
    host.fail(HostError("It cannot be looked at."), subject="/etc/passwd.lock")
    assert "is held by another program" in fail(host, SHELL, shell="/bin/bash").detail


# What usermod says before `cannot lock /etc/passwd`, what opening the first lock says, and what follows.
LOCKS: Final = (
    ("usermod: lock /etc/passwd.lock already used by PID 5\n", "", FailureCause.BUSY),
    ("usermod: existing lock file /etc/passwd.lock without a PID\n", "sh: 1: read-only\n", FailureCause.BUSY),
    ("usermod: Warning: missing or non-executable shell '/x'\n", "", FailureCause.BUSY),
    ("usermod: /etc/passwd.52 file write error: No space left on device\n", "", FailureCause.NO_SPACE),
    ("usermod: /etc/passwd.lock: No such file or directory\n", "", FailureCause.OTHER),
    ("", "sh: 1: cannot create /etc/.pwd.lock: Read-only file system\n", FailureCause.READ_ONLY),
    ("", "sh: 1: cannot create /etc/.pwd.lock: Disk quota exceeded\n", FailureCause.NO_SPACE),
)


@pytest.mark.parametrize(("said", "opening", "failure"), LOCKS)
def test_a_lock_that_cannot_be_made_is_held_by_nobody(said: str, opening: str, failure: FailureCause) -> None:
    """A full or read-only disk was told as another program that holds the lock, which ends by waiting."""
    host = failing(CommandOutcome(1, b"", f"{said}usermod: cannot lock /etc/passwd; try again later.\n".encode()))
    host.add_program("sh", lambda _world, _command: CommandOutcome(bool(opening), b"", opening.encode()))
    error = fail(host, SHELL, shell="/bin/bash")
    is_held = failure is FailureCause.BUSY
    assert error.failure is failure
    assert error.diagnostics[0].code == ("accounts-locked" if is_held else "accounts-unwritable")
    assert is_held or (said or opening).strip() in error.detail


def test_an_account_that_is_in_use_after_all_is_busy() -> None:
    """It has processes of a subordinate uid, or started one since the plan was made."""
    error = fail(
        failing(CommandOutcome(8, b"", b"usermod: user deploy is currently used by process 5")),
        SHELL,
        shell="/bin/bash",
    )
    assert (error.failure, error.diagnostics[0].code) == (FailureCause.BUSY, "account-busy")
    assert "process 5" in error.detail


def test_other_failures_say_what_the_tool_wrote() -> None:
    error = fail(failing(CommandOutcome(3, b"on stdout", b"")), SHELL, shell="/bin/bash")
    assert error.diagnostics[0].code == "program-failed"
    assert "usermod --shell /bin/bash deploy ended with exit code 3. It wrote: on stdout" in error.detail


def test_a_password_that_cannot_be_read_is_not_written() -> None:
    host = failing(CommandOutcome(0, b"", b""))
    host.files["/etc/shadow"].data = b"deploy:broken\n"
    error = fail(host, Change("password", "a", "b"), password="*")
    assert "/etc/shadow cannot be read for 'deploy'" in error.detail
    host.files["/etc/passwd"].data = b"root:x:0:0::/:/bin/sh\n"
    assert "no such account" in fail(host, Change("password", "a", "b"), password="*").detail


def test_files_are_read_once_for_all_and_no_program_runs() -> None:
    host = FakeHost()
    add_shadow_tools(host)
    desired = {f"u{number}": PROVIDER.parse(f"u{number}", {"uid": number}) for number in range(100, 200)}
    found = PROVIDER.observe(host.reader(), {**desired, "root": PROVIDER.parse("root", {"uid": 0})})
    assert all(isinstance(found[name], Absent) for name in desired)
    read = [subject for method, subject in host.calls if method == "read_file"]
    assert read == ["/etc/passwd", "/etc/group", "/etc/shadow"]
    assert "query" not in {method for method, _ in host.calls}


def test_without_passwd_nobody_can_be_looked_at() -> None:
    host = FakeHost()
    add_shadow_tools(host)
    host.fail(HostError("Input/output error."), subject="/etc/passwd")
    found = PROVIDER.observe(host.reader(), {"a": PROVIDER.parse("a", {}), "b": PROVIDER.parse("b", {})})
    assert all(isinstance(one, Unobservable) and one.scope == "host" for one in found.values())


def test_a_sick_disk_is_told_in_the_words_of_the_system() -> None:
    host = FakeHost()
    add_shadow_tools(host)
    host.fail(HostError("EIO", cause=Cause.IO), method="read_file")
    seen = PROVIDER.observe(host.reader(), {"a": PROVIDER.parse("a", {})})["a"]
    assert isinstance(seen, Unobservable)
    assert (seen.cause, seen.scope, seen.detail) == (Cause.IO, "host", "EIO")


def in_use(*pids: int, **how: Any) -> FakeHost:
    host = FakeHost(**how)
    add_shadow_tools(host, passwd="deploy:x:1000:0::/home/deploy:/bin/sh\n", shadow="deploy:!:19000::::::\n")
    host.add_directory("/proc")
    for pid in pids:
        host.add_file(f"/proc/{pid}/status", b"Uid:\t1000\t1000\t1000\t1000\n")
    return host


UID = Change("uid", 1000, 5)
DELETION = Step(Operation.DELETE, (Change("name", "deploy", None),))


@pytest.mark.parametrize(
    ("change", "said"), [(UID, {"uid": 5}), (Change("home", "/home/deploy", "/x"), {"home": "/x"})]
)
def test_what_uses_an_account_is_looked_for_at_its_turn(change: Change, said: dict[str, Any]) -> None:
    """A service that was stopped earlier in the pass uses it no more."""
    host = in_use(7)
    desired = wanted(**said)
    seen = PROVIDER.observe(host.reader(), {"deploy": desired})["deploy"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(desired, seen)
    assert step is not None
    assert (step.changes, step.needs) == ((change,), ())
    error = fail(host, change, **said)
    assert (error.failure, error.diagnostics[0].code) == (FailureCause.BUSY, "account-busy")
    assert "deploy has running processes (7)" in error.detail
    assert not host.journal
    del host.world.files["/proc/7/status"]
    PROVIDER.apply(host.writer(), desired, step)
    assert [entry.method for entry in host.journal] == ["run"]


def test_other_fields_of_an_account_in_use_are_changed() -> None:
    host = in_use(7)
    PROVIDER.apply(host.writer(), wanted(shell="/bin/bash"), Step(Operation.UPDATE, (SHELL,)))
    assert [entry.subject for entry in host.journal] == ["usermod --shell /bin/bash deploy"]


def test_what_lasts_as_long_as_the_host_is_not_waited_for() -> None:
    assert fail(in_use(1, 7), UID, uid=5).failure is FailureCause.IMPOSSIBLE


def test_a_process_that_cannot_be_looked_at_may_be_one() -> None:
    host = in_use(7)
    host.fail(HostError("It fails."), method="read_file", subject="/proc/7/status")
    assert fail(host, UID, uid=5).detail == "It fails."
    with pytest.raises(HostError, match="It fails"):
        PROVIDER.apply(host.writer(), wanted(), DELETION)
    assert not host.journal


def test_processes_that_end_meanwhile_are_none() -> None:
    host = in_use()
    host.add_directory("/proc/7")
    host.add_file("/proc/8/status", b"no ids\n")
    PROVIDER.apply(host.writer(), wanted(uid=5), Step(Operation.UPDATE, (UID,)))
    assert host.journal


def test_below_another_root_nothing_runs() -> None:
    host = in_use(7, is_running_system=False)
    PROVIDER.apply(host.writer(), wanted(uid=5), Step(Operation.UPDATE, (UID,)))
    PROVIDER.apply(host.writer(), wanted(), DELETION)
    assert "deploy:" not in host.files["/etc/passwd"].data.decode()
