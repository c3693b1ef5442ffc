"""The configuration file of the agent: its keys, what each may hold, and how it is read. Effects: reads one file."""

import errno
import os
import posixpath
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from datum.agent.hints import init_line
from datum.agent.remotes import ACCESS, LIST, Said, is_jump, is_proxy, is_token_user
from datum.agent.resolver.own import read_here
from datum.diagnostics import Diagnostic, SourceLocation, sorted_unique
from datum.errors import SettingsError
from datum.fleet.nodes import SIZE_LIMIT, ListNode, MapNode, Node, ReadYaml, Scalar, plain
from datum.model.json import JsonValue

_NUMBER_LIMIT: Final = 1 << 53
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

# Whatever lies below these: programs, and what the kernel shows (hier(7)).
_WHOLLY_OF_THE_SYSTEM: Final = frozenset({"bin", "boot", "dev", "lib", "lib32", "lib64", "proc", "sbin", "sys"})
# Folders that many things share.
_OF_THE_SYSTEM: Final = frozenset({
    "/", "/etc", "/etc/datum", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr", "/usr/bin",  # noqa: S108
    "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/local/sbin",
    "/usr/local/share", "/usr/sbin", "/usr/share", "/var", "/var/cache", "/var/lib", "/var/lib/dpkg", "/var/log",
    "/var/mail", "/var/opt", "/var/run", "/var/spool", "/var/tmp",  # noqa: S108
})  # fmt: skip

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


def is_state_dir(value: JsonValue) -> str:
    """Return what is wrong with a state directory; empty: nothing. Its content is datum's to remove."""
    wrong = _is_path(value)
    if wrong or not isinstance(value, str):
        return wrong
    place = posixpath.normpath(f"/{value.lstrip('/')}")
    top = place.split("/")[1]
    if place in _OF_THE_SYSTEM or top in _WHOLLY_OF_THE_SYSTEM:
        return f"{place} is the system's; a folder of datum's own is expected, as /var/lib/datum"
    return ""


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


def is_commit(value: JsonValue) -> str:
    """Return what is wrong with the id of a commit; empty: nothing."""
    good = isinstance(value, str) and _COMMIT.fullmatch(value)
    return "" if good else "the whole id of a commit is expected, as 'git rev-parse main' prints it, in quotes"


_ACCESS: Final[Mapping[str, _Check]] = {
    **{key: _is_access_path for key in ACCESS if key.endswith("_file")},
    "token_user": is_token_user,
    "proxy": is_proxy,
    "proxy_user": is_token_user,
    "jump": is_jump,
}
KEYS: Final[Mapping[str, _Check]] = {
    "repo": _is_text,
    "ref": _is_text,
    "host": _is_text,
    "state_dir": is_state_dir,
    "reports_dir": _is_path,
    "enforcement": _one_of("enforce", "hold", "observe"),
    "trust.policy": _is_policy_none,
    "trust.anchor": is_commit,
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
_SECTIONS: Final = {key.partition(".")[0] for key in KEYS if "." in key}


def read_config(path: Path, where: str, *, is_wanted: bool, read: ReadYaml = read_here) -> Said:
    """Return what a configuration file says.

    Args:
        path: of the file.
        where: from `whereabouts`, for the hint.
        is_wanted: whether a missing file is an error; else it says nothing.
        read: reads YAML.

    Raises:
        SettingsError: it cannot be read, or a key or value is wrong; with all of them.
    """
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
    return parse_config(data, str(path), read)


def parse_config(data: bytes, name: str, read: ReadYaml = read_here) -> Said:
    """Return what a configuration says.

    Args:
        data: its bytes.
        name: for messages.
        read: reads YAML.

    Raises:
        SettingsError: a key or value is wrong; with all of them.
    """
    node, findings = read(data, name)
    values: dict[str, JsonValue] = {}
    locations: dict[str, SourceLocation] = {}
    found = [*findings, *_collect(node, name, values, locations)]
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
        keys = ", ".join(name.removeprefix(f"{LIST}.") for name in KEYS if name.startswith(f"{LIST}."))
        return _wrong(item.location, f"'{key}' is a list of maps, each with the keys {keys}.", "")
    check = KEYS.get(_LISTED.sub(".", key))
    if key in _SECTIONS:
        names = (".".join(name.split(".")[:2]) for name in KEYS if name.startswith(f"{key}."))
        keys = ", ".join(dict.fromkeys(names))
        return _wrong(item.location, f"'{key}' is a map of keys: {keys}.", "")
    if check is None:
        from difflib import get_close_matches

        near = get_close_matches(key, KEYS, 1)
        return _wrong(place, f"'{key}' is no key.", f"did you mean '{near[0]}'?" if near else "")
    if isinstance(item, Scalar) and item.ambiguity and check is not _is_text:
        return _wrong(item.location, f"'{key}': {item.ambiguity}.", "quote it")
    problem = check(plain(item))
    return _wrong(item.location, f"'{key}': {problem}.", "") if problem else None


def _wrong(place: SourceLocation, detail: str, hint: str) -> Diagnostic:
    return Diagnostic(
        location=place, code="bad-config", summary="The agent's configuration is wrong.", detail=detail, hint=hint
    )
