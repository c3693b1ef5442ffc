"""What a declaration of a service means, in normal form. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from attrs import evolve, field, frozen

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.model.plan import Operation
from datum.provider.contract import DesiredError, TargetIndex
from datum_providers.shared.places import is_of_agent
from datum_providers.shared.units import (
    PART,
    UnitName,
    drop_in_folder,
    parse_service_name,
    part_key,
    short_name,
    unit_path,
)

MASKED: Final = "masked"
LONGEST: Final = 300.0
"""Seconds that a service may be given to settle."""

Enabled: TypeAlias = "bool | str | None"
"""True, False, `masked`; None for what is not declared."""

RESTART: Final = "restart"
"""What `when_stale` may say."""

FILES_AT_MOST: Final = 4
"""A resource of more files than this is not looked at for evidence: a tree."""

# Nothing starts, stops or enables these: they come and go with hardware, or with whoever made them.
_NO_SERVICES: Final = frozenset({"device", "scope"})


@frozen
class Input:
    """One file or link that a service lists, and what its change makes it owe."""

    resource: ResourceId
    path: str
    operation: Operation


@frozen
class DesiredService:
    """A unit of the service manager; what is None is not enforced."""

    unit: UnitName
    running: bool | None = None
    enabled: Enabled = None
    # Each sorted; what is in both is a restart.
    restart_on: tuple[ResourceId, ...] = ()
    reload_on: tuple[ResourceId, ...] = ()
    # Seconds; None: as long as units of its kind need.
    settle: float | None = None
    # It is restarted where something else changed what it lists after it was started.
    acts_on_stale: bool = False
    # Its own unit files and drop-ins, and what their change makes it owe. Known once the graph is.
    own: tuple[tuple[ResourceId, Operation], ...] = field(default=(), eq=False)
    # A file of its very own name is declared; an instance without one comes from its template.
    has_declared_file: bool = field(default=False, eq=False)
    # Files and links of what it lists, in the order of ids and paths. Known once the graph is.
    inputs: tuple[Input, ...] = field(default=(), eq=False)

    @property
    def is_bare(self) -> bool:
        """Whether nothing is declared: then it is looked at so that it can be adopted, or is absent."""
        return self.running is None and self.enabled is None and not self.restart_on and not self.reload_on

    @property
    def shall_not_run(self) -> bool:
        """Whether it is declared as something that owes nothing."""
        return self.running is False or self.enabled == MASKED

    @property
    def is_of_agent(self) -> bool:
        """Whether it is the agent itself: it is not restarted by a pass, which is what runs in it."""
        return is_of_agent(unit_path(self.unit.full))

    @property
    def provided_as(self) -> Target:
        """What provides the unit where it is not there: its file, or that of its template."""
        name = self.unit.full if self.has_declared_file or not self.unit.template else self.unit.template
        return Target("unit", name)


def normal_name(name: str) -> str:
    """Return the name without `.service`; other suffixes stay.

    Raises:
        DesiredError: no unit that could run.
    """
    unit = parse_service_name(name)
    if unit.suffix in _NO_SERVICES:
        raise DesiredError(
            "",
            f"a {unit.suffix} unit can be neither started nor enabled: {name} comes and goes by itself.",
            code="bad-unit-name",
        )
    if unit.is_template:
        raise DesiredError(
            "",
            f"{name} is a template: what runs and is enabled is an instance of it.",
            hint=f"name the instance: service:{short_name(unit)}NAME",
            code="bad-unit-name",
        )
    return short_name(unit)


def parse_service(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredService:
    """Read the attributes of one service.

    Raises:
        DesiredError: values that cannot be meant, together or alone.
    """
    running = attributes.get("running")
    if running is not None and not isinstance(running, bool):
        raise DesiredError("running", f"'{running}' is neither true nor false.")
    service = DesiredService(
        parse_service_name(normal_name(name)),
        running,
        _enabled(attributes.get("enabled")),
        _references("restart_on", attributes.get("restart_on"), name),
        _references("reload_on", attributes.get("reload_on"), name),
        _settle(attributes.get("settle")),
        _when_stale(attributes.get("when_stale")),
    )
    if service.running and service.enabled == MASKED:
        raise DesiredError("running", "a masked unit cannot be started, so it cannot be kept running.")
    _spare_agent(service)
    return service


def relate_service(desired: DesiredService, index: TargetIndex) -> DesiredService:
    """Return it with its own files among what the graph declares: unit files and drop-ins, its template's too.

    And with the files and links of all that it lists.
    """
    own = tuple((holder, operation) for holder, _, operation in own_files(desired.unit, index) if operation is not None)
    is_declared = index.holder(Target("path", unit_path(desired.unit.full))) is not None
    related = evolve(desired, own=tuple(dict.fromkeys(own)), has_declared_file=is_declared)
    listed = triggers_of(related).items()
    inputs = (Input(origin, path, how) for origin, how in listed for path in _files_of(index.targets_of(origin)))
    return evolve(related, inputs=tuple(inputs))


def _files_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """Return the paths of a resource that is a few files or links of its own; nothing for any other."""
    paths = [target for target in targets if target.kind == "path"]
    is_files = all(target.leaf and not target.shared for target in paths)
    return tuple(sorted(target.key for target in paths)) if is_files and len(paths) <= FILES_AT_MOST else ()


def own_files(unit: UnitName, index: TargetIndex) -> tuple[tuple[ResourceId, str, Operation | None], ...]:
    """Return who declares files of a unit, whether each is a `unit file` or a `drop-in`, and what its change means.

    A unit resource says what its change means, or that it means nothing (None); any other file means a restart.
    """
    found = []
    for name in unit.sources:
        paths = [(unit_path(name), "unit file")]
        paths += [(path, "drop-in") for path in index.paths_below(drop_in_folder(name)) if path.endswith(".conf")]
        for path, what in paths:
            holder = index.holder(Target("path", path))
            if holder is not None:
                found.append((holder, what, _meaning(holder, path, index)))
    return tuple(found)


def _meaning(holder: ResourceId, path: str, index: TargetIndex) -> Operation | None:
    if holder.type != "unit":
        return Operation.REFRESH_RESTART
    for operation in (Operation.REFRESH_RESTART, Operation.REFRESH_RELOAD):
        if index.holder(Target(PART, part_key(operation, path))) is not None:
            return operation
    return None


def triggers_of(desired: DesiredService) -> Mapping[ResourceId, Operation]:
    """Return after whose change it owes a restart or a reload, sorted; a restart wins."""
    if desired.shall_not_run or desired.is_of_agent:
        return {}
    restarts = {*desired.restart_on, *(one for one, how in desired.own if how is Operation.REFRESH_RESTART)}
    reloads = {*desired.reload_on, *(one for one, how in desired.own if how is Operation.REFRESH_RELOAD)}
    return {
        one: Operation.REFRESH_RESTART if one in restarts else Operation.REFRESH_RELOAD
        for one in sorted(restarts | reloads)
    }


def _enabled(value: AttributeValue) -> Enabled:
    if value is None or isinstance(value, bool) or value == MASKED:
        return value if isinstance(value, (bool, str)) else None
    raise DesiredError("enabled", f"'{value}' is none of true, false and masked.")


def _settle(value: AttributeValue) -> float | None:
    if value is None:
        return None
    # Written so that what is no number at all (NaN) is refused too.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST:
        raise DesiredError("settle", f"'{value}' is no number of seconds from 0 to {LONGEST:g}.")
    return float(value)


def _when_stale(value: AttributeValue) -> bool:
    if value not in {None, RESTART}:
        raise DesiredError("when_stale", f"'{value}' is not {RESTART}.", hint="leave it out to be told only")
    return value == RESTART


def _references(attribute: str, value: AttributeValue, name: str) -> tuple[ResourceId, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise DesiredError(attribute, "a list of resources is expected.", hint=f"{attribute}: [file:/etc/app.conf]")
    found = set()
    for text in value:
        try:
            found.add(ResourceId.parse(str(text)))
        except ValueError as error:
            raise DesiredError(attribute, f"{error}.") from error
    if ResourceId("service", name) in found:
        raise DesiredError(attribute, f"service:{name} cannot be refreshed by its own change.")
    return tuple(sorted(found))


def _spare_agent(service: DesiredService) -> None:
    if not service.is_of_agent:
        return
    for attribute in ("restart_on", "reload_on"):
        if getattr(service, attribute):
            raise DesiredError(
                attribute,
                f"{service.unit.full} is the agent, and a pass does not restart what it runs in.",
                hint=f"take {attribute} out: each pass is a process of its own, which reads everything anew",
            )
    if service.running is not None and service.unit.suffix == "service":
        raise DesiredError(
            "running",
            f"{service.unit.full} is the agent: it runs while a pass runs, and no pass can start or stop it.",
            hint="declare service:datum.timer, which starts it",
        )
