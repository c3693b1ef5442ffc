"""Which names the programs take that read whole folders, by their own rules."""

import re
from collections.abc import Callable, Mapping
from typing import Final

_RUN_PARTS: Final = re.compile(r"[a-zA-Z0-9_-]+")
# run-parts(8), --lsbsysinit: LSB's namespaces as well; its exceptions for what dpkg leaves behind are not relied on
_LSB: Final = re.compile(r"[a-zA-Z0-9_-]+|_?([a-z0-9_.]+-)+[a-z0-9]+")
_LOGROTATE_TABOO: Final = (
    ".bak",
    ".dpkg-bak",
    ".dpkg-del",
    ".dpkg-dist",
    ".dpkg-new",
    ".dpkg-old",
    ".dpkg-tmp",
    ".rpmnew",
    ".rpmorig",
    ".rpmsave",
    ".swp",
    ",v",
    "~",
)

# apt's own rule for all its folders: these characters, no dot at the start.
_APT: Final = re.compile(r"(?!\.)[a-zA-Z0-9_.:-]+")


def _ends(*suffixes: str) -> Callable[[str], bool]:
    """Return what takes names by their ends."""
    return lambda name: name.endswith(suffixes)


def _apt(*suffixes: str) -> Callable[[str], bool]:
    """Return what takes names as apt does; an empty suffix stands for names without one."""
    return lambda name: (
        _APT.fullmatch(name) is not None and name[name.rfind(".") if "." in name else len(name) :] in suffixes
    )


READERS: Final[Mapping[str, tuple[str, Callable[[str], bool]]]] = {
    # cron(8) on Debian: the names of run-parts(8)
    "cron": ("etc/cron.", lambda name: _RUN_PARTS.fullmatch(name) is not None),
    # run-parts(8)
    "run-parts": ("etc/update-motd.d", lambda name: _LSB.fullmatch(name) is not None),
    # sudoers(5): names that end in ~ or hold a dot are skipped
    "sudo": ("etc/sudoers.d", lambda name: "." not in name and not name.endswith("~")),
    # logrotate(8), tabooext; its patterns (fnmatch(3) with FNM_PERIOD) match no name that begins with a dot
    "logrotate": ("etc/logrotate.d", lambda name: name.startswith(".") or not name.endswith(_LOGROTATE_TABOO)),
    # apt.conf(5), sources.list(5), apt_preferences(5), apt_auth.conf(5), apt-key(8)
    "apt-conf": ("etc/apt/apt.conf.d", _apt(".conf", "")),
    "apt-sources": ("etc/apt/sources.list.d", _apt(".list", ".sources")),
    "apt-preferences": ("etc/apt/preferences.d", _apt(".pref", "")),
    "apt-auth": ("etc/apt/auth.conf.d", _apt(".conf")),
    "apt-trusted": ("etc/apt/trusted.gpg.d", _apt(".gpg", ".asc")),
    # systemd.unit(5)
    "systemd": ("etc/systemd", _ends(".service", ".socket", ".timer", ".conf", ".mount", ".path", ".target")),
    # sysctl.d(5), tmpfiles.d(5), sysusers.d(5), modules-load.d(5), environment.d(5)
    **{name: (f"etc/{name}", _ends(".conf")) for name in ("sysctl.d", "tmpfiles.d", "sysusers.d", "modules-load.d")},
    "environment.d": ("etc/environment.d", _ends(".conf")),
    # modprobe.d(5)
    "modprobe": ("etc/modprobe.d", _ends(".conf")),
    # /etc/profile
    "profile": ("etc/profile.d", lambda name: name.endswith(".sh") and not name.startswith(".")),
    # ssh_config(5), ldconfig(8): globs of their configuration
    "ssh": ("etc/ssh/ssh_config.d", lambda name: name.endswith(".conf") and not name.startswith(".")),
    "ld.so": ("etc/ld.so.conf.d", lambda name: name.endswith(".conf") and not name.startswith(".")),
}


def readers_that_take(path: str) -> list[str]:
    """Return the readers that would read a file at a path relative to the root."""
    name = path.rpartition("/")[2]
    return [reader for reader, (place, takes) in READERS.items() if path.startswith(place) and takes(name)]
