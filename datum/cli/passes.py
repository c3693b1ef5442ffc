"""One pass from the command line, however its options were read. Knows nothing of Typer."""

from datum.agent import commands
from datum.agent.one_pass import Request
from datum.agent.settings import Options
from datum.cli.effects import pass_ports
from datum.cli.views import passes
from datum.cli.views.problems import complain

PLAIN: Request = Request()


def run_pass(options: Options, request: Request = PLAIN, *, wait: float | None = None, is_json: bool = False) -> int:
    """Run a pass, show it, and return its exit code.

    Raises:
        DatumError: the pass could not begin.
    """
    with pass_ports(options, catches_signals=True) as ports:
        applied = commands.apply(options, request, ports, wait=wait, complain=complain)
    passes.show(applied, is_json=is_json)
    return applied.exit_code
