"""What a declaration of a symbolic link means, in normal form. Pure."""

import posixpath
from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum.provider.paths import PATH_MAX, is_below, normal_path
from datum_providers.shared.accounts import Owners
from datum_providers.shared.names import normal_name as normal_path_name
from datum_providers.shared.spellings import WELL_KNOWN_LINKS


@frozen
class DesiredLink:
    """A symbolic link; what is None is not enforced."""

    path: str
    # As it stands in the link; what it leads to need not exist.
    target: str | None = None
    owners: Owners = field(factory=Owners)
    # Its directory is declared as exclusive. Known once the graph is; says nothing of the link itself.
    is_in_exclusive: bool = field(default=False, eq=False)

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at, so that it can be adopted."""
        return self.target is None and self.owners.is_silent

    @property
    def end(self) -> str | None:
        """The path that the link names, worked out from the texts alone; None where that is none."""
        return None if self.target is None else end_of(self.path, self.target)


def normal_name(name: str) -> str:
    """Return the normal form of a path.

    Raises:
        DesiredError: no path on which a link can be kept.
    """
    return normal_path_name(name, "link")


def parse_link(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredLink:
    """Read the attributes of one link.

    Raises:
        DesiredError: a target or account that cannot be meant.
    """
    path = normal_name(name)
    return DesiredLink(path, _target(path, attributes.get("target")), Owners.parse(attributes))


def end_of(path: str, target: str) -> str | None:
    """Return the path that a link at `path` names; None where that is no normal path below the root."""
    try:
        return normal_path(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
    except ValueError:
        return None


def _target(path: str, value: AttributeValue) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise DesiredError("target", "target is a text.", hint="target: /usr/share/app")
    complaint = _complaint(value)
    if complaint:
        raise DesiredError("target", complaint)
    end = end_of(path, value)
    if end is not None and is_below(end, path):
        what = "itself" if end == path else "what would lie below itself"
        raise DesiredError("target", f"the link would lead to {what}, which nobody can follow.")
    _check_well_known(path, end)
    return value


def _complaint(target: str) -> str:
    if not target:
        return "a link cannot be empty."
    if "\0" in target:
        return "a link cannot hold a NUL byte."
    try:
        length = len(target.encode())
    except UnicodeEncodeError:
        return "the text holds half of a surrogate pair, which has no bytes in UTF-8."
    return f"the text is longer than the {PATH_MAX} bytes that a link can hold." if length > PATH_MAX else ""


def _check_well_known(path: str, end: str | None) -> None:
    """Refuse to lead away what every program, and the agent on its way to other paths, takes for one directory."""
    place = WELL_KNOWN_LINKS.get(path)
    if place is not None and end != place:
        raise DesiredError(
            "target",
            f"{path} leads to {place} on every system that has it as a link, and programs break if it does not.",
            hint=f"target: {place}",
        )


_UNREADABLE: Final = "bytes:"


def text_of(link: str) -> str:
    """Return the text of a link of the host; one that is not UTF-8, and so never wanted, in hexadecimal digits."""
    try:
        link.encode()
    except UnicodeEncodeError:
        return _UNREADABLE + link.encode("utf-8", "surrogateescape").hex()
    return link
