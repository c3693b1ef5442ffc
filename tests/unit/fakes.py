"""A small world for the pure rooms: types that plan plain values, and short words for declarations and inputs.

The types are leaf paths, folders, users, packages (transactional, with possible effects), entries of shared files, and
one whose answers a test replaces. Nothing here reaches a host; `observe` and `apply` are never called.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

from attrs import evolve, frozen

from datum.diagnostics import SourceLocation
from datum.graph.build import build_graph
from datum.model.check import Check
from datum.model.graph import DependencyKind, Node, ResourceGraph, Target
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonObject, JsonValue, digest
from datum.model.manifest import AttributeValue, EffectiveManifest, Hazard, OnRemoval, Resource
from datum.model.observation import (
    Absent,
    Cause,
    FieldValue,
    NotApplicable,
    Observation,
    ObservedState,
    Present,
    Unobservable,
)
from datum.model.plan import Action, Change, Effect, Need, Operation, Plan, Step
from datum.model.revision import Revision
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight, Unresolved
from datum.planner.orphans import find_orphans
from datum.planner.plan import plan_pass
from datum.provider.contract import (
    CONTRACT_VERSION,
    AnyProvider,
    DesiredError,
    FieldClass,
    ImplicitEdge,
    Removal,
    TargetIndex,
)
from datum.provider.host import HostReader, HostWriter
from datum.provider.paths import parents

HOST: Final = HostName("web1")
FILE: Final = "hosts/web1.yaml"
HIDDEN: Final = Unobservable(Cause.DENIED, "It may not be read.")
IN_SYNC: Final = Present({"value": "x"})
OTHER: Final = Present({"value": "old"})


@frozen
class Want:
    """What a declaration says; every fake type reads the same attributes."""

    type: str
    name: str
    # None: not declared, so not compared.
    value: JsonValue
    owner: str | None
    risks: frozenset[Hazard]
    makes: tuple[Target, ...]
    may_make: tuple[Target, ...]
    needs: tuple[Target, ...]
    soft: tuple[ResourceId, ...]
    # What lies in it and is not declared is cleared away.
    exclusive: bool = False
    guards: tuple[ResourceId, ...] = ()
    # What `predict` answers as its value; `absent` for nothing there.
    foretold: str = ""
    # What `relate` found: declared paths below, which of them are to be absent, and whether the directory above is
    # exclusive.
    neighbours: tuple[str, ...] = ()
    absent_ones: tuple[str, ...] = ()
    is_kept_tidy: bool = False


class Fake:
    """Compares `value` and `owner`; names what is missing."""

    type_name: ClassVar[str] = "fake"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = MappingProxyType({"type": "object", "properties": {"value": {"type": "string"}}})
    fields: ClassVar[Mapping[str, FieldClass]] = MappingProxyType({"value": FieldClass.ENFORCED})
    apply_deadline: ClassVar[float] = 10.0
    observe_deadline: ClassVar[float] = 1.0

    def normal_name(self, name: str) -> str:
        return name

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> Want:
        given: Mapping[str, Any] = attributes
        if given.get("value") == "bad":
            raise DesiredError("value", "The value is bad.", hint="Say something else.", code="bad-fake")
        return Want(
            self.type_name,
            name,
            given.get("value"),
            given.get("owner"),
            frozenset(Hazard(text) for text in given.get("risks", ())),
            tuple(target_of(text) for text in given.get("makes", ())),
            tuple(target_of(text) for text in given.get("may_make", ())),
            tuple(target_of(text) for text in given.get("needs", ())),
            tuple(rid(text) for text in given.get("soft", ())),
            bool(given.get("exclusive")),
            tuple(rid(text) for text in given.get("guards", ())),
            str(given.get("foretold", "")),
        )

    def targets(self, desired: Want) -> tuple[Target, ...]:
        return (Target(self.type_name, desired.name),)

    def edges(self, desired: Want, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        owner = index.holder(Target("user", desired.owner)) if desired.owner else None
        found = [ImplicitEdge(owner, "owner")] if owner else []
        found += [ImplicitEdge(target, "soft wish", DependencyKind.AFTER, soft=True) for target in desired.soft]
        return tuple(found)

    def observe(self, reader: HostReader, desired: Mapping[str, Want]) -> Mapping[str, Observation]:
        raise NotImplementedError

    def plan(self, desired: Want, observed: Present | Absent) -> Step | None:
        wanted = [(name, value) for name, value in (("value", desired.value), ("owner", desired.owner)) if value]
        needs = tuple(Need(target, f"There is no {target}.") for target in desired.needs)
        if desired.owner and observed.fields.get("owner_known") is False:
            needs += (Need(Target("user", desired.owner), f"There is no user {desired.owner}."),)
        anew = tuple(Change(name, None, value) for name, value in wanted)
        if isinstance(observed, Absent):
            if isinstance(folder := observed.fields.get("missing_parent"), str):
                needs += (Need(Target("path", folder), f"There is no directory {folder}."),)
            return Step(Operation.CREATE, (Change("kind", None, self.type_name), *anew), needs)
        kind = observed.fields.get("kind", self.type_name)
        if isinstance(kind, str) and kind != self.type_name:
            return Step(Operation.REPLACE, (Change("kind", kind, self.type_name), *anew), needs, observed.holds)
        changes = tuple(
            Change(name, None if isinstance(before, (Unobservable, NotApplicable)) else before, value)
            for name, value in wanted
            if (before := observed.fields.get(name)) != value
        )
        takes = observed.holds if desired.exclusive else ()
        changes += tuple(Change(f".{path.removeprefix(desired.name)}", "file", None) for path in takes)
        return Step(Operation.UPDATE, changes, needs, takes) if changes else None

    def effects(self, desired: Want, step: Step) -> tuple[Effect, ...]:
        own = self.targets(desired) if step.operation in {Operation.CREATE, Operation.REPLACE} else ()
        certain = tuple(Effect(target) for target in (*own, *desired.makes))
        return (*certain, *(Effect(target, certain=False) for target in desired.may_make))

    def hazards(self, desired: Want, step: Step) -> frozenset[Hazard]:
        return desired.risks | ({Hazard.DATA_LOSS} if step.operation is Operation.REPLACE else frozenset())

    def apply(self, writer: HostWriter, desired: Want, step: Step) -> None:
        raise NotImplementedError

    def removal(self, desired: Want) -> Removal:
        return Removal.KEEP

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        raise NotImplementedError


class Folder(Fake):
    """A directory."""

    type_name: ClassVar[str] = "folder"

    def targets(self, desired: Want) -> tuple[Target, ...]:
        return (Target("path", desired.name, exclusive=desired.exclusive),)

    def edges(self, desired: Want, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        parent = index.nearest_parent(desired.name)
        above = (ImplicitEdge(parent, "parent directory"),) if parent else ()
        return (*above, *super().edges(desired, index))


class Leaf(Folder):
    """A path below which nothing lies; dropped in `*.d` it goes, below `/etc/ssh` never."""

    type_name: ClassVar[str] = "leaf"

    def targets(self, desired: Want) -> tuple[Target, ...]:
        return (Target("path", desired.name, leaf=True),)

    def removal(self, desired: Want) -> Removal:
        if desired.name.startswith("/etc/ssh"):
            return Removal.NEVER
        return Removal.DELETE if parents(desired.name)[0].endswith(".d") else Removal.KEEP


class Page(Leaf):
    """A leaf that can be shown to a judge, unless its value is `at-once`; knows its neighbours."""

    type_name: ClassVar[str] = "page"

    def can_stage(self, desired: Want) -> bool:
        return desired.value != "at-once"

    def relate(self, desired: Want, index: TargetIndex) -> Want:
        neighbours = index.paths_below(parents(desired.name)[0])
        return evolve(
            desired,
            neighbours=neighbours,
            absent_ones=tuple(filter(index.is_absent, neighbours)),
            is_kept_tidy=index.is_exclusive(parents(desired.name)[0]),
        )


class Judge(Fake):
    """A program that judges pages; needs its owner to do so."""

    type_name: ClassVar[str] = "judge"

    def plan(self, desired: Want, observed: Present | Absent) -> Step | None:
        return None

    def guards(self, desired: Want) -> tuple[ResourceId, ...]:
        return desired.guards

    def check(self, origin: ResourceId, desired: Want) -> Check:
        return Check(origin, ("judge", desired.name), 10.0)


class Guess(Fake):
    """Its state depends on others: foretold by what it declares."""

    type_name: ClassVar[str] = "guess"

    def predict(self, desired: Want, observed: Observation) -> Present | Absent | None:
        if not desired.foretold:
            return None
        return Absent() if desired.foretold == "absent" else Present({"value": desired.foretold})


class User(Fake):
    """An account."""

    type_name: ClassVar[str] = "user"

    def removal(self, desired: Want) -> Removal:
        return Removal.NEVER


class Package(Fake):
    """Committed together with its neighbours; an empty key for the one named `alone`."""

    type_name: ClassVar[str] = "package"

    def transaction(self, desired: Want, step: Step) -> str:
        return "" if desired.name == "alone" else "apt"

    def stage(self, writer: HostWriter, desired: Want, step: Step) -> object:
        raise NotImplementedError

    def commit(self, writer: HostWriter, staged: Sequence[object]) -> None:
        raise NotImplementedError


class Entry(Fake):
    """One key of a file that others of this type edit too; the name is `/file#key`."""

    type_name: ClassVar[str] = "entry"

    def targets(self, desired: Want) -> tuple[Target, ...]:
        return (Target("path", desired.name.partition("#")[0], shared=True),)

    def removal(self, desired: Want) -> Removal:
        return Removal.DELETE


class Twin(Entry):
    """Another type that edits parts of files."""

    type_name: ClassVar[str] = "twin"


class Odd(Leaf):
    """Answers as a test says, whatever the contract wants."""

    type_name: ClassVar[str] = "odd"

    def __init__(self, **answers: Callable[..., object]) -> None:
        # On the instance, before the methods of the class.
        self.__dict__.update(answers)


def _of(*providers: AnyProvider) -> Mapping[str, AnyProvider]:
    return {provider.type_name: provider for provider in providers}


PROVIDERS: Final = _of(*(Fake(), Folder(), Leaf(), User(), Package(), Entry(), Twin(), Odd(), Page(), Judge(), Guess()))


def odd(**answers: Callable[..., object]) -> Mapping[str, AnyProvider]:
    """Return all types, `odd` among them with these answers."""
    return {**PROVIDERS, "odd": Odd(**answers)}


def raising(*_: object) -> object:
    """Do what no provider should."""
    raise RuntimeError("no such luck")


def rid(text: str) -> ResourceId:
    return ResourceId.parse(text)


def target_of(text: str) -> Target:
    kind, _, key = text.partition(":")
    return Target(kind, key)


def at(line: int) -> SourceLocation:
    return SourceLocation(FILE, line, 3)


def declare(
    text: str,
    line: int = 1,
    *,
    requires: Iterable[str] = (),
    after: Iterable[str] = (),
    while_stopped: Iterable[str] | Mapping[str, int] = (),
    references: Mapping[str, int] | None = None,
    absent: bool = False,
    on_removal: OnRemoval | None = None,
    protect: bool = False,
    allow: Iterable[Hazard] = (),
    unmanaged: Iterable[str] = (),
    audit: bool = False,
    moved: str = "",
    **attributes: Any,
) -> Resource:
    """Declare a resource at a line of the host's file; its `value` is `x` unless it is absent or says otherwise."""
    said = attributes if absent else {"value": "x", **attributes}
    return Resource(
        rid(text),
        said,
        at(line),
        requires=tuple(rid(one) for one in requires),
        after=tuple(rid(one) for one in after),
        absent=absent,
        on_removal=on_removal,
        protect=protect,
        allow=frozenset(allow),
        unmanaged=frozenset(unmanaged),
        audit=audit,
        moved=rid(moved) if moved else None,
        references={rid(one): at(place) for one, place in (references or {}).items()},
        while_stopped=tuple(rid(one) for one in while_stopped),
        stopped_at={rid(one): at(place) for one, place in while_stopped.items()}
        if isinstance(while_stopped, Mapping)
        else {},
    )


