"""What this agent was told: its configuration file, overruled by the command line (design 6).

Effects: reads one file. The file is written by `datum init` and by people; every key is checked, and a wrong one is
an error with its place (exit 78) before anything else happens.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import Factory, asdict, field, frozen

from datum.agent.hints import init_line, whereabouts
from datum.agent.places import absolute, below, from_here
from datum.agent.remotes import ACCESS, LIST, Said, is_jump, is_proxy, is_token_user, remotes_of
from datum.diagnostics import Diagnostic, SourceLocation, sorted_unique
from datum.errors import SettingsError, UsageError
from datum.fleet.nodes import ListNode, MapNode, Node, Scalar, plain
from datum.fleet.yaml_reader import SIZE_LIMIT, read_yaml
from datum.model.identity import HostName
from datum.model.json import JsonValue
from datum.model.manifest import Enforcement
from datum.repository.remote import Remote

CONFIG_PATH: Final = "/etc/datum/agent.yaml"
STATE_DIR: Final = "/var/lib/datum"
REPORTS_DIR: Final = "/var/log/datum/reports"
DEFAULT_REF: Final = "main"
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


def read_settings(options: Options, *, needs_file: bool = True) -> Settings:
    """Read the configuration file, if there is one, and let the options overrule it.

    Args:
        options: of the command line.
        needs_file: whether a file that an option names has to be there; `init` makes it.

    Raises:
        SettingsError: a key or value is wrong, or repository or host is said nowhere.
        UsageError: an option is wrong.
    """
    root = root_of(options)
    path = config_path(options)
    where = whereabouts(root=root, config=options.config, state_dir=options.state_dir)
    file = _read_file(path, where, is_wanted=needs_file and options.config is not None)
    values = file.values
    remotes = remotes_of(file, options.repo and from_here(options.repo), lambda name: str(below(root, name)))
    host = options.host or file.text("host")
    if not remotes or not host:
        raise _not_configured(path, "host" if remotes else "repo", where)
    state = options.state_dir
    return Settings(
        repo=remotes[0].url,
        ref=options.ref or file.text("ref") or DEFAULT_REF,
        host=_host(host, file, is_option=options.host is not None),
        root=root,
        config=path,
        state_dir=below(root, state or file.text("state_dir") or STATE_DIR),
        reports_dir=below(root, file.text("reports_dir") or REPORTS_DIR),
        rev=options.rev,
        is_offline=options.is_offline,
        enforcement=Enforcement(file.text("enforcement") or Enforcement.ENFORCE),
        repairs_on_invalid=values.get("source.on_invalid") == "enforced",
        source_timeout=_number(values, "source.timeout", 120.0),
        source_bytes=int(_number(values, "source.byte_limit", float(1 << 30))),
        source_account=file.text("source.account"),
        report_bytes=int(_number(values, "reports.byte_limit", float(256 << 20))),
        where=where,
        remotes=remotes,
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
            code="not-configured",
            summary="This agent does not know what to enforce.",
            detail=f"Neither {path} nor the command line says '{what}'.",
            hint=init_line("URL", "NAME", where),
        )
    )


_NUMBER_LIMIT: Final = 1 << 53

_Check = Callable[[JsonValue], str]


def _is_text(value: JsonValue) -> str:
    return "" if isinstance(value, str) and value else "a text is expected"


def _is_positive(value: JsonValue) -> str:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _NUMBER_LIMIT
    return "" if good else f"a number above 0 and below {_NUMBER_LIMIT} is expected"


def _is_path(value: JsonValue) -> str:
    """With `--root` such a path lies below the root, whoever made the image."""
    good = isinstance(value, str) and value.startswith("/") and ".." not in value.split("/") and "\0" not in value
    return "" if good else "an absolute path without '..' is expected"


def _is_access_path(value: JsonValue) -> str:
    """Refuse what ssh reads more into than a path."""
    odd = isinstance(value, str) and set(value) & set('"\\$')
    return "a path without quotes, backslashes and $ is expected" if odd else _is_path(value)


def _one_of(*words: str) -> _Check:
    return lambda value: "" if value in words else f"one of {', '.join(words)} is expected"


def _is_policy_none(value: JsonValue) -> str:
    if value == "none":
        return ""
    return "this version verifies no signatures, so only 'none' can be kept; a stricter policy would be a lie"


_ACCESS: Final[Mapping[str, _Check]] = {
    **{key: _is_access_path for key in ACCESS if key.endswith("_file")},
    "token_user": is_token_user,
    "proxy": is_proxy,
    "jump": is_jump,
}
_KEYS: Final[Mapping[str, _Check]] = {
    "repo": _is_text,
    "ref": _is_text,
    "host": _is_text,
    "state_dir": _is_path,
    "reports_dir": _is_path,
    "enforcement": _one_of("enforce", "hold", "observe"),
    "trust.policy": _is_policy_none,
    "source.on_invalid": _one_of("end", "enforced"),
    "source.timeout": _is_positive,
    "source.byte_limit": _is_positive,
    "source.account": _is_text,
    **{f"source.{key}": check for key, check in _ACCESS.items()},
    f"{LIST}.url": _is_text,
    **{f"{LIST}.{key}": check for key, check in _ACCESS.items()},
    "reports.byte_limit": _is_positive,
}
# The number of an entry of a list.
_LISTED: Final = re.compile(r"\.\d+\.")
_SECTIONS: Final = {key.partition(".")[0] for key in _KEYS if "." in key}


def _read_file(path: Path, where: str, *, is_wanted: bool) -> Said:
    try:
        data = _read_regular(path)
    except FileNotFoundError:
        if is_wanted:
            raise SettingsError(
                Diagnostic(
                    code="config-missing",
                    summary="The configuration file is not there.",
                    detail=f"{path} does not exist.",
                    hint=init_line("URL", "NAME", where),
                )
            ) from None
        return Said()
    except OSError as error:
        raise SettingsError(
            Diagnostic(
                code="config-unreadable",
                summary="The configuration file cannot be read.",
                detail=f"{path}: {error.strerror}.",
            )
        ) from error
    node, findings = read_yaml(data, str(path))
    values: dict[str, JsonValue] = {}
    locations: dict[str, SourceLocation] = {}
    found = [*findings, *_collect(node, str(path), values, locations)]
    if found:
        raise SettingsError(*sorted_unique(found))
    return Said(values, locations)


def _read_regular(path: Path) -> bytes:
    """Return the bytes of a file. A FIFO or a device there must not hang the command, nor fill its memory.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "It is no regular file")
        return stream.read(SIZE_LIMIT + 1)


