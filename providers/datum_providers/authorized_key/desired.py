"""What a declaration of an authorized key means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.authorized_key.lines import KeyLine, parse_line, split_options
from datum_providers.shared.account_names import account_name
from datum_providers.shared.programs import parse_host_path

FINGERPRINT: Final = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
"""A label that says which key is meant, as `ssh-keygen -l` shows it."""

_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_EXAMPLE: Final = "key: ssh-ed25519 AAAAC3…"


@frozen
class DesiredKey:
    """A key that lets somebody in as a user, or all keys of that user; what is None is not enforced."""

    user: str
    # Which key: the same for every line that grants it. Empty: it is said of the file with all keys of the user.
    fingerprint: str
    # None: only its fingerprint is known, so it can be looked at and removed, and not be made.
    kind: str | None = None
    blob: str | None = None
    # As they stand in the file; an empty one says that there are none.
    options: tuple[str, ...] | None = None
    comment: str | None = None
    # The file, where the declaration says it.
    path: str | None = None
    # Of all keys: none stays that is not declared.
    is_exclusive: bool = False
    # Of all keys, fingerprints of those that are declared in this file, and in another one. Known once the graph is.
    listed: frozenset[str] = field(default=frozenset(), eq=False)
    elsewhere: frozenset[str] = field(default=frozenset(), eq=False)
    # The home that the target declares for the user. Known once the graph is.
    home: str | None = field(default=None, eq=False)
    # The target declares the user. Likewise.
    has_user: bool = field(default=False, eq=False)
    # What declares the directory in which the file lies. Likewise.
    folder: ResourceId | None = field(default=None, eq=False)
    # What declares the file as a whole. Likewise.
    rival: ResourceId | None = field(default=None, eq=False)

    @property
    def is_of_all(self) -> bool:
        """Whether it is said of all keys of the user."""
        return not self.fingerprint


def normal_name(name: str) -> str:
    """Return the name: that of a user, or that, a slash, and a label; they have one spelling.

    Raises:
        DesiredError: it is none.
    """
    user, slash, label = name.partition("/")
    if slash and not (_LABEL.fullmatch(label) or FINGERPRINT.fullmatch(label)):
        raise DesiredError(
            "",
            f"'{name}' is no name of an authorized key: a user, a slash, and a label of letters, digits and . _ @ + -, "
            "or the fingerprint that ssh-keygen -l shows. A user alone stands for all keys of that user.",
            hint="authorized_key:deploy/laptop",
            code="bad-resource-name",
        )
    account_name(user, "user")
    return name


def parse_key(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredKey:
    """Read the attributes of one key, or of all keys of a user.

    Raises:
        DesiredError: no key that could be meant, or a value that cannot be.
    """
    user, slash, label = normal_name(name).partition("/")
    if not slash:
        return _parse_all(user, attributes)
    if attributes.get("exclusive") is not None:
        raise DesiredError(
            "exclusive",
            f"exclusive is said of all keys of {user}, and the name says one of them.",
            hint=f"declare authorized_key:{user} with 'exclusive: true'",
        )
    line = _key(attributes.get("key"))
    fingerprint = line.fingerprint if line is not None else label
    if not FINGERPRINT.fullmatch(fingerprint):
        raise DesiredError(
            "",
            "it does not say which key is meant.",
            hint=f"{_EXAMPLE}; to remove one by its fingerprint, declare authorized_key:{user}/SHA256:… absent",
            code="no-key",
        )
    if FINGERPRINT.fullmatch(label) and label != fingerprint:
        raise DesiredError("key", f"the fingerprint of the key is {fingerprint}, and the name says {label}.")
    comment = _comment(attributes.get("comment"))
    if comment is None and line is not None and line.comment:
        comment = line.comment.decode("utf-8", "replace")
    return DesiredKey(
        user,
        fingerprint,
        None if line is None else line.kind.decode(),
        None if line is None else line.blob.decode(),
        _options(attributes.get("options")),
        comment,
        _path(attributes),
    )


def _parse_all(user: str, attributes: Mapping[str, AttributeValue]) -> DesiredKey:
    is_exclusive = attributes.get("exclusive")
    of_one = next((name for name in ("key", "options", "comment") if attributes.get(name) is not None), None)
    if of_one is not None or not isinstance(is_exclusive, bool):
        raise DesiredError(
            of_one or "",
            f"authorized_key:{user} has no label, so it stands for all keys of {user}: all that can be said of them is "
            "whether others may stand there, too.",
            hint=f"authorized_key:{user}/laptop for one key; exclusive: true, for none that is not declared",
            code="no-key",
        )
    return DesiredKey(user, "", path=_path(attributes), is_exclusive=is_exclusive)


def _path(attributes: Mapping[str, AttributeValue]) -> str | None:
    path = attributes.get("path")
    return None if path is None else parse_host_path("path", path)


def wanted_line(desired: DesiredKey, old: KeyLine | None) -> KeyLine | None:
    """Return the line as it shall stand, with what is not declared as it was; None where the key is not known."""
    if desired.kind is None or desired.blob is None:
        kind, blob = (old.kind, old.blob) if old is not None else (b"", b"")
    else:
        kind, blob = desired.kind.encode(), desired.blob.encode()
    if not blob:
        return None
    options = old.options if old is not None else ()
    if desired.options is not None:
        options = tuple(option.encode() for option in desired.options)
    comment = old.comment if old is not None else b""
    return KeyLine(options, kind, blob, comment if desired.comment is None else desired.comment.encode())


def _key(value: object) -> KeyLine | None:
    if value is None:
        return None
    line = parse_line(_text("key", value).encode())
    if line is not None and not line.options:
        return line
    if line is not None:
        raise DesiredError(
            "key",
            "options stand before the key.",
            hint=f"options: [{', '.join(repr(option.decode()) for option in line.options)}]",
            code="bad-key",
        )
    raise DesiredError(
        "key",
        "it is no public key: a type and a key in base64, which begins with that type, as in a .pub file.",
        hint=_EXAMPLE,
        code="bad-key",
    )


def _options(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    items = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    found: list[str] = []
    for item in items:
        text = _text("options", item)
        options = split_options(text.encode()) if text else None
        if options is None or any(_is_parted(option) for option in options):
            raise DesiredError(
                "options",
                f"'{text}' is no option: white space and commas stand in double quotes, which are closed.",
                hint="options: [no-pty, 'from=\"10.0.0.0/8,192.0.2.1\"']",
            )
        found += [option.decode() for option in options]
    return tuple(found)


def _is_parted(option: bytes) -> bool:
    """Whether white space stands outside of quotes: sshd would take what follows for a key."""
    rest = re.sub(rb'"(?:\\"|[^"])*"', b"", option)
    return any(space in rest for space in (b" ", b"\t"))


def _comment(value: object) -> str | None:
    return None if value is None else _text("comment", value).strip()


def _text(attribute: str, value: object) -> str:
    if not isinstance(value, str):
        raise DesiredError(attribute, f"{attribute} is a text.")
    if _CONTROL.search(value.strip()):
        raise DesiredError(attribute, f"{attribute} is one line, without control characters.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DesiredError(attribute, f"{attribute} holds half of a surrogate pair, which has no bytes.") from error
    return value.strip()
