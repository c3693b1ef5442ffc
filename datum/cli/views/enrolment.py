"""`datum init`."""

import sys

from datum.agent.enrol import Enrolment
from datum.cli.views.changes import plural
from datum.cli.views.paper import Paper, print_json


def show(done: Enrolment, *, is_json: bool) -> None:
    """Show what enrolling did, and the next step."""
    settings = done.settings
    if is_json:
        print_json(
            {
                "schema_version": 1,
                "host": str(settings.host),
                "fleet": done.fleet,
                "revision": str(done.revision),
                "resources": done.resources,
                "is_new": done.is_new,
                "config": str(settings.config),
            }
        )
        return
    paper = Paper()
    what = "is enrolled" if done.is_new else "was enrolled already"
    paper.line((str(settings.host), "bold"), f" {what} in fleet {done.fleet}.")
    paper.line(("configuration ", "dim"), str(settings.config))
    paper.line(("state         ", "dim"), str(settings.state_dir))
    paper.line(
        ("source        ", "dim"),
        f"{settings.repo} {done.revision}, {plural(done.resources, 'resource')} for this host",
    )
    plan, apply = (f"datum {command}{settings.where}" for command in ("plan", "apply"))
    paper.line("Nothing was applied. Next: ", (plan, "bold"), ", then ", (apply, "bold"))
    paper.print_to(sys.stdout)
