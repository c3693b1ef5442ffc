"""dpkg's files, read as dpkg writes them."""

import errno
from collections.abc import Mapping

import pytest

from datum.model.observation import Absent, Cause, Scope, Unobservable
from datum.provider.host import FileFacts, HostError, Missing
from datum.testing.host import FakeHost
from datum_providers.package.database import Database, parse_database, read_database
from datum_providers.package.provider import PackageProvider
from tests.providers.package.fake_apt import STATUS, FakeApt, Stanza

DPKG = "Package: dpkg\nEssential: yes\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21.22\n"
UPDATES = "/var/lib/dpkg/updates"


def database(status: str, *journal: str, architectures: str = "", marks: str = "") -> Database:
    entries = [entry.encode() for entry in journal]
    return parse_database(f"{DPKG}\n{status}".encode(), entries, architectures.encode(), marks.encode())


def stanza(name: str, status: str = "install ok installed", architecture: str = "amd64", more: str = "") -> str:
    return f"Package: {name}\nStatus: {status}\nArchitecture: {architecture}\nVersion: 1.0-1\n{more}"


def state_of(found: Database, name: str) -> tuple[str, str] | None:
    package = found.find_spelt(name)
    return None if package is None else (package.selection, package.state)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("install ok installed", ("install", "installed")),
        ("hold ok installed", ("hold", "installed")),
        ("deinstall ok installed", ("deinstall", "installed")),
        ("deinstall ok config-files", ("deinstall", "config-files")),
        ("install ok half-configured", ("install", "half-configured")),
        ("install ok unpacked", ("install", "unpacked")),
        ("install reinstreq half-installed", ("install", "reinst-required")),
        ("install reinstreq installed", ("install", "reinst-required")),
        ("deinstall reinstreq config-files", ("deinstall", "config-files")),
        ("purge ok not-installed", None),
        ("install ok triggers-awaited", ("install", "triggers-awaited")),
    ],
)
def test_each_word_of_a_status_is_read(status: str, expected: tuple[str, str] | None) -> None:
    assert state_of(database(stanza("app", status)), "app") == expected


def test_descriptions_and_conffiles_are_no_fields() -> None:
    more = "Conffiles:\n /etc/app 1234\nDescription: it\n Status: hold ok unpacked\n .\n Package: other\n"
    found = database(stanza("app", more=more) + "\n" + stanza("last"))
    assert (state_of(found, "app"), state_of(found, "other")) == (("install", "installed"), None)
    assert state_of(found, "last") == ("install", "installed")


def test_architectures_are_told_apart() -> None:
    both = f"{stanza('lib')}\n{stanza('lib', 'install ok unpacked', 'i386')}\n{stanza('doc', architecture='all')}"
    found = database(both, architectures="amd64\ni386\n")
    assert state_of(found, "lib") == state_of(found, "lib:amd64") == ("install", "installed")
    assert state_of(found, "lib:i386") == ("install", "unpacked")
    assert state_of(found, "doc") == state_of(found, "doc:amd64") == ("install", "installed")
    assert state_of(found, "doc:i386") is None
    assert state_of(found, "lib:arm64") is None
    assert [found.knows(name) for name in ("", "amd64", "i386", "arm64")] == [True, True, True, False]


def test_a_package_that_became_one_for_all_architectures_is_found() -> None:
    was = stanza("app", "purge ok not-installed")
    assert state_of(database(f"{was}\n{stanza('app', architecture='all')}"), "app") == ("install", "installed")


def test_the_journal_says_more_than_the_status() -> None:
    found = database(stanza("app"), stanza("app", "install ok unpacked"), stanza("new", "install ok half-configured"))
    assert state_of(found, "app") == ("install", "unpacked")
    assert state_of(found, "new") == ("install", "half-configured")
    assert found.is_interrupted


def test_marks_are_those_of_apt() -> None:
    entries = (("app", "amd64", 1), ("doc", "amd64", 1), ("lib", "i386", 1), ("own", "amd64", 0))
    marks = "\n".join(f"Package: {name}\nArchitecture: {of}\nAuto-Installed: {on}\n" for name, of, on in entries)
    parts = [stanza("app"), stanza("doc", architecture="all"), stanza("lib"), stanza("lib", architecture="i386")]
    found = database("\n".join([*parts, stanza("own")]), marks=marks)

    def is_manual(name: str) -> bool:
        package = found.find_spelt(name)
        assert package is not None
        return found.is_manual(package)

    names = ("app", "doc", "lib", "lib:i386", "own")
    assert {name: is_manual(name) for name in names} == {
        "app": False, "doc": False, "lib": True, "lib:i386": False, "own": True,
    }  # fmt: skip


