"""`datum validate`."""

import sys

from datum.agent.authoring import Validation
from datum.cli.views.changes import plural
from datum.cli.views.paper import Paper, print_json
from datum.cli.views.problems import write_problems
from datum.diagnostics import Severity
from datum.report.as_json import diagnostic_to_json


def is_bad(found: Validation) -> bool:
    """Whether something is an error."""
    return any(item.severity is Severity.ERROR for item in found.diagnostics)


def show(found: Validation, *, is_json: bool) -> None:
    """Show everything that is wrong, sorted by place, or that nothing is."""
    problems = [diagnostic_to_json(item) for item in found.diagnostics]
    if is_json:
        print_json(
            {
                "schema_version": 1,
                "revision": str(found.tree.revision),
                "hosts": sorted(str(host) for host in found.manifests),
                "diagnostics": problems,
            }
        )
        return
    paper = Paper()
    write_problems(paper, problems)
    hosts = len(found.manifests)
    if is_bad(found):
        verb = "is" if hosts == 1 else "are"
        paper.line((plural(len(problems), "finding"), "bold red"), f"; {plural(hosts, 'host')} {verb} sound.")
    else:
        resources = sum(len(manifest.resources) for manifest in found.manifests.values())
        paper.line(("Sound", "green"), f": {plural(hosts, 'host')}, {plural(resources, 'resource')}.")
    paper.print_to(sys.stdout)
