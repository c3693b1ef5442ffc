"""What people and programs are shown, for typical values and for odd ones."""

import copy
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datum.agent.authoring import Edges, Why
from datum.agent.commands import Applied, PlanMade
from datum.agent.settings import Settings
from datum.agent.status import Status
from datum.cli.views import graphs, manifests, passes, planning, problems, reports, standing
from datum.cli.views.changes import plural, short
from datum.cli.views.paper import Paper
from datum.cli.views.resources import count_operations, count_words, write_orphans, write_resource
from datum.diagnostics import Diagnostic, Severity, SourceLocation
from datum.errors import StateError, UsageError
from datum.model.content import Content
from datum.model.graph import Dependency, DependencyKind, Node, ResourceGraph
from datum.model.json import thaw
from datum.model.manifest import EffectiveManifest, Late
from datum.model.plan import Hold, HoldReason, Label, Operation, Orphan, OrphanState, Plan, Verdict, VerdictKind
from datum.model.pointer import Pointer, TrailEntry
from datum.model.provenance import FieldOrigin, Say
from datum.model.report import LeftOver, PassReport, SourceReport
from datum.model.result import ActionResult, Outcome, PassOutcome
from datum.model.revision import SourceStatus
from datum.model.trigger import Asked, Trigger, TriggerKind
from datum.report.as_json import report_to_json, resource_to_json
from datum.report.build import count_outcomes, report_resources
from datum.report.plan_json import plan_to_json
from datum.state.lock import JoinedPass, SharedOutcome
from datum.state.progress import Progress
from datum.testing import strategies as some
from tests.unit.cli.screen import is_harmless, plain
from tests.unit.fakes import HOST, TARGET, at, declare, graph_of, revision, rid
from tests.unit.report import samples
from tests.unit.report.samples import action, change, plan, report

Captured = pytest.CaptureFixture[str]
EVIL = "/etc/\x9b2Ja\u202eb"


# One resource.


def shown(*, outcome: Outcome | None = None, others: Mapping[str, Any] | None = None, **parts: Any) -> str:
    """Return the lines of one action."""
    operation = parts.pop("operation", Operation.UPDATE)
    changes = parts.pop("changes", (change("mode", "0644", "0600"),))
    one = action("file:/etc/a", operation, *changes, **parts)
    results = (ActionResult(one, outcome, **(others or {})),) if outcome else ()
    (resource,) = report_resources(plan(one), results)
    paper = Paper()
    write_resource(paper, resource_to_json(resource))
    return plain(paper)


@pytest.mark.parametrize(
    ("operation", "sign"),
    [
        (Operation.CREATE, "+ create "),
        (Operation.UPDATE, "~ update "),
        (Operation.REPLACE, "± replace"),
        (Operation.DELETE, "- delete "),
        (Operation.MARK, "* mark   "),
        (Operation.REFRESH_RELOAD, "↻ reload "),
        (Operation.REFRESH_RESTART, "↻ restart"),
    ],
)
def test_each_operation_has_its_sign(operation: Operation, sign: str) -> None:
    """In columns of one width."""
    first = shown(operation=operation).splitlines()[0]
    assert first == f"  {sign} file:/etc/a  intent  hosts/web1.yaml:1:3"


def test_what_is_applied_says_so() -> None:
    """Outcome, label, place, then the fields."""
    assert shown(outcome=Outcome.APPLIED, label=Label.DRIFT) == (
        "  ~ update  file:/etc/a  applied  drift  hosts/web1.yaml:1:3\n      mode 0644 → 0600\n"
    )


def test_create_shows_what_is_made_without_noise() -> None:
    """That a file is made a file is not said, and no hunk header of nothing."""
    changes = (
        change("kind", None, "regular"),
        change("content", None, "blob:" + "1" * 40, after_text="a\nb\n"),
        change("mode", None, "0600"),
    )
    assert shown(operation=Operation.CREATE, changes=changes).splitlines()[1:] == [
        "      content",
        "        +a",
        "        +b",
        "      mode 0600",
    ]


