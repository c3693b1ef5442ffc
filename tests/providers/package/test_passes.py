"""Packages in a whole pass: several transactions, sources that fail, archives that are out of reach."""

import errno
from collections.abc import Mapping
from typing import Any, Final

import pytest

from datum.model.manifest import Resource
from datum.model.result import FailureCause
from datum.provider.contract import AnyProvider
from datum.testing.host import FakeHost
from datum_providers.file.provider import FileProvider
from datum_providers.package import tools
from datum_providers.package.provider import PackageProvider
from datum_providers.package_source.provider import PackageSourceProvider
from tests.providers.package.fake_apt import SOURCES, FakeApt
from tests.unit.fakes import declare
from tests.unit.reconciler.bench import Bench, result_of, story

PROVIDERS: Final[Mapping[str, AnyProvider]] = {
    "file": FileProvider(),
    "package": PackageProvider(),
    "package_source": PackageSourceProvider(),
}
UNREACHABLE = "W: Failed to fetch http://a.example.org/InRelease  Could not connect to a.example.org:80\n"
FILE = "file:/srv/between"
# Three runs of apt: of other options, and after an action of another type.
THREE = (
    declare("package:aa"),
    declare("package:bb", recommends=True),
    declare(FILE, after=["package:aa", "package:bb"], content=""),
    declare("package:cc", after=[FILE]),
)
NAMES = ("aa", "bb", "cc")


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PAUSE", 0.0)


def arranged(apt: FakeApt, *resources: Resource) -> Bench:
    host = FakeHost()
    apt.install_in(host)
    host.add_directory("/srv")
    host.add_directory("/etc/apt/sources.list.d")
    return Bench(resources, host, PROVIDERS)


def runs(apt: FakeApt) -> list[str]:
    verbs = {"install", "update"}
    found = [argv[next(n for n, word in enumerate(argv) if word in verbs) :] for argv in apt.log]
    return [" ".join(words) for words in found]


def source(name: str, **more: Any) -> Resource:
    said: dict[str, Any] = {"uris": ("https://deb.example.org/",), "suites": ("stable",), "components": ("main",)}
    return declare(f"package_source:{name}", **said, **more)


def causes(bench: Bench, *names: str) -> set[FailureCause | None]:
    results = bench.run()
    return {result_of(results, f"package:{name}").cause for name in names}


def test_one_update_is_enough_for_a_pass_of_several_transactions() -> None:
    """It is run for the first of them, and brings what the others need."""
    apt = FakeApt(fresh={name: ["1"] for name in NAMES})
    bench = arranged(apt, *THREE)
    assert set(story(bench.run()).values()) == {"applied"}
    assert runs(apt) == ["update", "install aa=1", "install bb=1", "install cc=1"]


def test_lists_that_stay_older_than_a_source_are_fetched_once_in_a_pass() -> None:
    apt = FakeApt({name: ["1"] for name in NAMES}, unreachable=UNREACHABLE)
    bench = arranged(apt, *THREE)
    bench.host.files[SOURCES].modified = 10_000
    assert set(story(bench.run()).values()) == {"applied"}
    assert runs(apt) == ["update", "install aa=1", "install bb=1", "install cc=1"]


def test_what_an_archive_out_of_reach_has_is_looked_for_once_in_a_pass() -> None:
    """And no transaction of it says that the fleet is at fault."""
    apt = FakeApt({"other": ["1"]}, unreachable=UNREACHABLE)
    bench = arranged(apt, *THREE)
    assert causes(bench, *NAMES) == {FailureCause.NETWORK}
    assert runs(apt) == ["update"]


def test_files_that_an_archive_lost_are_asked_for_again_once_in_a_pass() -> None:
    apt = FakeApt({name: ["1"] for name in NAMES}, gone=99)
    bench = arranged(apt, *THREE)
    assert causes(bench, *NAMES) == {FailureCause.NETWORK}
    assert runs(apt) == ["install aa=1", "update", "install aa=1", "install bb=1", "install cc=1"]


def test_an_update_that_could_not_run_was_an_attempt() -> None:
    apt = FakeApt(locked=1, timeout="0")
    bench = arranged(apt, *THREE)
    results = bench.run()
    assert result_of(results, "package:aa").cause is FailureCause.BUSY
    assert result_of(results, "package:bb").cause is FailureCause.NETWORK
    assert runs(apt) == ["update"]


def test_the_next_pass_fetches_them_again() -> None:
    """What it does not find in lists that are whole, no archive has."""
    apt = FakeApt({"aa": ["1"], "cc": ["1"]})
    bench = arranged(apt, *THREE)
    bench.host.files[SOURCES].modified = 101
    results = bench.run()
    assert story(results) == {"package:aa": "applied", "package:bb": "failed", FILE: "applied", "package:cc": "applied"}
    (found,) = result_of(results, "package:bb").diagnostics
    assert "no pass tries that twice" in found.detail
    assert result_of(results, "package:bb").cause is FailureCause.NETWORK
    bench.host.close()
    assert causes(bench, "bb") == {FailureCause.OTHER}
    assert apt.updates == 2


def test_lists_that_somebody_just_fetched_do_not_use_up_the_attempt() -> None:
    """They do not have what is missing; a file that an archive lost meanwhile is another reason."""
    apt = FakeApt({"aa": ["1"]}, gone=1, is_fresh=True)
    bench = arranged(apt, declare("package:aa"), declare("package:bb"))
    assert story(bench.run())["package:aa"] == "applied"
    assert runs(apt) == ["install aa=1", "update", "install aa=1"]


def test_packages_wait_for_every_source() -> None:
    """Where one of them cannot be written, a package would come from another archive, or in another version."""
    apt = FakeApt({"app": ["1"]})
    bench = arranged(apt, source("first"), source("second"), declare("package:app"))
    bench.host.fail(errno.EIO, method="write_file", subject="/etc/apt/sources.list.d/second.sources")
    results = bench.run()
    assert story(results) == {
        "package_source:first": "applied", "package_source:second": "failed", "package:app": "skipped",
    }  # fmt: skip
    assert runs(apt) == []


def test_a_source_that_requires_a_package_comes_after_it() -> None:
    """The package that it names cannot wait for it; every other does."""
    apt = FakeApt({"keyring": ["1"], "app": ["1"]})
    resources = source("own", requires=["package:keyring"]), declare("package:keyring"), declare("package:app")
    bench = arranged(apt, *resources)
    bench.host.fail(errno.EIO, method="write_file", subject="/etc/apt/sources.list.d/own.sources")
    assert story(bench.run()) == {
        "package:keyring": "applied", "package_source:own": "failed", "package:app": "skipped",
    }  # fmt: skip
