"""What stands at the path of a directory, and in it where that matters. Reads the host; changes nothing."""

from attrs import frozen

from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.directory.below import strangers_below
from datum_providers.directory.desired import DesiredDirectory
from datum_providers.shared.accounts import Accounts
from datum_providers.shared.exclusive import survey
from datum_providers.shared.kept import kept_detail
from datum_providers.shared.kinds import in_the_way, seen_parent, seen_residue
from datum_providers.shared.modes import seen_mode


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
            if isinstance(facts, Missing):
                fields = {**self.accounts.unknown(wanted.owners), **seen_residue(facts)}
                return Absent(fields | seen_parent(wanted.path, facts))
            if facts.kind is FileKind.DIRECTORY:
                return self._directory(wanted, facts)
            other = in_the_way(self.reader, wanted.path, facts)
            fields = {"kind": other.kind, **self.accounts.unknown(wanted.owners), **seen_residue(facts)}
            return Present(fields, identity=facts.identity, mounts=other.mounts)
        except HostError as error:
            return error.unobservable()

    def _directory(self, wanted: DesiredDirectory, facts: FileFacts) -> Present:
        fields: dict[str, FieldValue] = {"kind": facts.kind.value}
        kept: dict[str, str] = {}
        if wanted.is_bare or wanted.mode is not None:
            fields["mode"] = seen_mode(facts)
        fields.update(self.accounts.seen(facts, wanted.owners, is_bare=wanted.is_bare))
        if wanted.recursive and "owner" not in facts.without:
            self._strangers(wanted, fields, kept)
        if wanted.exclusive:
            self._unmanaged(wanted, fields, kept)
        fields.update(seen_residue(facts))
        return Present(fields, kept_detail(wanted.path, kept), facts.identity)

    def _strangers(self, wanted: DesiredDirectory, fields: dict[str, FieldValue], kept: dict[str, str]) -> None:
        owners = wanted.owners_below
        uid = self.accounts.users.number(owners.owner) if owners.owner is not None else None
        gid = self.accounts.groups.number(owners.group) if owners.group is not None else None
        if (uid is None) is (owners.owner is not None) or (gid is None) is (owners.group is not None):
            # Nothing belongs to an account that does not exist yet.
            fields["recursive"] = "of others"
            return
        found = strangers_below(self.reader, wanted, uid, gid)
        kept.update(found.kept)
        fields["recursive"] = found.words(wanted.path) if found.paths else owners_words(wanted)

    def _unmanaged(self, wanted: DesiredDirectory, fields: dict[str, FieldValue], kept: dict[str, str]) -> None:
        found = survey(self.reader, wanted.domain)
        kept.update(found.kept)
        if found.takes:
            fields["unmanaged"] = dict(found.topmost)
            fields["takes"] = found.takes


def owners_words(wanted: DesiredDirectory) -> str:
    """Return who owns everything below, for people."""
    owners = wanted.owners_below
    return ":".join(account for account in (owners.owner, owners.group) if account is not None)
