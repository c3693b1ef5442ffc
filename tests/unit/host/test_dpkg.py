"""Owners of paths from dpkg's files."""

from pathlib import Path

import pytest

from datum.host.dpkg import Diversion, PackageIndex, owners_of, parse_diversions, parse_installed
from datum.host.local import LocalHost
from datum.model.observation import Cause
from datum.provider.host import HostError
from tests.unit.host.files import refused

STATUS = b"""Package: bash
Status: install ok installed
Architecture: amd64

Package: libc6
Status: hold ok half-configured
Architecture: amd64

Package: libc6
Status: deinstall ok config-files
Architecture: i386

Package: gone
Status: deinstall ok config-files
Architecture: all

Package: never
Status: unknown ok not-installed
Architecture: all

Package: odd
"""


def test_what_has_files_on_the_disk_counts_as_installed() -> None:
    assert parse_installed(STATUS) == {b"bash", b"bash:amd64", b"libc6", b"libc6:amd64"}


def test_journal_replaces_older_stanzas() -> None:
    later = b"\n\nPackage: bash\nStatus: deinstall ok config-files\nArchitecture: amd64\n"
    assert b"bash" not in parse_installed(STATUS + later)


def test_diverted_file_lies_elsewhere_unless_the_diverting_package_lists_it() -> None:
    diversions = parse_diversions(b"/bin/sh\n/bin/sh.distrib\ndash\n/etc/x\n/etc/x.local\n:\n")
    assert diversions[1] == Diversion(b"/etc/x", b"/etc/x.local", b":")
    owners = owners_of([("bash", b"/.\n/bin/sh\n"), ("dash:amd64", b"/.\n/bin/sh\n"), ("x", b"/etc/x\n")], diversions)
    assert owners[b"/bin/sh"] == "dash"
    assert owners[b"/bin/sh.distrib"] == "bash"
    assert owners[b"/etc/x.local"] == "x"
    assert b"/etc/x" not in owners
    assert owners[b"/."] == "bash"
    assert b"" not in owners


@pytest.fixture
def root(tmp_path: Path) -> Path:
    info = tmp_path / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    (info.parent / "updates").mkdir()
    (info.parent / "updates/0001").write_bytes(b"Package: fresh\nStatus: install ok unpacked\nArchitecture: all\n")
    (info.parent / "updates/tmp.i").write_bytes(b"half a stanza")
    (info.parent / "status").write_bytes(STATUS)
    (info / "bash.list").write_text("/bin/bash\n/etc/caf\udce9\n", "utf-8", "surrogateescape")
    (info / "libc6:amd64.list").write_bytes(b"/lib/libc.so.6\n")
    (info / "gone.list").write_bytes(b"/etc/gone\n")
    (info / "fresh.list").write_bytes(b"/etc/fresh\n")
    (info / "bash.md5sums").write_bytes(b"/etc/no\n")
    (info / "format").write_bytes(b"1\n")
    return tmp_path


def test_owner_is_read_below_the_root(root: Path) -> None:
    with LocalHost(str(root)) as host:
        reader = host.reader()
        assert reader.package_of("/bin/bash") == "bash"
        assert reader.package_of("/etc/caf\udce9") == "bash"
        assert reader.package_of("/etc/fresh") == "fresh"
        assert reader.package_of("/etc/gone") is None
        assert reader.package_of("/etc/no") is None


def test_merged_usr_knows_both_spellings(root: Path) -> None:
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/lib").mkdir()
    (root / "bin").symlink_to("usr/bin")
    with LocalHost(str(root)) as host:
        reader = host.reader()
        assert reader.package_of("/usr/bin/bash") == "bash"
        assert reader.package_of("/bin/bash") == "bash"
        # Here /lib is no such link, so it is another directory.
        assert reader.package_of("/usr/lib/libc.so.6") is None


def test_root_without_a_database_has_no_packages(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path)) as host:
        assert host.reader().package_of("/bin/bash") is None


def test_unreadable_database_is_a_sickness(root: Path) -> None:
    (root / "var/lib/dpkg/status").unlink()
    (root / "var/lib/dpkg/status").mkdir()
    with LocalHost(str(root)) as host, refused("packages-unreadable") as found:
        host.reader().package_of("/bin/bash")
    assert found[0].cause is Cause.DATABASE


def test_the_system_s_own_word_is_kept() -> None:
    def fail(_: str) -> tuple[str, ...]:
        raise HostError("No memory.", cause=Cause.NO_MEMORY)

    with refused() as found:
        PackageIndex.read(fail, lambda _: b"")
    assert found[0].cause is Cause.NO_MEMORY
