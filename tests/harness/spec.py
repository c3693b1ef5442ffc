"""What a test host is to be, as values that the keeper and process 1 both read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import field, frozen

ENVIRONMENT: Final = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LOGNAME": "root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SHELL": "/bin/bash",
    "USER": "root",
}
# What could reach past a host is taken from it for good, by name and number.
DROPPED: Final = {
    "sys_module": 16,
    "sys_rawio": 17,
    "sys_time": 25,
    "mac_override": 32,
    "mac_admin": 33,
    "syslog": 34,
    "wake_alarm": 35,
    "block_suspend": 36,
    "perfmon": 38,
    "bpf": 39,
    "checkpoint_restore": 40,
}


@frozen
class Bind:
    """A file or folder of this machine, shown in the host at ``target``."""

    source: str
    target: str  # absolute, without links in it
    read_only: bool = True


@frozen
class Spec:
    """One host; the keeper makes it real."""

    image: Path  # the lower layer, never written to
    mount_point: Path  # an empty folder, covered in the keeper's own mount namespace only
    name: str
    size: str  # limit of the disk that holds what the host changes, as truncate(1) takes it
    binds: tuple[Bind, ...]
    lossy: bool  # the disk is an ext4, which a power cut robs of what was not synced
    cgroup: str  # a folder of the cgroup2 hierarchy for a host with systemd; empty: no systemd
    places: Mapping[str, str] = field(factory=dict)  # the addresses of the names of its network
