"""What `datum init` was told and cannot use: each is told before anything is done. Pure."""

from datum.agent.config_file import is_commit
from datum.agent.configuration import Told
from datum.agent.hints import init_line, whereabouts
from datum.agent.remotes import ACCESS, LIST, Said
from datum.agent.settings import Options, Settings, root_of
from datum.diagnostics import Diagnostic
from datum.errors import UsageError
from datum.model.identity import HostName


def refuse_unused(told: Told, settings: Settings) -> None:
    """Refuse access that no remote has a use for: who says a token means it to be sent.

    Raises:
        UsageError: `access-unused`.
    """
    transports = {remote.transport for remote in settings.remotes}
    for key in told.access:
        if ACCESS[key] not in transports:
            raise UsageError(
                Diagnostic(
                    code="access-unused",
                    summary="An option of access has no remote.",
                    detail=f"--{key.replace('_', '-')} is for {ACCESS[key]}, and no remote is reached so.",
                    hint="correct --repo, or leave the option out",
                )
            )


def check_anchor(anchor: str) -> None:
    """Refuse what is no whole id of a commit.

    Raises:
        UsageError: `bad-anchor`.
    """
    if anchor and (wrong := is_commit(anchor)):
        raise UsageError(
            Diagnostic(
                code="bad-anchor",
                summary="This is no anchor.",
                detail=f"--anchor {anchor}: {wrong}.",
                hint="--anchor $(git rev-parse main), run in a clone that you trust",
            )
        )


def refuse_unnamed(said: Said, told: Told, options: Options) -> None:
    """Refuse to guess repository or host.

    Raises:
        UsageError: one is said nowhere, or the host is no name.
    """
    has_repo = told.repos or said.text("repo") or any(key.startswith(LIST) for key in said.values)
    host = told.host or said.text("host")
    if not has_repo or not host:
        where = whereabouts(root=root_of(options), config=options.config, state_dir=options.state_dir)
        raise UsageError(
            Diagnostic(
                code="init-needs-repo-and-host",
                summary="init needs a repository and a host name.",
                detail="Neither is guessed: the host name decides what is enforced here. On a terminal they are asked "
                "for.",
                hint=init_line(told.repos[0] if told.repos else "URL", host or "NAME", where),
            )
        )
    if told.host:
        host_name(told.host, "--host")


def refuse_keyless(url: str, told: Told) -> None:
    """Refuse a remote of ssh without a key, or without the keys of its server.

    Raises:
        UsageError: see there.
    """
    if not url.startswith("ssh://"):
        return
    if not told.access.get("key_file"):
        raise UsageError(
            Diagnostic(
                code="init-needs-key",
                summary="A remote of ssh needs a key.",
                detail=f"{url} lets nobody in without one.",
                hint="add --make-key, which makes one and prints its public half; or --key-file FILE",
            )
        )
    if not told.access.get("known_hosts_file"):
        from datum.agent.keys import scan_command

        raise UsageError(
            Diagnostic(
                code="init-needs-known-hosts",
                summary="The keys of the server are not known.",
                detail=f"Whoever answers for {url} could be anybody. On a terminal its keys are shown and asked about.",
                hint=f"{scan_command(url)}; compare 'ssh-keygen -lf' of it with what whoever runs the server says, and "
                "add --known-hosts-file FILE",
            )
        )


def nobody_renamed(rename: str, settings: Settings) -> UsageError:
    """Return the error of a name that is said to be of this host, and never was."""
    return UsageError(
        Diagnostic(
            code="rename-unused",
            summary="This host never had that name.",
            detail=f"--rename {rename}: there is no pointer of any name at {settings.pointer_path}.",
            hint="leave --rename out",
        )
    )


def host_name(text: str, option: str) -> HostName:
    """Return the name of a host.

    Raises:
        UsageError: it is none.
    """
    try:
        return HostName(text)
    except ValueError as error:
        raise UsageError(
            Diagnostic(code="bad-host-name", summary="This is no host name.", detail=f"{option}: {error}.")
        ) from error
