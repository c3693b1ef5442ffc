"""Paths that a person said: seen from the working directory, or below the root of the pass.

Effects: reads the working directory, and follows links below a root.
"""

from pathlib import Path

from datum.diagnostics import Diagnostic
from datum.errors import UsageError


def absolute(path: str) -> Path:
    """Return a path of the command line, seen from the working directory.

    Raises:
        UsageError: it is relative, and the working directory was removed.
    """
    try:
        return Path(path) if path.startswith("/") else Path.cwd() / path
    except OSError as error:
        raise UsageError(
            Diagnostic(
                code="no-working-directory",
                summary="There is no working directory.",
                detail=f"The directory that this command was started in is gone ({error.strerror}).",
                hint="cd to one that exists, or give absolute paths",
            )
        ) from error


def below(root: str, path: str) -> Path:
    """Return a path of the configuration as this process reaches it.

    Raises:
        UsageError: a link below `--root` leads it out of there: nothing outside of a root is touched (design 6).
    """
    if not path.startswith("/"):
        return absolute(path)
    place = Path(root) / path.lstrip("/")
    if root != "/" and not place.resolve().is_relative_to(root):
        raise UsageError(
            Diagnostic(
                code="leaves-the-root",
                summary="A link leads out of the root.",
                detail=f"{place} is {place.resolve()}, outside of {root}.",
                hint="remove the link, or name another place with --state-dir or in the configuration",
            )
        )
    return place


def from_here(text: str) -> str:
    """Return a relative path of the command line seen from the working directory; what is no path stays as it is."""
    if text.startswith("/") or ":" in text.partition("/")[0]:
        return text
    path = absolute(text)
    # Only where `..` may cross a link: another link in the path may be there to be turned to something else.
    return str(path.resolve() if ".." in path.parts else path)
