"""What a declaration of a mount means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum.provider.paths import normal_path
from datum_providers.mount.options import DEFAULTS, is_bind
from datum_providers.mount.secrets import refuse_secret_option, refuse_secret_source

_TAGS: Final = ("UUID", "LABEL", "PARTUUID", "PARTLABEL")
_SPACES: Final = frozenset(" \t\n\0")


@frozen
class DesiredMount:
    """One mount; what is None is not enforced."""

    point: str
    # As fstab(5) has it, without quotes: `UUID=…`, `/dev/sda1`, `server:/export`.
    source: str | None = None
    fstype: str | None = None
    # In the order of the declaration, without `defaults`, each once.
    options: tuple[str, ...] | None = None
    dump: int | None = None
    passno: int | None = None
    mounted: bool = True
    persistent: bool = True

    @property
    def is_bare(self) -> bool:
        """Whether nothing but presence is declared: then everything is looked at."""
        return self == DesiredMount(self.point)

    @property
    def is_bind(self) -> bool:
        """Whether a directory of the host is shown at a second place."""
        return is_bind(self.options or ())


def normal_name(name: str) -> str:
    """Return the normal form of a mount point.

    Raises:
        DesiredError: no path.
    """
    try:
        return normal_path(name)
    except (ValueError, UnicodeEncodeError) as error:
        raise DesiredError("", f"{error}.", hint="Write mount:/srv/data", code="bad-host-path") from error


def parse_mount(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredMount:
    """Read the attributes of one mount.

    Raises:
        DesiredError: a value that cannot be meant, or one without another that it needs.
    """
    point = normal_name(name)
    if not attributes:
        return DesiredMount(point)
    options = _options(attributes.get("options"))
    fstype = _word("fstype", attributes.get("fstype"))
    if fstype is None and is_bind(options or ()):
        fstype = "none"
    desired = DesiredMount(
        point,
        _source(attributes.get("source")),
        fstype,
        options,
        _number("dump", attributes.get("dump")),
        _number("pass", attributes.get("pass")),
        mounted=_truth("mounted", attributes.get("mounted")),
        persistent=_truth("persistent", attributes.get("persistent")),
    )
    _check(desired)
    return desired


def _check(desired: DesiredMount) -> None:
    if not desired.mounted and not desired.persistent:
        raise DesiredError(
            "mounted", "neither mounted nor persistent is nothing that could be there.", hint="absent: true"
        )
    for name, value in (("source", desired.source), ("fstype", desired.fstype)):
        if value is None:
            raise DesiredError(name, f"a mount needs a {name}.", hint=_EXAMPLES[name])
    if desired.fstype == "none" and not desired.is_bind:
        raise DesiredError("options", "only a bind mount has no type.", hint="options: [bind], or the fstype")
    if not desired.persistent and (desired.dump is not None or desired.passno is not None):
        name = "dump" if desired.dump is not None else "pass"
        raise DesiredError(name, f"{name} stands in fstab, and the mount is declared not to.", hint=f"drop {name}")
    if desired.point == "/" and not desired.mounted:
        raise DesiredError("mounted", "the root of a host is always mounted.")


_EXAMPLES: Final = {"source": "source: UUID=…, or the path of a device", "fstype": "fstype: ext4"}


def _source(value: AttributeValue) -> str | None:
    refuse_secret_source(value)
    text = _word("source", value)
    return None if text is None else normal_source(text)


def normal_source(text: str) -> str:
    """Return a source without the slash at its end, and the value of a tag without its quotes."""
    tag, equals, rest = text.partition("=")
    if equals and tag.upper() in _TAGS:
        return f"{tag.upper()}={_unquoted(rest)}"
    return text.rstrip("/") if len(text) > 1 and "/" in text.rstrip("/") else text


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _word(name: str, value: AttributeValue) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or "\0" in value or "\n" in value:
        raise DesiredError(name, f"{name} is a text of one line.", hint=_EXAMPLES.get(name, ""))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DesiredError(name, "the text holds half of a surrogate pair, which has no bytes in UTF-8.") from error
    return value


def _options(value: AttributeValue) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)):
        raise DesiredError("options", "a list is expected.", hint="options: [noatime, nofail]")
    words = []
    for option in value:
        refuse_secret_option(option)
        if not isinstance(option, str) or not option or not _SPACES.isdisjoint(option):
            raise DesiredError("options", f"'{option}' is no option.", hint="options: [noatime, nofail]")
        if "," in option and '"' not in option:
            raise DesiredError(
                "options", f"'{option}' holds several options.", hint=f"options: [{option.replace(',', ', ')}]"
            )
        words.append(_word("options", option) or "")
    return tuple(dict.fromkeys(word for word in words if word != DEFAULTS))


def _number(name: str, value: AttributeValue) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 9:  # noqa: PLR2004 - one digit
        raise DesiredError(name, f"{name} is a number from 0 to 9.", hint=f"{name}: 0")
    return value


def _truth(name: str, value: AttributeValue) -> bool:
    if value is None:
        return True
    if not isinstance(value, bool):
        raise DesiredError(name, f"{name} is true or false.", hint=f"{name}: true")
    return value
