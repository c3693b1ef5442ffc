"""What stands where a tree is wanted. Reads the host; changes nothing.

One look at one tree: every path in order, each in the words of its entry (`entries`). What lies behind something that
is no directory is not there, and is not asked for. One path that cannot be looked at makes the whole tree unobservable.
"""

from collections.abc import Mapping
from typing import Final

from attrs import define, evolve, field, frozen

from datum.model.json import JsonObject, JsonValue
from datum.model.observation import Absent, FieldValue, Observation, Present, UnsafeFolder
from datum.model.plan import RESIDUE
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum.provider.paths import parents
from datum_providers.shared.accounts import NO_OWNERS, Accounts, Owners
from datum_providers.shared.exclusive import survey
from datum_providers.shared.kept import kept_detail
from datum_providers.shared.kinds import in_the_way
from datum_providers.shared.modes import NO_MODES, is_for_all
from datum_providers.shared.names import change_name
from datum_providers.shared.safety import unsafe_above
from datum_providers.shared.texts import TEXT_LIMIT, text_of
from datum_providers.tree.desired import DesiredTree
from datum_providers.tree.entries import ROOT, Entry, left, line_of

TEXTS: Final = 20
"""Changed files of one tree whose lines people are shown."""


@frozen
class TreeLook:
    """One observation of many trees."""

    reader: HostReader
    accounts: Accounts

    @classmethod
    def through(cls, reader: HostReader) -> "TreeLook":
        """Begin one."""
        return cls(reader, Accounts.of(reader))

    def at(self, wanted: DesiredTree) -> Observation:
        """Look at one tree."""
        path = wanted.path
        seen = _Seen()
        try:
            for entry in wanted.entries or (_bare(wanted),):
                path = entry.path
                self._see(entry, seen)
            path = wanted.path
            if wanted.exclusive and seen.is_there(wanted.path):
                self._see_others(wanted, seen)
            seen.fields.update(self._unknown(wanted))
        except HostError as error:
            found = error.unobservable()
            return found if path in found.detail else evolve(found, detail=f"{path}: {found.detail}")
        return seen.answer(wanted)

    def _see(self, entry: Entry, seen: "_Seen") -> None:
        above = entry.path.rpartition("/")[0]
        if entry.name != ROOT and not seen.is_there(above):
            return
        facts = self.reader.examine(entry.path, blob=entry.content.algorithm if entry.blob else "")
        if entry.name == ROOT:
            seen.unsafe = unsafe_above(self.reader, self.accounts, entry.path, facts, entry.owners)
        if isinstance(facts, Missing):
            seen.miss(entry, facts)
            return
        if facts.kind is not entry.kind:
            found = in_the_way(self.reader, entry.path, facts)
            seen.put(entry, found.kind, facts)
            seen.holds.extend(found.holds)
            seen.mounts.extend(found.mounts)
            return
        if facts.kind is FileKind.DIRECTORY:
            seen.folders.add(entry.path)
        seen.put(entry, self._line(entry, facts, seen), facts)
        if facts.blob != entry.blob:
            self._see_text(entry, facts, seen)

    def _line(self, entry: Entry, facts: FileFacts, seen: "_Seen") -> str:
        """Return the line of what stands there; what its file system cannot hold is as it is wanted."""
        what = {FileKind.REGULAR: f"blob:{facts.blob}", FileKind.SYMLINK: f"link:{facts.link}"}.get(
            facts.kind, facts.kind.value
        )
        mode = facts.mode if entry.mode else ""
        if mode and "mode" in facts.without:
            seen.fields["mode"] = NO_MODES
            mode = entry.mode
        owners = entry.owners
        if not owners.is_silent and "owner" in facts.without:
            seen.fields["owner"] = NO_OWNERS
        elif not owners.is_silent:
            owners = self._owners(owners, facts)
        return line_of(what, mode, owners)

    def _owners(self, wanted: Owners, facts: FileFacts) -> Owners:
        owner = None if wanted.owner is None else self.accounts.users.spelling(facts.uid, wanted.owner)
        group = None if wanted.group is None else self.accounts.groups.spelling(facts.gid, wanted.group)
        return Owners(owner, group)

    def _see_text(self, entry: Entry, facts: FileFacts, seen: "_Seen") -> None:
        if len(seen.texts) >= TEXTS or facts.size > TEXT_LIMIT:
            return
        try:
            text = text_of(self.reader.read_file(entry.path, limit=TEXT_LIMIT + 1))
        except HostError:
            # The difference is known without it; only people miss the lines.
            return
        if text is not None:
            seen.texts[entry.name] = text
            if not is_for_all(facts.mode):
                seen.private.append(entry.name)

    def _see_others(self, wanted: DesiredTree, seen: "_Seen") -> None:
        """Name what an exclusive tree has to lose; what lies in something that gives way goes with that."""
        found = survey(self.reader, wanted.domain)
        held = frozenset(seen.holds)
        for path in found.takes:
            facts = self.reader.examine(path)
            if path not in held and isinstance(facts, FileFacts):
                seen.fields[change_name(path[len(wanted.path) + 1 :])] = facts.kind.value
        giving_way = {entry.path for entry in wanted.entries if entry.kind is not FileKind.DIRECTORY}
        for path in found.swept:
            if giving_way.isdisjoint(parents(path)):
                seen.fields[change_name(path[len(wanted.path) + 1 :])] = RESIDUE
        seen.kept = found.kept

    def _unknown(self, wanted: DesiredTree) -> Mapping[str, FieldValue]:
        """Return the accounts that its entries want and the host does not have."""
        users: set[str] = set()
        groups: set[str] = set()
        for owners in wanted.accounts:
            unknown = self.accounts.unknown(owners)
            if owners.owner and "owner_known" in unknown:
                users.add(owners.owner)
            if owners.group and "group_known" in unknown:
                groups.add(owners.group)
        found = {"unknown_users": users, "unknown_groups": groups}
        return {name: tuple(sorted(accounts)) for name, accounts in found.items() if accounts}


