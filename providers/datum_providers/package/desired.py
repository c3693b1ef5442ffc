"""What a declaration of a package means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.graph import Target
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError, TargetIndex
from datum_providers.package.versions import Wanted, parse_wanted

PURGED: Final = "package_purged"
"""Space of packages of which nothing shall be left: they are declared, and not wanted."""

# Debian Policy 5.6.7; architectures as `dpkg-architecture -L` has them.
_NAME: Final = re.compile(r"([a-z0-9][a-z0-9+.-]+)(?::([a-z0-9][a-z0-9-]*))?")
_NO_ARCHITECTURE: Final = frozenset({"all", "any", "native"})

_FLAGS: Final = ("hold", "manual", "recommends", "purge")
_TIMELESS: Final = "which version that is depends on the time of the pass, and not on the revision that declares it."


@frozen
class Neighbours:
    """What a graph declares of packages and of what their installation may start."""

    index: TargetIndex

    @property
    def wanted(self) -> frozenset[str]:
        """Names of the packages that shall be installed."""
        return frozenset(self.index.keys("package")) - frozenset(self.index.keys(PURGED))

    @property
    def services(self) -> tuple[str, ...]:
        """Units, by their full names, whose state the graph declares."""
        return self.index.keys("unit_state")

    def is_going(self, name: str) -> bool:
        """Whether a package is declared, and shall not be installed."""
        return self.index.holder(Target("package", name)) is not None and name not in self.wanted


@frozen
class DesiredPackage:
    """A package; what is None is not enforced."""

    # With `:ARCH` only where the name has it.
    name: str
    version: Wanted | None = None
    hold: bool | None = None
    # Installed for its own sake, and not because another needs it.
    manual: bool | None = None
    # What it recommends comes along when it is installed.
    recommends: bool = False
    # Nothing of it shall be there, configuration included.
    purge: bool = False
    # The graph wants it gone. Known once there is one; says nothing of the package itself.
    is_going: bool = field(default=False, eq=False)
    # None: nothing is declared besides.
    neighbours: Neighbours | None = field(default=None, eq=False, repr=False)

    @property
    def package(self) -> str:
        """The name without the architecture."""
        return self.name.partition(":")[0]

    @property
    def architecture(self) -> str:
        """The architecture that the name demands; empty: the one of the system, or `all`."""
        return self.name.partition(":")[2]


def normal_name(name: str) -> str:
    """Return a name, which has one spelling only.

    Raises:
        DesiredError: it is no name of a package.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise DesiredError(
            "",
            f"'{name}' is no name of a package: small letters, digits and + - . after the first, and :ARCH at most.",
            hint=_hint(name),
            code="bad-resource-name",
        )
    if found[2] in _NO_ARCHITECTURE:
        raise DesiredError(
            "",
            f"'{found[2]}' is no architecture that a host could have.",
            hint=f"Write package:{found[1]}",
            code="bad-resource-name",
        )
    return name


def _hint(name: str) -> str:
    plain = re.split(r"[=/ ]", name.strip().lower())[0]
    if not _NAME.fullmatch(plain):
        return ""
    version = "; a version is a field" if "=" in name else ""
    return f"Write package:{plain}{version}"


def parse_package(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredPackage:
    """Read the attributes of one package.

    Raises:
        DesiredError: a version that cannot be meant, or fields that contradict each other.
    """
    flags: dict[str, bool | None] = {}
    for flag in _FLAGS:
        value = attributes.get(flag)
        if value is not None and not isinstance(value, bool):
            raise DesiredError(flag, f"{flag} is true or false.", hint=f"{flag}: true")
        flags[flag] = value
    if flags["purge"]:
        _check_alone(attributes)
    return DesiredPackage(
        normal_name(name),
        _version(attributes.get("version")),
        flags["hold"],
        flags["manual"],
        recommends=bool(flags["recommends"]),
        purge=bool(flags["purge"]),
    )


def _check_alone(attributes: Mapping[str, AttributeValue]) -> None:
    others = sorted(name for name in ("version", *_FLAGS) if name != "purge" and attributes.get(name) is not None)
    if others:
        raise DesiredError(
            "purge",
            f"nothing can be purged and have {', '.join(others)}.",
            hint=f"take out purge, or {', '.join(others)}",
        )


def _version(value: AttributeValue) -> Wanted | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise DesiredError("version", f"'{value}' is no text.", hint="quote it")
    if value.strip().lower() == "latest":
        raise DesiredError(
            "version",
            f"'latest' says nothing that could be enforced: {_TIMELESS}",
            hint='version: ">=1.2, <2" sets bounds; without a version any that is installed will do',
        )
    try:
        return parse_wanted(value)
    except ValueError as error:
        raise DesiredError("version", f"{error}", hint='version: "1.2-3", or version: ">=1.2, <2"') from error
