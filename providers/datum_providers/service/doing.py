"""Carry out one step on one service, through the service manager. Changes the host.

What the manager says of a job is not enough: a unit counts as up when it stayed up for its time to settle, as the
same invocation, without having been started again meanwhile.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from attrs import frozen

from datum.model.plan import OWES, Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.host import HostError, HostWriter
from datum.provider.manager import NEEDS_RELOAD, NEEDS_RESTART, ManagerWriter, UnitFacts
from datum_providers.service.desired import MASKED, DesiredService
from datum_providers.service.look import STARTING, is_up, running_state
from datum_providers.service.offline import set_on_disk
from datum_providers.shared.units import UnitName

SETTLE: Final = 3.0
"""Seconds that a service must stay up when its declaration is silent."""

BACK_OFF: Final = 30.0
"""Seconds after a failure in which a unit is not started again (design 1.5: the time comes from the unit)."""

JOURNAL_LINES: Final = 20

_FAILED: Final = "failed"
# Instance that systemd gives to a connection: a number and who connected, `3-10.0.0.1:22-10.0.0.2:4711`.
_CONNECTION: Final = re.compile(r"[0-9]+-")
# Units of these types tell the manager themselves when they are up.
_TELLING: Final = frozenset({"notify", "notify-reload"})
_MARKS: Final = {
    Operation.REFRESH_RESTART.value: frozenset({NEEDS_RESTART}),
    Operation.REFRESH_RELOAD.value: frozenset({NEEDS_RESTART, NEEDS_RELOAD}),
}


def apply_service(writer: HostWriter, desired: DesiredService, step: Step) -> None:
    """Do the step.

    Raises:
        HostError: a job failed, or the unit does not stay up: with the last lines of its journal; or it failed
            moments ago, and is not started yet (`busy`).
    """
    manager = writer.manager()
    changes = {change.name: change for change in step.changes}
    if manager is None:
        set_on_disk(writer, desired, changes.get("enabled"))
        return
    facts = manager.units([desired.unit.full])[desired.unit.full]
    unit = _Unit(writer, manager, desired, facts)
    match step.operation:
        case Operation.MARK:
            manager.mark(facts.name, _MARKS.get(str(changes[OWES].after), frozenset()))
        case Operation.STOP:
            unit.stop_meanwhile()
        case Operation.REFRESH_RELOAD:
            unit.reload()
        case Operation.REFRESH_RESTART:
            unit.restart()
        case _:
            _set(unit, changes.get("running"), changes.get("enabled"))


def _set(unit: "_Unit", running: Change | None, enabled: Change | None) -> None:
    """Stop before a unit is disabled, start it after it was enabled."""
    if running is not None and running.after is not True and running.before is not False:
        unit.stop()
    if enabled is not None and (enabled.after is not None or enabled.before in {True, MASKED}):
        unit.set_enabled(enabled)
    if running is not None and running.after is True:
        unit.start()


@frozen
class _Unit:
    """One unit, and the means to change it."""

    writer: HostWriter
    manager: ManagerWriter
    desired: DesiredService
    # As it was when its turn came.
    facts: UnitFacts

    @property
    def name(self) -> str:
        """Its own name, whatever alias it was declared by."""
        return self.facts.name

    def set_enabled(self, change: Change) -> None:
        """Enable, disable or mask: unmasked before it is enabled, disabled before it is masked."""
        manager, names = self.manager, [self.name]
        if change.before == MASKED:
            manager.unmask(names)
        if change.after is True:
            manager.enable(names)
        else:
            if self.facts.load != "not-found":
                manager.disable(names)
            if change.after == MASKED:
                manager.mask([self.desired.unit.full])
        if self.name != self.desired.unit.full:
            self.writer.remark(f"{self.desired.unit.full} is an alias: {self.name} is what was changed")
        manager.daemon_reload()

    def stop(self) -> None:
        """Stop it; the agent's own service is what does this, and is not stopped by it."""
        if self.desired.is_of_agent and self.desired.unit.suffix == "service":
            raise HostError(
                f"{self.name} is the agent, which cannot stop itself in mid pass.",
                code="unit-of-agent",
                failure=FailureCause.IMPOSSIBLE,
                summary="A pass does not stop what it runs in.",
                hint="`systemctl disable --now datum.timer` by hand: then no pass starts by itself",
            )
        self._do(lambda: self.manager.stop(self.name))
        if active := self._starters():
            self.writer.remark(f"{', '.join(active)} can still start it")

    def stop_meanwhile(self) -> None:
        """Stop it while others change: nothing may start it meanwhile, and it is started right after that.

        Whatever else could start it is not stopped along: a pass that is killed would leave that stopped for good.
        """
        if active := self._starters():
            raise HostError(
                f"{self.name} cannot be kept stopped: {', '.join(active)} may start it at any time.",
                code="unit-can-be-started",
                summary="A unit would be started while something changes that it must not see.",
                hint=f"declare service:{active[0]} with running: true, and name it in while_stopped as well",
            )
        self.stop()
        if self._look().active == _FAILED:
            # It ended with an error when it was told to: its start would have to wait for the time of a failure.
            self.manager.reset_failed(self.name)

    def _starters(self) -> list[str]:
        """Return the active units that start it."""
        found = self.manager.units(self.facts.triggered_by) if self.facts.triggered_by else {}
        return sorted(name for name, facts in found.items() if is_up(facts))

    def start(self) -> None:
        """Start it, unless it failed just now."""
        self._check_back_off()
        self._bring_up(self.manager.start, restart=False)

    def restart(self) -> None:
        """Restart it; the manager clears its marks."""
        self._bring_up(self.manager.restart, restart=True)

    def reload(self) -> None:
        """Reload it, and clear the marks that this pays; after a reload that failed it owes one as before."""
        self._load_anew()
        try:
            self._do(lambda: self.manager.reload(self.name))
        except HostError:
            with suppress(HostError):
                self.manager.mark(self.name, _MARKS[Operation.REFRESH_RELOAD.value])
            raise
        self._clear_paid_marks()
        self._settle(self.facts)

    def _clear_paid_marks(self) -> None:
        """Clear what the manager leaves of the marks that stood for the reload.

        It clears `needs-reload` when the job begins. One that is there again was set meanwhile, by somebody whose
        change the reload may have missed, and stays owed with its pair.
        """
        marks = self._look().marks or frozenset()
        if NEEDS_RELOAD in (self.facts.marks or ()) and NEEDS_RELOAD not in marks and NEEDS_RESTART in marks:
            self.manager.mark(self.name, marks - {NEEDS_RESTART})

    def _bring_up(self, job: Callable[[str], None], *, restart: bool) -> None:
        self._load_anew()
        if self.facts.active == _FAILED:
            # It may have been started too often, whatever its result says: then the start would be refused.
            self.manager.reset_failed(self.name)
        services = self._holding_back()
        if services:
            self._bring_up_socket(services, restart=restart)
        else:
            self._do(lambda: job(self.name))
        self._settle(self._look())

    def _load_anew(self) -> None:
        if self.facts.needs_daemon_reload:
            self.manager.daemon_reload()

    def _holding_back(self) -> list[str]:
        """Return the services that run of a socket, which cannot be bound while one does."""
        if self.desired.unit.suffix != "socket":
            return []
        names = [name for name in self._look().triggers if not self._is_connection(name)]
        found = self.manager.units(names) if names else {}
        return sorted({facts.name for facts in found.values() if running_state(facts) in (True, STARTING)})

    def _bring_up_socket(self, services: list[str], *, restart: bool) -> None:
        """Have the manager restart the services around their socket, and tell what became of each.

        Who is declared nowhere would stay stopped if that were two jobs, and the agent ended between them.
        """
        failures = self.manager.start_socket(self.name, services, restart=restart)
        for name in services:
            failure = failures.get(name)
            self.writer.remark(
                f"{name} was restarted with its socket, which cannot be taken while it runs"
                if failure is None
                else f"{name} had to be restarted with its socket, and that failed: {failure.detail}"
            )
        for name in (self.name, *services):
            if name in failures:
                raise self._told(failures[name], name)

    def _is_connection(self, name: str) -> bool:
        """Whether a service is what a socket with Accept=yes started for one connection: it holds no socket back."""
        template = f"{self.desired.unit.prefix}@.service"
        unit = UnitName(name)
        return unit.template == template and bool(_CONNECTION.match(unit.stem.partition("@")[2]))

    def _check_back_off(self) -> None:
        """Refuse to start what failed moments ago: nothing but time would be different.

        Raises:
            HostError: busy, with the seconds that are left.
        """
        if self.facts.active != _FAILED or not self.facts.changed:
            return
        # How long ago a unit failed is a fact of this moment; no plan hangs on it.
        left = BACK_OFF - (time.time() - self.facts.changed / 1e6)  # noqa: TID251
        if not 0 < left <= BACK_OFF:
            return
        raise HostError(
            f"{self.name} failed {BACK_OFF - left:.0f} s ago ({self.facts.result}), and is not started again before "
            f"{BACK_OFF:.0f} s are over.{self._journal()}",
            code="unit-backs-off",
            failure=FailureCause.BUSY,
            summary="A unit failed moments ago.",
            hint=f"see why it failed; the next pass starts it, and so does `systemctl start {self.name}`",
        )

    def _settle(self, before: UnitFacts) -> None:
        """See that the unit stays up.

        Raises:
            HostError: `unit-not-up`.
        """
        after = before
        seconds = _time_of(before) if self.desired.settle is None else self.desired.settle
        if is_up(before):
            time.sleep(seconds)
            after = self._look()
        is_same = (after.invocation, after.restarts) == (before.invocation, before.restarts)
        if is_up(after) and is_same:
            return
        how = "it was started again by itself" if is_up(after) else f"it is {after.active} ({after.sub})"
        result = f", with the result {after.result}" if after.result not in {"", "success"} else ""
        raise HostError(
            f"{self.name} does not stay up: {how}{result}.{self._journal()}",
            code="unit-not-up",
            summary="A unit was started and does not stay up.",
            hint=f"systemctl status {self.name}; journalctl -u {self.name}",
        )

    def _do(self, job: Callable[[], None]) -> None:
        """Do a job; where it fails, say what the unit wrote."""
        try:
            job()
        except HostError as error:
            raise self._told(error, self.name) from error

    def _told(self, error: HostError, name: str) -> HostError:
        """Return the failure of a unit's job with what the unit wrote."""
        found = error.diagnostics[0]
        return HostError(
            f"{error.detail}{self._journal(name)}",
            code=found.code,
            cause=error.cause,
            failure=error.failure,
            hint=found.hint or f"systemctl status {name}",
            summary=found.summary,
        )

    def _look(self) -> UnitFacts:
        return self.manager.units([self.name])[self.name]

    def _journal(self, name: str = "") -> str:
        lines = ""
        with suppress(HostError):
            lines = self.manager.journal(name or self.name, lines=JOURNAL_LINES).strip()
        return f" The last lines of its journal:\n{lines}" if lines else ""


def _time_of(facts: UnitFacts) -> float:
    """Return how long a unit is watched: a service that says itself when it is up, or has done its work, is up."""
    is_service = facts.name.endswith(".service")
    return SETTLE if is_service and facts.kind not in _TELLING and not facts.remains else 0.0
