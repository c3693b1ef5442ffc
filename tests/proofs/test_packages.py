"""Packages on a real Debian: its apt and dpkg, packages made on the spot, a local archive, and no network."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.strace import Strace
from tests.proofs.archive import PLACE, Deb
from tests.proofs.on_host import FleetOnHost, Resources
from tests.proofs.package_host import Host, enrolled
from tests.providers.package.test_versions import ASCENDING, EQUAL

COUNT_UPDATES = 'APT::Update::Pre-Invoke {"echo fetched >> /var/log/fetched";};\n'
FAILS = "#!/bin/sh\necho not ready >&2\nexit 1\n"


@pytest.fixture
def host(make_oneshot: Callable[..., Oneshot], tmp_path: Path, agent_bind: AgentBind) -> Host:
    return enrolled(make_oneshot, FleetOnHost(tmp_path, agent_bind))


def test_a_package_comes_goes_and_is_purged(host: Host) -> None:
    """Configuration stays when it is removed, and goes only when that is declared and allowed."""
    conf = "/etc/app.conf"
    host.archive.publish(Deb("app", control={"conffiles": f"{conf}\n"}, files={conf: "shipped\n"}))
    host.settles({"package:app": {}})
    assert host.state("app") == "ii 1.0-1"
    host.machine.write(conf, "ours\n")
    host.settles({"package:app": {"absent": True}})
    assert host.state("app") == "rc 1.0-1"
    assert host.machine.read(conf) == b"ours\n"
    host.settles({"package:app": {}})
    assert (host.state("app"), host.machine.read(conf)) == ("ii 1.0-1", b"ours\n")
    assert "data_loss" in host.apply({"package:app": {"purge": True}}, code=1)
    assert host.state("app") == "ii 1.0-1"
    host.settles({"package:app": {"purge": True, "allow": ["data_loss"]}})
    assert host.state("app") == ""
    assert host.sh(f"ls {conf}") == ""
    host.settles({"package:app": {}})
    host.settles({"package:app": {"absent": True}})
    host.settles({"package:app": {"purge": True, "allow": ["data_loss"]}})
    assert host.sh(f"ls {conf}") == ""


def test_versions_are_exact_or_within_bounds(host: Host) -> None:
    host.archive.publish(*(Deb("app", version) for version in ("1.9-1", "1.10-1", "2.0-1", "1:0.5-1")))
    host.settles({"package:app": {"version": "1.9-1"}})
    host.settles({"package:app": {"version": ">=1.9, <2"}})
    assert host.state("app") == "ii 1.9-1", "it is within the bounds"
    host.settles({"package:app": {"version": ">1.9-1, <2"}})
    assert host.state("app") == "ii 1.10-1"
    host.settles({"package:app": {"version": ">=1:0"}})
    assert host.state("app") == "ii 1:0.5-1"
    assert "data_loss" in host.apply({"package:app": {"version": "2.0-1"}}, code=1)
    assert "never lead back" in host.apply({"package:app": {"version": "<3"}}, code=1)
    host.settles({"package:app": {"version": "2.0-1", "allow": ["data_loss"]}})
    assert host.state("app") == "ii 2.0-1"


def test_a_version_that_nobody_offers_is_an_error_that_names_the_others(host: Host) -> None:
    host.machine.write("/etc/apt/apt.conf.d/count", COUNT_UPDATES)
    host.archive.publish(Deb("app", "1.0-1"), Deb("app", "1.2-1"), Deb("other"))
    said = host.apply({"package:app": {"version": "1.1-1"}, "package:no-such": {}, "package:other": {}}, code=1)
    assert "app 1.1-1 is not offered; offered are 1.2-1, 1.0-1." in said
    assert "No archive of this host has a package no-such." in said
    assert host.state("other") == "ii 1.0-1", "what can be had is installed all the same"
    assert host.entries()["package:other"]["outcome"] == "applied"
    assert host.machine.read("/var/log/fetched") == b"fetched\n"


def test_lists_are_fetched_only_when_needed(host: Host) -> None:
    """A new source, an unknown version and a lost file: once each; never when nothing is to be done, nor to remove."""
    host.machine.write("/etc/apt/apt.conf.d/count", COUNT_UPDATES)
    host.archive.publish(Deb("app"), Deb("other"), Deb("lost"))

    def fetched() -> int:
        return host.sh("cat /var/log/fetched 2>/dev/null").count("fetched")

    host.settles({"package:app": {}})
    assert fetched() == 1, "there were no lists"
    host.settles({"package:app": {}, "package:other": {}})
    assert fetched() == 1, "they have it"
    host.settles({"package:app": {"absent": True}})
    assert fetched() == 1
    host.archive.publish(Deb("app", "2.0-1"))
    host.age()
    host.settles({"package:app": {"version": "2.0-1"}})
    assert fetched() == 2, "they do not have that version"
    host.archive.withdraw(Deb("lost"))
    host.archive.publish(Deb("lost", "1.1-1"))
    host.settles({"package:lost": {}})
    assert host.state("lost") == "ii 1.1-1"
    assert fetched() == 3, "they name a file that is gone"
    source = f"# ours\ndeb [trusted=yes] copy:{PLACE} ./\n"
    host.settles({"package:other": {"absent": True}})
    host.settles({"package:other": {}, "file:/etc/apt/sources.list": {"content": source}})
    assert fetched() == 4, "a source changed in the same pass"


def test_no_network_is_a_cause_of_its_own(host: Host) -> None:
    host.archive.publish(Deb("app"))
    host.machine.write("/etc/apt/sources.list", "deb [trusted=yes] http://127.0.0.1:1/ ./\n")
    said = host.apply({"package:app": {}}, code=1)
    assert "127.0.0.1" in said
    assert "package-not-offered" in said


def test_marks_are_kept(host: Host) -> None:
    """A held package is there; another version of it only where the fleet declares hold and version."""
    host.archive.publish(Deb("app", "1.0-1"), Deb("app", "1.2-1"), Deb("user", fields={"Depends": "app"}))
    host.settles({"package:app": {"version": "1.0-1", "hold": True, "manual": False}, "package:user": {}})
    assert host.sh("apt-mark showhold; apt-mark showauto app") == "app\napp"
    host.sh("apt-mark unhold app; apt-mark manual app")
    host.settles({"package:app": {"version": "1.0-1", "hold": True, "manual": False}, "package:user": {}})
    assert host.sh("apt-mark showhold; apt-mark showauto app") == "app\napp"
    said = host.settles({"package:app": {"version": "1.2-1", "hold": True}})
    assert "set again" in said
    assert (host.state("app"), host.sh("apt-mark showhold")) == ("hi 1.2-1", "app")
    assert "on hold" in host.apply({"package:app": {"version": "1.0-1", "allow": ["data_loss"]}}, code=1)
    assert "on hold" in host.apply({"package:app": {"absent": True, "allow": ["data_loss", "outage"]}}, code=1)
    host.settles({"package:app": {"version": "1.0-1", "hold": False, "manual": True, "allow": ["data_loss"]}})
    assert (host.state("app"), host.sh("apt-mark showmanual app")) == ("ii 1.0-1", "app")


def test_what_came_along_stays_marked_so_when_its_version_changes(host: Host) -> None:
    """What apt is asked for by name it marks as manual, also where it was there."""
    host.archive.publish(Deb("app"), Deb("user", fields={"Depends": "app"}))
    host.settles({"package:user": {}})
    for version, declared in (("1.2-1", {"manual": False}), ("1.3-1", {})):
        host.archive.publish(Deb("app", version))
        host.age()
        host.settles({"package:user": {}, "package:app": {"version": version, **declared}})
        assert (host.state("app"), host.sh("apt-mark showauto app")) == (f"ii {version}", "app")


def test_recommended_packages_come_where_that_is_declared(host: Host) -> None:
    host.machine.write("/etc/apt/apt.conf.d/99recommends", 'APT::Install-Recommends "true";\n')
    host.archive.publish(Deb("plain", fields={"Recommends": "one"}), Deb("full", fields={"Recommends": "two"}))
    host.archive.publish(Deb("one"), Deb("two"))
    host.settles({"package:plain": {}, "package:full": {"recommends": True}})
    assert [host.state(name) for name in ("plain", "full", "one", "two")] == ["ii 1.0-1", "ii 1.0-1", "", "ii 1.0-1"]


def test_names_are_no_patterns_and_virtual_packages_are_not_resolved(host: Host) -> None:
    host.archive.publish(
        Deb("mail-a", fields={"Provides": "mail-any"}),
        Deb("mail-b", fields={"Provides": "mail-any"}),
        Deb("only", fields={"Provides": "only-one"}),
        Deb("app-1.0"),
        Deb("app-1x0"),
    )
    host.sh("apt-get -q update")
    found = host.plan({"package:mail-any": {}, "package:only-one": {}, "package:app-1.": {}})
    assert "mail-a, mail-b" in json.dumps(found["package:mail-any"])
    assert "only would be installed" in json.dumps(found["package:only-one"])
    assert {found[name]["outcome"] for name in ("package:mail-any", "package:only-one")} == {"failed"}
    host.apply({"package:mail-any": {}, "package:only-one": {}, "package:app-1.": {}, "package:app-1.0": {}}, code=1)
    names = ("mail-a", "mail-b", "only", "app-1.0", "app-1x0")
    assert [name for name in names if host.state(name)] == ["app-1.0"]


def test_an_architecture_is_part_of_the_name(host: Host) -> None:
    parts = ("amd64", "i386")
    host.archive.publish(*(Deb("lib", architecture=each, fields={"Multi-Arch": "same"}) for each in parts))
    host.archive.publish(Deb("doc"))
    host.sh("dpkg --remove-architecture i386; rm -f /var/lib/dpkg/arch")
    foreign: Resources = {"package:lib:i386": {}, "package:lib": {}, "package:doc:amd64": {}}
    assert "dpkg --add-architecture i386" in host.apply(foreign, code=1)
    assert sorted(host.sh("dpkg-query -W -f '${Package}:${Architecture} ' lib doc").split()) == ["doc:all", "lib:amd64"]
    added: Resources = {
        "command:i386": {
            "run": ["dpkg", "--add-architecture", "i386"],
            "unless": ["grep", "-qx", "i386", "/var/lib/dpkg/arch"],
            "provides": ["path:/var/lib/dpkg/arch"],
        },
        **{name: {"requires": ["command:i386"]} for name in foreign},
    }
    host.settles(added)
    listed = host.sh("dpkg-query -W -f '${Package}:${Architecture} ' lib doc")
    assert sorted(listed.split()) == ["doc:all", "lib:amd64", "lib:i386"]
    host.settles({"package:lib:i386": {"absent": True}, "package:lib": {}})
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}${Architecture} ' lib").split()[:2] == ["ii", "amd64"]


def test_two_spellings_of_one_package_are_one(host: Host) -> None:
    host.archive.publish(Deb("app"))
    host.settles({"package:app": {}})
    names = ("package:app", "package:app:amd64")
    host.apply({name: {"version": "2"} for name in names}, code=1)
    found = {name: (entry["outcome"], entry["operation"]) for name, entry in host.entries().items()}
    assert found == dict.fromkeys(names, ("unobservable", ""))
    assert host.state("app") == "ii 1.0-1"


def test_essential_packages_stay(host: Host) -> None:
    said = host.apply({"package:bash": {"absent": True, "allow": ["data_loss", "outage", "access_loss"]}}, code=1)
    assert "bash is essential" in said
    purged = {"package:bash": {"purge": True, "allow": ["data_loss", "outage", "access_loss"]}}
    assert "bash is essential" in host.apply(purged, code=1)
    allowed = {"absent": True, "allow": ["data_loss", "outage", "access_loss"]}
    host.archive.publish(Deb("guarded", fields={"Protected": "yes", "Depends": "below"}), Deb("below"))
    host.settles({"package:guarded": {}})
    assert "guarded is essential" in host.apply({"package:guarded": allowed}, code=1)
    # apt does not think of removing what is essential along with what it needs.
    for name in ("libtinfo6", "below"):
        assert f"apt does not find a way to remove {name}" in host.apply({f"package:{name}": allowed}, code=1)
    assert [host.state(name)[:2] for name in ("bash", "libtinfo6", "guarded", "below")] == ["ii"] * 4


def test_what_goes_along_is_told_and_has_to_be_allowed(host: Host) -> None:
    host.archive.publish(
        Deb("lib-base"), Deb("plug", fields={"Depends": "lib-base"}), Deb("deep", fields={"Depends": "plug"})
    )
    host.settles({"package:deep": {}})
    found = host.plan({"package:lib-base": {"absent": True}})
    assert "package:deep" in json.dumps(found["package:lib-base"])
    assert "package:plug" in json.dumps(found["package:lib-base"])
    assert "outage" in host.apply({"package:lib-base": {"absent": True}}, code=1)
    said = host.apply(
        {"package:lib-base": {"absent": True, "allow": ["data_loss", "outage"]}, "package:plug": {}}, code=1
    )
    assert "would remove plug, which is declared" in said
    assert host.state("deep") == "ii 1.0-1"
    gone = {"package:lib-base": {"absent": True}, "package:plug": {"absent": True}, "package:deep": {"absent": True}}
    host.settles(gone)
    assert [host.state(name) for name in ("lib-base", "plug", "deep")] == ["", "", ""]
    host.settles({"package:deep": {}})
    host.settles({"package:lib-base": {"absent": True, "allow": ["data_loss", "outage"]}})
    assert [host.state(name) for name in ("lib-base", "plug", "deep")] == ["", "", ""]


def test_more_packages_than_the_limit_are_not_removed(host: Host) -> None:
    host.archive.publish(
        Deb("lib-base"), *(Deb(f"plug-{number}", fields={"Depends": "lib-base"}) for number in range(11))
    )
    host.settles({f"package:plug-{number}": {} for number in range(11)})
    said = host.apply({"package:lib-base": {"absent": True, "allow": ["data_loss", "outage"]}}, code=1)
    assert "This pass would remove 12" in said
    assert host.state("plug-3") == "ii 1.0-1"


def test_nothing_goes_by_installing_unless_it_is_declared_absent(host: Host) -> None:
    host.archive.publish(*(Deb(name, fields={"Provides": "mta", "Conflicts": "mta"}) for name in ("mail-a", "mail-b")))
    host.settles({"package:mail-a": {}})
    assert "would remove mail-a" in host.apply({"package:mail-b": {}}, code=1)
    assert host.state("mail-a") == "ii 1.0-1"
    held = {"package:mail-b": {}, "package:mail-a": {"absent": True}}
    host.fleet.commit({"package:mail-a": {"protect": True}})
    host.fleet.datum(host.machine, "apply")
    said = host.apply(held, code=1)
    assert "protect" in said
    assert host.state("mail-a") == "ii 1.0-1", "what is protected does not go by installing another"
    host.apply({"package:mail-a": {}})
    host.settles(held)
    assert (host.state("mail-a"), host.state("mail-b")) == ("", "ii 1.0-1")


def test_adjacent_packages_are_one_run_of_apt(host: Host) -> None:
    host.archive.publish(
        *(Deb(f"app-{number}", fields={"Depends": "lib"}) for number in range(4)), Deb("lib"), Deb("gone")
    )
    host.settles({"package:gone": {}})
    host.machine.write("/etc/apt/apt.conf.d/count", 'DPkg::Pre-Invoke {"echo run >> /var/log/runs";};\n')
    wanted: Resources = {f"package:app-{number}": {} for number in range(4)}
    host.settles({**wanted, "package:gone": {"absent": True}, "package:lib": {"manual": False}})
    # apt runs these hooks once for all that dpkg is told.
    assert host.sh("cat /var/log/runs").split() == ["run"]
    assert host.sh("apt-mark showauto lib") == "lib"
    assert host.state("gone") == ""


def test_one_that_fails_keeps_no_other_from_being_installed(host: Host) -> None:
    host.archive.publish(Deb("bad", control={"postinst": FAILS}), Deb("good"), Deb("needs", fields={"Depends": "bad"}))
    host.apply({"package:bad": {}, "package:good": {}, "package:needs": {}}, code=1)
    assert {name: entry["outcome"] for name, entry in host.entries().items()} == {
        "package:bad": "failed", "package:good": "applied", "package:needs": "failed",
    }  # fmt: skip


def test_a_pass_with_nothing_to_do_runs_no_program(host: Host) -> None:
    """Neither for a few nor for many, and the cache of apt is not opened."""
    counts = []
    names = host.sh("dpkg-query -W -f '${Package}\\n'").split()
    for some in (names[:5], names):
        wanted: Resources = {
            f"package:{name}": {"manual": True} if number % 2 else {} for number, name in enumerate(some)
        }
        host.apply(wanted)
        strace = Strace(host.machine, host.fleet.env)
        calls = strace.trace([*host.fleet.argv, "apply"], ["execve", "openat"])
        counts.append(len([call for call in calls if call.name == "execve" and call.result == "0"]))
        assert not [call for call in calls if re.search("/var/(cache/apt|lib/apt/lists)", call.arguments)]
    assert counts[0] == counts[1]
    assert len(names) > 100


def test_versions_are_compared_as_dpkg_compares_them(host: Host) -> None:
    pairs = [*pairwise(ASCENDING), *zip(ASCENDING, ASCENDING[5:], strict=False)]
    script = [
        f"dpkg --compare-versions '{one}' lt '{other}' 2>/dev/null || echo '{one} {other}'" for one, other in pairs
    ]
    script += [
        f"dpkg --compare-versions '{one}' eq '{other}' 2>/dev/null || echo '{one} {other}'" for one, other in EQUAL
    ]
    assert host.sh("\n".join(script)) == ""


def test_dropping_a_package_keeps_it(host: Host) -> None:
    host.archive.publish(Deb("app"))
    host.settles({"package:app": {}})
    assert "kept" in host.apply({"file:/srv/file": {"content": ""}})
    assert host.state("app") == "ii 1.0-1"
    host.apply({"package:app": {"on_removal": "delete"}})
    host.apply({"directory:/srv": {}})
    assert host.state("app") == ""


def test_what_is_there_can_be_adopted(host: Host) -> None:
    host.archive.publish(Deb("app"))
    host.sh("apt-get -q update; apt-get install -y app; apt-mark hold app; apt-mark auto app")
    said = host.fleet.datum(host.machine, "adopt", "package:app", "package:bash")
    assert "hold: true" in said
    assert "manual: false" in said
    assert "version" not in said


def test_a_pass_over_another_root_works_there(host: Host, make_oneshot: Callable[..., Oneshot]) -> None:
    """The tools of that root are run in it; nothing is started, and nothing of the own system is touched."""
    host.archive.publish(Deb("app", control={"postinst": "#!/bin/sh\necho done > /srv/done\n"}))
    root = "/mnt/root"
    host.sh(
        f"mkdir -p {root}; cd /; tar c --one-file-system bin etc lib* sbin usr var srv 2>/dev/null | tar x -C {root}"
    )
    host.sh(f"mkdir -p {root}/dev {root}/proc {root}/tmp; chmod 1777 {root}/tmp; mknod -m 666 {root}/dev/null c 1 3")
    host.sh(f"rm -rf {root}/var/lib/datum {root}/etc/datum {root}/var/log/datum")
    host.fleet.commit({"package:app": {}})
    host.fleet.datum(host.machine, "init", "--repo", "/srv/fleet", "--host", "web1", "--no-timer", "--root", root)
    before = host.state("app")
    host.fleet.datum(host.machine, "apply", "--root", root)
    assert host.sh(f"cat {root}/srv/done") == "done"
    assert host.state("app") == before == ""
    assert "nothing to do" in host.fleet.datum(host.machine, "apply", "--root", root)
