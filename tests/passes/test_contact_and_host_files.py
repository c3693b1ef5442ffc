"""What is read before a first revision, what tells of lost state, and what leaving does of a link (ADR 0048)."""

import os
import shutil
from typing import Any

import pytest

from datum.agent.commands import PlanMade, plan
from datum.agent.resolver.own import OwnManifests
from datum.agent.settings import Settings, read_settings
from datum.cli import enrolling
from tests.passes.scene import HOST, Scene
from tests.passes.test_first_contact import A, B, codes, configure, forget, reports

CONFIG = "/etc/datum/agent.yaml"
STATE = "/var/lib/datum"
PAUSE = """who: alice
reason: disk swap
since: '2026-01-01T00:00:00Z'
until: '2026-01-20T00:00:00Z'
"""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note in which order revisions and files of the host are given to what reads revisions."""
    given: list[str] = []

    def note(name: str) -> None:
        real: Any = getattr(OwnManifests, name)

        def noted(self: OwnManifests, *about: Any) -> Any:
            given.append(name)
            return real(self, *about)

        monkeypatch.setattr(OwnManifests, name, noted)

    for each in ("yaml", "header", "manifest"):
        note(each)
    return given


def late(given: list[str]) -> list[str]:
    """Return the files of the host that were given after a revision."""
    first = min((given.index(one) for one in ("header", "manifest") if one in given), default=len(given))
    return [one for one in given[first:] if one == "yaml"]


# --- what has read a revision reads no file of the host


@pytest.mark.parametrize("paused", [False, True])
def test_init_gives_no_file_of_the_host_to_what_has_read_a_revision(
    scene: Scene, reader: list[str], *, paused: bool
) -> None:
    """Neither agent.yaml nor a pause: a revision that took the reader over would choose what they say."""
    scene.commit(A)
    if paused:
        scene.write(f"{STATE}/pause.yaml", PAUSE)
    ran = scene.init()
    assert ran.code == 0, ran
    assert "create" in ran.out
    assert "manifest" in reader
    assert not late(reader)


@pytest.mark.parametrize("words", [("apply",), ("plan",), ("status", "--resources"), ("orphans",)])
@pytest.mark.parametrize("is_first", [True, False])
def test_no_command_gives_it_one(scene: Scene, reader: list[str], words: tuple[str, ...], *, is_first: bool) -> None:
    if is_first:
        configure(scene, scene.commit(A))
    else:
        scene.enrolled(A)
    scene.write(f"{STATE}/pause.yaml", PAUSE)
    reader.clear()
    scene.run(*words)
    assert not late(reader)


def test_the_plan_of_init_is_by_the_settings_that_later_commands_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[tuple[Settings | None, Settings]] = []

    def planned(options: Any, request: Any, ports: Any, *, settings: Settings | None = None) -> PlanMade:
        used.append((settings, read_settings(options)))
        return plan(options, request, ports, settings=settings)

    monkeypatch.setattr(enrolling, "plan", planned)
    scene.commit(A)
    assert scene.init("--enforcement", "hold").code == 0
    assert scene.init("--enforcement", "hold").code == 0
    assert len(used) == 2
    assert all(given == read for given, read in used)


# --- a pause at first contact


def test_a_damaged_pause_ends_a_pass_before_first_contact(scene: Scene) -> None:
    """Somebody wanted the host to be left alone, so no pointer is written either."""
    configure(scene, scene.commit(A))
    scene.write(f"{STATE}/pause.yaml", "until: tomorrow\n")
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (78, {"pause-damaged"})
    assert not scene.pointer_path.exists()
    assert scene.read("/etc/a") is None


def test_under_a_pause_first_contact_accepts_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    from datum.cli import effects

    monkeypatch.setattr(effects, "read_clock", lambda: "2026-01-02T00:00:00Z")
    configure(scene, scene.commit(A))
    scene.write(f"{STATE}/pause.yaml", PAUSE)
    assert scene.run("apply").code == 0
    assert scene.read("/etc/a") is None
    assert scene.pointer["accepted"] is None


# --- lost state


def test_reports_that_cannot_be_looked_at_are_no_missing_ones(scene: Scene) -> None:
    """74: they would tell whether this is first contact, and the floor is not given up for a guess."""
    configure(scene, scene.commit(A))
    scene.write("/var/log/datum/reports", "no folder")
    ran = scene.run("apply")
    assert (ran.code, codes(ran)) == (74, {"reports-unreadable"})
    assert not scene.pointer_path.exists()
    assert scene.read("/etc/a") is None


@pytest.mark.parametrize("ahead", [1, 1 << 61])
def test_a_record_of_leaving_counts_whatever_the_clock_said(scene: Scene, ahead: int) -> None:
    """Reports of a clock that was ahead are from before the leave; those after it are later than its record."""
    head = scene.enrolled(A)
    (report,) = reports(scene)
    time = report.stat().st_mtime_ns + ahead
    os.utime(report, ns=(time, time))
    assert scene.run("leave", "--yes").code == 0
    configure(scene, head)
    assert scene.run("apply").code == 0
    forget(scene)
    assert codes(scene.run("apply")) == {"state-lost"}


# --- status


def test_status_of_a_host_with_an_anchor_says_that_the_first_pass_makes_contact(scene: Scene) -> None:
    anchor = scene.commit(A)
    configure(scene, anchor)
    ran = scene.run("status")
    assert ran.code == 0
    assert f"not enrolled; the first pass makes contact, with {anchor[:12]} or what" in ran.out
    assert "datum init" not in ran.out


def test_status_names_init_where_no_pass_makes_contact(scene: Scene) -> None:
    scene.commit(A)
    scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\n")
    ran = scene.run("status")
    assert ran.code == 0
    assert "not enrolled; datum init" in ran.out


@pytest.mark.parametrize(("how", "code"), [("no anchor", "lost"), ("lost", "lost"), ("unreadable", "unreadable")])
def test_status_of_lost_state_names_no_init_that_would_give_up_the_floor(scene: Scene, how: str, code: str) -> None:
    head = scene.enrolled(A)
    forget(scene)
    if how == "no anchor":
        scene.write(CONFIG, f"repo: {scene.url}\nhost: {HOST}\n")
    if how == "unreadable":
        shutil.rmtree(scene.at("/var/log/datum/reports"))
        scene.write("/var/log/datum/reports", head)
    ran = scene.run("status")
    assert ran.code == 0
    assert "not enrolled; its state may be lost" in ran.out
    assert {"lost": "[state-lost]", "unreadable": "[reports-unreadable]"}[code] in ran.out
    assert "datum init" not in ran.out.replace(f"datum init --repo {scene.url} --host {HOST} --anchor {head}", "")


# --- leaving a state directory that is a link


def test_a_link_to_the_state_stays_and_is_named(scene: Scene) -> None:
    """Whoever put it there wants the state elsewhere, and what datum kept there goes."""
    scene.at("/srv/state").mkdir()
    scene.at("/var/lib").mkdir(parents=True)
    scene.at(STATE).symlink_to("../../srv/state")
    scene.enrolled(A)
    ran = scene.run("leave", "--yes")
    assert ran.code == 0, ran
    assert scene.at(STATE).is_symlink()
    assert list(scene.at("/srv/state").iterdir()) == []
    assert f"stays    {scene.at(STATE)}, which is not datum's" in ran.out
    assert f"removed  {scene.at(STATE)}\n" not in ran.out
    again = scene.run("leave", "--yes")
    assert (again.code, again.out) == (0, "This host is not enrolled; there is nothing to leave.\n")
    scene.commit(B)
    assert scene.init().code == 0
