"""Fields that name something of the repository become what stands there (design 2.3). Pure.

`source` is a file by its object id, unread; `template` is rendered; `folder` is a folder with all that is in it.
"""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from attrs import frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import FleetError
from datum.fleet.expressions import ExpressionError, Scope
from datum.fleet.findings import Findings, problem, suggestion
from datum.fleet.folders import FolderRefusedError, read_folder
from datum.fleet.late import SAMPLE_MACHINE
from datum.fleet.templates import render_late, render_template
from datum.model.content import Content, Folder
from datum.model.identity import ResourceId
from datum.model.manifest import Late
from datum.model.source import EntryKind, SourceTree, TreeEntry

_WHAT: Final = MappingProxyType(
    {
        EntryKind.FILE: "a file",
        EntryKind.EXECUTABLE: "a file",
        EntryKind.FOLDER: "a folder",
        EntryKind.SYMLINK: "a symbolic link, and links are not followed",
        EntryKind.GITLINK: "a submodule, and submodules are not fetched",
    }
)
_FILES: Final = frozenset({EntryKind.FILE, EntryKind.EXECUTABLE})


@frozen
class Contents:
    """Finds files and folders of one tree for one resource."""

    tree: SourceTree
    findings: Findings
    resource: ResourceId

    def source(self, path: str, location: SourceLocation) -> Content | None:
        """Return the file's content by its object id, None after having noted what is wrong."""
        entry = self.file(path, location)
        return Content(entry.blob, source=path) if entry is not None else None

    def template(self, path: str, scope: Scope, location: SourceLocation) -> Content | Late | None:
        """Return what the template renders to, None after having noted what is wrong."""
        if self.file(path, location) is None:
            return None
        try:
            rendered = render_template(self.tree, path, scope, location)
            if isinstance(rendered, Late):
                # What no machine could render is said now, not on the host.
                render_late(self.tree, rendered, SAMPLE_MACHINE)
        except ExpressionError as error:
            self.note(error.diagnostic)
            return None
        except FleetError as error:
            self.note(*error.diagnostics)
            return None
        if isinstance(rendered, Late):
            return rendered
        return Content.from_bytes(rendered, source=path, algorithm=self.tree.revision.algorithm)

    def folder(self, path: str, location: SourceLocation) -> Folder | None:
        """Return the folder with all that is in it, None after having noted what is wrong."""
        entry = self._entry(path, location)
        if entry is None:
            return None
        if entry.kind is not EntryKind.FOLDER:
            detail = f"{path} is {_WHAT[entry.kind]}; a folder is wanted."
            folder = path.rpartition("/")[0]
            hint = f"name the folder that it lies in ('{folder}')" if folder else "name a folder of the repository"
            self.note(problem("not-a-folder", location, detail, hint=hint))
            return None
        try:
            return read_folder(self.tree, path)
        except FolderRefusedError as error:
            self.note(problem(error.code, location, error.detail, hint=error.hint))
        except FleetError as error:
            self.note(*error.diagnostics)
        return None

    def file(self, path: str, location: SourceLocation) -> TreeEntry | None:
        """Return the entry of a file, None after having noted what is wrong."""
        entry = self._entry(path, location)
        if entry is not None and entry.kind not in _FILES:
            detail = f"{path} is {_WHAT[entry.kind]}; a file is wanted."
            self.note(problem("not-a-file", location, detail))
            return None
        return entry

    def note(self, *diagnostics: Diagnostic) -> None:
        """Note what is wrong with the resource."""
        for diagnostic in diagnostics:
            self.findings.add(diagnostic, self.resource)

    def _entry(self, path: str, location: SourceLocation) -> TreeEntry | None:
        wrong = wrong_path(path)
        if wrong:
            detail = f"'{path}' {wrong}; a path starts at the root of the repository: files/motd."
            self.note(problem("bad-path", location, detail))
            return None
        entry = self.tree.entry(path)
        if entry is None:
            self.note(self._missing(path, location))
        return entry

    def _missing(self, path: str, location: SourceLocation) -> Diagnostic:
        folder, _, name = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        hint = suggestion(name, _readable(self.tree.entries(folder)))
        if hint:
            hint = hint.replace("'", f"'{prefix}", 1)
        for start in ("files", "templates"):
            if self.tree.entry(f"{start}/{path}") is not None:
                hint = f"Did you mean '{start}/{path}'?"
        hint = hint or f"add {path} to the repository and commit it; paths start at its root"
        return problem("source-missing", location, f"The revision has no {path}.", hint=hint)


def _readable(names: Iterable[str]) -> list[str]:
    """Return the names that a hint can show: those that are UTF-8."""
    return [name for name in names if name.isprintable()]


def wrong_path(path: str) -> str:
    """Return what is wrong with a path in the repository, empty if nothing is."""
    if path.startswith("/"):
        return "is absolute"
    parts = path.split("/")
    if ".." in parts:
        return "leaves its folder by '..'"
    if "." in parts or "" in parts:
        return "is not written in its shortest form"
    if "\0" in path:
        return "holds a NUL"
    return ""
