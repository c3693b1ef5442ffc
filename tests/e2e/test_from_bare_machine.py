"""From a bare machine to a host that keeps itself: enrolled by the lines of README, run by the timer alone.

One story each. Nothing here sleeps for time: what the timer has to bring about is waited for.
"""

import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.site import Host, Resources, Site, revision
from tests.proofs.archive import Archive, Deb

MOTD: Final = "file:/etc/motd"


def motd(text: str) -> Resources:
    return {MOTD: {"content": f"{text}\n"}}


def applied(report: Mapping[str, Any]) -> list[str]:
    """Return what a pass changed."""
    return [one["id"] for one in report["resources"] if one["outcome"] == "applied"]


def test_two_bare_hosts_with_the_package_are_enrolled_over_ssh_and_https_and_follow_each_commit(
    site: Site, deb: Path
) -> None:
    first = site.commit(motd("one"), web1={}, web2={"file:/etc/issue": {"content": "two\n"}})
    hosts = site.enrol_over_ssh("web1", deb=deb), site.enrol_over_https("web2", deb=deb)
    for host in hosts:
        report = host.await_commit(first)
        assert report["trigger"]["kind"] == "timer"
        assert host.read("/etc/motd") == "one\n"
    assert hosts[1].read("/etc/issue") == "two\n"
    second = site.commit(motd("two"), web1={}, web2={"file:/etc/issue": {"content": "two\n"}})
    for host in hosts:
        report = host.await_commit(second)
        assert report["trigger"]["kind"] == "timer"
        assert report["pointer"]["after"]["accepted"] == report["pointer"]["after"]["converged"] == f"sha1:{second}"
        assert host.read("/etc/motd") == "two\n"
        host.datum("plan", "--detailed-exitcode")
        host.datum("status")


def test_while_the_server_is_away_drift_is_repaired_and_once_it_is_back_all_is_well(site: Site) -> None:
    commit = site.commit(motd("one"), web1={})
    host = site.enrol_over_ssh("web1")
    # A conversation that is cut in the middle hangs until then.
    host.give_servers(10)
    host.await_commit(commit)
    site.server.unplug()
    host.await_commit(commit, code=69)
    host.machine.write("/etc/motd", "by hand\n")
    report = host.await_report(lambda found: applied(found) == [MOTD])
    assert (report["exit_code"], report["source"]["status"], revision(report)) == (69, "unreachable", commit)
    assert host.read("/etc/motd") == "one\n"
    assert "unreachable in that pass" in host.datum("status")
    site.server.plug()
    host.await_commit(commit)
    host.datum("status")


@pytest.mark.parametrize("way", ["put-back", "merge"])
def test_a_rewritten_branch_is_refused_and_each_documented_way_leads_out(site: Site, way: str) -> None:
    site.commit(motd("zero"), web1={})
    commit = site.commit(motd("one"), web1={})
    host = site.enrol_over_ssh("web1")
    host.await_commit(commit)
    git = site.author.git
    git("reset", "--quiet", "--hard", "HEAD~1")
    site.commit(motd("rewritten"), web1={})
    report = host.await_commit(commit, code=76)
    assert (report["source"]["status"], applied(report)) == ("refused", [])
    assert host.read("/etc/motd") == "one\n"
    assert "refused in that pass" in host.datum("status")
    assert commit in host.datum("report")
    host.machine.write("/etc/motd", "by hand\n")
    assert host.await_report(lambda found: applied(found) == [MOTD])["exit_code"] == 76
    # It is told which commit is the accepted one, and the host has it.
    host.machine.run(["git", "-C", "/var/lib/datum/mirror.git", "log", commit])
    if way == "put-back":
        git("reset", "--quiet", "--hard", commit)
    else:
        git("merge", "--quiet", "--strategy=ours", "-m", "Go forward", commit)
        commit = site.author.head
    expected = "one\n" if way == "put-back" else "rewritten\n"
    host.await_commit(commit)
    assert host.read("/etc/motd") == expected


FILES: Final = tuple(f"/etc/e2e/{number:03d}" for number in range(60))
# What no file holds.
NOTHING: Final = b"-"
# The script of a package that takes its time.
SLOW: Final = "#!/bin/sh\ntouch /srv/{}; n=0; while [ $n -lt 20 ]; do sleep 0.02; n=$((n + 1)); done\n"


