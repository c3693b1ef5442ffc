"""What kernel keys mean, what is seen of them, planned, done, and what at boot is stronger."""

import errno
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import pytest
from attrs import evolve

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.model.observation import Absent, Cause, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import AnyProvider, DesiredError, RelatedProvider, Removal
from datum.provider.host import FileKind, HostError
from datum.provider.manager import MountEntry
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.sysctl.desired import DesiredSysctl
from datum_providers.sysctl.lines import settings_of, text_for
from datum_providers.sysctl.provider import SysctlProvider
from tests.providers.index import Index

PROVIDER: Final = SysctlProvider()
KEY: Final = "net/ipv4/ip_forward"
PROC: Final = f"/proc/sys/{KEY}"
OWN: Final = "/etc/sysctl.d/60-datum-net.ipv4.ip_forward.conf"
Arrange = Callable[[FakeHost], None]


def wanted(value: Any = "1", **more: Any) -> DesiredSysctl:
    return PROVIDER.parse(KEY, {"value": value, **more})


def kernel(data: bytes = b"0\n", **how: Any) -> Arrange:
    def arrange(host: FakeHost) -> None:
        host.add_directory("/etc/sysctl.d")
        host.add_kernel_value(PROC, data, **how)

    return arrange


def both(*arranging: Arrange) -> Arrange:
    def arrange(host: FakeHost) -> None:
        for one in arranging:
            one(host)

    return arrange


def file(path: str, text: str) -> Arrange:
    return lambda host: host.add_file(path, text.encode())


def own(value: str = "1") -> Arrange:
    return file(OWN, text_for(KEY, value))


def write_only(host: FakeHost) -> None:
    kernel(is_write_only=True)(host)
    host.add(PROC, FakeFile(mode="0200"))


def read_only(host: FakeHost) -> None:
    host.add_directory("/etc/sysctl.d")
    host.add_kernel_value(PROC, b"0\n", is_read_only=True)
    for point, options in (("/proc", {"rw"}), ("/proc/sys", {"ro", "nosuid"})):
        host.add_mount(MountEntry(point, "proc", "proc", frozenset(options)))


def without_a_directory(host: FakeHost) -> None:
    host.add_directory("/etc")
    host.add_kernel_value(PROC, b"0\n")


def other_key(host: FakeHost) -> None:
    host.add_kernel_value("/proc/sys/vm/swappiness", b"60\n")


IGNORED: Final[Mapping[str, AttributeValue]] = {"value": 4096, "read_back": {"ignore": "the kernel rounds it"}}


