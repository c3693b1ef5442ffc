"""Options that several commands share, with the words of their help."""

import math
from typing import Annotated, TypeAlias

import typer


def _seconds(given: float | None) -> float | None:
    """Refuse what is no time: a wait for `nan` seconds would never end.

    Raises:
        typer.BadParameter: it is none.
    """
    if given is not None and not (math.isfinite(given) and given >= 0):
        raise typer.BadParameter(f"{given} is no number of seconds; 0 waits for nobody.")
    return given


Config: TypeAlias = Annotated[
    str | None, typer.Option(metavar="FILE", help="Configuration of the agent (default /etc/datum/agent.yaml).")
]
Repo: TypeAlias = Annotated[
    str | None, typer.Option(metavar="URL", help="Fleet repository: https://, ssh:// or file:// URL, or a path.")
]
Ref: TypeAlias = Annotated[str | None, typer.Option(metavar="REF", help="Branch or tag to follow (default main).")]
Rev: TypeAlias = Annotated[str | None, typer.Option(metavar="REV", help="This revision and no other.")]
Host: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Name of this host in the fleet.")]
StateDir: TypeAlias = Annotated[
    str | None, typer.Option(metavar="DIR", help="State directory (default /var/lib/datum).")
]
Root: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Another root: an image, a chroot. Nothing outside of it is touched."),
]
Offline: TypeAlias = Annotated[bool, typer.Option("--offline", help="Do not ask the source.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON, with its schema_version.")]
Wait: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", callback=_seconds, help="How long to wait for another pass (default: until it ends)."
    ),
]
Fleet: TypeAlias = Annotated[
    str | None, typer.Option(metavar="DIR", help="The clone to work on (default: the one around this folder).")
]
