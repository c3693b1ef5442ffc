"""Versions of the libraries by which repositories are read. Effects: loads them."""

from collections.abc import Mapping
from importlib.metadata import version


def library_versions() -> Mapping[str, str]:
    """Return the versions of pygit2 and libgit2.

    Raises:
        ImportError: they cannot be loaded.
    """
    import pygit2

    return {"pygit2": version("pygit2"), "libgit2": pygit2.LIBGIT2_VERSION}
