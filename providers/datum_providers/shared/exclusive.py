"""What an exclusive directory clears away, and what stays although nobody declares it (ADR 0029). Reads the host.

Never cleared: what is declared or made by a command, and the way to it; what `keep` matches, with all below it; what a
package owns; what something is mounted on; the few paths that are never removed without being named. Leftovers of
killed writes go by themselves; those of which nobody knows whose they are stay. `clear` and `sweep` change the host.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define, field, frozen

from datum.model.graph import MADE_PATH, Target
from datum.provider.contract import TargetIndex
from datum.provider.globs import Matcher, compile_globs
from datum.provider.host import FileKind, HostReader, HostWriter, Missing
from datum.provider.paths import is_below, parents
from datum_providers.shared.kinds import ENTRIES_LIMIT
from datum_providers.shared.names import RESIDUE_SUFFIX
from datum_providers.shared.places import is_drop_in, is_kept_for_ever, is_of_agent
from datum_providers.shared.spellings import spellings

DIRECTORY_TYPE: Final = "directory"

# Kinds of leftovers that are no directories.
_LEFT_KINDS: Final = frozenset({FileKind.REGULAR, FileKind.SYMLINK})
# What names of leftovers have where others make names, too.
_TOKEN: Final = re.compile(r"\.[0-9a-f]{8}\Z")


@frozen
class Neighbours:
    """What the graph declares below a directory."""

    # In the spelling of the directory; absent ones included.
    declared: frozenset[str] = frozenset()
    # Of which, with all that lies below, another resource decides: of another type, exclusive itself, absent, or made
    # by a command, which need not be declared.
    closed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: str, index: TargetIndex) -> "Neighbours":
        """Ask the graph, for every spelling of the directory."""
        declared, closed = set(), set()
        for spelling in spellings(path):
            for found in index.paths_below(spelling):
                own = path + found[len(spelling) :]
                holder = index.holder(Target("path", found))
                if holder is not None:
                    declared.add(own)
                if holder is None or holder.type != DIRECTORY_TYPE or _is_closed(index, found):
                    closed.add(own)
        return cls(frozenset(declared), frozenset(closed))


def _is_closed(index: TargetIndex, path: str) -> bool:
    """Whether what lies in a declared directory is not the business of an exclusive one above it."""
    return index.is_exclusive(path) or index.is_absent(path) or index.holder(Target(MADE_PATH, path)) is not None


@frozen
class Domain:
    """Where nothing stays that is not declared."""

    path: str
    neighbours: Neighbours
    # At every level; else one level, and directories that are not empty stay.
    recurse: bool = False
    # Patterns relative to the path.
    keep: tuple[str, ...] = ()


@frozen
class Survey:
    """What one look at a domain found."""

    # Every path that goes, sorted.
    takes: tuple[str, ...] = ()
    # The topmost of them, and what each is.
    topmost: tuple[tuple[str, str], ...] = ()
    # What stays, and why, in words; what lies below it is not listed.
    kept: Mapping[str, str] = field(factory=dict)
    # Paths beside which a leftover of a killed write stands that no resource clears, sorted; none of `takes`.
    swept: tuple[str, ...] = ()


def survey(reader: HostReader, domain: Domain) -> Survey:
    """Look at a domain.

    Raises:
        HostError: it holds too much, or cannot be looked at.
    """
    look = _Look(reader, domain)
    paths = look.everything() if domain.recurse else look.one_level()
    going = look.judge(paths)
    topmost = topmost_of(going)
    kinds = tuple((path, look.kind(path)) for path in topmost)
    # What goes takes the leftover beside it along.
    swept = tuple(sorted(look.swept.difference(going)))
    return Survey(going, kinds, dict(sorted(look.kept.items())), swept)


def clear(writer: HostWriter, takes: Sequence[str]) -> None:
    """Remove exactly these sorted paths, a directory together with those of them that lie in it.

    Raises:
        HostError: something else lies in one of them, or it failed otherwise.
    """
    for path in topmost_of(takes):
        inside = tuple(taken for taken in takes if taken != path and is_below(taken, path))
        facts = writer.examine(path)
        if isinstance(facts, Missing):
            continue
        if facts.kind is FileKind.DIRECTORY:
            writer.remove_directory(path, takes=inside)
        else:
            writer.remove_file(path)


def sweep(writer: HostWriter, beside: Sequence[str]) -> None:
    """Remove the leftovers beside these paths.

    Raises:
        HostError: one of them is no such leftover, or it failed otherwise.
    """
    for path in beside:
        writer.remove_residue(path)


def topmost_of(paths: Sequence[str]) -> tuple[str, ...]:
    """Return those of some sorted paths above which none of the others stands."""
    known = set(paths)
    return tuple(path for path in paths if _folder_of(path) not in known)


@define
class _Look:
    """One look at a domain."""

    reader: HostReader
    domain: Domain
    # With the reason, in words.
    kept: dict[str, str] = field(factory=dict)
    # Paths beside which a leftover stands that goes by itself.
    swept: set[str] = field(factory=set)
    _stays: set[str] = field(factory=set)
    # What lies below one of these is nobody's business here.
    _covered: set[str] = field(factory=set)
    # Leftovers of killed writes, and what lies in them.
    _leftovers: set[str] = field(factory=set)
    # Leftovers that go with the directory they lie in.
    _hidden: tuple[str, ...] = ()
    _mounts: frozenset[str] = frozenset()
    _matches: Matcher = field(init=False)
    # What is declared, and the directories above it.
    _way: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._matches = compile_globs(self.domain.keep)
        declared = self.domain.neighbours.declared | self.domain.neighbours.closed
        self._way = declared | {folder for path in declared for folder in parents(path)}

    def everything(self) -> tuple[str, ...]:
        """Return all that lies below; nothing in what is mounted there."""
        below = self.reader.below(self.domain.path, limit=ENTRIES_LIMIT)
        self._mounts = frozenset(below.mounts)
        self._hidden = below.leftovers
        return below.paths

    def one_level(self) -> tuple[str, ...]:
        """Return what lies in the directory itself."""
        found, mounts = [], set()
        for name in self.reader.list_directory(self.domain.path):
            path = f"{self.domain.path}/{name}"
            facts = self.reader.examine(path)
            if isinstance(facts, Missing):
                continue
            found.append(path)
            if facts.is_mount_point:
                mounts.add(path)
            elif facts.kind is FileKind.DIRECTORY and path not in self._way and self.reader.list_directory(path):
                self._keep(path, "it is not empty")
        self._mounts = frozenset(mounts)
        names = self.reader.list_directory(self.domain.path, leftovers=True)
        self._hidden = tuple(f"{self.domain.path}/{name}" for name in names)
        return tuple(found)

    def judge(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return those that go: decided from the top; then whatever holds something that stays, stays, too."""
        for path in paths:
            self._look_at(path, _folder_of(path))
        for path in reversed(paths):
            if path in self._stays:
                self._stays.add(_folder_of(path))
        for path in paths:
            # A leftover belongs to what it lies beside; in a directory that goes as a whole that is nothing.
            if path in self._leftovers and (_folder_of(path) in self._stays or _folder_of(path) == self.domain.path):
                self._stays.add(path)
        for path in (*self._hidden, *sorted(self._leftovers)):
            self._judge_leftover(path)
        return tuple(path for path in paths if path not in self._stays)

    def _judge_leftover(self, path: str) -> None:
        """Decide on a leftover that goes with no directory, and that no resource clears; tell of what stays."""
        folder = _folder_of(path)
        is_left = folder in self._stays or folder == self.domain.path
        is_within = folder in self._covered or folder in self._leftovers
        beside = _beside(path)
        if not is_left or is_within or any(one in self._way for one in beside):
            return
        found = next((one for one in beside if self.reader.examine(one).has_residue), None)
        if found is not None and self._is_ours(path) and not self._covering_reason(found):
            self.swept.add(found)
        else:
            self.kept[path] = "it is a leftover of a write, beside nothing that is declared: remove it by hand"

    def _is_ours(self, leftover: str) -> bool:
        """Whether it is what a killed write leaves: a file or link of one name, or a directory; of whom they can be."""
        facts, folder = self.reader.examine(leftover), self.reader.examine(_folder_of(leftover))
        if isinstance(facts, Missing) or isinstance(folder, Missing):
            return True
        makers = {0, self.reader.caller[0]}
        if facts.kind is FileKind.DIRECTORY:
            return facts.uid in makers
        return facts.kind in _LEFT_KINDS and facts.links == 1 and facts.uid in {*makers, folder.uid}

    def kind(self, path: str) -> str:
        """Return what stands at a path; what is gone meanwhile is anything."""
        facts = self.reader.examine(path)
        return FileKind.REGULAR.value if isinstance(facts, Missing) else facts.kind.value

    def _look_at(self, path: str, folder: str) -> None:
        if folder in self._covered or path in self.domain.neighbours.closed:
            self._cover(path)
        elif folder in self._leftovers or path.endswith(RESIDUE_SUFFIX):
            self._leftovers.add(path)
        elif reason := self._covering_reason(path):
            self._cover(path)
            if path not in self.domain.neighbours.declared:
                self._keep(path, reason)
        elif path in self._way:
            self._stays.add(path)
        elif path not in self._stays and (package := self.reader.package_of(path)):
            self._keep(path, f"the package {package} owns it")

    def _covering_reason(self, path: str) -> str:
        """Return why a path stays with all that lies below it; empty if it does not."""
        if path in self._mounts:
            return "something is mounted on it"
        if self._matches(path[len(self.domain.path) + 1 :]):
            return "keep says so"
        is_meant = is_drop_in(self.domain.path) and not is_of_agent(path)
        if path not in self._way and is_kept_for_ever(path) and not is_meant:
            return "it is one of the few paths that are removed only when they are named"
        return ""

    def _cover(self, path: str) -> None:
        self._covered.add(path)
        self._stays.add(path)

    def _keep(self, path: str, reason: str) -> None:
        self._stays.add(path)
        self.kept[path] = reason


def _beside(leftover: str) -> tuple[str, ...]:
    """Return the paths that a leftover may stand beside; a digest in the place of a long name is as good as that."""
    folder, _, name = leftover.rpartition("/")
    stem = name.removesuffix(RESIDUE_SUFFIX)
    forms = (form for one in (stem, _TOKEN.sub("", stem)) for form in (one.removeprefix("."), one))
    return tuple(dict.fromkeys(f"{folder}/{form}" for form in forms if form))


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
