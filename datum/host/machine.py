"""What this machine is: the values of `${machine.…}` (design 2.9). Effects: reads only, no program is run.

A name that cannot be read, or not read for sure, is missing; nothing is guessed.
"""

import array
import fcntl
import ipaddress
import os
import re
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from datum.host.mounts import MountTable
from datum.model.json import JsonValue, freeze
from datum.model.observation import Machine
from datum.provider.host import HostError

# Debian's names for what the kernel calls itself; a name that fits two of them is not here.
_ARCHITECTURES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "x86_64": "amd64",
        "i386": "i386",
        "i586": "i386",
        "i686": "i386",
        "aarch64": "arm64",
        "armv7l": "armhf",
        "armv8l": "armhf",
        "loongarch64": "loong64",
        "ppc64le": "ppc64el",
        "ppc64": "ppc64",
        "riscv64": "riscv64",
        "s390x": "s390x",
    }
)

_SIOCGIFCONF: Final = 0x8912
# `struct ifreq`: a name of 16 bytes, then a union whose widest member holds pointers.
_IFREQ: Final = 16 + (24 if struct.calcsize("P") > 4 else 16)  # noqa: PLR2004 - bytes of a 32-bit pointer
_IFREQ_ADDRESS: Final = slice(20, 24)
_ROUTE_UP: Final = 0x0001
_ROUTE_REJECT: Final = 0x0200
# if_inet6: temporary, failed duplicate detection, deprecated, tentative.
_PASSING_ADDRESS: Final = 0x01 | 0x08 | 0x20 | 0x40
_SCOPE_GLOBAL: Final = 0
_ZERO_ADDRESS: Final = "0" * 32
_ROUTE_FIELDS: Final = 8
_ROUTE6_FIELDS: Final = 10

_IDENTIFIER: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
_MACHINE_ID: Final = re.compile(r"[0-9a-f]{32}")
_DEVICE: Final = re.compile(r"[1-9][0-9]*:[0-9]+")
_MAX_LAYERS: Final = 8


def read_machine(root: str, *, is_running_system: bool) -> Machine:
    """Return what this machine is.

    Args:
        root: `os` and `machine_id` are read below it.
        is_running_system: otherwise the network and the disks are those of another system, and missing.
    """
    readers: dict[str, Callable[[], JsonValue]] = {
        "memory_mib": _memory_mib,
        "cpus": _cpus,
        "arch": lambda: debian_architecture(os.uname().machine),
        "os": lambda: _os(root),
        "machine_id": lambda: _machine_id(root),
    }
    if is_running_system:
        readers |= {
            "addresses": _addresses,
            "default_interface": _default_interface,
            "root_disk": lambda: root_disk(MountTable.read("/")),
        }
    values: dict[str, JsonValue] = {}
    for name, read in readers.items():
        try:
            value = read()
        except (OSError, ValueError, HostError):
            continue
        if value is not None:
            values[name] = freeze(value)
    return Machine(MappingProxyType(values))


def debian_architecture(machine: str) -> str | None:
    """Return Debian's name for the kernel's machine name, None if that does not decide it."""
    return _ARCHITECTURES.get(machine)


def _memory_mib() -> int | None:
    return parse_memory(_text("/proc/meminfo"))


def parse_memory(text: str) -> int | None:
    """Return the whole mebibytes of `MemTotal` in the text of /proc/meminfo."""
    found = re.search(r"^MemTotal:\s+([0-9]+) kB$", text, re.MULTILINE)
    return int(found[1]) // 1024 if found else None


def _cpus() -> int | None:
    """Return the processors that are online, whatever share of them this process may use."""
    count = os.sysconf("SC_NPROCESSORS_ONLN")
    return count if count > 0 else None


def _addresses() -> dict[str, JsonValue]:
    try:
        text = _text("/proc/net/if_inet6")
    except FileNotFoundError:
        # a kernel without IPv6
        text = ""
    return choose_addresses(_ipv4(), text)


def choose_addresses(ipv4: list[tuple[str, str]], if_inet6: str) -> dict[str, JsonValue]:
    """Return the first global address of each interface that has one, IPv4 before IPv6.

    Args:
        ipv4: interface labels and addresses in the order of the kernel.
        if_inet6: the text of /proc/net/if_inet6.
    """
    found: dict[str, JsonValue] = {}
    for label, address in ipv4:
        parsed = ipaddress.IPv4Address(address)
        if not (parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified):
            found.setdefault(label.partition(":")[0], address)
    for interface, address in _ipv6(if_inet6):
        found.setdefault(interface, address)
    return dict(sorted(found.items()))


