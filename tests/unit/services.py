"""Types that run, and what they list: a service that owes restarts, a unit, and a file with a judge of its own.

They go beside the types of `tests.unit.fakes`. Nothing here reaches a host.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

from attrs import evolve, frozen

from datum.model.check import Check
from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue, Hazard, Resource
from datum.model.observation import Absent, FieldValue, Present
from datum.model.plan import OWES, Action, Change, Effect, Need, Operation, Plan, Step
from datum.planner.inputs import Declaration
from datum.provider.contract import AnyProvider, Stage
from datum.provider.host import HostWriter
from datum.provider.stopped import Stopping
from tests.unit.fakes import PROVIDERS, Fake, Package, Page, Want, declare, graph_of, plan_of, revision, rid, target_of

RESTART, RELOAD = "restart", "reload"


@frozen
class Wish:
    """What a declaration of a service says."""

    name: str
    # None: not declared.
    running: bool | None
    value: str | None
    lists: Mapping[ResourceId, Operation]
    can_reload: bool
    risks: frozenset[Hazard]
    # Of a refresh.
    refresh_risks: frozenset[Hazard]
    needs: tuple[Target, ...]
    # Of a stop.
    stop_risks: frozenset[Hazard]


class Service(Fake):
    """It runs or not, has a `value`, and owes what `owes` says; it needs something until its unit is known."""

    type_name: ClassVar[str] = "service"
    order_stage: ClassVar[Stage] = Stage.SERVICES

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> Any:
        given: Mapping[str, Any] = attributes
        lists = {rid(text): Operation.REFRESH_RELOAD for text in given.get("reload_on", ())}
        lists |= {rid(text): Operation.REFRESH_RESTART for text in given.get("restart_on", ())}
        return Wish(
            name,
            given.get("running", True),
            given.get("value"),
            lists,
            bool(given.get("can_reload", True)),
            frozenset(Hazard(text) for text in given.get("risks", ())),
            frozenset(Hazard(text) for text in given.get("refresh_risks", ())),
            tuple(target_of(text) for text in given.get("needs", ())),
            frozenset(Hazard(text) for text in given.get("stop_risks", ("outage",))),
        )

    def edges(self, desired: Any, index: object) -> tuple[Any, ...]:
        return ()

    def plan(self, desired: Any, observed: Present | Absent) -> Step | None:
        wanted = {"running": desired.running, "value": desired.value}
        fields = observed.fields
        changes = [Change(name, None, value) for name, value in wanted.items() if value is not None]
        missing = desired.needs if fields.get("unit_known") is not True else ()
        needs = tuple(Need(target, f"There is no {target}.") for target in missing)
        if isinstance(observed, Absent):
            return Step(Operation.CREATE, tuple(changes), needs) if changes else None
        before: Mapping[str, Any] = fields
        differing = tuple(
            evolve(change, before=before.get(change.name))
            for change in changes
            if before.get(change.name) != change.after
        )
        return Step(Operation.UPDATE, differing) if differing else None

    def effects(self, desired: Any, step: Step) -> tuple[Effect, ...]:
        return ()

    def hazards(self, desired: Any, step: Step) -> frozenset[Hazard]:
        risks: frozenset[Hazard] = desired.refresh_risks if step.operation.refreshes else desired.risks
        if step.operation is Operation.STOP:
            risks = desired.stop_risks
        return risks

    def triggers(self, desired: Wish) -> Mapping[ResourceId, Operation]:
        return desired.lists if desired.running is not False else {}

    def refresh(self, desired: Wish, observed: Present | Absent) -> Step | None:
        owes = observed.fields.get(OWES)
        if desired.running is False or observed.fields.get("running") is not True or not isinstance(owes, str):
            return None
        is_reload = owes == RELOAD and desired.can_reload
        operation = Operation.REFRESH_RELOAD if is_reload else Operation.REFRESH_RESTART
        return Step(operation, (Change(OWES, owes, None),))

    def stopping(self, desired: Wish) -> Stopping | None:
        return None if desired.running is None else Stopping(desired.running, desired.name.endswith("socket"))

    def stop(self, desired: Wish, observed: Present | Absent) -> Step | None:
        if observed.fields.get("running") is not True:
            return None
        return Step(Operation.STOP, (Change("running", before=True, after=False),))


class Unit(Page):
    """A file of the unit stage, of which the service manager is told."""

    type_name: ClassVar[str] = "unit"
    order_stage: ClassVar[Stage] = Stage.UNITS

    def settle(self, writer: HostWriter) -> None:
        """Tell nobody."""


class Account(Fake):
    """Something of the first stage."""

    type_name: ClassVar[str] = "account"
    order_stage: ClassVar[Stage] = Stage.ACCOUNTS


class Deb(Package):
    """A package of the package stage."""

    type_name: ClassVar[str] = "package"
    order_stage: ClassVar[Stage] = Stage.PACKAGES


class Conf(Page):
    """A page that names its judge: a value beginning with `judged` does."""

    type_name: ClassVar[str] = "conf"

    def validation(self, origin: ResourceId, desired: Want) -> Check | None:
        if not str(desired.value).startswith("judged"):
            return None
        return Check(origin, ("judge-of", desired.name), 5.0)


class OddService(Service):
    """Answers as a test says, whatever the contract wants."""

    type_name: ClassVar[str] = "oddservice"

    def __init__(self, **answers: Callable[..., object]) -> None:
        self.__dict__.update(answers)


def _of(*providers: AnyProvider) -> Mapping[str, AnyProvider]:
    return {**PROVIDERS, **{provider.type_name: provider for provider in providers}}


ALL: Final = _of(Service(), Unit(), Account(), Deb(), Conf(), OddService())


def odd_service(**answers: Callable[..., object]) -> Mapping[str, AnyProvider]:
    """Return all types, `oddservice` among them with these answers."""
    return {**ALL, "oddservice": OddService(**answers)}


def service(name: str, *, restart_on: Iterable[str] = (), reload_on: Iterable[str] = (), **others: Any) -> Resource:
    """Declare a service by its name, or an `oddservice` by its id; it shall run unless it says otherwise."""
    text = name if ":" in name else f"service:{name}"
    said = {"value": None, "restart_on": tuple(restart_on), "reload_on": tuple(reload_on), **others}
    return declare(text, **said)


def earlier(number: int, *resources: Resource, providers: Mapping[str, AnyProvider] = ALL) -> Declaration:
    """Return what an older revision declared."""
    graph = graph_of(*resources, providers=providers)
    return Declaration(revision(number), graph.nodes, graph.order)


def running(owes: FieldValue = None, **fields: FieldValue) -> Present:
    return Present({"running": True, OWES: owes, **fields})


def stopped(**fields: FieldValue) -> Present:
    return Present({"running": False, OWES: None, **fields})


def planned(*resources: Resource, **others: Any) -> Plan:
    return plan_of(*resources, **{"providers": ALL, **others})


def steps(plan: Plan) -> list[str]:
    """Return each action in a few words, in the order of the plan; a held one in brackets."""
    return [_words(action) for action in plan.actions]


def _words(action: Action) -> str:
    text = f"{action.operation} {action.resource}"
    return f"({text})" if action.hold else text
