"""What a revision declares for one host. Pure."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from attrs import field, frozen

from datum.diagnostics import SourceLocation
from datum.model.content import Content, Folder
from datum.model.identity import HostName, ResourceId
from datum.model.json import EMPTY, JsonObject, JsonValue
from datum.model.provenance import FieldOrigin
from datum.model.revision import Revision


class Hazard(enum.StrEnum):
    """What an action may cost; computed by providers, allowed by `allow:` on the exact id (design 4.4)."""

    DATA_LOSS = "data_loss"
    ACCESS_LOSS = "access_loss"
    OUTAGE = "outage"


class OnRemoval(enum.StrEnum):
    """What happens on the host when a revision stops declaring a resource (design 4.3)."""

    KEEP = "keep"
    DELETE = "delete"


class Enforcement(enum.StrEnum):
    """How far a pass goes on this host; ordered from loose to tight by `tightness`."""

    ENFORCE = "enforce"
    HOLD = "hold"
    OBSERVE = "observe"

    @property
    def tightness(self) -> int:
        """0 for enforce, 1 for hold, 2 for observe."""
        return list(Enforcement).index(self)


class OnObservationFailure(enum.StrEnum):
    """`observe.on_failure` (design 1.2)."""

    AUTO = "auto"
    END = "end"
    CONTINUE = "continue"


@frozen
class Late:
    """A value that names the machine, and is computed once the machine was observed (design 2.9)."""

    # The string as written, with its `${ … }`.
    text: str
    # The values of the other roots it uses, by dotted name; frozen.
    scope: JsonObject = field(default=EMPTY)
    # Set when `text` is a template of the repository and not a value: its path.
    template: str = ""
    # A string whose bytes become a `Content`, as those of a template do: a piece of `parts`, a slot.
    is_content: bool = False


AttributeValue: TypeAlias = "JsonValue | Content | Folder | Late | tuple[Content | Late, ...]"


@frozen
class Resource:
    """One resource as declared: merged, checked against the schema of its type."""

    id: ResourceId
    # Fields of the type. What names files of the repository, or a slot, is `Content`, a `Folder`, or for `parts` a
    # tuple of contents; a field may be `Late` until the machine is known.
    attributes: Mapping[str, AttributeValue]
    # Where the strongest declaration stands.
    location: SourceLocation
    requires: tuple[ResourceId, ...] = ()
    after: tuple[ResourceId, ...] = ()
    absent: bool = False
    # None: the type and the place decide.
    on_removal: OnRemoval | None = None
    protect: bool = False
    allow: frozenset[Hazard] = frozenset()
    # Fields that are not looked at.
    unmanaged: frozenset[str] = frozenset()
    # Report drift, never act.
    audit: bool = False
    # The id this resource had before.
    moved: ResourceId | None = None
    note: str = ""
    # Every field that was said, common ones included.
    origins: Mapping[str, FieldOrigin] = field(factory=dict, eq=False, repr=False)
    # Where each reference of `requires` and `after` stands.
    references: Mapping[ResourceId, SourceLocation] = field(factory=dict, eq=False, repr=False)
    # References that dropped because no contribution of theirs is on (`when`), for `datum graph`.
    dropped: tuple[ResourceId, ...] = field(default=(), eq=False)
    # Services that are stopped while it changes.
    while_stopped: tuple[ResourceId, ...] = ()
    # Where each of these stands.
    stopped_at: Mapping[ResourceId, SourceLocation] = field(factory=dict, eq=False, repr=False)


class LimitClass(enum.StrEnum):
    """What `limits:` counts (design 4.4). Over a limit every action of the class is held."""

    # Resources and orphans deleted, and paths that go with them or that `exclusive` clears away.
    REMOVALS = "removals"
    # Resources that give way to something of another kind.
    REPLACES = "replaces"
    # Units that are restarted or reloaded; the only class that holds repair of drift.
    RESTARTS = "restarts"
    # Packages removed, declared or along with others.
    PACKAGE_REMOVALS = "package_removals"
    # Percentage of what was declared before that is changed otherwise than as drift; below ten it never holds.
    CHANGED = "changed"


@frozen
class Limits:
    """How much one pass may do before a class is held (design 4.4). None is no limit."""

    # Count.
    removals: int | None = 10
    # Count.
    replaces: int | None = 10
    # Percent.
    changed: int | None = 50
    # `limits: {allow: {removals: N, from: SHA}}`: raised limits, valid while the named revision is the oldest of the
    # trail that declares what they concern.
    allowed: Mapping[LimitClass, int] = field(factory=dict)
    allowed_from: Revision | None = None
    # Count.
    restarts: int | None = None
    # Count.
    package_removals: int | None = 10


@frozen
class Expectation:
    """`expect:` what the machine must be (design 2.9)."""

    # `os`, `arch`, `machine_id` by name; checked while observing.
    values: Mapping[str, str] = field(factory=dict)
    # Names whose mismatch is reported only.
    warn: frozenset[str] = frozenset()
    location: SourceLocation | None = field(default=None, eq=False)


@frozen
class EffectiveManifest:
    """All that one revision declares for one host: equal for equal (revision, host, versions), byte for byte."""

    revision: Revision
    host: HostName
    # UUID of the fleet, lower case.
    fleet: str
    # Sorted by id.
    resources: tuple[Resource, ...]
    # `sha256:<hex>` over everything above and below but locations and origins.
    digest: str
    # Layer name to the members this host has there, weakest layer first.
    layers: Mapping[str, tuple[str, ...]] = field(factory=dict)
    variables: JsonObject = field(default=EMPTY)
    expect: Expectation = field(factory=Expectation)
    limits: Limits = field(factory=Limits)
    enforcement: Enforcement = Enforcement.ENFORCE
    on_observation_failure: OnObservationFailure = OnObservationFailure.AUTO
    # Where `enforcement` is said; None where nothing says it.
    enforcement_at: SourceLocation | None = field(default=None, eq=False)

    @property
    def by_id(self) -> Mapping[ResourceId, Resource]:
        """The resources by id."""
        return MappingProxyType({resource.id: resource for resource in self.resources})
