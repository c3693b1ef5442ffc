"""Which time zone a host has. Reads the host; changes nothing."""

from typing import Final

from datum.model.observation import FieldValue, Observation, Present
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.timezone.desired import LOCALTIME, TIMEZONE, DesiredTimezone
from datum_providers.timezone.zones import canonical, is_known, near, zone_of

ALWAYS: Final = "A host always has a time zone; declare the one that it shall have."
LIMIT: Final = 4096
"""Bytes of /etc/timezone."""


def observe_timezone(reader: HostReader, wanted: DesiredTimezone) -> Observation:
    """Look at the link, at /etc/timezone where it is, and whether there is the zone that is wanted."""
    try:
        local, named = reader.examine(LOCALTIME), reader.examine(TIMEZONE)
        fields = {**_link(reader, wanted, local), **_name(reader, wanted, named), **_known(reader, wanted)}
        residue = {"residue": True} if local.has_residue or named.has_residue else {}
        return Present({**fields, **residue}, detail=_detail(local), obstacles=(ALWAYS,))
    except HostError as error:
        return error.unobservable()


def _link(reader: HostReader, wanted: DesiredTimezone, facts: FileFacts | Missing) -> dict[str, FieldValue]:
    if isinstance(facts, Missing):
        return {"kind": None, "zone": None}
    if facts.kind is FileKind.SYMLINK:
        zone = zone_of(LOCALTIME, facts.link)
        return {"kind": facts.kind.value, "zone": zone if zone is None else _as_wanted(reader, wanted, zone)}
    return {"kind": facts.kind.value, "zone": None, **({"mounted": True} if facts.is_mount_point else {})}


def _name(reader: HostReader, wanted: DesiredTimezone, facts: FileFacts | Missing) -> dict[str, FieldValue]:
    """Return what /etc/timezone says; nothing where it is not, or is a link to something else."""
    if isinstance(facts, Missing) or facts.kind is not FileKind.REGULAR:
        return {}
    text = reader.read_file(TIMEZONE, limit=LIMIT).decode("utf-8", "backslashreplace").strip()
    return {"etc_timezone": _as_wanted(reader, wanted, text) if _is_name(text) else text}


def _is_name(text: str) -> bool:
    return bool(text) and not any(part in {"", ".", ".."} for part in text.split("/")) and "\n" not in text


def _as_wanted(reader: HostReader, wanted: DesiredTimezone, zone: str) -> str:
    """Return the wanted name where a zone has two of which this is the other, so that neither is ever drift."""
    if wanted.zone is None or zone == wanted.zone:
        return zone
    return wanted.zone if canonical(reader, zone) == canonical(reader, wanted.zone) else zone


def _known(reader: HostReader, wanted: DesiredTimezone) -> dict[str, FieldValue]:
    if wanted.zone is None or is_known(reader, wanted.zone):
        return {}
    return {"zone_known": False, "near": near(reader, wanted.zone)}


def _detail(facts: FileFacts | Missing) -> dict[str, str]:
    return {"link": facts.link} if isinstance(facts, FileFacts) and facts.link.isprintable() and facts.link else {}
