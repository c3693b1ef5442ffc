"""Packages that were left half done, locks that others hold, and scripts that ask, on a real Debian."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.strace import Strace
from tests.proofs.archive import PLACE, Deb
from tests.proofs.on_host import FleetOnHost, Resources
from tests.proofs.package_host import Host, enrolled

POLICY = "/usr/sbin/policy-rc.d"


@pytest.fixture
def host(make_oneshot: Callable[..., Oneshot], tmp_path: Path, agent_bind: AgentBind) -> Host:
    return enrolled(make_oneshot, FleetOnHost(tmp_path, agent_bind))


FAILS_ONCE = "#!/bin/sh\n[ -e /srv/ready ] || { echo not ready >&2; exit 1; }\n"


def test_what_was_left_half_done_is_finished_first(host: Host) -> None:
    """By dpkg itself, before anything else, and told; in every pass, for what was in its way may be gone by then."""
    counting = FAILS_ONCE.replace("\n", "\necho >> /srv/tries\n", 1)
    host.archive.publish(Deb("app", control={"postinst": counting}), Deb("other"))
    said = host.apply({"package:app": {}, "package:other": {}}, code=1)
    assert "not ready" in said
    assert (host.state("app")[:2], host.state("other")[:2]) == ("iF", "ii")
    found = host.plan({"package:app": {}, "package:other": {}})
    assert "half-configured" in json.dumps(found["package:app"])
    assert host.sh("wc -l < /srv/tries") == "1", "a plan tries nothing"
    host.apply({"package:app": {}, "package:other": {}}, code=1)
    assert host.entries()["package:app"]["outcome"] == "failed"
    assert host.sh("wc -l < /srv/tries; grep -c ^Error: /var/log/apt/history.log") == "2\n1"
    # The very revision that repairs it need not wait for its own repair.
    repaired: Resources = {"file:/srv/ready": {"content": ""}, "package:app": {"requires": ["file:/srv/ready"]}}
    assert "dpkg --configure -a" in host.settles({**repaired, "package:other": {}})
    assert host.state("app") == "ii 1.0-1"


def test_a_newer_version_repairs_a_broken_one(host: Host) -> None:
    host.archive.publish(Deb("app", control={"postinst": FAILS_ONCE}))
    host.apply({"package:app": {}}, code=1)
    host.archive.publish(Deb("app", "1.1-1"))
    host.sh("apt-get -q update")
    host.settles({"package:app": {"version": "1.1-1"}})
    assert host.state("app") == "ii 1.1-1"


def test_a_broken_package_can_be_removed(host: Host) -> None:
    host.archive.publish(Deb("app", control={"postinst": FAILS_ONCE}))
    host.apply({"package:app": {}}, code=1)
    host.settles({"package:app": {"absent": True}})
    assert host.state("app") in {"", "rc 1.0-1"}


@pytest.mark.parametrize("when", [1, 2, 4, 6, 9])
def test_a_dpkg_that_was_killed_is_repaired(host: Host, when: int) -> None:
    """At each of these renames; its journal is read, and finished before anything else."""
    host.archive.publish(Deb("app", files={"/usr/share/app/file": "text\n"}), Deb("other"))
    host.sh("apt-get -q update")
    install = ["dpkg", "-i", f"{PLACE}/app_1.0-1_all.deb"]
    killed = Strace(host.machine).inject(install, "rename", when=when, signal="KILL")
    assert killed.returncode == -signal.SIGKILL
    host.settles({"package:app": {}, "package:other": {}})
    assert (host.state("app"), host.state("other")) == ("ii 1.0-1", "ii 1.0-1")
    assert host.sh("ls /var/lib/dpkg/updates") == ""
    assert host.sh("dpkg --audit") == ""


@pytest.mark.parametrize("gone", [False, True], ids=["installed", "removed"])
def test_a_dpkg_that_was_killed_with_nothing_left_but_its_journal_is_repaired(host: Host, *, gone: bool) -> None:
    """The package is as it is declared, but nobody else could use apt."""
    host.archive.publish(Deb("app", files={"/usr/share/app/file": "text\n"}))
    install, remove = ["dpkg", "-i", f"{PLACE}/app_1.0-1_all.deb"], ["dpkg", "-r", "app"]
    strace = Strace(host.machine)
    counts = [len(strace.trace(argv, ["rename"])) for argv in (install, remove)]
    if gone:
        host.machine.run(install)
    killed = strace.inject(remove if gone else install, "rename", when=counts[gone], signal="KILL")
    assert killed.returncode == -signal.SIGKILL
    assert host.state("app") == ("" if gone else "ii 1.0-1")
    assert "dpkg was interrupted" in host.sh("apt-get -y install app 2>&1")
    assert "dpkg --configure -a" in host.settles({"package:app": {"absent": True} if gone else {}})
    assert host.sh("ls /var/lib/dpkg/updates") == ""
    assert host.state("app") == ("" if gone else "ii 1.0-1")


# Holds a lock until it is killed; or until an apt-get that is to do something was refused, or waits for it.
HOLD = """
import fcntl, sys, time
from pathlib import Path