def test_update_shows_the_difference() -> None:
    """With its place in the file."""
    changes = (change("content", "blob:1", "blob:2", before_text="a\nb\n", after_text="a\nc\n"),)
    lines = shown(changes=changes).splitlines()[1:]
    assert lines == ["      content", "        @@ -1,2 +1,2 @@", "         a", "        -b", "        +c"]


def test_replace_says_what_stood_there() -> None:
    """The kind is no noise then."""
    text = shown(operation=Operation.REPLACE, changes=(change("kind", "symlink", "regular"),))
    assert "      kind symlink → regular\n" in text


def test_content_without_a_text_is_shown_by_its_id() -> None:
    """Shortened, both sides."""
    changes = (change("content", f"blob:{'1' * 40}", f"blob:{'2' * 40}"),)
    assert shown(changes=changes).splitlines()[1] == f"      content blob:{'1' * 12} → blob:{'2' * 12}"


def test_deletion_shows_no_fields() -> None:
    """What goes is named; who declared it, too."""
    one = action("file:/etc/a", Operation.DELETE, change("mode", "0644", None), orphan_of=TARGET)
    (resource,) = report_resources(plan(evolve(one, location=None)), ())
    paper = Paper()
    write_resource(paper, resource_to_json(resource))
    assert plain(paper) == f"  - delete  file:/etc/a  intent  no longer declared; last by {TARGET.short}\n"


def test_control_characters_of_contents_and_names_are_visible() -> None:
    """Within a diff, a value, and the name of a file."""
    text = shown(
        changes=(
            change("content", "blob:1", "blob:2", before_text="a\x1b[31m\n", after_text="b\r\x07\x0c\n"),
            change("owner", "\x1b]0;x\x07", "root\u202e"),
        )
    )
    assert is_harmless(text)
    assert "        -a\\x1b[31m\n        +b\\x0d\\x07\\x0c\n" in text
    assert "owner \\x1b]0;x\\x07 → root\\u202e" in text
    (resource,) = report_resources(plan(action(f"file:{EVIL}")), ())
    paper = Paper()
    write_resource(paper, resource_to_json(resource))
    assert is_harmless(plain(paper))
    assert "file:/etc/\\x9b2Ja\\u202eb" in plain(paper)


def test_held_says_by_what_and_what_releases_it() -> None:
    """Once: the diagnostic of a planned hold is not repeated."""
    hold = Hold(HoldReason.AUDIT, "Drift is reported, not repaired.", "remove 'audit'")
    found = Diagnostic(code="held-audit", summary="An action is held.", detail=hold.detail)
    text = shown(outcome=Outcome.HELD, hold=hold, others={"diagnostics": (found,)})
    assert text.splitlines()[1:3] == [
        "      held (audit): Drift is reported, not repaired.",
        "      released by: remove 'audit'",
    ]
    assert text.count("Drift is reported") == 1
    assert "released by" not in shown(hold=Hold(HoldReason.LIMIT, "Too many."))


def test_hold_that_was_not_planned_is_told_by_its_diagnostic() -> None:
    """It changed under us."""
    found = Diagnostic(code="held-changed-under-us", summary="An action is held.", detail="It changed.")
    text = shown(outcome=Outcome.HELD, others={"diagnostics": (found,)})
    assert "      error[held-changed-under-us]: An action is held.\n        It changed.\n" in text


def test_hazards_blame_and_remarks() -> None:
    """Each in its line."""
    from datum.model.manifest import Hazard

    risky = shown(hazards=frozenset({Hazard.OUTAGE, Hazard.DATA_LOSS}))
    assert "      risks: data_loss, outage\n" in risky
    skipped = shown(outcome=Outcome.SKIPPED, others={"blocked_by": rid("file:/etc/z")})
    assert "      it requires file:/etc/z\n" in skipped
    remarked = shown(outcome=Outcome.APPLIED, others={"remarks": ("not_atomic\x1b",)})
    assert "      note: not_atomic\\x1b\n" in remarked


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "(none)"),
        (True, "yes"),
        (False, "no"),
        (5, "5"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("blob:" + "a" * 64, "blob:" + "a" * 12),
    ],
)
def test_values_in_a_few_characters(value: object, text: str) -> None:
    """Long ones are cut, with a sign that they are."""
    assert short(value) == text


