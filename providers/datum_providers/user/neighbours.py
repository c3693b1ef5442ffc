"""What a user holds, and what it comes after. Pure."""

from collections.abc import Iterator

from datum.model.graph import DependencyKind, Target
from datum.provider.contract import ImplicitEdge, TargetIndex
from datum.provider.paths import parents
from datum_providers.shared.accounts import is_number
from datum_providers.shared.numbers import after_the_numbered
from datum_providers.user.desired import DesiredUser
from datum_providers.user.steps import home_of


def targets_of_user(desired: DesiredUser) -> tuple[Target, ...]:
    """Return the targets.

    `members` of a group are said by users or by the group, `memberships` of a user by the user or by groups: either
    side claims what the other must not. `home` lets neighbours find the directory of an account that is not there yet.
    """
    name = desired.name
    found = [Target("user", name)]
    if desired.uid is not None:
        found.append(Target("uid", str(desired.uid)))
    found += [Target("members", group, shared=True) for group in desired.groups or ()]
    if desired.is_exact:
        found.append(Target("memberships", name))
    if desired.home is not None:
        found.append(Target("home", f"{name} {desired.home}"))
    return tuple(found)


def edges_of_user(desired: DesiredUser, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
    """Return the groups, the mounts above the home, and softly the directory that it lies in.

    Softly, since that directory may belong to the very account; useradd makes what is missing above a home. And, where
    its number is for useradd to choose, those whose number is given.
    """
    numbered = after_the_numbered(index, "uid") if desired.uid is None else ()
    return (*_groups(desired, index), *_places(desired, index), *numbered)


def _groups(desired: DesiredUser, index: TargetIndex) -> Iterator[ImplicitEdge]:
    primary = desired.group if desired.group is not None else desired.name
    space = "gid" if is_number(primary) else "group"
    named = ((Target(space, primary), "primary group"), *((Target("group", g), "group") for g in desired.groups or ()))
    seen = set()
    for target, reason in named:
        holder = index.holder(target)
        if holder is not None and holder not in seen:
            seen.add(holder)
            yield ImplicitEdge(holder, reason)


def _places(desired: DesiredUser, index: TargetIndex) -> Iterator[ImplicitEdge]:
    home = home_of(desired)
    for folder in (home, *parents(home)):
        mount = index.holder(Target("mount", folder))
        if mount is not None:
            yield ImplicitEdge(mount, "mount of the home")
    parent = index.nearest_parent(home)
    if parent is not None:
        yield ImplicitEdge(parent, "directory of the home", DependencyKind.AFTER, soft=True)
