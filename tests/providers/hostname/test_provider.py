"""What names of a host mean, what is seen of them, planned and done."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.observation import NotApplicable, Observation, Present
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import AnyProvider, DesiredError, Removal
from datum.provider.host import FileKind
from datum.provider.manager import MountEntry
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.hostname.desired import DesiredHostname
from datum_providers.hostname.doing import CLOUD
from datum_providers.hostname.lines import pretty_of, static_of, with_pretty
from datum_providers.hostname.provider import HostnameProvider
from tests.providers.index import Index

PROVIDER: Final = HostnameProvider()
FILE: Final = "/etc/hostname"
INFO: Final = "/etc/machine-info"
PROC: Final = "/proc/sys/kernel/hostname"
Arrange = Callable[[FakeHost], None]


def named(static: str = "old", running: str = "old", info: str | None = None) -> Arrange:
    def arrange(host: FakeHost) -> None:
        host.add_file(FILE, f"{static}\n".encode())
        host.add_kernel_value(PROC, f"{running}\n".encode())
        if info is not None:
            host.add_file(INFO, info.encode())

    return arrange


def nameless(host: FakeHost) -> None:
    host.add_kernel_value(PROC, b"(none)\n")


class TestHostname(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = HostnameProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = (
        ConformanceCase("other", "host", {"static": "web1"}, Operation.UPDATE, named(), can_delete=False),
        ConformanceCase("no file", "host", {"static": "web1"}, Operation.UPDATE, nameless, can_delete=False),
        ConformanceCase(
            "runs otherwise", "host", {"static": "web1"}, Operation.UPDATE, named("web1"), can_delete=False
        ),
        ConformanceCase("in sync", "host", {"static": "web1"}, None, named("web1", "web1"), can_delete=False),
        ConformanceCase("pretty", "host", {"pretty": "Größe $1"}, Operation.UPDATE, named(), can_delete=False),
        ConformanceCase(
            "pretty goes", "host", {"pretty": ""}, Operation.UPDATE, named(info="PRETTY_HOSTNAME=x\nA=b\n"),
            can_delete=False,
        ),
        ConformanceCase(
            "both", "host", {"static": "a.b", "pretty": "P"}, None,
            named("a.b", "a.b", 'DEPLOYMENT=x\nPRETTY_HOSTNAME="P"\n'), can_delete=False,
        ),
        ConformanceCase("bare", "host", {}, None, named(info="PRETTY_HOSTNAME=x\n"), can_delete=False),
    )  # fmt: skip


def host_with(*arranging: Arrange, **how: Any) -> FakeHost:
    host = FakeHost(**how)
    for one in arranging:
        one(host)
    return host


def wanted(**attributes: Any) -> DesiredHostname:
    return PROVIDER.parse("host", attributes)


def see(host: FakeHost, desired: DesiredHostname) -> Observation:
    return PROVIDER.observe(host.reader(), {"host": desired})["host"]


def planned(host: FakeHost, desired: DesiredHostname) -> Step | None:
    seen = see(host, desired)
    assert isinstance(seen, Present), seen
    return PROVIDER.plan(desired, seen)


def do(host: FakeHost, desired: DesiredHostname) -> list[str]:
    writer = host.writer()
    step = planned(host, desired)
    assert step is not None
    PROVIDER.apply(writer, desired, step)
    return writer.remarks


def test_there_is_one_of_this_type() -> None:
    assert PROVIDER.normal_name("host") == "host"
    with pytest.raises(DesiredError, match="one hostname") as caught:
        PROVIDER.normal_name("web1")
    assert caught.value.hint == "Write hostname:host, and the name as static"


@pytest.mark.parametrize(
    "static", ["a b", "-a", "a-", "a..b", ".a", "a.", "ä", "a_b", "a" * 64, "x/y", "a\n", f"{'a' * 60}.bbbb"]
)
def test_names_that_no_host_can_have(static: str) -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(static=static)
    assert caught.value.attribute == "static"


@pytest.mark.parametrize("pretty", ["a\nb", "\x7f", "\ud800", 5])
def test_what_is_no_line_of_text(pretty: Any) -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(pretty=pretty)
    assert caught.value.attribute == "pretty"


def test_the_file_and_the_running_name_are_set_together() -> None:
    host = host_with(named())
    step = planned(host, wanted(static="web1"))
    assert step == Step(Operation.UPDATE, (Change("static", "old", "web1"), Change("running", "old", "web1")))
    assert not do(host, wanted(static="web1"))
    assert host.files[FILE].data == b"web1\n"
    assert host.kernel_value(PROC) == b"web1\n"


def read_only(host: FakeHost) -> None:
    host.add_mount(MountEntry("/proc/sys", "proc", "proc", frozenset({"ro"})))


def of_another_machine(host: FakeHost) -> None:
    host.add(PROC, FakeFile(uid=65534))


@pytest.mark.parametrize(
    ("how", "arrange", "cause"),
    [
        ({}, read_only, "read-only-kernel"),
        ({}, of_another_machine, "read-only-kernel"),
        ({"is_running_system": False}, lambda _host: None, "no-kernel"),
        ({}, lambda host: host.world.kernel.clear(), "no-kernel"),
    ],
)
def test_where_the_running_name_cannot_be_set_nothing_fails(how: Any, arrange: Arrange, cause: str) -> None:
    """In containers other tools fail the whole run (ansible 19681, 42530)."""
    host = host_with(named(), arrange, **how)
    seen = see(host, wanted(static="web1"))
    assert isinstance(seen, Present)
    assert seen.fields["running"] == NotApplicable(cause)
    do(host, wanted(static="web1"))
    assert planned(host, wanted(static="web1")) is None
    assert [entry.method for entry in host.journal] == ["write_file"]


def test_a_file_that_is_mounted_is_written_in_place() -> None:
    """Docker binds /etc/hostname: a rename over it is refused (ansible 67857)."""
    host = host_with(named("old", "web1"))
    host.files[FILE].is_mount_point = True
    remarks = do(host, wanted(static="web1"))
    assert len(remarks) == 1
    assert "not_atomic" in remarks[0]
    assert planned(host, wanted(static="web1")) is None


@pytest.mark.parametrize(
    ("files", "is_told"),
    [
        ({}, False),
        ({"/etc/cloud/cloud.cfg": "users: []\n"}, True),
        ({"/etc/cloud/cloud.cfg": "preserve_hostname: false\n"}, True),
        ({"/etc/cloud/cloud.cfg": "preserve_hostname: true\n"}, False),
        (
            {"/etc/cloud/cloud.cfg": "x: 1\n", "/etc/cloud/cloud.cfg.d/99.cfg": "preserve_hostname: true\n"},
            False,
        ),
        (
            {"/etc/cloud/cloud.cfg": "x: 1\n", "/etc/cloud/cloud.cfg.d/README": "preserve_hostname: true\n"},
            True,
        ),
    ],
)
def test_cloud_init_that_gives_another_name_is_told(files: dict[str, str], is_told: bool) -> None:
    host = host_with(named())
    for path, text in files.items():
        host.add_file(path, text.encode())
    assert do(host, wanted(static="web1")) == ([CLOUD] if is_told else [])


def test_every_other_line_of_machine_info_stays() -> None:
    info = "# c\nCHASSIS=vm\nPRETTY_HOSTNAME='old one'\nICON_NAME=x\nPRETTY_HOSTNAME=again"
    host = host_with(named(info=info))
    assert planned(host, wanted(pretty='a "b" $c`\\')) is not None
    do(host, wanted(pretty='a "b" $c`\\'))
    assert host.files[INFO].data == b'# c\nCHASSIS=vm\nPRETTY_HOSTNAME="a \\"b\\" \\$c\\`\\\\"\nICON_NAME=x'
    do(host, wanted(pretty=""))
    assert host.files[INFO].data == b"# c\nCHASSIS=vm\nICON_NAME=x"


@given(
    st.lists(st.sampled_from([b"A=b", b"", b"# x", b" PRETTY_HOSTNAME=x", b"export PRETTY_HOSTNAME='y'", b"Z"])),
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cc", "Cs"]), max_size=8),
)
def test_a_pretty_name_is_read_as_it_was_written(lines: list[bytes], name: str) -> None:
    data = b"\n".join(lines)
    after = with_pretty(data, name)
    assert pretty_of(after) == name
    assert with_pretty(after, name) == after
    others = [line for line in lines if b"PRETTY" not in line]
    assert [line for line in after.split(b"\n") if line and b"PRETTY" not in line] == [line for line in others if line]


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"", None), (b"\n# c\n  web1 \nx\n", "web1"), (b"# only\n", None), (b"w\xff\n", "w\\xff")],
)
def test_comments_and_empty_lines_are_no_names(data: bytes, name: str | None) -> None:
    assert static_of(data) == name


@pytest.mark.parametrize(("path", "field"), [(FILE, "static"), (INFO, "pretty")])
def test_what_is_no_file_is_told_and_stays(path: str, field: str) -> None:
    host = host_with(named("web1", "web1"))
    host.add(path, FakeFile(FileKind.DIRECTORY, "0755"))
    step = planned(host, wanted(**{field: "web1"}))
    assert step is not None
    assert step.changes == (Change(f"{field}_kind", "directory", "regular"),)
    detail = f"A directory stands at '{path}', and no regular file; take it away, then apply again."
    assert [(need.target.kind, need.detail) for need in step.needs] == [("nothing", detail)]
    bare = see(host, wanted())
    assert isinstance(bare, Present)
    assert field not in PROVIDER.adopt("host", bare)
    assert isinstance(see(host, wanted(pretty="x") if field == "static" else wanted(static="x")), Present)


def test_a_name_is_never_taken_away() -> None:
    seen = see(host_with(named()), wanted())
    assert isinstance(seen, Present)
    assert seen.obstacles == ("A host always has a name; declare the one that it shall have.",)
    assert PROVIDER.removal(wanted()) is Removal.NEVER


def test_what_is_declared_is_held() -> None:
    assert PROVIDER.targets(wanted()) == ()
    assert PROVIDER.targets(wanted(pretty="x")) == (Target("path", INFO),)
    assert PROVIDER.targets(wanted(static="x")) == (Target("path", FILE), Target("kernel_key", "kernel/hostname"))
    step = Step(Operation.UPDATE, (Change("static", None, "x"), Change("running", "y", "x")))
    assert PROVIDER.effects(wanted(static="x"), step) == (Effect(Target("path", FILE)),)
    edges = PROVIDER.edges(wanted(static="x", pretty="y"), Index.of({"directory:/etc": None}))
    assert [edge.target for edge in edges] == [ResourceId("directory", "/etc")]


def test_leftovers_are_cleared() -> None:
    host = host_with(named("web1", "web1"))
    host.world.residues.add(FILE)
    do(host, wanted(static="web1"))
    assert not host.world.residues


def test_a_name_that_could_not_be_declared_is_not_adopted() -> None:
    with pytest.raises(DesiredError):
        PROVIDER.adopt("host", Present({"static": "a_b", "pretty": ""}))
    assert PROVIDER.adopt("host", Present({"static": "ab", "pretty": ""})) == {"static": "ab"}
