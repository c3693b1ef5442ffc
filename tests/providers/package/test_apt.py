"""What apt and dpkg are told, and their words as they were recorded from apt 2.6.1 and dpkg 1.21.22."""

import pytest

from datum.model.result import FailureCause
from datum_providers.package.apt import (
    ENVIRONMENT,
    Offer,
    cause_of,
    holder_of,
    parse_policy,
    parse_simulation,
    simulation,
    transaction,
    words_of,
)
from datum_providers.package.versions import parse_wanted

FRONTEND = "/var/lib/dpkg/lock-frontend"
HEAD = "Reading package lists...\nBuilding dependency tree...\nReading state information...\n"
REPLACING = f"""{HEAD}The following packages will be REMOVED:
  mail-a
The following NEW packages will be installed:
  mail-b libc6:i386
0 upgraded, 2 newly installed, 1 to remove and 0 not upgraded.
Remv mail-a [1.0-1]
Inst libc6:i386 (2.36-9 localhost [i386])
Inst mail-b (1.0-1 localhost [all])
Conf libc6:i386 (2.36-9 localhost [i386])
Conf mail-b (1.0-1 localhost [all])
"""
PURGING = f"{HEAD}The following packages will be REMOVED:\n  alpha* beta*\nPurg beta [1.0-1]\nPurg alpha [1.2-1]\n"
VIRTUAL = f"{HEAD}Package mta is a virtual package provided by:\n  mail-b 1.0-1\n  mail-a 1.0-1\n\n"
POLICY = """alpha:
  Installed: 1.2-1
  Candidate: 1.2-1
  Version table:
 *** 1.2-1 500
        500 http://deb.example.org/debian bookworm/main amd64 Packages
        100 /var/lib/dpkg/status
     1.0-1 500
        500 http://deb.example.org/debian bookworm/main amd64 Packages
gone:
  Installed: 3-1
  Candidate: 3-1
  Version table:
 *** 3-1 100
        100 /var/lib/dpkg/status
mta:
  Installed: (none)
  Candidate: (none)
  Version table:
pinned:
  Installed: (none)
  Candidate: (none)
  Version table:
     2-1 -1
         -1 http://deb.example.org/debian bookworm/main amd64 Packages
libc6:i386:
  Installed: (none)
  Candidate: 2.36-9
  Version table:
     2.36-9 500
        500 http://deb.example.org/debian bookworm/main i386 Packages
"""


def test_what_goes_and_what_comes_is_read() -> None:
    found = parse_simulation(0, REPLACING, "")
    assert found.installs == frozenset({"mail-b", "libc6:i386"})
    assert found.removes == {"mail-a"}
    assert parse_simulation(0, PURGING, "").removes == {"alpha", "beta"}


def test_what_cannot_be_had_is_read() -> None:
    stderr = "E: Unable to locate package nosuch\nE: Unable to locate package other\n"
    found = parse_simulation(100, HEAD, stderr)
    assert found.installs is None
    assert found.unknown == {"nosuch", "other"}
    assert "Unable to locate package nosuch" in found.complaint


def test_what_provides_a_virtual_package_is_read() -> None:
    found = parse_simulation(100, VIRTUAL, "E: Package 'mta' has no installation candidate\n")
    assert found.provided == {"mta": ("mail-a", "mail-b")}


def test_what_is_offered_is_read() -> None:
    """What only the host itself still has is no offer."""
    assert parse_policy(POLICY) == {
        "alpha": Offer("1.2-1", ("1.2-1", "1.0-1")),
        "gone": Offer("3-1", ()),
        "mta": Offer("", ()),
        "pinned": Offer("", ("2-1",)),
        "libc6:i386": Offer("2.36-9", ("2.36-9",)),
    }
    assert parse_policy("") == {}


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [("", "2-1"), (">=1", "2-1"), ("<2", "1.10-1"), ("1.9-1", "1.9-1"), ("3", ""), (">=3", "")],
)
def test_the_candidate_is_taken_where_it_will_do(wanted: str, chosen: str) -> None:
    offer = Offer("2-1", ("2.1-1", "2-1", "1.10-1", "1.9-1"))
    assert offer.choose(parse_wanted(wanted) if wanted else None) == chosen


