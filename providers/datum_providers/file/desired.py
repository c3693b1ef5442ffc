"""What a declaration of a file means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.shared.accounts import Owners
from datum_providers.shared.contents import parse_content
from datum_providers.shared.modes import parse_mode
from datum_providers.shared.names import normal_name as normal_path_name

CONTENT_FIELDS: Final = ("content", "source", "template", "base64", "parts", "assemble")
"""The fields that say what bytes a file has."""

_PLACEHOLDER: Final = "{path}"


@frozen
class DesiredFile:
    """A regular file; what is None is not enforced."""

    path: str
    content: Content | None = None
    # Four octal digits.
    mode: str | None = None
    # As `Owners`.
    owner: str | None = None
    group: str | None = None
    # Program and arguments; `{path}` stands for the path.
    validate: tuple[str, ...] = ()
    # The content is for a file that is not there yet; of one that is there it is not looked at.
    is_seed: bool = False
    # Its directory is declared as exclusive. Known once the graph is; says nothing of the file itself.
    is_in_exclusive: bool = field(default=False, eq=False)
    # `owner` and `group` together: who shall own it.
    owners: Owners = field(init=False, eq=False, repr=False)

    @owners.default
    def _owners(self) -> Owners:
        return Owners(self.owner, self.group)

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at, so that it can be adopted."""
        return self.content is None and self.mode is None and self.owners.is_silent

    @property
    def enforced_content(self) -> Content | None:
        """The bytes that a file which is there shall have."""
        return None if self.is_seed else self.content


def normal_name(name: str) -> str:
    """Return the normal form of a path.

    Raises:
        DesiredError: no path on which a file can be kept.
    """
    return normal_path_name(name, "file")


def parse_file(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredFile:
    """Read the attributes of one file.

    Raises:
        DesiredError: two contents, a mode, account or check that cannot be meant.
    """
    content = parse_content(attributes, CONTENT_FIELDS)
    owners = Owners.parse(attributes)
    return DesiredFile(
        normal_name(name),
        content,
        parse_mode(attributes.get("mode")),
        owners.owner,
        owners.group,
        _validate(attributes.get("validate"), has_content=content is not None),
        is_seed=_seed(attributes.get("seed"), has_content=content is not None),
    )


def _seed(value: AttributeValue, *, has_content: bool) -> bool:
    if value is None or value is False:
        return False
    if value is not True:
        raise DesiredError("seed", "seed is true or false.")
    if not has_content:
        raise DesiredError("seed", "no content is declared, so there is nothing to begin with.")
    return True


def _validate(value: AttributeValue, *, has_content: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    words = tuple(word for word in value if isinstance(word, str)) if isinstance(value, (list, tuple)) else ()
    if not words or not words[0] or any("\0" in word for word in words):
        raise DesiredError("validate", "a program and its arguments are expected, as a list of strings.")
    if not any(_PLACEHOLDER in word for word in words[1:]):
        raise DesiredError(
            "validate",
            f"no argument holds {_PLACEHOLDER}, so the program would not see the new content.",
            hint=f'validate: [{words[0]}, "{_PLACEHOLDER}"]',
        )
    if not has_content:
        raise DesiredError("validate", "no content is declared, so there is nothing to check.")
    return words
