"""What was observed, as attributes that declare it. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from datum.model.json import JsonValue
from datum.model.observation import Present
from datum.provider.contract import DesiredError
from datum.provider.host import FileKind
from datum_providers.shared.kinds import EMPTY_DIRECTORY, EMPTY_FILE

KINDS: Final[Mapping[str, str]] = {
    FileKind.REGULAR.value: "a regular file",
    FileKind.DIRECTORY.value: "a directory",
    FileKind.SYMLINK.value: "a symbolic link",
    FileKind.FIFO.value: "a named pipe",
    FileKind.SOCKET.value: "a socket",
    FileKind.BLOCK_DEVICE.value: "a block device",
    FileKind.CHARACTER_DEVICE.value: "a character device",
    EMPTY_FILE: "an empty file",
    EMPTY_DIRECTORY: "an empty directory",
}
"""What stands at a path, as a sentence names it."""

_TYPES: Final[Mapping[str, str]] = {
    FileKind.REGULAR.value: "file",
    EMPTY_FILE: "file",
    FileKind.DIRECTORY.value: "directory",
    EMPTY_DIRECTORY: "directory",
    FileKind.SYMLINK.value: "link",
}


def adopted_fields(name: str, observed: Present, kind: FileKind, fields: Iterable[str]) -> dict[str, JsonValue]:
    """Return those of some fields that have a text.

    Raises:
        DesiredError: something of another kind stands there.
    """
    found = observed.fields.get("kind")
    if found != kind.value:
        own = KINDS[kind.value].partition(" ")[2]
        # Names of files of systemd, cron and apt are no paths.
        place = f"at {name}" if name.startswith("/") else f"in the place of {name}"
        words = KINDS.get(str(found))
        detail = f"no {own} stands {place}." if words is None else f"{words} stands {place}, and no {own}."
        raise DesiredError("", detail, hint=_hint(found, name))
    values = {field: observed.fields.get(field) for field in fields}
    return {field: value for field, value in values.items() if isinstance(value, str)}


def _hint(found: object, name: str) -> str:
    type_name = _TYPES.get(str(found)) if name.startswith("/") else None
    return f"datum adopt {type_name}:{name}" if type_name else ""
