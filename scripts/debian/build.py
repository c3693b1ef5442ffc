"""Build the sdist, the wheel and the Debian package of the tree around this file; print the three paths.

`python -m scripts.debian.build [--out DIR] [--suite bookworm|trixie]`. Needs dpkg-deb, an index of packages
for pip, and no rights. Two builds of one tree, of one suite and with equal constraints, are equal byte for byte.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from scripts import man
from scripts.debian import control, distributions
from scripts.debian.distributions import ROOT, BuildError, Distributions
from scripts.debian.environment import SUITES, Environment, Suite, make

FILES: Final = Path(__file__).with_name("files")
_BASE: Final = "usr/lib/datum/dist"
_DOC: Final = f"usr/share/doc/{control.NAME}"
_COMPLETIONS: Final = {
    "bash": "usr/share/bash-completion/completions/datum",
    "zsh": "usr/share/zsh/vendor-completions/_datum",
    "fish": "usr/share/fish/vendor_completions.d/datum.fish",
}
# The first line names the version that the link leads to; a version has its own in the place of the link. Isolated:
# whatever the caller's PYTHONPATH names, an agent that is root does not import it.
_ENTRY: Final = """\
#!/usr/lib/datum/venv/bin/python -I
import sys

from datum.cli.main import main

sys.exit(main())
"""


def build(suite: Suite, out: Path) -> tuple[Path, ...]:
    """Build everything into a folder.

    Returns:
        The sdist, the wheel, and the package.

    Raises:
        BuildError: it failed.
    """
    epoch = distributions.epoch_of(ROOT)
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="datum-build-") as name:
        work = Path(name)
        made = distributions.build(ROOT, work, epoch=epoch)
        version = control.debian_version(distributions.version_of(ROOT), suite)
        package = control.Package(version, suite, _architecture(), epoch)
        deb = _build_deb(package, made, work)
        return tuple(_keep(path, out) for path in (made.sdist, made.wheel, deb))


def _keep(path: Path, out: Path) -> Path:
    """Put a result into its place at once, so that nobody meets half a file."""
    part = out / f".{path.name}.part"
    shutil.copyfile(path, part)
    return part.rename(out / path.name)


def _build_deb(package: control.Package, made: Distributions, work: Path) -> Path:
    root = work / "root"
    (root / _BASE).mkdir(parents=True)
    environment = make(made.wheel, ROOT, package.suite, root / _BASE)
    _add_command(root)
    units = _add_units(root, package)
    _add_pages(root, package, environment)
    _add_scripts(root, package, units)
    _normalise(root, package.epoch)
    _add_control(root, package, environment)
    target = work / package.file_name
    # xz makes a quarter less of it in fifteen times the time. One thread, or the bytes depend on the machine.
    pack = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z6", "--threads-max=1", "--build", str(root), str(target)]
    distributions.run(pack)
    return target


def _add_command(root: Path) -> None:
    (root / _BASE / "bin/datum").write_text(_ENTRY)
    (root / _BASE / "bin/datum").chmod(0o755)
    (root / "usr/bin").mkdir()
    (root / "usr/bin/datum").symlink_to("../lib/datum/venv/bin/datum")
    (root / "etc/datum").mkdir(parents=True)


def _add_units(root: Path, package: control.Package) -> list[str]:
    """Put the units and accounts, which are the agent's own data, where the host looks for them; return the units."""
    units = root / _BASE / f"lib/python{package.suite.python}/site-packages/datum/units"
    found = sorted(path for path in units.iterdir() if path.suffix in {".service", ".timer", ".target"})
    for path in found:
        _write(root / "usr/lib/systemd/system" / path.name, path.read_bytes())
    _write(root / f"usr/lib/sysusers.d/{control.NAME}.conf", (units / "sysusers.conf").read_bytes())
    _write(root / "etc/needrestart/conf.d/datum.conf", (FILES / "datum.needrestart.conf").read_bytes())
    return [path.name for path in found]


def _add_pages(root: Path, package: control.Package, environment: Environment) -> None:
    for shell, place in _COMPLETIONS.items():
        _write(root / place, _own("datum", "completion", shell))
    day = man.day_of(package.epoch)
    for name, text in man.pages(distributions.version_of(ROOT), day).items():
        _write(root / f"usr/share/man/man1/{name}.gz", control.compressed(text.encode()))
    _write(root / _DOC / "copyright", control.copyright_of(environment).encode())
    _write(root / _DOC / "changelog.gz", control.changelog(package))
    _write(root / _DOC / "NEWS.md.gz", control.compressed((ROOT / "CHANGELOG.md").read_bytes()))
    _write(root / _DOC / "README.Debian", (FILES / "README.Debian").read_bytes())
    for path in sorted((ROOT / "docs").rglob("*.md")):
        _write(root / _DOC / "docs" / path.relative_to(ROOT / "docs"), path.read_bytes())
    overrides = (FILES / "lintian-overrides").read_bytes()
    _write(root / f"usr/share/lintian/overrides/{control.NAME}", overrides)


def _own(*words: str) -> bytes:
    """Return what a command of this tree prints."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'providers'}"}
    asked = subprocess.run([sys.executable, "-m", *words], env=env, capture_output=True, check=False)
    if asked.returncode:
        raise BuildError(f"{' '.join(words)}: {asked.stderr.decode(errors='replace')}")
    return asked.stdout


def _add_scripts(root: Path, package: control.Package, units: list[str]) -> None:
    sysusers = (root / f"usr/lib/sysusers.d/{control.NAME}.conf").read_text().splitlines()
    values = {
        "@COMMON@": (FILES / "common.sh").read_text(),
        "@TIMERS@": " ".join(name for name in units if name.endswith(".timer")),
        "@ACCOUNTS@": " ".join(line.split()[1] for line in sysusers if line.startswith("u ")),
        "@VERSION@": package.version,
    }
    for name in ("postinst", "prerm", "postrm"):
        text = (FILES / name).read_text()
        for mark, value in values.items():
            text = text.replace(mark, value)
        _write(root / "DEBIAN" / name, text.encode(), mode=0o755)


def _add_control(root: Path, package: control.Package, environment: Environment) -> None:
    size = sum(-(-path.lstat().st_size // 1024) for path in root.rglob("*") if "DEBIAN" not in path.parts)
    _write(root / "DEBIAN/control", control.control(package, environment, size).encode())
    _write(root / "DEBIAN/conffiles", b"/etc/needrestart/conf.d/datum.conf\n")
    _write(root / "DEBIAN/md5sums", control.checksums(root).encode())
    for path in (root / "DEBIAN").iterdir():
        os.utime(path, (package.epoch, package.epoch))
    os.utime(root / "DEBIAN", (package.epoch, package.epoch))


def _write(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def _normalise(root: Path, epoch: int) -> None:
    """Give all files the rights and the date that do not depend on who builds where."""
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_symlink():
            os.utime(path, (epoch, epoch), follow_symlinks=False)
            continue
        executable = path.is_dir() or (path.stat().st_mode & 0o100 and ".so" not in path.suffixes)
        path.chmod(0o755 if executable else 0o644)
        os.utime(path, (epoch, epoch))
    root.chmod(0o755)


def _architecture() -> str:
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Build what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(prog="build-deb", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="where to put them (dist)")
    parser.add_argument("--suite", choices=sorted(SUITES), default="bookworm", help="the Debian that it is for")
    wanted = parser.parse_args()
    try:
        for path in build(SUITES[wanted.suite], wanted.out):
            print(path)
    except (BuildError, OSError) as error:
        print(f"build-deb: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
