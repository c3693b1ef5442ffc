"""What this agent was told: its configuration file, overruled by the command line (design 6).

Effects: reads one file. The file is written by `datum init` and by people; every key is checked, and a wrong one is
an error with its place (exit 78) before anything else happens.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import Factory, asdict, field, frozen

from datum.agent.config_file import is_state_dir, read_config
from datum.agent.hints import init_line, whereabouts
from datum.agent.places import absolute, below, from_here
from datum.agent.remotes import Said, remotes_of
from datum.agent.resolver.own import read_here
from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import SettingsError, UsageError
from datum.fleet.nodes import ReadYaml
from datum.model.identity import HostName
from datum.model.json import JsonValue
from datum.model.manifest import Enforcement
from datum.model.revision import Revision
from datum.repository.remote import Remote

CONFIG_PATH: Final = "/etc/datum/agent.yaml"
STATE_DIR: Final = "/var/lib/datum"
REPORTS_DIR: Final = "/var/log/datum/reports"
DEFAULT_REF: Final = "main"
NOT_CONFIGURED: Final = "not-configured"
"""Code: nothing says what to enforce."""
SOURCE_ACCOUNT: Final = "datum-source"
"""The account under which foreign servers are talked to, where it exists and no other is said."""


@frozen
class Options:
    """The common options of every command; None and False are "not said"."""

    config: str | None = None
    repo: str | None = None
    ref: str | None = None
    rev: str | None = None
    host: str | None = None
    state_dir: str | None = None
    root: str | None = None
    is_offline: bool = False


@frozen
class Settings:
    """Configuration and options together; paths are those of this machine, `--root` included."""

    # The first remote, in normal form; it never holds credentials, so it is shown.
    repo: str
    ref: str
    host: HostName
    # `/` for the running system, else an absolute path.
    root: str
    config: Path
    state_dir: Path
    reports_dir: Path
    rev: str | None = None
    is_offline: bool = False
    # May only tighten what the fleet says.
    enforcement: Enforcement = Enforcement.ENFORCE
    # Where the configuration says that; None where it does not.
    enforcement_at: SourceLocation | None = None
    # `source.on_invalid`: `end`, or `enforced` for a second pass at the enforced revision (design 3.3).
    repairs_on_invalid: bool = False
    # Seconds and bytes of one conversation with the source.
    source_timeout: float = 120.0
    source_bytes: int = 1 << 30
    # Empty: not said.
    source_account: str = ""
    # Bytes that all reports together may take.
    report_bytes: int = 256 << 20
    # The options that lead another command here, for hints; each after a space.
    where: str = ""
    # `trust.anchor`: what is accepted first is this commit or a descendant of it. None: not said.
    anchor: Revision | None = None
    # In the order in which they are asked.
    remotes: tuple[Remote, ...] = field(default=Factory(lambda self: (Remote(self.repo),), takes_self=True))

    @property
    def is_running_system(self) -> bool:
        """Whether this pass concerns the running system."""
        return self.root == "/"

    @property
    def pointer_path(self) -> Path:
        """Where the pointer lies."""
        return self.state_dir / "pointer.json"

    @property
    def pause_path(self) -> Path:
        """Where a pause lies, if a person has made one."""
        return self.state_dir / "pause.yaml"


def config_path(options: Options) -> Path:
    """Return the configuration file that counts, below the root."""
    return below(root_of(options), options.config or CONFIG_PATH)


def root_of(options: Options) -> str:
    """Return the root, absolute.

    Raises:
        UsageError: it is no directory.
    """
    _refuse_empty(options)
    if options.root is None:
        return "/"
    try:
        root = absolute(options.root).resolve(strict=True)
    except (OSError, RuntimeError):
        # RuntimeError: a loop of links.
        root = None
    if root is None or not root.is_dir():
        raise UsageError(
            Diagnostic(
                code="root-missing",
                summary="The root is no directory.",
                detail=f"--root {options.root}: there is no such directory.",
                hint="make it first; datum creates nothing outside of it",
            )
        )
    return str(root)


def _refuse_empty(options: Options) -> None:
    """Refuse an option without a value: a script's unset variable is not "not said", and no working directory.

    Raises:
        UsageError: an option is empty.
    """
    named = {name: value for name, value in asdict(options).items() if value == ""}
    for name in named:
        raise UsageError(
            Diagnostic(
                code="empty-option",
                summary="An option has no value.",
                detail=f"--{name.replace('_', '-')} is empty.",
                hint="leave the option out, or look for a variable that is not set in the script that runs datum",
            )
        )


def read_settings(options: Options, *, needs_file: bool = True, read: ReadYaml = read_here) -> Settings:
    """Read the configuration file, if there is one, and let the options overrule it.

    Args:
        options: of the command line.
        needs_file: whether a file that an option names has to be there; `init` makes it.
        read: reads YAML.

    Raises:
        SettingsError: a key or value is wrong, or repository or host is said nowhere.
        UsageError: an option is wrong.
    """
    where = whereabouts(root=root_of(options), config=options.config, state_dir=options.state_dir)
    file = read_config(config_path(options), where, is_wanted=needs_file and options.config is not None, read=read)
    return settings_from(file, options)


def settings_from(file: Said, options: Options) -> Settings:
    """Return what a configuration and the options that overrule it come to.

    Args:
        file: what the configuration says; it need not lie at its place.
        options: of the command line.

    Raises:
        SettingsError: repository or host is said nowhere, or a remote cannot be used.
        UsageError: an option is wrong.
    """
    root = root_of(options)
    path = config_path(options)
    where = whereabouts(root=root, config=options.config, state_dir=options.state_dir)
    values = file.values
    remotes = remotes_of(file, options.repo and from_here(options.repo), lambda name: str(below(root, name)))
    host = options.host or file.text("host")
    if not remotes or not host:
        raise _not_configured(path, "host" if remotes else "repo", where)
    state = options.state_dir
    if state is not None:
        refuse_shared(state, root)
    return Settings(
        repo=remotes[0].url,
        ref=options.ref or file.text("ref") or DEFAULT_REF,
        host=_host(host, file, is_option=options.host is not None),
        root=root,
        config=path,
        state_dir=below(root, state or file.text("state_dir") or STATE_DIR),
        reports_dir=_reports_place(root, file),
        rev=options.rev,
        is_offline=options.is_offline,
        enforcement=Enforcement(file.text("enforcement") or Enforcement.ENFORCE),
        enforcement_at=file.locations.get("enforcement"),
        repairs_on_invalid=values.get("source.on_invalid") == "enforced",
        source_timeout=_number(values, "source.timeout", 120.0),
        source_bytes=int(_number(values, "source.byte_limit", float(1 << 30))),
        source_account=file.text("source.account"),
        report_bytes=int(_number(values, "reports.byte_limit", float(256 << 20))),
        where=where,
        anchor=Revision(file.text("trust.anchor")) if file.text("trust.anchor") else None,
        remotes=remotes,
    )


def refuse_shared(state: str, root: str) -> None:
    """Refuse a state directory that is not datum's alone; it is seen as the root has it, links followed.

    Raises:
        UsageError: `bad-state-dir`.
    """
    place = below(root, state).resolve()
    seen = f"/{place.relative_to(root)}" if place.is_relative_to(root) else str(place)
    if wrong := is_state_dir(seen):
        raise UsageError(
            Diagnostic(
                code="bad-state-dir",
                summary="This is no state directory.",
                detail=f"--state-dir {state}: {wrong}.",
                hint="name a folder that holds nothing else",
            )
        )


def _number(values: Mapping[str, JsonValue], key: str, default: float) -> float:
    value = values.get(key, default)
    return float(value) if isinstance(value, (int, float)) else default


def _host(text: str, file: Said, *, is_option: bool) -> HostName:
    try:
        return HostName(text)
    except ValueError as error:
        finding = Diagnostic(
            code="bad-host-name",
            summary="This is no host name.",
            detail=str(error) + ".",
            location=None if is_option else file.locations.get("host"),
        )
        raise (UsageError(finding) if is_option else SettingsError(finding)) from error


def _not_configured(path: Path, what: str, where: str) -> SettingsError:
    return SettingsError(
        Diagnostic(
            code=NOT_CONFIGURED,
            summary="This agent does not know what to enforce.",
            detail=f"Neither {path} nor the command line says '{what}'.",
            hint=init_line("URL", "NAME", where),
        )
    )


def _reports_place(root: str, file: Said) -> Path:
    return below(root, file.text("reports_dir") or REPORTS_DIR)


def reports_place(options: Options) -> Path:
    """Return where the reports of a host lie that nothing says what to enforce to.

    Raises:
        SettingsError: the configuration cannot be read, or a key or value is wrong.
        UsageError: an option is wrong.
    """
    return _reports_place(root_of(options), config_said(options))


def config_said(options: Options) -> Said:
    """Return what the configuration file says; nothing where there is none.

    Raises:
        SettingsError: it cannot be read, or a key or value is wrong.
        UsageError: an option is wrong.
    """
    return read_config(config_path(options), "", is_wanted=False)
