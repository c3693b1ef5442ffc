"""What a running system has beside files, in memory: programs that are played, scopes, kernel keys, mounts."""

import errno

import pytest

from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, FileFacts, HostError
from datum.provider.manager import MountEntry
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile, FakeWorld, JournalEntry

KEY = "/proc/sys/net/ipv4/ip_forward"


def code_of(error: HostError) -> str:
    return error.diagnostics[0].code


def test_a_program_is_played_with_whatever_arguments() -> None:
    host = FakeHost()

    def useradd(world: FakeWorld, command: Command) -> CommandOutcome:
        if command.argv[-1] in world.users:
            return CommandOutcome(9, b"", b"exists")
        world.users[command.argv[-1]] = 1000
        world.add(f"/home/{command.argv[-1]}/.profile", FakeFile(data=command.stdin))
        return CommandOutcome(0, b"", b"")

    host.add_program("useradd", useradd)
    host.add_query("id", lambda world, command: CommandOutcome(0, str(world.users[command.argv[1]]).encode(), b""))
    host.run(Command(("/usr/sbin/useradd", "--create-home", "app"), 1, stdin=b"x"))
    assert host.query(Command(("id", "app"), 1)).stdout == b"1000"
    assert host.files["/home/app/.profile"].data == b"x"
    with pytest.raises(HostError, match="exit code 9: exists"):
        host.run(Command(("useradd", "app"), 1))
    with pytest.raises(HostError, match="knows no query"):
        host.query(Command(("useradd", "app"), 1))
    host.add_program(("useradd", "other"), lambda _world: CommandOutcome(0, b"whole", b""))
    assert host.run(Command(("useradd", "other"), 1)).stdout == b"whole"


def test_a_scope_is_remembered_and_waited_for() -> None:
    host = FakeHost()
    host.add_program("apt-get", lambda _world, _command: CommandOutcome(0, b"", b""))
    command = Command(("apt-get", "install"), 1, scope="datum-apt")
    host.run(command)
    assert host.journal == [JournalEntry("run", "apt-get install", scope="datum-apt")]
    assert host.await_scope("datum-apt", 1)
    host.add_scope("datum-apt", lambda world: world.users.update(app=7))
    with pytest.raises(HostError) as caught:
        host.run(command)
    assert (code_of(caught.value), caught.value.failure) == ("scope-in-use", FailureCause.BUSY)
    assert host.await_scope("datum-apt", 1)
    assert host.world.users["app"] == 7
    host.run(command)
    host.add_scope("datum-apt")
    assert not host.await_scope("datum-apt", 1)


def test_a_kernel_key_is_read_and_set() -> None:
    host = FakeHost()
    host.add_kernel_value(KEY, b"0\n")
    host.set_kernel_value(KEY, b"1")
    assert host.kernel_value(KEY) == b"1\n"
    assert host.journal == [JournalEntry("set_kernel_value", KEY, value=b"1")]
    assert host.kernel_value("/proc/sys/net/none") is None


@pytest.mark.parametrize("path", ["/etc/passwd", "net/ipv4/ip_forward", "/proc/sys/../kcore", "/proc/sys"])
def test_only_kernel_keys_have_values(path: str) -> None:
    host = FakeHost()
    for call in (host.kernel_value, lambda bad: host.set_kernel_value(bad, b"1")):
        with pytest.raises(HostError) as caught:
            call(path)
        assert code_of(caught.value) == "bad-path"


def test_a_kernel_key_refuses_what_it_was_told_to_refuse() -> None:
    host = FakeHost()
    host.add_kernel_value(KEY, b"0\n", writes=lambda value: errno.EINVAL if value == b"x" else b"9\n")
    with pytest.raises(HostError, match="refused 'x' for 'net/ipv4/ip_forward': Invalid argument"):
        host.set_kernel_value(KEY, b"x")
    host.set_kernel_value(KEY, b"99")
    assert host.kernel_value(KEY) == b"9\n"
    host.add_kernel_value(KEY, b"0\n", is_read_only=True)
    with pytest.raises(HostError, match="Read-only file system"):
        host.set_kernel_value(KEY, b"1")
    host.add_kernel_value(KEY, b"", is_write_only=True)
    with pytest.raises(HostError) as caught:
        host.kernel_value(KEY)
    assert caught.value.cause is Cause.DENIED
    with pytest.raises(HostError, match="has no key 'net/none'"):
        host.set_kernel_value("/proc/sys/net/none", b"1")
    with pytest.raises(HostError) as caught:
        host.staging().set_kernel_value(KEY, b"1")
    assert code_of(caught.value) == "cannot-be-staged"


def test_another_root_has_neither_kernel_nor_mounts() -> None:
    host = FakeHost(is_running_system=False)
    host.add_kernel_value(KEY, b"0\n")
    host.add_mount(MountEntry("/srv", "ext4", "/dev/sdb"))
    assert (host.kernel_value(KEY), host.mount_entries()) == (None, ())
    with pytest.raises(HostError, match="not that of the running system"):
        host.set_kernel_value(KEY, b"1")


def test_what_is_mounted_is_listed_and_is_a_mount_point() -> None:
    host = FakeHost()
    first, second = MountEntry("/srv", "ext4", "/dev/sdb"), MountEntry("/srv", "tmpfs", "tmpfs")
    host.add_mount(first)
    host.add_mount(second)
    assert host.mount_entries() == (first, second)
    found = host.examine("/srv")
    assert isinstance(found, FileFacts)
    assert found.is_mount_point
    assert host.below("/", limit=99).mounts == ("/srv",)
    assert host.below("/srv", limit=99).mounts == ("/srv",)
    with pytest.raises(HostError):
        host.remove_directory("/srv")
