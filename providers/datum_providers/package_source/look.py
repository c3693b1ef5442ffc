"""What stands at the places of a source and its key. Reads the host; changes nothing."""

import hashlib
from typing import Final

from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.provider.host import HostError, HostReader, Missing
from datum_providers.package_source.desired import SOURCES, DesiredSource
from datum_providers.package_source.openpgp import armor, dearmor, fingerprints
from datum_providers.package_source.stanza import read_stanza
from datum_providers.shared.root_files import NONE, REGULAR, SeenFile, see_file
from datum_providers.shared.texts import TEXT_LIMIT, text_detail

KEY: Final = "key_"
"""Prefix of what is seen of the file of the key."""

_KEY_LIMIT: Final = 8 * 1024 * 1024


def digest_of(packets: bytes) -> str:
    """Return what keys are compared by."""
    return f"sha256:{hashlib.sha256(packets).hexdigest()}"


def observe_source(reader: HostReader, wanted: DesiredSource) -> Observation:
    """Look at one source, and at its key where that is its own."""
    try:
        source = see_file(reader, wanted.path, limit=TEXT_LIMIT)
        key = see_file(reader, wanted.key_path, prefix=KEY, limit=_KEY_LIMIT) if wanted.has_key else None
        missing = _missing(reader, wanted, source)
    except HostError as error:
        return error.unobservable()
    is_nothing = source.fields["kind"] == NONE and (key is None or key.fields[f"{KEY}kind"] == NONE)
    residue = {"residue": True} if any(one is not None and "residue" in one.fields for one in (source, key)) else {}
    if is_nothing:
        return Absent({**residue, **missing})
    fields: dict[str, FieldValue] = {**source.fields, **_stanza(source), **missing, **residue}
    if key is None:
        return Present(fields, _text(source), source.identity, holds=source.holds, mounts=source.mounts)
    fields.update(key.fields)
    fields["key"] = _key(key)
    detail = {**_text(source), **(_armoured(key) if wanted.stanza is None else {})}
    holds = tuple(sorted((*source.holds, *key.holds)))
    return Present(fields, detail, source.identity, holds=holds, mounts=(*source.mounts, *key.mounts))


def _missing(reader: HostReader, wanted: DesiredSource, source: SeenFile) -> dict[str, FieldValue]:
    """Return what is missing that others bring: the directory of sources, a keyring that is not its own."""
    fields: dict[str, FieldValue] = {}
    if source.first_missing not in {"", wanted.path}:
        fields["missing_parent"] = SOURCES
    if wanted.keyring and isinstance(reader.examine(wanted.keyring), Missing):
        fields["keyring_known"] = False
    return fields


def _stanza(source: SeenFile) -> dict[str, FieldValue]:
    if source.data is None:
        return {}
    stanza = read_stanza(source.data)
    return {"readable": False} if stanza is None else dict(stanza.normal())


def _text(source: SeenFile) -> dict[str, str]:
    found = text_detail(source.data).get("text") if source.data is not None else None
    return {"text": found} if isinstance(found, str) else {}


def _key(key: SeenFile) -> FieldValue:
    """Return the digest of the packets; of what is no key the bytes are as good, and of nothing nothing."""
    if key.fields[f"{KEY}kind"] != REGULAR or key.data is None:
        return None
    try:
        return digest_of(dearmor(key.data))
    except ValueError:
        return digest_of(key.data)


def _armoured(key: SeenFile) -> dict[str, str]:
    """Return the key as a text that declares it; nothing of what is none."""
    try:
        packets = dearmor(key.data or b"")
        fingerprints(packets)
    except ValueError:
        return {}
    return {"key": armor(packets)}
