"""What this machine is: each name from its source, and missing rather than wrong."""

import fcntl
import json
import os
import subprocess
from pathlib import Path

import pytest

from datum.host import machine
from datum.host.machine import (
    choose_addresses,
    debian_architecture,
    default_ipv4,
    default_ipv6,
    parse_memory,
    parse_os_release,
    read_machine,
    root_disk,
)
from datum.host.mounts import MountTable
from datum.model.json import thaw


def disk_table(device: str, source: str = "/dev/x") -> MountTable:
    return MountTable.parse(f"1 0 {device} / / rw - ext4 {source} rw\n".encode(), "/")


# --- the whole --------------------------------------------------------------------------------------------------


def test_the_running_system_is_read_whole() -> None:
    values = read_machine("/", is_running_system=True).values
    memory, cpus = values["memory_mib"], values["cpus"]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (1 << 20)
    assert isinstance(memory, int)
    assert isinstance(cpus, int)
    assert abs(memory - pages) <= 1
    assert cpus == os.cpu_count()
    assert set(values) <= {
        "memory_mib", "cpus", "arch", "os", "machine_id", "addresses", "default_interface", "root_disk",
    }  # fmt: skip


def test_what_the_system_tools_say_is_the_same() -> None:
    tools = {name: Path("/usr/bin", name) for name in ("ip", "dpkg")}
    if not all(path.exists() for path in tools.values()):
        pytest.skip("needs ip and dpkg")
    values = read_machine("/", is_running_system=True).values

    def ask(*argv: str) -> str:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    wanted: dict[str, str] = {}
    for family in ("inet", "inet6"):
        for link in json.loads(ask("ip", "-json", "address")):
            for address in link["addr_info"]:
                if (address["scope"], address["family"]) == ("global", family):
                    wanted.setdefault(link["ifname"], address["local"])
    assert thaw(values["addresses"]) == wanted
    routes = json.loads(ask("ip", "-json", "route", "show", "default"))
    assert values.get("default_interface") == (routes[0]["dev"] if routes else None)
    assert values["arch"] == ask("dpkg", "--print-architecture").strip()


def test_below_another_root_only_the_root_and_the_kernel_are_told(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text('PRETTY_NAME="Debian"\nID=debian\nVERSION_ID="13"\n')
    (tmp_path / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    values = read_machine(str(tmp_path), is_running_system=False).values
    assert (values["os"], values["machine_id"]) == ("debian-13", "0123456789abcdef0123456789abcdef")
    assert set(values) <= {"memory_mib", "cpus", "arch", "os", "machine_id"}
    assert "memory_mib" in values


def test_an_empty_root_tells_nothing_of_itself(tmp_path: Path) -> None:
    assert set(read_machine(str(tmp_path), is_running_system=False).values) <= {"memory_mib", "cpus", "arch"}


def test_what_cannot_be_read_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_arguments: object, **_options: object) -> object:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(machine, "_text", refuse)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "sysconf", lambda _name: -1)
    monkeypatch.setattr(MountTable, "read", classmethod(refuse))
    assert set(read_machine("/", is_running_system=True).values) <= {"arch"}


# --- single names -----------------------------------------------------------------------------------------------


def test_architectures_have_debians_names() -> None:
    names = {name: debian_architecture(name) for name in ("x86_64", "aarch64", "armv7l", "ppc64le", "s390x", "armv6l")}
    assert names == {
        "x86_64": "amd64",
        "aarch64": "arm64",
        "armv7l": "armhf",
        "ppc64le": "ppc64el",
        "s390x": "s390x",
        "armv6l": None,
    }