@pytest.mark.parametrize("field", ["Essential: yes\n", "Protected: yes\n"])
def test_what_may_never_go_is_known(field: str) -> None:
    package = database(stanza("app", more=field)).find("app")
    assert package is not None
    assert package.is_essential


@pytest.mark.parametrize(
    "status", [b"", b"\n\n", b"Package: app\nStatus: install ok installed\n", b"rubbish\n\nmore\n"]
)
def test_what_dpkg_cannot_have_written_says_that_the_host_is_sick(status: bytes) -> None:
    host = FakeHost()
    FakeApt().install_in(host)
    host.files[STATUS].data = status
    provider = PackageProvider()
    seen = provider.observe(host.reader(), {"app": provider.parse("app", {})})["app"]
    assert isinstance(seen, Unobservable)
    assert (seen.cause, seen.scope) == (Cause.DATABASE, Scope.HOST)


def test_an_entry_without_a_state_spoils_no_other() -> None:
    host = FakeHost()
    FakeApt().install_in(host, Stanza("app"))
    host.files[STATUS].data += b"\nPackage: odd\nStatus: install ok\nArchitecture: amd64\n"
    provider = PackageProvider()
    seen = provider.observe(host.reader(), {name: provider.parse(name, {}) for name in ("app", "odd")})
    assert not isinstance(seen["app"], Unobservable)
    assert isinstance(seen["odd"], Unobservable)
    assert (seen["odd"].cause, seen["odd"].scope) == (Cause.PARSE, Scope.RESOURCE)


def test_a_host_without_dpkg_has_no_packages_and_can_get_none() -> None:
    provider = PackageProvider()
    wanted = provider.parse("app", {})
    seen = provider.observe(FakeHost().reader(), {"app": wanted})["app"]
    assert seen == Absent({"dpkg_known": False})
    step = provider.plan(wanted, seen)
    assert step is not None
    assert [str(need.target) for need in step.needs] == ["path /var/lib/dpkg"]


def test_a_database_that_cannot_be_read_keeps_the_systems_own_cause() -> None:
    host = FakeHost()
    FakeApt().install_in(host)
    host.fail(errno.EIO, method="read_file", subject=STATUS)
    with pytest.raises(HostError) as caught:
        read_database(host.reader())
    assert caught.value.cause is Cause.IO


class Merging:
    """A host whose dpkg merges its journal while somebody reads it."""

    def __init__(self, host: FakeHost, merged: str) -> None:
        self._reader = host.reader()
        self._host = host
        self._merged = merged
        self.listed = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._reader, name)

    def examine(self, path: str) -> FileFacts | Missing:
        return self._reader.examine(path)

    def list_directory(self, path: str) -> tuple[str, ...]:
        names = self._reader.list_directory(path)
        self.listed += 1
        if names:
            self._host.world.remove(f"{UPDATES}/{names[0]}")
            self._host.files[STATUS].data = self._merged.encode()
        return names


def test_a_journal_that_is_merged_meanwhile_is_read_again() -> None:
    host = FakeHost()
    FakeApt().install_in(host, interrupted=[Stanza("app", state="unpacked")])
    reader = Merging(host, f"{DPKG}\n{stanza('app')}")
    found = read_database(reader)  # type: ignore[arg-type]  # the rest of it is the real fake
    assert (state_of(found, "app"), found.is_interrupted) == (("install", "installed"), False)
    assert reader.listed == 2


def test_names_that_are_no_numbers_are_not_of_the_journal() -> None:
    host = FakeHost()
    FakeApt().install_in(host, interrupted=[Stanza("app", state="unpacked")])
    host.add_file(f"{UPDATES}/tmp.i", b"half of a stan")
    found = read_database(host.reader())
    assert state_of(found, "app") == ("install", "unpacked")


def test_nothing_of_a_database_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each observation reads the files anew."""
    host = FakeHost()
    FakeApt().install_in(host, Stanza("app"))
    provider = PackageProvider()
    wanted: Mapping[str, object] = {"app": provider.parse("app", {})}
    first = provider.observe(host.reader(), wanted)  # type: ignore[arg-type]  # what parse answered
    host.files[STATUS].data = DPKG.encode()
    assert provider.observe(host.reader(), wanted) != first  # type: ignore[arg-type]  # likewise