def asks(process):
    try:
        words = (process / "cmdline").read_bytes().split(b"\\0")
    except OSError:
        return False
    return words[0].endswith(b"apt-get") and b"-s" not in words and sys.argv[2].encode() in words

lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
if sys.argv[2] == "for ever":
    time.sleep(600)
while not (asking := [process for process in Path("/proc").glob("[0-9]*") if asks(process)]):
    time.sleep(0.02)
end = time.monotonic() + 2
while time.monotonic() < end and any(map(asks, asking)):
    time.sleep(0.02)
"""


@contextmanager
def held(host: Host, lock: str, until: str = "for ever") -> Iterator[None]:
    """Have another process hold a lock, as long as this lasts, or until apt-get was kept from doing something."""
    with host.machine.popen(["python3", "-c", HOLD, lock, until]) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            yield
            assert until == "for ever" or holder.wait(timeout=10) == 0
        finally:
            holder.kill()


def test_the_journal_of_a_dpkg_that_works_is_left_to_it(host: Host) -> None:
    host.archive.publish(Deb("app"))
    host.settles({"package:app": {}})
    host.sh("cd /var/lib/dpkg; sed -n '/^Package: app$/,/^$/p' status > updates/0000")
    with held(host, "/var/lib/dpkg/lock"):
        assert "nothing to do" in host.apply({"package:app": {}})
    assert "dpkg --configure -a" in host.settles({"package:app": {}})


@pytest.mark.parametrize("declared", [True, False])
def test_what_packages_lack_is_brought_first(host: Host, *, declared: bool) -> None:
    """Until then apt refuses everything else, also removals: one that failed in the middle would block all for ever."""
    host.archive.publish(Deb("app", fields={"Depends": "lib"}), Deb("lib"), Deb("other"), Deb("gone"), Deb("left"))
    host.settles({"package:gone": {}, "package:left": {}})
    host.sh(f"dpkg --unpack {PLACE}/app_1.0-1_all.deb")
    own: Resources = {"package:app": {}} if declared else {}
    gone: Resources = {"package:gone": {"purge": True, "allow": ["data_loss"]}, "package:left": {"absent": True}}
    assert "apt-get -f install" in host.settles({**own, "package:other": {}, **gone})
    names = ("app", "lib", "other", "gone", "left")
    assert [host.state(name)[:2] for name in names] == ["ii", "ii", "ii", "", ""]
    assert host.sh("apt-mark showauto lib") == "lib"


@pytest.mark.parametrize("status", ["install reinstreq half-installed", "install ok half-installed"])
def test_a_dependency_that_is_half_installed_is_unpacked_again(host: Host, status: str) -> None:
    """Nobody declares it, dpkg and apt only complain of it, and what needs it can never be configured."""
    host.archive.publish(Deb("app", fields={"Depends": "lib"}), Deb("lib", files={"/usr/share/lib/file": "text\n"}))
    host.sh("apt-get -q update")
    host.sh(f"dpkg --unpack {PLACE}/lib_1.0-1_all.deb {PLACE}/app_1.0-1_all.deb; apt-mark auto lib")
    host.sh(f"sed -i '/^Package: lib$/,/^$/s/^Status: .*/Status: {status}/' /var/lib/dpkg/status")
    host.sh("rm /usr/share/lib/file")
    host.settles({"package:app": {}})
    assert (host.state("app"), host.state("lib")) == ("ii 1.0-1", "ii 1.0-1")
    assert host.sh("cat /usr/share/lib/file; apt-mark showauto lib; dpkg --audit") == "text\nlib"


def test_a_package_that_must_be_unpacked_again_is(host: Host) -> None:
    host.archive.publish(Deb("app", files={"/usr/share/app/file": "text\n"}))
    host.settles({"package:app": {}})
    host.sh(
        "sed -i '/^Package: app$/,/^$/s/^Status: .*/Status: install reinstreq half-installed/' /var/lib/dpkg/status"
    )
    host.sh("rm /usr/share/app/file")
    host.settles({"package:app": {}})
    assert host.sh("cat /usr/share/app/file") == "text"
    assert host.state("app") == "ii 1.0-1"


FRONTEND = "/var/lib/dpkg/lock-frontend"
LISTS = "/var/lib/apt/lists"
ARCHIVES = "/var/cache/apt/archives"


def patience(host: Host, seconds: int) -> None:
    host.machine.write("/etc/apt/apt.conf.d/patience", f'DPkg::Lock::Timeout "{seconds}";\n')


def is_busy(host: Host, name: str) -> None:
    """A pass ends with this package `busy`, and says who holds the lock."""
    said = host.apply({f"package:{name}": {}}, code=1)
    assert "python3" in said
    assert "holds the lock" in said
    assert host.entries()[f"package:{name}"]["outcome"] == "busy"


def test_a_lock_is_waited_for_and_its_holder_is_named(host: Host) -> None:
    host.archive.publish(Deb("app", control={"postinst": FAILS_ONCE}), *map(Deb, ("other", "third", "fourth")))
    patience(host, 1)
    with held(host, FRONTEND):
        is_busy(host, "app")
    patience(host, 60)
    with held(host, FRONTEND, "install"):
        host.apply({"package:other": {}})
    host.apply({"package:app": {}}, code=1)
    host.machine.write("/srv/ready", "")
    patience(host, 1)
    # dpkg itself knows no patience: it is asked again.
    with held(host, FRONTEND):
        is_busy(host, "app")
    host.settles({"package:app": {}})
    # Nor does apt know any for its lists, and for what was downloaded.
    for name, lock, verb in (("third", f"{ARCHIVES}/lock", "install"), ("fourth", f"{LISTS}/lock", "update")):
        if verb == "update":
            host.sh(f"rm {LISTS}/*_Packages")
        patience(host, 1)
        with held(host, lock):
            assert "lock" in host.sh(f"apt-get -y install {name} 2>&1; apt-get update 2>&1")
            is_busy(host, name)
        patience(host, 60)
        with held(host, lock, verb):
            host.apply({f"package:{name}": {}})
        assert host.state(name) == "ii 1.0-1"


TEMPLATES = "Template: app/question\nType: string\nDescription: A question that has no default\n Answer it.\n"
CONFIG = "#!/bin/sh\n. /usr/share/debconf/confmodule\ndb_input critical app/question || true\ndb_go || true\n"
ASKING = """#!/bin/sh
env > /srv/environment
[ -t 0 ] && { echo a terminal; exit 1; }
(: < /dev/tty) 2>/dev/null && { echo a controlling terminal; exit 1; }
read answer
echo "answer: $answer" > /srv/asked
"""
HOOKS = """DPkg::Post-Invoke {"[ $NEEDRESTART_MODE$NEEDRESTART_SUSPEND = l1 ] && touch /srv/needrestart";};
DPkg::Pre-Install-Pkgs {"[ $APT_LISTCHANGES_FRONTEND$APT_LISTBUGS_FRONTEND = nonenone ] && touch /srv/lists";};
"""


def test_nothing_that_asks_hangs(host: Host) -> None:
    """A changed conffile, debconf without a default, a script that reads, hooks of apt that ask."""
    conf = "/etc/app.conf"
    control = {"conffiles": f"{conf}\n", "templates": TEMPLATES, "config": CONFIG}
    control["postinst"] = "#!/bin/sh\nset -e\n. /usr/share/debconf/confmodule\ndb_get app/question\n"

    def app(version: str, text: str) -> Deb:
        return Deb("app", version, fields={"Depends": "debconf"}, control=control, files={conf: text})

    host.archive.publish(app("1.0-1", "one\n"), Deb("asks", control={"postinst": ASKING}))
    host.machine.write("/etc/apt/apt.conf.d/hooks", HOOKS)
    host.settles({"package:app": {}, "package:asks": {}})
    assert host.sh("cat /srv/asked") == "answer:"
    environment = dict(line.split("=", 1) for line in host.sh("cat /srv/environment").splitlines() if "=" in line)
    assert environment["DEBIAN_FRONTEND"] == "noninteractive"
    assert environment["UCF_FORCE_CONFFOLD"] == "1"
    assert host.sh("ls /srv/needrestart /srv/lists").split() == ["/srv/lists", "/srv/needrestart"]
    host.machine.write(conf, "ours\n")
    host.archive.publish(app("1.1-1", "two\n"))
    host.age()
    host.settles({"package:app": {"version": "1.1-1"}})
    assert (host.state("app"), host.machine.read(conf)) == ("ii 1.1-1", b"ours\n")
    assert host.sh(f"cat {conf}.dpkg-dist") == "two"
    host.sh(f"rm {conf}")
    host.archive.publish(app("1.2-1", "three\n"))
    host.age()
    host.settles({"package:app": {"version": "1.2-1"}})


OTHERS_POLICY = "#!/bin/sh\nexit 101\n"


def test_a_policy_of_somebody_else_is_left_alone(host: Host) -> None:
    host.machine.write(POLICY, OTHERS_POLICY, mode=0o755)
    host.archive.publish(Deb("app"))
    host.settles({"package:app": {}})
    assert host.machine.read(POLICY).decode() == OTHERS_POLICY


def test_a_policy_that_was_left_behind_is_told_and_cleared(host: Host) -> None:
    host.archive.publish(Deb("app"))
    host.settles({"package:app": {}})
    host.machine.write(POLICY, "#!/bin/sh\n# datum: for one transaction\n# datum: package:app\nexit 101\n", mode=0o755)
    assert "interrupted transaction" in host.settles({"package:app": {}})
    assert host.sh(f"ls {POLICY}") == ""


@pytest.mark.parametrize("syscall", ["linkat", "renameat", "unlinkat"])
def test_an_agent_that_is_killed_around_its_transaction_leaves_nothing(host: Host, syscall: str) -> None:
    """While it puts its policy in place, and when it takes that away again."""
    host.archive.publish(Deb("app"))
    host.fleet.commit({"package:app": {}, "service:cron": {"enabled": True}})
    strace = Strace(host.machine, host.fleet.env)
    done = strace.inject([*host.fleet.argv, "apply"], f"{syscall},renameat2", signal="KILL", path="/usr/sbin")
    assert done.returncode == -signal.SIGKILL
    host.settles({"package:app": {}, "service:cron": {"enabled": True}})
    assert host.state("app") == "ii 1.0-1"
    assert host.sh("ls -A /usr/sbin | grep -e policy -e datum") == ""
