"""`datum init` and `datum leave`: what a person is asked about, what was done, and the next step."""

import sys
from collections.abc import Mapping
from typing import Any, cast

from attrs import evolve, frozen

from datum.agent.commands import PlanMade
from datum.agent.enrol import Enrolment, Intent, Seen
from datum.agent.keys import ServerKeys
from datum.agent.leaving import Leaving
from datum.agent.units import TIMER, TimerSwitch, has_own_units
from datum.cli.views.asking import pause_line
from datum.cli.views.changes import plural
from datum.cli.views.paper import Paper, print_json
from datum.cli.views.planning import write_plan
from datum.cli.views.problems import write_problems
from datum.diagnostics import Diagnostic, Severity
from datum.model.json import JsonValue
from datum.report.as_json import diagnostic_to_json, pause_to_json
from datum.report.plan_json import plan_to_json


@frozen
class Shown:
    """What `init` has to say."""

    done: Enrolment
    # None: none was asked for, or none could be made.
    plan: PlanMade | None
    # Why there is no plan.
    problems: tuple[Diagnostic, ...]
    # The public key of this host; empty where it has none.
    host_key: str
    # Other things that were done.
    remarks: tuple[str, ...]
    # What else could not be done; the host is enrolled.
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is odd about source and plan, as warnings: the host is enrolled all the same."""
        report = self.plan.report if self.plan else None
        more = (*report.source.diagnostics, *report.diagnostics) if report else ()
        found = dict.fromkeys((*self.problems, *more, *self.warnings))
        return tuple(evolve(one, severity=min(one.severity, Severity.WARNING, key=_rank)) for one in found)


def _rank(severity: Severity) -> int:
    return [Severity.NOTE, Severity.WARNING, Severity.ERROR].index(severity)


# --- what a person is asked about


def evidence(seen: Seen, intent: Intent) -> Paper:
    """Return what the source names, for who decides whether to trust it."""
    paper, settings = Paper(), intent.settings
    paper.line((settings.repo, "bold"), f" names on {settings.ref}:")
    paper.line(("  commit     ", "dim"), (seen.revision.commit, "bold"))
    paper.line(("  subject    ", "dim"), seen.info.subject)
    paper.line(("  committer  ", "dim"), f"{seen.info.committer}, {seen.info.committed_at}")
    paper.line(("  fleet      ", "dim"), seen.fleet)
    paper.line(("  declares   ", "dim"), f"{plural(seen.resources, 'resource')} for {settings.host}")
    paper.line("These are claims of whoever made the commit; no signature is verified in this version.")
    paper.line("In a clone that you trust, ", (f"git rev-parse {settings.ref}", "bold"), " prints the same commit.")
    return paper


def server_keys(found: ServerKeys) -> Paper:
    """Return the keys that a server shows, for who can compare them."""
    paper = Paper()
    paper.line((found.server.host, "bold"), f" (port {found.server.port}) shows these keys:")
    for line in found.fingerprints:
        paper.line("  ", line)
    paper.line("Compare them with what whoever runs the server says; anybody could answer here.")
    return paper


def deploy_key(public: str, url: str) -> Paper:
    """Return the key that a server has to know."""
    paper = Paper()
    paper.line("Register this key for ", (url, "bold"), ", with the right to read and no other:")
    paper.line("  ", public)
    return paper


# --- what was done


def show_enrolment(shown: Shown) -> None:
    """Show what enrolling did, and the plan of the first pass."""
    done, paper = shown.done, Paper()
    settings, seen = done.settings, done.seen
    what = "is enrolled" if done.is_new else "was enrolled already"
    paper.line((str(settings.host), "bold"), f" {what} in fleet {seen.fleet}.")
    paper.line(("configuration ", "dim"), str(settings.config))
    paper.line(("state         ", "dim"), str(settings.state_dir))
    for remote in settings.remotes[1:]:
        paper.line(("also from     ", "dim"), remote.url)
    paper.line(
        ("source        ", "dim"),
        f"{settings.repo} {seen.revision}, {plural(seen.resources, 'resource')} for this host",
    )
    paper.line(("commit        ", "dim"), f"'{seen.info.subject}' by {seen.info.committer}, {seen.info.committed_at}")
    if settings.anchor is not None:
        paper.line(("anchor        ", "dim"), settings.anchor.commit)
    if shown.host_key:
        paper.line(("host key      ", "dim"), shown.host_key)
    for remark in shown.remarks:
        paper.line(("also          ", "dim"), remark)
    if done.is_pinned:
        paper.line(
            ("trusted", "bold yellow"), ": nobody named an anchor, so what the source names now is pinned as one."
        )
    paper.print_to(sys.stdout)
    _show_plan(shown)


def _show_plan(shown: Shown) -> None:
    problems = Paper()
    write_problems(problems, [diagnostic_to_json(item) for item in shown.diagnostics])
    problems.print_to(sys.stderr)
    paper = Paper()
    if shown.plan is not None and shown.plan.plan is not None:
        paper.line()
        write_plan(paper, plan_to_json(shown.plan.plan))
        paper.line()
    elif shown.plan is not None or shown.problems:
        paper.line(("No plan could be made", "bold yellow"), "; the host is enrolled all the same.")
    paper.print_to(sys.stdout)


def finish(shown: Shown, timer: TimerSwitch | None, *, has_timer: bool, is_json: bool) -> None:
    """Show the next step.

    Args:
        shown: what was done.
        timer: what became of switching it; None: it stays as it is.
        has_timer: whether this host could have one.
        is_json: print all of it as JSON, and nothing else.
    """
    if is_json:
        print_json(_as_json(shown, timer))
        return
    where = shown.done.settings.where
    plan, apply = (f"datum {command}{where}" for command in ("plan", "apply"))
    paper = Paper()
    if shown.done.has_accepted:
        _write_known(paper, timer, plan, where, has_timer=has_timer)
    elif timer is None:
        paper.line("Nothing was applied. Next: ", (plan, "bold"), ", then ", (apply, "bold"))
        if has_timer:
            paper.line("No timer runs passes. To let it: ", (f"datum init{where}", "bold"))
    else:
        when = "from now on" if timer.has_manager else "after the next boot"
        paper.line(
            "Nothing was applied yet: ", (TIMER, "bold"), f" runs passes {when}, ", (apply, "bold"), " does now."
        )
    paper.print_to(sys.stdout)


def tell_timers(on: tuple[str, ...]) -> None:
    """Tell who wants no timer that there is one all the same: it was switched on before, and stays as it is."""
    if on:
        paper = Paper()
        names = " ".join(on)
        paper.line(f"{', '.join(on)} runs passes all the same: it was on before. To stop it: ")
        paper.line("  ", (f"systemctl disable --now {names}", "bold"))
        paper.print_to(sys.stdout)


def _write_known(paper: Paper, timer: TimerSwitch | None, plan: str, where: str, *, has_timer: bool) -> None:
    """Write the next step of a host on which passes ran before."""
    if timer is not None and timer.is_changed:
        when = "from now on" if timer.has_manager else "after the next boot"
        paper.line((TIMER, "bold"), f" runs passes {when}.")
    paper.line("Nothing was applied just now. Next: ", (plan, "bold"))
    if timer is None and has_timer:
        paper.line("No timer runs passes. To let it: ", (f"datum init{where}", "bold"))


def _as_json(shown: Shown, timer: TimerSwitch | None) -> JsonValue:
    done, seen = shown.done, shown.done.seen
    anchor = done.settings.anchor
    made = shown.plan.plan if shown.plan else None
    return {
        "schema_version": 1,
        "host": str(done.settings.host),
        "fleet": seen.fleet,
        "revision": str(seen.revision),
        "commit": {
            "subject": seen.info.subject,
            "author": seen.info.author,
            "committer": seen.info.committer,
            "committed_at": seen.info.committed_at,
        },
        "anchor": anchor.commit if anchor else None,
        "is_pinned": done.is_pinned,
        "resources": seen.resources,
        "is_new": done.is_new,
        "config": str(done.settings.config),
        "host_key": shown.host_key or None,
        "remarks": list(shown.remarks),
        "plan": None if made is None else plan_to_json(made),
        "diagnostics": [diagnostic_to_json(item) for item in shown.diagnostics],
        "timer": None
        if timer is None
        else {"is_enabled": True, "is_changed": timer.is_changed, "has_manager": timer.has_manager},
    }


# --- leaving


def show_leaving(found: Leaving | None, *, is_done: bool, is_json: bool) -> None:
    """Show what leaving comes to: before it on stderr, as part of a question; after it as the result."""
    if is_json:
        print_json(_leaving_json(found))
        return
    paper = Paper()
    if found is None:
        paper.line("This host is not enrolled; there is nothing to leave.")
    else:
        _write_leaving(paper, found, is_done=is_done)
    paper.print_to(sys.stdout if is_done else sys.stderr)


def _write_leaving(paper: Paper, found: Leaving, *, is_done: bool) -> None:
    fleet = f" fleet {found.fleet}" if found.fleet else " its fleet"
    paper.line((found.host or "This host", "bold"), f" {'has left' if is_done else 'would leave'}{fleet}.")
    if found.timers:
        paper.line(("disabled " if is_done else "disables ", "dim"), ", ".join(found.timers))
    if is_done:
        for path in found.removed:
            paper.line(("removed  ", "dim"), path)
    else:
        for line in _going(found):
            paper.line(("removes  ", "dim"), line)
    if found.pause is not None:
        words = "the pause goes along: " if is_done else "the pause would go along: "
        paper.line(("pause    ", "yellow"), words, pause_line(cast("Mapping[str, Any]", pause_to_json(found.pause))))
    for line in _staying(found, is_done=is_done):
        paper.line(("stays    ", "dim"), line)
    for line in _revoking(found):
        paper.line(("revoke   ", "bold yellow"), line)


def _going(found: Leaving) -> list[str]:
    settings = found.settings
    lines = ["the units that datum init wrote"] if has_own_units(settings) else []
    lines += [str(settings.config)] if found.is_configured else []
    lines += [f"{', '.join(found.parts)} in {settings.state_dir}"] if found.parts else []
    return lines


def _staying(found: Leaving, *, is_done: bool) -> list[str]:
    lines = []
    if found.stays is not None:
        count = plural(len(found.stays), "resource")
        lines.append(f"what was enforced here, {count}: listed in {found.record}{'' if is_done else ' then'}")
    elif found.host:
        lines.append("what was enforced here; its revision cannot be read any more")
    lines.append(f"reports in {found.settings.reports_dir}")
    lines += [f"{path}, which is not datum's" for path in found.foreign]
    lines += [f"{one.what} in {one.path}" for one in found.accesses]
    return lines


def _revoking(found: Leaving) -> list[str]:
    lines = []
    for one in found.accesses:
        name = f"{one.what} {one.fingerprint}".rstrip()
        lines.append(f"{name} at {one.url}; then remove {one.path}")
    if found.host:
        lines.append(f"hosts/{found.host}.yaml in the fleet repository, and what else names this host there")
    if found.host_key:
        lines.append(f"{found.host_key} wherever secrets are encrypted for it")
    return lines


def _leaving_json(found: Leaving | None) -> JsonValue:
    if found is None:
        return {"schema_version": 1, "host": None, "removed": [], "stays": None, "record": None, "revoke": []}
    accesses: list[Any] = [
        {"what": one.what, "path": one.path, "url": one.url, "fingerprint": one.fingerprint or None}
        for one in found.accesses
    ]
    return {
        "schema_version": 1,
        "host": found.host or None,
        "fleet": found.fleet or None,
        "disabled": list(found.timers),
        "removed": list(found.removed),
        "stays": None if found.stays is None else list(found.stays),
        "foreign": list(found.foreign),
        "record": str(found.record) if found.host else None,
        "pause": pause_to_json(found.pause),
        "reports": str(found.settings.reports_dir),
        "revoke": accesses,
        "host_key": found.host_key or None,
    }