def _ipv4() -> list[tuple[str, str]]:
    """Ask for all addresses of this network namespace (netdevice(7), SIOCGIFCONF)."""
    size = 64 * _IFREQ
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        while True:
            buffer = array.array("B", bytes(size))
            request = struct.pack("iP", size, buffer.buffer_info()[0])
            (used,) = struct.unpack_from("i", fcntl.ioctl(device, _SIOCGIFCONF, request))
            if used < size:
                break
            # full: there may be more
            size *= 2
    data = buffer.tobytes()[:used]
    entries = [data[start : start + _IFREQ] for start in range(0, used, _IFREQ)]
    return [(os.fsdecode(entry[:16].split(b"\0")[0]), socket.inet_ntoa(entry[_IFREQ_ADDRESS])) for entry in entries]


def _ipv6(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        address, _index, _prefix, scope, flags, interface = line.split()
        if int(scope, 16) == _SCOPE_GLOBAL and not int(flags, 16) & _PASSING_ADDRESS:
            yield interface, str(ipaddress.IPv6Address(bytes.fromhex(address)))


def _default_interface() -> str | None:
    for path, parse in (("/proc/net/route", default_ipv4), ("/proc/net/ipv6_route", default_ipv6)):
        try:
            found = parse(_text(path))
        except FileNotFoundError:
            continue
        if found is not None:
            return found
    return None


def default_ipv4(text: str) -> str | None:
    """Return the interface of the default route with the lowest metric in the text of /proc/net/route."""
    found: list[tuple[int, str]] = []
    for fields in (line.split() for line in text.splitlines()[1:]):
        if len(fields) < _ROUTE_FIELDS:
            continue
        interface, destination, _gateway, flags, _count, _use, metric, mask = fields[:_ROUTE_FIELDS]
        if not int(destination, 16) and not int(mask, 16) and _is_usable(flags):
            found.append((int(metric), interface))
    return min(found, key=lambda item: item[0])[1] if found else None


def default_ipv6(text: str) -> str | None:
    """Return the interface of the default route with the lowest metric in the text of /proc/net/ipv6_route."""
    found: list[tuple[int, str]] = []
    for fields in (line.split() for line in text.splitlines()):
        if len(fields) < _ROUTE6_FIELDS:
            continue
        destination, length, metric, flags, interface = (fields[index] for index in (0, 1, 5, 8, 9))
        if destination == _ZERO_ADDRESS and length == "00" and interface != "lo" and _is_usable(flags):
            found.append((int(metric, 16), interface))
    return min(found, key=lambda item: item[0])[1] if found else None


def _is_usable(flags: str) -> bool:
    return int(flags, 16) & (_ROUTE_UP | _ROUTE_REJECT) == _ROUTE_UP


def root_disk(table: MountTable, sys: str = "/sys") -> str | None:
    """Return the kernel's name of the one whole disk that carries `/`, such as `sda`; None if it is not exactly one.

    Args:
        table: the mounts of the running system.
        sys: where sysfs is mounted.
    """
    mount = table.holding("/")
    if mount is None:
        return None
    device = mount.device
    if not _DEVICE.fullmatch(device):
        # btrfs shows a number of its own; its source is a device
        number = Path(mount.source).stat().st_rdev if mount.source.startswith("/dev/") else 0
        device = f"{os.major(number)}:{os.minor(number)}"
    if not _DEVICE.fullmatch(device):
        return None
    return _whole_disk(Path(f"{sys}/dev/block/{device}").resolve(strict=True), sys)


def _whole_disk(folder: Path, sys: str) -> str | None:
    """Follow partitions and stacked devices (LVM, LUKS, RAID) down from a folder of sysfs."""
    for _layer in range(_MAX_LAYERS):
        whole = folder.parent if (folder / "partition").exists() else folder
        slaves = list((whole / "slaves").iterdir()) if (whole / "slaves").exists() else []
        if not slaves:
            return whole.name
        if len(slaves) > 1:
            return None
        folder = Path(f"{sys}/class/block/{slaves[0].name}").resolve(strict=True)
    return None


def _os(root: str) -> str | None:
    for path in ("etc/os-release", "usr/lib/os-release"):
        try:
            return parse_os_release(_text_below(root, path))
        except OSError:
            continue
    return None


def parse_os_release(text: str) -> str | None:
    """Return `<ID>-<VERSION_ID>` of an os-release(5) file; `<ID>` for a system that has no versions."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition("=")
        fields[name] = value.strip("'\"")
    parts = [fields.get("ID", "linux"), *([fields["VERSION_ID"]] if fields.get("VERSION_ID") else [])]
    return "-".join(parts) if all(_IDENTIFIER.fullmatch(part) for part in parts) else None


def _machine_id(root: str) -> str | None:
    text = _text_below(root, "etc/machine-id").strip()
    return text if _MACHINE_ID.fullmatch(text) else None


def _text_below(root: str, path: str) -> str:
    """Read a small file; below another root a link is not followed, since it may lead out of it."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if root != "/" else 0)
    descriptor = os.open(f"{root}/{path}", flags)
    try:
        return os.read(descriptor, 1 << 16).decode()
    finally:
        os.close(descriptor)


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="surrogateescape")
