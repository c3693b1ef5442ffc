"""What an exclusive directory clears away, and what stays although nobody declares it (ADR 0029). Reads the host.

Never cleared: what is declared, and the way to it; what `keep` matches, with all below it; what a package owns; what
something is mounted on; the few paths that are never removed without being named; the agent's own leftovers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define, field, frozen

from datum.model.graph import Target
from datum.provider.contract import TargetIndex
from datum.provider.globs import Matcher, compile_globs
from datum.provider.host import FileKind, HostReader, Missing
from datum.provider.paths import parents
from datum_providers.shared.kinds import ENTRIES_LIMIT
from datum_providers.shared.names import RESIDUE_SUFFIX
from datum_providers.shared.places import is_drop_in, is_kept_for_ever, is_of_agent
from datum_providers.shared.spellings import spellings

DIRECTORY_TYPE: Final = "directory"


@frozen
class Neighbours:
    """What the graph declares below a directory."""

    # In the spelling of the directory; absent ones included.
    declared: frozenset[str] = frozenset()
    # Those of them of which another resource decides what lies below.
    closed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: str, index: TargetIndex) -> "Neighbours":
        """Ask the graph, for every spelling of the directory."""
        declared, closed = set(), set()
        for spelling in spellings(path):
            for found in index.paths_below(spelling):
                own = path + found[len(spelling) :]
                declared.add(own)
                holder = index.holder(Target("path", found))
                if index.is_exclusive(found) or (holder is not None and holder.type != DIRECTORY_TYPE):
                    closed.add(own)
        return cls(frozenset(declared), frozenset(closed))


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


def survey(reader: HostReader, domain: Domain) -> Survey:
    """Look at a domain.

    Raises:
        HostError: it holds too much, or cannot be looked at.
    """
    look = _Look(reader, domain)
    paths = look.everything() if domain.recurse else look.one_level()
    going = look.judge(paths)
    topmost = topmost_of(going)
    return Survey(going, tuple((path, look.kind(path)) for path in topmost), dict(sorted(look.kept.items())))


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
    _stays: set[str] = field(factory=set)
    # What lies below one of these is nobody's business here.
    _covered: set[str] = field(factory=set)
    # Leftovers of killed writes, and what lies in them.
    _leftovers: set[str] = field(factory=set)
    _mounts: frozenset[str] = frozenset()
    _matches: Matcher = field(init=False)
    # What is declared, and the directories above it.
    _way: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._matches = compile_globs(self.domain.keep)
        declared = self.domain.neighbours.declared
        self._way = declared | {folder for path in declared for folder in parents(path)}

    def everything(self) -> tuple[str, ...]:
        """Return all that lies below; nothing in what is mounted there."""
        below = self.reader.below(self.domain.path, limit=ENTRIES_LIMIT)
        self._mounts = frozenset(below.mounts)
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
        return tuple(path for path in paths if path not in self._stays)

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


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
