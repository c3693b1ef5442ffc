"""What was seen on the host. Unknown is never absent. Pure."""

import enum
from collections.abc import Mapping
from typing import TypeAlias

from attrs import field, frozen

from datum.diagnostics import Diagnostic
from datum.model.identity import ResourceId
from datum.model.json import EMPTY, JsonObject, JsonValue


class Scope(enum.StrEnum):
    """How far an `Unobservable` reaches (design 1.2)."""

    RESOURCE = "resource"
    HOST = "host"


class Cause(enum.StrEnum):
    """Why something could not be looked at."""

    DENIED = "denied"
    LOOP = "loop"
    UNSAFE_PATH = "unsafe_path"
    PARSE = "parse"
    DEADLINE = "deadline"
    LATE_VALUE = "late_value"
    # Two ids turned out to be one thing on this host.
    ALIAS = "alias"
    # The provider raised or broke its contract.
    BREACH = "breach"
    # A failure that says the host is sick.
    IO = "io"
    READ_ONLY = "read_only"
    NO_MEMORY = "no_memory"
    TOO_MANY_FILES = "too_many_files"
    DATABASE = "database"
    IDENTITY = "identity"
    MASS = "mass"
    OTHER = "other"

    @property
    def is_sickness(self) -> bool:
        """Whether this cause alone says that the host is sick, on a local file system."""
        return self in {
            Cause.IO,
            Cause.READ_ONLY,
            Cause.NO_MEMORY,
            Cause.TOO_MANY_FILES,
            Cause.DATABASE,
            Cause.IDENTITY,
            Cause.MASS,
        }


@frozen
class Unobservable:
    """It could not be looked at; nothing is concluded from that."""

    cause: Cause
    # Full sentence with the path or program and the system's own words.
    detail: str
    scope: Scope = Scope.RESOURCE
    # Not counted towards "more than half of a type" (design 1.2): below a directory that others can write, a
    # network or FUSE mount, or a breach of a provider.
    discounted: bool = False


@frozen
class NotApplicable:
    """The facility does not exist here; not compared, blocks nothing."""

    # One of the causes that the type's page lists.
    cause: str


FieldValue: TypeAlias = "JsonValue | Unobservable | NotApplicable"


@frozen
class UnsafeFolder:
    """A directory on the way to a resource because of which nothing can be written there (design 4.7)."""

    path: str
    # Full sentence, and what to do.
    detail: str


@frozen
class StaleInput:
    """What something that runs lists, changed after that was started: evidence, and no drift (design 4.1, rule 7)."""

    resource: ResourceId
    # Of one file or link of the resource.
    path: str
    # When it changed, and since when what runs has what it read: microseconds since the epoch.
    changed: int
    since: int
    # It changed later than it is now, as the clock of the host has it: no restart settles that.
    is_ahead: bool = False


@frozen
class Present:
    """It is there."""

    # In the normal form of the type; compared with what is wanted.
    fields: Mapping[str, FieldValue]
    # What people want to see: the old text of a difference, bounded; as `kept` what it leaves alone below itself and
    # why, `{"./path": "words"}`, bounded, with the number of others as `kept_more`. Never compared, not in `plan_id`.
    detail: JsonObject = field(default=EMPTY, eq=False, repr=False)
    # What this is on the host, where one thing can have two names and is certain to be one thing: device and inode
    # of a file with one link, the real name of a unit. Two ids of one identity are both unobservable.
    identity: str = field(default="", eq=False)
    # Paths below it that it does not declare and that would go with it were it removed or replaced, sorted; looked at
    # only where that may happen. Decides hazards and limits, is no state to compare.
    holds: tuple[str, ...] = field(default=(), eq=False)
    # Paths, its own or below it, on which something is mounted: with any of them it is not removed.
    mounts: tuple[str, ...] = field(default=(), eq=False)
    # Why it cannot be removed or replaced, full sentences: an essential package, a group that is primary.
    obstacles: tuple[str, ...] = field(default=(), eq=False)
    # What keeps it from being written. Matters only where there is something to do, and is no state to compare.
    unsafe: tuple[UnsafeFolder, ...] = field(default=(), eq=False)
    # Of something that runs: what it lists and has changed since it was started, in the order of ids and paths. Nothing
    # that is owed already is named.
    stale: tuple[StaleInput, ...] = field(default=(), eq=False)


@frozen
class Absent:
    """It is known not to be there."""

    # What stands in the way of making it, in the type's own words: `{"missing_parent": "/etc/app"}`.
    fields: Mapping[str, FieldValue] = field(factory=dict)
    # As `Present.unsafe`.
    unsafe: tuple[UnsafeFolder, ...] = field(default=(), eq=False)


Observation: TypeAlias = "Present | Absent | Unobservable"


@frozen
class Machine:
    """What `${machine.…}` reads: one more resource, observed once per pass."""

    # `memory_mib`, `cpus`, `arch`, `addresses` (by interface), `default_interface`, `root_disk`, and what
    # `expect:` compares: `os`, `machine_id`. A name that could not be read is missing.
    values: JsonObject = field(default=EMPTY)


@frozen
class ObservedState:
    """An answer for every resource of the graph."""

    observations: Mapping[ResourceId, Observation]
    machine: Machine = field(factory=Machine)
    # Set when the pass ends here: an `Unobservable` of scope host and what it concerns.
    sickness: tuple[tuple[str, Unobservable], ...] = ()
    # `expect.warn` mismatches and causes that `on_failure: continue` overruled.
    warnings: tuple[Diagnostic, ...] = ()
    # Types whose provider raised or broke its contract, with the words.
    breaches: Mapping[str, str] = field(factory=dict)
