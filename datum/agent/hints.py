"""The command lines that hints name, complete: without its `--root` a copied one would enrol this machine. Pure."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from attrs import evolve

from datum.diagnostics import Diagnostic
from datum.errors import SettingsError, StateError

_INIT: Final = re.compile(r"(^|`)datum init( --rename [^ `]+)?(?=`|$)")


def whereabouts(*, root: str, config: str | None, state_dir: str | None) -> str:
    """Return the options that lead a command to the same place, each after a space; empty for the usual one.

    Args:
        root: absolute; `/` for the running system.
        config: `--config` as it was said.
        state_dir: `--state-dir` as it was said.
    """
    said = (("--config", config), ("--state-dir", state_dir), ("--root", None if root == "/" else root))
    return "".join(f" {option} {shlex.quote(value)}" for option, value in said if value is not None)


def init_line(repo: str, host: str, where: str, *, ref: str = "", anchor: str = "") -> str:
    """Return the command that enrols a host; `where` comes from `whereabouts`."""
    said = (("--repo", repo), ("--ref", ref), ("--host", host), ("--anchor", anchor))
    words = ["datum", "init", *(word for option, value in said if value for word in (option, value))]
    return shlex.join(words) + where


@contextmanager
def completed(line: str) -> Iterator[None]:
    """Complete the `datum init` in the hints of whatever is raised inside.

    Args:
        line: of `init_line`.

    Raises:
        SettingsError, StateError: what was raised.
    """
    try:
        yield
    except (SettingsError, StateError) as error:
        raise type(error)(*(_complete(item, line) for item in error.diagnostics)) from error


def _complete(item: Diagnostic, line: str) -> Diagnostic:
    options = line.removeprefix("datum init")
    return evolve(item, hint=_INIT.sub(lambda found: f"{found[0]}{options}", item.hint))
