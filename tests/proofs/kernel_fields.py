"""As `running_fields`, for `sysctl`, `hostname`, `timezone` and `mount`."""

from collections.abc import Mapping
from typing import Any, Final

from tests.proofs.fields import Proof

_TTL: Final = "net/ipv4/ip_default_ttl"
_KEEPALIVE: Final = "net/ipv4/tcp_keepalive_time"
_KEPT: Final = f"/etc/sysctl.d/60-datum-{_KEEPALIVE.replace('/', '.')}.conf"
_NAMES: Final = {"static": "web1.example.org", "pretty": 'The "web"'}
_MOUNT: Final = {"source": "tmpfs", "fstype": "tmpfs", "allow": ["outage", "data_loss"]}
_LINE: Final = "grep ' AT ' /etc/fstab"


def _hostname(show: str, shown: str, spoil: str) -> Proof:
    return Proof({"hostname:host": _NAMES}, show, shown, spoil)


def _mount(show: str, shown: str, spoil: str, **about: Any) -> Proof:
    return Proof({"mount:/srv/@NAME@": {**_MOUNT, **about}}, show, shown, spoil)


KERNEL_FIELDS: Final[Mapping[str, Proof]] = {
    "sysctl.value": Proof(
        {f"sysctl:{_TTL}": {"value": 70}}, f"cat /proc/sys/{_TTL}", "70", f"echo 60 > /proc/sys/{_TTL}",
    ),
    "sysctl.read_back": Proof(
        {f"sysctl:{_KEEPALIVE}": {"value": 600, "read_back": {"ignore": "it is tried here"}}},
        f"tail -n 1 {_KEPT}; cat /proc/sys/{_KEEPALIVE}", f"{_KEEPALIVE} = 600 600",
        f"echo > {_KEPT}; echo 700 > /proc/sys/{_KEEPALIVE}",
    ),
    "hostname.static": _hostname(
        "cat /etc/hostname; uname -n", "web1.example.org web1.example.org",
        "echo other > /etc/hostname; hostname other",
    ),
    "hostname.pretty": _hostname(
        "hostnamectl --pretty", 'The "web"', "sed -i /PRETTY/d /etc/machine-info",
    ),
    "timezone.zone": Proof(
        {"timezone:host": {"zone": "Asia/Kolkata"}}, "readlink /etc/localtime; date +%Z",
        "../usr/share/zoneinfo/Asia/Kolkata IST", "cp --remove-destination /usr/share/zoneinfo/Etc/UTC /etc/localtime",
    ),
    "mount.source": _mount(
        f"{_LINE} | cut -d ' ' -f 1", "cache", "sed -i 's,^cache AT,other AT,' /etc/fstab", source="cache",
    ),
    "mount.fstype": _mount("findmnt -n -o FSTYPE AT", "tmpfs", "umount AT; mount -t ramfs x AT"),
    "mount.options": _mount(
        "findmnt -n -o OPTIONS AT | tr , '\\n' | grep -x noexec", "noexec", "mount -o remount,exec AT",
        options=["noexec", "nofail"],
    ),
    "mount.dump": _mount(
        f"{_LINE} | cut -d ' ' -f 5", "1", "sed -i '/proof-mount.dump/s/ 1 0$/ 0 0/' /etc/fstab", dump=1,
    ),
    "mount.pass": _mount(
        f"{_LINE} | cut -d ' ' -f 6", "2", "sed -i '/proof-mount.pass/s/ 0 2$/ 0 0/' /etc/fstab", **{"pass": 2},
    ),
    "mount.mounted": _mount("findmnt -n -o TARGET AT || echo none", "none", "mkdir AT; mount AT", mounted=False),
    "mount.persistent": _mount(
        f"{_LINE} || echo none", "none", "echo 'tmpfs AT tmpfs defaults 0 0' >> /etc/fstab", persistent=False,
    ),
}  # fmt: skip
