"""What a killed write leaves behind is read by no program that takes every file of a folder (design 4.7).

For each reader, on a running system: a good file, and beside it leftovers of other ones, named as `residue_name` names
them, with content that would show: files, a link, a directory. The reader must take the good one and none of these; and
must take that content under a normal name, or the test could not fail. What `readers` says that it takes, by which the
kills of `tests/proofs` are judged, is compared with what it does take.

Not looked at: `/etc/apt/keyrings`, of which no program takes every file (sources name theirs by `Signed-By`); udev's
rules, polkit, rsyslog, NetworkManager and netplan, which the image does not have.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

from attrs import field, frozen

from datum.host.residue import residue_name
from datum.provider.paths import NAME_MAX
from tests.harness.booted import Booted
from tests.harness.machine import Machine
from tests.proofs.readers import readers_that_take

# What shows in the reader's answer, and is part of the file's name.
GOOD: Final = "goodmark"
BAD: Final = "badmark"
# Of a link, a directory, and a name that only some readers pass over.
LINK: Final = "linkmark"
FOLDER: Final = "foldermark"
NEAR: Final = "nearmark"
# What links lead to.
ELSEWHERE: Final = "/srv/elsewhere"


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


def check(host: Machine, reader: Reader) -> bool:
    """See that leftovers do not show, and that their content would; clear all that away.

    Return whether the name shows that only some pass over.
    """
    folder, names = reader.folder, {mark: reader.name.replace("{}", mark) for mark in (GOOD, BAD, LINK, FOLDER, NEAR)}
    host.run(["mkdir", "-p", folder, ELSEWHERE])
    planted = {mark: [residue_name(names[mark], folder)] for mark in (LINK, FOLDER)}
    planted[GOOD], planted[BAD] = [names[GOOD]], leftovers(names[BAD], folder)
    planted[NEAR] = [f".{names[NEAR]}.datum.dpkg-tmp"]
    for mark in (GOOD, BAD, NEAR):
        for name in planted[mark]:
            reader.put(host, mark, name)
    target, inner = f"{ELSEWHERE}/{names[LINK]}", f"{folder}/{planted[FOLDER][0]}"
    host.write(target, reader.content.replace("{}", LINK), mode=reader.mode)
    host.run(["ln", "-s", target, f"{folder}/{planted[LINK][0]}"])
    host.run(["mkdir", inner])
    host.write(f"{inner}/{names[FOLDER]}", reader.content.replace("{}", FOLDER), mode=reader.mode)
    answer = reader.ask(host)
    shown = {mark for mark in planted if mark in answer}
    for mark, found in planted.items():
        compare(folder, found, is_taken=mark in shown)
    assert shown - {NEAR} == {GOOD}, reader
    reader.put(host, BAD, names[BAD])
    host.run(["ln", "-s", target, f"{folder}/{names[LINK]}"])
    answer = reader.ask(host)
    assert BAD in answer, reader
    assert LINK in answer, reader
    names_here = {*names.values(), *(name for found in planted.values() for name in found)}
    host.run(["rm", "-rf", target, *(f"{folder}/{name}" for name in sorted(names_here))])
    return NEAR in shown


def compare(folder: str, names: Iterable[str], *, is_taken: bool) -> None:
    """See that the model of the readers agrees with one."""
    for name in names:
        assert bool(readers_that_take(f"{folder}/{name}".lstrip("/"))) is is_taken, f"{folder}/{name}"


def test_no_reader_of_a_running_system_takes_a_leftover(booted: Booted) -> None:
    near = {name for name, reader in READERS.items() if check(booted, reader)}
    # Those that ADR 0031 names.
    assert near == {"run-parts-lsb", "logrotate"}
    check_preferences_of_apt(booted)
    check_cron(booted)


def check_preferences_of_apt(host: Machine) -> None:
    def pinned() -> set[str]:
        answer = host.run(["apt-cache", "policy", *PINNED.values()]).stdout
        parts = answer.split("Installed:")[1:]
        return {mark for mark, part in zip(PINNED, parts, strict=True) if " 777\n" in part}

    folder = "/etc/apt/preferences.d"
    content = {mark: f"Package: {package}\nPin: version *\nPin-Priority: 777\n" for mark, package in PINNED.items()}
    host.write(f"{folder}/{GOOD}", content[GOOD])
    for leftover in leftovers(BAD, folder):
        host.write(f"{folder}/{leftover}", content[BAD])
    assert pinned() == {GOOD}
    compare(folder, [GOOD], is_taken=True)
    compare(folder, leftovers(BAD, folder), is_taken=False)
    host.write(f"{folder}/{BAD}", content[BAD])
    assert pinned() == {GOOD, BAD}


def check_cron(host: Booted) -> None:
    """Jobs of the start of cron: those of leftovers would be done at once, and the good one takes its time."""
    folder = "/etc/cron.d"
    jobs = {GOOD: f"sleep 1; touch /root/{GOOD}", BAD: f"touch /root/{BAD}"}
    host.write(f"{folder}/{GOOD}", f"@reboot root {jobs[GOOD]}\n")
    for leftover in leftovers(BAD, folder):
        host.write(f"{folder}/{leftover}", f"@reboot root {jobs[BAD]}\n")
    host.write(f"{ELSEWHERE}/{BAD}", f"@reboot root {jobs[BAD]}\n")
    host.run(["ln", "-s", f"{ELSEWHERE}/{BAD}", f"{folder}/{residue_name(LINK, folder)}"])
    assert done_by_cron(host, GOOD) == {GOOD}
    compare(folder, [GOOD], is_taken=True)
    compare(folder, [*leftovers(BAD, folder), residue_name(LINK, folder)], is_taken=False)
    host.run(["ln", "-s", f"{ELSEWHERE}/{BAD}", f"{folder}/{LINK}"])
    assert done_by_cron(host, GOOD, BAD) == {GOOD, BAD}


def done_by_cron(host: Booted, *awaited: str) -> set[str]:
    """Return the marks of the jobs that cron does when it starts, once these are done."""
    host.run(["systemctl", "stop", "cron"])
    host.run(["rm", "-f", f"/root/{GOOD}", f"/root/{BAD}", "/run/crond.reboot"])
    host.run(["systemctl", "start", "cron"])
    wait_for(lambda: all((host.path / "root" / mark).exists() for mark in awaited))
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
    compare(folder, [f"{GOOD}.service", f"main.service.d/{GOOD}.conf"], is_taken=True)
    compare(
        folder,
        [f"{part}{name}" for part in ("", "main.service.d/") for name in leftovers("x.conf", folder)],
        is_taken=False,
    )
    for number in range(len(leftovers("x", folder))):
        put(BAD, lambda name, number=number: leftovers(name, folder)[number])  # type: ignore[misc]
    found = answer()
    assert all(text in found for text in (f"{GOOD}.service", f"{GOOD}drop=1", f"{GOOD}want.service"))
    assert BAD not in found
    put(BAD, str)
    found = answer()
    assert all(text in found for text in (f"{BAD}.service", f"{BAD}drop=1", f"{BAD}want.service"))
