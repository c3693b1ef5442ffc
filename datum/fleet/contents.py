"""Fields that name a file of the repository become its bytes: `source` unread, `template` rendered. Pure."""

from attrs import frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import FleetError
from datum.fleet.expressions import ExpressionError, Scope
from datum.fleet.findings import Findings, problem, suggestion
from datum.fleet.late import SAMPLE_MACHINE
from datum.fleet.templates import render_late, render_template
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.model.manifest import Late
from datum.model.source import EntryKind, SourceTree, TreeEntry

_WHAT = {
    EntryKind.FOLDER: "a folder",
    EntryKind.SYMLINK: "a symbolic link, and links are not followed",
    EntryKind.GITLINK: "a submodule, and submodules are not fetched",
}


@frozen
class Contents:
    """Finds files of one tree."""

    tree: SourceTree
    findings: Findings

    def source(self, path: str, location: SourceLocation, resource: ResourceId) -> Content | None:
        """Return the file's content by its object id, None after having noted what is wrong."""
        entry = self._entry(path, location, resource)
        return Content(entry.blob, source=path) if entry is not None else None

    def template(
        self, path: str, scope: Scope, location: SourceLocation, resource: ResourceId
    ) -> Content | Late | None:
        """Return what the template renders to, None after having noted what is wrong."""
        if self._entry(path, location, resource) is None:
            return None
        try:
            rendered = render_template(self.tree, path, scope, location)
            if isinstance(rendered, Late):
                # What no machine could render is said now, not on the host.
                render_late(self.tree, rendered, SAMPLE_MACHINE)
        except ExpressionError as error:
            self.findings.add(error.diagnostic, resource)
            return None
        except FleetError as error:
            for diagnostic in error.diagnostics:
                self.findings.add(diagnostic, resource)
            return None
        if isinstance(rendered, Late):
            return rendered
        return Content.from_bytes(rendered, source=path, algorithm=self.tree.revision.algorithm)

    def _entry(self, path: str, location: SourceLocation, resource: ResourceId) -> TreeEntry | None:
        wrong = wrong_path(path)
        if wrong:
            detail = f"'{path}' {wrong}; a path starts at the root of the repository: files/motd."
            self.findings.add(problem("bad-path", location, detail), resource)
            return None
        entry = self.tree.entry(path)
        if entry is None:
            self.findings.add(self._missing(path, location), resource)
            return None
        if entry.kind in _WHAT:
            detail = f"{path} is {_WHAT[entry.kind]}; a file is wanted."
            self.findings.add(problem("not-a-file", location, detail), resource)
            return None
        return entry

    def _missing(self, path: str, location: SourceLocation) -> Diagnostic:
        folder, _, name = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        hint = suggestion(name, self.tree.entries(folder))
        if hint:
            hint = hint.replace("'", f"'{prefix}", 1)
        for start in ("files", "templates"):
            if self.tree.entry(f"{start}/{path}") is not None:
                hint = f"Did you mean '{start}/{path}'?"
        return problem("source-missing", location, f"The revision has no {path}.", hint=hint)


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
