"""The Debian root file system that test hosts stand on: built once, kept in a cache.

The image is only ever the lower layer of an overlay, so nothing may write to it. It lies in
``$DATUM_TEST_CACHE`` (default ``~/.cache/datum-tests``), keyed by recipe, suite, architecture and
packages. Mirrors and the way apt fetches are read from this machine's own apt configuration at run
time. ``python -m tests.harness.image [SUITE...]`` builds what is missing, of all suites unless told
otherwise, and prints the folders.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

RECIPE: Final = 1  # raise whenever what this module makes changes
SUITE: Final = "bookworm"
"""The Debian of a host when nothing else is asked for."""

TRIXIE: Final = "trixie"
SUITES: Final = (SUITE, TRIXIE)
PACKAGES: Final = (  # noqa: SIM905 - one name a line is hard to read
    "acl attr ca-certificates cron curl dbus e2fsprogs git iproute2 iputils-ping kmod less "
    "libnss-systemd libpam-systemd logrotate openssh-client procps python3 python3-apt python3-venv strace "
    "sudo systemd systemd-sysv"
).split()
# Of one suite only: keys of ssh are tried against a server, mounts with programs that answer for file systems.
MORE_PACKAGES: Final = {TRIXIE: ("bindfs", "fuse2fs", "openssh-server", "sshfs", "tzdata")}

# What only costs boot time in a namespace, or reaches out of a test host by itself.
MASKED_UNITS: Final = (  # noqa: SIM905 - one name a line is hard to read
    "apt-daily.timer apt-daily-upgrade.timer dev-hugepages.mount e2scrub_all.timer "
    "e2scrub_reap.service getty.target sys-fs-fuse-connections.mount systemd-binfmt.service "
    "systemd-firstboot.service systemd-networkd.service systemd-networkd.socket "
    "systemd-networkd-wait-online.service systemd-remount-fs.service systemd-timesyncd.service "
    "systemd-update-utmp.service systemd-update-utmp-runlevel.service"
).split()
MASKED_GENERATORS: Final = (  # noqa: SIM905 - one name a line is hard to read
    "systemd-debug-generator systemd-getty-generator systemd-gpt-auto-generator "
    "systemd-hibernate-resume-generator systemd-integritysetup-generator "
    "systemd-veritysetup-generator"
).split()
TEXTS: Final = {
    "etc/apt/apt.conf.d/90datum-tests": 'APT::Install-Recommends "false";\n',
    "etc/default/locale": "LANG=C.UTF-8\n",
    "etc/dpkg/dpkg.cfg.d/datum-tests": "force-unsafe-io\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/machine-id": "",  # empty, or systemd would run its first-boot wizard
    "etc/resolv.conf": "",
    "etc/systemd/journald.conf.d/datum-tests.conf": (
        "[Journal]\nStorage=persistent\nSystemMaxUse=64M\nRateLimitIntervalSec=0\n"
    ),
}
MORE_TEXTS: Final = {SUITE: {"etc/timezone": "Etc/UTC\n"}}
SOURCE_FORMS: Final = {
    SUITE: "deb {} {} {}\n",
    TRIXIE: "Types: deb\nURIs: {}\nSuites: {}\nComponents: {}\n\n",
}
COMPLETE: Final = ".datum-tests-complete"
# dpkg's many small writes go to a tmpfs that ends with its mount namespace.
BUILD: Final = """
mount -t tmpfs -o size=4g,mode=1777 tmpfs "$WORK/tmp"
TMPDIR=$WORK/tmp mmdebstrap --quiet --mode=root --variant=minbase --format=tar \
    --dpkgopt=force-unsafe-io --aptopt="$WORK/apt.conf" --include="$PACKAGES" \
    "$SUITE" - - < "$WORK/sources.list" |
  tar -xp --xattrs --xattrs-include='*' --numeric-owner -C "$WORK/rootfs"