@pytest.mark.parametrize(
    ("words", "cause", "holder"),
    [
        (
            f"E: Could not get lock {FRONTEND}. It is held by process 71 (unattended-upgr)\n",
            FailureCause.BUSY,
            "71 (unattended-upgr)",
        ),
        (
            f"E: Unable to acquire the dpkg frontend lock ({FRONTEND}), is another process using it?\n",
            FailureCause.BUSY,
            "",
        ),
        (
            "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 9 (apt)\n",
            FailureCause.BUSY,
            "9 (apt)",
        ),
        ("E: Could not get lock /var/lib/apt/lists/lock. It is held by process 9\n", FailureCause.BUSY, "9"),
        ("dpkg: error: dpkg frontend lock was locked by another process with pid 71\n", FailureCause.BUSY, "71"),
        ("dpkg: error: dpkg frontend lock was locked by apt process with pid 7\n", FailureCause.BUSY, "7 (apt)"),
        ("dpkg: error: dpkg database lock was locked by another process\n", FailureCause.BUSY, ""),
        ("E: Failed to fetch http://a/x.deb  404  Not Found\n", FailureCause.NETWORK, ""),
        ("W: Failed to fetch http://a/InRelease  Temporary failure resolving 'a'\n", FailureCause.NETWORK, ""),
        ("E: You don't have enough free space in /var/cache/apt/archives/.\n", FailureCause.NO_SPACE, ""),
        ("dpkg: error processing archive x.deb: No space left on device\n", FailureCause.NO_SPACE, ""),
        ("dpkg: error: unable to create new file: Read-only file system\n", FailureCause.READ_ONLY, ""),
        ("E: Sub-process /usr/bin/dpkg returned an error code (1)\n", FailureCause.OTHER, ""),
    ],
)
def test_why_it_failed_is_read(words: str, cause: FailureCause, holder: str) -> None:
    assert (cause_of(words), holder_of(words)) == (cause, holder)


SCRIPTS = """Setting up app (1.0-1) ...
app: unable to lock the database, which is held by process 12
could not resolve host app.example.org, failed to fetch the schema
  Could not get lock /var/lib/app/lock
 no space left on device
app.c: E: read-only file system
dpkg: warning: could not connect to the server
"""
FAILED = """dpkg: error processing package app (--configure):
 installed app package post-installation script subprocess returned error exit status 1
"""
END = "E: Sub-process /usr/bin/dpkg returned an error code (1)\n"


def test_what_maintainer_scripts_print_is_no_cause() -> None:
    assert cause_of(f"{SCRIPTS}{FAILED}{SCRIPTS}Errors were encountered while processing:\n app\n{END}") is (
        FailureCause.OTHER
    )
    assert holder_of(f"{SCRIPTS}{FAILED}{END}") == ""


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (f"E: Could not get lock {FRONTEND}. It is held by process 71 (apt)\n", FailureCause.BUSY),
        ("W: Failed to fetch http://a/InRelease  Could not resolve 'a'\n", FailureCause.NETWORK),
        (
            "dpkg: error processing archive app.deb (--unpack):\n failed to write (No space left on device)\n",
            FailureCause.NO_SPACE,
        ),
        (
            "dpkg: unrecoverable fatal error, aborting:\n unable to flush tmp.i: No space left on device\n",
            FailureCause.NO_SPACE,
        ),
    ],
)
def test_what_apt_and_dpkg_say_is_found_among_what_scripts_print(words: str, cause: FailureCause) -> None:
    assert cause_of(f"{SCRIPTS}{words}{SCRIPTS}{END}") is cause


def test_errors_stand_last_and_within_bounds() -> None:
    noise = "".join(f"Get:{number} http://deb.example.org/debian {'x' * 80}\n" for number in range(500))
    stdout = f"{noise}Setting up app (1.0-1) ...\nnot ready\n"
    found = words_of(stdout, "dpkg: error processing package app (--configure):\nE: Sub-process failed\n")
    assert found.endswith("dpkg: error processing package app (--configure):\nE: Sub-process failed")
    assert "not ready" in found
    assert len(found) <= 2000


def test_no_options_of_the_host_decide() -> None:
    argv = transaction("install", ["app=1", "old-"], recommends=False, seconds=9, flags=["--allow-downgrades"])
    assert argv[:2] == ("/usr/bin/apt-get", "-q")
    assert argv[-5:] == ("--allow-downgrades", "--no-install-recommends", "install", "app=1", "old-")
    for option in ("APT::Cmd::Pattern-Only=true", "APT::Get::AutomaticRemove=false", "DPkg::Lock::Timeout=9"):
        assert argv[argv.index(option) - 1] == "-o"
    asked = simulation("remove", ["app"], recommends=True)
    assert asked[-4:] == ("-s", "--install-recommends", "remove", "app")
    assert "-y" not in asked


def test_nothing_is_asked() -> None:
    assert ENVIRONMENT["DEBIAN_FRONTEND"] == "noninteractive"
    assert ENVIRONMENT["NEEDRESTART_MODE"] == "l"
    assert {ENVIRONMENT[f"APT_{name}_FRONTEND"] for name in ("LISTCHANGES", "LISTBUGS")} == {"none"}


def test_who_holds_the_lock_is_said_while_apt_waits() -> None:
    waiting = (
        "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 25 (python3)\n"
    )
    assert holder_of(f"{waiting}E: Unable to acquire the dpkg frontend lock, is another process using it?\n") == (
        "25 (python3)"
    )


def test_apt_says_that_packages_lack_others() -> None:
    said = "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).\n"
    assert parse_simulation(100, " app : Depends: lib but it is not going to be installed\n", said).is_broken
    other = "E: Unable to correct problems, you have held broken packages.\n"
    assert not parse_simulation(100, " app : Depends: lib but it is not installable\n", other).is_broken
