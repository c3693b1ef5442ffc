"""What a killed write leaves behind is read by no program that takes every file of a folder (design 4.7).

For each reader: a good file, and beside it leftovers of another file, named as `residue_name` names them, with content
that would show. The reader must take the good one and none of these; and must take that content under a normal name,
or the test could not fail.

Not looked at: `/etc/apt/keyrings`, of which no program takes every file (sources name theirs by `Signed-By`); udev's
rules, polkit, rsyslog, NetworkManager and netplan, which the image does not have.
"""

import time
from collections.abc import Callable
from typing import Final

import pytest
from attrs import field, frozen

from datum.host.residue import residue_name
from datum.provider.paths import NAME_MAX
from tests.harness.booted import Booted
from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot

# What shows in the reader's answer, and is part of the file's name.
GOOD: Final = "goodmark"
BAD: Final = "badmark"


@frozen
class Reader:
    """One program, and the folder of which it takes every file."""

    folder: str
    # Of a file that it takes; a mark stands for `{}`.
    name: str
    # Likewise.
    content: str
    # Its answer has the mark of each file that it took.
    argv: tuple[str, ...]
    mode: int = 0o644
    environment: dict[str, str] = field(factory=dict)
    # Some only name what they cannot use, and fail.
    check: bool = True

    def ask(self, host: Machine) -> str:
        """Return all that the reader says."""
        done = host.run(self.argv, env=self.environment, check=self.check)
        return done.stdout + done.stderr

    def put(self, host: Machine, mark: str, name: str) -> None:
        """Write the file of a mark under a name."""
        host.write(f"{self.folder}/{name}", self.content.replace("{}", mark), mode=self.mode)


def sh(line: str) -> tuple[str, ...]:
    return ("sh", "-c", line)


def opened(*argv: str) -> tuple[str, ...]:
    """A command line that tells every file that a program opens."""
    return ("strace", "-f", "-qq", "-e", "trace=openat", *argv)


# Of these two packages, which every Debian has, one is pinned by each file.
PINNED: Final = {GOOD: "dash", BAD: "bash"}

READERS: Final = {
    "run-parts": Reader("/etc/cron.hourly", "{}", "#!/bin/sh\necho {}\n", ("run-parts", "/etc/cron.hourly"), 0o755),
    "run-parts-lsb": Reader(
        "/etc/update-motd.d",
        "10-{}",
        "#!/bin/sh\necho {}\n",
        ("run-parts", "--lsbsysinit", "/etc/update-motd.d"),
        0o755,
    ),
    "sudo": Reader(
        "/etc/sudoers.d", "{}", "nobody ALL=(root) NOPASSWD: /bin/{}\n", ("sudo", "-l", "-U", "nobody"), 0o440
    ),
    "logrotate": Reader(
        "/etc/logrotate.d",
        "{}",
        "/var/log/{}.log {\n  missingok\n}\n",
        # It names what it ignores, too.
        sh("logrotate --debug /etc/logrotate.conf 2>&1 | grep '^rotating pattern'"),
    ),
    "apt-sources": Reader(
        "/etc/apt/sources.list.d",
        "{}.list",
        "deb [trusted=yes] file:/{} ./\n",
        ("apt-get", "update", "--print-uris"),
    ),
    "apt-sources-deb822": Reader(
        "/etc/apt/sources.list.d",
        "{}.sources",
        "Types: deb\nURIs: file:/{}\nSuites: ./\nTrusted: yes\n",
        ("apt-get", "update", "--print-uris"),
    ),
    "apt-conf": Reader("/etc/apt/apt.conf.d", "90{}", 'Datum::{} "yes";\n', ("apt-config", "dump")),
    "apt-auth": Reader(
        "/etc/apt/auth.conf.d",
        "{}.conf",
        "machine 127.0.0.1 login {} password none\n",
        # Nothing listens there; what is opened before that shows.
        opened("/usr/lib/apt/apt-helper", "download-file", "http://127.0.0.1:9/", "/tmp/file"),
        check=False,
    ),
    "apt-trusted": Reader(
        "/etc/apt/trusted.gpg.d",
        "{}.gpg",
        "no key\n",
        opened("apt-key", "verify", "/etc/hostname", "/etc/hostname"),
        check=False,
    ),
    "sysctl": Reader("/etc/sysctl.d", "10-{}.conf", "kernel.{} = 1\n", ("sysctl", "--system"), check=False),
    "systemd-sysctl": Reader(
        "/etc/sysctl.d", "10-{}.conf", "kernel.{} = 1\n", ("/usr/lib/systemd/systemd-sysctl", "--cat-config")
    ),
    "systemd-tmpfiles": Reader("/etc/tmpfiles.d", "10-{}.conf", "d /run/{}\n", ("systemd-tmpfiles", "--cat-config")),
    "systemd-sysusers": Reader("/etc/sysusers.d", "10-{}.conf", "u {} -\n", ("systemd-sysusers", "--cat-config")),
    "systemd-modules-load": Reader(
        "/etc/modules-load.d",
        "10-{}.conf",
        "{}\n",
        ("/usr/lib/systemd/systemd-modules-load",),
        environment={"SYSTEMD_LOG_TARGET": "console", "SYSTEMD_LOG_LEVEL": "debug"},
        check=False,
    ),
    "systemd-environment": Reader(
        "/etc/environment.d",
        "10-{}.conf",
        "{}=1\n",
        ("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator",),
    ),
    "modprobe": Reader("/etc/modprobe.d", "{}.conf", "alias {} nothing\n", ("modprobe", "--showconfig")),
    "profile-sh": Reader("/etc/profile.d", "{}.sh", "export {}=1\n", ("sh", "-lc", "env")),
    "profile-bash": Reader("/etc/profile.d", "{}.sh", "export {}=1\n", ("bash", "-lc", "env")),
    "ssh": Reader("/etc/ssh/ssh_config.d", "{}.conf", "Host *\n  SendEnv {}\n", ("ssh", "-G", "example.org")),
    "ld.so": Reader("/etc/ld.so.conf.d", "{}.conf", "/opt/{}\n", ("ldconfig", "-v", "-N", "-X")),
}


