"""What a declaration of a source of packages means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.model.secret import Secret
from datum.provider.contract import DesiredError
from datum_providers.package_source.openpgp import dearmor, fingerprints
from datum_providers.package_source.stanza import LISTS, OWN, Stanza
from datum_providers.shared.one_line import parse_line
from datum_providers.shared.programs import parse_host_path

SOURCES: Final = "/etc/apt/sources.list.d"
KEYRINGS: Final = "/etc/apt/keyrings"

_TYPES: Final = ("deb", "deb-src")
# apt passes over files of any other name (sources.list(5)).
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_LONGEST_NAME: Final = 200
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_OPTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_FINGERPRINT: Final = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")
# Fields that make a source, without which it is only said that one is there.
_SAYING: Final = (*LISTS, "key", "keys", "signed_by", "fingerprint", "enabled", "options")


@frozen
class DesiredSource:
    """A source of packages, and the key that signs it."""

    name: str
    # None: only that it is there.
    stanza: Stanza | None = None
    # Packets of the public keys that are this resource's own; None for none.
    keys: bytes | None = None

    @property
    def path(self) -> str:
        """Where the source lies."""
        return f"{SOURCES}/{self.name}.sources"

    @property
    def key_path(self) -> str:
        """Where its key lies, whatever form it was declared in."""
        return own_key_path(self.name)

    @property
    def old_path(self) -> str:
        """Where a source of the same name in the form of one line would lie."""
        return f"{SOURCES}/{self.name}.list"

    @property
    def has_key(self) -> bool:
        """Whether the place of the key is its own: where nothing is declared, both places are."""
        return self.stanza is None or self.keys is not None

    @property
    def keyring(self) -> str:
        """The path of a key that others bring; empty for none."""
        signed_by = self.stanza.signed_by if self.stanza is not None else ""
        return "" if self.has_key else signed_by


def own_key_path(name: str) -> str:
    """Return where the key of a source lies that has one of its own."""
    return f"{KEYRINGS}/{name}.gpg"


def normal_name(name: str) -> str:
    """Return the name, which has one spelling.

    Raises:
        DesiredError: apt would not read a file of that name, or it has the suffix of one.
    """
    stem = name.removeprefix(f"{SOURCES}/").removesuffix(".sources").removesuffix(".list")
    if stem == name and _NAME.fullmatch(name) and len(name) <= _LONGEST_NAME:
        return name
    is_name = _NAME.fullmatch(stem) and len(stem) <= _LONGEST_NAME
    raise DesiredError(
        "",
        f"'{name}' is no name of a source: letters, digits, _ - and ., without the suffix of a file.",
        hint=f"Write package_source:{stem}" if is_name else "",
        code="bad-resource-name",
    )


def parse_source(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredSource:
    """Read the attributes of one source.

    Raises:
        DesiredError: a source that apt would not read, a key that is none, or another one than its fingerprint says.
    """
    own = normal_name(name)
    if all(attributes.get(field) is None for field in _SAYING):
        return DesiredSource(own)
    keys = _keys(attributes)
    signed_by = _signed_by(attributes)
    lists = {field: _words(field, attributes.get(field)) for field in LISTS}
    lists["types"] = lists["types"] or ("deb",)
    _check_lists(lists)
    enabled = attributes.get("enabled")
    if enabled is not None and not isinstance(enabled, bool):
        raise DesiredError("enabled", "enabled is true or false.")
    stanza = Stanza(
        lists,
        own_key_path(own) if keys is not None else signed_by,
        is_enabled=enabled is not False,
        options=_options(attributes.get("options")),
    )
    return DesiredSource(own, stanza, keys)


def _words(attribute: str, value: AttributeValue) -> tuple[str, ...]:
    if value is None:
        return ()
    words = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for word in words:
        text = parse_line(attribute, word, what=f"each of {attribute}")
        if text is None or " " in text:
            raise DesiredError(attribute, f"'{word}' is no single word.", hint="write an entry of the list for each")
        if text.startswith("#"):
            raise DesiredError(attribute, f"'{word}' is a comment for apt.")
    return tuple(str(word) for word in words)


def _check_lists(lists: Mapping[str, tuple[str, ...]]) -> None:
    for word in lists["types"]:
        if word not in _TYPES:
            raise DesiredError("types", f"'{word}' is none of {' and '.join(_TYPES)}.")
    for name in ("uris", "suites"):
        if not lists[name]:
            raise DesiredError(name, f"{name} is missing, and without it this is no source.", hint=f"{name}: […]")
    for uri in lists["uris"]:
        _check_uri(uri)
    exact = [suite for suite in lists["suites"] if suite.endswith("/")]
    if exact and (lists["components"] or len(exact) != len(lists["suites"])):
        raise DesiredError(
            "suites",
            f"'{exact[0]}' ends in a slash, so it is a path, which has no components and stands with no other suites.",
            hint="declare a package_source for each",
        )
    if not exact and not lists["components"]:
        raise DesiredError("components", "components are missing.", hint="components: [main]")


def _check_uri(uri: str) -> None:
    if not _URI.fullmatch(uri):
        raise DesiredError("uris", f"'{uri}' is no URI.", hint="uris: [https://deb.example.com/debian]")
    if re.match(r"[^/]+://[^/@]*:[^/@]*@", uri):
        raise DesiredError(
            "uris",
            "a password stands in a URI, and everybody on the host may read the file that it would be written to.",
            hint="put it into a file in /etc/apt/auth.conf.d with mode 0600",
            code="secret-shown",
        )


def _options(value: AttributeValue) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DesiredError("options", "a map of names to values is expected.")
    found: dict[str, str] = {}
    for name, given in value.items():
        if not _OPTION.fullmatch(str(name)):
            raise DesiredError("options", f"'{name}' is no name of an option: letters, digits and -.")
        if str(name).lower() in OWN:
            field = str(name).lower().replace("-", "_")
            raise DesiredError("options", f"{name} is a field of its own.", hint=f"declare {field}")
        if str(name).lower() in {other.lower() for other in found}:
            raise DesiredError("options", f"{name} stands there twice; capital letters make no difference.")
        text = ("yes" if given else "no") if isinstance(given, bool) else given
        text = str(text) if isinstance(text, int) else text
        found[str(name)] = " ".join(_text_of(str(name), text).split())
    return found


def _text_of(name: str, value: object) -> str:
    words = value if isinstance(value, (list, tuple)) else (value,)
    texts = [parse_line("options", word, what=f"the value of {name}") for word in words]
    kept = [text for text in texts if text is not None]
    if not kept or len(kept) < len(texts):
        raise DesiredError("options", f"{name} has no value.")
    return " ".join(kept)


def _signed_by(attributes: Mapping[str, AttributeValue]) -> str:
    value = attributes.get("signed_by")
    if value is None:
        return ""
    path = parse_host_path("signed_by", value)
    if any(character.isspace() for character in path):
        raise DesiredError("signed_by", f"'{path}' holds a space, and apt would take it for two.", code="bad-host-path")
    return path


def _keys(attributes: Mapping[str, AttributeValue]) -> bytes | None:
    """Return the packets of the keys, after having compared what they are with what they shall be."""
    said = [name for name in ("key", "keys", "signed_by") if attributes.get(name) is not None]
    if len(said) > 1:
        raise DesiredError(said[1], f"both {said[0]} and {said[1]} say which key signs.", code="two-contents")
    wanted = _fingerprints(attributes.get("fingerprint"))
    if not said or said[0] == "signed_by":
        if wanted:
            raise DesiredError("fingerprint", "no key is declared that it could be compared with.", hint="declare key")
        return None
    field = said[0]
    try:
        packets = b"".join(dearmor(block) for block in _blocks(field, attributes[field]))
        found = fingerprints(packets)
    except ValueError as error:
        raise DesiredError(field, f"What is declared as a key is {error}.", code="bad-openpgp-key") from error
    if wanted and set(wanted) != set(found):
        raise DesiredError(
            "fingerprint",
            f"The fingerprint of the key is {', '.join(found)}, and not {', '.join(wanted)}.",
            hint="find out from its owner which key is right before you change either",
            code="other-openpgp-key",
        )
    return packets


def _blocks(attribute: str, value: AttributeValue) -> list[bytes]:
    if isinstance(value, str):
        return [value.encode("utf-8", "replace")]
    pieces = value if isinstance(value, tuple) else ()
    blocks = [piece.inline for piece in pieces if isinstance(piece, Content) and piece.inline is not None]
    if not blocks or len(blocks) != len(pieces):
        raise DesiredError(attribute, "a key has no bytes at hand.", code="bad-openpgp-key")
    return blocks


def _fingerprints(value: AttributeValue) -> tuple[str, ...]:
    if value is None:
        return ()
    found = []
    for text in value if isinstance(value, (list, tuple)) else (value,):
        digits = "" if isinstance(text, Secret) else re.sub(r"[\s:]", "", str(text)).upper().removeprefix("0X")
        if not _FINGERPRINT.fullmatch(digits):
            raise DesiredError(
                "fingerprint",
                f"'{text}' is no fingerprint: 40 or 64 hexadecimal digits. Shorter ones can be had by anybody.",
                hint="`gpg --show-keys FILE` prints it",
            )
        found.append(digits)
    return tuple(sorted(set(found)))
