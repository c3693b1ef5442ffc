"""Passwords in mounts: everybody can read fstab, and the arguments of mount(8). Pure."""

import re
from collections.abc import Iterable
from typing import Final

from datum.model.secret import HIDDEN, Secret
from datum.provider.contract import DesiredError

# Keys of mount.cifs(8), mount.ceph(8), curlftpfs(1) and their like; cifs takes capital letters too.
_KEYS: Final = frozenset({"pass", "password", "password2", "passwd", "secret"})
_USERS: Final = frozenset({"user", "username"})
# What parts a password from the name in front of it.
_PARTED: Final = re.compile(r"[%:]")
# `//name:password@server/share`, `https://name:password@server`.
_IN_SOURCE: Final = re.compile(r"//[^/@]*:[^/@]*@")


def is_secret(option: str) -> bool:
    """Whether an option holds a password."""
    key, equals, value = option.partition("=")
    if key.lower() in _KEYS:
        return bool(equals)
    return key.lower() in _USERS and _PARTED.search(value) is not None


def without_secrets(options: Iterable[str]) -> tuple[str, ...]:
    """Return options as they can be shown."""
    return tuple(f"{one.partition('=')[0]}={HIDDEN}" if is_secret(one) else one for one in options)


def refuse_secret_option(option: object) -> None:
    """Let an option pass that holds no secret.

    Raises:
        DesiredError: it holds one.
    """
    if isinstance(option, Secret) or (isinstance(option, str) and is_secret(option)):
        key = "" if isinstance(option, Secret) else f" {option.partition('=')[0]}"
        raise DesiredError(
            "options",
            f"a password stands in the option{key}, and everybody on the host may read fstab.",
            hint="options: [credentials=FILE], with a file of mode 0600",
            code="secret-shown",
        )


def refuse_secret_source(source: object) -> None:
    """Let a source pass that holds no secret.

    Raises:
        DesiredError: it holds one.
    """
    if isinstance(source, Secret) or (isinstance(source, str) and _IN_SOURCE.search(source)):
        raise DesiredError(
            "source",
            "a password stands in the source, and everybody on the host may read fstab.",
            hint="options: [credentials=FILE], with a file of mode 0600",
            code="secret-shown",
        )