class TestSysctl(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = SysctlProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = (
        ConformanceCase("create", KEY, {"value": 1}, Operation.CREATE, kernel()),
        ConformanceCase("create in no directory", KEY, {"value": 1}, Operation.CREATE, without_a_directory),
        ConformanceCase("only the file is missing", KEY, {"value": 0}, Operation.CREATE, kernel()),
        ConformanceCase("in sync", KEY, {"value": "1"}, None, both(kernel(b"1\n"), own())),
        ConformanceCase("runs otherwise", KEY, {"value": 1}, Operation.UPDATE, both(kernel(), own())),
        ConformanceCase("other file", KEY, {"value": 1}, Operation.UPDATE, both(kernel(b"1\n"), own("0"))),
        ConformanceCase(
            "edited", KEY, {"value": 1}, Operation.UPDATE, both(kernel(b"1\n"), file(OWN, f"{KEY} = 1\nvm.x = 3\n"))
        ),
        ConformanceCase("no key", KEY, {"value": 1}, Operation.CREATE, file("/etc/x", ""), converges=False),
        ConformanceCase("not read back", KEY, IGNORED, Operation.CREATE, kernel(writes=lambda _value: b"8192\n")),
        ConformanceCase("write-only", KEY, {"value": 1}, Operation.CREATE, write_only),
        ConformanceCase("read-only", KEY, {"value": 1}, Operation.CREATE, read_only),
        ConformanceCase(
            "shadowed",
            KEY,
            {"value": 1},
            Operation.UPDATE,
            both(kernel(b"1\n"), own(), file("/etc/sysctl.d/99-x.conf", f"{KEY}=0\n")),
            converges=False,
        ),
        ConformanceCase("of another", "vm/swappiness", {"value": 1}, Operation.CREATE, other_key),
    )

    def make_host(self) -> FakeHost:
        host = FakeHost()
        host.add_directory("/etc")
        return host


def host_with(*arranging: Arrange, **how: Any) -> FakeHost:
    host = FakeHost(**how)
    both(*arranging)(host)
    return host


def see(host: FakeHost, desired: DesiredSysctl) -> Observation:
    return PROVIDER.observe(host.reader(), {desired.key: desired})[desired.key]


def planned(host: FakeHost, desired: DesiredSysctl) -> Step | None:
    seen = see(host, desired)
    assert not isinstance(seen, Unobservable), seen
    return PROVIDER.plan(desired, seen)


def do(host: FakeHost, desired: DesiredSysctl, step: Step | None = None) -> list[str]:
    writer = host.writer()
    step = step or planned(host, desired)
    assert step is not None
    PROVIDER.apply(writer, desired, step)
    return writer.remarks


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("net.ipv4.ip_forward", KEY),
        ("net/ipv4/ip_forward", KEY),
        # The VLAN 100 of eth0: the first separator decides (sysctl.d(5)).
        ("net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding"),
        ("net/ipv4/conf/eth0.100/forwarding", "net/ipv4/conf/eth0.100/forwarding"),
    ],
)
def test_the_first_separator_of_a_name_decides(name: str, normal: str) -> None:
    assert PROVIDER.normal_name(name) == normal


