"""What a time zone means, what is seen of it, planned and done."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

import pytest
from attrs import evolve

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.observation import Observation, Present
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import AnyProvider, DesiredError, Removal
from datum.provider.host import FileKind
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.timezone.desired import DesiredTimezone
from datum_providers.timezone.provider import TimezoneProvider
from tests.providers.index import Index

PROVIDER: Final = TimezoneProvider()
LOCAL: Final = "/etc/localtime"
NAME: Final = "/etc/timezone"
ZONES: Final = "/usr/share/zoneinfo"
BERLIN: Final = f"..{ZONES}/Europe/Berlin"
Arrange = Callable[[FakeHost], None]


def tzdata(host: FakeHost) -> None:
    for name in ("Europe/Berlin", "Europe/Paris", "Etc/UTC", "America/New_York", "right/Europe/Berlin"):
        host.add_file(f"{ZONES}/{name}", b"TZif2" + name.encode())
    host.add_file(f"{ZONES}/tzdata.zi", b"# version")
    host.add_file(f"{ZONES}/Zoned", b"no zone")
    host.add_link(f"{ZONES}/UTC", "Etc/UTC")
    host.add_link(f"{ZONES}/Europe/Busingen", "Berlin")
    host.add_link(f"{ZONES}/US/Eastern", "../America/New_York")


def local(link: str = BERLIN, name: str | None = None) -> Arrange:
    def arrange(host: FakeHost) -> None:
        tzdata(host)
        host.add_link(LOCAL, link)
        if name is not None:
            host.add_file(NAME, f"{name}\n".encode())

    return arrange


def copied(host: FakeHost) -> None:
    tzdata(host)
    host.add(LOCAL, FakeFile(data=b"TZif2", links=2))


def of(zone: str) -> dict[str, str]:
    return {"zone": zone}


class TestTimezone(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = TimezoneProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = tuple(
        evolve(case, can_delete=False)
        for case in (
            ConformanceCase("in sync", "host", of("Europe/Berlin"), None, local()),
            ConformanceCase("nothing there", "host", of("Europe/Berlin"), Operation.UPDATE, tzdata),
            ConformanceCase("other zone", "host", of("Europe/Paris"), Operation.UPDATE, local()),
            ConformanceCase("other name", "host", of("Europe/Berlin"), Operation.UPDATE, local(name="Europe/Paris")),
            ConformanceCase("both", "host", of("Europe/Paris"), Operation.UPDATE, local(name="Etc/UTC")),
            ConformanceCase("copy", "host", of("Europe/Paris"), Operation.UPDATE, copied),
            ConformanceCase("elsewhere", "host", of("Etc/UTC"), Operation.UPDATE, local("/srv/zone")),
            ConformanceCase("unknown", "host", of("Europe/Berln"), Operation.UPDATE, local(), converges=False),
            ConformanceCase("bare", "host", {}, None, local(name="Etc/UTC")),
        )
    )


def host_with(*arranging: Arrange) -> FakeHost:
    host = FakeHost()
    for one in arranging:
        one(host)
    return host


def wanted(zone: str = "Europe/Berlin") -> DesiredTimezone:
    return PROVIDER.parse("host", {"zone": zone})


def see(host: FakeHost, desired: DesiredTimezone) -> Observation:
    return PROVIDER.observe(host.reader(), {"host": desired})["host"]


def planned(host: FakeHost, desired: DesiredTimezone) -> Step | None:
    seen = see(host, desired)
    assert isinstance(seen, Present), seen
    return PROVIDER.plan(desired, seen)


def do(host: FakeHost, desired: DesiredTimezone) -> None:
    step = planned(host, desired)
    assert step is not None
    assert not step.needs
    PROVIDER.apply(host.writer(), desired, step)
    assert planned(host, desired) is None


def test_there_is_one_of_this_type() -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.normal_name("Europe/Berlin")
    assert caught.value.hint == "Write timezone:host, and the zone as zone"


@pytest.mark.parametrize("zone", ["", "../x", "/etc", "a//b", "a b", "Europe/", "x" * 256, "-a", ".x", "a\n"])
def test_names_that_no_zone_has(zone: str) -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(zone)
    assert caught.value.attribute == "zone"


def test_the_path_of_a_zone_is_told_its_name() -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(f"{ZONES}/Europe/Berlin")
    assert caught.value.hint == "zone: Europe/Berlin"


@pytest.mark.parametrize("link", [BERLIN, f"{ZONES}/Europe/Berlin", "../usr/share//zoneinfo/./Europe/Busingen"])
def test_links_are_compared_by_the_zone_that_they_name(link: str) -> None:
    assert planned(host_with(local(link)), wanted()) is None


@pytest.mark.parametrize(
    ("zone", "other"),
    [("UTC", "Etc/UTC"), ("Etc/UTC", "UTC"), ("Zulu", "UTC"), ("US/Eastern", "America/New_York")],
)
def test_two_names_of_one_zone_never_flap(zone: str, other: str) -> None:
    """UTC and Etc/UTC flapped (puppet-timezone 73)."""
    host = host_with(local(f"{ZONES}/{other}", other))
    host.add_link(f"{ZONES}/Zulu", "Etc/UTC")
    assert planned(host, wanted(zone)) is None
    assert not host.journal


def test_zones_without_links_have_the_names_of_utc_all_the_same() -> None:
    host = host_with(local(f"{ZONES}/UTC"))
    host.add_file(f"{ZONES}/UTC", b"TZif2")
    assert planned(host, wanted("Etc/UTC")) is None


def test_a_copy_becomes_a_relative_link() -> None:
    """Copies and hard links go out of date (puppet-timezone 76)."""
    host = host_with(copied)
    step = planned(host, wanted())
    assert step is not None
    assert step.changes == (Change("kind", "regular", "symlink"), Change("zone", None, "Europe/Berlin"))
    assert PROVIDER.effects(wanted(), step) == (Effect(Target("path", LOCAL)),)
    do(host, wanted())
    assert host.files[LOCAL].link == BERLIN


def test_the_name_is_written_only_where_it_is() -> None:
    host = host_with(local())
    do(host, wanted("Europe/Paris"))
    assert NAME not in host.files
    host.add_file(NAME, b"Europe/Berlin\n")
    do(host, wanted("Europe/Paris"))
    assert host.files[NAME].data == b"Europe/Paris\n"


@pytest.mark.parametrize("text", [b"", b"../../etc/passwd\n", b"a\nb\n", b"\xff\n"])
def test_a_name_that_is_none_is_another_one(text: bytes) -> None:
    host = host_with(local())
    host.add_file(NAME, text)
    do(host, wanted())
    assert host.files[NAME].data == b"Europe/Berlin\n"


def test_a_link_in_the_place_of_the_name_is_left_alone() -> None:
    host = host_with(local())
    host.add_link(NAME, "/run/x")
    assert planned(host, wanted()) is None


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Germany/Berlin", "Europe/Berlin"),
        ("Xyz/Qqq", "the package tzdata"),
    ],
)
def test_a_zone_that_there_is_not_is_an_error_that_names_those_like_it(zone: str, near: str) -> None:
    step = planned(host_with(local()), wanted(zone))
    assert step is not None
    assert [str(need.target) for need in step.needs] == [f"path {ZONES}/{zone}"]
    assert near in step.needs[0].detail
    assert "right/" not in step.needs[0].detail


@pytest.mark.parametrize("zone", ["Zoned", "Europe"])
def test_what_is_no_zone_is_none(zone: str) -> None:
    step = planned(host_with(local()), wanted(zone))
    assert step is not None
    assert step.needs


def test_a_link_that_leads_to_nothing_is_drift() -> None:
    host = host_with(lambda host: host.add_link(LOCAL, BERLIN))
    step = planned(host, wanted())
    assert step is not None
    assert step.changes == (Change("zone_known", before=False, after=True),)
    assert "tzdata" in step.needs[0].detail


def test_what_is_mounted_there_cannot_be_made_a_link() -> None:
    host = host_with(copied)
    host.files[LOCAL].is_mount_point = True
    step = planned(host, wanted())
    assert step is not None
    assert [need.target.kind for need in step.needs] == ["nothing"]


@pytest.mark.parametrize("kind", [FileKind.DIRECTORY, FileKind.FIFO])
def test_what_is_neither_link_nor_file_is_told_and_stays(kind: FileKind) -> None:
    host = host_with(tzdata)
    host.add(LOCAL, FakeFile(kind, "0755"))
    step = planned(host, wanted())
    assert step is not None
    assert step.changes[0] == Change("kind", kind.value, "symlink")
    (need,) = step.needs
    assert need.target.kind == "nothing"
    assert f"stands at '{LOCAL}'" in need.detail


@pytest.mark.parametrize("kind", [FileKind.DIRECTORY, FileKind.FIFO, FileKind.SYMLINK])
def test_what_is_no_file_at_etc_timezone_says_nothing(kind: FileKind) -> None:
    host = host_with(local())
    host.add(NAME, FakeFile(kind, "0755", link="/x" if kind == "symlink" else ""))
    seen = see(host, wanted())
    assert isinstance(seen, Present)
    assert "etc_timezone" not in seen.fields


def test_leftovers_are_cleared() -> None:
    host = host_with(local())
    host.world.residues.add(LOCAL)
    do(host, wanted())
    assert not host.world.residues


def test_a_loop_of_links_ends() -> None:
    host = host_with(local())
    host.add_link(f"{ZONES}/A", "B")
    host.add_link(f"{ZONES}/B", "A")
    step = planned(host, wanted("A"))
    assert step is not None
    assert step.needs


def test_a_zone_is_held_and_never_taken_away() -> None:
    assert [target.key for target in PROVIDER.targets(wanted())] == [LOCAL, NAME]
    assert PROVIDER.targets(PROVIDER.parse("host", {})) == ()
    assert PROVIDER.removal(wanted()) is Removal.NEVER
    seen = see(host_with(local()), wanted())
    assert isinstance(seen, Present)
    assert seen.obstacles


def test_it_comes_after_what_brings_the_zone() -> None:
    held = {Target("package", "tzdata"): "package:tzdata", Target("path", f"{ZONES}/Europe/Berlin"): "file:/zone"}
    index = evolve(Index(), holders={target: ResourceId.parse(text) for target, text in held.items()})
    found = [(str(edge.target), edge.kind, edge.soft) for edge in PROVIDER.edges(wanted(), index)]
    assert found == [
        ("package:tzdata", DependencyKind.AFTER, True),
        ("file:/zone", DependencyKind.AFTER, True),
    ]


@pytest.mark.parametrize(("zone", "adopted"), [("Etc/UTC", {"zone": "Etc/UTC"}), (None, {})])
def test_what_is_adopted(zone: Any, adopted: dict[str, str]) -> None:
    assert PROVIDER.adopt("host", Present({"zone": zone})) == adopted
