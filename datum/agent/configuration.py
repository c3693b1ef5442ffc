"""What `datum init` writes into `agent.yaml`, and what it leaves alone there. Effects: reads and writes that file.

What a person wrote stays: a file that is there gets no other line than a renamed host's name and the anchor that was
asked for, and one that says something else than the command line is an error.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import field, frozen

from datum.agent.config_file import parse_config
from datum.agent.remotes import ACCESS, LIST, Said
from datum.agent.settings import DEFAULT_REF, Settings
from datum.diagnostics import Diagnostic
from datum.errors import SettingsError, StateError
from datum.model.identity import HostName
from datum.repository.remote import Remote, normal_jump, normal_proxy
from datum.state.folders import make_folders, replacing

_TRUST: Final = "trust:"
_NORMAL: Final[Mapping[str, Callable[[str], str]]] = {"jump": normal_jump, "proxy": normal_proxy}
_ANCHOR: Final = re.compile(r"(?P<margin>\s+)anchor:")


@frozen
class Told:
    """What the command line and the answers say of a host's configuration; empty: nothing was said."""

    # In the order in which they are asked; each a result of `normal_remote`.
    repos: tuple[str, ...] = ()
    host: str = ""
    ref: str = ""
    # By the keys of `remotes.ACCESS`; each goes to the remotes whose transport has it. Paths as the file holds them.
    access: Mapping[str, str] = field(factory=dict)
    enforcement: str = ""
    # The whole id of a commit.
    anchor: str = ""
    # As the option said it, so that later commands need none.
    state_dir: str = ""


def composed(told: Told) -> bytes:
    """Return a configuration that says what was told; repository and host are needed."""
    lines = [
        "# What this host enforces; written by datum init, yours to change.",
        *_remotes(told),
        f"ref: {quoted(told.ref or DEFAULT_REF)}",
        f"host: {quoted(told.host)}",
    ]
    lines += [f"state_dir: {quoted(told.state_dir)}"] if told.state_dir else []
    lines += [f"enforcement: {told.enforcement}"] if told.enforcement else []
    lines += [
        _TRUST,
        "  # This version verifies no signatures; who can write the repository can change this host.",
        "  policy: none",
    ]
    lines += [_anchor_line("  ", told.anchor)] if told.anchor else []
    return _bytes(lines)


def _remotes(told: Told) -> Iterator[str]:
    if len(told.repos) == 1:
        yield f"repo: {quoted(told.repos[0])}"
        access = _access_of(told.repos[0], told.access)
        yield from ["source:"] if access else []
        yield from (f"  {key}: {quoted(value)}" for key, value in access.items())
        return
    yield "source:"
    yield f"  {LIST.partition('.')[2]}:"
    for url in told.repos:
        yield f"    - url: {quoted(url)}"
        yield from (f"      {key}: {quoted(value)}" for key, value in _access_of(url, told.access).items())


def _access_of(url: str, access: Mapping[str, str]) -> Mapping[str, str]:
    transport = Remote(url).transport
    return {key: value for key, value in access.items() if value and ACCESS[key] is transport}


def differences(settings: Settings, told: Told, place: Callable[[str], str], said: Said) -> tuple[str, ...]:
    """Return what a configuration says otherwise than was told, as `repo '/srv/fleet.git'`; the anchor aside.

    Args:
        settings: of the configuration alone.
        told: what was told.
        place: returns a path of the configuration as this process reaches it.
        said: what that file says; the rest of the settings goes without saying.
    """
    remotes = settings.remotes
    pairs = [
        # Others may be asked after those that were told.
        ("repo", tuple(remote.url for remote in remotes)[: len(told.repos) or None], told.repos),
        ("ref", settings.ref, told.ref),
        ("host", str(settings.host), told.host),
        ("enforcement", str(settings.enforcement), told.enforcement),
    ]
    for key, value in told.access.items():
        wanted = place(value) if key.endswith("_file") else value
        wanted = _NORMAL[key](wanted) if key in _NORMAL else wanted
        found = {getattr(remote, key) for remote in remotes if remote.transport is ACCESS[key]}
        if found not in (set(), {wanted}):
            pairs.append((key, ", ".join(sorted(found)), value))
    return tuple(_difference(key, found, said) for key, found, wanted in pairs if wanted and found != wanted)


