"""What a path waits for beside its accounts: the directory above, the mount above, the package of a name on the way.

All of it follows from desired state alone (design 4.5).
"""

from typing import Final

from datum.model.graph import DependencyKind, Target
from datum.provider.contract import ImplicitEdge, TargetIndex
from datum.provider.paths import is_below, parents

# What says which packages there are, and from where, comes before every package, whatever its name.
_BEFORE_PACKAGES: Final = "/etc/apt"


def edges_above(path: str, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
    """Return the edges of what stands at a path.

    The nearest declared directory above and the nearest declared mount on or above it are required. A package is
    waited for softly where a directory on the way, or the path's own name, is its name: `/etc/nginx/conf.d/a.conf`
    comes after `package:nginx`. What a package brings else is known by nobody before it is there; the configuration of
    apt comes after none, since every package comes after it.
    """
    folder = index.nearest_parent(path)
    found = [] if folder is None else [ImplicitEdge(folder, "parent directory")]
    ways = (path, *parents(path))
    # What is to be gone goes after the mount that stands on it; the mount says that.
    covered = ways[1:] if index.is_absent(path) else ways
    mount = next((holder for way in covered if (holder := index.holder(Target("mount", way))) is not None), None)
    if mount is not None:
        found.append(ImplicitEdge(mount, "mount above"))
    names = () if is_below(path, _BEFORE_PACKAGES) else (way.rpartition("/")[2] for way in ways)
    packages = (index.holder(Target("package", name)) for name in names)
    found.extend(
        ImplicitEdge(package, "package of its name", DependencyKind.AFTER, soft=True)
        for package in dict.fromkeys(packages)
        if package is not None
    )
    return tuple(found)
