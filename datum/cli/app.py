"""The Typer application: nothing but the list of commands."""

from typing import Annotated

import typer

from datum.cli.commands import authors, doctor, enrolment, hosts, pausing, shells

app = typer.Typer(
    name="datum",
    help="Keeps Linux hosts in the state that a git revision declares.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:  # noqa: FBT001  # the form of a Typer callback
    if wanted:
        from datum.agent.ports import agent_version

        typer.echo(f"datum {agent_version()}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    del version


app.command()(enrolment.init)
app.command()(hosts.plan)
app.command()(hosts.apply)
app.command()(hosts.status)
app.command()(hosts.report)
app.command()(hosts.orphans)
app.command()(hosts.adopt)
app.command()(enrolment.leave)
app.command()(pausing.pause)
app.command()(pausing.resume)
app.command()(doctor.doctor)
app.command()(authors.validate)
app.command()(authors.render)
app.command()(authors.why)
app.command()(authors.graph)
app.command()(shells.completion)
