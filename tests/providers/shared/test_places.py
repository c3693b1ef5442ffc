"""What a path says of removal and of ways in."""

import pytest

from datum.provider.contract import Removal
from datum_providers.shared.places import guards_access, guards_access_as_directory, is_drop_in, removal_of


@pytest.mark.parametrize(
    "path",
    [
        "/etc/sudoers.d/deploy",
        "/etc/systemd/system/app.service",
        "/etc/systemd/system/app.service.d/10-limits.conf",
        "/etc/systemd/user/app.service",
        "/etc/cron.d/app",
        "/etc/cron.daily/app",
        "/etc/apt/sources.list.d/app.sources",
        "/etc/apt/keyrings/app.gpg",
        "/usr/share/keyrings/app.gpg",
        "/etc/modprobe.d/app.conf",
        "/etc/nginx/sites-enabled/app",
        "/usr/local/share/ca-certificates/app.crt",
        "/opt/app/conf.d/x",
    ],
)
def test_files_in_drop_in_directories_are_removed(path: str) -> None:
    assert removal_of(path) is Removal.DELETE


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/etc/shadow",
        "/etc/group",
        "/etc/gshadow",
        "/etc/subuid",
        "/etc/hosts",
        "/etc/fstab",
        "/etc/nsswitch.conf",
        "/etc/resolv.conf",
        "/etc/ssh/sshd_config",
        "/etc/ssh/sshd_config.d/10-keys.conf",
        "/root/.ssh/authorized_keys",
        "/home/app/.ssh/config",
        "/etc/pam.d/sshd",
        "/etc/security/limits.d/app.conf",
        "/boot/grub/grub.cfg",
        "/etc/datum/agent.yaml",
        "/etc/systemd/system/datum.timer",
        "/etc/systemd/system/datum.service.d/10-nice.conf",
        "/var/lib/datum/pointer.json",
        "/etc/systemd/system/timers.target.wants/datum.timer",
        "/etc/systemd/system/multi-user.target.wants/datum.service",
        "/var/run",
        "/bin",
    ],
)
def test_a_few_are_never_removed_by_dropping(path: str) -> None:
    assert removal_of(path) is Removal.NEVER


@pytest.mark.parametrize(
    "path",
    ["/etc/motd", "/etc/hosts.equiv", "/etc/passwd-", "/srv/app/x", "/etc/foo.d", "/motd", "/etc/cron.d/sub/x"],
)
def test_everything_else_is_kept(path: str) -> None:
    assert removal_of(path) is Removal.KEEP


@pytest.mark.parametrize(
    "path",
    [
        "/etc/ssh/sshd_config",
        "/etc/ssh/sshd_config.d/x.conf",
        "/etc/ssh/ssh_host_ed25519_key",
        "/home/app/.ssh/authorized_keys",
        "/etc/sudoers",
        "/etc/sudoers.d/x",
        "/etc/pam.d/sshd",
        "/etc/nsswitch.conf",
        "/etc/network/interfaces",
        "/etc/netplan/01.yaml",
        "/etc/systemd/network/10-lan.network",
        "/etc/nftables.conf",
        "/etc/passwd",
        "/etc/datum/agent.yaml",
        "/etc/systemd/system/datum.service",
    ],
)
def test_ways_in_are_guarded(path: str) -> None:
    assert guards_access(path)


@pytest.mark.parametrize(
    "path",
    ["/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d/x", "/etc/ssh/ssh_known_hosts", "/etc/motd", "/etc/sudoers.dist"],
)
def test_other_files_guard_nothing(path: str) -> None:
    assert not guards_access(path)


@pytest.mark.parametrize("path", ["/srv/app/x", "/etc/motd", "/etc/systemd/system.conf"])
def test_what_an_exclusive_directory_loses_is_removed(path: str) -> None:
    assert removal_of(path, is_in_exclusive=True) is Removal.DELETE


@pytest.mark.parametrize("path", ["/etc/passwd", "/root/.ssh/authorized_keys", "/etc/datum/agent.yaml", "/lib"])
def test_the_few_are_not_removed_by_an_exclusive_directory_either(path: str) -> None:
    assert removal_of(path, is_in_exclusive=True) is Removal.NEVER


@pytest.mark.parametrize("path", ["/", "/etc", "/etc/ssh", "/etc/sudoers.d", "/home/app/.ssh"])
def test_directories_above_ways_in_are_guarded(path: str) -> None:
    assert guards_access_as_directory(path)


@pytest.mark.parametrize("path", ["/srv", "/etc/apt", "/etc/ssh/ssh_config.d", "/home/app"])
def test_other_directories_guard_nothing(path: str) -> None:
    assert not guards_access_as_directory(path)


@pytest.mark.parametrize(
    ("folder", "is_one"),
    [("/etc/cron.d", True), ("/root/.ssh", True), ("/etc/cron.daily", True), ("/etc", False), ("/etc/ssh", False)],
)
def test_some_directories_are_there_to_be_dropped_into(folder: str, is_one: bool) -> None:
    assert is_drop_in(folder) is is_one
