"""Which keys let somebody in as a user. Reads the host; changes nothing."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.observation import Absent, Cause, FieldValue, Observation, Present
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.authorized_key.desired import DesiredKey
from datum_providers.authorized_key.lines import UNMANAGED, KeyLine, first_of, keys_beside
from datum_providers.authorized_key.sshd import Sshd
from datum_providers.authorized_key.strict import OTHERS_WRITE, Strict
from datum_providers.shared.account_files import AccountFiles, as_json
from datum_providers.shared.other_kinds import in_place_of_file

LIMIT: Final = 4 << 20
"""Bytes of one file of keys."""


@frozen
class Place:
    """Where the keys of a user stand, and whose they are."""

    path: str
    home: str
    # None: there is no such user yet.
    uid: int | None = None
    gid: int | None = None


def observe_keys(reader: HostReader, desired: Mapping[str, DesiredKey]) -> Mapping[str, Observation]:
    """Return what is known of every key."""
    if not desired:
        return {}
    try:
        look = Look(reader, Sshd(reader), AccountFiles.read(reader))
    except HostError as error:
        return dict.fromkeys(desired, error.unobservable())
    return {name: look.at(desired[name]) for name in sorted(desired)}


def place_of(sshd: Sshd, files: AccountFiles, wanted: DesiredKey) -> Place:
    """Return where the keys of a user stand, or will stand once the user is made.

    A home that the target declares counts before the one that the host has: by the turn of the key it is that one.

    Raises:
        HostError: it cannot be told.
    """
    line = files.users.get(wanted.user)
    uid, gid, home = (None, None, f"/home/{wanted.user}") if line is None else (line.uid, line.gid, line.home)
    complaint = files.users.complaint(wanted.user)
    if complaint is not None:
        raise HostError(complaint.detail, cause=Cause.PARSE)
    home = (wanted.home or home).rstrip("/") or "/"
    path = wanted.path if wanted.path is not None else sshd.path_for(wanted.user, uid, home)
    return Place(path, home, uid, gid)


@frozen
class Closed:
    """Why nothing is read or written at the path of a file of keys.

    Its user can bring that about, so it is no failure of the look: only the keys of that user fail.
    """

    detail: str
    # Of what stands there; empty: it is a file, or not known.
    kind: str = ""
    # sshd may find keys there all the same.
    may_grant: bool = True


@frozen
class Look:
    """One observation of many keys; each file is read once."""

    reader: HostReader
    sshd: Sshd
    accounts: AccountFiles
    _read: dict[str, tuple[FileFacts, bytes] | Missing | Closed] = field(factory=dict, init=False)

    def at(self, wanted: DesiredKey) -> Observation:
        """Look at one key."""
        try:
            place = place_of(self.sshd, self.accounts, wanted)
            found = self._file(place.path)
            if wanted.is_of_all:
                return _all(wanted, place, found)
            if isinstance(found, Closed):
                return self._closed(wanted, place, found)
            if isinstance(found, Missing):
                return Absent({**self._around(wanted, place, found), **self._refused(wanted.user, place, None)})
            return self._line(wanted, place, *found)
        except HostError as error:
            return error.unobservable()

    def _line(self, wanted: DesiredKey, place: Place, facts: FileFacts, data: bytes) -> Observation:
        line, count, is_last = first_of(data, wanted.fingerprint)
        if line is None:
            return Absent({**self._around(wanted, place, None), **self._refused(wanted.user, place, facts)})
        fields = _fields(wanted, line, count, facts, is_last=is_last)
        return Present({**fields, **self._refused(wanted.user, place, facts)}, detail=_detail(place, line))

    def _file(self, path: str) -> tuple[FileFacts, bytes] | Missing | Closed:
        if path not in self._read:
            self._read[path] = _look_into(self.reader, path)
        return self._read[path]

    def _closed(self, wanted: DesiredKey, place: Place, found: Closed) -> Observation:
        fields: dict[str, FieldValue] = {"closed": found.detail, **({"kind": found.kind} if found.kind else {})}
        if found.may_grant:
            return Present(fields, obstacles=(found.detail,))
        return Absent({**self._around(wanted, place, None), **fields})

    def _refused(self, user: str, place: Place, facts: FileFacts | None) -> dict[str, FieldValue]:
        """Return because of what sshd would take no key from the file, besides the rights of others to write to it."""
        line = self.accounts.users.get(user)
        if line is None or not self.sshd.is_strict():
            return {}
        return Strict(self.accounts, line, place.home).refused(self.reader, place.path, facts)

    def _around(self, wanted: DesiredKey, place: Place, missing: Missing | None) -> dict[str, FieldValue]:
        """Return what stands in the way of making it: the user, the home, the directory of the file."""
        fields: dict[str, FieldValue] = {"home": place.home, "path": place.path}
        if place.uid is None and wanted.user not in self.accounts.users:
            fields["user_known"] = False
        if missing is not None and missing.first != place.path:
            fields["missing_parent"] = missing.first
        return fields


def _all(wanted: DesiredKey, place: Place, found: tuple[FileFacts, bytes] | Missing | Closed) -> Present:
    """Return which keys stand there that nobody declared."""
    if isinstance(found, Closed) and found.may_grant:
        return Present({"closed": found.detail, **({"kind": found.kind} if found.kind else {})})
    data = found[1] if isinstance(found, tuple) else b""
    beside = keys_beside(data, wanted.listed | wanted.elsewhere)
    return Present({UNMANAGED: tuple(key.shown for key in beside)}, detail={"path": place.path})


def read_keys(reader: HostReader, path: str) -> tuple[FileFacts, bytes] | Missing:
    """Return what stands at the path of a file of keys.

    Raises:
        HostError: it cannot be read, or is none.
    """
    found = _look_into(reader, path)
    if isinstance(found, Closed):
        raise HostError(found.detail, code="not-a-file" if found.kind else "keys-too-large")
    return found


def _look_into(reader: HostReader, path: str) -> tuple[FileFacts, bytes] | Missing | Closed:
    try:
        facts = reader.examine(path)
    except HostError as error:
        if error.cause is not Cause.LOOP:
            raise
        return Closed(error.detail, FileKind.SYMLINK.value)
    if isinstance(facts, Missing):
        return facts
    if facts.kind is not FileKind.REGULAR:
        is_link = facts.kind is FileKind.SYMLINK
        return Closed(in_place_of_file(path, facts.kind.value), facts.kind.value, may_grant=is_link)
    if facts.size > LIMIT:
        return Closed(f"'{path}' is larger than {LIMIT:,} bytes.")
    return facts, reader.read_file(path, limit=LIMIT)


def _fields(wanted: DesiredKey, line: KeyLine, count: int, facts: FileFacts, *, is_last: bool) -> dict[str, FieldValue]:
    is_bare = wanted.kind is None
    fields: dict[str, FieldValue] = {"key": f"{line.kind.decode()} {line.fingerprint}"}
    if is_bare or wanted.options is not None:
        fields["options"] = tuple(_text(option) for option in line.options)
    if is_bare or wanted.comment is not None:
        fields["comment"] = _text(line.comment)
    if count > 1:
        fields["lines"] = count
    if is_last:
        fields["last"] = True
    if int(facts.mode, 8) & OTHERS_WRITE:
        fields["writable_by_others"] = True
    return fields


def _detail(place: Place, line: KeyLine) -> dict[str, str]:
    return {"path": place.path, "line": f"{line.kind.decode()} {line.blob.decode()}"}


def _text(data: bytes) -> str:
    return as_json(data.decode("utf-8", "surrogateescape"))
