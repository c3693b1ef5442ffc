"""The files of the units that run passes: those of a package, or else our own below /etc/systemd/system.

Effects: files below the root. Systemd reads them again where `datum.agent.units` says so.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from datum.agent.places import below
from datum.agent.settings import CONFIG_PATH, Settings
from datum.diagnostics import Diagnostic
from datum.errors import StateError, UsageError
from datum.provider import own_units
from datum.state.folders import make_folders, replacing

SERVICE: Final = own_units.SERVICE
TIMER: Final = own_units.TIMER
BOOT_TIMER: Final = own_units.BOOT_TIMER
UNITS: Final = own_units.SHIPPED
"""All that run passes."""

_SHIPPED: Final = Path(__file__).resolve().parents[1] / "units"
_OWN: Final = "/etc/systemd/system"
# Where a package lays units, in the order in which systemd looks (systemd.unit(5)); one is a link on a merged /usr.
_OF_PACKAGES: Final = ("/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_HEADER: Final = "# Written by datum init; datum leave removes it.\n"
_COMMAND: Final = "/usr/bin/datum apply"
DROP_IN: Final = f"{_OWN}/{SERVICE}.d/10-datum-init.conf"
"""Names another configuration to the service of a package."""

# A word of ExecStart that needs no quotes (systemd.service(5), "Command lines").
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:=@+,-]+")
# As Linux has it (path_resolution(7)).
_MOST_LINKS: Final = 40
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def are_installed(settings: Settings) -> bool:
    """Whether all units lie somewhere below the root where the service manager finds them, masked ones included."""
    return all(lies(settings, unit) for unit in UNITS)


def are_packaged(settings: Settings) -> bool:
    """Whether a package brought all units."""
    return all(any(_is_there(settings, f"{folder}/{unit}") for folder in _OF_PACKAGES) for unit in UNITS)


def write_files(settings: Settings, executable: str) -> tuple[str, ...]:
    """Write what is to be there and remove what is not; return the paths that changed, as seen below the root.

    Args:
        settings: see `install_units`.
        executable: see `install_units`.

    Raises:
        UsageError: `units-executable`.
        StateError: `units-unwritable`.
    """
    return tuple(path for path, text in _wanted(settings, executable).items() if _put(settings, path, text))


def remove_files(settings: Settings) -> tuple[str, ...]:
    """Remove what `write_files` wrote, and return the paths.

    Raises:
        StateError: `units-unwritable`.
    """
    return tuple(path for path in _own_paths() if _put(settings, path, None))


def has_drop_in(settings: Settings) -> bool:
    """Whether there is a drop-in that names another configuration."""
    return _is_there(settings, DROP_IN)


def has_own_units(settings: Settings) -> bool:
    """Whether something lies there that `write_files` wrote."""
    found = (_read(_below(settings, path)) for path in _own_paths())
    return any(text is not None and text.startswith(_HEADER) for text in found)


def _wanted(settings: Settings, executable: str) -> dict[str, str | None]:
    """Return what of ours lies below the root, by path; None: nothing."""
    if not executable.startswith("/"):
        raise _unnamable(executable)
    words = [executable, "apply"]
    if settings.config != Path(settings.root) / CONFIG_PATH.lstrip("/"):
        words += ["--config", "/" + os.path.relpath(settings.config, settings.root)]
    command = " ".join(map(_quoted, words))
    wanted: dict[str, str | None] = dict.fromkeys(_own_paths())
    if are_packaged(settings):
        if words[2:]:
            packaged = " ".join(map(_quoted, (_COMMAND.split()[0], *words[1:])))
            wanted[DROP_IN] = f"{_HEADER}[Service]\nExecStart=\nExecStart={packaged}\n"
        return wanted
    for unit in UNITS:
        text = (_SHIPPED / unit).read_text()
        wanted[f"{_OWN}/{unit}"] = _HEADER + text.replace(f"ExecStart={_COMMAND}\n", f"ExecStart={command}\n")
    return wanted


def require_executable(settings: Settings, executable: str) -> None:
    """Make sure that units of ours could name the command that runs passes; those of a package name their own.

    Root runs it every few minutes: who can replace it, or a folder or link on the way to it, would be root.

    Raises:
        UsageError: `units-executable`.
    """
    if are_packaged(settings):
        return
    if not executable.startswith("/"):
        raise _unnamable(executable)
    _quoted(executable)
    try:
        foreign = next(filter(_is_foreign, _on_the_way(executable)), None)
    except OSError as error:
        raise _unsafe(executable, f"{error.filename or executable}: {error.strerror}") from error
    if foreign is not None:
        raise _unsafe(executable, f"others than root can change {foreign}")


def _on_the_way(path: str) -> Iterator[Path]:
    """Yield a file and every folder and link by which it is reached, as path_resolution(7) has it.

    Raises:
        OSError: the links have no end.
    """
    place, left, links = Path("/"), [*Path(path).parts], 0
    while left:
        part = left.pop(0)
        here = place.parent if part == ".." else place / part
        yield here
        if not here.is_symlink():
            place = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        # An absolute one begins with `/`, which takes the place of what it is joined to.
        left[:0] = here.readlink().parts


def _is_foreign(path: Path) -> bool:
    status = path.lstat()
    if status.st_uid not in {0, os.geteuid()}:
        return True
    # In a folder with the sticky bit nobody replaces what is another's; the mode of a link says nothing.
    is_held = stat.S_ISLNK(status.st_mode) or (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX)
    return not is_held and bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _unsafe(executable: str, why: str) -> UsageError:
    return UsageError(
        Diagnostic(
            code="units-executable",
            summary="The units cannot name this command.",
            detail=f"{executable} would be run as root, and {why}.",
            hint="install it where only root can write (chown root, chmod go-w), or add --no-timer",
        )
    )


def _own_paths() -> tuple[str, ...]:
    return (*(f"{_OWN}/{unit}" for unit in UNITS), DROP_IN)


def _quoted(word: str) -> str:
    """Return a word of ExecStart: no specifier, variable or quote of it means anything (systemd.service(5)).

    Raises:
        UsageError: it cannot be written there.
    """
    if _CONTROL.search(word) or ".." in word.split("/"):
        raise _unnamable(word)
    if _PLAIN.fullmatch(word):
        return word
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'


def _unnamable(word: str) -> UsageError:
    detail = f"{word!r} is no absolute path, or holds control characters or '..'."
    hint = "install datum, or keep its configuration, at a path without them"
    if not word:
        detail = "This agent was not called by a command of its own, as `python -m datum` is none."
        hint = "call it by its command, or add --no-timer and run passes in another way"
    summary = "A unit cannot name this command."
    return UsageError(Diagnostic(code="units-executable", summary=summary, detail=detail, hint=hint))


def lies(settings: Settings, unit: str) -> str:
    """Return where the file of a unit lies that counts, or its mask; empty where there is none."""
    folders = (_OWN, *_OF_PACKAGES)
    return next((f"{folder}/{unit}" for folder in folders if _is_there(settings, f"{folder}/{unit}")), "")


def _is_there(settings: Settings, path: str) -> bool:
    return os.path.lexists(_below(settings, path))


def _below(settings: Settings, path: str) -> Path:
    """Return where a path lies; its folder is followed and kept below the root, itself it may be a link to anywhere."""
    folder, _, name = path.rpartition("/")
    return below(settings.root, folder) / name


def _put(settings: Settings, path: str, text: str | None) -> bool:
    """Write a file of ours, or remove it; return whether that changed anything. What is not ours is left alone."""
    place = _below(settings, path)
    with _writing(path):
        found = _read(place)
        if found == text or (found is not None and not found.startswith(_HEADER)):
            return False
        if text is None:
            place.unlink()
            if place.parent.name.endswith(".d"):
                _remove_empty(place.parent)
            return True
        make_folders(place.parent)
        # Everybody may read units.
        with replacing(place, mode=0o644) as stream:
            stream.write(text.encode())
    return True


def _read(place: Path) -> str | None:
    """Return the text of a file; empty for what is none, as the link of a mask, and None where nothing is."""
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return ""
    try:
        return place.read_text(errors="replace")
    except FileNotFoundError:
        return None


def _remove_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(
            Diagnostic(
                code="units-unwritable",
                summary="A unit file cannot be written.",
                detail=f"{path}: {error.strerror}.",
                hint="make room or rights for it, or add --no-timer and run 'datum apply' in another way",
            )
        ) from error
