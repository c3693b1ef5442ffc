"""Process 1 of a test host: mounts what a Debian expects, enters its root, becomes its init.

Runs in a forked child of the keeper and only there. It is safe towards the machine outside, but no
security boundary: the root user of a host keeps CAP_SYS_ADMIN.
"""

import os
import signal
import socket
import stat
from pathlib import Path
from typing import Final, NoReturn

from tests.harness.linux import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNS,
    CLONE_NEWUTS,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    MS_REMOUNT,
    NOTHING_SPECIAL,
    bind,
    die_with_parent,
    drop_from_bounding_set,
    mount,
    pivot_into_working_directory,
    unshare,
)
from tests.harness.spec import DROPPED, ENVIRONMENT, Spec

# Kernel-wide settings belong to the machine outside; these the kernel keeps per namespace.
OWN_SETTINGS: Final = (
    "net",
    "fs/mqueue",
    "kernel/domainname",
    "kernel/hostname",
    "kernel/msgmax",
    "kernel/msgmnb",
    "kernel/msgmni",
    "kernel/sem",
    "kernel/shmall",
    "kernel/shmmax",
    "kernel/shmmni",
)
DEVICES: Final = (
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
)
DEVICE_LINKS: Final = (
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "fd/0"),
    ("stdout", "fd/1"),
    ("stderr", "fd/2"),
)
IDLE: Final = ("/bin/sh", "-c", "sleep infinity & wait")  # sh waits for, and so reaps, any orphan
SYSTEMD: Final = ("/lib/systemd/systemd",)


def become_init(spec: Spec, root: str) -> NoReturn:
    """Turn this process, the first of a new pid namespace, into the init of the host at ``root``.

    Raises:
        OSError: something could not be set up; the caller reports it and ends the process.
    """
    die_with_parent(signal.SIGKILL)
    if spec.cgroup:
        # "0" is the writer; done before the new cgroup namespace, whose root this becomes
        Path(spec.cgroup, "host", "cgroup.procs").write_text("0")
    unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | (CLONE_NEWCGROUP if spec.cgroup else 0))
    os.chdir(root)
    _mount_kernel_file_systems(spec)
    _protect_kernel_settings()
    _make_devices()
    for item in spec.binds:
        bind(item.source, item.target.lstrip("/"), read_only=item.read_only)
    socket.sethostname(spec.name)
    pivot_into_working_directory()
    for capability in DROPPED.values():
        drop_from_bounding_set(capability)
    os.umask(0o022)
    argv = SYSTEMD if spec.cgroup else IDLE
    kept = {name: ENVIRONMENT[name] for name in ("LANG", "PATH")}
    os.execve(argv[0], argv, {**kept, "container": "other", "TERM": "dumb"})


def _mount_kernel_file_systems(spec: Spec) -> None:
    mount("proc", "proc", "proc", flags=NOTHING_SPECIAL)
    mount("sysfs", "sys", "sysfs", flags=NOTHING_SPECIAL | MS_RDONLY)
    mount("tmpfs", "dev", "tmpfs", flags=MS_NOSUID, data="mode=755")
    if spec.cgroup:
        mount("cgroup2", "sys/fs/cgroup", "cgroup2", flags=NOTHING_SPECIAL)
        mount("tmpfs", "run", "tmpfs", flags=MS_NOSUID | MS_NODEV, data="mode=755")


def _protect_kernel_settings() -> None:
    bind("proc/sys", "proc/sys")
    for name in OWN_SETTINGS:
        path = Path("proc/sys", name)
        if path.exists():
            bind(str(path), str(path))
    mount("", "proc/sys", flags=MS_REMOUNT | MS_BIND | MS_RDONLY | NOTHING_SPECIAL)
    # each boot has an id of its own, as journald and whoever asks for reboots expect
    Path("dev/boot_id").write_text(Path("/proc/sys/kernel/random/uuid").read_text())
    bind("dev/boot_id", "proc/sys/kernel/random/boot_id")
    Path("dev/boot_id").unlink()
    for name in ("sysrq-trigger", "irq", "bus", "fs"):
        if Path("proc", name).exists():
            bind(f"proc/{name}", f"proc/{name}", read_only=True, flags=NOTHING_SPECIAL)


def _make_devices() -> None:
    os.umask(0)
    for name, major, minor in DEVICES:
        os.mknod(f"dev/{name}", 0o666 | stat.S_IFCHR, os.makedev(major, minor))
    os.umask(0o022)
    Path("dev/pts").mkdir()
    Path("dev/shm").mkdir()
    options = "newinstance,gid=5,mode=620,ptmxmode=666"
    mount("devpts", "dev/pts", "devpts", flags=MS_NOSUID | MS_NOEXEC, data=options)
    mount("tmpfs", "dev/shm", "tmpfs", flags=MS_NOSUID | MS_NODEV, data="mode=1777")
    for name, to in DEVICE_LINKS:
        Path("dev", name).symlink_to(to)
