"""Carry out one step on one key: read the file, change one line, write it. Changes the host."""

from typing import Final

from datum.model.content import Content
from datum.model.plan import Operation, Step
from datum.model.result import FailureCause
from datum.provider.host import DirectoryWrite, FileFacts, FileWrite, HostError, HostWriter, Missing
from datum.provider.paths import parents
from datum_providers.authorized_key.desired import DesiredKey, wanted_line
from datum_providers.authorized_key.lines import first_of, with_line, without_key, without_keys_beside
from datum_providers.authorized_key.look import Place, place_of, read_keys
from datum_providers.authorized_key.sshd import Sshd, is_below_home
from datum_providers.authorized_key.strict import OPEN_FOLDER, OTHERS_WRITE, is_made_along
from datum_providers.shared.account_files import AccountFiles

# What StrictModes of sshd_config(5) asks for: nobody else writes there.
_FILE_MODE: Final = "0600"
_FOLDER_MODE: Final = "0700"
# Elsewhere root owns the file, and sshd reads it as the user.
_SHARED_MODE: Final = "0644"


def apply_key(writer: HostWriter, desired: DesiredKey, step: Step) -> None:
    """Do the step; every other line of the file stays as it is, byte for byte.

    Raises:
        HostError: it failed, and the file is as it was.
    """
    place = place_of(Sshd(writer), AccountFiles.read(writer), desired)
    found = read_keys(writer, place.path)
    facts, before = (None, b"") if isinstance(found, Missing) else found
    if desired.is_of_all:
        if facts is not None:
            _write(writer, place, facts, _without_others(desired, place, before, step))
        return
    if any(change.name == OPEN_FOLDER for change in step.changes):
        _close_folder(writer, place)
    if step.operation is Operation.DELETE:
        if facts is not None:
            _write(writer, place, facts, without_key(before, desired.fingerprint))
    else:
        _set_line(writer, desired, place, found)


def _set_line(writer: HostWriter, desired: DesiredKey, place: Place, found: tuple[FileFacts, bytes] | Missing) -> None:
    facts, before = (None, b"") if isinstance(found, Missing) else found
    line = wanted_line(desired, first_of(before, desired.fingerprint)[0])
    if line is None:
        raise HostError(
            f"Only the fingerprint {desired.fingerprint} is declared, so the key cannot be made.",
            failure=FailureCause.IMPOSSIBLE,
        )
    if facts is None:
        _make_folder(writer, place)
    after = with_line(before, line)
    if facts is not None and after == before:
        writer.set_attributes(place.path, mode=_strict(facts))
    else:
        _write(writer, place, facts, after)


def _without_others(desired: DesiredKey, place: Place, before: bytes, step: Step) -> bytes:
    """Return the file without the keys that the step tells of.

    Raises:
        HostError: none of the declared ones is there.
    """
    if desired.listed and not any(first_of(before, fingerprint)[0] for fingerprint in desired.listed):
        raise HostError(
            f"None of the keys that are declared for {desired.user} stands in '{place.path}', so the others stay: "
            "nobody would come in by key.",
            code="no-declared-key",
        )
    told = {str(text) for change in step.changes if isinstance(change.before, (list, tuple)) for text in change.before}
    return without_keys_beside(before, desired.listed | desired.elsewhere, told)


def _write(writer: HostWriter, place: Place, facts: FileFacts | None, data: bytes) -> None:
    """Write the file as it was owned, else as the user's below the home, and as the caller's elsewhere."""
    is_own = is_below_home(place.path, place.home)
    if facts is not None:
        wanted = FileWrite(Content.from_bytes(data), _strict(facts), facts.uid, facts.gid)
    elif is_own:
        wanted = FileWrite(Content.from_bytes(data), _FILE_MODE, place.uid, place.gid)
    else:
        wanted = FileWrite(Content.from_bytes(data), _SHARED_MODE)
    writer.write_file(place.path, wanted)


def _strict(facts: FileFacts) -> str:
    return f"{int(facts.mode, 8) & ~OTHERS_WRITE:04o}"


def _make_folder(writer: HostWriter, place: Place) -> None:
    """Make the directory of the file where it lies right in the home, as `.ssh` does."""
    folder = parents(place.path)[0]
    if is_made_along(folder, place.home) and isinstance(writer.examine(folder), Missing):
        writer.make_directory(folder, DirectoryWrite(_FOLDER_MODE, place.uid, place.gid))


def _close_folder(writer: HostWriter, place: Place) -> None:
    """Take from others the right to write to that directory: a file could be exchanged in it."""
    folder = parents(place.path)[0]
    facts = writer.examine(folder)
    if is_made_along(folder, place.home) and isinstance(facts, FileFacts):
        writer.set_attributes(folder, mode=_strict(facts))