def test_memory_is_whole_mebibytes() -> None:
    assert parse_memory("MemTotal:        2046996 kB\nMemFree: 1 kB\n") == 1999
    assert parse_memory("MemFree: 1 kB\n") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('ID=debian\nVERSION_ID="12"\n', "debian-12"),
        ("VERSION_ID='24.04'\n# a remark\nID=\"ubuntu\"\n", "ubuntu-24.04"),
        ("ID=arch\n", "arch"),
        # os-release(5): the default of ID
        ("VERSION_ID=1\n", "linux-1"),
        ('ID=debian\nVERSION_ID="$(reboot)"\n', None),
        ("ID=\n", None),
    ],
)
def test_the_system_is_named_by_id_and_version(text: str, found: str | None) -> None:
    assert parse_os_release(text) == found


def test_the_vendors_os_release_stands_in_for_a_link(tmp_path: Path) -> None:
    """Debian's /etc/os-release is a link; below a root an absolute one would lead to the system outside."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "etc/os-release").symlink_to("/etc/os-release")
    (tmp_path / "usr/lib/os-release").write_text("ID=inside\n")
    assert read_machine(str(tmp_path), is_running_system=False).values["os"] == "inside"


@pytest.mark.parametrize("text", ["", "uninitialized\n", "0123\n", "0123456789ABCDEF0123456789ABCDEF\n"])
def test_a_machine_id_that_is_none_is_missing(tmp_path: Path, text: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text(text)
    assert "machine_id" not in read_machine(str(tmp_path), is_running_system=False).values


def test_a_fifo_for_a_file_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    os.mkfifo(tmp_path / "etc/machine-id")
    assert "machine_id" not in read_machine(str(tmp_path), is_running_system=False).values


# --- network ----------------------------------------------------------------------------------------------------

IF_INET6 = """\
fe8000000000000000fc00fffe000001 02 40 20 80     eth0
20010db8000000000000000000000001 02 40 00 01     eth0
20010db8000000000000000000000002 02 40 00 80     eth0
20010db8000000000000000000000003 03 40 00 40     eth1
00000000000000000000000000000001 01 80 10 80       lo
"""


def test_the_first_global_address_of_an_interface_counts_ipv4_first() -> None:
    ipv4 = [
        ("lo", "127.0.0.1"),
        ("eth2", "169.254.1.1"),
        ("eth2:1", "10.0.0.9"),
        ("eth2", "10.0.0.10"),
        ("ppp0", "0.0.0.0"),
    ]
    assert choose_addresses(ipv4, IF_INET6) == {"eth0": "2001:db8::2", "eth2": "10.0.0.9"}
    assert choose_addresses([("eth0", "192.0.2.1")], IF_INET6) == {"eth0": "192.0.2.1"}


def test_a_kernel_without_ipv6_has_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    real = machine._text

    def without(path: str) -> str:
        if path in {"/proc/net/if_inet6", "/proc/net/ipv6_route"}:
            raise FileNotFoundError(2, "No such file or directory")
        return "" if path == "/proc/net/route" else real(path)

    monkeypatch.setattr(machine, "_text", without)
    monkeypatch.setattr(machine, "_ipv4", lambda: [("e", "192.0.2.1")])
    values = read_machine("/", is_running_system=True).values
    assert thaw(values["addresses"]) == {"e": "192.0.2.1"}
    assert "default_interface" not in values


def test_any_number_of_addresses_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIOCGIFCONF says only by a full buffer that there are more."""
    sizes: list[int] = []
    real = fcntl.ioctl

    def full_once(device: int, request: int, argument: bytes) -> bytes:
        sizes.append(int.from_bytes(argument[:4], "little"))
        answer = bytes(real(device, request, argument))
        return argument if len(sizes) == 1 else answer

    expected = machine._ipv4()
    monkeypatch.setattr(fcntl, "ioctl", full_once)
    assert machine._ipv4() == expected
    assert sizes[1] == 2 * sizes[0]


ROUTE_HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def test_the_default_route_with_the_lowest_metric_names_the_interface() -> None:
    text = ROUTE_HEAD + (
        "wlan0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
        "eth9\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth8\t00000000\t00000000\t0002\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
        "half\n"
    )
    assert default_ipv4(text) == "eth0"
    assert default_ipv4(ROUTE_HEAD) is None


