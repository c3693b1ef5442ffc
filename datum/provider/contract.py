"""The contract between the engine and a resource type (design 1.7; ADR 0008). Protocols and values only.

Rules, checked at registration, at run time by the engine, and by `datum.testing.conformance`:

- A provider is constructed once, without arguments, and keeps no state.
- `parse`, `targets`, `edges`, `plan`, `effects`, `hazards`, `removal` and `adopt` are pure: equal arguments give equal
  answers, and no host is reached.
- `observe` answers exactly the names it was asked for, all of its type at once. What cannot be looked at is
  `Unobservable` for that one name; raising makes every resource of the type unobservable.
- `plan` is asked when presence is wanted, never about `Unobservable`. `None` means in sync. `CREATE` only from
  `Absent`; `UPDATE` and `REPLACE` only from `Present`; a step changes something. Absence is planned by the engine.
- `apply` does the one operation of the step, raises `HostError` on failure, and returns nothing. It does not retry,
  verify, restart others, or look at other resources. The engine observes again and plans again.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

from attrs import frozen

from datum.model.access import Access
from datum.model.check import Check
from datum.model.content import Content
from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Operation, Step
from datum.provider.host import HostReader, HostWriter

CONTRACT_VERSION: Final = 1


class FieldClass(enum.StrEnum):
    """How a field takes part."""

    # Observed and compared.
    ENFORCED = "enforced"
    # Used only when the resource is created.
    CREATION_ONLY = "creation_only"
    # Says how to act, or how each part shall be; is no state of its own: `validate`, `rules` of a tree.
    INSTRUCTION = "instruction"


class Removal(enum.StrEnum):
    """What a type says of removing something that a revision stops declaring (design 4.3)."""

    DELETE = "delete"
    KEEP = "keep"
    # Never removed by dropping, whatever `on_removal` says: accounts, hosts, fstab, ssh, pam, boot, the agent.
    NEVER = "never"
    # It is nothing on the host that could be left over: a command, a check. It is not even looked at.
    NOTHING = "nothing"


class Stage(enum.IntEnum):
    """Which of several resources that are free to go next goes first; those of one stage go by id (ADR 0033).

    An order among equals only: an edge is what makes one wait for another.
    """

    ACCOUNTS = 1
    SOURCES = 2
    PACKAGES = 3
    # Files and everything that says nothing of its own.
    CONTENT = 4
    UNITS = 5
    SERVICES = 6


class DesiredError(Exception):
    """An attribute is of the right shape and still cannot be meant; becomes a diagnostic at the field's place."""

    def __init__(self, attribute: str, detail: str, *, hint: str = "", code: str = "bad-value") -> None:
        """Describe it.

        Args:
            attribute: name of the field, or empty for the resource's name.
            detail: full sentence: what is wrong and why.
            hint: the right value or edit.
            code: kebab-case code of the diagnostic.
        """
        super().__init__(detail)
        self.attribute = attribute
        self.detail = detail
        self.hint = hint
        self.code = code


@frozen
class ImplicitEdge:
    """This resource comes after `target`."""

    target: ResourceId
    reason: str
    kind: DependencyKind = DependencyKind.REQUIRES
    # Soft edges give way to declared ones that contradict them.
    soft: bool = False


class TargetIndex(Protocol):
    """Who holds which target in this graph: all that `edges` may know of other resources."""

    def holder(self, target: Target) -> ResourceId | None:
        """Return the resource that declares this very target."""
        ...

    def nearest_parent(self, path: str) -> ResourceId | None:
        """Return the resource that declares the nearest directory above a path."""
        ...

    def paths_below(self, path: str) -> tuple[str, ...]:
        """Return every path below this one that a resource declares or makes, absent ones included, sorted."""
        ...

    def is_absent(self, path: str) -> bool:
        """Whether this very path is declared absent."""
        ...

    def is_exclusive(self, path: str) -> bool:
        """Whether this very path is declared as an exclusive directory."""
        ...

    def keys(self, kind: str) -> tuple[str, ...]:
        """Return the keys of every target of one space that is declared and not absent, sorted."""
        ...

    def targets_of(self, origin: ResourceId) -> tuple[Target, ...]:
        """Return what a resource holds; nothing for one that is not declared."""
        ...


