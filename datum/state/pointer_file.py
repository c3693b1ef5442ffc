"""The pointer's file: read so that damage is never taken for first contact, written so that a kill leaves old or new.

Rules of design 3.5: JSON of revisions and nothing else, mode 0600; temp file in the same folder, fsync, rename, fsync
of the folder; an equal pointer is not written. A missing file is first contact; anything else that cannot be used is
`StateError`. Effects: this one file and its temp files.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import PermissionRefusedError, SettingsError, StateError
from datum.model.identity import HostName
from datum.model.json import JsonValue
from datum.model.pointer import Pointer, TrailEntry
from datum.model.revision import Revision
from datum.state.folders import sync_folder

FORMAT: Final = 1
"""Version of the file's form that this datum writes, and the only one it reads."""

# A full trail and a thousand quarantined revisions are below 100 kB.
_MAX_BYTES: Final = 1 << 20
_KEYS: Final = (
    "format",
    "fleet",
    "host",
    "enrolled",
    "accepted",
    "trail",
    "previous",
    "converged",
    "quarantined",
    "trial",
    "sealed",
)
_RESTORE: Final = (
    "restore the file from a backup, or move it away: the next command then says how to enrol this host again; it is "
    "forgotten which revisions were enforced here, so what they left is not removed and an older one is not refused"
)


class _DamagedError(ValueError):
    """The bytes are no pointer; the text says why, as the end of a sentence."""


def read_pointer(path: Path) -> Pointer | None:
    """Read the pointer; None when there is no file, which is first contact.

    Raises:
        StateError: the file is there and cannot be used: unsafe, unreadable, damaged, or of a newer datum.
        PermissionRefusedError: the caller may not read it.
    """
    _check_folder(path)
    data = _read_bytes(path)
    if data is None:
        return None
    try:
        return _decode(_parse(data, path))
    except _DamagedError as error:
        raise _state_error(path, "pointer-damaged", "The pointer is damaged", f"{error}", _RESTORE) from None


def write_pointer(path: Path, pointer: Pointer) -> None:
    """Make the file hold `pointer`, durably, or leave it as it was; nothing is written when it does already.

    Raises:
        StateError: what is there cannot be used (it is not overwritten), or the file cannot be written.
    """
    if read_pointer(path) == pointer:
        return
    try:
        _remove_leftovers(path)
        _replace(path, encode_pointer(pointer))
    except OSError as error:
        raise _state_error(
            path,
            "pointer-unwritable",
            "The pointer cannot be written",
            f"writing it failed ({error.strerror}); the old one is still there",
            f"make {path.parent} writable and give it free space, then run datum again",
        ) from error


def check_binding(pointer: Pointer, fleet: str | None, host: HostName) -> None:
    """Refuse a pointer of another fleet or host (design 3.5 X).

    A sealed pointer that is used on the running system is unsealed first, which rebinds its host.

    Args:
        pointer: As it was read.
        fleet: UUID that the configuration pins; None when it pins none.
        host: Name of this host in the configuration.

    Raises:
        SettingsError: the configuration speaks of another fleet or host than the pointer.
    """
    if fleet is not None and fleet != pointer.fleet:
        raise SettingsError(
            Diagnostic(
                code="pointer-of-another-fleet",
                summary="This host is enrolled in another fleet",
                detail=f"The configuration names fleet {fleet}, but the pointer of this host belongs to fleet "
                f"{pointer.fleet}: what that fleet declared may still be on the host.",
                hint="correct the configuration; this version cannot leave a fleet for another",
            )
        )
    if host != pointer.host:
        raise SettingsError(
            Diagnostic(
                code="pointer-of-another-host",
                summary="This host is enrolled under another name",
                detail=f"The configuration calls this host '{host}', but its pointer was written for '{pointer.host}'.",
                hint=f"if the host was renamed, run `datum init --rename {pointer.host}`; else correct the name",
            )
        )


