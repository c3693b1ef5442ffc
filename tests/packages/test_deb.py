"""The Debian package as a file: what is in it, what it says of itself, and that it can be built again."""

import hashlib
import itertools
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from scripts.debian.control import debian_version
from scripts.debian.environment import SUITES
from tests.architecture.tracked import ROOT
from tests.packages.building import EPOCH, PARTS, SITE, Built, build, copy_tree, unpack

DIST = "usr/lib/datum/dist"
MEGABYTE = 1 << 20
# Without any right of root, though as root: not everybody may read the environment that runs the tests.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--")


@pytest.fixture(scope="module")
def root(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the package, unpacked."""
    return unpack(built.deb, tmp_path_factory.mktemp("deb") / "root")


def field(deb: Path, name: str) -> str:
    return subprocess.run(["dpkg-deb", "-f", str(deb), name], check=True, capture_output=True, text=True).stdout.strip()


def test_it_is_built_again_byte_for_byte_elsewhere_and_without_rights(built: Built, tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "elsewhere/a tree of another name", *PARTS)
    env = {
        "SOURCE_DATE_EPOCH": str(EPOCH),
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C",
        "HOME": str(tmp_path),
        "PYTHONHASHSEED": "7",
    }
    through = ("sh", "-c", 'umask 077; exec "$@"', "sh", *(WITHOUT_RIGHTS if os.geteuid() == 0 else ()))
    again = build(tree, tmp_path / "out", env=env, through=through)
    assert again.wheel.read_bytes() == built.wheel.read_bytes()
    assert again.deb.read_bytes() == built.deb.read_bytes()


@pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not there: scripts/setup test, as root")
def test_lintian_has_nothing_to_say(built: Built) -> None:
    argv = ["lintian", "--info", "--display-info", "--fail-on", "error,warning,info", "--allow-root", str(built.deb)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mismatched-override" not in done.stdout, done.stdout


def test_every_override_has_a_reason() -> None:
    lines = (ROOT / "scripts/debian/files/lintian-overrides").read_text().splitlines()
    before = ""
    for line in lines:
        if line and not line.startswith("#"):
            assert before.startswith(("#", "datum-agent")), line
        before = line


def test_it_belongs_to_the_python_of_its_debian(built: Built, root: Path) -> None:
    assert "python3.11," in field(built.deb, "Depends")
    assert str((root / DIST / "bin/python").readlink()) == "/usr/bin/python3.11"
    assert "home = /usr/bin\n" in (root / DIST / "pyvenv.cfg").read_text()


def test_it_asks_for_the_libc_that_its_libraries_need(built: Built, root: Path) -> None:
    asked = re.search(r"libc6 \(>= 2\.(\d+)\)", field(built.deb, "Depends"))
    assert asked is not None
    needed = {
        int(found)
        for path in (root / DIST).rglob("*.so*")
        for found in re.findall(rb"GLIBC_2\.(\d+)\0", path.read_bytes())
    }
    assert needed
    assert max(needed) <= int(asked[1]) <= SUITES["bookworm"].libc


def test_it_holds_no_installer_no_tests_and_no_notes_of_the_build(root: Path, tmp_path: Path) -> None:
    names = {path.name for path in (root / SITE).iterdir()}
    assert not names & {"pip", "setuptools", "wheel", "bin", "hatchling", "pytest", "mypy", "hypothesis"}
    every = list(root.rglob("*"))
    assert not [path for path in every if path.name in {"tests", "__pycache__", "RECORD", "direct_url.json"}]
    texts = [path for path in every if path.is_file() and not path.is_symlink()]
    # Folders of this build; those of the makers of the wheels stand in what they compiled.
    foreign = [str(ROOT).encode(), b"/tmp/datum-build"]
    assert not [path for path in texts if any(word in path.read_bytes() for word in foreign)]


def test_what_the_libraries_are_under_is_told_with_their_own_words(root: Path) -> None:
    said = (root / "usr/share/doc/datum-agent/copyright").read_text()
    for info in (root / SITE).glob("*.dist-info"):
        name = re.search(r"^Name: (.+)$", (info / "METADATA").read_text(), re.MULTILINE)
        assert name is not None
        assert f"  {name[1]} " in said


def test_it_stays_small(built: Built) -> None:
    """A third of what the environment of a developer is; a number that jumps is looked at."""
    assert built.deb.stat().st_size < 24 * MEGABYTE
    assert int(field(built.deb, "Installed-Size")) < 80 * 1024


def test_no_file_is_writable_by_others_or_runs_with_the_rights_of_its_owner(root: Path) -> None:
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        if not path.is_symlink():
            assert stat.S_IMODE(mode) in ({0o755} if path.is_dir() else {0o644, 0o755}), path


def test_dpkg_can_verify_every_file(root: Path) -> None:
    listed = dict(line.split("  ", 1)[::-1] for line in (root / "DEBIAN/md5sums").read_text().splitlines())
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    own = {str(path.relative_to(root)): path for path in files if "DEBIAN" not in path.parts}
    assert set(listed) == set(own)
    assert all(hashlib.md5(path.read_bytes()).hexdigest() == listed[name] for name, path in own.items())


def test_units_and_accounts_are_those_of_the_agent(root: Path) -> None:
    units = ROOT / "datum/units"
    placed = {path.name: path.read_bytes() for path in (root / "usr/lib/systemd/system").iterdir()}
    assert placed == {path.name: path.read_bytes() for path in units.iterdir() if path.name in placed}
    assert {"datum.service", "datum.timer"} <= set(placed)
    accounts = (root / "usr/lib/sysusers.d/datum-agent.conf").read_bytes()
    assert accounts == (units / "sysusers.conf").read_bytes()


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_the_scripts_are_complete(root: Path, script: str) -> None:
    text = (root / "DEBIAN" / script).read_text()
    assert not re.findall(r"@[A-Z]+@", text)
    subprocess.run(["sh", "-n", str(root / "DEBIAN" / script)], check=True)


def test_versions_sort_for_dpkg_as_they_do_for_python() -> None:
    rising = ["0.1.0.dev3", "0.1.0a1", "0.1.0b2", "0.1.0rc1", "0.1.0", "0.1.0.post1", "0.1.1", "0.2", "1.10"]
    debian = [debian_version(version, SUITES["bookworm"]) for version in rising]
    for less, more in itertools.pairwise(debian):
        assert is_less(less, more), (less, more)


def test_the_package_of_a_later_debian_is_an_upgrade() -> None:
    of_bookworm, of_trixie = (debian_version("1.0", SUITES[name]) for name in ("bookworm", "trixie"))
    assert is_less(of_bookworm, of_trixie)
    assert is_less(of_trixie, debian_version("1.0.1", SUITES["bookworm"]))


@pytest.mark.parametrize("version", ["1!1.0", "1.0+local", "now", ""])
def test_a_version_without_a_rule_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="no version"):
        debian_version(version, SUITES["bookworm"])


def is_less(one: str, other: str) -> bool:
    return subprocess.run(["dpkg", "--compare-versions", one, "lt", other], check=False).returncode == 0
