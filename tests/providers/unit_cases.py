"""The cases of `fixtures/cases/{service,unit}`: a declaration, a host with units, what follows."""

from typing import Any, ClassVar, Final

from attrs import frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.model.observation import Cause
from datum.provider.host import Command, CommandOutcome, FileKind, HostError
from datum.testing.cases import ConformanceCase
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile, FakeWorld
from tests.providers.host_cases import HostCase, HostChecks, read_cases

_WANTS: Final = "/etc/systemd/system/multi-user.target.wants"


@frozen
class UnitCase(HostCase):
    """One file of a folder."""

    keys: ClassVar[frozenset[str]] = HostCase.keys | {"units", "journal", "fault", "refresh", "gone"}

    @staticmethod
    def attribute(key: str, value: Any) -> AttributeValue:
        if key == "parts":
            return tuple(Content.from_bytes(piece.encode()) for piece in value)
        if key in {"source", "template"}:
            return Content.from_bytes(value.encode(), source="files/x")
        return tuple(value) if isinstance(value, list) else value

    def arrange(self, host: FakeHost) -> None:
        about = self.data
        if about.get("manager") is False:
            host.remove_manager()
            host.add_program("systemctl", play_systemctl)
        if about.get("manager") == "without marks":
            host.world.manager.has_marks = False
        for folder in ("/etc/systemd/system", "/usr/bin", "/usr/lib/systemd/system"):
            host.add_directory(folder)
        for path in about.get("gone", ()):
            host.world.remove(path.rpartition("/")[0])
        super().arrange(host)
        for name, how in about.get("units", {}).items():
            _add_unit(host, name, dict(how))
        for name, lines in about.get("journal", {}).items():
            host.add_journal(name, *lines)
        if "fault" in about:
            error = HostError("The manager does not answer.", cause=Cause(about["fault"]["cause"]))
            host.fail(error, method=about["fault"]["method"])


def conformance_cases(type_name: str) -> tuple[ConformanceCase, ...]:
    """Return those of which the suite can judge everything; it injects faults itself, and declares no neighbours."""
    return tuple(
        case.conformance()
        for case in read_cases(UnitCase, type_name)
        if case.data.get("conformance", True) and "fault" not in case.data and "declared" not in case.data
    )


def play_systemctl(world: FakeWorld, command: Command) -> CommandOutcome:
    """Do what `systemctl --root=/` does to the links of a unit file."""
    _, root, verb, name = command.argv
    assert root == "--root=/"
    own, link = f"/etc/systemd/system/{name}", f"{_WANTS}/{name}"
    if verb == "enable":
        world.add(link, FakeFile(FileKind.SYMLINK, "0777", link=f"/usr/lib/systemd/system/{name}"))
    elif verb == "disable":
        world.remove(link)
    elif verb == "mask":
        world.add(own, FakeFile(FileKind.SYMLINK, "0777", link="/dev/null"))
    elif verb == "unmask":
        world.remove(own)
    return CommandOutcome(0, b"", b"")


def _add_unit(host: FakeHost, name: str, how: dict[str, Any]) -> None:
    if how.get("file_state") == "enabled":
        host.add_link(f"{_WANTS}/{name}", f"/usr/lib/systemd/system/{name}")
    for key in ("names", "marks"):
        if key in how:
            how[key] = frozenset(how[key])
    for key in ("triggered_by", "drop_ins", "wanted_by"):
        if key in how:
            how[key] = tuple(how[key])
    host.add_unit(name, **how)


@frozen
class Checks(HostChecks[UnitCase]):
    """The checks of one type."""

    case_type: ClassVar[type[UnitCase]] = UnitCase