def test_numbers_agree_with_their_nouns() -> None:
    """One host, two hosts."""
    assert [plural(count, "host") for count in (0, 1, 2)] == ["0 hosts", "1 host", "2 hosts"]


def test_sums() -> None:
    """Words in their order; nothing for nothing."""
    assert count_words({"applied": 3, "in_sync": 997, "failed": 0}) == "3 applied, 997 in sync"
    entries: list[Mapping[str, Any]] = [
        {"operation": "create", "outcome": None},
        {"operation": "create", "outcome": "held"},
        {"operation": "delete", "outcome": None},
        {"operation": "update", "outcome": "skipped"},
        {"operation": "", "outcome": "unobservable"},
    ]
    assert count_operations(entries) == "2 to create, 1 to delete (1 held)"
    assert count_operations(entries[:1]) == "1 to create"
    assert count_operations([]) == ""


def test_orphans_that_stay_are_listed_with_the_way_out() -> None:
    """Others are not."""
    found = [
        Orphan(rid("file:/etc/k"), OrphanState.KEPT, "modified", "It was changed.", "remove it"),
        Orphan(rid("file:/etc/u"), OrphanState.UNSETTLED, "unobservable", "Denied."),
        Orphan(rid("file:/etc/r"), OrphanState.REMOVE, "removable", "x"),
    ]
    paper = Paper()
    write_orphans(paper, plan_to_json(plan(orphans=tuple(found)))["orphans"])  # type: ignore[arg-type]  # JSON
    assert plain(paper) == (
        "No longer declared, and still here:\n"
        "  kept      file:/etc/k  (modified)\n      It was changed.\n      to settle: remove it\n"
        "  unsettled file:/etc/u  (unobservable)\n      Denied.\n"
    )


# Diagnostics.


def test_diagnostics_read_along_the_files(capsys: Captured) -> None:
    """Place, severity, code, summary; then details, related places, hint."""
    found = Diagnostic(
        location=SourceLocation("a.yaml", 2, 3),
        code="some-code",
        summary="Wrong.",
        detail="One.\nTwo.",
        hint="do",
        severity=Severity.WARNING,
        related=(("first said", SourceLocation("b.yaml")),),
    )
    problems.show_error([found], 65, is_json=False)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == ("a.yaml:2:3: warning[some-code]: Wrong.\n  One.\n  Two.\n  b.yaml: first said\n  try: do\n")


def test_complaint_is_one_clean_line(capsys: Captured) -> None:
    """On stderr."""
    problems.complain("it\x1b[2J")
    assert capsys.readouterr() == ("", "datum: it\\x1b[2J\n")


# Plans.


def made(one: Plan | None, **others: Any) -> PlanMade:
    return PlanMade(report(outcome=PassOutcome.PLANNED, **others), one)


def test_plan_of_something(capsys: Captured) -> None:
    """Header, actions, what cannot be done and why, sums, and the id that apply takes."""
    verdicts = {
        "file:/etc/i": Verdict(
            VerdictKind.IMPOSSIBLE, detail="There is no directory.", location=at(4), step=action("file:/x").step
        ),
        "file:/etc/s": Verdict(VerdictKind.SKIPPED, rid("file:/etc/i"), "It requires file:/etc/i.", location=at(5)),
        "file:/etc/ok": Verdict(VerdictKind.IN_SYNC),
    }
    planning.show(made(plan(action("file:/etc/a"), verdicts=verdicts, plan_id="sha256:1")), is_json=False)
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.splitlines() == [
        f"web1 at {TARGET}",
        "  ~ update  file:/etc/a  intent  hosts/web1.yaml:1:3",
        "      content old → new",
        "  ~ update  file:/etc/i  impossible  hosts/web1.yaml:4:3",
        "      There is no directory.",
        "  ? none    file:/etc/s  skipped  hosts/web1.yaml:5:3",
        "      It requires file:/etc/i.",
        "Plan: 1 to update, 1 impossible, 1 skipped, 1 in sync.",
        "plan id sha256:1",
    ]


