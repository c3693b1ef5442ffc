"""What a declaration of a directory means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve, field, frozen

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError, TargetIndex
from datum.provider.globs import compile_globs
from datum.provider.paths import parents
from datum_providers.shared.accounts import Owners
from datum_providers.shared.exclusive import Domain, Neighbours
from datum_providers.shared.modes import lets_group_write, parse_mode
from datum_providers.shared.names import normal_name as normal_path_name

_RECURSIVE: Final = ("owner", "group")


@frozen
class DesiredDirectory:
    """A directory; what is None is not enforced."""

    path: str
    # Four octal digits.
    mode: str | None = None
    owners: Owners = field(factory=Owners)
    # Nothing stays in it that is not declared; with `recurse` at every level.
    exclusive: bool = False
    recurse: bool = False
    # Patterns relative to the path.
    keep: tuple[str, ...] = ()
    # Which of `owner` and `group` hold for everything below.
    recursive: tuple[str, ...] = ()
    # What others declare below it. Known once the graph is, and only where it matters.
    neighbours: Neighbours = field(factory=Neighbours)
    # Its own directory is declared as exclusive. Says nothing of the directory itself.
    is_in_exclusive: bool = field(default=False, eq=False)

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at, so that it can be adopted."""
        return self.mode is None and self.owners.is_silent and not self.exclusive

    @property
    def domain(self) -> Domain:
        """Where nothing stays that is not declared."""
        return Domain(self.path, self.neighbours, self.recurse, self.keep)

    @property
    def owners_below(self) -> Owners:
        """Who shall own everything below."""
        return self.owners.only(set(self.recursive))

    @property
    def shared_with(self) -> str:
        """The group that may make names in it, as the declaration says; empty for none."""
        return self.owners.group or "" if self.mode is not None and lets_group_write(self.mode) else ""

    def among(self, index: TargetIndex) -> "DesiredDirectory":
        """Return this with what the graph declares around it."""
        is_in_exclusive = index.is_exclusive(parents(self.path)[0])
        if not self.exclusive and not self.recursive:
            return evolve(self, is_in_exclusive=is_in_exclusive)
        return evolve(self, is_in_exclusive=is_in_exclusive, neighbours=Neighbours.of(self.path, index))


def normal_name(name: str) -> str:
    """Return the normal form of a path.

    Raises:
        DesiredError: no path on which a directory can be kept.
    """
    return normal_path_name(name, "directory")


def parse_directory(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredDirectory:
    """Read the attributes of one directory.

    Raises:
        DesiredError: a mode, account or pattern that cannot be meant, or a field that does nothing without another.
    """
    exclusive = _flag("exclusive", attributes.get("exclusive"))
    owners = Owners.parse(attributes)
    recurse = _flag("recurse", attributes.get("recurse"))
    keep = _keep(attributes.get("keep"))
    for field_name, value in (("recurse", recurse), ("keep", keep)):
        if value and not exclusive:
            raise DesiredError(
                field_name,
                f"{field_name} says how far exclusive reaches, and the directory is not exclusive.",
                hint="exclusive: true",
            )
    mode = parse_mode(attributes.get("mode"), example="0755")
    recursive = _recursive(attributes.get("recursive"), owners)
    return DesiredDirectory(normal_name(name), mode, owners, exclusive, recurse, keep, recursive)


def _flag(name: str, value: AttributeValue) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise DesiredError(name, f"{name} is true or false.")
    return value


def _words(name: str, value: AttributeValue) -> tuple[str, ...]:
    if value is None:
        return ()
    words = tuple(word for word in value if isinstance(word, str)) if isinstance(value, (list, tuple)) else ()
    if not isinstance(value, (list, tuple)) or len(words) != len(value):
        raise DesiredError(name, f"{name} is a list of strings.")
    return words


def _keep(value: AttributeValue) -> tuple[str, ...]:
    patterns = _words("keep", value)
    try:
        compile_globs(patterns)
    except ValueError as error:
        raise DesiredError("keep", f"{error}.", hint='keep: ["*.local", "cache/**"]') from error
    return tuple(sorted(set(patterns)))


def _recursive(value: AttributeValue, owners: Owners) -> tuple[str, ...]:
    found = set(_words("recursive", value))
    odd = sorted(found - set(_RECURSIVE))
    if odd:
        raise DesiredError("recursive", f"'{odd[0]}' cannot hold for everything below: owner and group can.")
    for name, account in (("owner", owners.owner), ("group", owners.group)):
        if name in found and account is None:
            raise DesiredError("recursive", f"{name} shall hold for everything below, and no {name} is declared.")
    return tuple(name for name in _RECURSIVE if name in found)
