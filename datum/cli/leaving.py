"""`datum leave` from the command line: what it comes to is shown, and asked about. Knows nothing of Typer."""

from attrs import evolve, frozen

from datum.agent import units
from datum.agent.leaving import Timer, leave, survey
from datum.agent.ports import Ports
from datum.agent.settings import Options, Settings
from datum.cli import asking
from datum.cli.effects import pass_ports
from datum.cli.views.enrolment import show_leaving
from datum.diagnostics import Diagnostic
from datum.errors import UsageError


@frozen
class OwnTimer(Timer):
    """The units of this host."""

    ports: Ports

    def on(self, settings: Settings) -> tuple[str, ...]:
        """Return the timers that `stop` disables."""
        return units.timers_on(settings, self.ports.run) if units.are_installed(settings) else ()

    def stop(self, settings: Settings) -> tuple[str, ...]:
        """Disable the timer, and remove the units that `init` wrote."""
        if units.are_installed(settings):
            units.disable_timer(settings, self.ports.run)
        return units.remove_units(settings, self.ports.run)


def run_leave(options: Options, *, is_sure: bool, wait: float | None, is_json: bool) -> int:
    """Leave and return the exit code.

    Raises:
        DatumError: this host has not left.
    """
    with pass_ports(options) as ports:
        return _leave(options, ports, is_sure=is_sure, wait=wait, is_json=is_json)


def _leave(options: Options, ports: Ports, *, is_sure: bool, wait: float | None, is_json: bool) -> int:
    timer = OwnTimer(ports)
    found = survey(options, ports)
    if found is not None and not is_sure:
        found = evolve(found, timers=timer.on(found.settings))
        if not asking.is_terminal():
            if not is_json:
                show_leaving(found, is_done=False, is_json=False)
            raise _unconfirmed("stdin is no terminal, so nobody can be asked")
        show_leaving(found, is_done=False, is_json=False)
        if not asking.confirm("Leave?"):
            raise _unconfirmed("the answer was no")
    done = leave(options, ports, timer, wait=wait)
    show_leaving(done, is_done=True, is_json=is_json)
    return 0


def _unconfirmed(why: str) -> UsageError:
    return UsageError(
        Diagnostic(
            code="leave-not-confirmed",
            summary="Leaving was not confirmed; nothing was removed.",
            detail=f"datum leave removes the state of this host, and {why}.",
            hint="look at what it would do, and add --yes",
        )
    )