def revision(number: int) -> Revision:
    return Revision(f"{number:040x}")


TARGET: Final = revision(99)


def manifest(*resources: Resource) -> EffectiveManifest:
    return EffectiveManifest(TARGET, HOST, "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11", resources, digest(b"m"))


def graph_of(*resources: Resource, providers: Mapping[str, AnyProvider] = PROVIDERS) -> ResourceGraph:
    return build_graph(manifest(*resources), providers)


def declared_by(number: int, *resources: Resource) -> Declaration:
    """Return what an older revision declared."""
    graph = graph_of(*resources)
    return Declaration(revision(number), graph.nodes, graph.order)


def nodes_of(*resources: Resource) -> Mapping[ResourceId, Node]:
    return graph_of(*resources).nodes


def given(
    *resources: Resource,
    seen: Mapping[str, Observation] | None = None,
    orphans: Mapping[str, Observation] | None = None,
    packages: Mapping[str, str] | None = None,
    trail: tuple[Declaration | Unresolved, ...] = (),
    providers: Mapping[str, AnyProvider] = PROVIDERS,
    **others: Any,
) -> PlanInput:
    """Return the input of a plan; what `seen` and `orphans` do not name is absent.

    Args:
        resources: what the target declares.
        seen: observations by id.
        orphans: observations of what only the trail declares, the same in the terms of each declaration.
        packages: the package that owns an orphan.
        trail: newest first.
        providers: every type.
        others: further fields of the input.
    """
    graph = graph_of(*resources, providers=providers)
    answers = {rid(text): found for text, found in (seen or {}).items()}
    assert answers.keys() <= graph.nodes.keys()
    sights = {
        origin: OrphanSight(
            tuple(Sight(one, node, (orphans or {}).get(str(origin), Absent())) for one, node in sayings),
            (packages or {}).get(str(origin)),
        )
        for origin, sayings in find_orphans(graph, trail).items()
    }
    state = ObservedState({origin: answers.get(origin, Absent()) for origin in graph.order})
    parts: dict[str, Any] = {"orphans": sights, "trail": trail, **others}
    return PlanInput(
        revision=parts.pop("revision", TARGET),
        host=parts.pop("host", HOST),
        manifest_digest=parts.pop("manifest_digest", digest(b"m")),
        graph=graph,
        providers=providers,
        observed=state,
        **parts,
    )


def plan_of(*resources: Resource, **others: Any) -> Plan:
    return plan_pass(given(*resources, **others))


def action_of(plan: Plan, text: str) -> Action:
    found = [action for action in plan.actions if action.resource == rid(text)]
    assert len(found) == 1, [str(action.resource) for action in plan.actions]
    return found[0]


def names(actions: Iterable[Action]) -> list[str]:
    return [str(action.resource) for action in actions]


def after_step(observation: Observation, step: Step) -> Observation:
    """Return what a step leaves, done as it says."""
    if step.operation is Operation.DELETE:
        return Absent()
    before: Mapping[str, FieldValue] = observation.fields if isinstance(observation, Present) else {}
    return Present({**before, **{change.name: change.after for change in step.changes}})