def test_plan_of_nothing(capsys: Captured) -> None:
    """One line of sum, and no id: there is nothing to expect."""
    planning.show(made(plan(verdicts={"file:/a": Verdict(VerdictKind.IN_SYNC)})), is_json=False)
    assert capsys.readouterr().out == f"web1 at {TARGET}\nNothing to do: 1 in sync.\n"


def test_plan_at_the_enforced_revision_says_so(capsys: Captured) -> None:
    """The source is odd: what and why stands on stderr, the plan is the result."""
    why = Diagnostic(code="remote-unreachable", summary="The remote cannot be reached.")
    source = SourceReport("/srv/f", "main", SourceStatus.UNREACHABLE, diagnostics=(why,))
    planning.show(made(plan(), source=source), is_json=False)
    shown = capsys.readouterr()
    assert "error[remote-unreachable]" in shown.err
    assert "The source is unreachable; this is the plan at the enforced revision.\n" in shown.err
    assert "Nothing to do" in shown.out


def test_no_plan_says_why(capsys: Captured) -> None:
    """Each reason once; as JSON on stdout."""
    why = Diagnostic(code="some-code", summary="No.")
    source = SourceReport("/srv/f", "main", SourceStatus.GONE, diagnostics=(why,))
    ended = PlanMade(report(outcome=PassOutcome.NOT_OBTAINED, exit_code=66, source=source, diagnostics=(why,)), None)
    planning.show(ended, is_json=False)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "error[some-code]: No.\nNo plan: not_obtained.\n")
    planning.show_orphans(ended, is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert value["error"]["exit_code"] == 66
    assert len(value["error"]["diagnostics"]) == 1


def test_orphans_alone(capsys: Captured) -> None:
    """What stays, then what the next pass removes; or that nothing is left."""
    orphans = (
        Orphan(rid("file:/etc/r"), OrphanState.REMOVE, "removable", "x"),
        Orphan(rid("file:/etc/k"), OrphanState.KEPT, "modified", "It was changed."),
    )
    planning.show_orphans(made(plan(orphans=orphans)), is_json=False)
    assert capsys.readouterr().out.splitlines()[-1] == "  remove    file:/etc/r  the next pass removes it"
    planning.show_orphans(made(plan()), is_json=False)
    assert capsys.readouterr().out == "Nothing is left of what is no longer declared.\n"
    planning.show_orphans(made(plan(orphans=orphans)), is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert (value["schema_version"], len(value["orphans"])) == (1, 2)


UNRESOLVED: Final = Diagnostic(
    code="trail-unresolved", summary="s", detail="Revision 0123 cannot be resolved: why.", severity=Severity.WARNING
)


def test_orphans_of_a_revision_that_cannot_be_resolved_are_unknown(capsys: Captured) -> None:
    """Not said to be gone."""
    unknown = made(plan(), diagnostics=(UNRESOLVED, Diagnostic(code="other", summary="s")))
    planning.show_orphans(unknown, is_json=False)
    assert capsys.readouterr().out == "  unknown   Revision 0123 cannot be resolved: why.\n"
    planning.show_orphans(unknown, is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert [item["code"] for item in value["diagnostics"]] == ["trail-unresolved"]


def test_record_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    """With the reason; one that can is for its owner alone."""
    planning.write_record(tmp_path / "r.json", {"a": 1})
    assert (tmp_path / "r.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError) as caught:
        planning.write_record(tmp_path, {})
    assert caught.value.diagnostics[0].code == "record-unwritable"


# Passes and reports.


def test_pass_with_nothing_to_do_is_one_line(capsys: Captured) -> None:
    """A timer's log stays short."""
    passes.show(Applied(report(), "/var/log/r.json", 0), is_json=False)
    assert capsys.readouterr() == (f"web1 at {TARGET}: nothing to do, 3 in sync.\n", "")


def test_pass_that_did_something(capsys: Captured) -> None:
    """What it did, the sum, and where the report lies."""
    one = plan(action("file:/etc/a"))
    results = (ActionResult(one.actions[0], Outcome.APPLIED),)
    done = report(resources=report_resources(one, results), counts=count_outcomes(one, results))
    passes.show(Applied(done, "/var/log/r.json", 0), is_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["Converged: 1 applied.", "report /var/log/r.json"]


def test_pass_that_left_something(capsys: Captured) -> None:
    """What is left over, who is suspect, that the trail was cut, and each finding once, on stderr."""
    why = Diagnostic(code="some-code", summary="No.")
    source = SourceReport("/srv/f", "main", SourceStatus.REFUSED, diagnostics=(why,))
    left = (
        LeftOver(rid("file:/etc/a"), ("mode", "owner"), (rid("file:/etc/b"), rid("file:/etc/c"))),
        LeftOver(rid("file:/etc/z"), ()),
    )
    done = report(
        outcome=PassOutcome.ROLLED_BACK,
        source=source,
        left_over=left,
        is_trail_cut=True,
        diagnostics=(why,),
        target=None,
        counts={},
    )
    passes.show(Applied(done, None, 1), is_json=False)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "web1 at no revision",
        "  left over file:/etc/a: mode, owner",
        "      changed after its own action, perhaps by file:/etc/b, file:/etc/c",
        "  left over file:/etc/z: it cannot be looked at, or waits for what cannot",
        "Rolled back.",
        "The trail of revisions grew too long; its oldest entry was dropped.",
    ]
    assert shown.err == "error[some-code]: No.\n"


@pytest.mark.parametrize("path", ["/var/log/r.json", ""])
def test_joined_pass_names_its_process(path: str, capsys: Captured) -> None:
    """And its report, where there is one."""
    joined = JoinedPass(77, SharedOutcome(PassOutcome.NOT_OBTAINED, 69, path))
    passes.show(Applied(None, path or None, 69, joined), is_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert "process 77" in lines[0]
    assert lines[1:] == ["Not obtained.", *([f"report {path}"] if path else [])]
    passes.show(Applied(None, None, 69, joined), is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert (value["schema_version"], value["joined"]["exit_code"], value["joined"]["report"]) == (1, 69, path)


def test_neither_pass_nor_joined_shows_nothing(capsys: Captured) -> None:
    """There is nothing to say."""
    passes.show(Applied(None, None, 0), is_json=False)
    assert capsys.readouterr() == ("", "")


def test_report_read_again(capsys: Captured) -> None:
    """When, from where, what, and who else it answered."""
    joined = (Asked(Trigger(TriggerKind.OPERATOR, "bob"), "2026-11-29T03:15:07Z", 7), Asked(pid=8))
    value = report_to_json(
        report(
            joined=joined,
            trigger=Trigger(TriggerKind.TIMER),
            stages={"fleet": 0.25},
            source=SourceReport("/srv/f", "main", SourceStatus.NOT_ASKED),
        )
    )
    reports.show(value, is_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "pass 20261129T031500Z-4711, 1.25 s, exit 0",
        "source /srv/f main: not asked",
        "asked by timer",
        "also requested by operator bob at 2026-11-29T03:15:07Z (process 7)",
        "also requested by operator (process 8)",
        "stages fleet 0.25 s",
        f"web1 at {TARGET}: nothing to do, 3 in sync.",
    ]
    reports.show(value, is_json=True)
    assert json.loads(capsys.readouterr().out) == thaw(value)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _whole() -> Any:
    why = Diagnostic(code="some-code", summary="No.", detail="x", hint="y", location=at(1), related=(("r", at(2)),))
    one = plan(
        action("file:/etc/a", hold=Hold(HoldReason.AUDIT, "d", "r")),
        action("file:/etc/b"),
        orphans=(Orphan(rid("file:/o"), OrphanState.KEPT, "modified", "d", "r"),),
    )
    results = (ActionResult(one.actions[1], Outcome.FAILED, diagnostics=(why,), remarks=("m",)),)
    return thaw(
        report_to_json(
            report(
                outcome=PassOutcome.FAILED, resources=report_resources(one, results), orphans=one.orphans,
                left_over=(LeftOver(rid("file:/l"), ("f",), (rid("file:/s"),)),), diagnostics=(why,),
            )
        )
    )  # fmt: skip


WHOLE: Final[Any] = _whole()
WRONG: Final[tuple[Any, ...]] = (None, 5, "x", [], {}, [5], "missing")


@pytest.mark.parametrize("path", list(_paths(WHOLE)), ids=str)
def test_damaged_report_is_said_or_shown(path: tuple[Any, ...], capsys: Captured) -> None:
    """A part that is missing or of another kind: no other error than that leaves."""
    for wrong in WRONG:
        broken = copy.deepcopy(WHOLE)
        inner = broken
        for key in path[:-1]:
            inner = inner[key]
        if wrong == "missing":
            del inner[path[-1]]
        else:
            inner[path[-1]] = wrong
        codes = set()
        try:
            reports.show(broken, is_json=False)
        except StateError as error:
            codes = {found.code for found in error.diagnostics}
        assert codes <= {"report-damaged"}
        assert is_harmless(capsys.readouterr().out)


# Status.


def settings_of(folder: Path) -> Settings:
    return Settings("/srv/f.git", "main", HOST, "/", folder / "agent.yaml", folder, folder)


def status_lines(capsys: Captured, folder: Path, **parts: Any) -> list[str]:
    given = {"pointer": None, "running": None, "newest": None, **parts}
    standing.show(Status(settings_of(folder), **given), is_json=False)
    return capsys.readouterr().out.splitlines()


def test_status_before_enrolment(capsys: Captured, tmp_path: Path) -> None:
    """With the command that enrols."""
    assert status_lines(capsys, tmp_path) == [
        "web1 follows main of /srv/f.git",
        "not enrolled; datum init --repo /srv/f.git --host web1",
        "last pass   no report yet",
    ]


def test_status_before_the_first_pass(capsys: Captured, tmp_path: Path) -> None:
    """With the command that begins."""
    lines = status_lines(capsys, tmp_path, pointer=Pointer("f", HOST))
    assert lines[1:3] == ["enforced    nothing yet; datum apply begins", "converged   never"]


def test_status_of_a_host_in_the_middle(capsys: Captured, tmp_path: Path) -> None:
    """Revisions, the running pass, the newest report with the source as it was then."""
    pointer = Pointer(
        "f", HOST, accepted=TARGET, trail=(TrailEntry(revision(1), HOST), TrailEntry(TARGET, HOST)),
        converged=revision(1), quarantined=(revision(3),),
    )  # fmt: skip
    running = Progress(
        "q", 77, "reconciler", "3/9 create file:/etc/\x9ba", "2026-11-29T03:15:00Z", 1.0, 2.0, "operator alice"
    )
    source = SourceReport("/srv/f.git", "main", SourceStatus.UNREACHABLE)
    newest = report_to_json(report(outcome=PassOutcome.FAILED, source=source, counts={Outcome.FAILED: 1}))
    given = {"pointer": pointer, "running": running, "newest": newest, "elapsed": (75.0, 0.5)}
    assert status_lines(capsys, tmp_path, **given) == [
        "web1 follows main of /srv/f.git",
        f"enforced    {TARGET.key}",
        f"accepted    {TARGET.key}",
        f"converged   {revision(1).key}",
        "trail       2 revisions may still have something on this host",
        f"quarantined {revision(3).key}",
        "running     pass of process 77, since 2026-11-29T03:15:00Z (1 min 15 s), asked by operator alice",
        "            reconciler 3/9 create file:/etc/\\x9ba (0.50 s)",
        "last pass   20261129T031500Z-4711 failed: 1 failed",
        "asked by    operator",
        "source      unreachable in that pass",
    ]


def test_status_names_what_the_source_had(capsys: Captured, tmp_path: Path) -> None:
    """The newest it is known to name."""
    lines = status_lines(capsys, tmp_path, newest=report_to_json(report()))
    assert lines[-1] == f"source      ok in that pass, names {TARGET}"
    running = Progress("q", 77, "fleet", "", "2026-11-29T03:15:00Z", 1.0, 2.0)
    assert status_lines(capsys, tmp_path, running=running)[2:4] == [
        "running     pass of process 77, since 2026-11-29T03:15:00Z (0.00 s)",
        "            fleet (0.00 s)",
    ]


def test_status_names_what_the_last_pass_could_not_resolve(capsys: Captured, tmp_path: Path) -> None:
    """What that revision declared may be on the host."""
    newest = report_to_json(report(diagnostics=(UNRESOLVED, Diagnostic(code="other", summary="s"))))
    lines = status_lines(capsys, tmp_path, newest=newest)
    assert [line for line in lines if line.startswith("unknown")] == [f"unknown     {UNRESOLVED.detail}"]


@pytest.mark.parametrize(
    "newest",
    [
        {"x": 1},
        {"outcome": 5, "counts": 5, "source": 5, "id": None, "diagnostics": 5},
        {"source": {}, "diagnostics": [5, {"code": 5}]},
        {"source": {"status": 5}},
    ],
)
def test_status_of_a_damaged_report(newest: Any, capsys: Captured, tmp_path: Path) -> None:
    """Nothing depends on reports, status neither."""
    assert any(line.startswith("last pass") for line in status_lines(capsys, tmp_path, newest=newest))


def test_status_as_json(capsys: Captured, tmp_path: Path) -> None:
    """The same, by name."""
    running = Progress("q", 77, "fleet", "", "2026-11-29T03:15:00Z", 1.0, 2.0)
    standing.show(Status(settings_of(tmp_path), Pointer("f", HOST), running, report_to_json(report())), is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert (value["schema_version"], value["running"]["pid"]) == (1, 77)
    assert value["newest"]["source"]["status"] == "ok"
    standing.show(Status(settings_of(tmp_path), None, None, None), is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert (value["pointer"], value["running"], value["newest"]) == (None, None, None)


# Graphs, manifests, why.


def test_graph_for_people_and_graphviz(capsys: Captured) -> None:
    """In the order of the plan, each edge with its reason and place; what gave way or dropped is shown."""
    made = graph_of(
        declare("leaf:/etc/a"),
        evolve(
            declare("leaf:/etc/b", requires=["leaf:/etc/a"], references={"leaf:/etc/a": 7}),
            dropped=(rid("leaf:/etc/q"),),
        ),
    )
    soft = Dependency(rid("leaf:/etc/a"), rid("leaf:/etc/b"), DependencyKind.AFTER, "soft wish", soft=True)
    made = evolve(made, dropped=(soft,))
    graphs.show(made, is_dot=False, is_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "leaf:/etc/a",
        "  after leaf:/etc/b gave way (soft wish)",
        "leaf:/etc/b",
        "  requires leaf:/etc/a  declared  hosts/web1.yaml:7:3",
        "  reference to leaf:/etc/q dropped: nothing that declares it is on here",
    ]
    graphs.show(made, is_dot=True, is_json=False)
    dot = capsys.readouterr().out
    assert '  "leaf:/etc/a" -> "leaf:/etc/b" [style=solid, label="declared"];' in dot
    graphs.show(made, is_dot=False, is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert (value["schema_version"], value["order"]) == (1, ["leaf:/etc/a", "leaf:/etc/b"])
    assert [edge["soft"] for edge in value["dropped"]] == [True]


def test_graph_draws_order_alone_dashed(capsys: Captured) -> None:
    """And names that graphviz would trip over are quoted."""
    made = graph_of(declare("leaf:/etc/a"), declare('leaf:/etc/"b', after=["leaf:/etc/a"]))
    graphs.show(made, is_dot=True, is_json=False)
    assert '"leaf:/etc/a" -> "leaf:/etc/\\"b" [style=dashed' in capsys.readouterr().out


def test_why_shows_every_say_winner_first(capsys: Captured) -> None:
    """Layer, value, place."""
    origin = FieldOrigin(Say("host/web1", at(3), "0600"), (Say("base", SourceLocation("b.yaml", 1, 1), "\x1b"),))
    answer = Why(declare("file:/etc/a"), {"mode": origin})
    manifests.show_why(answer, is_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "file:/etc/a  hosts/web1.yaml:1:3",
        "mode",
        '  wins host/web1        "0600"  hosts/web1.yaml:3:3',
        '       base             "\\u001b"  b.yaml:1:1',
    ]
    manifests.show_why(answer, is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert (value["schema_version"], [say["layer"] for say in value["fields"]["mode"]]) == (1, ["host/web1", "base"])


def test_why_shows_what_a_resource_comes_after(capsys: Captured) -> None:
    """With the reason and the place of each edge, and what gave way."""
    declared = Dependency(rid("file:/etc/a"), rid("file:/etc/b"), DependencyKind.REQUIRES, "declared", at(4))
    implicit = evolve(declared, target=rid("package:a"), kind=DependencyKind.AFTER, reason="name", location=None)
    answer = Why(declare("file:/etc/a"), {}, Edges((declared,), (implicit,)))
    manifests.show_why(answer, is_json=False)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "comes after",
        "  requires file:/etc/b  declared  hosts/web1.yaml:4:3",
        "  after package:a gave way (name)",
    ]
    manifests.show_why(answer, is_json=True)
    value = json.loads(capsys.readouterr().out)
    assert [[edge["reason"] for edge in value[name]] for name in ("dependencies", "dropped")] == [
        ["declared"],
        ["name"],
    ]
    for edges in (None, Edges((), ())):
        manifests.show_why(evolve(answer, edges=edges), is_json=False)
        assert len(capsys.readouterr().out.splitlines()) == 1


def test_manifest_is_shown_whole(capsys: Captured) -> None:
    """Layers, every field with its place, contents by id, late values as written."""
    one = evolve(
        declare("file:/etc/a", requires=["file:/etc/b"], protect=True),
        attributes={
            "content": Content.from_bytes(b"x"),
            "source": Content("1" * 40, source="files/x"),
            "late": Late("${machine.cpus}"),
            "template": Late("", template="t.j2"),
            "list": (1, 2),
        },
        origins={"late": FieldOrigin(Say("base", at(9), 1))},
    )
    whole = EffectiveManifest(TARGET, HOST, "f", (one,), "sha256:1", layers={"os": ("debian-12",), "role": ()})
    manifests.show(whole, is_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        f"web1 at {TARGET}",
        "layer os: debian-12",
        "layer role: -",
        "file:/etc/a  hosts/web1.yaml:1:3",
    ]
    assert '  late: {"late": "${machine.cpus}"}  hosts/web1.yaml:9:3' in lines
    assert '  template: {"late": "t.j2"}' in [line.rstrip() for line in lines]
    assert '  requires: ["file:/etc/b"]' in [line.rstrip() for line in lines]
    assert lines[-1] == "digest sha256:1"
    manifests.show(whole, is_json=True)
    value = json.loads(capsys.readouterr().out)
    fields = value["resources"]["file:/etc/a"]["fields"]
    assert (value["schema_version"], fields["protect"], fields["list"]) == (1, True, [1, 2])
    assert fields["source"] == {"source": "files/x", "blob": "1" * 40}
    assert set(fields["content"]) == {"blob"}


# Whatever is in them.


LOOSE = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@LOOSE
@given(samples.reports)
def test_no_report_drives_the_terminal(one: PassReport) -> None:
    """Not by any text in it."""
    paper = Paper()
    value: Any = report_to_json(one)
    passes.write_pass(paper, value)
    problems.write_problems(paper, [*value["source"]["diagnostics"], *value["diagnostics"]])
    assert is_harmless(plain(paper))


@LOOSE
@given(samples.plans)
def test_no_plan_drives_the_terminal(one: Plan) -> None:
    """Not by any text in it."""
    paper = Paper()
    planning.write_plan(paper, plan_to_json(one))
    assert is_harmless(plain(paper))


@LOOSE
@given(some.manifests, st.booleans())
def test_no_manifest_or_graph_drives_the_terminal(one: EffectiveManifest, is_dot: bool) -> None:
    """Names, values and places of a repository that nobody has read yet."""
    from contextlib import redirect_stdout

    nodes = {resource.id: Node(resource, None, ()) for resource in one.resources}
    stream = io.StringIO()
    with redirect_stdout(stream):
        manifests.show(one, is_json=False)
        graphs.show(ResourceGraph(nodes, (), tuple(nodes)), is_dot=is_dot, is_json=False)
        for resource in one.resources:
            manifests.show_why(Why(resource, dict(resource.origins)), is_json=False)
    assert is_harmless(stream.getvalue())
