"""Every writing operation of every type on disks that refuse: full, read-only in places, files that are immutable."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import pytest

from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.judging import judge_host
from tests.proofs.kinds_on_host import KindsOnHost, states
from tests.proofs.test_full_disk import HONEST, leave, leftovers

# Pages that are left on a full disk: none, and enough for some of the actions.
_PAGES: Final = (0, 40, 90)
# Folders that become read-only, and what fails then. A guarded set fails as a whole.
_READ_ONLY: Final = {
    "/etc/set.d": {"set"},
    "/etc/orphan.d": {"file:/etc/orphan.d/file", "link:/etc/orphan.d/link"},
    "/srv/attributes": {"directory:/srv/attributes"},
    "/srv/clears": {"directory:/srv/clears", "directory:/srv/clears/dropped"},
    "/srv/deep": {"directory:/srv/deep"},
    "/srv/owned": {"directory:/srv/owned"},
    "/srv/tree": {"tree:/srv/tree"},
}
# Files and folders that become immutable, and what fails then.
_IMMUTABLE: Final = {
    "/etc/updated": {"file:/etc/updated"},
    "/etc/attributes": {"file:/etc/attributes"},
    "/etc/gone": {"file:/etc/gone"},
    "/etc/orphan.d/file": {"file:/etc/orphan.d/file"},
    "/etc/was-directory/sub/a": {"file:/etc/was-directory"},
    "/etc/set.d/set-file": {"set"},
    "/srv/attributes": {"directory:/srv/attributes"},
    "/srv/clears/stray": {"directory:/srv/clears"},
    "/srv/deep/sub/subsub": {"directory:/srv/deep"},
    "/srv/gone/sub/b": {"directory:/srv/gone"},
    "/srv/owned/a": {"directory:/srv/owned"},
    "/srv/was-file": {"directory:/srv/was-file"},
    "/srv/link-was-file": {"link:/srv/link-was-file"},
    "/srv/tree/changed": {"tree:/srv/tree"},
    "/srv/by-built": {"command:built"},
}


@pytest.fixture
def kinds(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, tmp_path: Path) -> KindsOnHost:
    kinds, machine = KindsOnHost.prepare(make_oneshot, agent_bind, tmp_path)
    machine.close()
    return kinds


def outcomes(kinds: KindsOnHost, machine: Machine, code: int) -> dict[str, str]:
    """Run a pass; return what each resource came to."""
    done = machine.run([*kinds.fleet.argv, "apply", "--json"], env=kinds.fleet.env, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    return {entry["id"]: entry["outcome"] for entry in json.loads(done.stdout)["resources"]}


def assert_converges(kinds: KindsOnHost, machine: Machine) -> None:
    """Expect that the next pass does the rest, and the one after it nothing."""
    kinds.fleet.datum(machine, "apply")
    found = states(machine)
    wrong = {
        path: found.get(path) for path in {*found, *kinds.stage.new} if found.get(path) != kinds.stage.new.get(path)
    }
    assert not wrong
    assert not leftovers(machine)
    assert "nothing to do" in kinds.fleet.datum(machine, "apply")


def assert_costs_only(found: dict[str, str], expected: Collection[str]) -> None:
    """Expect that these failed, the members of the set where it is named, and that all the rest went on."""
    failed = {name for name, outcome in found.items() if outcome in {"failed", "skipped", "held", "unverified"}}
    of_set = {name for name in failed if "/set.d/" in name or name == "check:set"}
    assert bool(of_set) is ("set" in expected)
    assert failed - of_set == set(expected) - {"set"}, {name: found[name] for name in failed}
    assert sum(outcome == "applied" for outcome in found.values()) >= 15


def test_a_disk_that_fills_up_leaves_old_or_new_of_every_kind(kinds: KindsOnHost) -> None:
    for pages in _PAGES:
        machine = kinds.fresh(size="12m")
        machine.fill()
        leave(machine, pages)
        said = kinds.fleet.datum(machine, "apply", code=(0, *HONEST))
        assert said.strip()
        assert [*judge_host(kinds.stage, machine.path, states(machine))] == []
        machine.free()
        assert_converges(kinds, machine)
        machine.close()


def test_folders_that_are_read_only_fail_what_lies_in_them_and_nothing_else(kinds: KindsOnHost) -> None:
    machine = kinds.fresh()
    for path in _READ_ONLY:
        machine.set_read_only(path)
    found = outcomes(kinds, machine, 1)
    assert_costs_only(found, set().union(*_READ_ONLY.values()))
    now = states(machine)
    for path in kinds.stage.changing - kinds.stage.loose:
        is_below = any(f"/{path}/".startswith(f"{top}/") for top in _READ_ONLY)
        wanted = kinds.stage.old if is_below else kinds.stage.new
        assert now.get(path) == wanted[path], path
    for path in _READ_ONLY:
        machine.set_writable(path)
    assert_converges(kinds, machine)


def test_what_is_immutable_fails_its_own_resource_and_nothing_else(kinds: KindsOnHost) -> None:
    machine = kinds.fresh(lossy=True)
    machine.run(["chattr", "+i", *_IMMUTABLE])
    found = outcomes(kinds, machine, 1)
    assert_costs_only(found, set().union(*_IMMUTABLE.values()))
    assert [*judge_host(kinds.stage, machine.path, states(machine))] == []
    for path in _IMMUTABLE:
        # Some have another name now: the leftover's.
        machine.run(["sh", "-c", f"chattr -i {path}"], check=False)
    machine.run(
        ["sh", "-c", "chattr -R -i /etc/.[!.]*.dpkg-tmp /etc/*/.[!.]*.dpkg-tmp /srv/.[!.]*.dpkg-tmp"], check=False
    )
    assert_converges(kinds, machine)