@define
class _Seen:
    """What was seen so far."""

    fields: dict[str, FieldValue] = field(factory=dict)
    # Where a directory stands.
    folders: set[str] = field(factory=set)
    holds: list[str] = field(factory=list)
    mounts: list[str] = field(factory=list)
    texts: dict[str, str] = field(factory=dict)
    private: list[str] = field(factory=list)
    # What stays in an exclusive tree though nobody declares it, and why.
    kept: Mapping[str, str] = field(factory=dict)
    # What keeps the tree itself from being written.
    unsafe: tuple[UnsafeFolder, ...] = ()
    # Set when the tree itself is not there.
    missing: Missing | None = None

    def is_there(self, folder: str) -> bool:
        """Whether a directory stands at a path that was looked at."""
        return folder in self.folders

    def put(self, entry: Entry, line: str, facts: FileFacts) -> None:
        """Note what stands at a path."""
        self.fields[entry.name] = left(line) if facts.has_residue else line

    def miss(self, entry: Entry, facts: Missing) -> None:
        """Note that nothing stands at a path."""
        if entry.name == ROOT:
            self.missing = facts
        elif facts.has_residue:
            self.fields[entry.name] = RESIDUE

    def answer(self, wanted: DesiredTree) -> Observation:
        """Return it as the observation of the tree."""
        if self.missing is not None:
            if self.missing.has_residue:
                self.fields[RESIDUE] = True
            if self.missing.first != wanted.path:
                self.fields["missing_parent"] = self.missing.first
            return Absent(self.fields, self.unsafe)
        holds, mounts = tuple(sorted(self.holds)), tuple(sorted(self.mounts))
        return Present(self.fields, self._detail(wanted.path), holds=holds, mounts=mounts, unsafe=self.unsafe)

    def _detail(self, root: str) -> JsonObject:
        detail: dict[str, JsonValue] = {}
        if self.texts:
            detail.update(texts=dict(self.texts), private=tuple(self.private))
        detail.update(kept_detail(root, self.kept))
        return detail


def _bare(wanted: DesiredTree) -> Entry:
    """Return the entry of a tree of which nothing but the name is declared."""
    return Entry(ROOT, wanted.path, FileKind.DIRECTORY, "", Owners(), "directory")
