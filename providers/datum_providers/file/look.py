"""What stands at the path of a file. Reads the host; changes nothing."""

from attrs import frozen

from datum.model.content import blob_id
from datum.model.json import EMPTY, JsonObject
from datum.model.observation import Absent, FieldValue, Observation, Present, UnsafeFolder
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.file.desired import DesiredFile
from datum_providers.shared.accounts import Accounts
from datum_providers.shared.kinds import in_the_way, seen_parent, seen_residue
from datum_providers.shared.modes import is_for_all, seen_mode
from datum_providers.shared.safety import unsafe_above
from datum_providers.shared.texts import TEXT_LIMIT, text_detail


@frozen
class Look:
    """One observation of many files."""

    reader: HostReader
    accounts: Accounts

    @classmethod
    def through(cls, reader: HostReader) -> "Look":
        """Begin one."""
        return cls(reader, Accounts.of(reader))

    def at(self, wanted: DesiredFile) -> Observation:
        """Look at one file, at no more of it than is wanted."""
        try:
            content = wanted.enforced_content
            facts = self.reader.examine(wanted.path, blob=content.algorithm if content is not None else "")
            unsafe = unsafe_above(self.reader, self.accounts, wanted.path, facts, wanted.owners)
            if isinstance(facts, Missing):
                return Absent(self._fields(wanted, facts) | seen_parent(wanted.path, facts), unsafe)
            if facts.kind is FileKind.REGULAR:
                return self._regular(wanted, facts, unsafe)
            other = in_the_way(self.reader, wanted.path, facts)
            fields = {"kind": other.kind, **self._fields(wanted, facts)}
            return Present(fields, identity=facts.identity, holds=other.holds, mounts=other.mounts, unsafe=unsafe)
        except HostError as error:
            return error.unobservable()

    def _fields(self, wanted: DesiredFile, facts: FileFacts | Missing) -> dict[str, FieldValue]:
        return {**self.accounts.unknown(wanted.owners), **seen_residue(facts)}

    def _regular(self, wanted: DesiredFile, facts: FileFacts, unsafe: tuple[UnsafeFolder, ...]) -> Present:
        fields: dict[str, FieldValue] = {"kind": facts.kind.value}
        detail = self._content(wanted, facts, fields)
        if wanted.is_bare or wanted.mode is not None:
            fields["mode"] = seen_mode(facts)
        fields.update(self.accounts.seen(facts, wanted.owners, is_bare=wanted.is_bare))
        fields.update(seen_residue(facts))
        return Present(fields, detail, facts.identity, unsafe=unsafe)

    def _content(self, wanted: DesiredFile, facts: FileFacts, fields: dict[str, FieldValue]) -> JsonObject:
        """Put the content into the fields, where it is looked at; return the text of one that differs."""
        if wanted.enforced_content is not None:
            fields["content"] = f"blob:{facts.blob}"
            return EMPTY if facts.blob == wanted.enforced_content.blob else self._old_text(wanted.path, facts)
        if not wanted.is_bare or facts.size > TEXT_LIMIT:
            return EMPTY
        try:
            data = self.reader.read_file(wanted.path, limit=TEXT_LIMIT)
        except HostError as error:
            fields["content"] = error.unobservable()
            return EMPTY
        fields["content"] = f"blob:{blob_id(data)}"
        return text_detail(data)

    def _old_text(self, path: str, facts: FileFacts) -> JsonObject:
        if facts.size > TEXT_LIMIT:
            return EMPTY
        try:
            detail = text_detail(self.reader.read_file(path, limit=TEXT_LIMIT + 1))
        except HostError:
            # The difference is known without it; only people miss the lines.
            return EMPTY
        return detail if is_for_all(facts.mode) else {**detail, "private": True}
