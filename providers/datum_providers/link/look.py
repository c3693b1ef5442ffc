"""What stands at the path of a link. Reads the host; changes nothing."""

from attrs import evolve, frozen

from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.link.desired import DesiredLink, text_of
from datum_providers.shared.accounts import Accounts
from datum_providers.shared.kinds import in_the_way, seen_parent, seen_residue
from datum_providers.shared.safety import unsafe_above


@frozen
class Look:
    """One observation of many links."""

    reader: HostReader
    accounts: Accounts

    @classmethod
    def through(cls, reader: HostReader) -> "Look":
        """Begin one."""
        return cls(reader, Accounts.of(reader))

    def at(self, wanted: DesiredLink) -> Observation:
        """Look at one link, never at what it leads to."""
        try:
            facts = self.reader.examine(wanted.path)
            unsafe = unsafe_above(self.reader, self.accounts, wanted.path, facts, wanted.owners)
            if isinstance(facts, Missing):
                return Absent(self._fields(wanted, facts) | seen_parent(wanted.path, facts), unsafe)
            if facts.kind is FileKind.SYMLINK:
                return evolve(self._link(wanted, facts), unsafe=unsafe)
            other = in_the_way(self.reader, wanted.path, facts)
            fields = {"kind": other.kind, **self._fields(wanted, facts)}
            return Present(fields, identity=facts.identity, holds=other.holds, mounts=other.mounts, unsafe=unsafe)
        except HostError as error:
            return error.unobservable()

    def _fields(self, wanted: DesiredLink, facts: FileFacts | Missing) -> dict[str, FieldValue]:
        return {**self.accounts.unknown(wanted.owners), **seen_residue(facts)}

    def _link(self, wanted: DesiredLink, facts: FileFacts) -> Present:
        fields: dict[str, FieldValue] = {"kind": facts.kind.value}
        if wanted.is_bare or wanted.target is not None:
            fields["target"] = text_of(facts.link)
        fields.update(self.accounts.seen(facts, wanted.owners, is_bare=wanted.is_bare))
        fields.update(seen_residue(facts))
        return Present(fields, identity=facts.identity)
