"""What a set of candidates gets in place of the service manager: it answers, and refuses to do anything.

What a job does cannot be shown before it is done.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NoReturn

from datum.host.staging_set import cannot_be_staged
from datum.provider.host import HostError
from datum.provider.manager import ManagerReader, UnitFacts


class RefusingManager:
    """`ManagerWriter` over a `ManagerReader`; every change raises `HostError` with the code `cannot-be-staged`."""

    def __init__(self, asked: ManagerReader) -> None:
        """Answer as `asked` does."""
        self._asked: Final = asked

    def units(self, names: Sequence[str]) -> Mapping[str, UnitFacts]:
        """As `ManagerReader`."""
        return self._asked.units(names)

    def instances(self, template: str) -> tuple[str, ...]:
        """As `ManagerReader`."""
        return self._asked.instances(template)

    def journal(self, name: str, *, lines: int) -> str:
        """As `ManagerReader`."""
        return self._asked.journal(name, lines=lines)

    def start(self, name: str) -> None:
        """Refuse."""
        _refuse("start", name)

    def stop(self, name: str) -> None:
        """Refuse."""
        _refuse("stop", name)

    def restart(self, name: str) -> None:
        """Refuse."""
        _refuse("restart", name)

    def start_socket(self, name: str, services: Sequence[str], *, restart: bool) -> Mapping[str, HostError]:
        """Refuse."""
        _refuse("restart" if restart else "start", name, *services)

    def reload(self, name: str) -> None:
        """Refuse."""
        _refuse("reload", name)

    def reset_failed(self, name: str) -> None:
        """Refuse."""
        _refuse("reset", name)

    def mark(self, name: str, marks: Collection[str]) -> None:  # noqa: ARG002 - refused, whatever they are
        """Refuse."""
        _refuse("mark", name)

    def enable(self, names: Sequence[str]) -> None:
        """Refuse."""
        _refuse("enable", *names)

    def disable(self, names: Sequence[str]) -> None:
        """Refuse."""
        _refuse("disable", *names)

    def mask(self, names: Sequence[str]) -> None:
        """Refuse."""
        _refuse("mask", *names)

    def unmask(self, names: Sequence[str]) -> None:
        """Refuse."""
        _refuse("unmask", *names)

    def daemon_reload(self) -> None:
        """Refuse."""
        _refuse("reload", "the service manager")


def _refuse(verb: str, *names: str) -> NoReturn:
    raise cannot_be_staged(
        f"Cannot {verb} {', '.join(names)} for a candidate of a check: what it does cannot be shown beforehand.",
        hint="take the resource out of what the check guards",
    )