def test_without_one_the_ipv6_default_route_does() -> None:
    zero = "0" * 32
    text = "".join(
        f"{destination} {length} {zero} 00 {'f' * 32} {metric} 00000002 00000000 {flags} {interface}\n"
        for destination, length, metric, flags, interface in (
            (zero, "00", "00000400", "00000003", "eth1"),
            (zero, "00", "00000064", "00000003", "eth0"),
            (zero, "00", "00000001", "80200001", "lo"),
            (zero, "00", "00000001", "00200200", "lo2"),
            (zero, "40", "00000001", "00000001", "eth5"),
            ("fd" + "0" * 30, "00", "00000001", "00000001", "eth6"),
        )
    )
    assert default_ipv6(text + "half\n") == "eth0"
    assert default_ipv6("") is None


def test_ipv6_is_asked_when_ipv4_has_no_default_route(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = "0" * 32
    texts = {
        "/proc/net/route": ROUTE_HEAD,
        "/proc/net/ipv6_route": f"{zero} 00 {zero} 00 {zero} 00000400 00000002 00000000 00000003 eth7\n",
    }
    monkeypatch.setattr(machine, "_text", texts.__getitem__)
    assert machine._default_interface() == "eth7"


# --- disk -------------------------------------------------------------------------------------------------------


def device(sys: Path, number: str, path: str, *, partition: bool = False, slaves: tuple[str, ...] = ()) -> None:
    folder = sys / "devices" / path
    folder.mkdir(parents=True, exist_ok=True)
    if partition:
        (folder / "partition").write_text("1\n")
    else:
        (folder / "slaves").mkdir()
    for slave in slaves:
        (folder / "slaves" / slave).mkdir()
    for link in (sys / "dev/block" / number, sys / "class/block" / folder.name):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)


def test_a_partition_is_of_its_disk(tmp_path: Path) -> None:
    device(tmp_path, "8:0", "block/sda")
    device(tmp_path, "8:1", "block/sda/sda1", partition=True)
    assert root_disk(disk_table("8:1"), str(tmp_path)) == "sda"
    assert root_disk(disk_table("8:0"), str(tmp_path)) == "sda"


def test_a_volume_is_of_the_disk_below_its_layers(tmp_path: Path) -> None:
    device(tmp_path, "259:0", "block/nvme0n1")
    device(tmp_path, "259:3", "block/nvme0n1/nvme0n1p3", partition=True)
    device(tmp_path, "253:0", "virtual/dm-0", slaves=("nvme0n1p3",))
    device(tmp_path, "253:1", "virtual/dm-1", slaves=("dm-0",))
    assert root_disk(disk_table("253:1"), str(tmp_path)) == "nvme0n1"


def test_several_disks_are_not_one(tmp_path: Path) -> None:
    device(tmp_path, "9:0", "virtual/md0", slaves=("sda1", "sdb1"))
    assert root_disk(disk_table("9:0"), str(tmp_path)) is None


def test_layers_without_end_are_given_up(tmp_path: Path) -> None:
    device(tmp_path, "253:0", "virtual/dm-0", slaves=("dm-0",))
    assert root_disk(disk_table("253:0"), str(tmp_path)) is None


def test_a_root_without_a_block_device_has_no_disk(tmp_path: Path) -> None:
    for source in ("overlay", "pool/root", str(tmp_path)):
        assert root_disk(disk_table("0:25", source), str(tmp_path)) is None
    assert root_disk(disk_table("0:25", "/dev"), str(tmp_path)) is None
    assert root_disk(MountTable({}, None, ()), str(tmp_path)) is None


def test_the_device_that_btrfs_names_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tmp_path, "8:17", "block/sdb/sdb1", partition=True)
    monkeypatch.setattr(os, "major", lambda _number: 8)
    monkeypatch.setattr(os, "minor", lambda _number: 17)
    assert root_disk(disk_table("0:30", "/dev/null"), str(tmp_path)) == "sdb"


def test_a_disk_that_sysfs_does_not_know_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        root_disk(disk_table("8:1"), str(tmp_path))
