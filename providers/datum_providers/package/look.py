"""Which packages a host has, as they are wanted. Reads the host; changes nothing.

dpkg's files say it all where everything is as declared: no program is run then, and the cache of apt is not opened. Of
what is to be installed, changed or removed apt is asked what would go along with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from attrs import evolve, frozen

from datum.model.observation import Absent, Cause, FieldValue, Observation, Present, Unobservable
from datum.provider.host import Command, HostError, HostReader
from datum_providers.package.apt import ANSWERS, ENVIRONMENT, SCOPE, Simulated, parse_simulation, simulation
from datum_providers.package.database import (
    INSTALLED,
    RESIDUAL,
    Database,
    Installed,
    is_at_work,
    read_database,
)
from datum_providers.package.desired import DesiredPackage
from datum_providers.package.policy import left_for
from datum_providers.package.steps import is_admitted, is_coming, plan_package
from datum_providers.package.withheld import withheld_for

PATIENCE: Final = 1800.0
"""Seconds that an observation waits for what an earlier pass has begun."""

SIMULATION_TIMEOUT: Final = 120.0

_HOLD: Final = "hold"

AnyThere = TypeVar("AnyThere", Present, Absent, Present | Absent)


def observe_packages(reader: HostReader, desired: Mapping[str, DesiredPackage]) -> Mapping[str, Observation]:
    """Answer for every name."""
    if not desired:
        return {}
    try:
        _await_others(reader)
        database = read_database(reader)
        begun = frozenset[str]() if database.is_interrupted and is_at_work(reader) else database.journalled
        left = (left_for(reader) or frozenset()) | withheld_for(reader)
        look = Look(reader, database, left, begun)
    except HostError as error:
        return dict.fromkeys(desired, error.unobservable())
    seen = {name: look.at(wanted) for name, wanted in desired.items()}
    return {**seen, **look.foreseen(desired, seen)}


def _await_others(reader: HostReader) -> None:
    if not reader.await_scope(SCOPE, PATIENCE):
        raise HostError(
            f"apt, which an earlier pass started in {SCOPE}-*.scope, has not ended within {PATIENCE:g} s.",
            cause=Cause.DEADLINE,
            discounted=True,
            hint=f"see `systemctl status '{SCOPE}-*.scope'`",
        )


@frozen
class Look:
    """One observation of many packages."""

    reader: HostReader
    database: Database
    # Packages for which a killed transaction left its policy behind, or units withheld.
    left: frozenset[str]
    # Of which dpkg has begun something, as its journal says, and goes on with nothing.
    begun: frozenset[str] = frozenset()

    def at(self, wanted: DesiredPackage) -> Observation:
        """Look at one package, as far as dpkg's files say it."""
        try:
            found = self.database.find(wanted.package, wanted.architecture)
        except HostError as error:
            return error.unobservable()
        residue: dict[str, FieldValue] = {"residue": True} if wanted.name in self.left else {}
        if found is None or not (found.is_there or wanted.purge):
            state: dict[str, FieldValue] = {"state": found.state} if found is not None else {}
            return Absent({**state, **self._architecture(wanted), **residue})
        fields: dict[str, FieldValue] = {"state": found.state, "version": found.version}
        is_bare = wanted.version is None and wanted.hold is None and wanted.manual is None
        if is_bare or wanted.hold is not None or not is_admitted(wanted, found.version):
            fields["hold"] = found.selection == _HOLD
        if is_bare or wanted.manual is not None:
            fields["manual"] = self.database.is_manual(found)
        return Present(
            {**fields, **residue},
            identity=f"{found.name}:{found.architecture}",
            obstacles=tuple(self._obstacles(wanted, found)),
        )

    def _architecture(self, wanted: DesiredPackage) -> dict[str, FieldValue]:
        if not self.database.exists:
            return {"dpkg_known": False}
        return {} if self.database.knows(wanted.architecture) else {"architecture_known": False}

    def _obstacles(self, wanted: DesiredPackage, found: Installed) -> Iterable[str]:
        if found.is_essential:
            yield f"{wanted.name} is essential: without it the system does not work, and it is never removed."
        if found.selection == _HOLD:
            yield f"{wanted.name} is on hold, so it is not removed; `apt-mark unhold {wanted.name}` lifts that."

    def foreseen(
        self, desired: Mapping[str, DesiredPackage], seen: Mapping[str, Observation]
    ) -> Mapping[str, Observation]:
        """Return what is to be changed, with what apt says would go along."""
        answers: dict[str, Observation] = {}
        coming: list[tuple[DesiredPackage, Present | Absent]] = []
        for name, wanted in desired.items():
            observed = seen[name]
            if isinstance(observed, Unobservable):
                continue
            if wanted.package in self.begun and _is_settled(wanted, observed):
                answers[name] = self._with_database(evolve(observed, fields={**observed.fields, "residue": True}))
            elif isinstance(observed, Present) and (wanted.is_going or wanted.purge):
                answers[name] = self._leaving(
                    wanted, self._with_database(observed) if wanted.purge else _gone(observed)
                )
            elif self.database.exists and is_coming(wanted, observed):
                coming.append((wanted, self._with_database(observed)))
            elif plan_package(wanted, observed) is not None:
                answers[name] = self._with_database(observed)
        for recommends in (False, True):
            group = [each for each in coming if each[0].recommends is recommends]
            answers.update(Simulation(self.reader, recommends).of(group))
        return answers

    def _with_database(self, observed: AnyThere) -> AnyThere:
        """Say that dpkg was interrupted, where it has something to do."""
        if not self.database.is_interrupted:
            return observed
        return evolve(observed, fields={**observed.fields, "database": "interrupted"})

    def _leaving(self, wanted: DesiredPackage, observed: Present) -> Observation:
        """Say what goes along with a package, and what keeps it from going."""
        if observed.fields["state"] == RESIDUAL:
            return observed
        try:
            found = Simulation(self.reader).run("purge" if wanted.purge else "remove", (wanted.name,))
        except HostError as error:
            return error.unobservable()
        own = {wanted.name, wanted.package if wanted.architecture in {"", self.database.native} else wanted.name}
        others = sorted(found.removes - own)
        going = wanted.neighbours.is_going if wanted.neighbours is not None else _nobody
        return evolve(
            observed,
            holds=tuple(f"package:{name}" for name in others if not going(name)),
            obstacles=(*observed.obstacles, *self._kept_by(wanted, found, others)),
        )

    def _kept_by(self, wanted: DesiredPackage, found: Simulated, others: Iterable[str]) -> Iterable[str]:
        if found.installs is None and not found.is_broken:
            yield f"apt does not find a way to remove {wanted.name}: {found.complaint}"
        needed = wanted.neighbours.wanted if wanted.neighbours is not None else frozenset()
        for name in others:
            package = self.database.find_spelt(name)
            if name in needed:
                yield f"Removing {wanted.name} would remove {name}, which is declared as package:{name}."
            elif package is not None and package.is_essential:
                yield f"Removing {wanted.name} would remove {name}, which is essential."


