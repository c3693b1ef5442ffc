"""What a path of the host looks like in normal form. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

NAME_MAX: Final = 255
PATH_MAX: Final = 4095


def normal_path(text: str) -> str:
    """Return the normal form of an absolute path: single slashes, no `.`, no trailing slash.

    Raises:
        ValueError: relative, holds `..`, NUL or a name that no file system takes; the message says which.
    """
    if not text.startswith("/"):
        raise ValueError(f"'{text}' is relative: a path on the host starts with /")
    if "\0" in text:
        raise ValueError("a path cannot hold a NUL byte")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ValueError(f"'{text}' holds '..': write the path it means")
    for part in parts:
        if _bytes_in(part) > NAME_MAX:
            raise ValueError(f"'{part[:32]}…' is longer than {NAME_MAX} bytes")
    normal = "/" + "/".join(parts)
    if _bytes_in(normal) > PATH_MAX:
        raise ValueError(f"the path is longer than {PATH_MAX} bytes")
    return normal


def _bytes_in(text: str) -> int:
    try:
        return len(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError as error:
        raise ValueError(f"{text[:32]!r} cannot be written as bytes: it holds half of a surrogate pair") from error


def parents(path: str) -> tuple[str, ...]:
    """Return the directories above a normal path, nearest first, `/` last."""
    found: list[str] = []
    current = path
    while current != "/":
        current = current.rpartition("/")[0] or "/"
        found.append(current)
    return tuple(found)


def is_below(path: str, folder: str) -> bool:
    """Whether a normal path is the folder or lies below it."""
    return folder in {"/", path} or path.startswith(folder + "/")


def paths_below(ordered: Sequence[str], path: str) -> Sequence[str]:
    """Return those of some sorted normal paths that lie below a path, without itself."""
    if path == "/":
        return [one for one in ordered if one != "/"]
    # The character after `/` is `0`: between the two stands what starts with this path and a slash.
    return ordered[bisect_left(ordered, f"{path}/") : bisect_left(ordered, f"{path}0")]
