"""`completion`: what a shell needs to complete the words of datum."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from datum.cli.views.shells import Shell

if TYPE_CHECKING:
    from typer.core import TyperGroup


def completion(
    context: typer.Context,
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> int:
    """Print what teaches a shell to complete the words of datum.

    In bash: source <(datum completion bash). The Debian package brings all three in place.
    """
    from datum.cli.outline import outline
    from datum.cli.views import shells

    # Typer's type says less than what it makes of an application with several commands.
    top = cast("TyperGroup", context.find_root().command)
    typer.echo(shells.completion(shell, outline(top, "datum")), nl=False)
    return 0
