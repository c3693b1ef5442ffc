"""apt and dpkg at work: one program at a time, with patience for whoever holds their locks. Changes the host."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from attrs import frozen

from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, FileFacts, HostError, HostWriter
from datum_providers.package.apt import (
    ANSWERS,
    APT_CACHE,
    APT_CONFIG,
    APT_MARK,
    ENVIRONMENT,
    LOCK_OPTION,
    REPAIR,
    SCOPE,
    Offer,
    Simulated,
    cause_of,
    configuring,
    holder_of,
    parse_policy,
    parse_simulation,
    simulation,
    transaction,
    update,
    words_of,
)

LOCK_PATIENCE: Final = 300
"""Seconds that another run of apt or dpkg is waited for, where the host's apt.conf says nothing of it."""

ASKING: Final = 120.0
FETCHING: Final = 900.0
WORKING: Final = 7200.0
"""Seconds; a transaction that takes longer is still waited for."""

_PAUSE: Final = 1.0
_TIMEOUT: Final = re.compile(r"='(\d+)'")
_ENDINGS: Final = frozenset(range(256))
_SOME: Final = 64


@frozen
class Tools:
    """The programs, for one transaction."""

    writer: HostWriter
    # Waits so many seconds.
    pause: Callable[[float], None] = time.sleep

    def configure(self) -> None:
        """Let dpkg finish what was interrupted.

        Raises:
            HostError: it cannot.
        """
        self._patiently("go on where dpkg was interrupted", lambda _seconds: configuring(), scope=SCOPE)

    def update(self) -> str:
        """Fetch the lists; return what went wrong with some of them, empty if nothing did.

        Raises:
            HostError: apt does not come to run, or somebody else fetches them all the time.
        """
        command = Command(update(), FETCHING, environment=ENVIRONMENT, success=ANSWERS)
        outcome = self._unlocked("fetch the lists of packages", lambda _seconds: command)
        text = _text(outcome)
        lines = [line for line in text.splitlines() if line.startswith(("E:", "W:"))]
        return "\n".join(lines) if outcome.exit_code or lines else ""

    def offers(self, names: Iterable[str]) -> dict[str, Offer]:
        """Return what is offered of each; names that nobody offers are missing.

        Raises:
            HostError: apt does not answer.
        """
        asked = tuple(names)
        command = Command((APT_CACHE, "policy", *asked), ASKING, environment=ENVIRONMENT)
        found = parse_policy(self.writer.query(command).stdout.decode("utf-8", "replace"))
        # apt leaves the system's own architecture out.
        spelt = {name: found.get(name) or found.get(name.partition(":")[0]) for name in asked}
        return {name: offer for name, offer in spelt.items() if offer is not None}

    def simulate(
        self, verb: str, words: Iterable[str], *, recommends: bool = False, flags: Sequence[str] = ()
    ) -> Simulated:
        """Return what a transaction would do.

        Raises:
            HostError: apt does not answer.
        """
        argv = simulation(verb, words, recommends=recommends, flags=flags)
        outcome = self.writer.query(Command(argv, ASKING, environment=ENVIRONMENT, success=ANSWERS))
        return parse_simulation(outcome.exit_code, *_texts(outcome))

    def transact(self, verb: str, words: Sequence[str], *, recommends: bool, flags: Sequence[str]) -> None:
        """Do it.

        Raises:
            HostError: apt or dpkg says that something failed.
        """

        def argv(seconds: int) -> tuple[str, ...]:
            return transaction(verb, words, recommends=recommends, seconds=seconds, flags=flags)

        self._patiently(f"{verb} {_listed(words)}", argv, scope=SCOPE)

    def repair(self) -> None:
        """Bring what packages that are there lack.

        Raises:
            HostError: apt or dpkg says that something failed.
        """

        def argv(seconds: int) -> tuple[str, ...]:
            return transaction("install", (), recommends=False, seconds=seconds, flags=(REPAIR,))

        self._patiently("bring what packages lack", argv, scope=SCOPE)

    def mark(self, verb: str, names: Sequence[str]) -> None:
        """Mark packages: `hold`, `unhold`, `manual` or `auto`; nothing for none.

        Raises:
            HostError: that failed.
        """
        if names:
            self._patiently(f"mark {_listed(names)} as {verb}", lambda _seconds: (APT_MARK, verb, *names))

    def _patiently(self, doing: str, argv: Callable[[int], tuple[str, ...]], *, scope: str = "") -> None:
        outcome = self._unlocked(
            doing,
            lambda seconds: Command(argv(seconds), WORKING, environment=ENVIRONMENT, success=_ENDINGS, scope=scope),
        )
        if outcome.exit_code:
            raise HostError(
                f"apt or dpkg could not {doing}. {words_of(*_texts(outcome))}",
                code="package-failed",
                summary="A transaction of packages failed.",
                failure=cause_of(_text(outcome)),
                hint="the log is /var/log/apt/term.log; the next pass goes on from what is there",
            )

    def _unlocked(self, doing: str, command: Callable[[int], Command]) -> CommandOutcome:
        """Run a program, again and again while another one holds a lock.

        Raises:
            HostError: `packages-busy`: it still does.
        """
        patience = self._patience()
        end = time.monotonic() + patience
        while True:
            outcome = self.writer.run(command(max(0, round(end - time.monotonic()))))
            text = _text(outcome)
            if not outcome.exit_code or cause_of(text) is not FailureCause.BUSY:
                return outcome
            if time.monotonic() >= end:
                holder = self._holder(text)
                raise HostError(
                    f"Cannot {doing}: {holder} holds the lock of apt or dpkg, and was waited for {patience} s.",
                    code="packages-busy",
                    summary="Another run of apt or dpkg goes on.",
                    failure=FailureCause.BUSY,
                    hint=f"the next pass tries again; `{LOCK_OPTION}` in apt.conf says how many seconds it waits",
                )
            self.pause(_PAUSE)

    def _patience(self) -> int:
        """Return the seconds that the host's configuration says, where it does."""
        command = Command((APT_CONFIG, "shell", "TIMEOUT", LOCK_OPTION), ASKING)
        found = _TIMEOUT.search(self.writer.query(command).stdout.decode("utf-8", "replace"))
        return int(found[1]) if found else LOCK_PATIENCE

    def _holder(self, text: str) -> str:
        found = holder_of(text)
        if not found.isdigit():
            return f"process {found}" if found else "another process"
        path = f"/proc/{found}/comm"
        try:
            is_known = isinstance(self.writer.examine(path), FileFacts)
            name = self.writer.read_file(path, limit=_SOME).decode("utf-8", "replace").strip() if is_known else ""
        except HostError:
            # It has ended, or lies outside this root.
            name = ""
        return f"process {found} ({name})" if name else f"process {found}"


def _texts(outcome: CommandOutcome) -> tuple[str, str]:
    return outcome.stdout.decode("utf-8", "replace"), outcome.stderr.decode("utf-8", "replace")


def _text(outcome: CommandOutcome) -> str:
    return "\n".join(_texts(outcome))


def _listed(names: Iterable[str]) -> str:
    return " ".join(names)