def encode_pointer(pointer: Pointer) -> bytes:
    """Return the bytes of the file: equal pointers give equal bytes."""
    document: Mapping[str, JsonValue] = {
        "format": FORMAT,
        "fleet": pointer.fleet,
        "host": str(pointer.host),
        "enrolled": _key(pointer.enrolled),
        "accepted": _key(pointer.accepted),
        "trail": [{"revision": entry.revision.key, "host": str(entry.host)} for entry in pointer.trail],
        "previous": _key(pointer.previous),
        "converged": _key(pointer.converged),
        "quarantined": [revision.key for revision in pointer.quarantined],
        "trial": _key(pointer.trial),
        "sealed": pointer.sealed,
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _key(revision: Revision | None) -> str | None:
    return None if revision is None else revision.key


# --- reading ---


def _read_bytes(path: Path) -> bytes | None:
    """Read the file without following a link; None when there is none."""
    try:
        # O_NONBLOCK: a FIFO in its place must not hang the pass.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            _refuse_unsafe(path, "it is a symbolic link")
        _refuse_unreadable(path, error)
    try:
        _check_safe(path, os.fstat(descriptor))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(_MAX_BYTES + 1)
    except OSError as error:
        _refuse_unreadable(path, error)
    finally:
        os.close(descriptor)


def _check_folder(path: Path) -> None:
    """Refuse a state directory in which somebody else can take the pointer away, or bring another mirror."""
    try:
        status = path.parent.stat()
    except OSError:
        # None yet, or none that can be reached: reading the file says so.
        return
    own_group = status.st_gid in {0, os.getegid()}
    others = stat.S_IWOTH if own_group else stat.S_IWOTH | stat.S_IWGRP
    if status.st_uid in {0, os.geteuid()} and not status.st_mode & others:
        return
    raise _state_error(
        path.parent,
        "state-unsafe",
        "The state directory cannot be trusted",
        f"others than root and the caller can write in it (user {status.st_uid}, group {status.st_gid}, "
        f"mode {stat.S_IMODE(status.st_mode):04o}), so they can take the pointer away and put another mirror there",
        f"find out who did; then `chown root {path.parent}` and `chmod go-w {path.parent}`, and run datum again",
    )


def _check_safe(path: Path, status: os.stat_result) -> None:
    """Refuse what somebody else could have written."""
    if not stat.S_ISREG(status.st_mode):
        _refuse_unsafe(path, "it is not a regular file")
    if status.st_uid not in {0, os.geteuid()}:
        _refuse_unsafe(path, f"it belongs to user {status.st_uid}, neither to root nor to the user who runs datum")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        _refuse_unsafe(path, f"others can write it (mode {stat.S_IMODE(status.st_mode):04o})")


def _refuse_unsafe(path: Path, why: str) -> NoReturn:
    raise _state_error(
        path,
        "pointer-unsafe",
        "The pointer cannot be trusted",
        f"{why}, so it may not say what datum wrote",
        f"find out who changed it; then make it a regular file of root with mode 0600, or {_RESTORE}",
    )


def _refuse_unreadable(path: Path, error: OSError) -> NoReturn:
    found = _state_error(
        path,
        "pointer-unreadable",
        "The pointer cannot be read",
        f"reading it failed ({error.strerror})",
        "run datum as the user who owns it (root on a running system), and check the disk",
    )
    if error.errno in {errno.EACCES, errno.EPERM} and os.geteuid() != 0:
        raise PermissionRefusedError(*found.diagnostics) from error
    raise found from error


def _parse(data: bytes, path: Path) -> Mapping[str, JsonValue]:
    """Return the whole document, of this format."""
    if len(data) > _MAX_BYTES:
        raise _DamagedError(f"it is larger than {_MAX_BYTES} bytes")
    if not data.strip():
        raise _DamagedError("it is empty")
    try:
        document = json.loads(data.decode(), object_pairs_hook=_unique)
    except _DamagedError:
        raise
    except (ValueError, RecursionError) as error:
        raise _DamagedError(f"it is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _DamagedError("it holds no JSON object")
    _check_format(document.get("format"), path)
    missing = [key for key in _KEYS if key not in document]
    unknown = sorted(set(document) - set(_KEYS))
    if missing or unknown:
        raise _DamagedError("; ".join([f"'{key}' is missing" for key in missing] + [f"unknown {k!r}" for k in unknown]))
    return document


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _DamagedError("it says a key twice")
    return document


def _check_format(value: JsonValue, path: Path) -> None:
    if type(value) is not int or value < 1:
        raise _DamagedError("'format' is no format number")
    if value > FORMAT:
        raise _state_error(
            path,
            "pointer-of-newer-datum",
            "A newer datum wrote the pointer",
            f"it has format {value}, and this datum reads format {FORMAT} only",
            "install the datum that wrote it, or a newer one; nothing is wrong with the file",
        )


def _decode(document: Mapping[str, JsonValue]) -> Pointer:
    pointer = Pointer(
        fleet=_text(document["fleet"], "fleet"),
        host=_host(document["host"], "host"),
        enrolled=_optional(document, "enrolled"),
        accepted=_optional(document, "accepted"),
        trail=tuple(_entry(item, f"trail[{index}]") for index, item in enumerate(_list(document, "trail"))),
        previous=_optional(document, "previous"),
        converged=_optional(document, "converged"),
        quarantined=tuple(
            _revision(item, f"quarantined[{index}]") for index, item in enumerate(_list(document, "quarantined"))
        ),
        trial=_optional(document, "trial"),
        sealed=_flag(document["sealed"], "sealed"),
    )
    _check_consistent(pointer)
    return pointer


def _check_consistent(pointer: Pointer) -> None:
    """Refuse what no sequence of writes of design 3.5 leaves behind."""
    if (pointer.enrolled is None) != (pointer.accepted is None):
        raise _DamagedError("'enrolled' and 'accepted' are set together, and one of them is not")
    if pointer.accepted is None and pointer.trail:
        raise _DamagedError("'trail' holds revisions although none was ever accepted")
    for name in ("previous", "converged", "trial"):
        if not pointer.trail and getattr(pointer, name) is not None:
            raise _DamagedError(f"'{name}' is set although 'trail' is empty")


def _text(value: JsonValue, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise _DamagedError(f"'{where}' is no text")
    return value


def _flag(value: JsonValue, where: str) -> bool:
    if not isinstance(value, bool):
        raise _DamagedError(f"'{where}' is neither true nor false")
    return value


def _list(document: Mapping[str, JsonValue], where: str) -> list[JsonValue]:
    value = document[where]
    if not isinstance(value, list):
        raise _DamagedError(f"'{where}' is no list")
    return value


def _host(value: JsonValue, where: str) -> HostName:
    text = _text(value, where)
    try:
        return HostName(text)
    except ValueError as error:
        raise _DamagedError(f"'{where}': {error}") from error


def _revision(value: JsonValue, where: str) -> Revision:
    text = _text(value, where)
    # The pointer stores no ref: nothing but the commit takes part in a decision.
    if "@" in text:
        raise _DamagedError(f"'{where}' names a ref")
    try:
        return Revision.parse(text)
    except ValueError as error:
        raise _DamagedError(f"'{where}': {error}") from error


def _optional(document: Mapping[str, JsonValue], where: str) -> Revision | None:
    value = document[where]
    return None if value is None else _revision(value, where)


def _entry(value: JsonValue, where: str) -> TrailEntry:
    if not isinstance(value, dict) or set(value) != {"revision", "host"}:
        raise _DamagedError(f"'{where}' is not a revision and a host")
    return TrailEntry(_revision(value["revision"], f"{where}.revision"), _host(value["host"], f"{where}.host"))


# --- writing ---


def _replace(path: Path, data: bytes) -> None:
    """Write a new file beside `path`, make it durable, and put it in its place."""
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600)
            with os.fdopen(descriptor, "wb", closefd=False) as stream:
                stream.write(data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def _remove_leftovers(path: Path) -> None:
    """Remove the temp files of writes that were killed; the caller holds the pass lock, so none is in use."""
    ours = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{16}\.tmp")
    for name in os.listdir(path.parent):  # noqa: PTH208 - names only; nothing is looked at
        if ours.fullmatch(name):
            path.with_name(name).unlink(missing_ok=True)


def _state_error(path: Path, code: str, summary: str, why: str, hint: str) -> StateError:
    return StateError(
        Diagnostic(
            code=code,
            summary=summary,
            detail=f"{path}: {why}.",
            hint=hint,
            location=SourceLocation(str(path)),
        )
    )
