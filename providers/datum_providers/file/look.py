"""What stands at the path of a file. Reads the host; changes nothing."""

import stat
from collections.abc import Callable, Mapping
from typing import Final

from attrs import field, frozen

from datum.model.content import Content, blob_id
from datum.model.json import EMPTY, JsonObject
from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.file.desired import DesiredFile, is_number

TEXT_LIMIT: Final = 64 * 1024
"""Bytes of a text that is kept for the diff that people read."""

NO_OWNERS: Final = NotApplicable("no-owners")
NO_MODES: Final = NotApplicable("no-modes")


@frozen
class Accounts:
    """Users, or groups, of the host; each asked for once."""

    number_of: Callable[[str], int | None]
    name_of: Callable[[int], str]
    _numbers: dict[str, int | None] = field(factory=dict, init=False)
    _names: dict[int, str] = field(factory=dict, init=False)

    def number(self, account: str) -> int | None:
        """Return the id of a name, or of its digits; None when the host has no such name."""
        if account not in self._numbers:
            self._numbers[account] = int(account) if is_number(account) else self.number_of(account)
        return self._numbers[account]

    def spelling(self, number: int, wanted: str | None) -> str:
        """Return an account as it is wanted if it is that one, else its name; accounts are compared by id."""
        if wanted is not None:
            if self.number(wanted) == number:
                return wanted
            if is_number(wanted):
                return str(number)
        if number not in self._names:
            self._names[number] = self.name_of(number)
        return self._names[number]


@frozen
class Look:
    """One observation of many files."""

    reader: HostReader
    users: Accounts
    groups: Accounts

    @classmethod
    def through(cls, reader: HostReader) -> "Look":
        """Begin one."""
        return cls(
            reader,
            Accounts(reader.user_id, reader.user_name),
            Accounts(reader.group_id, reader.group_name),
        )

    def at(self, wanted: DesiredFile) -> Observation:
        """Look at one file, at no more of it than is wanted."""
        try:
            algorithm = wanted.content.algorithm if wanted.content is not None else ""
            facts = self.reader.examine(wanted.path, blob=algorithm)
            if isinstance(facts, Missing):
                return self._absent(wanted, facts)
            if facts.kind is FileKind.REGULAR:
                return self._regular(wanted, facts)
            fields = {"kind": facts.kind.value, **self._unknown(wanted), **_residue(facts)}
            return Present(fields, identity=facts.identity)
        except HostError as error:
            return error.unobservable()

    def _absent(self, wanted: DesiredFile, facts: Missing) -> Absent:
        fields: dict[str, FieldValue] = {**self._unknown(wanted), **_residue(facts)}
        if facts.first != wanted.path:
            fields["missing_parent"] = facts.first
        return Absent(fields)

    def _regular(self, wanted: DesiredFile, facts: FileFacts) -> Present:
        fields: dict[str, FieldValue] = {"kind": facts.kind.value}
        detail = self._content(wanted, facts, fields)
        if wanted.is_bare or wanted.mode is not None:
            fields["mode"] = NO_MODES if "mode" in facts.without else facts.mode
        fields.update(self._accounts(wanted, facts))
        fields.update(_residue(facts))
        return Present(fields, detail, facts.identity)

    def _accounts(self, wanted: DesiredFile, facts: FileFacts) -> Mapping[str, FieldValue]:
        has_owners = "owner" not in facts.without
        fields: dict[str, FieldValue] = {}
        if wanted.is_bare or wanted.owner is not None:
            fields["owner"] = self.users.spelling(facts.uid, wanted.owner) if has_owners else NO_OWNERS
        if wanted.is_bare or wanted.group is not None:
            fields["group"] = self.groups.spelling(facts.gid, wanted.group) if has_owners else NO_OWNERS
        if has_owners:
            fields.update(self._unknown(wanted))
        return fields

    def _content(self, wanted: DesiredFile, facts: FileFacts, fields: dict[str, FieldValue]) -> JsonObject:
        """Put the content into the fields, where it is looked at; return the text of one that differs."""
        if wanted.content is not None:
            fields["content"] = f"blob:{facts.blob}"
            return EMPTY if facts.blob == wanted.content.blob else self._old_text(wanted.path, facts)
        if not wanted.is_bare or facts.size > TEXT_LIMIT:
            return EMPTY
        try:
            data = self.reader.read_file(wanted.path, limit=TEXT_LIMIT)
        except HostError as error:
            fields["content"] = error.unobservable()
            return EMPTY
        fields["content"] = f"blob:{blob_id(data)}"
        return _text_detail(data)

    def _unknown(self, wanted: DesiredFile) -> Mapping[str, FieldValue]:
        fields: dict[str, FieldValue] = {}
        if wanted.owner is not None and self.users.number(wanted.owner) is None:
            fields["owner_known"] = False
        if wanted.group is not None and self.groups.number(wanted.group) is None:
            fields["group_known"] = False
        return fields

    def _old_text(self, path: str, facts: FileFacts) -> JsonObject:
        if facts.size > TEXT_LIMIT:
            return EMPTY
        try:
            detail = _text_detail(self.reader.read_file(path, limit=TEXT_LIMIT + 1))
        except HostError:
            # The difference is known without it; only people miss the lines.
            return EMPTY
        return detail if is_for_all(facts.mode) else {**detail, "private": True}


def is_for_all(mode: str) -> bool:
    """Whether everybody may read a file of this mode."""
    return bool(int(mode, 8) & stat.S_IROTH)


def text_of(data: bytes) -> str | None:
    """Return bytes as the text that a diff can show; None when they are none, or too many."""
    if len(data) > TEXT_LIMIT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def new_text(content: Content) -> str | None:
    """Return the text of a content whose bytes are at hand."""
    return None if content.inline is None else text_of(content.inline)


def _text_detail(data: bytes) -> JsonObject:
    text = text_of(data)
    return EMPTY if text is None else {"text": text}


def _residue(facts: FileFacts | Missing) -> Mapping[str, FieldValue]:
    return {"residue": True} if facts.has_residue else {}
