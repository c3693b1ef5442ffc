"""The cases of `fixtures/cases/{cron,package_source,timer}`: files that a resource says whole."""

from typing import Any, ClassVar

from attrs import frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.provider.host import CommandOutcome, HostError
from datum.testing.cases import ConformanceCase
from datum.testing.host import FakeHost
from tests.providers.host_cases import HostCase, HostChecks, bytes_of, read_cases


@frozen
class WholeCase(HostCase):
    """One file of a folder."""

    keys: ClassVar[frozenset[str]] = HostCase.keys | {"users", "directories", "residues", "denied", "gone", "stays"}

    @staticmethod
    def attribute(key: str, value: Any) -> AttributeValue:
        if key == "template":
            return Content.from_bytes(value.encode(), source="templates/x")
        if key == "keys":
            return tuple(Content.from_bytes(bytes_of(piece)) for piece in value)
        if isinstance(value, dict) and "file" in value:
            return bytes_of(value).decode()
        return tuple(value) if isinstance(value, list) else value

    def arrange(self, host: FakeHost) -> None:
        about = self.data
        if not about.get("manager"):
            host.remove_manager()
        for folder in about.get("directories", ()):
            host.add_directory(folder)
        super().arrange(host)
        for name, uid in about.get("users", {}).items():
            host.add_user(name, uid)
        if "systemd-analyze" in about.get("checks", {}):
            # Of what lies there, whoever wrote it, it finds nothing wrong.
            host.add_query("sh", lambda _world, _command: CommandOutcome(0, b"", b""))
        host.world.residues.update(about.get("residues", ()))
        for method in about.get("denied", ()):
            host.fail(HostError("It is denied."), method=method)


def conformance_cases(type_name: str) -> tuple[ConformanceCase, ...]:
    """Return those of which the suite can judge everything; it injects faults itself."""
    return tuple(
        case.conformance()
        for case in read_cases(WholeCase, type_name)
        if "denied" not in case.data and "caller" not in case.data and "fails" not in case.data
    )


@frozen
class Checks(HostChecks[WholeCase]):
    """The checks of one type."""

    case_type: ClassVar[type[WholeCase]] = WholeCase

    def check_after(self, case: WholeCase, host: FakeHost) -> None:
        """What is written is a file of 0644, its writer's."""
        super().check_after(case, host)
        for path in case.data.get("after", {}):
            assert (host.files[path].mode, host.files[path].uid) == ("0644", case.data.get("caller", [0])[0])
        assert not [path for path in case.data.get("gone", ()) if path in host.files]
        assert not [path for path in case.data.get("stays", ()) if path not in host.files]
