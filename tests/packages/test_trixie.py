"""The package for a Debian 13, built on a Debian 12: its own Python, and libraries that were compiled for it."""

from collections.abc import Callable
from pathlib import Path

from scripts.debian.distributions import version_of
from tests.architecture.tracked import ROOT
from tests.harness import image
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.packages.building import find_or_build
from tests.packages.packaged import DEBS
from tests.proofs.on_host import FleetOnHost


def test_it_is_installed_and_keeps_a_host(make_trixie_oneshot: Callable[..., Oneshot], tmp_path: Path) -> None:
    deb = find_or_build(image.TRIXIE).deb
    assert "+deb13_" in deb.name
    fleet = FleetOnHost(tmp_path, AgentBind((), {}, ("/usr/bin/datum",)))
    fleet.commit({"file:/etc/motd": {"content": "kept\n"}})
    host = make_trixie_oneshot(binds=(fleet.bind, Bind(str(deb.parent), DEBS)))
    host.run(["dpkg", "-i", f"{DEBS}/{deb.name}"], timeout=120)
    assert host.run(["datum", "--version"]).stdout == f"datum {version_of(ROOT)}\n"
    assert "3.13" in host.run(["/usr/lib/datum/venv/bin/python", "--version"]).stdout
    fleet.enrol(host)
    fleet.datum(host, "apply")
    assert host.read("/etc/motd") == b"kept\n"
    assert "nothing to do" in fleet.datum(host, "apply")
    host.run(["dpkg", "--purge", "datum-agent"], timeout=120)
    assert not (host.path / "usr/lib/datum").exists()
