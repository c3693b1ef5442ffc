"""Reads the cases of `fixtures/cases/<type>` for types that keep paths: a declaration, a host, what follows."""

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from attrs import frozen

from datum.model.content import Content, blob_id
from datum.model.manifest import AttributeValue
from datum.model.observation import Absent, Cause, FieldValue, NotApplicable, Observation, Present, Scope, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.provider.host import FileKind
from datum.testing.host import FakeHost
from datum.testing.world import Check, FakeFile
from tests.providers.index import Index

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "cases"
# What a case may say; a misspelt key would be a check that is never made.
KEYS: Final = frozenset(
    {"about", "name", "attributes", "declared", "host", "observed", "step", "hazards"}
    | {"after", "fails", "done", "attributes_set", "looks", "remarks", "gone", "stays", "absent"}
)


@frozen
class PathCase:
    """One file of a folder."""

    title: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        return {key: _attribute(value) for key, value in self.data["attributes"].items()}

    @property
    def is_deletable(self) -> bool:
        """Whether what stands there goes with a step that takes nothing else."""
        files = self.data.get("host", {}).get("files", {})
        own = files.get(self.name, {})
        is_held = any(path.startswith(f"{self.name}/") for path in files)
        return not is_held and not own.get("mount") and not own.get("immutable")

    @property
    def index(self) -> Index:
        return Index.of(self.data.get("declared", {}))

    @property
    def operation(self) -> Operation | None:
        return Operation(self.data["step"]["operation"]) if self.data.get("step") else None

    def arrange(self, host: FakeHost) -> None:
        about = self.data.get("host", {})
        host.world.users.update(about.get("users", {}))
        host.world.groups.update(about.get("groups", {}))
        host.world.aliases.update(about.get("aliases", {}))
        host.world.residues.update(about.get("residues", []))
        host.world.packages.update(about.get("packages", {}))
        for path, file in about.get("files", {}).items():
            host.add(path, _file(file))
        for folder, fields in about.get("without", {}).items():
            host.world.without[folder] = frozenset(fields)
        for program, check in about.get("checks", {}).items():
            host.add_check(program, _refusing(check["refuses"].encode()))
        for value in self.data["attributes"].values():
            if isinstance(value, dict) and "blob_of" in value:
                data = value["blob_of"].encode()
                host.world.blobs[blob_id(data, value.get("algorithm", "sha1"))] = data
        for fault in about.get("faults", []):
            number = getattr(errno, fault["errno"])
            host.fail(number, method=fault["method"], subject=fault.get("subject", "*"))

    def make_host(self) -> FakeHost:
        about = self.data.get("host", {})
        uid, gid = about.get("caller", (0, 0))
        host = FakeHost(caller=(uid, gid))
        self.arrange(host)
        return host

    @property
    def observation(self) -> Observation:
        about = self.data["observed"]
        if "present" in about:
            return Present(
                _fields(about["present"]), holds=tuple(about.get("holds", ())), mounts=tuple(about.get("mounts", ()))
            )
        if "absent" in about:
            return Absent(_fields(about["absent"]))
        unseen = about["unobservable"]
        # The sentence is judged by its own test.
        return Unobservable(
            Cause(unseen["cause"]), "", scope=Scope(unseen["scope"]), discounted=unseen.get("discounted", False)
        )

    @property
    def step(self) -> Step | None:
        about = self.data.get("step")
        if not about:
            return None
        changes = tuple(Change(name, _value(before), _value(after)) for name, before, after in about["changes"])
        return Step(Operation(about["operation"]), changes, takes=tuple(about.get("takes", ())))


def read_cases(type_name: str) -> tuple[PathCase, ...]:
    return tuple(
        PathCase(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted((FOLDER / type_name).glob("*.yaml"))
    )


def _refusing(refused: bytes) -> Check:
    return lambda _argv, data: "line 1" if data == refused else ""


def _attribute(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_attribute(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "blob_of" in value:
        return Content(blob_id(value["blob_of"].encode(), value.get("algorithm", "sha1")), source="files/x")
    return Content.from_bytes(_bytes(value))


def _bytes(value: Mapping[str, Any]) -> bytes:
    if "of_hex" in value:
        return bytes.fromhex(value["of_hex"])
    if "of_zeros" in value:
        return b"0" * int(value["of_zeros"])
    return str(value["of"]).encode()


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, dict) or not set(value) & {"of", "of_hex", "of_zeros"}:
        return value
    return f"blob:{blob_id(_bytes(value), value.get('algorithm', 'sha1'))}"


def _fields(about: Mapping[str, Any]) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    for name, value in about.items():
        if isinstance(value, dict) and "not_applicable" in value:
            fields[name] = NotApplicable(value["not_applicable"])
        elif isinstance(value, dict) and "unobservable" in value:
            fields[name] = Unobservable(Cause(value["unobservable"]), "")
        else:
            fields[name] = _value(value)
    return fields


def _file(about: Mapping[str, Any]) -> FakeFile:
    data = about.get("text", "").encode()
    if "hex" in about:
        data = bytes.fromhex(about["hex"])
    if "zeros" in about:
        data = b"0" * about["zeros"]
    return FakeFile(
        FileKind(about.get("kind", "symlink" if "link" in about else "regular")),
        about.get("mode", "0644"),
        about.get("uid", 0),
        about.get("gid", 0),
        data,
        about.get("links", 1),
        is_mount_point=about.get("mount", False),
        is_immutable=about.get("immutable", False),
        link=about.get("link", ""),
    )
