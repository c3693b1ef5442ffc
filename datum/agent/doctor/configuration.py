"""The agent's configuration: whether it is there, right, and nobody else's to write.

Effects: reads the file, and looks at rights.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.agent.doctor.finding import Facts, Finding, State, fault, from_diagnostics, not_checked, ok
from datum.agent.doctor.shelter import is_refusal, without_rights
from datum.agent.settings import Options, Settings, read_settings
from datum.errors import SettingsError, UsageError
from datum.fleet.nodes import ReadYaml

NAMES: Final = ("configuration-file", "configuration-rights")
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


@frozen
class Configured:
    """What reading the configuration gave."""

    settings: Settings | None
    finding: Finding


def read_configuration(options: Options, config: Path, read: ReadYaml, *, is_root: bool) -> Configured:
    """Read it as every command does, and judge what came of it.

    Raises:
        UsageError: an option is wrong.
    """
    try:
        settings = read_settings(options, read=read)
    except UsageError as error:
        if error.diagnostics[0].code != "leaves-the-root":
            raise
        return Configured(None, from_diagnostics("configuration-file", State.FAULT, error.diagnostics))
    except SettingsError as error:
        if not is_root and is_refusal(error):
            return Configured(None, without_rights("configuration-file", what=str(config)))
        facts: Facts = {"path": str(config)}
        return Configured(None, from_diagnostics("configuration-file", State.FAULT, error.diagnostics, facts))
    return Configured(settings, _right(settings, config))


def _right(settings: Settings, config: Path) -> Finding:
    is_there = config.exists()
    facts: Facts = {
        "path": str(config),
        "is_there": is_there,
        "host": str(settings.host),
        "ref": settings.ref,
        "remotes": tuple(remote.url for remote in settings.remotes),
    }
    said = str(config) if is_there else "The command line says all that is needed; no file does. It"
    count = len(settings.remotes)
    remotes = settings.repo if count == 1 else f"{count} remotes"
    return ok(
        "configuration-file",
        f"{said} calls this host {settings.host}, which follows {settings.ref} of {remotes}.",
        facts,
    )


@frozen
class Rights:
    """Whose something is."""

    path: Path
    mode: int
    uid: int


def look_at_rights(config: Path) -> Iterator[Finding]:
    """Look at the file and the folder that holds it."""
    found = [Rights(path, stat.S_IMODE(status.st_mode), status.st_uid) for path, status in _status(config)]
    if len(found) < 2:  # noqa: PLR2004  # folder and file
        yield not_checked("configuration-rights", f"{config} does not exist.")
        return
    yield judge_rights(found, frozenset({0, os.geteuid()}))


def _status(config: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in (config.parent, config):
        try:
            yield path, path.stat()
        except FileNotFoundError:
            return


def judge_rights(found: list[Rights], owners: frozenset[int]) -> Finding:
    """Say whether anybody else can write any of it."""
    for each in found:
        facts: Facts = {"path": str(each.path), "mode": f"{each.mode:04o}", "uid": each.uid}
        text = f"{each.path} has mode {each.mode:04o} and is of the user {each.uid}"
        if each.uid not in owners:
            return fault("configuration-rights", f"{text}, who can change it.", f"chown root: {each.path}", facts)
        if each.mode & _OTHERS:
            return fault("configuration-rights", f"{text}: others can change it.", f"chmod go-w {each.path}", facts)
    modes: Facts = {str(each.path): f"{each.mode:04o}" for each in found}
    return ok("configuration-rights", f"Only its owner can write {found[-1].path}.", modes)