DesiredT = TypeVar("DesiredT")


@runtime_checkable
class Provider(Protocol[DesiredT]):
    """One resource type."""

    # `^[a-z][a-z0-9_]*$`
    type_name: ClassVar[str]
    contract_version: ClassVar[int]
    # Version of this provider; part of what a manifest and a plan are a function of.
    version: ClassVar[str]
    # JSON Schema 2020-12 of the type's own fields. The annotation `x-datum` on a property says what the fleet makes of
    # it before `parse`: `source` and `template` name a file of the repository, `slot` a slot, each becomes `Content`;
    # `folder` names a folder, which becomes `Folder`; `parts` is a list of maps with one of content, source, template
    # each, which becomes a tuple of `Content`; `quoted` demands quotes. `x-no-field` of the schema itself is a map of
    # names that the type does not have, and that somebody will write, to the hint that they get; `x-nothing-there` is
    # the hint for who adopts what does not count as there, with `{name}` for its name.
    schema: ClassVar[JsonObject]
    fields: ClassVar[Mapping[str, FieldClass]]
    # Seconds that one action, and one observation of one resource, may take.
    apply_deadline: ClassVar[float]
    observe_deadline: ClassVar[float]

    def normal_name(self, name: str) -> str:
        """Return the normal form of a name; another spelling is an error that gives this one.

        Raises:
            DesiredError: no spelling of any name of this type.
        """
        ...

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredT:
        """Normalise what is wanted; the schema has been checked, no value is `Late`.

        Raises:
            DesiredError: see there.
        """
        ...

    def targets(self, desired: DesiredT) -> tuple[Target, ...]:
        """Return what this resource holds on the host."""
        ...

    def edges(self, desired: DesiredT, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return the implicit edges, from desired state alone (design 4.5)."""
        ...

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredT]) -> Mapping[str, Observation]:
        """Answer for every name."""
        ...

    def plan(self, desired: DesiredT, observed: Present | Absent) -> Step | None:
        """Return the step from what is observed to what is wanted."""
        ...

    def effects(self, desired: DesiredT, step: Step) -> tuple[Effect, ...]:
        """Return what the step brings into being."""
        ...

    def hazards(self, desired: DesiredT, step: Step) -> frozenset[Hazard]:
        """Return what the step may cost; asked for deletions as well."""
        ...

    def apply(self, writer: HostWriter, desired: DesiredT, step: Step) -> None:
        """Do the step.

        Raises:
            HostError: it failed.
        """
        ...

    def removal(self, desired: DesiredT) -> Removal:
        """Return what happens when this is no longer declared and `on_removal` says nothing."""
        ...

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return attributes that declare what is observed."""
        ...


@runtime_checkable
class TransactionalProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose adjacent actions can be committed together (apt, one account's fields, one edited file).

    The planner groups adjacent actions of one key. The reconciler observes each again, hands each to `stage`, one
    by one, and then calls `commit` once. Each action's result comes from its own verification, never from the
    commit's status.
    """

    def transaction(self, desired: DesiredT, step: Step) -> str:
        """Return the key of the transaction this step may join; empty for none."""
        ...

    def stage(self, writer: HostWriter, desired: DesiredT, step: Step) -> object:
        """Prepare one step without changing what others see; the answer is handed to `commit`.

        Raises:
            HostError: this step cannot be staged; the others go on.
        """
        ...

    def commit(self, writer: HostWriter, staged: Sequence[object]) -> None:
        """Do everything that was staged.

        Raises:
            HostError: the commit as a whole failed; what each action became is observed.
        """
        ...


@runtime_checkable
class RelatedProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose resources mean more or less depending on their neighbours: an exclusive directory, a file in it."""

    def relate(self, desired: DesiredT, index: TargetIndex) -> DesiredT:
        """Return the desired state with what it has to know of its neighbours; pure, called once per graph.

        The targets stay as they are.
        """
        ...


@runtime_checkable
class PredictingProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose observation depends on other resources: a guard of a command.

    Where a resource that it requires has an action in the same plan, and it needs no step as things are, the planner
    asks for the predicted state and plans against that. When its turn comes it is observed again, and may be `already`.
    """

    def predict(self, desired: DesiredT, observed: Observation) -> Present | Absent | None:
        """Return what may be there once what it requires has changed; None: that makes no difference."""
        ...


@runtime_checkable
class CheckingProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose resources judge the candidates of others before the host gets them (design 4.2)."""

    def guards(self, desired: DesiredT) -> tuple[ResourceId, ...]:
        """Return the resources that make sense together only."""
        ...

    def check(self, origin: ResourceId, desired: DesiredT) -> Check:
        """Return the program that judges them."""
        ...


@runtime_checkable
class StagedProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose steps a check can judge: `apply` uses no writer method but those that change paths.

    Given a writer that stages, such an `apply` leaves candidates behind and changes nothing.
    """

    def can_stage(self, desired: DesiredT) -> bool:
        """Whether every step of this resource can be staged."""
        ...


@runtime_checkable
class OrderedProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type that goes before or after those of other types that are free to go."""

    order_stage: ClassVar[Stage]


@runtime_checkable
class RefreshedProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose running resources owe a restart or a reload after others changed (design 4.1).

    What is owed stands in the observed field `owes` (`datum.model.plan.OWES`): None, `reload` or `restart`;
    `NotApplicable` where nothing runs or no manager is there. `plan` leaves that field alone; steps of the operations
    `mark`, `reload` and `restart`, whose one change is of that field, are made by the engine and done by `apply`.
    """

    def triggers(self, desired: DesiredT) -> Mapping[ResourceId, Operation]:
        """Return the resources after whose change it owes a `restart` or a `reload`.

        Nothing for one that shall not run. Ids that the user wrote need not be declared: the graph says so then.
        """
        ...

    def refresh(self, desired: DesiredT, observed: Present | Absent) -> Step | None:
        """Return the reload or restart that is owed as things are; None: nothing is owed, or it does not run.

        Asked of predicted states as well: `owes` as it will be once everything that is planned was done.
        """
        ...


@runtime_checkable
class StaleProvider(RefreshedProvider[DesiredT], Protocol[DesiredT]):
    """A type that observes what changed an input after the start (`Present.stale`), and may be told to act on it."""

    def acts_on_stale(self, desired: DesiredT) -> bool:
        """Whether it is to be restarted for such evidence alone."""
        ...


@runtime_checkable
class SettledProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose changes count once something was told of them: unit files, and the manager's daemon-reload.

    `apply` changes the disk. `settle` is called once for all actions of the type that were applied before it: before
    the first action of a type that does more than change paths, and at the end. Verified is after that.
    """

    def settle(self, writer: HostWriter) -> None:
        """Tell whom it concerns.

        Raises:
            HostError: that failed; what each action became is observed.
        """
        ...


@runtime_checkable
class ValidatedProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose resources may each name a program that judges them: `validate` of a file."""

    def validation(self, origin: ResourceId, desired: DesiredT) -> Check | None:
        """Return the program, told the real path; None where there is none.

        It judges the host as it is before anything that lists the resource is started or refreshed.
        """
        ...


@runtime_checkable
class AbsentNameProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type of which not every name says what would have to go: a label of a key does not, its fingerprint does.

    Beside `absent: true` nothing else can be declared. What is removed has to be named all the same where a person is
    told how.
    """

    def absent_name(self, name: str, desired: DesiredT) -> str | None:
        """Return the name by which the same thing can be declared absent; None: by none. Pure."""
        ...


@runtime_checkable
class AccessProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose declarations say who may read what, or as whom a program reads.

    Asked when a manifest is judged, never while a host is changed: an unreadable file is a warning of `validate`.
    """

    def access(
        self, desired: Mapping[str, DesiredT], text_of: Callable[[Content], str | None]
    ) -> Mapping[str, tuple[Access, ...]]:
        """Return what each resource says; those that say nothing may be left out. Pure.

        Args:
            desired: all resources of the type that are wanted, by name.
            text_of: gives the text of a content, wherever its bytes lie; None for what is no text, or too long.
        """
        ...


# The engine holds providers of every type in one mapping; what one type's `DesiredT` is does not concern it.
AnyProvider: TypeAlias = Provider[Any]
