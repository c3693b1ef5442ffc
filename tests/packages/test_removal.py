"""The package removed, installed again and purged: what each takes, waits for, and leaves to the host."""

from fnmatch import fnmatchcase

import pytest

from scripts.debian.distributions import version_of
from tests.architecture.tracked import ROOT
from tests.harness.changes import Kind
from tests.packages.packaged import PackagedHost

# What dpkg, systemd and the shadow tools keep for themselves, whatever package comes and goes.
OF_OTHERS = (
    "/var/lib/dpkg/*",
    "/var/log/*",
    "/var/cache/ldconfig/*",
    "/var/lib/systemd/*",
    "/var/tmp/*",
    "/tmp/*",
    "/root/*",
    "/etc/*-",
    "/etc/.pwd.lock",
)


def test_a_removal_keeps_what_the_host_was_told_and_a_purge_takes_it(host: PackagedHost) -> None:
    before = host.machine.changes()
    accounts = {name: host.machine.read(name) for name in ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow")}
    host.dpkg("-i", "old.deb")
    host.enrol()
    kept = host.kept()

    said = host.dpkg("-r", "datum-agent")
    assert "not empty" not in said.replace("'/etc/datum'", "")
    assert host.sh("ls -d /usr/lib/datum /usr/bin/datum /usr/lib/systemd/system/datum* 2>/dev/null") == ""
    assert host.sh("systemctl is-active datum.timer datum-boot.timer") == "inactive\ninactive"
    assert host.sh("systemctl show -P LoadState datum.timer") == "not-found"
    assert host.kept() == kept
    assert host.machine.read("/etc/motd") == b"kept\n"

    host.dpkg("-i", "old.deb")
    assert host.timer() == ("enabled", "active")
    assert host.kept() == kept
    host.machine.write("/etc/motd", "drifted\n")
    host.datum("apply")
    assert host.machine.read("/etc/motd") == b"kept\n"

    host.dpkg("--purge", "datum-agent")
    assert host.machine.read("/etc/motd") == b"kept\n"
    assert {name: host.machine.read(name) for name in accounts} == accounts
    after = host.machine.changes()
    changed = {path: after[path].kind if path in after else Kind.DELETED for path in sorted({*before, *after})
               if before.get(path) != after.get(path)}  # fmt: skip
    ours = {path: kind for path, kind in changed.items() if not any(fnmatchcase(path, each) for each in OF_OTHERS)}
    # A file that was written back to what it was, and folders in which something came and went.
    ours = {path: kind for path, kind in ours.items() if kind is not Kind.TOUCHED}
    assert ours.pop("/etc/motd") is not None
    assert not {path for path in ours if path not in accounts}
    assert not [path for path in changed if "datum" in path and not path.startswith(("/srv", "/var/lib/dpkg/"))]


def test_a_removal_waits_for_the_pass_that_runs(installed: PackagedHost) -> None:
    process = installed.begin_pass()
    removing = installed.begin_dpkg("-r", "datum-agent")
    installed.await_true("! systemctl is-active --quiet datum.timer")
    installed.await_true("pgrep -f '^sleep 1$'")
    assert removing.poll() is None
    assert installed.versions()
    report = installed.end_pass(process)
    assert report["outcome"] == "converged"
    out, err = removing.communicate(timeout=120)
    assert removing.returncode == 0, (out + err).decode()
    assert b"waiting for the end of datum, process" in err
    assert installed.sh("ls -d /usr/lib/datum 2>/dev/null") == ""


def test_a_removal_that_need_not_be_waited_for_fails_and_the_timer_goes_on(installed: PackagedHost) -> None:
    installed.sh("sed -i 's/^patience=300$/patience=0/' /var/lib/dpkg/info/datum-agent.prerm")
    process = installed.begin_pass()
    said = installed.dpkg("-r", "datum-agent", code=1)
    assert "it still runs after 0 s, so nothing is removed" in said
    assert installed.timer() == ("enabled", "active")
    assert installed.version() == version_of(ROOT)
    assert installed.end_pass(process)["outcome"] == "converged"
    assert installed.sh("dpkg --verify datum-agent; dpkg --audit") == ""
    installed.dpkg("-r", "datum-agent")


@pytest.mark.parametrize(
    "begun",
    [
        "setpriv --reuid 65534 --clear-groups bash -c 'exec -a {python} sleep 600'",
        "setpriv --reuid 65534 --clear-groups {python} -c 'import time; time.sleep(600)'",
        # As su does, which anybody can start by any name, and which is root's.
        "bash -c 'exec -a {python} sleep 600'",
    ],
    ids=["another's program", "another's Python", "a program of root's"],
)
def test_a_removal_waits_for_passes_only(installed: PackagedHost, begun: str) -> None:
    (version,) = installed.versions()
    python = f"/usr/lib/datum/versions/{version}/bin/python"
    process = installed.machine.popen(["sh", "-c", f"exec {begun.format(python=python)}"])
    installed.await_true(f"echo {python} | grep -qszaxFf - /proc/[0-9]*/cmdline")
    said = installed.dpkg("-r", "datum-agent")
    assert "waiting" not in said
    assert process.poll() is None
    assert installed.sh("ls -d /usr/lib/datum 2>/dev/null") == ""
    installed.sh("pkill -KILL -f '^sleep 600|^/usr/lib/datum/'; pkill -KILL -x sleep")
    process.communicate(timeout=60)


def test_a_pass_that_removes_its_own_package_ends_well(installed: PackagedHost) -> None:
    installed.commit(
        {
            "package:datum-agent": {"absent": True},
            "file:/etc/after": {"content": "after\n", "requires": ["package:datum-agent"]},
        }
    )
    installed.datum("apply")
    assert installed.machine.read("/etc/after") == b"after\n"
    assert installed.sh("dpkg-query -W -f '${db:Status-Abbrev}' datum-agent") == "rc"
    installed.dpkg("--purge", "datum-agent")
    assert installed.sh("ls -d /usr/lib/datum /etc/datum /var/lib/datum /var/log/datum 2>/dev/null") == ""