"""


class ImageError(Exception):
    """The image cannot be had on this machine; the text says what is missing."""


def cache() -> Path:
    """Return the folder outside the repository where images are kept; it need not exist."""
    named = os.environ.get("DATUM_TEST_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "datum-tests"


def folder(suite: str = SUITE) -> Path:
    """Return where the image of this recipe lies, or would lie."""
    recipe = [str(RECIPE), suite, _architecture(), *_packages(suite)]
    key = hashlib.sha256(" ".join(recipe).encode()).hexdigest()[:12]
    return cache() / f"rootfs-{suite}-{key}"


def find_or_build(suite: str = SUITE) -> Path:
    """Return the image's folder, building it first where it is missing.

    Any number of processes may call this at once: one builds, the others wait for it.

    Raises:
        ImageError: it is missing and cannot be built here.
    """
    if shutil.which("dpkg") is None:
        raise ImageError("test hosts need a Debian machine: there is no dpkg here")
    target = folder(suite)
    if (target / COMPLETE).exists():
        return target
    if os.geteuid() != 0:
        raise ImageError(f"the image {target} is missing and only root can build it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / COMPLETE).exists():
            _build(target, suite)
    return target


def _packages(suite: str) -> tuple[str, ...]:
    return (*PACKAGES, *MORE_PACKAGES.get(suite, ()))


@functools.cache
def _architecture() -> str:
    return _output("dpkg", "--print-architecture").strip()


def _build(target: Path, suite: str) -> None:
    """Build into a folder beside the target, then rename: a killed build leaves no half image."""
    _install_tools()
    with tempfile.TemporaryDirectory(prefix="build.", dir=target.parent) as name:
        work = Path(name)
        work.chmod(0o755)
        (work / "tmp").mkdir(mode=0o1777)
        (work / "rootfs").mkdir()
        (work / "sources.list").write_text(_sources(suite))
        (work / "apt.conf").write_text(_fetching())
        settings = {"WORK": name, "SUITE": suite, "PACKAGES": ",".join(_packages(suite))}
        script = ["bash", "-euo", "pipefail", "-c", BUILD]
        built = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", *script],
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        if built.returncode:
            raise ImageError(f"building the {suite} image failed; mmdebstrap's words are above")
        _customise(work / "rootfs", MORE_TEXTS.get(suite, {}))
        shutil.rmtree(target, ignore_errors=True)
        (work / "rootfs").rename(target)


def _customise(root: Path, more: Mapping[str, str]) -> None:
    """Make a fresh Debian boot fast and quietly as a test host."""
    for name, text in {**TEXTS, **more}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
    links = {f"etc/systemd/system/{unit}": "/dev/null" for unit in MASKED_UNITS}
    links |= {f"etc/systemd/system-generators/{name}": "/dev/null" for name in MASKED_GENERATORS}
    links["etc/systemd/system/default.target"] = "/lib/systemd/system/multi-user.target"
    links["etc/localtime"] = "/usr/share/zoneinfo/Etc/UTC"
    for name, to in links.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(to)
    for name in ("etc/hostname", "var/lib/dbus/machine-id"):
        (root / name).unlink(missing_ok=True)
    # /etc and /var are as new as /usr: no systemd-sysusers and the like at first boot
    for name in ("etc/.updated", "var/.updated", COMPLETE):
        (root / name).touch()


def _sources(suite: str) -> str:
    """Return this machine's own Debian sources, for the wanted suite, in the format in which its installer has them."""
    if not _indexes():
        _apt_get("update", "-qq")
    own = _output("sh", "-c", '. /etc/os-release && echo "$VERSION_CODENAME"').strip()
    sources = set()
    for index in _indexes():
        uri, release, component = index.split()
        if release == own or release.startswith(f"{own}-"):
            sources.add((uri, f"{suite}{release.removeprefix(own)}", component))
    if not sources:
        raise ImageError("apt has no index of this machine's own Debian release: apt-get update")
    form = SOURCE_FORMS[suite]
    return "".join(form.format(*source) for source in sorted(sources))


def _indexes() -> list[str]:
    """Return ``uri release component`` of each package index of Debian that apt knows here."""
    format_ = "$(ORIGIN)|$(REPO_URI) $(RELEASE) $(COMPONENT)"
    listed = _output("apt-get", "indextargets", "--format", format_, "Created-By: Packages")
    return [line.removeprefix("Debian|") for line in listed.splitlines() if line[:7] == "Debian|"]


def _fetching() -> str:
    """Return how apt fetches here (proxies, retries, validity), without this machine's hooks."""
    kept = ("http", "https", "Retries", "Check-Valid-Until", "Check-Date", "ForceIPv", "Languages")
    wanted = tuple(f"Acquire::{name}" for name in kept)
    dump = _output("apt-config", "dump").splitlines(keepends=True)
    return "".join(line for line in dump if line.startswith(wanted))


def _install_tools() -> None:
    missing = [tool for tool in ("mmdebstrap", "tar", "unshare") if shutil.which(tool) is None]
    if missing:
        _apt_get("update", "-qq")
        packages = ["util-linux" if tool == "unshare" else tool for tool in missing]
        _apt_get("install", "-y", "-qq", "--no-install-recommends", *packages)


def _apt_get(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=False,
    )
    if done.returncode:
        raise ImageError(f"apt-get {arguments[0]} failed; its words are above")


def _output(*argv: str) -> str:
    try:
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ImageError(f"{argv[0]} does not answer: {error}") from error


def main() -> int:
    """Print the folders of the images; build first what is missing."""
    for suite in sys.argv[1:] or SUITES:
        try:
            path = find_or_build(suite)
        except ImageError as error:
            sys.stderr.write(f"tests.harness.image: {error}\n")
            return 1
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