def cargo(number: int) -> Resources:
    """Return many files and a package, all of them with a number in it."""
    files = {f"file:{path}": {"content": f"{path} {number}\n" * 40} for path in FILES}
    return {"directory:/etc/e2e": {}, "package:cargo": {"version": f"{number}-1"}, **files}


def cargo_deb(number: int) -> Deb:
    control = {"preinst": SLOW.format("unpacking"), "postinst": SLOW.format("configuring")}
    return Deb("cargo", f"{number}-1", control=control, files={"/usr/share/cargo/cargo": f"{number}\n"})


def test_a_power_cut_in_the_middle_of_a_pass_is_gone_after_the_next_boot(site: Site) -> None:
    """What was not synced is lost with the power, as on a real disk; five cuts, each in another part of a pass."""
    chance = random.Random(8)
    moments = ["/srv/unpacking", "/srv/configuring", *chance.sample(FILES, 3)]
    first = site.commit(cargo(0), web1={})
    host = site.enrol_over_ssh(
        "web1", lossy=True, before=lambda machine: Archive(machine).publish(*map(cargo_deb, range(6)))
    )
    host.await_commit(first)
    for number, moment in enumerate(moments, 1):
        host.machine.run(["sh", "-c", "rm -f /srv/unpacking /srv/configuring; sync"])
        before = host.machine.read(moment) if moment in FILES else NOTHING
        commit = site.commit(cargo(number), web1={})
        await_change(host, moment, before)
        time.sleep(chance.random() * 0.05)
        host.machine.cut()
        host.machine.start()
        report = host.await_commit(commit)
        for path in FILES:
            assert host.read(path) == f"{path} {number}\n" * 40
        assert host.read("/usr/share/cargo/cargo") == f"{number}\n"
        assert host.sh("dpkg --audit; dpkg-query -W -f '${db:Status-Abbrev}' cargo") == "ii"
        assert host.sh("ls -A /etc/e2e").split() == [path.rpartition("/")[2] for path in FILES], "nothing is left over"
        after = report["pointer"]["after"]
        assert (after["accepted"], after["trail"], after["converged"]) == (
            f"sha1:{commit}",
            [f"sha1:{commit}"],
            f"sha1:{commit}",
        )
        host.datum("status")


def await_change(host: Host, path: str, before: bytes = NOTHING) -> None:
    """Wait until a file is there that says something else."""

    def is_another() -> bool:
        try:
            return host.machine.read(path) != before
        except FileNotFoundError:
            return False

    host.await_true(is_another)


def test_a_reboot_in_the_middle_of_a_pass_ends_in_a_converged_host(site: Site) -> None:
    commit = site.commit(cargo(0), web1={})
    host = site.enrol_over_ssh("web1", before=lambda machine: Archive(machine).publish(*map(cargo_deb, range(2))))
    host.await_commit(commit)
    host.machine.run(["rm", "-f", "/srv/configuring"])
    commit = site.commit(cargo(1), web1={})
    await_change(host, "/srv/configuring")
    host.machine.reboot()
    report = host.await_commit(commit)
    assert "boot" in host.triggers, "the pass at boot was one of them"
    assert host.sh("dpkg --audit; dpkg-query -W -f '${db:Status-Abbrev}' cargo") == "ii"
    assert {host.read(path) for path in FILES} == {f"{path} 1\n" * 40 for path in FILES}
    assert report["outcome"] == "converged"


def test_a_host_that_gets_another_name_follows_its_new_declarations(site: Site) -> None:
    old: Resources = {"file:/etc/e2e-old": {"content": "old\n", "on_removal": "delete"}}
    commit = site.commit(motd("one"), web1=old)
    host = site.enrol_over_ssh("web1")
    host.await_commit(commit)
    site.author.git("rm", "--quiet", "hosts/web1.yaml")
    commit = site.commit(motd("one"), db1={"file:/etc/e2e-new": {"content": "new\n"}})
    host.await_report(lambda found: found["exit_code"] == 68)
    host.datum("init", "--host", "db1", "--rename", "web1")
    report = host.await_commit(commit)
    assert report["host"] == "db1"
    assert host.read("/etc/e2e-new") == "new\n"
    assert host.sh("ls /etc/e2e-old") == "", "what only the old name declared is accounted for"
