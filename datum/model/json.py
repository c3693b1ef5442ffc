"""JSON values, frozen; canonical bytes for digests. Pure."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]

EMPTY: JsonObject = MappingProxyType({})

# The greatest integer that a double carries, and the ones below it (RFC 7493, 2.2).
_SAFE: Final = 2**53 - 1


def freeze(value: JsonValue) -> JsonValue:
    """Return an equal value of tuples and read-only mappings."""
    if isinstance(value, str) or not isinstance(value, (Mapping, Sequence)):
        return value
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    return tuple(freeze(item) for item in value)


def thaw(value: JsonValue) -> JsonValue:
    """Return an equal value of lists and dicts, as `json.dumps` wants them."""
    if isinstance(value, str) or not isinstance(value, (Mapping, Sequence)):
        return value
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value]


def is_json(value: object) -> bool:
    """Whether a value is of JSON, and every number in it one that JSON carries exactly (RFC 8785, RFC 7493)."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) <= _SAFE
    if value is None or isinstance(value, str):
        return True
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_json(item) for key, item in value.items())
    return isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)) and all(map(is_json, value))


def canonical_json(value: JsonValue) -> bytes:
    """Return the canonical form of RFC 8785 (JCS).

    Raises:
        ValueError: a number that JSON cannot carry exactly (NaN, infinity, 2**53 and beyond), or a text that UTF-8
            cannot carry (half of a surrogate pair).
    """
    import rfc8785

    try:
        return rfc8785.dumps(thaw(value))
    except rfc8785.CanonicalizationError as error:
        raise ValueError(str(error)) from error


def compact_json(value: JsonValue) -> str:
    """Return JSON in one line, in ASCII, made by the C encoder, which knows no indent: for what may be large."""
    return json.dumps(value, default=_as_dict)


def sorted_json(value: JsonValue) -> bytes:
    """Return compact JSON with sorted keys, made by the C encoder.

    For digests over whole manifests, where RFC 8785 in Python would cost more than observing the host. Equal
    values give equal bytes; numbers are written as Python writes them.
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_as_dict
    )
    return text.encode("utf-8", "surrogatepass")


def _as_dict(value: object) -> object:
    """Return what the C encoder takes in place of a frozen map or another sequence."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def digest(data: bytes) -> str:
    """Return the text form `sha256:<hex>`."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
