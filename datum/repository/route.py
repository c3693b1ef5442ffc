"""How the git program gets to a remote: which programs, in which environment. Effects: reads the clock."""

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from datum.provider.host import CommandOutcome
from datum.repository.remote import Remote, Transport

GIT_ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("gitconfig")),
    "GIT_CONFIG_NOSYSTEM": "1",
    # Nobody looks for a repository, whose configuration would take part: not even at `/`, where programs start.
    "GIT_DIR": "/nonexistent",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
# No file of a user's, such as .netrc, takes part.
NO_HOME: Final = "/nonexistent"
ASK_MEMORY: Final = 256 << 20
FETCH_MEMORY: Final = 2 << 30
"""Bytes of memory that a program may take which a foreign server talks to: an answer of a few lines, or a pack."""

# Letters. What is shorter is in every message, and no secret.
_SECRET: Final = 4


@frozen
class Route:
    """How to ask one remote, and to fetch from it."""

    remote: Remote
    # Takes requests on its stdin.
    ask: tuple[str, ...]
    # As `git fetch` is given it.
    url: str
    environment: Mapping[str, str]
    # Go to stdin before and after a request.
    greeting: bytes = b""
    farewell: bytes = b"0000"
    # What is said to the other side and to nobody else, in each form in which it is: it may be said back.
    secrets: tuple[str, ...] = ()

    def discreet(self, outcome: CommandOutcome) -> CommandOutcome:
        """Return what a program said without the secrets: servers send back what they got, to be helpful or not."""
        out, err = outcome.stdout, outcome.stderr
        for secret in self.secrets:
            if len(secret) < _SECRET:
                continue
            out, err = (text.replace(secret.encode(), b"***") for text in (out, err))
        return evolve(outcome, stdout=out, stderr=err)


@frozen
class Download:
    """One fetch: what, from where, within which bounds."""

    remote: Remote
    # As it stands in the configuration; for messages.
    ref: str
    # The very commit that `ask_remote` gave: what the ref names meanwhile does not matter.
    commit: str
    # Seconds.
    timeout: float
    # Bytes of the pack.
    byte_limit: int
    # More commits, wanted together with that one; the remote may have dropped them.
    also: tuple[str, ...] = ()
    # Moment of the monotonic clock at which `timeout` is over for all tries together.
    end: float = math.inf

    def left(self) -> float:
        """Return the seconds that are left."""
        return max(min(self.timeout, self.end - time.monotonic()), 0)


def file_route(remote: Remote) -> Route:
    """Return the way to a repository on this host."""
    return Route(remote, ("git", "upload-pack", "--", remote.url), remote.url, GIT_ENVIRONMENT)


def bounded(remote: Remote, memory: int, *limits: str) -> tuple[str, ...]:
    """Return what starts a program within bounds: it replaces itself by that program.

    Args:
        remote: what it is started for.
        memory: bytes; what a foreign server says is kept in memory by the program it talks to, so that is bounded, too.
        limits: options of prlimit(1).
    """
    if remote.transport is Transport.FILE:
        return ("prlimit", "--core=0", *limits, "--")
    return confined(memory, *limits)


def confined(memory: int, *limits: str) -> tuple[str, ...]:
    """Return what starts a program within bounds, without new rights, that reads what foreign servers sent.

    Args:
        memory: bytes.
        limits: options of prlimit(1).
    """
    # It ends with this process: nobody else would end it at its deadline.
    return ("setpriv", "--no-new-privs", "--pdeathsig", "KILL", "prlimit", "--core=0", f"--as={memory}", *limits, "--")
