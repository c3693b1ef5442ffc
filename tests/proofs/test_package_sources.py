"""Sources of packages on a Debian: read by its apt, their keys tried on an archive that is signed; no network."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.archive import PLACE, Archive, Deb
from tests.proofs.on_host import FleetOnHost
from tests.providers.host_cases import FIXTURES
from tests.providers.package_source.test_openpgp import ONE, TWO

KEYS: Final = FIXTURES / "keys"
SOURCES: Final = "/etc/apt/sources.list.d"
KEY: Final = "/etc/apt/keyrings/app.gpg"
SIGNED: Final = "/srv/signed"
FILES: Final = {f"files/{name}": (KEYS / name).read_bytes() for name in ("one.asc", "one.gpg", "two.asc")}

LIST: Final = """
import apt_pkg
apt_pkg.init()
sources = apt_pkg.SourceList()
sources.read_main_list()
for source in sources.list:
    for index in source.index_files:
        print(source.is_trusted, index.describe.partition(" (")[0])
"""


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Oneshot:
    """Return a Debian with an archive that is signed by the first key, and no other source."""
    machine = make_oneshot(binds=(fleet.bind,))
    machine.run(["sh", "-c", f"rm -f /etc/apt/sources.list {SOURCES}/*; mkdir {SIGNED}"])
    for name in ("InRelease", "Packages"):
        machine.run(["tee", f"{SIGNED}/{name}"], input=(KEYS / "archive" / name).read_bytes())
    return machine


def sh(machine: Machine, script: str) -> str:
    done = machine.run(["sh", "-c", script], check=False)
    return (done.stdout + done.stderr).strip()


def source(**fields: Any) -> dict[str, Any]:
    return {"package_source:app": {"uris": [f"copy:{SIGNED}"], "suites": ["./"], **fields}}


@pytest.mark.parametrize("field", ["key", "armoured", "binary", "several", "brought"])
def test_apt_takes_the_key_in_whatever_form_it_is_declared(machine: Oneshot, fleet: FleetOnHost, field: str) -> None:
    """Source and key have their place, and `apt-get update` finds the archive signed."""
    more: dict[str, dict[str, Any]] = {
        "key": {"key": FILES["files/one.asc"].decode(), "fingerprint": ONE},
        "armoured": {"keys": [{"source": "files/one.asc"}], "fingerprint": [ONE]},
        "binary": {"keys": [{"source": "files/one.gpg"}], "fingerprint": f"0x{ONE.lower()}"},
        "several": {"keys": [{"source": "files/two.asc"}, {"source": "files/one.gpg"}], "fingerprint": [ONE, TWO]},
        "brought": {"signed_by": "/srv/one.gpg"},
    }
    file = {"file:/srv/one.gpg": {"source": "files/one.gpg"}}
    fleet.commit({**(file if field == "brought" else {}), **source(**more[field])}, files=FILES)
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    said = sh(machine, "apt-get update && echo fetched")
    assert said.endswith("fetched")
    assert "W:" not in said
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_another_key_is_refused_by_apt_or_before_it_is_written(machine: Oneshot, fleet: FleetOnHost) -> None:
    fleet.commit(source(keys=[{"source": "files/two.asc"}]), files=FILES)
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    # What gpgv says, and what sqv says, by which apt 3 has signatures looked at.
    assert re.search("NO_PUBKEY|Missing key", sh(machine, "apt-get update"))
    before = sh(machine, f"sha256sum {KEY} {SOURCES}/*")
    fleet.commit(source(keys=[{"source": "files/one.asc"}], fingerprint=TWO, enabled=False), files=FILES)
    said = fleet.datum(machine, "apply", code=65)
    assert f"The fingerprint of the key is {ONE}, and not {TWO}." in said
    assert sh(machine, f"sha256sum {KEY} {SOURCES}/*") == before


def test_every_field_reaches_apt_and_a_spelling_by_hand_is_none(machine: Oneshot, fleet: FleetOnHost) -> None:
    uris = ["copy:/srv/a", "copy:/srv/b"]
    fleet.commit(
        {
            "package_source:app": {
                "uris": uris,
                "suites": ["one", "two"],
                "components": ["main", "extra"],
                "types": ["deb-src", "deb"],
                "architectures": ["amd64", "i386"],
                "options": {"Trusted": True, "Languages": "none"},
            },
            "package_source:off": {"uris": ["copy:/srv/off"], "suites": ["./"], "enabled": False},
        }
    )
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    found = set(sh(machine, f"python3 -c '{LIST}'").splitlines())
    for uri in uris:
        assert f"True {uri} two/extra i386 Packages" in found
        assert f"True {uri} one/main Sources" in found
    assert not [line for line in found if "off" in line or "Translation" in line]
    by_hand = "# mine\ntypes: deb deb-src\nURIs:\n copy:/srv/b\n copy:/srv/a\nSuites: two one\nComponents: extra main\n"
    by_hand += "Architectures: i386 amd64\nTrusted: yes\nLanguages: none\n"
    machine.write(f"{SOURCES}/app.sources", by_hand)
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_what_is_dropped_goes_with_its_key(machine: Oneshot, fleet: FleetOnHost) -> None:
    machine.write(f"{SOURCES}/app.list", f"deb copy:{SIGNED} ./\n")
    fleet.commit(source(keys=[{"source": "files/one.asc"}]), files=FILES)
    fleet.enrol(machine)
    assert "app.list is there, too" in fleet.datum(machine, "apply")
    assert sh(machine, f"stat -c '%a %U %G' /etc/apt/keyrings {KEY} {SOURCES}/app.sources").splitlines() == [
        "755 root root",
        *(["644 root root"] * 2),
    ]
    fleet.commit({"file:/srv/other": {"content": ""}})
    fleet.datum(machine, "apply")
    assert sh(machine, f"ls {SOURCES}") == "app.list"
    assert sh(machine, "ls -A /etc/apt/keyrings") == ""


def test_a_package_comes_after_the_source_that_offers_it(machine: Oneshot, fleet: FleetOnHost) -> None:
    Archive(machine).publish(Deb("aaa"))
    sh(machine, "rm /etc/apt/sources.list; apt-get update")
    offered = {"uris": [f"copy:{PLACE}"], "suites": ["./"], "options": {"Trusted": True}}
    fleet.commit({"package:aaa": {}, "package_source:zzz": offered})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert sh(machine, "dpkg-query -W -f '${Version}' aaa") == "1.0-1"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_a_source_that_nobody_declared_goes_from_an_exclusive_folder(machine: Oneshot, fleet: FleetOnHost) -> None:
    """Declared sources stay with their keys, and so does what a package brought."""
    Archive(machine).publish(Deb("brings", files={f"{SOURCES}/brought.list": "# nothing\n"}))
    sh(machine, "apt-get update; apt-get -y install brings")
    machine.write(f"{SOURCES}/stray.list", f"deb copy:{SIGNED} ./\n")
    fleet.commit(
        {f"directory:{SOURCES}": {"exclusive": True}, **source(keys=[{"source": "files/one.asc"}])}, files=FILES
    )
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert sh(machine, f"ls {SOURCES} {KEY}").split() == [KEY, f"{SOURCES}:", "app.sources", "brought.list"]
    assert "nothing to do" in fleet.datum(machine, "apply")
