"""From what is observed of a tree to what is wanted: the step, and why it cannot be taken. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import field, frozen

from datum.model.graph import Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present
from datum.model.plan import RESIDUE, Change, Effect, Need, Operation, Step
from datum.provider.host import FileKind
from datum_providers.shared import places
from datum_providers.shared.kinds import EMPTY_DIRECTORY, EMPTY_FILE, parent_need
from datum_providers.shared.modes import is_for_all
from datum_providers.shared.names import path_of
from datum_providers.shared.safety import makes_safe
from datum_providers.tree.desired import DesiredTree
from datum_providers.tree.entries import ROOT, Entry, text_in, without_residue
from datum_providers.tree.look import TEXTS

# First word of the line of what is of the kind that is wanted.
_KINDS: Final[Mapping[FileKind, str]] = {
    FileKind.REGULAR: "blob:",
    FileKind.SYMLINK: "link:",
    FileKind.DIRECTORY: "directory ",
}
_HARMLESS: Final = frozenset({EMPTY_FILE, EMPTY_DIRECTORY})


def plan_tree(desired: DesiredTree, observed: Present | Absent) -> Step | None:
    """Return the step: the tree itself first, then folders, files and links, then what an exclusive tree loses."""
    if desired.folder is None:
        return _plan_bare(desired, observed)
    texts = _Texts.of(observed)
    changes = []
    for entry in desired.entries:
        before = seen_at(observed, entry.name)
        if before != entry.line:
            changes.append(_change(entry, before, texts))
    lost = _lost(desired, observed) if isinstance(observed, Present) else ()
    changes.extend(Change(name, before, None) for name, _, before in lost)
    changes.extend(_residue(observed))
    if not changes:
        return None
    takes = [path for _, path, before in lost if before != RESIDUE]
    operation = Operation.CREATE
    if isinstance(observed, Present):
        is_other = any(is_of_other_kind(entry, seen_at(observed, entry.name)) for entry in desired.entries)
        operation = Operation.REPLACE if is_other else Operation.UPDATE
        takes.extend(observed.holds)
    names = {change.name for change in changes}
    needs = (*parent_need(desired.path, observed), *_accounts(desired, observed, names))
    return Step(operation, tuple(changes), needs, tuple(sorted(set(takes))))


def _plan_bare(desired: DesiredTree, observed: Present | Absent) -> Step | None:
    """Return the step of a tree without a folder: none where a directory stands, else one that cannot be taken."""
    before = seen_at(observed, ROOT)
    if (without_residue(before) or "").startswith("directory"):
        return None
    operation = Operation.CREATE if isinstance(observed, Absent) else Operation.REPLACE
    detail = f"No source is declared, so {desired.path} cannot be made; name a folder of the repository."
    return Step(operation, (Change(ROOT, before, "directory"),), (Need(Target("content", desired.path), detail),))


def seen_at(observed: Present | Absent, name: str) -> str | None:
    """Return the line of what was seen at an entry; None for nothing."""
    value = observed.fields.get(name)
    return value if isinstance(value, str) else None


def is_of_other_kind(entry: Entry, before: JsonValue) -> bool:
    """Whether something stands at an entry that is no file, link or folder as wanted."""
    line = without_residue(before)
    return line is not None and not line.startswith(_KINDS[entry.kind])


def is_content_change(entry: Entry, before: JsonValue) -> bool:
    """Whether other bytes, or another text of a link, are wanted than stand there: not attributes alone."""
    line = without_residue(before)
    if line is None or is_of_other_kind(entry, line):
        return True
    if entry.kind is FileKind.SYMLINK:
        return text_in(line, entry.owners) != entry.link
    return entry.kind is FileKind.REGULAR and line.partition(" ")[0] != f"blob:{entry.blob}"


def hazards_of_tree(desired: DesiredTree, step: Step) -> frozenset[Hazard]:
    """Return `data_loss` where something goes that is of another kind, `access_loss` where a way in hangs on a path."""
    found = set()
    entries = {entry.name: entry for entry in desired.entries}
    changes = [change for change in step.changes if change.name.startswith(ROOT)]
    if step.operation.removes and any(_loses(change, entries.get(change.name)) for change in changes):
        found.add(Hazard.DATA_LOSS)
    changed = (path_of(desired.path, item.name) for item in changes if without_residue(item.before) != item.after)
    if any(places.guards_access(path) for path in (*changed, *step.takes)):
        found.add(Hazard.ACCESS_LOSS)
    return frozenset(found)


def _loses(change: Change, entry: Entry | None) -> bool:
    """Whether what gives way is of another kind than a tree makes there, and not empty."""
    before = without_residue(change.before)
    if before is None or before in _HARMLESS:
        return False
    if entry is not None:
        return is_of_other_kind(entry, before)
    return change.name == ROOT and not before.startswith("directory")


def effects_of_tree(desired: DesiredTree, step: Step) -> tuple[Effect, ...]:
    """Return the paths that the step makes; of folders whose rights it changes, that those are safe."""
    made = {
        change.name for change in step.changes if change.after is not None and without_residue(change.before) is None
    }
    if step.operation is Operation.REPLACE:
        made.update(change.name for change in step.changes if change.after is not None)
    paths = tuple(Effect(Target("path", entry.path)) for entry in desired.entries if entry.name in made)
    changed = {change.name for change in step.changes} - made
    folders = (one for one in desired.entries if one.kind is FileKind.DIRECTORY and one.name in changed)
    return (*paths, *(effect for one in folders for effect in makes_safe(one.path, one.mode, one.shared_with)))


def _lost(desired: DesiredTree, observed: Present) -> tuple[tuple[str, str, str], ...]:
    """Return name, path and line of what an exclusive tree clears away, also of what is left beside a path."""
    if not desired.exclusive:
        return ()
    own = {entry.name for entry in desired.entries}
    names = (name for name in observed.fields if name.startswith("./") and name not in own)
    return tuple((name, path_of(desired.path, name), str(observed.fields[name])) for name in sorted(names))


@frozen
class _Texts:
    """The lines that people are shown, of a bounded number of files."""

    before: Mapping[str, JsonValue]
    private: frozenset[str]
    _shown: set[str] = field(factory=set, init=False)

    @classmethod
    def of(cls, observed: Present | Absent) -> "_Texts":
        """Read the detail of an observation."""
        detail = observed.detail if isinstance(observed, Present) else {}
        texts, private = detail.get("texts"), detail.get("private")
        names = private if isinstance(private, (list, tuple)) else ()
        return cls(texts if isinstance(texts, Mapping) else {}, frozenset(str(name) for name in names))

    def shows(self, name: str) -> bool:
        """Whether the lines of one more file are shown."""
        if len(self._shown) >= TEXTS:
            return False
        self._shown.add(name)
        return True


def _change(entry: Entry, before: str | None, texts: _Texts) -> Change:
    is_shown = entry.kind is FileKind.REGULAR and is_content_change(entry, before) and texts.shows(entry.name)
    if not is_shown:
        return Change(entry.name, before, entry.line)
    old = texts.before.get(entry.name)
    return Change(
        entry.name,
        before,
        entry.line,
        before_text="" if without_residue(before) is None else old if isinstance(old, str) else None,
        after_blob=entry.blob,
        is_private=entry.name in texts.private or not is_for_all(entry.mode),
    )


def _residue(observed: Present | Absent) -> tuple[Change, ...]:
    return (Change(RESIDUE, before=True, after=False),) if observed.fields.get(RESIDUE) is True else ()


def _accounts(desired: DesiredTree, observed: Present | Absent, names: Iterable[str]) -> tuple[Need, ...]:
    """Return the accounts that the host was seen not to have, and that a changed path shall belong to."""
    users, groups = (_unknown(observed, field) for field in ("unknown_users", "unknown_groups"))
    if not users and not groups:
        return ()
    changed = frozenset(names)
    wanted = [entry.owners for entry in desired.entries if entry.name in changed]
    owners = {owners.owner for owners in wanted if owners.owner in users}
    owning = {owners.group for owners in wanted if owners.group in groups}
    return (
        *(Need(Target("user", str(name)), f"The user {name} does not exist.") for name in sorted(map(str, owners))),
        *(Need(Target("group", str(name)), f"The group {name} does not exist.") for name in sorted(map(str, owning))),
    )


def _unknown(observed: Present | Absent, name: str) -> frozenset[str]:
    value = observed.fields.get(name)
    return frozenset(str(item) for item in value) if isinstance(value, (list, tuple)) else frozenset()
