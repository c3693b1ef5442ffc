"""What a declaration of a kernel key means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum.provider.paths import NAME_MAX
from datum_providers.shared.kernel import collapsed
from datum_providers.shared.kernel_names import normal_key

FOLDER: Final = "/etc/sysctl.d"
PREFIX: Final = "60-datum-"


@frozen
class DesiredSysctl:
    """One key; what is None is not enforced."""

    # Slash form: `net/ipv4/conf/eth0.100/forwarding`.
    key: str
    # White space collapsed.
    value: str | None = None
    # Why the running value is not compared; None: it is.
    not_read_back: str | None = None
    # Files that the target declares absent: what they set at boot is gone by then. Known once the graph is.
    going: frozenset[str] = field(default=frozenset(), eq=False)

    @property
    def file_name(self) -> str:
        """Name of the file that sets it at boot."""
        return file_name_of(self.key)

    @property
    def path(self) -> str:
        """The file that sets it at boot."""
        return f"{FOLDER}/{self.file_name}"


def file_name_of(key: str) -> str:
    """Return the name of the file in which a key stands, which is its alone."""
    return f"{PREFIX}{key.replace('/', '.')}.conf"


def is_of_a_key(path: str) -> bool:
    """Whether a path is that of the file of some key."""
    return path.startswith(f"{FOLDER}/{PREFIX}")


def normal_name(name: str) -> str:
    """Return the slash form of a key.

    Raises:
        DesiredError: no name of a key.
    """
    key = normal_key(name)
    if len(file_name_of(key)) > NAME_MAX:
        raise DesiredError("", "the name is longer than that of a file can be.", code="bad-resource-name")
    return key


def parse_sysctl(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredSysctl:
    """Read the attributes of one key.

    Raises:
        DesiredError: a value that cannot be meant.
    """
    return DesiredSysctl(normal_name(name), _value(attributes.get("value")), _reason(attributes.get("read_back")))


def _value(value: AttributeValue) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise DesiredError("value", "a value is a text or a whole number.", hint='value: "1"')
    text = str(value)
    if "\n" in text.strip() or "\0" in text:
        raise DesiredError("value", "a value is one line: it stands in a file of lines, and is written at once.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DesiredError("value", "the text holds half of a surrogate pair, which has no bytes in UTF-8.") from error
    return collapsed(text)


def _reason(value: AttributeValue) -> str | None:
    if value is None:
        return None
    reason = value.get("ignore") if isinstance(value, Mapping) else None
    if not isinstance(reason, str) or not reason.strip():
        raise DesiredError(
            "read_back",
            "the reason is missing why the kernel does not answer with what was written.",
            hint='read_back: {ignore: "the kernel rounds it up to pages"}',
        )
    return reason.strip()
