"""What a path waits for beside its accounts: the directory above, the mount above, the package of a name on the way.

All of it follows from desired state alone (design 4.5).
"""

from datum.model.graph import DependencyKind, Target
from datum.provider.contract import ImplicitEdge, TargetIndex
from datum.provider.paths import parents


def edges_above(path: str, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
    """Return the edges of what stands at a path.

    The nearest declared directory above and the nearest declared mount on or above it are required. A package is
    waited for softly where a directory on the way, or the path's own name, is its name: `/etc/nginx/conf.d/a.conf`
    comes after `package:nginx`. What a package brings else is known by nobody before it is there.
    """
    folder = index.nearest_parent(path)
    found = [] if folder is None else [ImplicitEdge(folder, "parent directory")]
    ways = (path, *parents(path))
    mount = next((holder for way in ways if (holder := index.holder(Target("mount", way))) is not None), None)
    if mount is not None:
        found.append(ImplicitEdge(mount, "mount above"))
    packages = (index.holder(Target("package", way.rpartition("/")[2])) for way in ways)
    found.extend(
        ImplicitEdge(package, "package of its name", DependencyKind.AFTER, soft=True)
        for package in dict.fromkeys(packages)
        if package is not None
    )
    return tuple(found)