def _gone(observed: Present) -> Present:
    """Return what is to be removed: that it is there. In which state is what dpkg may have finished by its turn."""
    is_there = observed.fields["state"] != RESIDUAL
    return evolve(observed, fields={**observed.fields, "state": INSTALLED}) if is_there else observed


def _is_settled(wanted: DesiredPackage, observed: Present | Absent) -> bool:
    """Whether a package is as it is wanted."""
    if wanted.is_going:
        return isinstance(observed, Absent)
    return plan_package(wanted, observed) is None


def _nobody(_name: str) -> bool:
    return False


@frozen
class Simulation:
    """What apt says before it does anything."""

    reader: HostReader
    recommends: bool = False

    def of(self, group: Sequence[tuple[DesiredPackage, Present | Absent]]) -> Mapping[str, Observation]:
        """Return what was seen of each, with what would go along when it is installed.

        One question for all is enough where nothing goes along.
        """
        together = self._together([wanted for wanted, _ in group])
        answers: dict[str, Observation] = {}
        for wanted, observed in group:
            try:
                found = together if self._settles(together, wanted, observed) else self.run("install", _words([wanted]))
                fields = _said(found, wanted, observed)
            except HostError as error:
                fields = {"removes": error.unobservable(), "provided_by": error.unobservable()}
            answers[wanted.name] = evolve(observed, fields={**observed.fields, **fields})
        return answers

    def _together(self, group: Sequence[DesiredPackage]) -> Simulated:
        """Ask for all of them; names that nobody offers are left out the second time."""
        if len(group) < _SEVERAL:
            return Simulated()
        try:
            found = self.run("install", _words(group))
            known = [wanted for wanted in group if wanted.name not in found.unknown]
            if not found.unknown or not known:
                return found
            return evolve(self.run("install", _words(known)), unknown=found.unknown)
        except HostError:
            # Each is asked for by itself then, and says what is wrong.
            return Simulated()

    @staticmethod
    def _settles(together: Simulated, wanted: DesiredPackage, observed: Present | Absent) -> bool:
        """Whether the answer for all is that for one."""
        if wanted.name in together.unknown or together.is_broken:
            return True
        is_clean = together.installs is not None and not together.removes
        return is_clean and (isinstance(observed, Present) or wanted.name in (together.installs or ()))

    def run(self, verb: str, words: Iterable[str]) -> Simulated:
        """Ask apt.

        Raises:
            HostError: it does not answer.
        """
        argv = simulation(verb, words, recommends=self.recommends)
        command = Command(argv, SIMULATION_TIMEOUT, environment=ENVIRONMENT, success=ANSWERS)
        outcome = self.reader.query(command)
        return parse_simulation(
            outcome.exit_code, outcome.stdout.decode("utf-8", "replace"), outcome.stderr.decode("utf-8", "replace")
        )


_SEVERAL: Final = 2


def _words(group: Iterable[DesiredPackage]) -> tuple[str, ...]:
    exact = ((wanted, wanted.version.exact if wanted.version is not None else "") for wanted in group)
    return tuple(f"{wanted.name}={version}" if version else wanted.name for wanted, version in exact)


def _said(found: Simulated, wanted: DesiredPackage, observed: Present | Absent) -> dict[str, FieldValue]:
    """Return the fields `removes` and `provided_by`; `removes` is None where apt cannot say it yet."""
    provided: tuple[str, ...] = found.provided.get(wanted.name, ())
    if found.installs is None or wanted.name in found.unknown:
        return {"removes": None, "provided_by": provided}
    if isinstance(observed, Absent) and wanted.name not in found.installs:
        # apt takes the only provider without a word.
        provided = tuple(sorted(found.installs))
    return {"removes": tuple(sorted(found.removes)), "provided_by": provided}
