"""Each judgement, state by state: what was found, what is said, what is to be done. No host is looked at."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve

from datum.agent.accounts import AccountFacts
from datum.agent.doctor import clock, configuration, disk, fleet, keeping, passes, permissions, source, units, versions
from datum.agent.doctor.configuration import Rights
from datum.agent.doctor.disk import Space
from datum.agent.doctor.finding import Finding, State
from datum.agent.doctor.keeping import MirrorFacts
from datum.agent.doctor.passes import Reports
from datum.agent.doctor.permissions import Confinement
from datum.agent.doctor.versions import Needed
from datum.diagnostics import Diagnostic
from datum.errors import ProviderError
from datum.host.clock import KernelClock
from datum.host.units_in_short import LastRun, ManagerFacts, TimerFacts
from datum.model.manifest import Enforcement
from datum.model.pause import Pause
from datum.model.pointer import Pointer, TrailEntry
from datum.provider.manager import UnitFacts
from datum.state.progress import Progress
from tests.unit.fakes import HOST, revision, rid

OK, WARNING, FAULT, NOT = State.OK, State.WARNING, State.FAULT, State.NOT_CHECKED
MIB: Final = 1 << 20
NOW: Final = "2026-01-02T12:00:00Z"
BROKEN: Final = Diagnostic(
    code="source-account-shut-out", summary="Shut out.", detail="It may not.", hint="chmod o+x /x"
)

SPACE = Space("/var", 2000 * MIB, 9000 * MIB, 100_000, 200_000, is_read_only=False)
ALL = Confinement((1 << 41) - 1)
POINTER = Pointer("f", HOST, revision(1), revision(1), (TrailEntry(revision(1), HOST),))
MIRROR = MirrorFacts(is_there=True, packs=2, bytes=2048)
RUNNING = Progress("1", 42, "observe", "update file:/a", NOW, 100.0, 100.0)
TIMER = UnitFacts("datum.timer", active="active", file_state="enabled", fragment="/usr/lib/x")
SERVICE = UnitFacts("datum.service", fragment="/usr/lib/y", result="success")
NEXT = TimerFacts(next_elapse=1_767_355_200_000_000)
REPORTS = Reports(3, 2048, "20260102T115000Z", "converged")
PAUSE = Pause("ann", "disks are swapped", 1_767_350_000, 1_767_360_000)
TOOL = Needed("tool", ("tool", "--version"), "2.31", "it is used", "toolbox")
ACCOUNT = AccountFacts("datum-source", is_there=True)


def rights(path: str, mode: int, uid: int = 0) -> Rights:
    return Rights(Path(path), mode, uid)


def status(mode: int, uid: int = 0, gid: int = 0) -> os.stat_result:
    return os.stat_result((0o40000 | mode, 0, 0, 2, uid, gid, 0, 0, 0, 0))


def owned(*found: Rights) -> Finding:
    return configuration.judge_rights(list(found), frozenset({0}))


def directory(found: os.stat_result) -> Finding:
    return keeping.judge_directory("/s", found, {}, frozenset({0}))


def pointer(**changes: Any) -> Finding:
    return keeping.judge_pointer(evolve(POINTER, **changes), is_running_system=True)


def mirror(**changes: Any) -> Finding:
    return keeping.judge_mirror(evolve(MIRROR, **changes), has_pointer=True)


def timer(facts: TimerFacts = NEXT, **changes: Any) -> Finding:
    return units.judge_timer(evolve(TIMER, **changes), facts)


def service(run: LastRun = LastRun(), **changes: Any) -> Finding:  # noqa: B008  # frozen
    return units.judge_service(evolve(SERVICE, **changes), run)


def enforced(enforcement: Enforcement, pause: Pause | None = None, now: int = 1_767_355_000) -> Finding:
    return passes.judge_enforcement(enforcement, pause, now, " --root /r")


def broken_types() -> Finding:
    return fleet.judge_types(("a", "b"), [ProviderError(BROKEN)])


def libraries(error: Exception | None) -> Finding:
    def read() -> dict[str, str]:
        if error:
            raise error
        return {"pygit2": "1.0", "libgit2": "1.9"}

    return versions.judge_libraries(read)


CASES: Final[list[tuple[str, State, str, Callable[[], Finding]]]] = [
    # configuration
    ("safe", OK, "Only its owner can write", lambda: owned(rights("/e", 0o755), rights("/e/f", 0o600))),
    ("folder open", FAULT, "/e has mode 0777", lambda: owned(rights("/e", 0o777), rights("/e/f", 0o600))),
    ("group writes", FAULT, "others can change it", lambda: owned(rights("/e", 0o755), rights("/e/f", 0o620))),
    ("foreign owner", FAULT, "of the user 7", lambda: owned(rights("/e", 0o755), rights("/e/f", 0o600, 7))),
    # source
    ("account", OK, "datum-source is there", lambda: source.judge_account(ACCOUNT, is_running_system=True)),
    ("account of an image", OK, "another root", lambda: source.judge_account(ACCOUNT, is_running_system=False)),
    (
        "no account",
        WARNING,
        "as root",
        lambda: source.judge_account(evolve(ACCOUNT, is_there=False), is_running_system=True),
    ),
    (
        "root wanted",
        WARNING,
        "source.account says so",
        lambda: source.judge_account(AccountFacts("root", is_there=True), is_running_system=True),
    ),
    (
        "shut out",
        FAULT,
        "It may not",
        lambda: source.judge_account(evolve(ACCOUNT, findings=(BROKEN,)), is_running_system=True),
    ),
    # state
    ("state", OK, "nobody else can write", lambda: directory(status(0o755))),
    ("state open to all", FAULT, "mode 0757", lambda: directory(status(0o757))),
    ("state open to a group", FAULT, "mode 0775", lambda: directory(status(0o775, gid=7))),
    ("state of another", FAULT, "of the user 7", lambda: directory(status(0o755, uid=7))),
    ("pointer", OK, "is enforced", pointer),
    ("sealed", OK, "unseals it", lambda: pointer(sealed=True)),
    ("nothing enforced", OK, "nothing is enforced yet", lambda: pointer(trail=())),
    ("trial", WARNING, "not confirmed", lambda: pointer(trial=revision(2))),
    (
        "long trail",
        WARNING,
        "40 revisions",
        lambda: pointer(trail=tuple(TrailEntry(revision(n), HOST) for n in range(1, 41))),
    ),
    ("mirror", OK, "Sound: 2 packs, 2.0 KiB", mirror),
    ("no mirror", WARNING, "There is no mirror", lambda: mirror(is_there=False)),
    (
        "no mirror, no pointer",
        NOT,
        "first contact",
        lambda: keeping.judge_mirror(MirrorFacts(is_there=False), has_pointer=False),
    ),
    ("not whole", WARNING, "abc is not whole", lambda: mirror(missing=("abc",))),
    ("two not whole", WARNING, "are not whole", lambda: mirror(missing=("abc", "def"))),
    ("one pack", OK, "Sound: 1 pack, ", lambda: mirror(packs=1)),
    ("leftovers", WARNING, "left 1 file in", lambda: mirror(leftovers=("shallow.lock",))),
    ("files of a pass that runs", OK, "Sound", lambda: mirror(leftovers=("shallow.lock",), is_busy=True)),
    ("many packs", WARNING, "repacked", lambda: mirror(packs=21)),
    ("no pass", OK, "No pass runs", lambda: keeping.judge_lock(None, is_taken=False, now=0)),
    ("lock without a word", OK, "Somebody", lambda: keeping.judge_lock(None, is_taken=True, now=0)),
    ("pass", OK, "process 42 has held it for 10 seconds", lambda: keeping.judge_lock(RUNNING, is_taken=True, now=110)),
    ("long pass", WARNING, "for 2 hours", lambda: keeping.judge_lock(RUNNING, is_taken=True, now=7400)),
    # clock
    (
        "synchronized",
        OK,
        "3 ms at most",
        lambda: clock.judge_kernel(KernelClock(is_synchronized=True, maximal_error=3000)),
    ),
    (
        "not synchronized",
        WARNING,
        "Nothing keeps",
        lambda: clock.judge_kernel(KernelClock(is_synchronized=False, maximal_error=3000)),
    ),
    ("no report to compare", NOT, "no report", lambda: clock.judge_reports(NOW, "")),
    ("odd report", NOT, "no report", lambda: clock.judge_reports(NOW, "odd")),
    ("report of the past", OK, "of the past", lambda: clock.judge_reports(NOW, "20260102T115000Z")),
    ("report of the future", WARNING, "2 days from now", lambda: clock.judge_reports(NOW, "20260104T120000Z")),
    ("equal clocks", OK, "agree", lambda: clock.judge_source("h", ahead=59, what="The clock of")),
    ("clock behind", WARNING, "2 minutes ahead", lambda: clock.judge_source("h", ahead=120, what="The clock of")),
    ("clock ahead", FAULT, "11 minutes behind", lambda: clock.judge_source("h", ahead=-660, what="The clock of")),
    ("old commit", OK, "not dated ahead", lambda: clock.judge_commit("h", "abc", ahead=-9)),
    ("commit of tomorrow", WARNING, "24 hours ahead", lambda: clock.judge_commit("h", "abc", ahead=86400)),
    # disk
    ("room", OK, "2.0 GiB of 8.8 GiB are free", lambda: disk.judge_space(SPACE)),
    ("little room", WARNING, "100.0 MiB", lambda: disk.judge_space(evolve(SPACE, free_bytes=100 * MIB))),
    ("no room", FAULT, "it is full", lambda: disk.judge_space(evolve(SPACE, free_bytes=MIB))),
    ("few inodes", WARNING, "4000 of", lambda: disk.judge_space(evolve(SPACE, free_inodes=4000))),
    ("no inodes", FAULT, "it is full", lambda: disk.judge_space(evolve(SPACE, free_inodes=0))),
    ("no count of inodes", OK, "free", lambda: disk.judge_space(evolve(SPACE, free_inodes=0, all_inodes=0))),
    ("writable", OK, "writable", lambda: disk.judge_writable(SPACE)),
    ("read-only", FAULT, "read-only", lambda: disk.judge_writable(evolve(SPACE, is_read_only=True))),
    ("unnamed", OK, "without a name", lambda: disk.judge_unnamed("/s", 0, "")),
    ("no unnamed", WARNING, "leaves a file behind", lambda: disk.judge_unnamed("/s", 95, "Operation not supported")),
    ("unnamed unknown", NOT, "No space", lambda: disk.judge_unnamed("/s", 28, "No space left on device")),
    ("mounts", OK, "of its own", lambda: disk.judge_private_mounts("")),
    ("no mounts", WARNING, "unshare NEWNS", lambda: disk.judge_private_mounts("unshare NEWNS: not permitted")),
    # permissions
    ("root", OK, "as root", lambda: permissions.judge_user(0, is_running_system=True)),
    ("own root", OK, "whose root", lambda: permissions.judge_user(7, is_running_system=False)),
    ("user", WARNING, "a pass needs root", lambda: permissions.judge_user(7, is_running_system=True)),
    ("capable", OK, "what a pass needs", lambda: permissions.judge_capabilities(ALL, is_root=True)),
    ("user's capabilities", NOT, "ordinary user", lambda: permissions.judge_capabilities(ALL, is_root=False)),
    ("unknown", NOT, "does not say", lambda: permissions.judge_capabilities(Confinement(), is_root=True)),
    (
        "no chown",
        FAULT,
        "CAP_CHOWN, CAP_FOWNER",
        lambda: permissions.judge_capabilities(Confinement(~0b1001), is_root=True),
    ),
    (
        "no admin",
        WARNING,
        "CAP_SYS_ADMIN",
        lambda: permissions.judge_capabilities(Confinement(~(1 << 21)), is_root=True),
    ),
    ("free", OK, "Nothing confines", lambda: permissions.judge_confinement(ALL)),
    ("filtered", OK, "filter of system calls", lambda: permissions.judge_confinement(evolve(ALL, seccomp="filtered"))),
    (
        "no new privileges",
        WARNING,
        "no new privileges",
        lambda: permissions.judge_confinement(evolve(ALL, has_no_new_privileges=True)),
    ),
    (
        "profile",
        WARNING,
        "the profile /usr/bin/datum",
        lambda: permissions.judge_confinement(evolve(ALL, modules=("apparmor",), label="/usr/bin/datum (enforce)")),
    ),
    (
        "selinux",
        WARNING,
        "SELinux enforces",
        lambda: permissions.judge_confinement(evolve(ALL, modules=("selinux",), label="s:r:init_t:s0")),
    ),
    (
        "selinux lets all",
        OK,
        "selinux active",
        lambda: permissions.judge_confinement(evolve(ALL, modules=("selinux",), label="s:r:unconfined_t:s0")),
    ),
    (
        "read apart",
        OK,
        "A process without rights",
        lambda: permissions.judge_reader((), is_broken=False, is_apart=True),
    ),
    ("read here", OK, "by this process", lambda: permissions.judge_reader((), is_broken=False, is_apart=False)),
    ("reader bare", WARNING, "It may not", lambda: permissions.judge_reader((BROKEN,), is_broken=False, is_apart=True)),
    ("no reader", FAULT, "It may not", lambda: permissions.judge_reader((BROKEN,), is_broken=True, is_apart=True)),
    # units
    ("manager", OK, "systemd 252", lambda: units.judge_manager(ManagerFacts("252", ()), True)),
    ("no marks", FAULT, "no restart can be owed", lambda: units.judge_manager(ManagerFacts("247", ()), False)),
    ("timer", OK, "elapses next at 2026-01-02T12:00:00Z", timer),
    ("drop-in", OK, "drop-ins: /etc/d", lambda: timer(drop_ins=("/etc/d",))),
    ("no timer", FAULT, "There is no datum.timer", lambda: timer(load="not-found")),
    ("masked", FAULT, "is masked", lambda: timer(load="masked")),
    ("bad timer", FAULT, "cannot be loaded (bad-setting): odd", lambda: timer(load="bad-setting", load_error="odd")),
    ("disabled", FAULT, "is disabled", lambda: timer(file_state="disabled")),
    ("stopped", FAULT, "is inactive", lambda: timer(active="inactive")),
    ("boot timer", OK, "datum-boot.timer is enabled", lambda: timer(name="datum-boot.timer", active="inactive")),
    ("changed", WARNING, "changed since", lambda: timer(needs_daemon_reload=True)),
    ("service", OK, "a success", service),
    ("no service", FAULT, "There is no datum.service", lambda: service(load="not-found")),
    ("failed", WARNING, "ended with 69 (UNAVAILABLE)", lambda: service(LastRun(69), result="exit-code")),
    ("killed", WARNING, "ended by 'signal'", lambda: service(LastRun(9), result="signal", active="failed")),
    ("service changed", WARNING, "changed since", lambda: service(needs_daemon_reload=True)),
    ("none failed", OK, "None", lambda: units.judge_failed(())),
    ("one failed", WARNING, "datum.service", lambda: units.judge_failed(("datum.service",))),
    ("logind", OK, "logind runs", lambda: units.judge_logind(UnitFacts("systemd-logind.service", active="active"))),
    ("no logind", WARNING, "not-found", lambda: units.judge_logind(UnitFacts("x", load="not-found"))),
    # versions
    ("python", OK, "3.13.1", lambda: versions.judge_python("3.13.1")),
    ("old python", FAULT, "3.11 or later is needed", lambda: versions.judge_python("3.9.2")),
    ("libraries", OK, "pygit2 1.0, libgit2 1.9", lambda: libraries(None)),
    ("no libraries", FAULT, "cannot be loaded (no)", lambda: libraries(ImportError("no"))),
    ("tool", OK, "tool 2.39.5", lambda: versions.judge_program(TOOL, "tool version 2.39.5\n")),
    ("equal", OK, "tool 2.31", lambda: versions.judge_program(TOOL, "tool 2.31")),
    ("old", FAULT, "2.31 or later is needed", lambda: versions.judge_program(TOOL, "tool 2.9.1")),
    ("missing", FAULT, "cannot be run", lambda: versions.judge_program(TOOL, None)),
    (
        "missing and optional",
        WARNING,
        "cannot be run",
        lambda: versions.judge_program(evolve(TOOL, is_optional=True), None),
    ),
    ("silent", WARNING, "does not say", lambda: versions.judge_program(TOOL, "")),
    ("any", OK, "of an unknown version", lambda: versions.judge_program(evolve(TOOL, least=""), "")),
    (
        "ssh",
        OK,
        "9.2",
        lambda: versions.judge_program(evolve(TOOL, least="7.3"), "OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.1"),
    ),
    ("systemd", OK, "252", lambda: versions.judge_program(evolve(TOOL, least="248"), "systemd 252 (252.39-1)")),
    ("backend", OK, "gnutls", lambda: versions.judge_backend("gnutls")),
    ("no backend", WARNING, "could not be told", lambda: versions.judge_backend(None)),
    # fleet
    ("types", OK, "2 types", lambda: fleet.judge_types(("a", "b"), [])),
    ("no types", FAULT, "No type", lambda: fleet.judge_types((), [])),
    ("broken type", FAULT, "It may not", broken_types),
    # passes
    ("young", OK, "10 minutes old", lambda: passes.judge_age(REPORTS, NOW, is_enrolled=True)),
    (
        "old report",
        WARNING,
        "24 hours old",
        lambda: passes.judge_age(evolve(REPORTS, began="20260101T115000Z"), NOW, is_enrolled=True),
    ),
    ("no report", WARNING, "No pass wrote", lambda: passes.judge_age(Reports(0, 0), NOW, is_enrolled=True)),
    ("not enrolled", NOT, "No pass ran", lambda: passes.judge_age(Reports(0, 0), NOW, is_enrolled=False)),
    ("converged", OK, "converged", lambda: passes.judge_outcome(REPORTS)),
    ("rolled back", WARNING, "rolled back", lambda: passes.judge_outcome(evolve(REPORTS, outcome="rolled_back"))),
    ("no outcome", NOT, "no report", lambda: passes.judge_outcome(Reports(0, 0))),
    ("small", OK, "2.0 KiB of 1.0 MiB", lambda: passes.judge_size(REPORTS, MIB)),
    ("big", WARNING, "removes old ones", lambda: passes.judge_size(REPORTS, 1024)),
    ("enforce", OK, "Neither", lambda: enforced(Enforcement.ENFORCE)),
    ("hold", WARNING, "enforcement: hold", lambda: enforced(Enforcement.HOLD)),
    ("paused", WARNING, "This host is paused by ann", lambda: enforced(Enforcement.ENFORCE, PAUSE)),
    (
        "part",
        WARNING,
        "A part of this host",
        lambda: enforced(Enforcement.ENFORCE, evolve(PAUSE, only=(rid("file:/a"),))),
    ),
    ("over", OK, "Neither", lambda: enforced(Enforcement.ENFORCE, PAUSE, now=1_767_999_999)),
    ("of the future", WARNING, "not in force", lambda: enforced(Enforcement.ENFORCE, PAUSE, now=1_767_000_000)),
]


@pytest.mark.parametrize(("state", "words", "judge"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_judgement(state: State, words: str, judge: Callable[[], Finding]) -> None:
    """What is well needs no cure, and what is not has one."""
    found = judge()
    assert found.state is state
    assert words in found.found
    if state is not State.NOT_CHECKED:
        assert bool(found.cure) is (state is not State.OK), found


def test_every_check_of_this_host_has_cases() -> None:
    """A check that only ever says ok is none."""
    judged: dict[str, set[State]] = {}
    for _, state, _, judge in CASES:
        judged.setdefault(judge().check, set()).add(state)
    for check, states in judged.items():
        assert State.OK in states, check
        assert states & {State.WARNING, State.FAULT}, check


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (1 << 41, "2.0 TiB"), (5 << 30, "5.0 GiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert disk.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7200, "2 hours")]
)
def test_spans(seconds: float, text: str) -> None:
    assert clock.span(seconds) == text
