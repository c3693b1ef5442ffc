"""The name of a resource that is a path, and names of paths below it. Pure."""

import posixpath
from typing import Final

from datum.provider.contract import DesiredError
from datum.provider.paths import normal_path

RESIDUE_SUFFIX: Final = ".datum~.dpkg-tmp"
"""Names of files that are being written (design 4.7)."""


def normal_name(name: str, type_name: str) -> str:
    """Return the normal form of a path.

    Args:
        name: as it is declared.
        type_name: of the resource, for the hint.

    Raises:
        DesiredError: no path that can be kept.
    """
    try:
        path = normal_path(name)
    except (ValueError, UnicodeEncodeError) as error:
        raise DesiredError("", f"{error}.", hint=_spelling(name, type_name), code="bad-host-path") from error
    if path == "/":
        raise DesiredError("", f"'/' is the root directory, and no {type_name} to declare.", code="bad-host-path")
    if path.endswith(RESIDUE_SUFFIX):
        raise DesiredError(
            "",
            f"names that end in {RESIDUE_SUFFIX} are those of files that the agent is writing.",
            hint="choose another name",
            code="bad-host-path",
        )
    return path


def change_name(relative: str) -> str:
    r"""Return the name of the change of a path below a resource's own: `./` and the path.

    A name that is no UTF-8 has no form in JSON (RFC 8785): it stands after `.//` with its bytes as `\xNN`, and each
    backslash doubled. No two paths have one name.
    """
    try:
        relative.encode()
    except UnicodeEncodeError:
        doubled = relative.replace("\\", "\\\\").encode("utf-8", "surrogateescape")
        return ".//" + doubled.decode("utf-8", "backslashreplace")
    return f"./{relative}"


def path_of(root: str, name: str) -> str:
    """Return the path that the name of a change below a resource's path stands for; `.` is that path itself."""
    if name == ".":
        return root
    if not name.startswith(".//"):
        return f"{root}/{name.removeprefix('./')}"
    raw = name.removeprefix(".//").encode().decode("unicode_escape").encode("latin1")
    return f"{root}/{raw.decode('utf-8', 'surrogateescape')}"


def _spelling(name: str, type_name: str) -> str:
    """Return the hint with the path that a relative one, or one with `..`, seems to mean; empty where there is none."""
    if name.startswith("~"):
        # A shell's home directory: whose is not known.
        return ""
    try:
        meant = normal_path("/" + posixpath.normpath("/" + name).lstrip("/"))
    except (ValueError, UnicodeEncodeError):
        return ""
    return "" if meant == "/" else f"Write {type_name}:{meant}"
