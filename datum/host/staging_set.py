"""What has been staged so far, by path: how changes of one set meet each other. Pure but for what it holds."""

from collections.abc import Sequence

from attrs import define, field

from datum.host.place import Place
from datum.host.staging_changes import Change, Removal, ResidueRemoval
from datum.host.staging_puts import Put
from datum.provider.host import FileKind, HostError
from datum.provider.paths import parents


@define
class ChangeSet:
    """The changes of one set; paths are normal ones."""

    # By path, in the order in which they were staged.
    _changes: dict[str, Change] = field(factory=dict, init=False)
    residues: dict[str, ResidueRemoval] = field(factory=dict, init=False)
    # The new directories, by where they are for now.
    _folders: dict[str, Put] = field(factory=dict, init=False)

    @property
    def ordered(self) -> list[Change]:
        """The changes as they are made: a leftover says that the set is unjudged, so it goes last."""
        return [*self._changes.values(), *self.residues.values()]

    @property
    def coming(self) -> list[str]:
        """The new directories, by where they will be."""
        return [put.normal for put in self._folders.values()]

    def add(self, change: Change) -> None:
        """Take a change of a path that has none."""
        self._changes[change.normal] = change
        if isinstance(change, Put | Removal) and change.takes is not None:
            for path in [path for path in self.residues if change.normal in parents(path)]:
                del self.residues[path]
        if isinstance(change, Put) and change.kind is FileKind.DIRECTORY:
            self._folders[change.hidden] = change

    def remove(self, changes: Sequence[Change]) -> None:
        """Take out changes that have become part of another one."""
        for change in changes:
            del self._changes[change.normal]

    def clear(self) -> None:
        """Hold nothing any more."""
        for known in (self._changes, self.residues, self._folders):
            known.clear()

    def put_at(self, path: str) -> Put | None:
        """Return the candidate of this very path."""
        change = self._changes.get(path)
        return change if isinstance(change, Put) else None

    def clears_residue(self, path: str) -> bool:
        """Whether a leftover beside a path goes with a change of it, or of a directory above, or its name is needed."""
        return any(isinstance(self._changes.get(each), Put | Removal) for each in (path, *parents(path)))

    def inside(self, path: str) -> str:
        """Return where a path is for now that lies in a new directory; empty if it lies in none."""
        if self._folders:
            for folder in parents(path):
                put = self.put_at(folder)
                if put is not None and put.kind is FileKind.DIRECTORY:
                    return put.hidden + path[len(folder) :]
        return ""

    def outside(self, path: str) -> str:
        """Return where a path will be that lies in a new directory for now; others are what they are."""
        for folder in (path, *parents(path)):
            put = self._folders.get(folder)
            if put is not None:
                return put.normal + path[len(folder) :]
        return path

    def as_it_will_be(self, text: str) -> str:
        """Return a text for people with paths in new directories as they will be."""
        for hidden, put in self._folders.items():
            text = text.replace(hidden, put.normal)
        return text

    def refuse_clash(self, path: str) -> None:
        """Refuse to change a path twice, or below what goes or becomes no directory.

        Raises:
            HostError: `cannot-be-staged`.
        """
        if path in self._changes:
            raise cannot_be_staged(f"'{path}' cannot be changed twice in one set.")
        for folder in parents(path):
            change = self._changes.get(folder)
            if isinstance(change, Removal) or (isinstance(change, Put) and change.kind is not FileKind.DIRECTORY):
                raise cannot_be_staged(f"'{path}' cannot change in one set in which '{folder}' is to be no directory.")

    def going(self, place: Place) -> list[Removal]:
        """Return the removals below a directory that goes itself: they become part of that.

        Raises:
            HostError: `cannot-be-staged`: something else is staged below it.
        """
        normal = place.trail.normal
        below = [change for change in self._changes.values() if normal in parents(change.normal)]
        others = [change.path for change in below if not isinstance(change, Removal)]
        if others:
            raise cannot_be_staged(f"'{place.path}' cannot go in one set with a change of '{others[0]}' below it.")
        return [change for change in below if isinstance(change, Removal)]


def taken_with(takes: tuple[str, ...], place: Place, going: Sequence[Removal]) -> tuple[str, ...]:
    """Return what goes with a directory once removals below it are part of that."""
    found = set(takes)
    for removal in going:
        found.add(place.path + removal.normal[len(place.trail.normal) :])
        found.update(removal.takes or ())
    return tuple(sorted(found))


def cannot_be_staged(detail: str, *, hint: str = "") -> HostError:
    """Return the refusal of what cannot be shown before it is there."""
    return HostError(detail, code="cannot-be-staged", hint=hint)


def incomplete(error: HostError, made: Sequence[Change], rest: Sequence[Change]) -> HostError:
    """Return the failure of a commit that got no further."""

    def named(changes: Sequence[Change]) -> str:
        return ", ".join(f"'{change.path}'" for change in changes) or "nothing"

    return HostError(
        f"{error.detail} Of the set that the checks passed, {named(made)} stands; not yet: {named(rest)}.",
        code="set-incomplete",
        cause=error.cause,
        failure=error.failure,
        hint=error.diagnostics[0].hint or "the next pass judges the whole set again and makes the rest",
    )
