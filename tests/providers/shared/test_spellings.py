"""Paths that have two spellings, and what a directory knows of its neighbours by each of them."""

import pytest

from datum.host.walk import _KNOWN_LINKS
from datum_providers.shared.exclusive import Neighbours
from datum_providers.shared.spellings import WELL_KNOWN_LINKS, spellings
from tests.providers.index import Index


@pytest.mark.parametrize(
    ("path", "others"),
    [
        ("/etc/app", ()),
        ("/run/app", ("/var/run/app",)),
        ("/var/run/app", ("/run/app",)),
        ("/run/lock/app", ("/var/lock/app", "/var/run/lock/app")),
        ("/usr/lib/x", ("/lib/x",)),
        ("/lib", ("/usr/lib",)),
        ("/usr/library", ()),
        ("/usr", ()),
    ],
)
def test_a_path_has_these_spellings(path: str, others: tuple[str, ...]) -> None:
    assert spellings(path) == (path, *others)


def test_the_links_are_those_that_the_host_walks_through() -> None:
    assert {link: place for link, _, place in _KNOWN_LINKS} == WELL_KNOWN_LINKS


def test_neighbours_are_known_by_every_spelling() -> None:
    index = Index.of({"file:/var/run/app/a": None, "file:/run/app/b": None, "file:/run/other": None})
    assert Neighbours.of("/run/app", index).declared == {"/run/app/a", "/run/app/b"}
    assert Neighbours.of("/var/run/app", index).declared == {"/var/run/app/a", "/var/run/app/b"}


def test_what_decides_for_itself_is_closed() -> None:
    index = Index.of(
        {
            "directory:/srv/app/plain": None,
            "directory:/srv/app/own": "exclusive",
            "tree:/srv/app/tree": None,
            "file:/srv/app/file": None,
        }
    )
    found = Neighbours.of("/srv/app", index)
    assert found.closed == {"/srv/app/own", "/srv/app/tree", "/srv/app/file"}
    assert found.declared == {*found.closed, "/srv/app/plain"}