def leftovers(name: str, folder: str) -> list[str]:
    """Return what a killed write of a file leaves, and of one whose name is too long to be in it."""
    stem, dot, suffix = name.partition(".")
    long = stem + "x" * (NAME_MAX - len(name)) + dot + suffix
    found = [residue_name(name, folder), residue_name(long, folder), residue_name(name, folder, is_random=True)]
    assert len(set(found)) == len(found)
    return found


def check(host: Machine, reader: Reader) -> None:
    """See that leftovers do not show, and that their content would."""
    host.run(["mkdir", "-p", reader.folder])
    name = reader.name.replace("{}", BAD)
    reader.put(host, GOOD, reader.name.replace("{}", GOOD))
    for leftover in leftovers(name, reader.folder):
        reader.put(host, BAD, leftover)
    answer = reader.ask(host)
    assert GOOD in answer
    assert BAD not in answer
    reader.put(host, BAD, name)
    assert BAD in reader.ask(host)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_no_leftover(oneshot: Oneshot, name: str) -> None:
    check(oneshot, READERS[name])


def test_apt_takes_no_leftover_for_a_preference(oneshot: Oneshot) -> None:
    def pinned() -> set[str]:
        answer = oneshot.run(["apt-cache", "policy", *PINNED.values()]).stdout
        parts = answer.split("Installed:")[1:]
        return {mark for mark, part in zip(PINNED, parts, strict=True) if " 777\n" in part}

    folder = "/etc/apt/preferences.d"
    content = {mark: f"Package: {package}\nPin: version *\nPin-Priority: 777\n" for mark, package in PINNED.items()}
    oneshot.write(f"{folder}/{GOOD}", content[GOOD])
    for leftover in leftovers(BAD, folder):
        oneshot.write(f"{folder}/{leftover}", content[BAD])
    assert pinned() == {GOOD}
    oneshot.write(f"{folder}/{BAD}", content[BAD])
    assert pinned() == {GOOD, BAD}


def test_cron_takes_no_leftover(oneshot: Oneshot) -> None:
    """Jobs of the start of cron: those of leftovers would be done at once, and the good one takes its time."""
    jobs = {GOOD: f"sleep 1; touch /root/{GOOD}", BAD: f"touch /root/{BAD}"}
    oneshot.write(f"/etc/cron.d/{GOOD}", f"@reboot root {jobs[GOOD]}\n")
    for leftover in leftovers(BAD, "/etc/cron.d"):
        oneshot.write(f"/etc/cron.d/{leftover}", f"@reboot root {jobs[BAD]}\n")
    assert done_by_cron(oneshot) == {GOOD}
    oneshot.write(f"/etc/cron.d/{BAD}", f"@reboot root {jobs[BAD]}\n")
    assert done_by_cron(oneshot) == {GOOD, BAD}


def done_by_cron(host: Oneshot) -> set[str]:
    """Return the marks of the jobs that cron does when it starts."""
    host.run(sh(f"rm -f /root/{GOOD} /root/{BAD} /run/crond.reboot"))
    with host.popen(["cron", "-f"]) as cron:
        try:
            wait_for((host.path / "root" / GOOD).exists)
        finally:
            cron.kill()
    return {mark for mark in (GOOD, BAD) if (host.path / "root" / mark).exists()}


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_systemd_takes_no_leftover(booted: Booted) -> None:
    """Units, drop-ins, and links of an enabled unit."""
    folder = "/etc/systemd/system"
    service = "[Service]\nType=oneshot\nExecStart=true\n"
    booted.write(f"{folder}/main.service", service)
    booted.run(["mkdir", f"{folder}/main.service.d", f"{folder}/main.target.wants"])
    booted.write(f"{folder}/main.target", "[Unit]\nDescription=main\n")

    def answer() -> str:
        booted.run(["systemctl", "daemon-reload"])
        return booted.run(
            sh(
                "systemctl list-unit-files --no-legend; systemctl show main.service -p Environment;"
                "systemctl show main.target -p Wants"
            )
        ).stdout

    def put(mark: str, name: Callable[[str], str]) -> None:
        booted.write(f"{folder}/{name(f'{mark}.service')}", service)
        booted.write(f"{folder}/main.service.d/{name(f'{mark}.conf')}", f"[Service]\nEnvironment={mark}drop=1\n")
        link = f"{folder}/main.target.wants/{name(f'{mark}want.service')}"
        booted.run(["ln", "-s", f"{folder}/main.service", link])

    put(GOOD, str)
    for number in range(len(leftovers("x", folder))):
        put(BAD, lambda name, number=number: leftovers(name, folder)[number])  # type: ignore[misc]
    found = answer()
    assert all(text in found for text in (f"{GOOD}.service", f"{GOOD}drop=1", f"{GOOD}want.service"))
    assert BAD not in found
    put(BAD, str)
    found = answer()
    assert all(text in found for text in (f"{BAD}.service", f"{BAD}drop=1", f"{BAD}want.service"))
