"""Which names a host has. Reads the host; changes nothing."""

import re
from typing import Final

from datum.model.observation import FieldValue, NotApplicable, Observation, Present
from datum.provider.host import FileKind, HostError, HostReader, Missing
from datum_providers.hostname.desired import HOSTNAME, KEY, MACHINE_INFO, DesiredHostname
from datum_providers.hostname.lines import pretty_of, static_of
from datum_providers.shared.kernel import NO_KERNEL, READ_ONLY, kernel_path, seen_value
from datum_providers.shared.other_kinds import in_place_of_file

LIMIT: Final = 1 << 16
"""Bytes of one of the files."""

ALWAYS: Final = "A host always has a name; declare the one that it shall have."

_CLOUD: Final = "/etc/cloud/cloud.cfg"
_CLOUD_FOLDER: Final = "/etc/cloud/cloud.cfg.d"
_PRESERVE: Final = re.compile(r"^preserve_hostname:\s*(\S+)", re.MULTILINE)


def observe_hostname(reader: HostReader, wanted: DesiredHostname) -> Observation:
    """Look at the files and at the running name; of what is declared, or of all where nothing is."""
    is_bare = wanted == DesiredHostname()
    try:
        fields: dict[str, FieldValue] = {}
        if is_bare or wanted.static is not None:
            fields["running"] = _running(reader)
            kind = other_kind(reader, HOSTNAME)
            fields |= {"static_kind": kind} if kind else {"static": static_of(read(reader, HOSTNAME))}
        if is_bare or wanted.pretty is not None:
            kind = other_kind(reader, MACHINE_INFO)
            fields |= {"pretty_kind": kind} if kind else {"pretty": pretty_of(read(reader, MACHINE_INFO))}
        residue = [path for path in paths_of(wanted) if reader.examine(path).has_residue]
        return Present({**fields, **({"residue": True} if residue else {})}, obstacles=(ALWAYS,))
    except HostError as error:
        return error.unobservable()


def paths_of(wanted: DesiredHostname) -> tuple[str, ...]:
    """Return the files that are kept."""
    declared = ((HOSTNAME, wanted.static), (MACHINE_INFO, wanted.pretty))
    return tuple(path for path, value in declared if value is not None)


def other_kind(reader: HostReader, path: str) -> str:
    """Return what stands in the place of a file; empty where that is one, or nothing.

    Raises:
        HostError: it cannot be looked at.
    """
    facts = reader.examine(path)
    return "" if isinstance(facts, Missing) or facts.kind is FileKind.REGULAR else facts.kind.value


def read(reader: HostReader, path: str) -> bytes:
    """Return the bytes of a file; nothing where there is none.

    Raises:
        HostError: it cannot be read, or something else stands there.
    """
    facts = reader.examine(path)
    if isinstance(facts, Missing):
        return b""
    if facts.kind is not FileKind.REGULAR:
        raise HostError(in_place_of_file(path, facts.kind.value), code="not-a-file")
    return reader.read_file(path, limit=LIMIT)


def _running(reader: HostReader) -> FieldValue:
    """Return the running name; a user namespace whose root is not the machine's cannot set it, and owns no key."""
    value = seen_value(reader, KEY)
    if value is None:
        return NO_KERNEL
    if not isinstance(value, NotApplicable):
        facts = reader.examine(kernel_path(KEY))
        if not isinstance(facts, Missing) and facts.uid != 0:
            return READ_ONLY
    return value


def is_set_by_cloud(reader: HostReader) -> bool:
    """Whether cloud-init gives the host a name of its own data at each boot.

    Raises:
        HostError: its configuration cannot be read.
    """
    text = read(reader, _CLOUD)
    if not text:
        return False
    folder = reader.examine(_CLOUD_FOLDER)
    is_folder = not isinstance(folder, Missing) and folder.kind is FileKind.DIRECTORY
    names = reader.list_directory(_CLOUD_FOLDER) if is_folder else ()
    more = (read(reader, f"{_CLOUD_FOLDER}/{name}") for name in names if name.endswith(".cfg"))
    said = [word for one in (text, *more) for word in _PRESERVE.findall(one.decode("utf-8", "replace"))]
    return not said or said[-1].lower() not in {"true", "yes", "on", "1"}
