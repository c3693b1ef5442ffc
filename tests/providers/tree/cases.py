r"""Reads the cases of `fixtures/cases/tree`: a declaration, a host, what is seen, planned, done.

In a line `blob(text)` stands for `blob:` and the object id of the text, `\n` in it for the end of a line.
"""

import errno
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from attrs import frozen

from datum.model.content import Folder, FolderEntry, blob_id
from datum.model.manifest import AttributeValue
from datum.model.observation import FieldValue, NotApplicable
from datum.model.plan import Operation
from datum.model.source import EntryKind
from datum.provider.host import FileKind
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile

FOLDER: Final = Path(__file__).parents[3] / "fixtures" / "cases" / "tree"
# What a case may say; a misspelt key would be a check that is never made.
KEYS: Final = frozenset(
    {"about", "name", "attributes", "host", "observed", "step", "hazards", "after", "fails", "done", "neighbours"}
    | {"conformance"}
)
_BLOB: Final = re.compile(r"blob\((.*?)\)")


@frozen
class TreeCase:
    """One file of the folder."""

    title: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        given = dict(self.data["attributes"])
        if "source" in given:
            given["source"] = folder_of(given["source"])
        return given

    @property
    def neighbours(self) -> frozenset[str]:
        return frozenset(self.data.get("neighbours", ()))

    @property
    def operation(self) -> Operation | None:
        return Operation(self.data["step"]["operation"]) if self.data.get("step") else None

    def arrange(self, host: FakeHost) -> None:
        about = self.data.get("host", {})
        host.world.users.update(about.get("users", {}))
        host.world.groups.update(about.get("groups", {}))
        host.world.residues.update(about.get("residues", []))
        host.world.packages.update(about.get("packages", {}))
        for folder, fields in about.get("without", {}).items():
            host.world.without[folder] = frozenset(fields)
        for path, file in about.get("files", {}).items():
            host.add(path, _file(file))
        for text in texts_of(self.data["attributes"].get("source", {})):
            host.world.blobs[blob_id(text.encode())] = text.encode()
        for fault in about.get("faults", []):
            host.fail(getattr(errno, fault["errno"]), method=fault["method"], subject=fault.get("subject", "*"))

    def make_host(self) -> FakeHost:
        host = FakeHost()
        self.arrange(host)
        return host


def read_cases() -> tuple[TreeCase, ...]:
    return tuple(
        TreeCase(path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted(FOLDER.glob("*.yaml"))
    )


def texts_of(files: Mapping[str, Any]) -> list[str]:
    return [value if isinstance(value, str) else value.get("executable", "") for value in files.values()]


def folder_of(files: Mapping[str, Any]) -> Folder:
    """Return a folder of git: a text is a file, `{executable: text}` one with its bit, `{link: text}` a link."""
    found = []
    for path, value in sorted(files.items()):
        if isinstance(value, str):
            found.append(FolderEntry(path, EntryKind.FILE, blob_id(value.encode())))
        elif "executable" in value:
            found.append(FolderEntry(path, EntryKind.EXECUTABLE, blob_id(value["executable"].encode())))
        else:
            found.append(FolderEntry(path, EntryKind.SYMLINK, blob_id(value["link"].encode()), value["link"]))
    names = "\n".join(f"{entry.path} {entry.kind} {entry.blob}" for entry in found)
    return Folder(blob_id(names.encode("utf-8", "surrogateescape")), "files/app", tuple(found))


def line(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _BLOB.sub(lambda found: f"blob:{blob_id(found[1].replace(chr(92) + 'n', chr(10)).encode())}", value)


def fields_of(about: Mapping[str, Any]) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    for name, value in about.items():
        if isinstance(value, dict):
            fields[name] = NotApplicable(value["not_applicable"])
        else:
            fields[name] = tuple(value) if isinstance(value, list) else line(value)
    return fields


def _file(about: Any) -> FakeFile:
    if isinstance(about, str):
        return FakeFile(data=about.encode())
    kind = FileKind(about.get("kind", "symlink" if "link" in about else "regular"))
    plain = {FileKind.DIRECTORY: "0755", FileKind.SYMLINK: "0777"}.get(kind, "0644")
    return FakeFile(
        kind,
        about.get("mode", plain),
        about.get("uid", 0),
        about.get("gid", 0),
        about.get("text", "").encode(),
        link=about.get("link", ""),
        is_mount_point=about.get("mount", False),
        is_immutable=about.get("immutable", False),
    )
