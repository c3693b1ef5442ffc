"""What stands where in a tree: the folder of the repository, its rules applied. Pure.

Each entry has one line that says all that is wanted of it, and the host is told in the same words, so that two lines
are equal exactly when nothing is to do: `blob:<id> 0644 root root` for a file, `link:<text>` for a link, `directory
0755` for a folder. Owner and group stand there only where one of them is declared, `-` for the other. Where a leftover
of a killed write stands beside the path, the word for that comes first: no line of what stands there begins with it.
"""

from collections.abc import Iterable
from typing import Final

from attrs import field, frozen

from datum.model.content import Content, Folder, FolderEntry
from datum.model.json import JsonValue
from datum.model.plan import RESIDUE
from datum.model.source import EntryKind
from datum.provider.contract import DesiredError
from datum.provider.globs import Matcher
from datum.provider.host import FileKind
from datum.provider.paths import normal_path
from datum_providers.shared.accounts import Owners
from datum_providers.shared.modes import lets_group_write
from datum_providers.shared.names import RESIDUE_SUFFIX, change_name

ROOT: Final = "."
"""The change and the field that speak of the folder itself."""


@frozen
class Modes:
    """Permissions of what no rule speaks of; four octal digits."""

    file: str = "0644"
    # Of files whose execute bit git has.
    executable: str = "0755"
    directory: str = "0755"


@frozen
class Rule:
    """What some paths have that others have not."""

    # A pattern over the path below the tree; with a slash at its end it is for folders, else for files and links.
    match: str
    # Four octal digits.
    mode: str | None
    owners: Owners
    matches: Matcher = field(eq=False, repr=False)

    @property
    def is_for_folders(self) -> bool:
        """Whether it speaks of folders."""
        return self.match.endswith("/")

    def is_for(self, path: str, kind: FileKind) -> bool:
        """Whether it speaks of one path below the tree."""
        return self.is_for_folders is (kind is FileKind.DIRECTORY) and self.matches(path)


@frozen
class Look:
    """Modes and owners: what the tree says, and what its rules say otherwise."""

    modes: Modes
    owners: Owners
    rules: tuple[Rule, ...]

    def of(self, path: str, kind: FileKind, *, is_executable: bool = False) -> tuple[str, Owners]:
        """Return mode and owners of one path; the first rule that matches wins, field by field before the tree."""
        plain = self.modes.directory if kind is FileKind.DIRECTORY else self.modes.file
        mode = self.modes.executable if is_executable else plain
        for rule in self.rules:
            if rule.is_for(path, kind):
                owners = Owners(rule.owners.owner or self.owners.owner, rule.owners.group or self.owners.group)
                return rule.mode or mode, owners
        return mode, self.owners


@frozen
class Entry:
    """One path of a tree."""

    # Of its change: `./css/site.css`, or `.` for the tree itself.
    name: str
    # On the host.
    path: str
    # REGULAR, SYMLINK or DIRECTORY.
    kind: FileKind
    # Four octal digits; a link has none.
    mode: str
    owners: Owners
    # All that is wanted of it.
    line: str
    # Object id of a file, text of a link.
    blob: str = ""
    link: str = ""
    # Path in the repository, for people.
    source: str = ""

    @property
    def shared_with(self) -> str:
        """The group that may make names in a folder, as the declaration says; empty for none."""
        is_shared = self.kind is FileKind.DIRECTORY and self.mode and lets_group_write(self.mode)
        return self.owners.group or "" if is_shared else ""

    @property
    def content(self) -> Content:
        """The bytes of a file."""
        return Content(self.blob, source=self.source)


def line_of(what: str, mode: str, owners: Owners) -> str:
    """Return the line of an entry.

    Args:
        what: `blob:<id>`, `link:<text>` or `directory`.
        mode: four octal digits; empty for a link.
        owners: as far as they are declared.
    """
    names = () if owners.is_silent else (owners.owner or "-", owners.group or "-")
    return " ".join((what, *((mode,) if mode else ()), *names))


def left(line: str) -> str:
    """Return the line of something beside which a leftover stands."""
    return f"{RESIDUE} {line}"


def without_residue(line: JsonValue) -> str | None:
    """Return a line without the word for a leftover; None where nothing else stands there."""
    if not isinstance(line, str) or line == RESIDUE:
        return None
    return line.removeprefix(left(""))


def text_in(line: str, owners: Owners) -> str:
    """Return the text of a link from its line, of which owner and group are no part."""
    what = line if owners.is_silent else line.rsplit(" ", 2)[0]
    return what.removeprefix("link:")


def entries_of(root: str, folder: Folder, look: Look, *, keeps_links: bool) -> tuple[Entry, ...]:
    """Return the tree itself, its folders from the top, then its files and links; each kind sorted by path.

    Raises:
        DesiredError: a link where none is wanted, a submodule, or a path that the host cannot have.
    """
    folders: set[str] = set()
    leaves = []
    for found in folder.entries:
        _check(root, folder, found, keeps_links=keeps_links)
        folders.update(_above(found.path, folders))
        leaves.append(_leaf(root, folder, found, look))
    top = look.modes.directory
    itself = Entry(ROOT, root, FileKind.DIRECTORY, top, look.owners, line_of("directory", top, look.owners))
    return (itself, *(_directory(root, path, look) for path in sorted(folders)), *leaves)


def _above(path: str, known: set[str]) -> Iterable[str]:
    """Yield the folders above a path, nearest first, until one is known."""
    above = path.rpartition("/")[0]
    while above and above not in known:
        yield above
        above = above.rpartition("/")[0]


def _directory(root: str, path: str, look: Look) -> Entry:
    mode, owners = look.of(path, FileKind.DIRECTORY)
    line = line_of("directory", mode, owners)
    return Entry(change_name(path), f"{root}/{path}", FileKind.DIRECTORY, mode, owners, line)


def _leaf(root: str, folder: Folder, found: FolderEntry, look: Look) -> Entry:
    kind = FileKind.SYMLINK if found.kind is EntryKind.SYMLINK else FileKind.REGULAR
    mode, owners = look.of(found.path, kind, is_executable=found.kind is EntryKind.EXECUTABLE)
    name, path, source = change_name(found.path), f"{root}/{found.path}", f"{folder.source}/{found.path}"
    if kind is FileKind.SYMLINK:
        line = line_of(f"link:{found.link}", "", owners)
        return Entry(name, path, kind, "", owners, line, link=found.link, source=source)
    line = line_of(f"blob:{found.blob}", mode, owners)
    return Entry(name, path, kind, mode, owners, line, blob=found.blob, source=source)


def _check(root: str, folder: Folder, found: FolderEntry, *, keeps_links: bool) -> None:
    where = f"{folder.source}/{found.path}"
    if found.kind is EntryKind.SYMLINK and not keeps_links:
        raise DesiredError(
            "source",
            f"{where} is a link to '{found.link}', and nothing says what becomes of links.",
            hint="links: keep sets each as it stands; else take the link out of the folder",
            code="link-in-folder",
        )
    if found.kind in {EntryKind.FOLDER, EntryKind.GITLINK}:
        raise DesiredError("source", f"{where} is a {found.kind}, and no file.", code="not-a-file")
    path = f"{root}/{found.path}"
    try:
        is_normal = normal_path(path) == path
    except ValueError as error:
        raise DesiredError("source", f"{where} has no place on the host: {error}.", code="bad-host-path") from error
    if not is_normal or found.path.endswith(RESIDUE_SUFFIX):
        raise DesiredError("source", f"{where} has a name that no file of the host can have.", code="bad-host-path")
