"""Which paths a pass may change for what a fleet declares, by type; of packages, besides, what they brought."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("paths-of-types.txt")


def paths_of(resources: Collection[str], homes: Mapping[str, str]) -> set[str]:
    """Return the patterns of the paths of these resources, by their ids; accounts have these homes."""
    lines = [line.split(maxsplit=2) for line in _FILE.read_text().splitlines() if not line.startswith("#")]
    found: set[str] = set()
    for resource in resources:
        own, _, name = resource.partition(":")
        first, home = name.partition("/")[0], homes.get(name.partition("/")[0], "/home/none")
        assert home != "/", f"with that home of {first} every path would do"
        words = {"name": name, "dotted": name.replace("/", "."), "first": first, "home": home}
        found |= {pattern.format(**words) for kind, pattern, _reason in lines if kind == own}
    return found
