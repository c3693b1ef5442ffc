"""Carry out steps on packages: those of one transaction by one run of apt. Changes the host.

The order: what a kill left behind goes; dpkg finishes what was interrupted; holds are lifted; the lists are fetched,
where they are too old for what is wanted; the versions are chosen; apt says what it would do, and nothing is done that
no plan has said; apt does it; marks and holds are set. Nothing here is believed: the engine observes every package.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from attrs import define, field, frozen

from datum.model.plan import Operation, Step, sweeps
from datum.model.result import FailureCause
from datum.provider.host import HostError, HostWriter
from datum_providers.package.apt import AGAIN, REPAIR, Offer
from datum_providers.package.database import read_database
from datum_providers.package.desired import DesiredPackage
from datum_providers.package.lists import are_fresh, are_stale
from datum_providers.package.policy import clear, place
from datum_providers.package.steps import is_downgrade, is_held_on, is_unpacked_again, is_unpacking, needs_configuring
from datum_providers.package.tools import Tools

# What one run of apt can do together.
_APT: Final = "apt"
RECOMMENDS: Final = "recommends"
DOWNGRADE: Final = "downgrade"
PURGE: Final = "purge"

_UPDATE: Final = "package.update"
"""Key of `HostReader.once`: the lists are fetched once in a pass, which an archive out of reach makes long enough."""

_PREFIX: Final = "package:"
# `LoadState` of what nothing has brought yet.
_UNKNOWN: Final = "not-found"


@frozen
class Staged:
    """One step of a transaction."""

    desired: DesiredPackage
    step: Step

    @property
    def name(self) -> str:
        """The package, with an architecture where it is declared with one."""
        return self.desired.name

    @property
    def goes(self) -> bool:
        """Whether the package is removed."""
        return self.step.operation.removes and not sweeps(self.step.changes)

    def changes_to(self, field_name: str, value: object) -> bool:
        """Whether a field becomes a value."""
        return any(change.name == field_name and change.after is value for change in self.step.changes)


def transaction_of(desired: DesiredPackage, step: Step) -> str:
    """Return which steps can be done by one run of apt: those that need the same options."""
    if desired.purge:
        return PURGE
    if is_downgrade(desired, step):
        return DOWNGRADE
    return RECOMMENDS if step.operation is Operation.CREATE and desired.recommends else _APT


def apply_packages(writer: HostWriter, staged: Sequence[Staged]) -> None:
    """Do the steps of one transaction.

    Raises:
        HostError: something failed; what each step became is to be observed.
    """
    if clear(writer):
        writer.remark("What an interrupted transaction had left to keep services from being started was removed.")
    work = [each for each in staged if not sweeps(each.step.changes)]
    if work:
        with _starts_denied(writer, work):
            _Transaction(Tools(writer), work).run()
    elif read_database(writer).is_interrupted:
        _finish(Tools(writer))


def _finish(tools: Tools) -> None:
    """Let dpkg finish what it has begun.

    Raises:
        HostError: it cannot.
    """
    tools.configure()
    tools.writer.remark("dpkg had not finished, and has finished what it had begun: `dpkg --configure -a`.")


@contextmanager
def _starts_denied(writer: HostWriter, work: Sequence[Staged]) -> Iterator[None]:
    """Keep services of the fleet from being started by what maintainer scripts run."""
    units, brought = _units(writer, work)
    if not units:
        yield
        return
    try:
        place(writer, units, [each.name for each in work], brought)
        yield
    finally:
        clear(writer)


def _units(writer: HostWriter, work: Sequence[Staged]) -> tuple[list[str], list[str]]:
    """Return the units whose start is for the fleet to decide, and those of them that the manager does not know yet.

    The former are those that it declares, and that do not run. One that runs is stopped and started by an upgrade, and
    must not be left stopped. What is there already may be started meanwhile by its timer or by others, which a script
    of a package is none of. Without a service manager none runs, and none is to.
    """
    if not any(is_unpacking(each.step) or needs_configuring(each.step) for each in work):
        return [], []
    neighbours = next((each.desired.neighbours for each in work if each.desired.neighbours is not None), None)
    units = neighbours.services if neighbours is not None else ()
    manager = writer.manager() if units else None
    if manager is None:
        return list(units), []
    facts = manager.units(units)
    down = [unit for unit in units if unit not in facts or facts[unit].active in {"inactive", "failed"}]
    return down, [unit for unit in down if unit in facts and facts[unit].load == _UNKNOWN]


@define
class _Transaction:
    tools: Tools
    work: Sequence[Staged]
    # What keeps single packages from being installed, by name.
    problems: dict[str, str] = field(factory=dict)
    # What failed and kept nothing else from being tried.
    failures: list[HostError] = field(factory=list)
    # What apt has said that it will bring along, and is not there yet.
    along: list[str] = field(factory=list)
    # The lists were fetched by this transaction; what went wrong with that.
    is_updated: bool = False
    complaint: str = ""
    # Whether it is the one of this pass that may fetch them; None: it did not need to know.
    may_fetch: bool | None = None

    @property
    def writer(self) -> HostWriter:
        return self.tools.writer

    def run(self) -> None:
        """Do the whole of it.

        Raises:
            HostError: the first thing that failed.
        """
        self._configure()
        lifted = self._named(lambda each: is_held_on(each.desired, each.step))
        self.tools.mark("unhold", [*lifted, *self._named(lambda each: each.changes_to("hold", value=False))])
        automatic = self._automatic()
        try:
            self._transact()
        finally:
            self.tools.mark("hold", lifted)
            self.tools.mark("auto", [name for name in automatic if name not in self.problems])
        if lifted:
            self.writer.remark(f"The hold was lifted for the change, and set again: {', '.join(lifted)}.")
        self._mark()
        if self.problems:
            raise self._not_offered()
        if self.failures:
            raise self.failures[0]

    def _named(self, is_one: Callable[[Staged], bool]) -> list[str]:
        return [each.name for each in self.work if is_one(each)]

    def _automatic(self) -> list[str]:
        """Return what is marked as automatic and shall stay so: apt marks what it is asked for by name as manual."""
        there = [each for each in self.work if is_unpacking(each.step) and each.step.operation is Operation.UPDATE]
        if not there:
            return []
        database = read_database(self.writer)
        found = ((each, database.find_spelt(each.name)) for each in there if each.desired.manual is not True)
        return [each.name for each, package in found if package is not None and not database.is_manual(package)]

    def _configure(self) -> None:
        """Let dpkg finish; what it cannot finish may be what a newer version, or a removal, is to repair."""
        is_begun = read_database(self.writer).is_interrupted
        if not is_begun and not any(needs_configuring(each.step) for each in self.work):
            return
        try:
            _finish(self.tools)
        except HostError as error:
            if error.failure is not FailureCause.OTHER:
                raise
            if not self._repair():
                self.failures.append(error)

    def _repair(self) -> bool:
        """Make whole what else keeps packages from being configured: return whether there was something.

        A transaction that failed in the middle leaves dependencies half unpacked, or not there. Nobody declares them,
        neither dpkg nor apt goes on with them by itself, and apt may refuse everything else.

        Raises:
            HostError: it failed.
        """
        is_unpacked = self._unpack_again()
        found = self.tools.simulate("install", (), flags=[REPAIR])
        if not found.installs or found.removes - self._told():
            return is_unpacked
        self.tools.repair()
        self.writer.remark("Packages that were there lacked others, which apt has brought: `apt-get -f install`.")
        return True

    def _unpack_again(self) -> bool:
        """Have apt unpack again what is half installed and no step of this transaction is for."""
        database = read_database(self.writer)
        found = [each for each in database.half_installed() if not self._is_named(database.spelt(each))]
        words = [f"{database.spelt(each)}={each.version}" for each in found]
        foreseen = self.tools.simulate("install", words, flags=[AGAIN]) if words else None
        if foreseen is None or foreseen.installs is None or foreseen.removes - self._told():
            return False
        automatic = [database.spelt(each) for each in found if not database.is_manual(each)]
        self.tools.transact("install", words, recommends=False, flags=[AGAIN])
        self.tools.mark("auto", automatic)
        self.writer.remark(f"What was half installed was unpacked again: {', '.join(map(database.spelt, found))}.")
        return True

    def _is_named(self, name: str) -> bool:
        return any(each.name == name for each in self.work)

    def _transact(self) -> None:
        goes = self._named(lambda each: each.goes)
        verb = "purge" if self._is(PURGE) else "install"
        gone = goes if verb == "purge" else [f"{name}-" for name in goes]
        words = [*self._chosen(), *gone]
        if not words:
            return
        self._check(verb, words)
        try:
            self._do(verb, words)
        except HostError as error:
            # The lists name what the archive does not have any more: once again, with new ones.
            if error.failure is not FailureCause.NETWORK or not self._may_update():
                raise
            self._update()
            words = [*self._chosen(), *gone]
            self._check(verb, words)
            self._do(verb, words)

    def _do(self, verb: str, words: Sequence[str]) -> None:
        flags = ["--allow-downgrades"] if self._is(DOWNGRADE) else []
        if any(is_unpacked_again(each.step) for each in self.work):
            flags.append(AGAIN)
        try:
            self.tools.transact(verb, words, recommends=self._is(RECOMMENDS), flags=flags)
        finally:
            self._keep_automatic()

    def _keep_automatic(self) -> None:
        """Mark what came along as apt does, which goes on without its marks where it cannot write them."""
        database = read_database(self.writer)
        found = ((name, database.find_spelt(name)) for name in self.along)
        self.tools.mark("auto", [name for name, each in found if each is not None and database.is_manual(each)])

    def _is(self, key: str) -> bool:
        return any(transaction_of(each.desired, each.step) == key for each in self.work)

    def _chosen(self) -> list[str]:
        """Return what is to be installed, each with the version that was chosen from what is offered."""
        coming = [each for each in self.work if is_unpacking(each.step)]
        if not coming:
            return []
        if are_stale(self.writer) and self._may_update():
            self._update()
        chosen, offers = self._choose(coming)
        # Whether an earlier transaction fetched them is asked first: its lists are fresh, and need not be whole.
        if len(chosen) < len(coming) and self._may_update() and not are_fresh(self.writer):
            self._update()
            chosen, offers = self._choose(coming)
        for each in coming:
            if each.name not in chosen:
                self.problems[each.name] = _why_not(each.desired, offers.get(each.name))
        return [f"{name}={version}" for name, version in chosen.items()]

    def _choose(self, coming: Sequence[Staged]) -> tuple[dict[str, str], dict[str, Offer]]:
        offers = self.tools.offers(each.name for each in coming)
        found = {each.name: offers.get(each.name, Offer()).choose(each.desired.version) for each in coming}
        return {name: version for name, version in found.items() if version}, offers

    def _may_update(self) -> bool:
        """Return whether the lists may be fetched now: at most one transaction of a pass tries it, and once."""
        if self.may_fetch is None:
            self.may_fetch = self.writer.once(_UPDATE)
        return self.may_fetch and not self.is_updated

    @property
    def _doubt(self) -> str:
        """Why what is missing may stand in lists that are not there; empty where they are whole.

        What became of an earlier transaction's attempt is not known. Where it went well, the pass after this one
        fetches them for what is missing, and knows.
        """
        if self.complaint:
            return f"Not all lists could be fetched: {self.complaint}"
        if self.may_fetch is False:
            return "An earlier transaction of this pass was to fetch the lists, and no pass tries that twice."
        return ""

    def _update(self) -> None:
        self.is_updated = True
        self.complaint = self.tools.update()
        if self.complaint:
            self.writer.remark(f"Not all lists of packages could be fetched: {self.complaint}")

    def _check(self, verb: str, words: Sequence[str]) -> None:
        """Refuse what no plan has said: that something else is removed."""
        found = self.tools.simulate(verb, words, recommends=self._is(RECOMMENDS))
        if found.is_broken and self._repair():
            found = self.tools.simulate(verb, words, recommends=self._is(RECOMMENDS))
        if found.installs is None:
            raise HostError(
                f"apt finds no way to {verb} {' '.join(words)}: {found.complaint}",
                code="package-impossible",
                summary="Packages cannot be had together.",
                # What is missing may stand in the lists that could not be fetched.
                failure=FailureCause.NETWORK if self._doubt else FailureCause.IMPOSSIBLE,
                hint="declare versions that fit together, or what stands in the way absent",
            )
        database = read_database(self.writer)
        new = (name for name in sorted(found.installs) if not self._is_named(name))
        self.along = [name for name in new if database.find_spelt(name) is None]
        untold = sorted(found.removes - self._told())
        if untold:
            raise HostError(
                f"To {verb} {' '.join(words)}, apt would remove {', '.join(untold)} as well, which no plan says.",
                code="package-takes-more",
                summary="More packages would be removed than a plan says.",
                failure=FailureCause.IMPOSSIBLE,
                hint=f"declare `package:{untold[0]}` with `absent: true` where it shall go, and name it in `after`",
            )

    def _told(self) -> set[str]:
        """Return what goes by the plan, as apt may spell it."""
        told = {name.removeprefix(_PREFIX) for each in self.work for name in each.step.takes}
        told |= set(self._named(lambda each: each.goes))
        if any(":" in name for name in told):
            native = read_database(self.writer).native
            told |= {name.removesuffix(f":{native}") for name in told}
        return told

    def _mark(self) -> None:
        for verb, name, value in (("hold", "hold", True), ("auto", "manual", False), ("manual", "manual", True)):
            marked = [each.name for each in self.work if each.changes_to(name, value=value)]
            self.tools.mark(verb, [each for each in marked if each not in self.problems])

    def _not_offered(self) -> HostError:
        told = [self.problems[name] for name in sorted(self.problems)]
        return HostError(
            " ".join([*told, self._doubt]).rstrip(),
            code="package-not-offered",
            summary="No archive offers what is wanted.",
            failure=FailureCause.NETWORK if self._doubt else FailureCause.OTHER,
            hint="declare a version that is offered, or the archive that offers it as package_source",
        )


def _why_not(desired: DesiredPackage, offer: Offer | None) -> str:
    if offer is None:
        return f"No archive of this host has a package {desired.name}."
    if not offer.versions:
        return f"No archive of this host offers {desired.name}: it is only named by others, or a virtual package."
    offered = ", ".join(offer.versions)
    if desired.version is None:
        return f"Every version of {desired.name} is pinned away: {offered}."
    return f"{desired.name} {desired.version} is not offered; offered are {offered}."
