"""What a resource leaves alone below its path, told with its observation. Pure."""

from collections.abc import Mapping
from typing import Final

from datum.model.json import JsonObject
from datum_providers.shared.names import change_name

SHOWN: Final = 100
"""Paths that are named with why they stay; what follows is counted."""


def kept_detail(folder: str, kept: Mapping[str, str]) -> JsonObject:
    """Return that part of an observation's detail.

    Args:
        folder: path of the resource.
        kept: by absolute path why it stays, in words.
    """
    if not kept:
        return {}
    first = sorted(kept.items())[:SHOWN]
    shown = {change_name(path[len(folder) + 1 :]): reason for path, reason in first}
    return {"kept": shown, **({"kept_more": len(kept) - SHOWN} if len(kept) > SHOWN else {})}
