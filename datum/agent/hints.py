"""The command lines that hints name, complete: without `--root` a copied one would enrol the machine it runs on. Pure."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from attrs import evolve

from datum.errors import DatumError

_INIT: Final = re.compile(r"`datum init( --[^`]*)?`|^datum init( .*)?$")


def whereabouts(*, root: str, config: str | None, state_dir: str | None) -> str:
    """Return the options that lead a command to the same place, each after a space; empty for the usual one.

    Args:
        root: absolute; `/` for the running system.
        config: `--config` as it was said.
        state_dir: `--state-dir` as it was said.
    """
    said = (("--config", config), ("--state-dir", state_dir), ("--root", None if root == "/" else root))
    return "".join(f" {option} {shlex.quote(value)}" for option, value in said if value is not None)


def init_line(repo: str, host: str, where: str, *, ref: str = "") -> str:
    """Return the command that enrols a host; `where` comes from `whereabouts`."""
    words = ["datum", "init", "--repo", repo, *(["--ref", ref] if ref else []), "--host", host, "--no-timer"]
    return shlex.join(words) + where


@contextmanager
def led_to(where: str) -> Iterator[None]:
    """Complete the `datum init` in the hints of whatever is raised inside.

    Raises:
        DatumError: what was raised, of its own kind.
    """
    try:
        yield
    except DatumError as error:
        found = (
            evolve(item, hint=_INIT.sub(lambda match: _with(match[0], where), item.hint)) for item in error.diagnostics
        )
        raise type(error)(*found) from error


def _with(command: str, where: str) -> str:
    return f"{command[:-1]}{where}`" if command.endswith("`") else command + where
