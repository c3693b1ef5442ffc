"""`doctor`: everything that this agent depends on, each with what was found and its cure."""

from datum.agent.settings import Options
from datum.cli import parameters as given
from datum.cli.effects import looking_ports


def doctor(
    config: given.Config = None,
    repo: given.Repo = None,
    ref: given.Ref = None,
    host: given.Host = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    offline: given.Offline = False,
    json: given.Json = False,
) -> int:
    """Look at everything that this agent depends on.

    The source hop by hop, what is kept, clock, disk, permissions, units, versions: each with what was found, and the
    cure. Nothing is changed, and no trace is left.
    """
    from datum.agent.doctor.examine import examine
    from datum.cli.views import doctor as view

    options = Options(config=config, repo=repo, ref=ref, host=host, state_dir=state_dir, root=root, is_offline=offline)
    with looking_ports(options) as (ports, (no_types, no_reader)):
        diagnosis = examine(options, ports, types_error=no_types, reader_error=no_reader)
    view.show(diagnosis, is_json=json)
    return diagnosis.exit_code
