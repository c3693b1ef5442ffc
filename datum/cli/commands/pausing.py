"""Commands that keep passes from changing a host, for a time: `pause`, `resume`."""

from typing import Annotated

import typer

from datum.agent.reading import reading
from datum.agent.settings import Options, root_of
from datum.cli import parameters as given
from datum.cli.effects import asking_ports


def pause(
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why: whoever finds this host paused reads it.", show_default=False)
    ],
    duration: Annotated[
        str,
        typer.Option("--for", metavar="TIME", help="How long: 30m, 2h, 1d12h; 30 days at most.", show_default=False),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="RESOURCE", help="Only this one, like service:nginx or service:*; may be repeated."),
    ] = None,
    config: given.Config = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    json: given.Json = False,
) -> int:
    """Keep passes from changing this host, or a part of it, for a time.

    Passes go on to observe and plan. One that runs now goes on to its end. Another pause takes the place of this one.
    """
    from datum.agent.pausing import Wish
    from datum.agent.pausing import pause as make
    from datum.cli.views import pausing

    options = Options(config=config, state_dir=state_dir, root=root)
    # Whether anything declares what it names is read from revisions.
    with reading(asking_ports(), is_running_system=root_of(options) == "/") as ports:
        made = make(options, Wish(reason, duration, tuple(only or ())), ports)
    pausing.show_pause(made, is_json=json)
    return 0


def resume(
    config: given.Config = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    json: given.Json = False,
) -> int:
    """End the pause of this host; the next pass changes it again."""
    from datum.agent.pausing import resume as end
    from datum.cli.views import pausing

    options = Options(config=config, state_dir=state_dir, root=root)
    pausing.show_resume(end(options, asking_ports()), is_json=json)
    return 0
