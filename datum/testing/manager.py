"""The service manager of a fake host: jobs that end as arranged, and marks as systemd keeps them (design 4.1)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from attrs import evolve

from datum.host.jobs import DONE, job_failed, manager_refused
from datum.host.unit_names import name_fault, template_of
from datum.provider.host import FileKind, HostError
from datum.provider.manager import NEEDS_RELOAD, NEEDS_RESTART, UnitFacts
from datum.testing.units import FakeUnit, has_file, is_masked, links_of
from datum.testing.world import FakeFile, FakeWorld, JournalEntry

_SYSTEM: Final = "/etc/systemd/system"
_UP: Final = frozenset({"active", "reloading"})
_DOWN: Final = frozenset({"inactive", "failed"})


@contextmanager
def _noted(failures: dict[str, HostError], name: str) -> Iterator[None]:
    """Note the failure of one unit, and go on."""
    try:
        yield
    except HostError as error:
        failures.setdefault(name, error)


class FakeManager:
    """`ManagerReader` over a `FakeWorld`."""

    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def units(self, names: Sequence[str]) -> Mapping[str, UnitFacts]:
        """As `ManagerReader`."""
        self._world.enter("units", " ".join(names))
        return {name: self._world.manager.facts(name, self._world.files) for name in names}

    def instances(self, template: str) -> tuple[str, ...]:
        """As `ManagerReader`."""
        self._world.enter("instances", template)
        return tuple(sorted(name for name in self._world.manager.units if template_of(name) == template))

    def journal(self, name: str, *, lines: int) -> str:
        """As `ManagerReader`."""
        self._world.enter("journal", name)
        return "\n".join(self._world.manager.lines.get(name, [])[-lines:])


class FakeManagerWriter(FakeManager):
    """`ManagerWriter` over a `FakeWorld`."""

    def start(self, name: str) -> None:
        """As `ManagerWriter`; what is active stays as it is, and what is being started is waited for."""
        unit = self._begin("start", name)
        if unit.facts.active == "activating" and unit.facts.sub != "auto-restart" and unit.start_result == DONE:
            unit.facts = evolve(unit.facts, active="active", sub="running")
        else:
            self._bind(unit, "start")
        self._world.leave("start", name)

    def stop(self, name: str) -> None:
        """As `ManagerWriter`."""
        unit = self._begin("stop", name)
        self._stop(unit, "stop")
        self._world.leave("stop", name)

    def restart(self, name: str) -> None:
        """As `ManagerWriter`; what is not active is started."""
        unit = self._begin("restart", name)
        self._stop(unit, "restart")
        self._bind(unit, "restart")
        self._world.leave("restart", name)

    def start_socket(self, name: str, services: Sequence[str], *, restart: bool) -> Mapping[str, HostError]:
        """As `ManagerWriter`: what cannot be stopped goes on running, and holds the socket back."""
        verb = "restart" if restart else "start"
        failures: dict[str, HostError] = {}
        stopped: list[FakeUnit] = []
        for each in services:
            with _noted(failures, each):
                unit = self._begin("restart", each)
                if unit.facts.active not in _DOWN:
                    self._stop(unit, "restart")
                    stopped.append(unit)
        with _noted(failures, name):
            unit = self._begin(verb, name)
            if restart:
                self._stop(unit, verb)
            self._bind(unit, verb)
        for unit in stopped:
            with _noted(failures, unit.facts.name):
                self._start(unit, "restart")
        self._world.leave("start_socket", name)
        return failures

    def reload(self, name: str) -> None:
        """As `ManagerWriter`; of an inactive unit the job ends `invalid`."""
        unit = self._begin("reload", name)
        if not unit.facts.can_reload:
            raise manager_refused(f"reload {name}", f"Job type reload is not applicable for unit {name}.")
        if unit.facts.active not in _UP:
            raise job_failed("reload", name, "invalid")
        unit.facts = evolve(unit.facts, marks=(unit.facts.marks or frozenset()) - {NEEDS_RELOAD})
        if unit.reload_result != DONE:
            raise job_failed("reload", name, unit.reload_result)
        self._world.leave("reload", name)

    def reset_failed(self, name: str) -> None:
        """As `ManagerWriter`."""
        unit = self._begin("reset_failed", name)
        active = "inactive" if unit.facts.active == "failed" else unit.facts.active
        sub = "dead" if active == "inactive" else unit.facts.sub
        unit.facts = evolve(unit.facts, active=active, sub=sub, result="success", restarts=0)
        self._world.leave("reset_failed", name)

    def mark(self, name: str, marks: Collection[str]) -> None:
        """As `ManagerWriter`."""
        self._world.enter("mark", name)
        unit = self._loaded("mark", name)
        wanted = frozenset(marks)
        if not self._world.manager.has_marks:
            raise manager_refused(f"mark {name}", "Cannot set property Markers, or unknown property.")
        for other in sorted(wanted - {NEEDS_RESTART, NEEDS_RELOAD}):
            raise manager_refused(f"mark {name}", f'Unknown marker "{other}".')
        self._world.journal.append(JournalEntry("mark", name, marks=tuple(sorted(wanted))))
        if unit.facts.active not in _DOWN:
            unit.facts = evolve(unit.facts, marks=wanted)
        self._world.leave("mark", name)

    def enable(self, names: Sequence[str]) -> None:
        """As `ManagerWriter`: makes the links; what is loaded says so after a daemon-reload."""
        for name, unit in self._on_disk("enable", names).items():
            for wanting in unit.wanted_by:
                fragment = unit.facts.fragment or f"/usr/lib/systemd/system/{name}"
                link = FakeFile(FileKind.SYMLINK, "0777", link=fragment)
                self._world.add(f"{_SYSTEM}/{wanting}.wants/{name}", link)
        self._world.leave("enable", " ".join(names))

    def disable(self, names: Sequence[str]) -> None:
        """As `ManagerWriter`, likewise; of a unit that is not there every link goes, too, and one must be there."""
        self._enter_names("disable", names)
        for name in names:
            links = links_of(name, self._world.files)
            is_file = has_file(name, self._world.files)
            if not links and not is_file and self._world.manager.find(name, self._world.files) is None:
                raise manager_refused(f"disable {name}", f"Unit file {name} does not exist.")
            for path in links:
                self._world.remove(path)
        self._world.leave("disable", " ".join(names))

    def mask(self, names: Sequence[str]) -> None:
        """As `ManagerWriter`, likewise; a file of the administrator's is in the way."""
        self._enter_names("mask", names)
        for name in names:
            path = f"{_SYSTEM}/{name}"
            found = self._world.files.get(path)
            if found is not None and found.link != "/dev/null":
                raise manager_refused(f"mask {name}", f"File {path} already exists.")
            self._world.add(path, FakeFile(FileKind.SYMLINK, "0777", link="/dev/null"))
        self._world.leave("mask", " ".join(names))

    def unmask(self, names: Sequence[str]) -> None:
        """As `ManagerWriter`, likewise."""
        self._enter_names("unmask", names)
        for name in names:
            found = self._world.files.get(f"{_SYSTEM}/{name}")
            if found is not None and found.link == "/dev/null":
                self._world.remove(f"{_SYSTEM}/{name}")
        self._world.leave("unmask", " ".join(names))

    def daemon_reload(self) -> None:
        """As `ManagerWriter`."""
        self._world.enter("daemon_reload", "")
        self._world.journal.append(JournalEntry("daemon_reload", ""))
        self._world.manager.reload(self._world.files)
        self._world.leave("daemon_reload", "")

    def _begin(self, verb: str, name: str) -> FakeUnit:
        """Take a job, or refuse it as the manager does."""
        self._world.enter(verb, name)
        unit = self._loaded(verb, name)
        self._world.journal.append(JournalEntry(verb, name))
        return unit

    def _loaded(self, verb: str, name: str) -> FakeUnit:
        fault = name_fault(name)
        if fault:
            raise manager_refused(f"{verb} {name}", fault)
        unit = self._world.manager.find(name, self._world.files)
        is_gone = unit is None or unit.facts.load == "not-found"
        if unit is None or (is_gone and unit.facts.active in _DOWN):
            raise manager_refused(f"{verb} {name}", f"Unit {name} not found.")
        if unit.facts.load == "masked" and verb in {"start", "restart"}:
            raise manager_refused(f"{verb} {name}", f"Unit {name} is masked.")
        if unit.facts.load in {"bad-setting", "error"} and verb in {"start", "restart"}:
            raise manager_refused(f"{verb} {name}", f"Unit {name} has a bad unit file setting.")
        if not unit.facts.can_start and verb == "start":
            raise manager_refused(f"{verb} {name}", "Operation refused, unit may be requested by dependency only.")
        return unit

    def _bind(self, unit: FakeUnit, verb: str) -> None:
        """Start what is not active; a socket is refused while a service of it runs, but for its connections."""
        name, units = unit.facts.name, self._world.manager
        if unit.facts.active in _UP:
            return
        own = f"{name.removesuffix('.socket')}@.service"
        triggers = units.facts(name, self._world.files).triggers if name.endswith(".socket") else ()
        services = [units.facts(each, self._world.files) for each in triggers if template_of(each) != own]
        if any(each.active not in _DOWN for each in services):
            raise job_failed(verb, name, "failed")
        self._start(unit, verb)

    def _start(self, unit: FakeUnit, verb: str) -> None:
        units = self._world.manager
        if unit.start_result in {"dependency", "canceled", "skipped"}:
            raise job_failed(verb, unit.facts.name, unit.start_result)
        units.starts += 1
        now = units.starts
        came = evolve(
            unit.facts,
            invocation=f"{now:032x}",
            changed=now,
            began=now,
            up_since=now,
            main_started=now if unit.facts.kind else 0,
            marks=frozenset(),
        )
        if unit.start_result != DONE:
            result = "timeout" if unit.start_result == "timeout" else "exit-code"
            unit.facts = evolve(came, active="failed", sub="failed", result=result)
            raise job_failed(verb, unit.facts.name, unit.start_result, unit_result=result)
        if not unit.stays:
            unit.facts = evolve(came, active="inactive", sub="dead", result="success")
            return
        is_oneshot = unit.facts.kind == "oneshot"
        unit.facts = evolve(came, active="active", sub="exited" if is_oneshot else "running", result="success")

    def _stop(self, unit: FakeUnit, verb: str) -> None:
        if unit.facts.active in _DOWN:
            return
        if unit.stop_result != DONE:
            raise job_failed(verb, unit.facts.name, unit.stop_result)
        sub, result = ("dead", "success") if unit.stopped_as == "inactive" else ("failed", "exit-code")
        unit.facts = evolve(
            unit.facts, active=unit.stopped_as, sub=sub, result=result, marks=frozenset(), invocation=""
        )

    def _enter_names(self, verb: str, names: Sequence[str]) -> None:
        self._world.enter(verb, " ".join(names))
        self._world.journal.append(JournalEntry(verb, " ".join(names)))

    def _on_disk(self, verb: str, names: Sequence[str]) -> dict[str, FakeUnit]:
        self._enter_names(verb, names)
        found = {name: self._world.manager.find(name, self._world.files) for name in names}
        for name, unit in found.items():
            if unit is None:
                raise manager_refused(f"{verb} {name}", f"Unit file {name} does not exist.")
            if is_masked(name, self._world.files):
                raise manager_refused(f"{verb} {name}", f"Unit file {_SYSTEM}/{name} is masked.")
        return {name: unit for name, unit in found.items() if unit is not None}
