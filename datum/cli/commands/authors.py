"""Commands for authors, in any clone, without root and without the host: `validate`, `render`, `why`, `graph`."""

import enum
from typing import Annotated

import typer

from datum.cli import parameters as given
from datum.cli.effects import make_ports
from datum.errors import ExitCode

HostOption = Annotated[str, typer.Option("--host", metavar="NAME", help="The host (default: the only one).")]


class GraphFormat(enum.StrEnum):
    """How a graph is written."""

    TEXT = "text"
    DOT = "dot"


def validate(fleet: given.Fleet = None, rev: given.Rev = None, json: given.Json = False) -> int:
    """Check every host of the fleet.

    Everything that is wrong is reported in one run, sorted by its place.
    """
    from datum.agent import authoring
    from datum.cli.views import validation

    found = authoring.validate(authoring.open_fleet(fleet, rev), make_ports())
    validation.show(found, is_json=json)
    return ExitCode.DATAERR if validation.is_bad(found) else ExitCode.OK


def render(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The host (default: the only one).")] = "",
    fleet: given.Fleet = None,
    rev: given.Rev = None,
    json: given.Json = False,
) -> int:
    """Print what a revision declares for one host.

    Merged and complete, with the place of each field.
    """
    from datum.agent import authoring
    from datum.cli.views import manifests

    manifests.show(authoring.render(authoring.open_fleet(fleet, rev), host, make_ports()), is_json=json)
    return 0


def why(
    question: Annotated[str, typer.Argument(metavar="RESOURCE[.FIELD]", help="Like file:/etc/motd.content.")],
    host: HostOption = "",
    fleet: given.Fleet = None,
    rev: given.Rev = None,
    json: given.Json = False,
) -> int:
    """Show every layer's say on a resource or field.

    The winner stands first, each with its place; of a resource also what it comes after, and why.
    """
    from datum.agent import authoring
    from datum.cli.views import manifests

    tree, ports = authoring.open_fleet(fleet, rev), make_ports()
    manifest = authoring.render(tree, host, ports)
    manifests.show_why(authoring.why(manifest, question, tree, ports), is_json=json)
    return 0


def graph(
    resource: Annotated[
        str, typer.Argument(metavar="RESOURCE", help="Only what depends on it and what it depends on.")
    ] = "",
    host: HostOption = "",
    fleet: given.Fleet = None,
    rev: given.Rev = None,
    form: Annotated[GraphFormat, typer.Option("--format", help="How to write it.")] = GraphFormat.TEXT,
    json: given.Json = False,
) -> int:
    """Show the order of a host's resources.

    And the reason of each edge; late values stand for a sample machine.
    """
    from datum.agent import authoring
    from datum.cli.views import graphs

    tree, ports = authoring.open_fleet(fleet, rev), make_ports()
    made = authoring.sample_graph(authoring.render(tree, host, ports), tree, ports)
    if resource:
        made = authoring.pick(made, resource, ports.providers)
    graphs.show(made, is_dot=form is GraphFormat.DOT, is_json=json)
    return 0