def _collect(
    node: Node | None, path: str, values: dict[str, JsonValue], locations: dict[str, SourceLocation]
) -> list[Diagnostic]:
    """Flatten the file into dotted keys; return what is wrong with it."""
    if node is None:
        return []
    if not isinstance(node, MapNode):
        return [_wrong(SourceLocation(path, 1, 1), "The file is no map of keys.", "")]
    found: list[Diagnostic] = []
    for key, item, place in _flatten(node):
        problem = _problem(key, item, place)
        if problem is not None:
            found.append(problem)
        else:
            values[key], locations[key] = plain(item), item.location
    return found


def _flatten(node: MapNode) -> list[tuple[str, Node, SourceLocation]]:
    flat: list[tuple[str, Node, SourceLocation]] = []
    for key, item in node.items.items():
        if key in _SECTIONS and isinstance(item, MapNode):
            for inner, value in item.items.items():
                flat += _flatten_remotes(f"{key}.{inner}", value) or [
                    (f"{key}.{inner}", value, item.key_locations[inner])
                ]
        else:
            flat.append((key, item, node.key_locations[key]))
    return flat


def _flatten_remotes(key: str, node: Node) -> list[tuple[str, Node, SourceLocation]]:
    """Return what stands in the list of remotes; nothing where this is none."""
    entries = node.items if key == LIST and isinstance(node, ListNode) else ()
    maps = [entry for entry in entries if isinstance(entry, MapNode) and entry.items]
    return [
        (f"{key}.{number}.{inner}", value, entry.key_locations[inner])
        for number, entry in enumerate(maps if len(maps) == len(entries) else ())
        for inner, value in entry.items.items()
    ]


def _problem(key: str, item: Node, place: SourceLocation) -> Diagnostic | None:
    if key == LIST:
        keys = ", ".join(name.removeprefix(f"{LIST}.") for name in _KEYS if name.startswith(f"{LIST}."))
        return _wrong(item.location, f"'{key}' is a list of maps, each with the keys {keys}.", "")
    check = _KEYS.get(_LISTED.sub(".", key))
    if key in _SECTIONS:
        names = (".".join(name.split(".")[:2]) for name in _KEYS if name.startswith(f"{key}."))
        keys = ", ".join(dict.fromkeys(names))
        return _wrong(item.location, f"'{key}' is a map of keys: {keys}.", "")
    if check is None:
        from difflib import get_close_matches

        near = get_close_matches(key, _KEYS, 1)
        return _wrong(place, f"'{key}' is no key.", f"did you mean '{near[0]}'?" if near else "")
    if isinstance(item, Scalar) and item.ambiguity and check is not _is_text:
        return _wrong(item.location, f"'{key}': {item.ambiguity}.", "quote it")
    problem = check(plain(item))
    return _wrong(item.location, f"'{key}': {problem}.", "") if problem else None


def _wrong(place: SourceLocation, detail: str, hint: str) -> Diagnostic:
    return Diagnostic(
        location=place, code="bad-config", summary="The agent's configuration is wrong.", detail=detail, hint=hint
    )
