"""Commands that let a host into a fleet and out of it: `init`, `leave`."""

from typing import Annotated

import typer

from datum.agent.settings import Options
from datum.cli import parameters as given
from datum.cli.arguments import access_paths, refuse_both, refuse_empty
from datum.model.manifest import Enforcement


def init(
    repo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Fleet repository: https, ssh, or a path. Again: a copy that is asked after it."
        ),
    ] = None,
    host: given.Host = None,
    ref: given.Ref = None,
    anchor: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="What is accepted first is this commit or descends from it.")
    ] = None,
    trust_on_first_use: Annotated[
        bool, typer.Option("--trust-on-first-use", help="Look at what the source names, and ask whether to trust it.")
    ] = False,
    token_file: Annotated[str | None, typer.Option(metavar="FILE", help="https: holds a token.")] = None,
    token_user: Annotated[
        str | None, typer.Option(metavar="NAME", help="https: the user of the token (default git).")
    ] = None,
    ca_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="https: the only authorities that are trusted.")
    ] = None,
    proxy: Annotated[str | None, typer.Option(metavar="URL", help="https: the proxy.")] = None,
    proxy_user: Annotated[
        str | None, typer.Option(metavar="NAME", help="https: who this host is to the proxy.")
    ] = None,
    proxy_password_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="https: holds the password for the proxy.")
    ] = None,
    cert_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="https: the certificate that this host shows.")
    ] = None,
    cert_key_file: Annotated[str | None, typer.Option(metavar="FILE", help="https: its key.")] = None,
    key_file: Annotated[str | None, typer.Option(metavar="FILE", help="ssh: a private key.")] = None,
    make_key: Annotated[
        bool, typer.Option("--make-key", help="ssh: make a key in /etc/datum, and print its public half.")
    ] = False,
    known_hosts_file: Annotated[str | None, typer.Option(metavar="FILE", help="ssh: the keys of the server.")] = None,
    jump: Annotated[str | None, typer.Option(metavar="HOST", help="ssh: USER@HOST:PORT on the way.")] = None,
    enforcement: Annotated[
        Enforcement | None, typer.Option(help="Tighten what the fleet says: hold or observe.")
    ] = None,
    config: given.Config = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    no_timer: Annotated[bool, typer.Option("--no-timer", help="Do not run passes by a timer.")] = False,
    no_account: Annotated[
        bool,
        typer.Option(
            "--no-account", help="Do not make the accounts that servers are talked to, and revisions read, as."
        ),
    ] = False,
    no_plan: Annotated[bool, typer.Option("--no-plan", help="Do not show the plan of the first pass.")] = False,
    rename: Annotated[
        str, typer.Option(metavar="OLD", help="This host had this name; what it declared then stays accounted for.")
    ] = "",
    wait: given.Wait = None,
    json: given.Json = False,
) -> int:
    """Enrol this host in a fleet: write the configuration, show the first plan, enable the timer.

    Nothing is applied. At a terminal it asks where repository or host is not said, and for what it may trust.
    """
    from datum.agent.configuration import Told
    from datum.cli.enrolling import Wish, run_init

    refuse_both("--anchor", trust_on_first_use and anchor is not None, "--trust-on-first-use")
    refuse_both("--make-key", make_key and key_file is not None, "--key-file")
    options = Options(config=config, repo=repo[0] if repo else None, host=host, ref=ref, state_dir=state_dir, root=root)
    access: dict[str, str | None] = {
        "token_file": token_file,
        "token_user": token_user,
        "ca_file": ca_file,
        "proxy": proxy,
        "proxy_user": proxy_user,
        "proxy_password_file": proxy_password_file,
        "cert_file": cert_file,
        "cert_key_file": cert_key_file,
        "key_file": key_file,
        "known_hosts_file": known_hosts_file,
        "jump": jump,
    }
    refuse_empty({**access, "anchor": anchor}, repo or ())
    told = Told(
        repos=tuple(repo or ()),
        host=host or "",
        ref=ref or "",
        access=access_paths({key: value for key, value in access.items() if value is not None}, options),
        enforcement=str(enforcement or ""),
        anchor=anchor or "",
    )
    wish = Wish(
        told,
        options,
        rename=rename,
        wait=wait,
        has_timer=not no_timer,
        has_account=not no_account,
        has_plan=not no_plan,
        makes_key=make_key,
        trusts_on_first_use=trust_on_first_use,
        is_json=json,
    )
    return run_init(wish)


def leave(
    config: given.Config = None,
    state_dir: given.StateDir = None,
    root: given.Root = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    wait: given.Wait = None,
    json: given.Json = False,
) -> int:
    """Take this host out of its fleet, and say what stays and what to revoke.

    The timer, the configuration and the state go. What was enforced here stays as it is.
    """
    from datum.cli.leaving import run_leave

    return run_leave(Options(config=config, state_dir=state_dir, root=root), is_sure=yes, wait=wait, is_json=json)
