"""Commands of a host: `plan`, `apply`, `status`, `report`, `orphans`, `adopt`."""

from pathlib import Path
from typing import Annotated

import typer

from datum.agent import commands
from datum.agent.one_pass import Request
from datum.agent.settings import Options
from datum.cli import parameters as given
from datum.cli.arguments import refuse_both
from datum.cli.effects import make_ports, pass_ports
from datum.errors import ExitCode


def plan(
    config: given.Config = None,
    repo: given.Repo = None,
    ref: given.Ref = None,
    rev: given.Rev = None,
    host: given.Host = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    offline: given.Offline = False,
    untrusted: Annotated[bool, typer.Option("--untrusted", help="Plan a revision that is not acceptable.")] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all inputs of the plan, and the plan.")
    ] = None,
    observed: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plan from a record instead of this host.")
    ] = None,
    fleet: given.Fleet = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 when there are changes.")
    ] = False,
    json: given.Json = False,
) -> int:
    """Say what a pass would do, and leave no trace."""
    from datum.cli.views import planning

    if observed is not None:
        refuse_both("--record", record is not None, "--observed")
        return _replay(observed, fleet, is_json=json, is_detailed=detailed_exitcode)
    options = Options(config, repo, ref, rev, host, state_dir, root, offline)
    with pass_ports(options) as ports:
        made = commands.plan(options, Request(is_detailed=detailed_exitcode), ports, is_untrusted=untrusted)
    if record is not None and made.record is not None:
        planning.write_record(record, made.record)
    planning.show(made, is_json=json)
    return made.report.exit_code


def _replay(observed: Path, fleet: str | None, *, is_json: bool, is_detailed: bool) -> int:
    from datum.agent.authoring import find_fleet
    from datum.cli.views import planning
    from datum.host.output import open_output
    from datum.repository.worktree import clone_tree

    folder = find_fleet(fleet)
    plan = commands.replay(
        observed, lambda revision: clone_tree(folder, revision.commit, open_output=open_output), make_ports()
    )
    planning.show_plan(plan, is_json=is_json)
    return ExitCode.CHANGES if is_detailed and plan.actions else ExitCode.OK


def apply(
    config: given.Config = None,
    repo: given.Repo = None,
    ref: given.Ref = None,
    rev: given.Rev = None,
    host: given.Host = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    offline: given.Offline = False,
    expect: Annotated[str, typer.Option(metavar="ID", help="Refuse another plan than this one.")] = "",
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=N",
            help="Raise a limit for this pass: removals=N, replaces=N, restarts=N, package_removals=N, changed=N%.",
        ),
    ] = None,
    wait: given.Wait = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 when something was changed.")
    ] = False,
    json: given.Json = False,
) -> int:
    """Run one pass: bring this host to what its revision declares."""
    from datum.cli.arguments import read_allowances
    from datum.cli.passes import run_pass

    options = Options(config, repo, ref, rev, host, state_dir, root, offline)
    allowed = read_allowances(allow or (), has_plan=bool(expect))
    request = Request(expect=expect, allowed=allowed, is_detailed=detailed_exitcode)
    return run_pass(options, request, wait=wait, is_json=json)


def status(
    config: given.Config = None,
    repo: given.Repo = None,
    host: given.Host = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    resources: Annotated[
        bool, typer.Option("--resources", help="Look at every declared resource, and say whether it is in sync.")
    ] = False,
    json: given.Json = False,
) -> int:
    """Show where this host stands.

    Its revisions, the running pass, the newest report, and what fails again and again. Takes no lock.
    """
    from datum.agent.status import status as look
    from datum.cli.views import standing

    options = Options(config=config, repo=repo, host=host, state_dir=state_dir, root=root)
    if not resources:
        standing.show(look(options, make_ports()), is_json=json)
        return 0
    with pass_ports(options) as ports:
        seen = commands.standing(options, ports)
    standing.show(look(options, ports), seen, is_json=json)
    return seen.report.exit_code if seen.resources is None else 0


def report(
    wanted: Annotated[
        str, typer.Argument(metavar="PASS", help="The beginning of a report's id (default: the newest).")
    ] = "",
    config: given.Config = None,
    repo: given.Repo = None,
    host: given.Host = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    json: given.Json = False,
) -> int:
    """Show what a pass did."""
    from datum.cli.views import reports

    options = Options(config=config, repo=repo, host=host, state_dir=state_dir, root=root)
    reports.show(commands.report(options, wanted), is_json=json)
    return 0


def orphans(
    config: given.Config = None,
    repo: given.Repo = None,
    host: given.Host = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    json: given.Json = False,
) -> int:
    """List what is no longer declared and still here.

    Each with why it is kept, and the line or command that settles it.
    """
    from datum.cli.views import planning

    options = Options(config=config, repo=repo, host=host, state_dir=state_dir, root=root)
    with pass_ports(options) as ports:
        made = commands.orphans(options, ports)
    planning.show_orphans(made, is_json=json)
    return made.report.exit_code


def adopt(
    resources: Annotated[list[str], typer.Argument(metavar="RESOURCE...", help="Like file:/etc/motd.")],
    root: given.Root = None,
    json: given.Json = False,
) -> int:
    """Print declarations of what is on this host.

    Nothing is written; put them into a host or layer file.
    """
    from datum.agent.adopting import adopt as look
    from datum.cli.views import adoption

    adoption.show(look(resources, root, make_ports()), is_json=json)
    return 0