@pytest.mark.parametrize(
    "name",
    ["ip_forward", "net//x", "net/../x", "net/ipv4/conf/*/forwarding", "a b/c", "net/x=1", "/net/x", "net/", "-net/x"],
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(DesiredError, match="no name of one kernel key"):
        PROVIDER.normal_name(name)


def test_the_path_of_a_key_is_told_its_name() -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.normal_name(PROC)
    assert caught.value.hint == f"Write sysctl:{KEY}"
    with pytest.raises(DesiredError, match="longer"):
        PROVIDER.normal_name(f"net/{'x' * 250}")


@pytest.mark.parametrize(
    ("attributes", "attribute"),
    [
        ({"value": True}, "value"),
        ({"value": "1\n2"}, "value"),
        ({"value": "\0"}, "value"),
        ({"value": "\ud800"}, "value"),
        ({"value": 1, "read_back": {"ignore": " "}}, "read_back"),
        ({"value": 1, "read_back": {}}, "read_back"),
    ],
)
def test_what_cannot_be_meant(attributes: dict[str, Any], attribute: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.parse(KEY, attributes)
    assert caught.value.attribute == attribute


def test_values_are_compared_with_white_space_collapsed() -> None:
    host = host_with(kernel(b"4096\t131072\t6291456\n"), own("4096 131072 6291456"))
    assert planned(host, wanted(" 4096  131072\t6291456")) is None


def test_a_refused_value_is_not_written_for_the_next_boot() -> None:
    host = host_with(kernel(writes=lambda _value: errno.EINVAL))
    with pytest.raises(HostError, match="refused"):
        do(host, wanted("x"))
    assert OWN not in host.files


def test_only_the_key_itself_is_set() -> None:
    """One bad key elsewhere must not fail this one (ansible 36992)."""
    host = host_with(kernel(), file("/etc/sysctl.d/10-bad.conf", "no.such.key = 1\n= \nnonsense\n"))
    do(host, wanted())
    assert [entry.method for entry in host.journal] == ["set_kernel_value", "write_file"]
    assert host.files[OWN].data == f"# sysctl:{KEY}, kept by datum.\n{KEY} = 1\n".encode()


def test_a_key_that_the_kernel_lacks_is_a_need() -> None:
    host = host_with(file("/etc/sysctl.d/x", ""))
    step = planned(host, wanted())
    assert step is not None
    assert [str(need.target) for need in step.needs] == [f"kernel_key {KEY}"]
    assert "module" in step.needs[0].detail
    own()(host)
    step = planned(host, wanted())
    assert step is not None
    assert (step.operation, step.changes) == (Operation.UPDATE, (Change("value", None, "1"),))
    assert step.needs


@pytest.mark.parametrize(
    ("how", "arrange", "cause"),
    [({}, read_only, "read-only-kernel"), ({"is_running_system": False}, kernel(), "no-kernel")],
)
def test_where_no_kernel_can_be_set_only_the_file_is_kept(how: Any, arrange: Arrange, cause: str) -> None:
    host = host_with(arrange, **how)
    seen = see(host, wanted())
    assert isinstance(seen, Absent)
    assert seen.fields == {"value": NotApplicable(cause)}
    do(host, wanted())
    assert planned(host, wanted()) is None
    assert [entry.method for entry in host.journal] == ["write_file"]
    do(host, wanted("0", read_back={"ignore": "rounded"}))
    assert [entry.method for entry in host.journal] == ["write_file", "write_file"]


def test_a_mount_below_a_read_only_one_counts() -> None:
    """Containers show /proc/sys read-only, and what is theirs in it once more, writable."""
    host = host_with(read_only, own())
    host.add_mount(MountEntry("/proc/sys/net", "proc", "proc", frozenset({"rw"})))
    assert planned(host, wanted()) == Step(Operation.UPDATE, (Change("value", "0", "1"),))


def test_a_key_that_cannot_be_read_is_set_where_its_declaration_changes() -> None:
    host = host_with(write_only, own())
    seen = see(host, wanted())
    assert isinstance(seen, Present)
    assert seen.fields["value"] == NotApplicable("write-only-key")
    assert planned(host, wanted()) is None
    do(host, wanted("5"))
    assert [entry.value for entry in host.journal if entry.method == "set_kernel_value"] == [b"5\n"]


def test_what_is_denied_and_not_write_only_is_unobservable() -> None:
    host = host_with(kernel(is_write_only=True), own())
    seen = see(host, wanted())
    assert isinstance(seen, Present)
    assert isinstance(seen.fields["value"], Unobservable)
    assert planned(host, wanted()) is None


def test_a_key_that_answers_with_an_io_error_makes_no_host_sick() -> None:
    """`stable_secret` answers EIO until it is set; a created resource sets it."""
    host = host_with(kernel())
    host.fail(HostError("EIO.", cause=Cause.IO), method="kernel_value")
    seen = see(host, wanted())
    assert isinstance(seen, Absent)
    assert seen.fields["value"] == Unobservable(Cause.OTHER, "EIO.")
    step = PROVIDER.plan(wanted(), seen)
    assert step is not None
    assert [change.name for change in step.changes] == ["persistent", "value"]


def test_what_is_not_read_back_is_set_with_each_declaration() -> None:
    """Values that the kernel rounds, or that another key zeroes, never flap."""
    host = host_with(kernel(writes=lambda value: str((int(value) + 4095) // 4096 * 4096).encode() + b"\n"))
    desired = wanted(5000, read_back={"ignore": "pages"})
    do(host, desired)
    assert planned(host, desired) is None
    do(host, wanted(9000, read_back={"ignore": "pages"}))
    assert host.kernel_value(PROC) == b"12288\n"
    assert planned(host, wanted(9000)) is not None


ZERO: Final = f"# note\n{KEY} = 0\n"


@pytest.mark.parametrize(
    ("others", "shadow"),
    [
        ({"/etc/sysctl.d/99-x.conf": ZERO}, "/etc/sysctl.d/99-x.conf:2"),
        ({"/usr/lib/sysctl.d/70-x.conf": "net.ipv4.ip_forward=0"}, "/usr/lib/sysctl.d/70-x.conf:1"),
        ({"/run/sysctl.d/70-x.conf": "-net.ipv4.ip_forward=0"}, "/run/sysctl.d/70-x.conf:1"),
        ({"/usr/local/lib/sysctl.d/70-x.conf": ZERO}, "/usr/local/lib/sysctl.d/70-x.conf:2"),
        ({"/etc/sysctl.conf": ZERO}, "/etc/sysctl.conf:2"),
        # Earlier names, other endings, comments, patterns (a key that is named is taken out of them).
        ({"/etc/sysctl.d/10-x.conf": ZERO}, None),
        ({"/etc/sysctl.d/99-x.conf.dpkg-old": ZERO}, None),
        ({"/etc/sysctl.d/99-x.conf": f"#{KEY}=0\n;{KEY}=0\n"}, None),
        ({"/etc/sysctl.d/99-x.conf": "net.ipv4.*=0\n"}, None),
        # A file hides those of its name in weaker directories; the last that sets the key decides.
        ({"/etc/sysctl.d/70-x.conf": "", "/usr/lib/sysctl.d/70-x.conf": ZERO}, None),
        ({"/etc/sysctl.d/70-x.conf": ZERO, "/usr/lib/sysctl.d/80-x.conf": f"{KEY}=1\n"}, None),
        ({"/etc/sysctl.d/99-x.conf": f"{KEY}=0\n{KEY}=1\n"}, None),
        # The same value shadows nothing, and other keys have files of their own.
        ({"/etc/sysctl.d/99-x.conf": f"{KEY} =  1\n"}, None),
        ({"/etc/sysctl.d/60-datum-z.y.conf": ZERO}, None),
    ],
)
def test_what_is_stronger_at_boot_is_named_with_its_line(others: dict[str, str], shadow: str | None) -> None:
    host = host_with(kernel(b"1\n"), own(), *(file(path, text) for path, text in others.items()))
    seen = see(host, wanted())
    assert isinstance(seen, Present)
    assert seen.fields.get("shadowed_by") == shadow
    step = planned(host, wanted())
    if shadow is None:
        assert step is None
    else:
        assert step is not None
        assert step.changes == (Change("shadowed_by", shadow, None),)
        assert [need.target.kind for need in step.needs] == ["nothing"]
        assert shadow in step.needs[0].detail


def test_links_are_followed_once_and_masks_set_nothing() -> None:
    """Debian links /etc/sysctl.d/99-sysctl.conf to /etc/sysctl.conf, which is read there and not once more."""
    host = host_with(kernel(b"1\n"), own(), file("/etc/sysctl.conf", ZERO))
    host.add_link("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf")
    host.add_link("/etc/sysctl.d/99-none.conf", "/dev/null")
    host.add_file("/usr/lib/sysctl.d/99-none.conf", ZERO.encode())
    seen = see(host, wanted())
    assert isinstance(seen, Present)
    assert seen.fields["shadowed_by"] == "/etc/sysctl.conf:2"
    host.add_file("/etc/sysctl.d/99-zz.conf", f"{KEY}=1\n".encode())
    assert planned(host, wanted()) is None


def test_what_can_be_repaired_is_repaired_although_it_is_shadowed() -> None:
    host = host_with(kernel(), own(), file("/etc/sysctl.d/99-x.conf", ZERO))
    assert planned(host, wanted()) == Step(Operation.UPDATE, (Change("value", "0", "1"),))


def test_files_that_are_declared_absent_shadow_nothing() -> None:
    assert isinstance(PROVIDER, RelatedProvider)
    host = host_with(kernel(b"1\n"), own(), file("/etc/sysctl.d/99-x.conf", ZERO))
    index = Index.of({"file:/etc/sysctl.d/99-x.conf": "absent"})
    assert planned(host, PROVIDER.relate(wanted(), index)) is None


def test_files_that_are_read_at_boot_and_are_declared_come_first() -> None:
    index = Index.of({
        "directory:/etc/sysctl.d": None, "file:/etc/sysctl.d/99-x.conf": None, "file:/etc/sysctl.conf": None,
    })  # fmt: skip
    edges = {str(edge.target): (edge.kind, edge.soft) for edge in PROVIDER.edges(wanted(), index)}
    assert edges == {
        "directory:/etc/sysctl.d": (DependencyKind.REQUIRES, False),
        "file:/etc/sysctl.d/99-x.conf": (DependencyKind.AFTER, True),
        "file:/etc/sysctl.conf": (DependencyKind.AFTER, True),
    }
    mine = evolve(Index(), holders={Target("path", "/etc/sysctl.d/60-datum-a.b.conf"): ResourceId("sysctl", "a/b")})
    assert not PROVIDER.edges(wanted(), mine)


def test_a_removed_key_keeps_its_running_value_and_says_so() -> None:
    host = host_with(kernel(b"1\n"), own())
    step = Step(Operation.DELETE, (Change("persistent", "1", None),))
    remarks = do(host, wanted(), step)
    assert OWN not in host.files
    assert [entry.method for entry in host.journal] == ["remove_file"]
    assert len(remarks) == 1
    assert "stays until the next boot" in remarks[0]
    assert PROVIDER.removal(wanted()) is Removal.DELETE


def test_leftovers_are_cleared() -> None:
    host = host_with(kernel(b"1\n"), own())
    host.world.residues.add(OWN)
    do(host, wanted())
    assert not host.world.residues
    host.world.residues.add(OWN)
    do(host, wanted(), Step(Operation.DELETE, (Change("residue", before=True, after=None),)))
    assert OWN in host.files


def test_what_is_no_file_at_the_place_of_the_own_one_is_not_looked_through() -> None:
    host = host_with(kernel(b"1\n"))
    host.add(OWN, FakeFile(FileKind.SYMLINK, "0777", link="/dev/null"))
    seen = see(host, wanted())
    assert isinstance(seen, Present)
    assert "A symbolic link stands at" in seen.obstacles[0]
    step = planned(host, wanted())
    assert step is not None
    assert step.changes == (Change("kind", "symlink", "regular"),)
    assert [(need.target.kind, need.detail) for need in step.needs] == [("nothing", seen.obstacles[0])]


def test_without_a_value_nothing_is_made() -> None:
    desired, host = PROVIDER.parse(KEY, {}), host_with(kernel())
    step = planned(host, desired)
    assert step is not None
    assert step.needs
    with pytest.raises(HostError) as caught:
        do(host, desired, step)
    assert caught.value.failure is FailureCause.IMPOSSIBLE
    own()(host)
    assert planned(host, desired) is None
    seen = see(host, desired)
    assert isinstance(seen, Present)
    assert PROVIDER.adopt(KEY, seen) == {"value": "0"}
    assert PROVIDER.adopt(KEY, evolve(seen, fields={"persistent": "1", "value": None})) == {"value": "1"}


def test_a_root_without_a_directory_of_settings_above_says_what_is_missing() -> None:
    host = FakeHost()
    host.world.remove("/etc")
    host.add_kernel_value(PROC, b"0\n")
    step = planned(host, wanted())
    assert step is not None
    assert [str(need.target) for need in step.needs] == ["path /etc"]


def test_files_of_others_are_read_once_for_all_keys() -> None:
    host = host_with(kernel(b"1\n"), own(), file("/etc/sysctl.d/99-x.conf", "vm.a = 1\n"))
    keys = [PROVIDER.parse(f"net/k{number}", {"value": 1}) for number in range(5)]
    PROVIDER.observe(host.reader(), {one.key: one for one in keys})
    calls = [call for call in host.calls if call[0] in {"list_directory", "read_file"}]
    assert calls == [("list_directory", "/etc/sysctl.d"), ("read_file", "/etc/sysctl.d/99-x.conf")]


def test_lines_are_read_as_systemd_reads_them() -> None:
    text = "; c\nnet.ipv4.conf.eth0/1.rp_filter = 2\n - a.b = x  y \n=\nnothing\na.b=\n"
    found = [(one.key, one.value, one.line) for one in settings_of(text)]
    assert found == [("net/ipv4/conf/eth0.1/rp_filter", "2", 2), ("a/b", "x y", 3), ("a/b", "", 6)]