def _difference(key: str, found: object, said: Said) -> str:
    if key in {"ref", "enforcement"} and key not in said.values:
        return f"nothing of {key}, so {_shown(found)}"
    return f"{key} {_shown(found)}"


def _shown(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value) or "nothing"


def renamed(text: str, host: HostName) -> str:
    """Return a configuration with another host name; as it was when it names none."""
    lines = text.splitlines()
    return "\n".join(f"host: {quoted(str(host))}" if line.startswith("host:") else line for line in lines) + "\n"


def anchored(text: str, anchor: str, path: Path) -> str:
    """Return a configuration with this anchor.

    Raises:
        SettingsError: `anchor-not-written`: its section `trust` is not written as lines of its own.
    """
    lines = text.splitlines()
    found = [number for number, line in enumerate(lines) if _ANCHOR.match(line)]
    if _TRUST not in (line.rstrip() for line in lines):
        lines += [_TRUST, "  policy: none", _anchor_line("  ", anchor)]
    elif found:
        lines[found[0]] = _anchor_line(lines[found[0]][: len(lines[found[0]]) - len(lines[found[0]].lstrip())], anchor)
    else:
        at = [line.rstrip() for line in lines].index(_TRUST) + 1
        inner = next((line for line in lines[at:] if line.strip() and not line.lstrip().startswith("#")), "")
        margin = inner[: len(inner) - len(inner.lstrip())] or "  "
        lines.insert(at, _anchor_line(margin, anchor))
    made = "\n".join(lines) + "\n"
    if _says(made, anchor, path) and _without_anchor(made, path) == _without_anchor(text, path):
        return made
    raise SettingsError(
        Diagnostic(
            code="anchor-not-written",
            summary="The anchor cannot be written into the configuration.",
            detail=f"{path} is written in a way that datum init does not change.",
            hint=f"add the key trust.anchor with the value '{anchor}' by hand, and run datum init again",
        )
    )


def _says(text: str, anchor: str, path: Path) -> bool:
    try:
        return parse_config(text.encode(), str(path)).text("trust.anchor") == anchor
    except SettingsError:
        return False


def _without_anchor(text: str, path: Path) -> Mapping[str, object] | None:
    """Return what a configuration says beside the anchor and the only policy; None: it cannot be read."""
    try:
        said: Said = parse_config(text.encode(), str(path))
    except SettingsError:
        return None
    return {key: value for key, value in said.values.items() if key not in {"trust.anchor", "trust.policy"}}


def _anchor_line(margin: str, anchor: str) -> str:
    return f"{margin}anchor: {quoted(anchor)}"


def write_configuration(path: Path, data: bytes) -> None:
    """Make the file hold these bytes, mode 0644, atomically and durably.

    Raises:
        StateError: `config-unwritable`; the old one is still there.
    """
    try:
        write_whole(path, data, mode=0o644)
    except OSError as error:
        raise StateError(
            Diagnostic(
                code="config-unwritable",
                summary="The configuration cannot be written.",
                detail=f"{path}: {error.strerror}.",
                hint="make room or rights for it, and run init again",
            )
        ) from error


def write_whole(path: Path, data: bytes, *, mode: int) -> None:
    """Make a file hold these bytes, atomically and durably; its folder is made where it is missing.

    Args:
        path: of the file.
        data: its bytes.
        mode: of the file, whatever the caller's umask.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    make_folders(path.parent)
    with replacing(path, mode=mode) as stream:
        stream.write(data)


def remove_configuration(path: Path) -> None:
    """Remove the file and what a killed write of it left; done again it does nothing.

    Raises:
        OSError: it cannot be removed.
    """
    path.with_name(f".{path.name}.part").unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def quoted(text: str) -> str:
    """Return a YAML single-quoted scalar (YAML 1.2, 7.3.2)."""
    return "'" + text.replace("'", "''") + "'"


def _bytes(lines: Sequence[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()
