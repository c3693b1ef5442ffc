"""A site for each test; see `tests.e2e.site`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import SERVER, Site
from tests.harness.booted import Booted
from tests.harness.network import Network
from tests.harness.plugin import AgentBind
from tests.packages.building import find_or_build


@pytest.fixture
def make_bare(host_image: Path, trixie_image: Path, cgroups: None) -> Iterator[Callable[..., Booted]]:
    """Give ``Booted`` itself; what it makes ends with the test."""
    with ExitStack() as stack:

        def make(**options: Any) -> Booted:
            return stack.enter_context(Booted(**options))

        yield make


@pytest.fixture(scope="session")
def deb() -> Path:
    """Give the Debian package of this tree."""
    return find_or_build().deb


@pytest.fixture
def site(
    tmp_path: Path,
    make_network: Callable[..., Network],
    make_bare: Callable[..., Booted],
    agent_bind: AgentBind,
) -> Site:
    """Give a site whose server runs, and that has no host yet."""
    made = Site(tmp_path, make_network(SERVER, "web1", "web2"), make_bare, agent_bind)
    made.serve()
    return made
