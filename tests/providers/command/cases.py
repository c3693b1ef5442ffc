"""Reads the cases of `fixtures/cases/command`: a declaration, a host, what its guards say, what is run."""

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from attrs import frozen

from datum.model.plan import Operation
from datum.provider.host import CommandOutcome, FileKind
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile, FakeWorld

FOLDER: Final = Path(__file__).parents[3] / "fixtures" / "cases" / "command"
# What a case may say; a misspelt key would be a check that is never made.
KEYS: Final = frozenset(
    {"about", "attributes", "host", "observed", "by", "step", "effects", "predicted", "run", "fails", "remarks"}
    | {"conformance"}
)


@frozen
class CommandCase:
    """One file of the folder."""

    title: str
    data: Mapping[str, Any]

    @property
    def attributes(self) -> dict[str, Any]:
        return dict(self.data["attributes"])

    @property
    def operation(self) -> Operation | None:
        return Operation.CREATE if "step" in self.data else None

    def arrange(self, host: FakeHost) -> None:
        about = self.data.get("host", {})
        host.world.users.update(about.get("users", {}))
        for path, file in about.get("files", {}).items():
            host.add(path, _file(file))
        for program, exit_code in about.get("queries", {}).items():
            host.add_query(tuple(program.split()), exit_code=exit_code)
        host.add_program(tuple(self.attributes["run"]), self._run)
        for fault in about.get("faults", []):
            host.fail(getattr(errno, fault["errno"]), method=fault["method"], subject=fault.get("subject", "*"))

    def _run(self, world: FakeWorld) -> CommandOutcome:
        about = self.data.get("run", {})
        for path, modified in about.get("makes", {}).items():
            world.files[path] = FakeFile(modified=modified)
        for program, exit_code in about.get("answers", {}).items():
            outcome = CommandOutcome(exit_code, b"", b"")
            world.queries[tuple(program.split())] = lambda _world, outcome=outcome: outcome  # type: ignore[misc]  # a default
        return CommandOutcome(about.get("exit", 0), about.get("stdout", "").encode(), about.get("stderr", "").encode())

    def make_host(self) -> FakeHost:
        host = FakeHost()
        self.arrange(host)
        return host


def read_cases() -> tuple[CommandCase, ...]:
    return tuple(
        CommandCase(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted(FOLDER.glob("*.yaml"))
    )


def _file(about: Any) -> FakeFile:
    if isinstance(about, int):
        return FakeFile(modified=about)
    kind = FileKind(about.get("kind", "symlink" if "link" in about else "regular"))
    return FakeFile(
        kind,
        "0755" if kind is FileKind.DIRECTORY else "0644",
        link=about.get("link", ""),
        modified=about.get("time", 0),
    )
