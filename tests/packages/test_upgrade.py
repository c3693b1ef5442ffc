"""An upgrade of the package: what it keeps, and that it disturbs no pass, wherever it is killed."""

import subprocess
from pathlib import Path

import pytest

from scripts.debian.distributions import version_of
from tests.architecture.tracked import ROOT
from tests.harness.strace import Strace
from tests.packages.building import SITE, index_of, repacked
from tests.packages.packaged import DEBS, PackagedHost
from tests.proofs.archive import PLACE, SOURCE
from tests.proofs.on_host import reports

OLD = version_of(ROOT)
NEW = "99.1"


def test_an_upgrade_keeps_what_the_host_was_told_and_leaves_the_timer_alone(installed: PackagedHost) -> None:
    kept = installed.kept()
    started = installed.sh("systemctl show -P ActiveEnterTimestamp datum.timer")
    installed.dpkg("-i", "new.deb")
    assert installed.version() == NEW
    assert installed.versions() == [f"{NEW}+deb12.1"]
    assert installed.kept() == kept
    assert installed.timer() == ("enabled", "active")
    assert installed.sh("systemctl show -P ActiveEnterTimestamp datum.timer") == started
    installed.machine.write("/etc/motd", "drifted\n")
    installed.datum("apply")
    assert installed.machine.read("/etc/motd") == b"kept\n"
    assert reports(installed.machine)[-1]["versions"]["datum"] == NEW
    # A timer that somebody stopped stays stopped; the same version again is a version beside it; and back goes as well.
    installed.sh("systemctl stop datum.timer")
    installed.dpkg("-i", "new.deb")
    assert installed.timer() == ("enabled", "inactive")
    assert installed.versions() == [f"{NEW}+deb12.2"]
    installed.dpkg("-i", "old.deb")
    assert installed.version() == OLD


def test_a_pass_that_runs_ends_with_the_files_that_it_began_with(installed: PackagedHost) -> None:
    process = installed.begin_pass()
    (before,) = installed.versions()
    installed.dpkg("-i", "new.deb")
    assert installed.version() == NEW
    assert before in installed.versions()
    report = installed.end_pass(process)
    assert report["outcome"] == "converged"
    assert report["versions"]["datum"] == OLD
    assert installed.machine.read("/etc/after") == b"after\n"
    installed.dpkg("-i", "new.deb")
    assert before not in installed.versions()


def test_a_pass_upgrades_its_own_package(installed: PackagedHost, debs: Path) -> None:
    entry = index_of(debs / "new.deb", "./new.deb")
    installed.sh(f"mkdir -p {PLACE}; cp {DEBS}/new.deb {PLACE}; rm -f /etc/apt/sources.list.d/*")
    installed.machine.write(f"{PLACE}/Packages", entry)
    installed.machine.write("/etc/apt/sources.list", SOURCE)
    installed.commit(
        {
            "package:datum-agent": {"version": f">={NEW}"},
            "command:afterwards": {
                "run": ["touch", "/etc/afterwards"],
                "unless": ["test", "-e", "/etc/afterwards"],
                "requires": ["package:datum-agent"],
            },
            "service:cron": {"running": True, "requires": ["package:datum-agent"]},
        }
    )
    installed.machine.run(["systemctl", "start", "datum.service"], timeout=120)
    assert installed.sh("systemctl show -P Result -P ExecMainStatus datum.service") == "success\n0"
    report = reports(installed.machine)[-1]
    assert (report["outcome"], report["versions"]["datum"]) == ("converged", OLD)
    assert installed.sh("ls /etc/afterwards") == "/etc/afterwards"
    assert installed.sh("dpkg --audit") == ""
    assert installed.version() == NEW
    assert "nothing to do" in installed.datum("apply")
    assert installed.timer() == ("enabled", "active")


def test_a_version_that_does_not_start_does_not_become_the_one_that_runs(installed: PackagedHost, debs: Path) -> None:
    def spoil(root: Path) -> None:
        (root / SITE / "datum/cli/main.py").write_text("import a_library_that_is_not_there\n")

    repacked(debs / "old.deb", debs, "99.2", spoil).rename(debs / "broken.deb")
    said = installed.dpkg("-i", "broken.deb", code=1)
    assert "does not start on this host; what ran before stays" in said
    assert installed.version() == OLD
    assert "nothing to do" in installed.datum("apply")
    assert installed.timer() == ("enabled", "active")
    installed.dpkg("-i", "new.deb")
    assert installed.version() == NEW
    assert installed.versions() == [f"{NEW}+deb12.1"]


def test_a_full_disk_leaves_the_old_version(installed: PackagedHost) -> None:
    installed.sh(f"dpkg --unpack {DEBS}/new.deb")
    installed.machine.fill()
    # By the script, or by dpkg itself, which cannot note how far it came.
    assert installed.machine.run(["dpkg", "--configure", "datum-agent"], check=False, timeout=120).returncode in {1, 2}
    assert installed.version() == OLD
    installed.machine.free()
    installed.dpkg("--configure", "-a")
    assert installed.version() == NEW


@pytest.mark.parametrize(("call", "when"), [("rename", 700), ("unlink,unlinkat,rmdir", 300)])
def test_dpkg_killed_while_it_unpacks_leaves_the_old_version(installed: PackagedHost, call: str, when: int) -> None:
    Strace(installed.machine, timeout=120).inject(["dpkg", "-i", f"{DEBS}/new.deb"], call, when=when, signal="KILL")
    assert installed.version() == OLD
    assert "nothing to do" in installed.datum("apply")
    installed.dpkg("-i", "new.deb")
    assert installed.version() == NEW
    assert installed.sh("dpkg --audit") == ""
    assert installed.versions() == [f"{NEW}+deb12.1"]


@pytest.mark.parametrize(
    "reached",
    [
        "test -n \"$(find /usr/lib/datum/versions/.part -name '*.pyc' -print -quit)\"",
        f"test -e /usr/lib/datum/versions/{NEW}+deb12.1",
    ],
    ids=["compiling", "trying"],
)
def test_dpkg_killed_while_it_configures_is_taken_up_again(installed: PackagedHost, reached: str) -> None:
    process = installed.begin_dpkg("-i", "new.deb")
    installed.await_true(reached)
    kill_all_of(process, installed)
    assert installed.version() in {OLD, NEW}
    assert "nothing to do" in installed.datum("apply")
    installed.dpkg("--configure", "-a")
    assert installed.version() == NEW
    assert len(installed.versions()) == 1
    assert installed.sh("ls -A /usr/lib/datum") == "dist\nvenv\nversions"


def kill_all_of(process: "subprocess.Popen[bytes]", host: PackagedHost) -> None:
    """Kill dpkg and the scripts that it runs, as a power cut would."""
    host.sh("pkill -KILL -f '^dpkg -i|datum-agent.postinst|compileall'")
    process.communicate(timeout=60)
