"""What stands at the path of a directory, and in it where that matters. Reads the host; changes nothing."""

from typing import Final

from attrs import evolve, frozen

from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.model.plan import RESIDUE
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.directory.below import strangers_below
from datum_providers.directory.desired import DesiredDirectory
from datum_providers.shared.accounts import Accounts, Owners
from datum_providers.shared.exclusive import survey
from datum_providers.shared.kept import kept_detail
from datum_providers.shared.kinds import in_the_way, seen_parent, seen_residue
from datum_providers.shared.modes import seen_mode
from datum_providers.shared.places import guards_access_below
from datum_providers.shared.safety import unsafe_above

NAMED: Final = 1000
"""Paths of others that are named one by one; what follows is counted."""

# No file's.
_NOBODY: Final = -1


@frozen
class Look:
    """One observation of many directories."""

    reader: HostReader
    accounts: Accounts

    @classmethod
    def through(cls, reader: HostReader) -> "Look":
        """Begin one."""
        return cls(reader, Accounts.of(reader))

    def at(self, wanted: DesiredDirectory) -> Observation:
        """Look at one directory, at no more of it than is wanted."""
        try:
            facts = self.reader.examine(wanted.path)
            unsafe = unsafe_above(self.reader, self.accounts, wanted.path, facts, wanted.owners)
            if isinstance(facts, Missing):
                fields = {**self.accounts.unknown(wanted.owners), **seen_residue(facts)}
                return Absent(fields | seen_parent(wanted.path, facts), unsafe)
            if facts.kind is FileKind.DIRECTORY:
                return evolve(self._directory(wanted, facts), unsafe=unsafe)
            other = in_the_way(self.reader, wanted.path, facts)
            fields = {"kind": other.kind, **self.accounts.unknown(wanted.owners), **seen_residue(facts)}
            return Present(fields, identity=facts.identity, mounts=other.mounts, unsafe=unsafe)
        except HostError as error:
            return error.unobservable()

    def _directory(self, wanted: DesiredDirectory, facts: FileFacts) -> Present:
        fields: dict[str, FieldValue] = {"kind": facts.kind.value}
        kept: dict[str, str] = {}
        if wanted.is_bare or wanted.mode is not None:
            fields["mode"] = seen_mode(facts)
        fields.update(self.accounts.seen(facts, wanted.owners, is_bare=wanted.is_bare))
        takes = self._unmanaged(wanted, fields, kept) if wanted.exclusive else ()
        if wanted.recursive and "owner" not in facts.without:
            self._strangers(wanted, takes, fields, kept)
        fields.update(seen_residue(facts))
        return Present(fields, kept_detail(wanted.path, kept), facts.identity)

    def _strangers(
        self, wanted: DesiredDirectory, takes: tuple[str, ...], fields: dict[str, FieldValue], kept: dict[str, str]
    ) -> None:
        owners = wanted.owners_below
        # Nothing belongs to an account that does not exist yet.
        uid, gid = (
            None if account is None else _first(names.number(account), _NOBODY)
            for names, account in ((self.accounts.users, owners.owner), (self.accounts.groups, owners.group))
        )
        found = strangers_below(self.reader, wanted, uid, gid, going=takes)
        kept.update(found.kept)
        if not found.paths:
            fields["recursive"] = owners_words(wanted)
            return
        fields["recursive"] = found.words(wanted.path)
        # What the step costs hangs on a way in: it is named however many there are.
        named = sorted(found.paths, key=lambda path: not guards_access_below(path))[:NAMED]
        fields["strangers"] = {path: self._owners(owners, *found.owners[path]) for path in named}

    def _owners(self, wanted: Owners, uid: int, gid: int) -> str:
        """Return who owns what is of others, as far as that shall change."""
        owner = None if wanted.owner is None else self.accounts.users.spelling(uid, wanted.owner)
        group = None if wanted.group is None else self.accounts.groups.spelling(gid, wanted.group)
        return ":".join(account for account in (owner, group) if account is not None)

    def _unmanaged(
        self, wanted: DesiredDirectory, fields: dict[str, FieldValue], kept: dict[str, str]
    ) -> tuple[str, ...]:
        found = survey(self.reader, wanted.domain)
        kept.update(found.kept)
        unmanaged = {**dict(found.topmost), **dict.fromkeys(found.swept, RESIDUE)}
        if unmanaged:
            fields["unmanaged"] = dict(sorted(unmanaged.items()))
        if found.takes:
            fields["takes"] = found.takes
        return found.takes


def _first(number: int | None, other: int) -> int:
    return other if number is None else number


def owners_words(wanted: DesiredDirectory) -> str:
    """Return who owns everything below, for people."""
    owners = wanted.owners_below
    return ":".join(account for account in (owners.owner, owners.group) if account is not None)
