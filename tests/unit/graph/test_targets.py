"""What a type may know of the other resources of its graph."""

from datum.graph.targets import Index, claim_targets
from tests.unit.fakes import declare, nodes_of


def test_the_keys_of_a_space_are_those_that_somebody_wants() -> None:
    """Each once, sorted; of what several share and one of them has absent, it is wanted."""
    nodes = nodes_of(
        *map(declare, ("user:z", "user:a", "folder:/d", "leaf:/d/f", "entry:/f#b")),
        *(declare(text, absent=True) for text in ("user:gone", "leaf:/gone", "entry:/f#a")),
    )
    index = Index(claim_targets(nodes), nodes)
    assert index.keys("user") == ("a", "z")
    assert index.keys("path") == ("/d", "/d/f", "/f")
    assert index.keys("unit") == ()
