"""Reads the cases of `fixtures/cases/package`: a declaration, a host and its archive, what is seen, planned, done."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from attrs import evolve, frozen

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.plan import Operation
from datum.testing.host import FakeHost
from datum_providers.package.desired import PURGED, DesiredPackage
from datum_providers.package.provider import PackageProvider
from tests.providers.index import Index
from tests.providers.package.fake_apt import FakeApt, Stanza

FOLDER: Final = Path(__file__).parents[3] / "fixtures" / "cases" / "package"
KEYS: Final = frozenset(
    {"about", "name", "attributes", "declared", "host", "archive", "observed", "step", "hazards", "key"}
    | {"fails", "cause", "runs", "remarks", "after", "absent", "queries"}
)
PROVIDER: Final = PackageProvider()


@frozen
class PackageCase:
    """One file of the folder."""

    title: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data.get("name", "app"))

    @property
    def attributes(self) -> dict[str, Any]:
        return dict(self.data.get("attributes", {}))

    @property
    def operation(self) -> Operation | None:
        return Operation(self.data["step"]["operation"]) if "step" in self.data else None

    @property
    def is_gone(self) -> bool:
        """Whether the package is declared absent."""
        return "absent" in self.data

    def make_host(self) -> tuple[FakeHost, FakeApt]:
        host = FakeHost()
        return host, self.arrange(host)

    def arrange(self, host: FakeHost) -> FakeApt:
        about = self.data.get("host", {})
        apt = FakeApt(**_archive(self.data.get("archive", {})))
        stanzas = [_stanza(name, each) for name, each in about.get("packages", {}).items()]
        interrupted = [_stanza(name, each) for name, each in about.get("interrupted", {}).items()]
        apt.install_in(host, *stanzas, interrupted=interrupted)
        for path, text in about.get("files", {}).items():
            host.add_file(path, str(text).encode())
        for path, modified in about.get("times", {}).items():
            host.files[path].modified = modified
        for name, active in about.get("units", {}).items():
            host.add_unit(name, active=active)
        return apt

    def desired(self) -> DesiredPackage:
        wanted = PROVIDER.parse(self.name, {} if self.is_gone else self.attributes)
        declared = dict(self.data.get("declared", {}))
        holders: dict[Target, ResourceId] = {}
        for text, state in {**declared, f"package:{self.name}": "absent" if self.is_gone else "present"}.items():
            origin = ResourceId.parse(text)
            space = "unit_state" if origin.type == "service" else origin.type
            holders[Target(space, origin.name)] = origin
            if state == "purged":
                holders[Target(PURGED, origin.name)] = origin
        going = frozenset(
            Target("package", text.partition(":")[2]) for text, state in declared.items() if state == "absent"
        )
        own = {Target("package", self.name)} if self.is_gone else set()
        return PROVIDER.relate(wanted, _Index(Index(holders), going | own))


@frozen
class _Index:
    """An index in which some packages are declared absent."""

    inner: Index
    gone: frozenset[Target]

    def keys(self, kind: str) -> tuple[str, ...]:
        return tuple(key for key in self.inner.keys(kind) if Target(kind, key) not in self.gone)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _archive(about: Mapping[str, Any]) -> dict[str, Any]:
    lists = {key: {name: list(each) for name, each in about.get(key, {}).items()} for key in ("offers", "fresh")}
    tuples = {
        key: {name: tuple(each) for name, each in about.get(key, {}).items()}
        for key in ("depends", "conflicts", "virtual")
    }
    rest = {
        key: about[key]
        for key in ("locked", "gone", "timeout", "is_fresh", "is_markless", "chatter", "unreachable")
        if key in about
    }
    return {**lists, **tuples, **rest, "broken": set(about.get("broken", ())), "lacking": set(about.get("lacking", ()))}


def _stanza(name: str, about: Mapping[str, Any] | str) -> Stanza:
    fields: dict[str, Any] = {"version": about} if isinstance(about, str) else dict(about)
    plain, _, architecture = name.partition(":")
    if "depends" in fields:
        fields["depends"] = tuple(fields["depends"])
    stanza = evolve(Stanza(plain), **fields)
    return evolve(stanza, architecture=architecture) if architecture else stanza


def read_cases() -> tuple[PackageCase, ...]:
    return tuple(
        PackageCase(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted(FOLDER.glob("*.yaml"))
    )
