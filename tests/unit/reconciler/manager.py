"""A service manager in memory, a type that is refreshed, and one that is settled: both over the fake host's files."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import define, evolve, field, frozen

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.manifest import AttributeValue, Hazard, Resource
from datum.model.observation import NotApplicable, Observation, Present, Unobservable
from datum.model.plan import OWES, Change, Effect, Operation, Step
from datum.model.result import ActionResult
from datum.provider.contract import CONTRACT_VERSION, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import HostReader, HostWriter
from datum.provider.stopped import Stopping
from datum.testing.host import FakeHost
from datum_providers.check.provider import CheckProvider
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import rid
from tests.unit.reconciler.bench import Bench


@define
class Unit:
    """One unit that runs or does not."""

    active: bool = True
    owes: str | None = None
    # What stood at each path when it was last started, or reloaded.
    read: dict[str, bytes | None] = field(factory=dict)
    # What is set of it, whether it runs or not.
    value: str | None = None


@define
class Manager:
    """The units of one host; each call can go wrong by its name, as with the host."""

    host: FakeHost
    units: dict[str, Unit] = field(factory=dict)
    # Unit files as they were last loaded.
    loaded: dict[str, bytes] = field(factory=dict)
    calls: list[str] = field(factory=list)

    def bytes_at(self, path: str) -> bytes | None:
        found = self.host.files.get(path)
        return found.data if found else None

    def run(self, call: str, name: str, paths: tuple[str, ...] = ()) -> None:
        """Start, restart or reload a unit, which reads these paths."""
        self._enter(call, name)
        unit = self.units[name]
        unit.active = True
        unit.owes = None
        unit.read.update({path: self.bytes_at(path) for path in paths})
        self.host.world.leave(call, name)

    def stop(self, name: str) -> None:
        self._enter("stop", name)
        self.units[name].active = False
        self.units[name].owes = None
        self.host.world.leave("stop", name)

    def mark(self, name: str, owes: str | None) -> None:
        self._enter("mark", name, str(owes))
        if self.units[name].active:
            self.units[name].owes = owes
        self.host.world.leave("mark", name)

    def set(self, name: str, value: str | None) -> None:
        """Set what can be set of a unit that runs as well."""
        self._enter("set", name)
        self.units[name].value = value
        self.host.world.leave("set", name)

    def load(self) -> None:
        """Read all unit files again."""
        self._enter("daemon_reload", "")
        self.loaded = {
            path: file.data for path, file in self.host.files.items() if path.startswith("/etc/units/") and file.data
        }
        self.host.world.leave("daemon_reload", "")

    def _enter(self, *words: str) -> None:
        self.host.world.enter(words[0], words[1])
        self.calls.append(" ".join(word for word in words if word))


@frozen
class Wish:
    """What a daemon shall be."""

    name: str
    running: bool
    triggers: Mapping[ResourceId, Operation]
    # None: not declared.
    value: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(origin.name for origin in self.triggers)

    @property
    def paths_of_reload(self) -> tuple[str, ...]:
        """What it reads again without being restarted."""
        return tuple(one.name for one, owed in self.triggers.items() if owed is Operation.REFRESH_RELOAD)


class Daemon:
    """A type that owes a restart or a reload after others changed."""

    type_name: ClassVar[str] = "daemon"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[Mapping[str, JsonValue]] = {"type": "object", "properties": {}}
    fields: ClassVar[Mapping[str, FieldClass]] = {"running": FieldClass.ENFORCED}
    apply_deadline: ClassVar[float] = 10.0
    observe_deadline: ClassVar[float] = 1.0

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        # Answers instead of what is observed, by name.
        self.answers: dict[str, Observation] = {}
        # What a start, restart or reload leaves not running.
        self.crashing: set[str] = set()

    def normal_name(self, name: str) -> str:
        return name

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> Wish:
        given: Mapping[str, Any] = attributes
        triggers = {rid(text): Operation.REFRESH_RELOAD for text in given.get("reload_on", ())}
        triggers |= {rid(text): Operation.REFRESH_RESTART for text in given.get("restart_on", ())}
        return Wish(name, bool(given.get("running", True)), triggers, given.get("setting"))

    def targets(self, desired: Wish) -> tuple[Target, ...]:
        return (Target("unit_state", desired.name),)

    def edges(self, desired: Wish, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        return ()

    def observe(self, reader: HostReader, desired: Mapping[str, Wish]) -> Mapping[str, Observation]:
        return {name: self.answers.get(name) or self._observe(name) for name in desired}

    def _observe(self, name: str) -> Observation:
        self._manager.host.world.enter("units", name)
        unit = self._manager.units.get(name)
        if unit is None:
            return Present({"running": NotApplicable("no-manager"), OWES: NotApplicable("no-manager")})
        return Present({"running": unit.active, "value": unit.value, OWES: unit.owes if unit.active else None})

    def plan(self, desired: Wish, observed: Observation) -> Step | None:
        assert isinstance(observed, Present)
        running, value = observed.fields["running"], observed.fields.get("value")
        if isinstance(running, (NotApplicable, Unobservable)) or isinstance(value, (NotApplicable, Unobservable)):
            return None
        wanted = [("running", running, desired.running), ("value", value, desired.value)]
        changes = tuple(Change(*one) for one in wanted if one[2] is not None and one[1] != one[2])
        return Step(Operation.UPDATE, changes) if changes else None

    def triggers(self, desired: Wish) -> Mapping[ResourceId, Operation]:
        return desired.triggers if desired.running else {}

    def refresh(self, desired: Wish, observed: Observation) -> Step | None:
        if not isinstance(observed, Present) or not desired.running or observed.fields.get("running") is not True:
            return None
        owes = observed.fields.get(OWES)
        return Step(Operation(owes), (Change(OWES, owes, None),)) if isinstance(owes, str) else None

    def stopping(self, desired: Wish) -> Stopping | None:
        return Stopping(desired.running)

    def stop(self, desired: Wish, observed: Observation) -> Step | None:
        if not isinstance(observed, Present) or observed.fields.get("running") is not True:
            return None
        return Step(Operation.STOP, (Change("running", before=True, after=False),))

    def effects(self, desired: Wish, step: Step) -> tuple[Effect, ...]:
        return ()

    def hazards(self, desired: Wish, step: Step) -> frozenset[Hazard]:
        return frozenset()

    def apply(self, writer: HostWriter, desired: Wish, step: Step) -> None:
        manager = self._manager
        if step.operation is Operation.MARK:
            (change,) = step.changes
            manager.mark(desired.name, str(change.after) if change.after else None)
        elif step.operation.refreshes:
            is_reload = step.operation is Operation.REFRESH_RELOAD
            manager.run(str(step.operation), desired.name, desired.paths_of_reload if is_reload else desired.paths)
            self._crash(desired.name)
        elif step.operation is Operation.STOP:
            manager.stop(desired.name)
        else:
            self._update(desired, step)

    def _update(self, desired: Wish, step: Step) -> None:
        manager = self._manager
        changes = {change.name for change in step.changes}
        if "value" in changes and step.operation is not Operation.DELETE:
            manager.set(desired.name, desired.value)
        if "running" not in changes:
            return
        if desired.running and step.operation is not Operation.DELETE:
            manager.run("start", desired.name, desired.paths)
            self._crash(desired.name)
        else:
            manager.stop(desired.name)

    def _crash(self, name: str) -> None:
        if name in self.crashing:
            self._manager.units[name].active = False

    def removal(self, desired: Wish) -> Removal:
        return Removal.NOTHING

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        return {}


class UnitFile(FileProvider):
    """A file that counts once the manager has read it: drift until then."""

    type_name: ClassVar[str] = "unitfile"

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredFile]) -> Mapping[str, Observation]:
        return {
            name: evolve(found, fields={**found.fields, "pending": self._is_pending(name)})
            if isinstance(found, Present)
            else found
            for name, found in super().observe(reader, desired).items()
        }

    def _is_pending(self, path: str) -> bool:
        return self._manager.loaded.get(path) != self._manager.bytes_at(path)

    def plan(self, desired: DesiredFile, observed: Any) -> Step | None:
        step = super().plan(desired, observed)
        if step is None and observed.fields.get("pending") is True:
            return Step(Operation.UPDATE, (Change("pending", True, False),))
        return step

    def apply(self, writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        if any(change.name != "pending" for change in step.changes):
            super().apply(writer, desired, step)

    def settle(self, writer: HostWriter) -> None:
        writer.remark("read again")
        self._manager.load()


@define
class Scene:
    """A bench with a manager, and units that run."""

    bench: Bench
    manager: Manager
    daemon: Daemon

    def run(self, **others: Any) -> tuple[ActionResult, ...]:
        return self.bench.run(**others)

    def unit(self, name: str = "web") -> Unit:
        return self.manager.units[name]

    def start(self) -> None:
        """Let every unit have read what is there now."""
        for origin, node in self.bench.plan().given.graph.nodes.items():
            if origin.type == "daemon":
                wish = node.desired
                assert isinstance(wish, Wish)
                self.unit(origin.name).read = {path: self.manager.bytes_at(path) for path in wish.paths}
        self.manager.calls.clear()

    def work(self) -> list[str]:
        """What was done to files and units, in order, and which checks were asked."""
        shown = {"mark", "restart", "reload", "start", "stop", "daemon_reload", "write_file", "judge", "commit"}
        return [f"{method} {subject}".strip() for method, subject in self.bench.host.calls if method in shown]

    def is_converged(self) -> bool:
        return self.bench.plan().plan.is_empty


def scene(
    *resources: Resource,
    units: Sequence[str] = ("web",),
    providers: Mapping[str, Any] | None = None,
    managed: type[Manager] = Manager,
) -> Scene:
    """Return a host with these declared; the units of these names run, every other daemon has no manager."""
    host = FakeHost()
    manager = managed(host, {name: Unit() for name in units})
    daemon = Daemon(manager)
    kinds: dict[str, Any] = {
        "file": FileProvider(),
        "daemon": daemon,
        "unitfile": UnitFile(manager),
        "check": CheckProvider(),
    }
    made = Scene(Bench(resources, host=host, providers={**kinds, **(providers or {})}), manager, daemon)
    made.start()
    return made


def told(results: Sequence[ActionResult]) -> list[str]:
    """Return operation, resource and outcome of each action, in order."""
    return [f"{one.action.operation} {one.action.resource} {one.outcome}" for one in results]


def of(results: Sequence[ActionResult], words: str) -> ActionResult:
    """Return the result of `operation resource`; the first of several."""
    return next(one for one in results if f"{one.action.operation} {one.action.resource}" == words)
