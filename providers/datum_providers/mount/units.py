"""The names that systemd gives mounts (systemd-escape(1)). Pure."""

from typing import Final

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")


def mount_unit(point: str) -> str:
    r"""Return the unit of a mount point in normal form: `/srv/my-data` is `srv-my\x2ddata.mount`."""
    if point == "/":
        return "-.mount"
    parts = (_escaped(part, is_first=not number) for number, part in enumerate(point[1:].split("/")))
    return f"{'-'.join(parts)}.mount"


def _escaped(part: str, *, is_first: bool) -> str:
    letters = [
        chr(byte) if chr(byte) in _PLAIN else rf"\x{byte:02x}" for byte in part.encode("utf-8", "surrogateescape")
    ]
    # A unit whose name begins with a dot would be a hidden file.
    if is_first and letters[:1] == ["."]:
        letters[0] = r"\x2e"
    return "".join(letters)
